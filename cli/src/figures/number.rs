//! Numbers that a paper's text states, beside what comes out here.

use serde::Serialize;

/// How far ours may lie from the paper's before it is a difference, as a share of the paper's.
const TOLERANCE: f64 = 0.2;
/// Points by which a change may differ whatever the paper's is: a change of nothing has no share.
const TOLERATED_POINTS: f64 = 1.0;

/// A number that the paper's text states.
#[derive(Clone, Debug, Serialize)]
pub struct Number {
    /// Its name within the figure: `regless`.
    pub key: String,
    /// What is counted, in words.
    pub what: String,
    /// The paper's.
    pub paper: Stated,
    /// What is told of the difference, and the unit.
    pub unit: Unit,
    /// Ours; `None` if the workloads give none.
    pub here: Option<f64>,
    /// A table of the figure leads from the paper's to ours, step by step.
    pub derived: bool,
}

/// A number as a paper states it: from `low` to `high`, either of which may be left open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stated {
    low: Option<f64>,
    high: Option<f64>,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Per cent by which something changes or is saved: differences are told in points.
    Change,
    /// Per cent of a whole: differences are told as a ratio.
    Share,
    /// Anything else, named if it has a name.
    Of(&'static str),
}

impl Stated {
    /// One number.
    pub fn exactly(number: f64) -> Stated {
        Stated::between(number, number)
    }

    /// A range.
    pub fn between(low: f64, high: f64) -> Stated {
        Stated { low: Some(low), high: Some(high) }
    }

    /// `number` or more.
    pub fn at_least(number: f64) -> Stated {
        Stated { low: Some(number), high: None }
    }

    /// `number` or less.
    pub fn at_most(number: f64) -> Stated {
        Stated { low: None, high: Some(number) }
    }

    /// The number of the paper's that is nearest to `here`.
    fn nearest(self, here: f64) -> f64 {
        here.max(self.low.unwrap_or(f64::NEG_INFINITY)).min(self.high.unwrap_or(f64::INFINITY))
    }

    fn print(self, unit: Unit) -> String {
        // A mean of several of the paper's numbers has no more digits than these.
        let rounded = |value: f64| (1000.0 * value).round() / 1000.0;
        let (low, high) = (self.low.map(rounded), self.high.map(rounded));
        let number = |value: f64| match unit {
            Unit::Change | Unit::Share => format!("{value} %"),
            Unit::Of("") => value.to_string(),
            Unit::Of(name) => format!("{value} {name}"),
        };
        match (low, high) {
            (Some(low), Some(high)) if low == high => number(low),
            (Some(low), Some(high)) => format!("{low} to {}", number(high)),
            (Some(low), None) => format!("{} or more", number(low)),
            (None, Some(high)) => format!("{} or less", number(high)),
            (None, None) => "any".to_owned(),
        }
    }
}

impl Number {
    /// A change or a saving, per cent.
    pub fn change(
        key: impl Into<String>,
        what: impl Into<String>,
        paper: Stated,
        here: Option<f64>,
    ) -> Number {
        Number { key: key.into(), what: what.into(), paper, unit: Unit::Change, here, derived: false }
    }

    /// A part of a whole, per cent.
    pub fn share(
        key: impl Into<String>,
        what: impl Into<String>,
        paper: Stated,
        here: Option<f64>,
    ) -> Number {
        Number { unit: Unit::Share, ..Number::change(key, what, paper, here) }
    }

    /// A number with a unit's name, or none if it is empty.
    pub fn of(
        unit: &'static str,
        key: impl Into<String>,
        what: impl Into<String>,
        paper: Stated,
        here: Option<f64>,
    ) -> Number {
        Number { unit: Unit::Of(unit), ..Number::change(key, what, paper, here) }
    }

    /// The same number, with a table of the figure that leads from the paper's to ours.
    pub fn derived(self) -> Number {
        Number { derived: true, ..self }
    }

    /// The paper's as text.
    pub fn paper_text(&self) -> String {
        self.paper.print(self.unit)
    }

    /// Ours as text.
    pub fn here_text(&self) -> String {
        self.here.map_or_else(|| "no value".to_owned(), |here| self.value_text(here))
    }

