//! `warpfile prove`.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::Value;
use tempfile::NamedTempFile;
use warpfile_hdl::library::{CircuitEntry, library};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_verify::formal::{Counterexample, Effort, Proof, Prover, Reached, Verdict, prove};

use crate::configuration::name_and_value;
use crate::files::{Output, read_text};
use crate::generate::{library_circuit, overrides};
use crate::output::{json, print};
use crate::progress::Meters;

/// Lines between which `--write` puts the table.
const BEGIN: &str = "<!-- warpfile prove --write: begin -->";
const END: &str = "<!-- warpfile prove --write: end -->";
/// Most bytes of a page.
const MAX_PAGE_BYTES: u64 = 4 << 20;

/// What is proven, and how hard it is tried.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile prove fifo --set depth=5 --set width=1
  warpfile prove round_robin_arbiter --depth 30 --solver cvc5 --vcd counterexample.vcd
  warpfile prove --prover abc                          every circuit at small parameters, in minutes
  warpfile prove --write docs/verification.md          the table in the documentation

ABC proves by property directed reachability, yosys-smtbmc by k-induction; neither knows of the other. Where an
invariant says \"if this, then that\", ABC also looks for a cycle in which \"this\" is so.

Needs yosys, ABC and a solver (apt-get install yosys berkeley-abc z3). Exit codes: 0; 1 if an invariant is refuted; 2
for input that cannot be used or a tool that is missing.")]
pub struct Arguments {
    /// Circuits: see `warpfile list circuits` [default: all].
    #[arg(value_name = "CIRCUIT")]
    circuits: Vec<String>,
    /// Set a parameter of the circuit, if one is named: `depth=5` [default: a small set of the library].
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    sets: Vec<(String, String)>,
    /// Cycles, from the first under reset, in which every invariant has to hold whatever the inputs are.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    depth: u32,
    /// Cycles in a row that induction assumes.
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    induction: u32,
    /// What proves.
    #[arg(long, value_enum, default_value_t = Choice::Both)]
    prover: Choice,
    /// Solver of yosys-smtbmc: z3 or cvc5.
    #[arg(long, value_name = "NAME", default_value = "z3", value_parser = ["z3", "cvc5"])]
    solver: String,
    /// Seconds that one attempt may take.
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86400))]
    seconds: u64,
    /// Waveform of the first counterexample, if one circuit is named and there is one.
    #[arg(long, value_name = "FILE")]
    vcd: Option<PathBuf>,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,
    /// Replace the table in this page.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    write: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Choice {
    /// The command `berkeley-abc`.
    Abc,
    /// The command `yosys-smtbmc`.
    Smtbmc,
    /// ABC, then yosys-smtbmc with what ABC does not refute.
    Both,
}

impl Choice {
    fn provers(self) -> Vec<Prover> {
        match self {
            Choice::Abc => vec![Prover::Abc],
            Choice::Smtbmc => vec![Prover::Smtbmc],
            Choice::Both => vec![Prover::Abc, Prover::Smtbmc],
        }
    }

    /// As the option's value.
    fn name(self) -> &'static str {
        match self {
            Choice::Abc => "abc",
            Choice::Smtbmc => "smtbmc",
            Choice::Both => "both",
        }
    }
}

/// A line of the table.
#[derive(Serialize)]
struct Line {
    circuit: &'static str,
    parameters: String,
    /// Path and name.
    invariant: String,
    verdict: String,
    /// What each tool says; empty if it was not asked.
    abc: String,
    smtbmc: String,
    /// When the premise of an "if this, then that" first holds.
    premise: String,
    /// Time that the whole circuit took.
    seconds: f64,
}

