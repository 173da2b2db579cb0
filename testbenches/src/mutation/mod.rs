//! How good the testbenches are: a circuit is changed in one place, a mutant, and its testbench has to notice.
//!
//! Testbenches elaborate their circuits with [`elaborate`], which gives the circuit itself unless the environment asks
//! for a mutant. [`run`] runs the tests of a circuit on its mutants, each in a process of its own; [`prove`] asks Yosys
//! whether a mutant that is not noticed is the same function; [`report`] writes what came out.
//!
//! A mutant is known by a name that says where and how (`fifo.rs:57: Add becomes Sub`), so that it is the same one in
//! circuits of other sizes, which testbenches draw at random: it is applied wherever a circuit has a place of that name.

mod change;
pub mod circuits;
mod conditions;
mod live;
mod operators;
pub mod prove;
pub mod report;
pub mod run;
mod sites;

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Mutex;

use warpfile_engine::{Interpreter, Options};
use warpfile_gen::{emit, write};
use warpfile_hdl::rtl::netlist::{Module, ModuleId, Netlist};
use warpfile_hdl::rtl::{Circuit, ElaborationErrors};

pub use change::Change;
pub use sites::{Mutant, mutants};

/// Names the circuit that is mutated.
pub(crate) const CIRCUIT: &str = "WARPFILE_MUTANT_CIRCUIT";
/// Names the mutant; without it the names of all mutants go to the file of [`SITES`].
pub(crate) const MUTANT: &str = "WARPFILE_MUTANT";
/// File that names of mutants are appended to, and after [`VERILOG`] a hash of each module that has them.
pub(crate) const SITES: &str = "WARPFILE_MUTANT_SITES";
/// Before the name of a module and a hash of its Verilog and of what is below it.
pub(crate) const VERILOG: &str = "verilog ";
/// Folder that circuits and their mutants are exported to.
pub(crate) const EXPORT: &str = "WARPFILE_MUTANT_EXPORT";
/// Status of a process whose mutant is no circuit, such as one with a combinational loop.
pub(crate) const NO_CIRCUIT: i32 = 99;
/// Status of a process whose testbench noticed.
const NOTICED: i32 = 101;

/// Elaborates a circuit for its testbench, which cannot tell whether it gets the circuit or a mutant.
///
/// # Errors
/// As [`warpfile_hdl::rtl::elaborate`].
pub fn elaborate<C: Circuit>(circuit: &C) -> Result<Netlist, ElaborationErrors> {
    let mut netlist = warpfile_hdl::rtl::elaborate(circuit)?;
    if let Ok(mutated) = env::var(CIRCUIT) {
        match (env::var(MUTANT), env::var(SITES)) {
            (Ok(mutant), _) => mutate(&mut netlist, &mutated, &mutant),
            (Err(_), Ok(file)) => list(&netlist, &mutated, Path::new(&file)),
            (Err(_), Err(_)) => {}
        }
    }
    Ok(netlist)
}

/// Whether `module` is an instance of `circuit`, whatever its parameters.
fn is_of(module: &Module, circuit: &str) -> bool {
    module.name.strip_prefix(circuit).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Puts the mutant in the place of the circuit. The first panic then ends the process: it is a test that notices.
fn mutate(netlist: &mut Netlist, circuit: &str, mutant: &str) {
    let original = netlist.clone();
    for (index, module) in netlist.modules.iter_mut().enumerate().filter(|(_, module)| is_of(module, circuit))
    {
        if let Some(found) = mutants(&original, index).into_iter().find(|found| found.name == mutant) {
            found.change.apply(module);
        }
    }
    if netlist.modules == original.modules {
        return;
    }
    if Interpreter::new(netlist, &Options::checked()).is_err() {
        process::exit(NO_CIRCUIT);
    }
    match env::var(EXPORT) {
        Ok(folder) => export(&original, netlist, Path::new(&folder)),
        Err(_) => panic::set_hook(Box::new(|_| process::exit(NOTICED))),
    }
}

/// Modules already listed or exported by this process.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn is_new(module: &Module) -> bool {
    let mut seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let is_new = !seen.contains(&module.name);
    if is_new {
        seen.push(module.name.clone());
    }
    is_new
}

fn list(netlist: &Netlist, circuit: &str, file: &Path) {
    for (index, module) in netlist.modules.iter().enumerate() {
        if is_of(module, circuit) && is_new(module) {
            let mut names: String =
                mutants(netlist, index).iter().map(|mutant| format!("{}\n", mutant.name)).collect();
            let files = emit(&with_below(&Netlist { top: ModuleId(index as u32), ..netlist.clone() }));
            let texts: Vec<&str> = files.modules.iter().map(|file| file.text.as_str()).collect();
            names.push_str(&format!("{VERILOG}{} {:016x}\n", module.name, warpfile_records::hash(&texts)));
            let mut file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(file)
                .expect("a file for the names of mutants");
            file.write_all(names.as_bytes()).expect("room for the names of mutants");
        }
    }
}

/// Writes each changed module with what is below it, as it is and as it is mutated.
fn export(original: &Netlist, mutated: &Netlist, folder: &Path) {
    for (index, (before, after)) in original.modules.iter().zip(&mutated.modules).enumerate() {
        if before != after && is_new(before) {
            let path: PathBuf = folder.join(&before.name);
            for (name, netlist) in [("original", original), ("mutant", mutated)] {
                let top = with_below(&Netlist { top: ModuleId(index as u32), ..netlist.clone() });
                let export = |netlist: &Netlist, folder: &Path| {
                    write(&emit(&prove::observable(netlist)), &folder.join(name))
                        .expect("room for an exported mutant");
                };
                export(&top, &path);
                if let Some(alone) = prove::alone(&top) {
                    export(&alone, &path.join(prove::ALONE));
                }
            }
        }
    }
}

/// The netlist without modules that its outermost one does not use; the outermost one is called `top`.
fn with_below(netlist: &Netlist) -> Netlist {
    let mut netlist = netlist.clone();
    netlist.modules.truncate(netlist.top.index() + 1);
    netlist.modules[netlist.top.index()].name = "top".into();
    netlist
}
