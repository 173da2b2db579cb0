//! Maps circuits onto a library with Yosys.
//!
//! Modules keep their hierarchy and are mapped one by one: `synth`, `dfflibmap`, `abc`, all with the same library.
//! Memories are black boxes. `abc` as Yosys calls it neither sizes cells nor buffers nets.

use std::fs;
use std::hash::Hasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use thiserror::Error;
use twox_hash::XxHash64;
use warpfile_gen::{WriteError, emit, write};

use crate::mapped::Design;
use crate::sram::Outlined;

/// What Yosys does once the files are read; `TOP` and `LIBERTY` are filled in. Nets and cells that it made are given names
/// before it writes: the Verilog would have other names for them than the JSON, and SAIF takes those of the JSON.
const SCRIPT: &str = "synth -top TOP; dfflibmap -liberty LIBERTY; abc -liberty LIBERTY; setundef -zero; \
                      opt_clean -purge; rename -enumerate; setattr -mod -unset src; setattr -unset src; \
                      write_json mapped.json; write_verilog -noattr mapped.v";

/// A mapped circuit.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// Name of the outermost module.
    pub top: String,
    /// Every module.
    pub design: Design,
    /// The same as Verilog, for other tools.
    pub verilog: String,
}

/// Yosys did not map a circuit.
#[derive(Debug, Error)]
pub enum YosysError {
    /// It is not installed.
    #[error("`yosys` is not installed; Debian's package yosys has it: apt-get install yosys")]
    Missing,
    /// It could not be started, or a file could not be read or written.
    #[error("{what}: {source}")]
    File {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The Verilog could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It ended with an error.
    #[error("`yosys` failed on {circuit}: {output}")]
    Failed {
        /// The outermost module.
        circuit: String,
        /// The end of what it printed.
        output: String,
    },
    /// What it wrote is not what is expected.
    #[error("{circuit}: what `yosys` wrote cannot be read: {source}")]
    Unreadable {
        /// The outermost module.
        circuit: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// Where mapped circuits are kept: mapping is most of the time, and the same circuit maps to the same cells.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// Folder; nothing is kept without one.
    pub folder: Option<PathBuf>,
}

/// Maps a circuit onto the library in the file `liberty`.
pub fn map(outlined: &Outlined, liberty: &Path, cache: &Cache) -> Result<Mapped, YosysError> {
    let files = emit(&outlined.netlist);
    let memories: Vec<&str> = outlined.memories.iter().map(|memory| memory.module.as_str()).collect();
    let liberty = fs::canonicalize(liberty).map_err(|source| file("cannot find", liberty, source))?;
    let names: Vec<&str> = files.modules.iter().map(|file| file.name.as_str()).collect();
    let hidden =
        if memories.is_empty() { String::new() } else { format!("blackbox {}; ", memories.join(" ")) };
    let script = SCRIPT.replace("TOP", &files.top);
    let commands =
        format!("read_verilog {}; hierarchy -check -top {}; {hidden}{script}", names.join(" "), files.top);

    let mut key = XxHash64::with_seed(0);
    key.write(version()?.as_bytes());
    key.write(commands.as_bytes());
    key.write(&fs::read(&liberty).map_err(|source| file("cannot read", &liberty, source))?);
    files.modules.iter().for_each(|module| key.write(module.text.as_bytes()));
    let name = format!("{}-{:016x}", files.top, key.finish());
    if let Some(kept) = cache.find(&name, &files.top)? {
        return Ok(kept);
    }

    let folder =
        tempfile::tempdir().map_err(|source| file("cannot make a folder in", Path::new("/tmp"), source))?;
    write(&files, folder.path())?;
    // Yosys splits its commands at spaces: the library gets a name without any.
    let library = folder.path().join("library.lib");
    fs::copy(&liberty, &library).map_err(|source| file("cannot copy", &liberty, source))?;
    let commands = commands.replace("LIBERTY", "library.lib");
    let output = run(&["-q", "-p", &commands], folder.path())?;
    if !output.status.success() {
        return Err(YosysError::Failed { circuit: files.top, output: last_lines(&output) });
    }
    let read = |name: &str| {
        let path = folder.path().join(name);
        fs::read_to_string(&path).map_err(|source| file("cannot read", &path, source))
    };
    let (json, verilog) = (read("mapped.json")?, read("mapped.v")?);
    cache.keep(&name, &json, &verilog)?;
    mapped(&files.top, &json, verilog)
}

fn mapped(top: &str, json: &str, verilog: String) -> Result<Mapped, YosysError> {
    let design = serde_json::from_str(json)
        .map_err(|source| YosysError::Unreadable { circuit: top.to_owned(), source })?;
    Ok(Mapped { top: top.to_owned(), design, verilog })
}

impl Cache {
    /// Keeps mapped circuits in `folder`, which is made if missing.
    pub fn at(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: Some(folder.into()) }
    }

    fn find(&self, name: &str, top: &str) -> Result<Option<Mapped>, YosysError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let read = |extension: &str| fs::read_to_string(folder.join(format!("{name}.{extension}"))).ok();
        match (read("json"), read("v")) {
            (Some(json), Some(verilog)) => mapped(top, &json, verilog).map(Some),
            (Some(_) | None, Some(_) | None) => Ok(None),
        }
    }

    fn keep(&self, name: &str, json: &str, verilog: &str) -> Result<(), YosysError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        fs::create_dir_all(folder).map_err(|source| file("cannot make folder", folder, source))?;
        for (extension, text) in [("json", json), ("v", verilog)] {
            let path = folder.join(format!("{name}.{extension}"));
            // Another thread or process may be keeping the same circuit.
            let partial = tempfile::Builder::new().prefix(".mapped-").tempfile_in(folder);
            let kept = partial.and_then(|mut partial| {
                partial.write_all(text.as_bytes())?;
                partial.persist(&path).map_err(|error| error.error)
            });
            kept.map_err(|source| file("cannot write", &path, source))?;
        }
        Ok(())
    }
}

/// What Yosys says it is.
pub fn version() -> Result<String, YosysError> {
    let output = run(&["-V"], Path::new("."))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn run(arguments: &[&str], folder: &Path) -> Result<Output, YosysError> {
    Command::new("yosys").args(arguments).current_dir(folder).output().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => YosysError::Missing,
        _ => YosysError::File { what: "cannot run `yosys`".to_owned(), source },
    })
}

fn file(what: &str, path: &Path, source: io::Error) -> YosysError {
    YosysError::File { what: format!("{what} {}", path.display()), source }
}

fn last_lines(output: &Output) -> String {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("\n")
}