/// Proves, and prints what is known; a refuted invariant is an error.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let library = library();
    let entries = arguments.entries(&library)?;
    if entries.len() != 1 && (!arguments.sets.is_empty() || arguments.vcd.is_some()) {
        bail!("--set and --vcd are for one circuit; {} are to be proven", entries.len());
    }
    let page = arguments.write.as_deref().map(Page::read).transpose()?;
    let meters = Meters::new();
    let mut meter = meters.meter("prove");
    let (mut lines, mut refuted) = (Vec::new(), None);
    for entry in entries {
        meter.update(|| entry.name.to_owned());
        let changed = match arguments.sets.as_slice() {
            [] => entry.proven_at.clone(),
            sets => overrides(entry, sets)?,
        };
        let netlist = entry.elaborate_with(&changed)?;
        let found = arguments.lines(entry, &netlist, &changed, &mut refuted)?;
        lines.extend(found);
    }
    match page {
        Some(page) => page.write(&arguments.table(&lines))?,
        None if arguments.json => print(&json(&lines)?)?,
        None => print(&text(&lines))?,
    }
    refuted.map_or(Ok(()), |counterexample| Err(counterexample.into()))
}

impl Arguments {
    fn entries<'l>(&self, library: &'l [CircuitEntry]) -> anyhow::Result<Vec<&'l CircuitEntry>> {
        if self.circuits.is_empty() {
            return Ok(library.iter().collect());
        }
        self.circuits.iter().map(|name| library_circuit(name, library)).collect()
    }

    fn effort(&self) -> Effort {
        Effort {
            provers: self.prover.provers(),
            depth: self.depth,
            induction: self.induction,
            solver: self.solver.clone(),
            patience: Duration::from_secs(self.seconds),
        }
    }

    /// What is known of a circuit; the first refuted invariant of all goes to `refuted`.
    fn lines(
        &self,
        entry: &CircuitEntry,
        netlist: &Netlist,
        parameters: &Value,
        refuted: &mut Option<Counterexample>,
    ) -> anyhow::Result<Vec<Line>> {
        let prove = |waveform: Option<&Path>| Ok(prove(netlist, &self.effort(), waveform)?);
        let proofs = with_waveform(self.vcd.as_deref(), prove)?;
        let line = |proof: &Proof| {
            let invariant = proof.property.full_name();
            if let Verdict::Refuted(cycle) = proof.verdict() {
                let circuit = netlist.top().name.clone();
                refuted.get_or_insert(Counterexample { circuit, invariant: invariant.clone(), cycle });
            }
            let of_tool = |verdict: Option<Verdict>| verdict.map(text_of).unwrap_or_default();
            Line {
                circuit: entry.name,
                parameters: parameters.to_string(),
                invariant,
                verdict: text_of(proof.verdict()),
                abc: of_tool(proof.abc),
                smtbmc: match of_tool(proof.smtbmc) {
                    proven if proof.smtbmc == Some(Verdict::Proven) => {
                        format!("{proven}, k = {}", self.induction)
                    }
                    other => other,
                },
                premise: match proof.reached {
                    Some(Reached::In(cycle)) => format!("cycle {cycle}"),
                    Some(Reached::NotIn(cycles)) => format!("not in {cycles}"),
                    None => String::new(),
                },
                seconds: proofs.time.as_secs_f64(),
            }
        };
        let mut lines: Vec<Line> = proofs.proofs.iter().map(line).collect();
        if lines.is_empty() {
            let (invariant, none) = ("none is named".to_owned(), String::new);
            let (verdict, abc, smtbmc, premise) = (none(), none(), none(), none());
            let parameters = parameters.to_string();
            lines.push(Line {
                circuit: entry.name,
                parameters,
                invariant,
                verdict,
                abc,
                smtbmc,
                premise,
                seconds: 0.0,
            });
        }
        Ok(lines)
    }

    /// The table of a page.
    fn table(&self, lines: &[Line]) -> String {
        let mut text = format!(
            "By `warpfile prove --depth {} --induction {} --prover {} --solver {} --seconds {}`; seconds are of the whole \
             circuit.\n\n\
             | circuit | parameters | invariant | | ABC | yosys-smtbmc | \"if\" first holds | s |\n\
             |---|---|---|---|---|---|---|--:|\n",
            self.depth,
            self.induction,
            self.prover.name(),
            self.solver,
            self.seconds
        );
        let mut last = None;
        for line in lines {
            let is_first = last.replace(line.circuit) != Some(line.circuit);
            let (circuit, parameters, seconds) = match is_first {
                true => (line.circuit, format!("`{}`", line.parameters), format!("{:.1}", line.seconds)),
                false => ("", String::new(), String::new()),
            };
            let Line { invariant, verdict, abc, smtbmc, premise, .. } = line;
            let _ = writeln!(
                text,
                "| {circuit} | {parameters} | {invariant} | {verdict} | {abc} | {smtbmc} | {premise} | {seconds} |"
            );
        }
        text
    }
}

