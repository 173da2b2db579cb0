//! `warpfile compare`.

pub mod difference;
mod side;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Number;

use self::difference::{Differences, FigureDifference};
use self::side::Side;
use crate::html::{self, HtmlArguments, own_command};
use crate::output::{print, print_json};
use crate::table::{Align, count, lines};

/// What stands for a value that there is none of.
const NONE: &str = "-";

/// What is compared.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile compare before after
  warpfile compare before/report.json after/report.json --within 0
  warpfile compare before after --figures cycles,energy_normalised_registers --within 1.5
  warpfile compare before after --json
  warpfile compare before after --html changes.html

Runs are compared if kernel, size, design and every parameter that has several values are the same. What has one value
in A and another in B is listed first. The largest change comes first; it is in per cent of A. Times are not compared.
Exit code 1 with --within if a figure is off by more, if a run or a figure of A is not in B, or if one of both has ended
in an error.")]
pub struct Arguments {
    /// Folder of `sweep` or of `run --out`, or a report.json.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// What it is compared with.
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Exit code 1 if a figure is off by more than so many per cent; 0 accepts no difference.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    within: Option<f64>,
    /// Only these figures, separated by commas: columns of results.csv, or all of a group, as counters.rfc.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    figures: Vec<String>,
    /// Figures that are shown at most; JSON has all.
    #[arg(long, value_name = "N", default_value_t = 40)]
    most: usize,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    html: HtmlArguments,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| "accepted: per cent, a number from 0 on, as 0.5".to_owned())
}

/// Two results differ by more than is accepted.
#[derive(Debug, thiserror::Error)]
#[error("{a} and {b} differ by more than {within} %")]
pub struct Exceeded {
    a: String,
    b: String,
    within: f64,
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct Document<'a> {
    a: String,
    b: String,
    within_percent: Option<f64>,
    exceeded: Option<bool>,
    #[serde(flatten)]
    differences: &'a Differences,
}

/// Compares, and prints what differs.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let page = arguments.html.create()?;
    let (a, b) = (Side::read(&arguments.a)?, Side::read(&arguments.b)?);
    let differences = Differences::between(&a, &b, |figure| arguments.is_asked(figure))?;
    arguments.check_figures(&a, &b)?;
    let exceeded = arguments.within.map(|within| differences.exceeds(within));
    let [name_a, name_b] = [&arguments.a, &arguments.b].map(|path| path.display().to_string());
    if let Some(page) = page {
        let notes = notes(&differences).lines().map(str::to_owned).collect();
        html::compare::page(&differences, (&name_a, &name_b), notes, own_command()).publish(page)?;
    }
    if arguments.json {
        let (a, b, within_percent) = (name_a.clone(), name_b.clone(), arguments.within);
        print_json(&Document { a, b, within_percent, exceeded, differences: &differences })?;
    } else {
        print(&text(&differences, &name_a, &name_b, arguments.most))?;
    }
    match arguments.within.filter(|_| exceeded == Some(true)) {
        Some(within) => Err(Exceeded { a: name_a, b: name_b, within }.into()),
        None => Ok(()),
    }
}

impl Arguments {
    /// Whether a figure is among those asked for.
    fn is_asked(&self, figure: &str) -> bool {
        self.figures.is_empty() || self.figures.iter().any(|asked| is_of(figure, asked))
    }

    /// An error if there is no figure of a name.
    fn check_figures(&self, a: &Side, b: &Side) -> anyhow::Result<()> {
        let all = || a.runs.iter().chain(&b.runs).flat_map(|run| &run.figures);
        let unknown = self.figures.iter().find(|asked| !all().any(|(figure, _)| is_of(figure, asked)));
        match unknown {
            Some(unknown) => anyhow::bail!(
                "--figures {unknown}: neither has such a figure; accepted: columns of results.csv, or a group of them, as counters"
            ),
            None => Ok(()),
        }
    }
}

