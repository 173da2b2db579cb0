//! All runs of a folder as one table: what a run is, the parameters that differ, its figures.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::results::{Measured, plain};

/// Settings of every row, before the parameters that differ.
const ALWAYS: [&str; 5] = ["seed", "engine", "preset", "version", "commit"];

/// A table by columns, all of the same length.
pub struct Table {
    /// The columns in their order.
    pub columns: Vec<Column>,
}

/// A column.
pub struct Column {
    /// Its name.
    pub name: String,
    /// What is in it, by row.
    pub cells: Cells,
}

/// What is in a column; `None` where a row has none.
pub enum Cells {
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Numbers.
    Real(Vec<Option<f64>>),
    /// Text.
    Text(Vec<Option<String>>),
}

impl Table {
    /// A row for each run, in an order that does not depend on when they were made.
    pub fn new(mut runs: Vec<Measured>) -> Table {
        let varied = varied(&runs);
        runs.sort_by(|a, b| order(a, b, &varied));
        let text = |value: Option<String>| value.map(Value::String);
        let mut columns = vec![
            column("kernel", &runs, |run| text(Some(run.kernel.clone()))),
            column("size", &runs, |run| text(run.size.clone())),
            column("design", &runs, |run| text(Some(run.design.clone()))),
        ];
        let settings = ALWAYS.into_iter().chain(varied.iter().map(String::as_str));
        columns.extend(settings.map(|name| column(name, &runs, |run| run.settings.get(name).cloned())));
        columns.push(column("run", &runs, |run| text(run.run.clone())));
        columns.push(column("kernel_hash", &runs, |run| text(Some(run.hash.clone()))));
        columns.push(column("error", &runs, |run| text(run.error.clone())));
        let figures: Vec<BTreeMap<&str, Value>> = runs.iter().map(figures).collect();
        for name in figure_names(&runs) {
            let cells = figures.iter().map(|figures| figures.get(name).cloned());
            columns.push(Column { name: name.to_owned(), cells: Cells::new(cells.collect()) });
        }
        Table { columns }
    }

    /// As text with commas between cells, which are quoted where they must be.
    pub fn to_csv(&self) -> anyhow::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|column| &column.name))?;
        for row in 0..self.columns.first().map_or(0, |column| column.cells.len()) {
            writer.write_record(self.columns.iter().map(|column| column.cells.text(row)))?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }
}

fn column(name: &str, runs: &[Measured], cell: impl Fn(&Measured) -> Option<Value>) -> Column {
    Column { name: name.to_owned(), cells: Cells::new(runs.iter().map(cell).collect()) }
}

/// Parameters that are not the same for all runs, or that not all have.
fn varied(runs: &[Measured]) -> Vec<String> {
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.settings.keys()).collect();
    let differs = |name: &str| runs.iter().any(|run| run.settings.get(name) != runs[0].settings.get(name));
    // A mechanism's parameters are missing from designs without it: they differ if those that have them do.
    let differs_where_it_is = |name: &str| {
        let values: BTreeSet<String> =
            runs.iter().filter_map(|run| run.settings.get(name)).map(plain).collect();
        values.len() > 1
    };
    let names = names.into_iter().filter(|name| !ALWAYS.contains(&name.as_str()));
    names.filter(|name| differs(name) && differs_where_it_is(name)).cloned().collect()
}

fn figures(run: &Measured) -> BTreeMap<&str, Value> {
    run.figures.iter().map(|(name, number)| (name.as_str(), Value::Number(number.clone()))).collect()
}

/// Names of all figures, in the order in which the runs have them.
fn figure_names(runs: &[Measured]) -> Vec<&str> {
    let mut known = BTreeSet::new();
    let all = runs.iter().flat_map(|run| &run.figures).map(|(name, _)| name.as_str());
    let mut names: Vec<&str> = all.filter(|name| known.insert(*name)).collect();
    // What only some designs count would otherwise stand behind the groups of the first.
    names.sort_by_key(|name| name.contains('.'));
    names
}

