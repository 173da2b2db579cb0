//! What differs between two results.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Number;

use super::side::{Key, Side, told};
use crate::results::{MEASURED, Measured};

/// Everything that differs.
#[derive(Debug, Serialize)]
pub struct Differences {
    /// Settings that have one value in each, and not the same.
    pub parameters: Vec<Setting>,
    /// Runs that both have.
    pub runs_compared: usize,
    /// Figures compared, over all runs.
    pub figures_compared: usize,
    /// Runs whose kernel is not the same text.
    pub other_kernels: Vec<String>,
    /// Runs that only the first has, and that only the second has.
    pub runs_only_in: [Vec<String>; 2],
    /// Figures that only the first has, and that only the second has, in any run that both have.
    pub figures_only_in: [BTreeSet<String>; 2],
    /// Runs that have ended in an error in one, or in another error.
    pub errors: Vec<ErrorDifference>,
    /// The largest change first.
    pub figures: Vec<FigureDifference>,
}

/// A setting that differs.
#[derive(Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value in the first; `None` if it has none.
    pub a: Option<String>,
    /// In the second.
    pub b: Option<String>,
}

/// A run that ends otherwise.
#[derive(Debug, Serialize)]
pub struct ErrorDifference {
    /// Which.
    pub run: String,
    /// The error in the first, if there is one.
    pub a: Option<String>,
    /// In the second.
    pub b: Option<String>,
}

/// A figure that differs.
#[derive(Debug, Serialize)]
pub struct FigureDifference {
    /// Kernel, size, design, and what else tells the run apart.
    pub run: BTreeMap<String, String>,
    /// Name of the figure.
    pub figure: String,
    /// Its value in the first.
    pub a: Number,
    /// In the second.
    pub b: Number,
    /// From the first to the second; `None` if the first is 0.
    pub percent: Option<f64>,
}

impl Differences {
    /// Of two results; of the figures only those that `is_asked` accepts, and none that is measured on the clock.
    ///
    /// # Errors
    /// Runs of one of them cannot be told apart.
    pub fn between(a: &Side, b: &Side, is_asked: impl Fn(&str) -> bool) -> anyhow::Result<Differences> {
        let (axes, parameters) = settings(a, b);
        let (runs_a, runs_b) = (a.by_key(&axes)?, b.by_key(&axes)?);
        let only = |one: &BTreeMap<Key, &Measured>, other: &BTreeMap<Key, &Measured>| {
            one.keys().filter(|key| !other.contains_key(*key)).map(told).collect()
        };
        let mut differences = Differences {
            parameters,
            runs_compared: 0,
            figures_compared: 0,
            other_kernels: Vec::new(),
            runs_only_in: [only(&runs_a, &runs_b), only(&runs_b, &runs_a)],
            figures_only_in: Default::default(),
            errors: Vec::new(),
            figures: Vec::new(),
        };
        let is_compared = |name: &str| !MEASURED.contains(&name) && is_asked(name);
        for (key, a) in &runs_a {
            if let Some(b) = runs_b.get(key) {
                differences.add(key, (a, b), &is_compared);
            }
        }
        differences.figures.sort_by(|a, b| b.size().total_cmp(&a.size()));
        Ok(differences)
    }

    fn add(&mut self, key: &Key, (a, b): (&Measured, &Measured), is_compared: &impl Fn(&str) -> bool) {
        self.runs_compared += 1;
        if a.hash != b.hash {
            self.other_kernels.push(told(key));
        }
        if a.error != b.error {
            self.errors.push(ErrorDifference { run: told(key), a: a.error.clone(), b: b.error.clone() });
        }
        if a.error.is_some() || b.error.is_some() {
            return;
        }
        let of_b: BTreeMap<&str, &Number> =
            b.figures.iter().map(|(name, number)| (name.as_str(), number)).collect();
        let names_a: BTreeSet<&str> = a.figures.iter().map(|(name, _)| name.as_str()).collect();
        let new = of_b.keys().filter(|name| !names_a.contains(*name) && is_compared(name));
        self.figures_only_in[1].extend(new.map(|name| (*name).to_owned()));
        for (name, value) in a.figures.iter().filter(|(name, _)| is_compared(name)) {
            let Some(&other) = of_b.get(name.as_str()) else {
                self.figures_only_in[0].insert(name.clone());
                continue;
            };
            self.figures_compared += 1;
            let (from, to) = (real(value), real(other));
            if from != to {
                let percent = (from != 0.0).then(|| (to - from) / from.abs() * 100.0);
                let run = key.iter().cloned().collect();
                let (a, b) = (value.clone(), other.clone());
                self.figures.push(FigureDifference { run, figure: name.clone(), a, b, percent });
            }
        }
    }

    /// Whether a figure is off by more than so many per cent, or the second lacks something that the first has.
    pub fn exceeds(&self, percent: f64) -> bool {
        let lost = !self.runs_only_in[0].is_empty() || !self.figures_only_in[0].is_empty();
        lost || !self.errors.is_empty() || self.figures.iter().any(|figure| figure.size() > percent)
    }
}

impl FigureDifference {
    /// Per cent, whatever the direction.
    pub fn size(&self) -> f64 {
        self.percent.map_or(f64::INFINITY, f64::abs)
    }
}

