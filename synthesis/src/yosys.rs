//! Maps circuits onto a library with Yosys.
//!
//! Modules keep their hierarchy and are mapped one by one: as `synth` does, `dfflibmap`, `abc`, all with the same library.
//! Memories are black boxes. `abc` as Yosys calls it neither sizes cells nor buffers nets.

use std::fs;
use std::hash::Hasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rayon::prelude::*;
use thiserror::Error;
use twox_hash::XxHash64;
use warpfile_gen::{WriteError, emit, write};
use warpfile_hdl::rtl::netlist::{Module, Netlist};

use crate::mapped::{Design, MappedModule};
use crate::sram::Outlined;

/// What Yosys does once the files are read; `TOP` and `LIBERTY` are filled in.
///
/// Up to `memory_collect; opt_clean` it is what `synth` does until tables become flip-flops, without its searches by SAT for
/// ports of a table that are never used together, which with many ports take most of the time (decision 46), and without
/// `memory_bmux2rom`. Nets and cells that it made are given names before it writes: the Verilog would have other names for
/// them than the JSON, and SAIF takes those of the JSON.
const SCRIPT: &str = "proc; opt_expr; opt_clean; check; opt -nodffe -nosdff; fsm; opt; wreduce; peepopt; opt_clean; \
                      alumacc; share; opt; opt_mem; opt_mem_feedback; memory_dff; opt_clean; \
                      memory_share -nosat; opt_mem_widen; memory_collect; opt_clean; synth -top TOP -run fine:; \
                      dfflibmap -liberty LIBERTY; abc -liberty LIBERTY; setundef -zero; \
                      opt_clean -purge; rename -enumerate; setattr -mod -unset src; setattr -unset src; \
                      write_json mapped_TOP.json; write_verilog -noattr mapped_TOP.v";

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
        /// The module.
        circuit: String,
        /// The end of what it printed.
        output: String,
    },
    /// What it wrote is not what is expected.
    #[error("{circuit}: what `yosys` wrote cannot be read: {source}")]
    Unreadable {
        /// The module.
        circuit: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// Where mapped modules are kept: mapping is most of the time, and the same module maps to the same cells.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// Folder; nothing is kept without one.
    pub folder: Option<PathBuf>,
}

/// Maps a circuit onto the library in the file `liberty`: its modules one by one, on all cores, those within a module as
/// black boxes. A module that several circuits have is kept once.
pub fn map(outlined: &Outlined, liberty: &Path, cache: &Cache) -> Result<Mapped, YosysError> {
    let files = emit(&without_invariants(&outlined.netlist));
    let liberty = fs::canonicalize(liberty).map_err(|source| file("cannot find", liberty, source))?;
    let folder =
        tempfile::tempdir().map_err(|source| file("cannot make a folder in", Path::new("/tmp"), source))?;
    write(&files, folder.path())?;
    // Yosys splits its commands at spaces: the library gets a name without any.
    let cells = fs::read(&liberty).map_err(|source| file("cannot read", &liberty, source))?;
    let library = folder.path().join("library.lib");
    fs::write(&library, &cells).map_err(|source| file("cannot write", &library, source))?;
    let mut common = XxHash64::with_seed(0);
    common.write(version()?.as_bytes());
    common.write(&cells);
    let common = common.finish();

    let modules = &outlined.netlist.modules;
    let parts: Vec<Part> = (outlined.memories.len()..modules.len())
        .into_par_iter()
        .map(|index| {
            let inner = inner_modules(&outlined.netlist, &modules[index]);
            let commands = commands(&modules[index].name, &inner);
            let mut key = XxHash64::with_seed(common);
            key.write(commands.as_bytes());
            key.write(files.modules[index].text.as_bytes());
            inner.iter().for_each(|module| key.write(ports(module).as_bytes()));
            let kept_as = format!("{}-{:016x}", modules[index].name, key.finish());
            map_module(&modules[index].name, &commands, folder.path(), cache, &kept_as)
        })
        .collect::<Result<_, _>>()?;

    let memories = outlined.memories.iter().map(|memory| memory.module.as_str());
    let mut design =
        Design { modules: memories.map(|name| (name.to_owned(), MappedModule::default())).collect() };
    let mut verilog = String::new();
    for part in parts {
        design.modules.insert(part.name, part.module);
        verilog.push_str(&part.verilog);
    }
    Ok(Mapped { top: files.top, design, verilog })
}

