//! A page for each paper: every number of its text beside ours, and why those differ that do.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::kept::KeptRuns;
use super::number::Number;
use super::report::{FigureReport, Table};
use super::svg::{self, Sheet};
use super::sweep::{Setup, Simulate};
use super::{Cause, Options, PAPERS, Paper, Study, by_id, command, keep_in, make, simulate};
use crate::files::OutputFolder;
use crate::input::Source;
use crate::output::print;

/// Where pages go.
#[derive(Default)]
pub struct Outputs {
    /// Folder that keeps the pages.
    pub out: Option<PathBuf>,
    /// Folder that keeps the figures that the pages were made from.
    pub figures: Option<PathBuf>,
}

/// Makes the pages of papers by name, of all if none is named, and prints them.
///
/// # Errors
/// There is no such paper or workload, a run fails, or a file cannot be written.
pub fn run(names: &[String], options: &Options, outputs: &Outputs) -> Result<()> {
    let papers = if names.is_empty() {
        PAPERS.to_vec()
    } else {
        names.iter().map(|name| by_name(name)).collect::<Result<_>>()?
    };
    let runs = KeptRuns::new(options.engine, options.runs.as_deref())?;
    let simulate = |source: &Source<'_>, setup: &Setup| {
        runs.get(source, setup, || simulate(source, setup, options.engine))
    };
    for paper in papers {
        let reports = reports(paper, outputs.figures.is_some(), options, &simulate)?;
        if let Some(folder) = &outputs.figures {
            for report in &reports {
                let title = format!("{} ({})", report.title, report.source);
                keep_in(folder, report, &svg::draw(Sheet::screen(&title), &report.content.charts))?;
            }
        }
        let page = page(paper, &reports, options, &simulate)?;
        if let Some(folder) = &outputs.out {
            let name = format!("{}.md", paper.name);
            OutputFolder::create(folder)?.publish([(name.as_str(), page.as_str())])?;
        }
        print(&page)?;
    }
    Ok(())
}

fn by_name(name: &str) -> Result<&'static Paper> {
    let Some(paper) = PAPERS.iter().find(|paper| paper.name == name) else {
        let known: Vec<&str> = PAPERS.iter().map(|paper| paper.name).collect();
        bail!("no paper `{name}`; there are: {}", known.join(", "));
    };
    Ok(paper)
}

/// The figures of a paper: all, or those that the text gives numbers of. Workloads that are named are those of the figures
/// that have any.
pub fn reports(
    paper: &Paper,
    all: bool,
    options: &Options,
    simulate: Simulate<'_>,
) -> Result<Vec<FigureReport>> {
    let of_one = |figure: &'static super::Figure| {
        let options = if figure.has_workloads() { options.clone() } else { options.without_workloads() };
        make(figure, &options, simulate)
    };
    paper.figures.iter().filter(|figure| all || figure.has_numbers).map(of_one).collect()
}

/// A number and where it is.
struct Row<'a> {
    /// Figure and key: `regless-16.run_time`.
    id: String,
    source: &'static str,
    number: &'a Number,
}

fn rows(reports: &[FigureReport]) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for report in reports {
        for claim in &report.content.claims {
            rows.extend(claim.numbers.iter().map(|number| Row {
                id: format!("{}.{}", report.id, number.key),
                source: claim.source,
                number,
            }));
        }
    }
    rows
}

/// A cause with the numbers that its run gives.
struct Shown {
    figure: &'static str,
    cause: &'static Cause,
    command: String,
    numbers: Vec<Number>,
}

/// Runs what is said to remove differences.
fn shown(paper: &Paper, options: &Options, simulate: Simulate<'_>) -> Result<Vec<Shown>> {
    let mut all = Vec::new();
    // Other programs say nothing of those that are named.
    let named = !options.variation.workloads().is_empty();
    for figure in paper.figures {
        for cause in figure.causes.iter().filter(|cause| !(named && cause.names_workloads())) {
            let of_cause = || format!("{}, cause of {}", figure.id, cause.of.join(", "));
            let variation = options.variation.with(cause.run).with_context(of_cause)?;
            let options = Options { variation, ..options.clone() };
            let report = make(figure, &options, simulate).with_context(of_cause)?;
            let found = cause.of.iter().map(|key| number(&report, key).cloned());
            // Of workloads that are left out there are no numbers.
            let numbers = found.filter(|number| number.is_ok() || options.variation.workloads().is_empty());
            let numbers = numbers.collect::<Result<_>>()?;
            all.push(Shown { figure: figure.id, cause, command: command(figure, &options), numbers });
        }
    }
    Ok(all)
}