fn real(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Settings by which runs are told apart, and those that differ between the two.
fn settings<'s>(a: &'s Side, b: &'s Side) -> (Vec<&'s str>, Vec<Setting>) {
    let (values_a, values_b) = (a.values(), b.values());
    let names: BTreeSet<&str> = values_a.keys().chain(values_b.keys()).copied().collect();
    let (mut axes, mut differ) = (Vec::new(), Vec::new());
    for name in names {
        let (of_a, of_b) = (values_a.get(name), values_b.get(name));
        if [of_a, of_b].into_iter().flatten().any(|values| values.len() > 1) {
            axes.push(name);
        } else if of_a != of_b && has_section(&values_a, name) && has_section(&values_b, name) {
            let one = |values: Option<&BTreeSet<String>>| values.and_then(BTreeSet::first).cloned();
            differ.push(Setting { name: name.to_owned(), a: one(of_a), b: one(of_b) });
        }
    }
    (axes, differ)
}

/// Whether there is a parameter of the same section: one of a mechanism that none of the designs has says nothing.
fn has_section(values: &BTreeMap<&str, BTreeSet<String>>, name: &str) -> bool {
    match name.split_once('.') {
        Some((section, _)) => values.keys().any(|known| known.split('.').next() == Some(section)),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(design: &str, entries: u64, figures: &[(&str, f64)]) -> Measured {
        let number = |value: f64| Number::from_f64(value).expect("finite");
        Measured {
            run: None,
            kernel: "k".to_owned(),
            size: Some("tiny".to_owned()),
            hash: "h".to_owned(),
            design: design.to_owned(),
            settings: [("rfc.entries".to_owned(), json!(entries)), ("seed".to_owned(), json!(0))].into(),
            error: None,
            figures: figures.iter().map(|(name, value)| ((*name).to_owned(), number(*value))).collect(),
            structures_pj: Vec::new(),
        }
    }

    fn between(a: Vec<Measured>, b: Vec<Measured>) -> Differences {
        Differences::between(&Side { runs: a }, &Side { runs: b }, |_| true).expect("told apart")
    }

    #[test]
    fn the_largest_change_is_first_and_what_was_zero_before_all() {
        let a = vec![run("rfc", 4, &[("cycles", 100.0), ("ipc", 2.0), ("spills", 0.0), ("same", 7.0)])];
        let b = vec![run("rfc", 4, &[("cycles", 101.0), ("ipc", 1.0), ("spills", 3.0), ("same", 7.0)])];
        let found = between(a, b);
        let changes: Vec<_> =
            found.figures.iter().map(|figure| (figure.figure.as_str(), figure.percent)).collect();
        assert_eq!(changes, [("spills", None), ("ipc", Some(-50.0)), ("cycles", Some(1.0))]);
        assert!(found.exceeds(60.0) && found.parameters.is_empty());
    }

    #[test]
    fn a_parameter_with_one_value_in_each_differs_and_one_with_several_tells_runs_apart() {
        let cycles = |value| [("cycles", value)];
        let found = between(vec![run("rfc", 4, &cycles(9.0))], vec![run("rfc", 6, &cycles(9.0))]);
        let expected =
            Setting { name: "rfc.entries".to_owned(), a: Some("4".to_owned()), b: Some("6".to_owned()) };
        assert_eq!((found.parameters, found.runs_compared), (vec![expected], 1));

        let a = vec![run("rfc", 4, &cycles(9.0)), run("rfc", 6, &cycles(8.0))];
        let found = between(a, vec![run("rfc", 6, &cycles(8.0)), run("rfc", 8, &cycles(7.0))]);
        assert_eq!((found.runs_compared, found.parameters.len(), found.figures.len()), (1, 0, 0));
        assert_eq!(found.runs_only_in[0], ["kernel=k size=tiny design=rfc rfc.entries=4"]);
        assert_eq!(found.runs_only_in[1], ["kernel=k size=tiny design=rfc rfc.entries=8"]);
        assert!(found.exceeds(100.0));
    }

    #[test]
    fn times_are_not_compared_and_figures_that_are_gone_exceed_any_bound() {
        let a = vec![run("rfc", 4, &[("wall_time_s", 1.0), ("cycles", 5.0), ("old", 1.0)])];
        let b = vec![run("rfc", 4, &[("wall_time_s", 2.0), ("cycles", 5.0), ("new", 1.0)])];
        let found = between(a.clone(), b);
        assert!(found.figures.is_empty() && found.exceeds(100.0));
        assert!(found.figures_only_in[0].contains("old") && found.figures_only_in[1].contains("new"));
        assert!(!between(a.clone(), a).exceeds(0.0));
    }

    #[test]
    fn a_run_that_fails_in_one_only_exceeds_any_bound() {
        let whole = run("rfc", 4, &[("cycles", 5.0)]);
        let failed = Measured { error: Some("no progress".to_owned()), figures: Vec::new(), ..whole.clone() };
        let found = between(vec![whole], vec![failed]);
        assert!(found.exceeds(100.0) && found.errors.len() == 1 && found.figures_only_in[0].is_empty());
    }
}