/// Invariants are no hardware. A module assumes as the outermost what it asserts within another; without them its Verilog
/// is the same in both places. State that only invariants read is printed as state that nothing reads, and Yosys removes it.
fn without_invariants(netlist: &Netlist) -> Netlist {
    let mut netlist = netlist.clone();
    netlist.modules.iter_mut().for_each(|module| module.invariants.clear());
    netlist
}

/// A mapped module.
struct Part {
    name: String,
    module: MappedModule,
    verilog: String,
}

/// The modules that a module has instances of, each once.
fn inner_modules<'n>(netlist: &'n Netlist, module: &Module) -> Vec<&'n Module> {
    let mut inner: Vec<usize> = module.instances.iter().map(|instance| instance.module.index()).collect();
    inner.sort_unstable();
    inner.dedup();
    inner.into_iter().map(|index| &netlist.modules[index]).collect()
}

/// What a module shows of itself: all that the mapping of those around it follows from.
fn ports(module: &Module) -> String {
    let ports = module.ports.iter().map(|port| format!(" {} {:?} {}", port.name, port.direction, port.width));
    format!("{}{}\n", module.name, ports.collect::<String>())
}

/// What Yosys is told to do with a module.
fn commands(name: &str, inner: &[&Module]) -> String {
    let black_boxes: String =
        inner.iter().map(|module| format!("read_verilog {0}.v; blackbox {0}; ", module.name)).collect();
    let script = SCRIPT.replace("TOP", name).replace("LIBERTY", "library.lib");
    format!("{black_boxes}read_verilog {name}.v; hierarchy -check -top {name}; {script}")
}

fn map_module(
    name: &str,
    commands: &str,
    folder: &Path,
    cache: &Cache,
    kept_as: &str,
) -> Result<Part, YosysError> {
    if let Some((json, verilog)) = cache.find(kept_as) {
        return part(name, &json, verilog);
    }
    let output = run(&["-q", "-p", commands], folder)?;
    if !output.status.success() {
        return Err(YosysError::Failed { circuit: name.to_owned(), output: last_lines(&output) });
    }
    let read = |name: String| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|source| file("cannot read", &path, source))
    };
    let (json, verilog) = (read(format!("mapped_{name}.json"))?, read(format!("mapped_{name}.v"))?);
    cache.keep(kept_as, &json, &verilog)?;
    part(name, &json, verilog)
}

/// The module of what Yosys wrote, without the black boxes in it.
fn part(name: &str, json: &str, verilog: String) -> Result<Part, YosysError> {
    let unreadable = |source| YosysError::Unreadable { circuit: name.to_owned(), source };
    let mut design: Design = serde_json::from_str(json).map_err(unreadable)?;
    let missing = || unreadable(serde::de::Error::custom("the module is not in it"));
    let module = design.modules.remove(name).ok_or_else(missing)?;
    Ok(Part { name: name.to_owned(), module, verilog })
}

impl Cache {
    /// Keeps mapped modules in `folder`, which is made if missing.
    pub fn at(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: Some(folder.into()) }
    }

    /// JSON and Verilog of a module.
    fn find(&self, name: &str) -> Option<(String, String)> {
        let folder = self.folder.as_ref()?;
        let read = |extension: &str| fs::read_to_string(folder.join(format!("{name}.{extension}"))).ok();
        read("json").zip(read("v"))
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