/// A number of a figure by its key.
fn number<'a>(report: &'a FigureReport, key: &str) -> Result<&'a Number> {
    let mut numbers = report.content.claims.iter().flat_map(|claim| &claim.numbers);
    numbers.find(|number| number.key == key).with_context(|| format!("{} has no number `{key}`", report.id))
}

/// The page of a paper.
pub fn page(
    paper: &Paper,
    reports: &[FigureReport],
    options: &Options,
    simulate: Simulate<'_>,
) -> Result<String> {
    let options = &options.at_usual_size(paper.size);
    let shown = shown(paper, options, simulate)?;
    let rows = rows(reports);
    let words = ["warpfile", "fidelity", paper.name].map(str::to_owned);
    let words: Vec<String> = words.into_iter().chain(options.variation.words(true)).collect();
    let differing: Vec<&Row> = rows.iter().filter(|row| row.number.differs()).collect();
    let are = |wanted: Explanation| differing.iter().filter(|row| explanation(row, &shown) == wanted).count();
    let mut out = format!(
        "# {}: the paper's numbers and ours\n\n\
         {}. Made by `{}`; every number that the paper's text gives is here.\n\n\
         The last columns hold a number against the nearest that the paper gives: points where it is a change or a \
         saving, else the ratio. A number *differs* if it lies more than a fifth of the paper's away, a change also more \
         than a point; then a cause is named by the number of a run below that brings it nearer. *In part*: in no such run does \
         the number come to lie within a fifth, so that something else stands behind it too. Of {} numbers {} differ, {} of them \
         explained in part and {} not explained.\n\n",
        paper.name,
        paper.citation,
        words.join(" "),
        rows.len(),
        differing.len(),
        are(Explanation::InPart),
        are(Explanation::None)
    );
    out += &numbers_table(&rows, &shown).to_markdown();
    out += "\n## Runs that show causes\n\n";
    if shown.is_empty() {
        out += "None.\n";
    }
    for (position, run) in shown.iter().enumerate() {
        out += &shown_text(position + 1, run, &rows);
    }
    for study in paper.studies {
        out += &study_text(study, options, simulate)?;
    }
    Ok(out)
}

/// How far runs show why a number differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Explanation {
    /// In one of them it does not.
    Whole,
    /// There are such runs, and it differs in all of them.
    InPart,
    /// No run shows it: a table of the figure leads from one to the other.
    Derived,
    /// There is none.
    None,
}

fn explanation(row: &Row<'_>, shown: &[Shown]) -> Explanation {
    let in_runs: Vec<bool> = causes_of(row, shown).map(|(_, number)| number.differs()).collect();
    match () {
        () if in_runs.is_empty() && row.number.derived => Explanation::Derived,
        () if in_runs.is_empty() => Explanation::None,
        () if in_runs.contains(&false) => Explanation::Whole,
        () => Explanation::InPart,
    }
}

/// Positions of the causes of a number, from 1, and what it is in their runs: a run that does not bring it nearer shows none.
fn causes_of<'a>(row: &'a Row<'_>, shown: &'a [Shown]) -> impl Iterator<Item = (usize, &'a Number)> {
    let of =
        |run: &'a Shown| run.numbers.iter().find(|number| format!("{}.{}", run.figure, number.key) == row.id);
    let found = (1..).zip(shown).filter_map(move |(position, run)| Some((position, of(run)?)));
    found.filter(|(_, number)| number.is_nearer_than(row.number))
}