/// By kernel, design and values of the parameters; numbers as numbers.
fn order(a: &Measured, b: &Measured, varied: &[String]) -> Ordering {
    let name = |run: &Measured| (run.kernel.clone(), run.size.clone(), run.design.clone());
    let settings = varied.iter().map(String::as_str).chain(ALWAYS);
    let of_settings = settings.map(|name| compare(a.settings.get(name), b.settings.get(name)));
    let settings = of_settings.fold(Ordering::Equal, Ordering::then);
    name(a).cmp(&name(b)).then(settings).then_with(|| a.run.cmp(&b.run))
}

fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a.and_then(Value::as_f64), b.and_then(Value::as_f64)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (None, _) | (_, None) => a.map(plain).cmp(&b.map(plain)),
    }
}

impl Cells {
    /// Of the narrowest type that holds all values.
    fn new(values: Vec<Option<Value>>) -> Cells {
        let values: Vec<Option<Value>> =
            values.into_iter().map(|value| value.filter(|value| !value.is_null())).collect();
        let all = |is: fn(&Value) -> bool| values.iter().flatten().all(is);
        if values.iter().all(Option::is_none) {
            Cells::Text(vec![None; values.len()])
        } else if all(Value::is_i64) {
            Cells::Integer(values.iter().map(|value| value.as_ref().and_then(Value::as_i64)).collect())
        } else if all(Value::is_number) {
            Cells::Real(values.iter().map(|value| value.as_ref().and_then(Value::as_f64)).collect())
        } else {
            Cells::Text(values.iter().map(|value| value.as_ref().map(plain)).collect())
        }
    }

    fn len(&self) -> usize {
        match self {
            Cells::Integer(cells) => cells.len(),
            Cells::Real(cells) => cells.len(),
            Cells::Text(cells) => cells.len(),
        }
    }

    /// A cell as text; nothing where there is none.
    fn text(&self, row: usize) -> String {
        match self {
            Cells::Integer(cells) => cells[row].map(|number| number.to_string()),
            Cells::Real(cells) => cells[row].map(|number| number.to_string()),
            Cells::Text(cells) => cells[row].clone(),
        }
        .unwrap_or_default()
    }
}

#[cfg(test)]
pub mod tests {
    use serde_json::{Number, json};

    use super::*;

    /// A run with a parameter and a figure, if it has them.
    pub fn run(design: &str, entries: Option<u64>, reads: Option<u64>) -> Measured {
        let parameter = entries.map(|entries| ("rfc.entries".to_owned(), json!(entries)));
        let settings = [("seed".to_owned(), json!(0)), ("sm.warps".to_owned(), json!(32))];
        Measured {
            run: Some(format!("{design}{entries:?}")),
            kernel: "k,\"1\"".to_owned(),
            size: None,
            hash: "h".to_owned(),
            design: design.to_owned(),
            settings: settings.into_iter().chain(parameter).collect(),
            error: None,
            figures: reads
                .map(|reads| ("counters.rfc.reads".to_owned(), Number::from(reads)))
                .into_iter()
                .collect(),
            structures_pj: Vec::new(),
        }
    }

    #[test]
    fn a_table_has_the_parameters_that_differ_and_the_figures_of_all() {
        let runs =
            vec![run("rfc", Some(10), Some(7)), run("rfc", Some(9), Some(8)), run("baseline", None, None)];
        let table = Table::new(runs).to_csv().expect("text");
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines,
            [
                "kernel,size,design,seed,engine,preset,version,commit,rfc.entries,run,kernel_hash,error,counters.rfc.reads",
                "\"k,\"\"1\"\"\",,baseline,0,,,,,,baselineNone,h,,",
                "\"k,\"\"1\"\"\",,rfc,0,,,,,9,rfcSome(9),h,,8",
                "\"k,\"\"1\"\"\",,rfc,0,,,,,10,rfcSome(10),h,,7",
            ]
        );
    }

    #[test]
    fn a_column_has_the_narrowest_type_that_holds_it() {
        let of = |values: Vec<Value>| Cells::new(values.into_iter().map(Some).collect());
        assert!(matches!(of(vec![json!(1), json!(null)]), Cells::Integer(_)));
        assert!(matches!(of(vec![json!(1), json!(u64::MAX)]), Cells::Real(_)));
        assert!(matches!(of(vec![json!(1), json!("fifo")]), Cells::Text(_)));
        assert!(matches!(of(vec![json!(null)]), Cells::Text(_)));
    }
}