/// Proves with a file for a waveform, which becomes `path` if something has been written to it.
fn with_waveform<T>(
    path: Option<&Path>,
    prove: impl FnOnce(Option<&Path>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let Some(path) = path else { return prove(None) };
    let mut output = Output::create(path)?;
    let waveform = NamedTempFile::new().context("cannot keep a waveform")?;
    let proven = prove(Some(waveform.path()))?;
    let copied = File::open(waveform.path()).and_then(|mut from| io::copy(&mut from, output.file()));
    if copied.with_context(|| format!("cannot write {}", path.display()))? > 0 {
        output.publish()?;
    }
    Ok(proven)
}

fn text_of(verdict: Verdict) -> String {
    match verdict {
        Verdict::Proven => "proven".to_owned(),
        Verdict::Bounded(cycles) => format!("bounded to {cycles}"),
        Verdict::Refuted(cycle) => format!("refuted in cycle {cycle}"),
        Verdict::Open => "open".to_owned(),
        Verdict::Assumed => "assumed".to_owned(),
    }
}

fn text(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.invariant.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut last = None;
    for line in lines {
        if last.replace(line.circuit) != Some(line.circuit) {
            let _ = writeln!(text, "{} {} ({:.1} s)", line.circuit, line.parameters, line.seconds);
        }
        let Line { invariant, verdict, abc, smtbmc, premise, .. } = line;
        let _ = write!(text, "    {invariant:width$}  {verdict:18}");
        for (what, found) in [("abc: ", abc), ("yosys-smtbmc: ", smtbmc), ("if: ", premise)] {
            if !found.is_empty() {
                let _ = write!(text, "  {what}{found}");
            }
        }
        text.push('\n');
    }
    text
}

/// A page with the two lines between which the table is.
struct Page<'a> {
    path: &'a Path,
    before: String,
    after: String,
}

impl<'a> Page<'a> {
    fn read(path: &'a Path) -> anyhow::Result<Page<'a>> {
        let text = read_text(path, MAX_PAGE_BYTES)?;
        let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
        let Some((before, after)) = parts else {
            bail!("{}: accepted: a page with the lines `{BEGIN}` and `{END}`", path.display());
        };
        Ok(Page { path, before: before.to_owned(), after: after.to_owned() })
    }

    fn write(self, table: &str) -> anyhow::Result<()> {
        let mut file = Output::create(self.path)?;
        file.write(&format!("{}{BEGIN}\n\n{table}\n{END}{}", self.before, self.after))?;
        file.publish()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Names in the folder of a file, with what the file holds.
    fn kept(path: &Path) -> (usize, Option<String>) {
        (fs::read_dir(path.parent().unwrap()).unwrap().count(), fs::read_to_string(path).ok())
    }

    #[test]
    fn a_waveform_replaces_a_file_only_if_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.vcd");
        let write = |text: &'static str| {
            move |waveform: Option<&Path>| {
                fs::write(waveform.expect("a file"), text).unwrap();
                Ok(())
            }
        };
        with_waveform(Some(&path), write("")).unwrap();
        assert_eq!(kept(&path), (0, None));
        with_waveform(Some(&path), write("waves")).unwrap();
        assert_eq!(kept(&path), (1, Some("waves".to_owned())));
        let fails = |waveform: Option<&Path>| {
            write("half")(waveform)?;
            bail!("the tool has failed")
        };
        with_waveform::<()>(Some(&path), fails).unwrap_err();
        with_waveform(Some(&path), write("")).unwrap();
        assert_eq!(kept(&path), (1, Some("waves".to_owned())));
        let error = with_waveform(Some(Path::new("/dev/full")), write("waves")).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot write /dev/full: "), "{error:#}");
    }
}