fn numbers_table(rows: &[Row<'_>], shown: &[Shown]) -> Table {
    let mut table = Table::new("numbers", "Numbers")
        .column("claim", "number")
        .column("source", "source")
        .column("what", "what")
        .column("paper", "the paper")
        .column("here", "here")
        .column("difference", "here beside it")
        .column("cause", "cause");
    for row in rows {
        let causes: Vec<String> = causes_of(row, shown).map(|(position, _)| position.to_string()).collect();
        let cause = match (row.number.differs(), explanation(row, shown)) {
            (false, Explanation::None) => String::new(),
            (true, Explanation::None) => "not explained".to_owned(),
            (false, Explanation::Derived) => String::new(),
            (true, Explanation::Derived) => "steps in the figure".to_owned(),
            (true, Explanation::InPart) => format!("run {}, in part", causes.join(", ")),
            (false, Explanation::InPart) | (_, Explanation::Whole) => format!("run {}", causes.join(", ")),
        };
        table.row(vec![
            format!("`{}`", row.id).into(),
            row.source.into(),
            row.number.what.clone().into(),
            row.number.paper_text().into(),
            row.number.here_text().into(),
            row.number.difference_text().into(),
            cause.into(),
        ]);
    }
    table
}

fn shown_text(position: usize, run: &Shown, rows: &[Row<'_>]) -> String {
    let mut out = format!("{position}. {} `{}`:\n", run.cause.why, run.command);
    for number in &run.numbers {
        let id = format!("{}.{}", run.figure, number.key);
        let Some(Row { number: before, .. }) = rows.iter().find(|row| row.id == id) else { continue };
        let verdict = match () {
            () if !number.is_nearer_than(before) => "no nearer",
            () if number.differs() => "still differs",
            () => "does not differ",
        };
        out += &format!(
            "   - `{id}`: {} instead of {}; the paper {}: {verdict}\n",
            number.here_text(),
            before.here_text(),
            number.paper_text()
        );
    }
    out
}

fn study_text(study: &Study, options: &Options, simulate: Simulate<'_>) -> Result<String> {
    let mut table = Table::new("study", study.title).column("run", "run");
    for (figure, key, heading) in study.columns {
        table = table.column(format!("{figure}.{key}"), *heading);
    }
    for (name, words) in study.runs {
        let variation = options.variation.with(words).context(study.title)?;
        let options = Options { variation, ..options.clone() };
        let mut cells = vec![format!("{name}: `{words}`").into()];
        for (id, key, _) in study.columns {
            let report = make(by_id(id)?, &options, simulate).with_context(|| study.title)?;
            cells.push(number(&report, key)?.here_text().into());
        }
        table.row(cells);
    }
    Ok(format!("\n## {}\n\n{}\n\n{}", study.title, study.text, table.to_markdown()))
}

#[cfg(test)]
mod tests {
    use warpfile_kernels::workloads;
    use warpfile_sim::sm::EngineName;

    use super::{PAPERS, by_id, make, page, reports, rows};
    use crate::figures::kept::KeptRuns;
    use crate::figures::sweep::Setup;
    use crate::figures::{Options, Paper, Variation, simulate, tests};
    use crate::input::Source;

    fn options(workloads: &[&str]) -> Options {
        let variation = Variation::of("tiny", workloads);
        Options { variation, engine: EngineName::default(), threads: 0, runs: None }
    }

    /// The first cells of the rows of a page's table of numbers.
    fn ids(page: &str) -> Vec<String> {
        let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        cells.map(str::to_owned).collect()
    }

    fn committed(paper: &Paper) -> String {
        let path = format!("{}/../docs/fidelity/{}.md", env!("CARGO_MANIFEST_DIR"), paper.name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[test]
    fn the_committed_pages_list_the_numbers_of_today_s_claims() {
        for paper in PAPERS {
            let reports = reports(paper, true, &options(&[]), &tests::injected).expect("no run fails");
            let today: Vec<String> = rows(&reports).into_iter().map(|row| row.id).collect();
            let committed = ids(&committed(paper));
            assert_eq!(committed, today, "run scripts/figures: docs/fidelity/{}.md", paper.name);
            let distinct: std::collections::BTreeSet<&String> = today.iter().collect();
            assert_eq!(distinct.len(), today.len(), "{}: two numbers of one name", paper.name);
        }
    }

    #[test]
    fn every_cause_is_of_numbers_of_its_figure() {
        for figure in PAPERS.iter().flat_map(|paper| paper.figures) {
            let report = make(figure, &options(&[]), &tests::injected).expect("no run fails");
            for key in figure.causes.iter().flat_map(|cause| cause.of) {
                assert!(super::number(&report, key).is_ok(), "{}: {key}", figure.id);
            }
        }
    }

    #[test]
    fn a_page_has_both_values_of_every_number_and_the_runs_that_show_causes() {
        let runs = KeptRuns::new(EngineName::default(), None).expect("no folder");
        let simulate = |source: &Source<'_>, setup: &Setup| {
            runs.get(source, setup, || simulate(source, setup, EngineName::default()))
        };
        let (options, mine) = (options(&["nn"]), "nn");
        for paper in PAPERS {
            let reports = reports(paper, true, &options, &simulate).expect("no run fails");
            let page = page(&Paper { studies: &[], ..**paper }, &reports, &options, &simulate).expect("runs");
            for (report, figure) in reports.iter().zip(paper.figures) {
                let numbers = report.content.claims.iter().map(|claim| claim.numbers.len()).sum::<usize>();
                assert_eq!(numbers > 0, figure.has_numbers, "{}", figure.id);
            }
            let rows = rows(&reports);
            assert_eq!(ids(&page), rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>());
            for row in rows {
                let of_row = |start: &str| {
                    let start = format!("{start}`{}`", row.id);
                    page.lines().filter(move |line| line.starts_with(&start))
                };
                let line = of_row("| ").next().expect("a row");
                let still = of_row("   - ").any(|line| line.ends_with("still differs"));
                let removed = of_row("   - ").any(|line| line.ends_with("does not differ"));
                let in_part = row.number.differs() && still && !removed;
                assert_eq!(line.contains(", in part"), in_part, "{line}");
                // A number of a workload ends with its name, or with that of a kernel behind it: `convolution.CONV1`.
                let (key, kernel) = row.number.key.rsplit_once('.').unwrap_or((&row.number.key, ""));
                let of_another = workloads::all().iter().any(|workload| {
                    workload.name != mine
                        && (row.number.key.ends_with(workload.name)
                            || !kernel.is_empty() && key.ends_with(workload.name))
                });
                assert_ne!(row.number.paper_text(), "any", "{}", row.id);
                assert!(row.number.here.is_some() || of_another || is_of_many(&row.id), "{}", row.id);
            }
            let causes = paper.figures.iter().flat_map(|figure| figure.causes);
            let causes = causes.filter(|cause| !cause.names_workloads()).count();
            let shown =
                page.lines().filter(|line| line.contains("`warpfile figure ") && line.ends_with("`:"));
            assert_eq!(shown.count(), causes, "{page}");
            insta::assert_snapshot!(format!("{}_of_nn_at_tiny", paper.name), page);
        }
    }

    /// What one workload that shares nothing does not have, others do, at a size that has a pair of blocks for each SM.
    #[test]
    fn numbers_of_sharing_are_those_of_workloads_that_share() {
        let runs = KeptRuns::new(EngineName::default(), None).expect("no folder");
        let simulate = |source: &Source<'_>, setup: &Setup| {
            runs.get(source, setup, || simulate(source, setup, EngineName::default()))
        };
        // nqueens shares with 48 and with 64 KB, and does not become faster.
        for (id, workload, least) in [
            ("sharing-2.19a", "hotspot", 1.0),
            ("sharing-2.19b", "convolution", 1.0),
            ("sharing-3.15", "nqueens", 0.0),
        ] {
            let options = Options { variation: Variation::of("default", &[workload]), ..options(&[]) };
            let report = make(by_id(id).expect("known"), &options, &simulate).expect("runs");
            let numbers = report.content.claims.iter().flat_map(|claim| &claim.numbers);
            let values: Vec<Option<f64>> = numbers.map(|number| number.here).collect();
            let is_share = |value: &Option<f64>| value.is_some_and(|value| (least..=100.0).contains(&value));
            assert!(!values.is_empty() && values.iter().all(is_share), "{id}: {values:?}");
        }
    }

    /// Numbers of categories, occupancies and sharing that one workload does not have, and of hits beside those of `nn`, which has
    /// none.
    fn is_of_many(id: &str) -> bool {
        let prefixes = ["gebhart-9", "sharing-2.19", "sharing-3.15"];
        ["gebhart-2.hpc_more_than_once", "wir-21.retry_hits"].contains(&id)
            || prefixes.iter().any(|prefix| id.starts_with(prefix))
    }
}