/// Whether a figure is the one of that name, or in the group of that name.
fn is_of(figure: &str, name: &str) -> bool {
    figure.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn text(differences: &Differences, a: &str, b: &str, most: usize) -> String {
    let mut parts = vec![format!("A: {a}\nB: {b}\n")];
    parts.extend(parameters(differences));
    let notes = notes(differences);
    if !notes.is_empty() {
        parts.push(notes);
    }
    parts.push(figures(differences, most));
    parts.join("\n")
}

fn parameters(differences: &Differences) -> Option<String> {
    let header = ["parameter", "A", "B"].map(str::to_owned).to_vec();
    let shown = |value: &Option<String>| {
        value.clone().filter(|value| !value.is_empty()).unwrap_or_else(|| NONE.to_owned())
    };
    let settings = differences.parameters.iter();
    let rows: Vec<Vec<String>> =
        settings.map(|setting| vec![setting.name.clone(), shown(&setting.a), shown(&setting.b)]).collect();
    (!rows.is_empty()).then(|| lines(&[vec![header], rows].concat(), &[Align::Left, Align::Left]))
}

/// What is in one only, and what cannot be compared.
fn notes(differences: &Differences) -> String {
    let [only_a, only_b] = &differences.runs_only_in;
    let [figures_a, figures_b] = &differences.figures_only_in;
    let listed =
        |what: &str, runs: &[String]| runs.iter().map(|run| format!("{what}: {run}\n")).collect::<String>();
    let names = |what: &str, names: Vec<&str>| match names.is_empty() {
        true => String::new(),
        false => format!("{what}: {}\n", names.join(", ")),
    };
    let errors = differences.errors.iter().map(|error| {
        let of = |error: &Option<String>| error.clone().unwrap_or_else(|| "no error".to_owned());
        format!("Ends otherwise: {}\n  A: {}\n  B: {}\n", error.run, of(&error.a), of(&error.b))
    });
    [
        listed("Only in A", only_a),
        listed("Only in B", only_b),
        listed("The kernel's text differs", &differences.other_kernels),
        names("Figures only in A", figures_a.iter().map(String::as_str).collect()),
        names("Figures only in B", figures_b.iter().map(String::as_str).collect()),
        errors.collect(),
    ]
    .concat()
}

fn figures(differences: &Differences, most: usize) -> String {
    let Differences { figures, runs_compared, figures_compared, .. } = differences;
    let summary = format!(
        "{} of {} figures of {} runs differ.\n",
        count(figures.len() as u64),
        count(*figures_compared as u64),
        count(*runs_compared as u64)
    );
    let header = ["run", "figure", "A", "B", "change"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(figures.iter().take(most).map(row)).collect();
    let table = lines(&rows, &[Align::Left, Align::Left, Align::Right]);
    match figures.len().checked_sub(most).filter(|more| *more > 0) {
        _ if figures.is_empty() => summary,
        Some(more) => format!("{summary}\n{table}and {} more; --most N shows more\n", count(more as u64)),
        None => format!("{summary}\n{table}"),
    }
}

fn row(difference: &FigureDifference) -> Vec<String> {
    let FigureDifference { run, figure, a, b, percent } = difference;
    let first = ["kernel", "size", "design"];
    let values = first.iter().filter_map(|name| run.get(*name).cloned());
    let others = run.iter().filter(|(name, _)| !first.contains(&name.as_str()));
    let run: Vec<String> = values.chain(others.map(|(name, value)| format!("{name}={value}"))).collect();
    let change = percent.map_or("from 0".to_owned(), |percent| format!("{percent:+.2} %"));
    vec![run.join(" "), figure.clone(), shown(a), shown(b), change]
}

fn shown(number: &Number) -> String {
    match (number.as_u64(), number.as_f64()) {
        (Some(whole), _) => count(whole),
        (None, Some(real)) => format!("{real:.4}"),
        (None, None) => number.to_string(),
    }
}
