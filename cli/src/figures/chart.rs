//! Charts as data: lines over a number, and grouped or stacked bars over names.

/// A chart: one panel of a figure.
#[derive(Clone, Debug)]
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
}

/// A line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Points, x increasing.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub style: LineStyle,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStyle {
    /// Thin, with small markers.
    Thin,
    /// Thicker: the mean.
    Bold,
    /// Large markers alone.
    Marks,
}

/// Bars of one colour, one a group.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Name in the legend.
    pub name: String,
    /// Heights; nothing is drawn where there is none.
    pub values: Vec<Option<f64>>,
    /// Half lengths of error bars, cut off at the frame; none if empty.
    pub deviations: Vec<f64>,
}

impl Bars {
    /// Bars without error bars.
    pub fn new(name: impl Into<String>, values: Vec<Option<f64>>) -> Bars {
        Bars { name: name.into(), values, deviations: Vec::new() }
    }
}

impl Chart {
    /// The names of the legend.
    pub fn names(&self) -> Vec<&str> {
        match &self.plot {
            Plot::Lines(lines) => lines.iter().map(|line| line.name.as_str()).collect(),
            Plot::Bars { series, .. } => series.iter().map(|bars| bars.name.as_str()).collect(),
        }
    }

    /// Lowest and highest value drawn, 0 included.
    pub fn extent(&self) -> (f64, f64) {
        let values: Vec<f64> = match &self.plot {
            Plot::Lines(lines) => lines.iter().flat_map(|line| &line.points).map(|point| point.1).collect(),
            Plot::Bars { groups, series, stacked: true } => {
                let sum = |group: usize| series.iter().filter_map(|bars| bars.values[group]).sum();
                (0..groups.len()).map(sum).collect()
            }
            Plot::Bars { series, stacked: false, .. } => series.iter().flat_map(Bars::tips).collect(),
        };
        let finite = values.into_iter().filter(|value| value.is_finite());
        finite.fold((0.0, 0.0), |(low, high), value| (value.min(low), value.max(high)))
    }
}

impl Bars {
    /// Ends of the bars, error bars included.
    fn tips(&self) -> impl Iterator<Item = f64> + '_ {
        self.values.iter().enumerate().filter_map(|(group, value)| {
            value.map(|value| value + self.deviations.get(group).copied().unwrap_or(0.0))
        })
    }
}
