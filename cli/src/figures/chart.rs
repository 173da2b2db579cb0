//! Charts as data: lines over a number, grouped or stacked bars over names, and maps of ratios.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::statistics::range;

/// A chart: one panel of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// Under the horizontal axis.
    pub x_label: String,
    /// Beside the vertical axis.
    pub y_label: String,
    /// What is drawn.
    pub plot: Plot,
}

/// How much higher than all other groups of bars an outlier is.
const OUTLIER: f64 = 2.0;
/// Room above the highest bar that is drawn in full where outliers are cut off.
const HEADROOM: f64 = 1.1;

/// What a chart draws.
#[derive(Clone, Debug)]
pub enum Plot {
    /// Lines with markers, and markers alone.
    Lines(Vec<Line>),
    /// Bars.
    Bars {
        /// Names along the horizontal axis.
        groups: Vec<String>,
        /// One colour each.
        series: Vec<Bars>,
        /// On top of each other instead of side by side.
        stacked: bool,
    },
    /// A map of ratios.
    Ratios(Ratios),
}

/// A table of ratios, each a colour: none is 1, and there is more of it the farther from 1.
#[derive(Clone, Debug)]
pub struct Ratios {
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Row after row; a place without a number where there is none.
    pub values: Vec<Vec<Option<f64>>>,
    /// From which ratio on, and below its inverse, colours are full: more than 1.
    pub full: f64,
}

impl Serialize for Plot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Plot::Lines(lines) => {
                map.serialize_entry("kind", "lines")?;
                map.serialize_entry("lines", lines)?;
            }
            Plot::Bars { groups, series, stacked } => {
                map.serialize_entry("kind", "bars")?;
                map.serialize_entry("groups", groups)?;
                map.serialize_entry("series", series)?;
                map.serialize_entry("stacked", stacked)?;
                map.serialize_entry("cut", &outliers_cut(groups.len(), series).filter(|_| !stacked))?;
            }
            Plot::Ratios(Ratios { rows, columns, values, full }) => {
                map.serialize_entry("kind", "ratios")?;
                map.serialize_entry("rows", rows)?;
                map.serialize_entry("columns", columns)?;
                map.serialize_entry("values", values)?;
                map.serialize_entry("full", full)?;
            }
        }
        map.end()
    }
}

/// A line.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Points, x increasing.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub style: LineStyle,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineStyle {
    /// Thin, with small markers.
    Thin,
    /// Thicker: the mean.
    Bold,
    /// Large markers alone.
    Marks,
    /// Small markers alone: many points.
    Dots,
    /// What the paper says, drawn as its marks on bars are.
    Paper,
}

impl Line {
    /// Points of a line over numbers: none where there is no value.
    pub fn points(over: &[u64], values: impl IntoIterator<Item = Option<f64>>) -> Vec<(f64, f64)> {
        over.iter().zip(values).filter_map(|(&x, y)| Some((x as f64, y?))).collect()
    }

    /// What the paper says of some places.
    pub fn of_paper(points: impl IntoIterator<Item = (f64, f64)>) -> Line {
        Line { name: "the paper".to_owned(), points: points.into_iter().collect(), style: LineStyle::Paper }
    }
}

/// Bars of one colour, one a group.
#[derive(Clone, Debug, Serialize)]
pub struct Bars {
    /// Name in the legend.
    pub name: String,
    /// Heights; nothing is drawn where there is none.
    pub values: Vec<Option<f64>>,
    /// Half lengths of error bars, cut off at the frame; none if empty.
    pub deviations: Vec<f64>,
    /// What the paper's text says of the same, drawn as marks; none if empty.
    pub paper: Vec<Option<f64>>,
}

impl Bars {
    /// Bars without error bars.
    pub fn new(name: impl Into<String>, values: Vec<Option<f64>>) -> Bars {
        Bars { name: name.into(), values, deviations: Vec::new(), paper: Vec::new() }
    }

    /// The same with what the paper says of the last group.
    pub fn with_paper_at_last(mut self, paper: Option<f64>) -> Bars {
        let others = self.values.len().saturating_sub(1);
        self.paper = std::iter::repeat_n(None, others).chain([paper]).collect();
        self
    }

    /// What the paper says of a group.
    pub fn paper_of(&self, group: usize) -> Option<f64> {
        self.paper.get(group).copied().flatten()
    }
}