    /// Any value in this unit as text, with three digits that count.
    pub fn value_text(&self, value: f64) -> String {
        let number = digits(value);
        match self.unit {
            Unit::Change | Unit::Share => format!("{number} %"),
            Unit::Of("") => number,
            Unit::Of(name) => format!("{number} {name}"),
        }
    }

    /// How far ours lies from the paper's: points of a change, else a ratio to what of the paper's is nearest.
    pub fn difference_text(&self) -> String {
        let Some(here) = self.here else { return "–".to_owned() };
        let paper = self.paper.nearest(here);
        match self.unit {
            Unit::Change => format!("{:+.1} points", here - paper),
            Unit::Share | Unit::Of(_) if paper == 0.0 => "–".to_owned(),
            Unit::Share | Unit::Of(_) => digits(here / paper),
        }
    }

    /// Whether ours lies more than a fifth of the paper's away from it; of a change, more than a point as well.
    pub fn differs(&self) -> bool {
        let Some((distance, paper)) = self.distance() else { return false };
        let tolerated = match self.unit {
            Unit::Change => (TOLERANCE * paper.abs()).max(TOLERATED_POINTS),
            Unit::Share | Unit::Of(_) => TOLERANCE * paper.abs(),
        };
        distance > tolerated
    }

    /// Whether ours is nearer to the paper's here than in another run; of a run without a value neither.
    pub fn is_nearer_than(&self, other: &Number) -> bool {
        self.distance().zip(other.distance()).is_some_and(|((here, _), (there, _))| here < there)
    }

    /// How far ours lies from the paper's, and what of the paper's is nearest.
    fn distance(&self) -> Option<(f64, f64)> {
        let here = self.here?;
        let paper = self.paper.nearest(here);
        Some(((here - paper).abs(), paper))
    }
}

/// Three digits that count, at most three decimals.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _small => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::{Number, Stated};

    #[test]
    fn a_change_differs_by_points_and_a_share_by_its_ratio() {
        let change = |paper, here| Number::change("key", "what", Stated::exactly(paper), Some(here));
        assert!(!change(0.0, 0.9).differs() && change(0.0, 1.1).differs());
        assert!(!change(75.3, 61.0).differs() && change(75.3, 60.0).differs());
        assert_eq!(change(75.3, 60.0).difference_text(), "-15.3 points");
        let share = |here| Number::share("key", "what", Stated::exactly(0.013), Some(here));
        assert!(!share(0.015).differs() && share(0.016).differs());
        assert_eq!(
            (share(0.026).difference_text(), share(0.026).paper_text()),
            ("2.00".into(), "0.013 %".into())
        );
    }

    #[test]
    fn what_lies_in_a_range_does_not_differ_and_what_lies_outside_is_held_against_its_end() {
        let of = |paper, here| Number::of("cycles", "key", "what", paper, Some(here));
        assert!(!of(Stated::between(10.0, 20.0), 15.0).differs());
        assert_eq!(of(Stated::between(10.0, 20.0), 30.0).difference_text(), "1.50");
        assert!(of(Stated::at_least(10.0), 7.0).differs() && !of(Stated::at_least(10.0), 700.0).differs());
        assert_eq!(of(Stated::at_most(10.0), 7.0).paper_text(), "10 cycles or less");
        assert_eq!(Number { here: None, ..of(Stated::at_most(10.0), 7.0) }.difference_text(), "–");
    }

    #[test]
    fn what_moves_past_the_paper_s_number_is_nearer_only_if_it_is_less_far_behind_it() {
        let of = |here| Number { here, ..Number::change("key", "what", Stated::exactly(10.0), None) };
        assert!(
            of(Some(9.0)).is_nearer_than(&of(Some(8.0))) && of(Some(11.0)).is_nearer_than(&of(Some(8.0)))
        );
        assert!(
            !of(Some(7.0)).is_nearer_than(&of(Some(8.0))) && !of(Some(13.0)).is_nearer_than(&of(Some(8.0)))
        );
        assert!(!of(Some(8.0)).is_nearer_than(&of(Some(8.0))));
        assert!(!of(None).is_nearer_than(&of(Some(8.0))) && !of(Some(9.0)).is_nearer_than(&of(None)));
    }
}
