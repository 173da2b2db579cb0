//! GTKWave save files: which signals of a waveform are shown, in which order, and how.
//!
//! The signals that the design's mechanisms list and the waveform has, by group. Numbers of warps, slots and registers are decimal,
//! masks and values hexadecimal; enumerations are words, through a translation file beside the save file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use warpfile_engine::waveform::{Format, SignalNumber};
use warpfile_sim::mechanisms::Stack;
use warpfile_sim::mechanisms::waves::{Enumeration, WaveGroup};

use crate::files::Output;

/// Numbers of GTKWave's save files for how a signal is shown, aligned at the right.
const COMMENT: &str = "@200";
const HEXADECIMAL: &str = "@22";
const DECIMAL: &str = "@24";
const BINARY: &str = "@28";
const TRANSLATED: &str = "@2022";

/// Logarithm of pixels a nanosecond, about: some thirty cycles in a window.
const ZOOM: &str = "-6.000000";

/// What ends the names of numbers that are counted rather than masked.
const COUNTED: [&str; 7] = ["_warp", "_slot", "_register", "_id", "_unit", "_line", "_row"];

/// Files of a save: the save file and its translations.
pub struct Save {
    path: PathBuf,
    file: Output,
}

impl Save {
    /// Starts a save file that will be called `path`.
    pub fn create(path: &Path) -> anyhow::Result<Save> {
        Ok(Save { path: path.into(), file: Output::create(path)? })
    }

    /// Writes the save file of a design's waveform, which is at a path and has these contents, and gives it its name.
    pub fn publish(mut self, (waveform, contents): (&Path, &Contents), design: &Stack) -> anyhow::Result<()> {
        let mut shown = String::new();
        let enumerations: Vec<Enumeration> =
            design.mechanisms().flat_map(|mechanism| mechanism.enumerations()).collect();
        for group in design.mechanisms().flat_map(|mechanism| mechanism.waves()) {
            shown += &self.group(contents, &group, &enumerations)?;
        }
        if shown.is_empty() {
            bail!(
                "--gtkw {}: {} has none of the signals that are shown of design {}; accepted: a waveform with the \
                 scopes register_file or scheduler",
                self.path.display(),
                waveform.display(),
                design.as_str()
            );
        }
        for enumeration in &enumerations {
            let path = self.translation(enumeration)?;
            if shown.contains(&format!("^1 {}\n", path.display())) {
                let mut file = Output::create(&path)?;
                file.write(&enumeration.translation())?;
                file.publish()?;
            }
        }
        let head = format!(
            "[dumpfile] \"{}\"\n[timestart] {}\n[size] 1500 950\n*{ZOOM} -1\n[sst_width] 240\n\
             [signals_width] 330\n[sst_expanded] 1\n[treeopen] {design}.\n{BINARY}\n{design}.clk_i\n",
            absolute(waveform)?.display(),
            contents.begins.unwrap_or_default(),
            design = design.as_str().replace('+', "_"),
        );
        self.file.write(&(head + &shown))?;
        self.file.publish()
    }

    /// A title and the signals of a group that the waveform has; nothing if it has none.
    fn group(
        &self,
        contents: &Contents,
        group: &WaveGroup,
        enumerations: &[Enumeration],
    ) -> anyhow::Result<String> {
        let mut lines = String::new();
        for (name, width) in group.signals.iter().filter_map(|signal| contents.find(group.scope, signal)) {
            let format = match enumerations.iter().find(|known| known.is_of(name)) {
                Some(known) => format!("{TRANSLATED}\n^1 {}", self.translation(known)?.display()),
                None => format(name, width).to_string(),
            };
            let range = if width == 1 { String::new() } else { format!("[{}:0]", width - 1) };
            lines += &format!("{format}\n{name}{range}\n");
        }
        Ok(if lines.is_empty() { lines } else { format!("{COMMENT}\n-{}\n{lines}", group.title) })
    }

    /// The translation file of an enumeration: GTKWave looks for it from where it is started.
    fn translation(&self, enumeration: &Enumeration) -> anyhow::Result<PathBuf> {
        let path = absolute(&self.path)?;
        Ok(path.with_extension(format!("{}.txt", enumeration.name)))
    }
}

/// Where a file is or will be, from the root.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).with_context(|| format!("{}: no such folder", folder.display()))?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}

/// What is in a waveform.
#[derive(Default)]
pub struct Contents {
    /// Bits of the signals, by path.
    widths: BTreeMap<String, u32>,
    /// The first time, ns; `None` if nothing has been recorded.
    begins: Option<u64>,
}

impl Contents {
    /// A signal of a circuit, of the first part of the SM if it has several.
    fn find(&self, scope: &str, signal: &str) -> Option<(&str, u32)> {
        let found = self.widths.iter().find(|(path, _)| below(path, scope) == Some(signal));
        found.map(|(path, width)| (path.as_str(), *width))
    }
}

/// A format, and what is written in it noted.
pub struct Noted<'c, F> {
    format: F,
    contents: &'c mut Contents,
    /// The current scope and those around it, from the outermost.
    scopes: Vec<String>,
}

impl<'c, F: Format> Noted<'c, F> {
    /// Notes in `contents` what goes to `format`.
    pub fn new(format: F, contents: &'c mut Contents) -> Noted<'c, F> {
        Noted { format, contents, scopes: Vec::new() }
    }
}

impl<F: Format> Format for Noted<'_, F> {
    fn enter_scope(&mut self, name: &str) -> io::Result<()> {
        self.scopes.push(name.to_owned());
        self.format.enter_scope(name)
    }

    fn leave_scope(&mut self) -> io::Result<()> {
        self.scopes.pop();
        self.format.leave_scope()
    }

    fn declare(&mut self, name: &str, width: u32, signal: SignalNumber) -> io::Result<()> {
        self.contents.widths.insert(format!("{}.{name}", self.scopes.join(".")), width);
        self.format.declare(name, width, signal)
    }

    fn end_declarations(&mut self) -> io::Result<()> {
        self.format.end_declarations()
    }

    fn time(&mut self, nanoseconds: u64) -> io::Result<()> {
        self.contents.begins.get_or_insert(nanoseconds);
        self.format.time(nanoseconds)
    }

    fn change(&mut self, signal: SignalNumber, words: &[u64]) -> io::Result<()> {
        self.format.change(signal, words)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.format.finish()
    }
}

/// What follows `scope` in the path of one of its signals, or of a circuit in it.
fn below<'a>(path: &'a str, scope: &str) -> Option<&'a str> {
    let (_design, path) = path.split_once('.')?;
    let of_circuit = path.strip_prefix("partition0_").unwrap_or(path).strip_prefix(scope)?;
    // Of what each scheduler of a partition has one of, the first's.
    of_circuit.strip_prefix('0').unwrap_or(of_circuit).strip_prefix('.')
}

/// How a signal is shown.
fn format(name: &str, width: u32) -> &'static str {
    let plain = name.trim_end_matches("_i").trim_end_matches("_o");
    match width {
        1 => BINARY,
        _ if COUNTED.iter().any(|end| plain.ends_with(end)) => DECIMAL,
        _ => HEXADECIMAL,
    }
}