impl Chart {
    /// The names of the legend, but the paper's.
    pub fn names(&self) -> Vec<&str> {
        match &self.plot {
            Plot::Lines(lines) => {
                let ours = lines.iter().filter(|line| line.style != LineStyle::Paper);
                ours.map(|line| line.name.as_str()).collect()
            }
            Plot::Bars { series, .. } => series.iter().map(|bars| bars.name.as_str()).collect(),
            Plot::Ratios(_) => Vec::new(),
        }
    }

    /// Whether the paper's values are marked.
    pub fn has_paper(&self) -> bool {
        match &self.plot {
            Plot::Lines(lines) => lines.iter().any(|line| line.style == LineStyle::Paper),
            Plot::Bars { series, .. } => series.iter().any(|bars| bars.paper.iter().any(Option::is_some)),
            Plot::Ratios(_) => false,
        }
    }

    /// Lowest and highest value drawn, 0 included but by lines that are no course over a number. Bars that are much higher
    /// than those of all other groups are cut off.
    pub fn extent(&self) -> (f64, f64) {
        let values: Vec<f64> = match &self.plot {
            Plot::Lines(lines) => {
                let values = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
                if lines.iter().any(|line| line.style == LineStyle::Bold || line.points.len() > FEW_POINTS) {
                    values.collect()
                } else {
                    return range(values.filter(|value| value.is_finite())).map_or((0.0, 0.0), with_margin);
                }
            }
            Plot::Bars { groups, series, stacked: true } => {
                let sum = |group: usize| series.iter().filter_map(|bars| bars.values[group]).sum();
                (0..groups.len()).map(sum).collect()
            }
            Plot::Bars { groups, series, stacked: false } => {
                let tips: Vec<f64> = series.iter().flat_map(Bars::tips).collect();
                let cut = outliers_cut(groups.len(), series).unwrap_or(f64::INFINITY);
                tips.into_iter().map(|tip| tip.min(cut)).collect()
            }
            Plot::Ratios(ratios) => ratios.values.iter().flatten().flatten().copied().collect(),
        };
        let finite = values.into_iter().filter(|value| value.is_finite());
        finite.fold((0.0, 0.0), |(low, high), value| (value.min(low), value.max(high)))
    }
}

/// Points of a line that is a frontier or a mark, not a course.
const FEW_POINTS: usize = 8;

/// A little more than a range on both sides.
fn with_margin((low, high): (f64, f64)) -> (f64, f64) {
    let margin = 0.05 * (high - low).max(0.01);
    (low - margin, high + margin)
}

/// Where bars are cut off: a tenth of the groups at most, if they are much higher than all others.
fn outliers_cut(groups: usize, series: &[Bars]) -> Option<f64> {
    let highest = |group: usize| {
        let of_group = series.iter().flat_map(|bars| [bars.values[group], bars.paper_of(group)]);
        of_group.flatten().filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    let mut highest: Vec<f64> = (0..groups).map(highest).collect();
    highest.sort_by(|one, other| other.total_cmp(one));
    let outliers = (1..=groups.div_ceil(10)).rev().find(|&count| {
        let next = highest.get(count).copied().unwrap_or(0.0);
        next > 0.0 && highest[count - 1] > OUTLIER * next
    });
    outliers.map(|count| HEADROOM * highest[count])
}

impl Bars {
    /// Ends of the bars, error bars and marks included.
    fn tips(&self) -> impl Iterator<Item = f64> + '_ {
        let bars = self.values.iter().enumerate().filter_map(|(group, value)| {
            value.map(|value| value + self.deviations.get(group).copied().unwrap_or(0.0))
        });
        bars.chain(self.paper.iter().flatten().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::{Bars, outliers_cut};

    #[test]
    fn a_group_that_is_much_higher_than_all_others_is_cut_off() {
        let cut = |values: &[f64]| {
            outliers_cut(values.len(), &[Bars::new("bars", values.iter().copied().map(Some).collect())])
        };
        assert_eq!(cut(&[1.0, 8.0, 1.5, 2.0]), Some(1.1 * 2.0));
        assert_eq!(cut(&[1.0, 3.0, 1.5, 2.0]), None, "not twice the next");
        assert_eq!(cut(&[8.0]), None, "alone");
    }
}
