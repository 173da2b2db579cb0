//! Elaborated netlist to Verilog, file lists, manifest, and what FuseSoC, Bender and synthesis are told of it.
//!
//! One Verilog-2005 module a file, named after it; the same netlist always gives the same bytes. The text
//! passes `verilator --lint-only -Wall`, `iverilog -Wall -g2005` and `yosys` (`hierarchy -check; proc;
//! check -assert`) without a warning. Names: ports as in the description, `count_q` for register `count`,
//! `rows_hash_q` for field `hash` of table `rows`, `rows_valid_q` for its valid bits, `rows_lookup_hash`
//! for what read port `lookup` shows, `rows_lookup_match` for match lines, and every named signal under its
//! own name.
//!
//! ```
//! use warpfile_gen::emit;
//! use warpfile_hdl::parts::Fifo;
//! use warpfile_hdl::rtl::elaborate;
//!
//! let files = emit(&elaborate(&Fifo { depth: 5, width: 8 })?);
//! assert_eq!(files.top, "fifo_5x8");
//! assert!(files.modules[0].text.contains("module fifo_5x8"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`write()`](write()) puts them into a folder.

mod clock;
mod code;
mod expr;
mod functions;
mod keywords;
mod lanes;
mod manifest;
mod module;
mod naming;
mod operands;
mod packages;
mod plan;
mod registers;
mod rename;
mod state;
mod tables;
mod testbench;
mod usage;
mod write;

pub use clock::Clock;
pub use rename::{NameError, rename_top};
pub use state::{StateElement, StateSource, state_elements};
pub use write::{WriteError, write};

use std::path::Path;

use warpfile_hdl::rtl::netlist::{ModuleId, Netlist};

use crate::packages::Package;

/// The generated files of a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Name of the outermost module.
    pub top: String,
    /// One `.v` file a module, children before parents.
    pub modules: Vec<File>,
    /// The file list, `<top>.f`: names of the `.v` files, one a line.
    pub list: File,
    /// `manifest.json`: parameters, ports, tables with geometry and ports, registers, invariants.
    pub manifest: File,
    /// What others are told: FuseSoC (`<top>.core`), Bender (`Bender.yml`), synthesis (`<top>.sdc`: the clock); and a
    /// testbench to start from (`<top>_tb.sv`).
    pub packages: Vec<File>,
}

/// A file's name and content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Name without folder.
    pub name: String,
    /// Content.
    pub text: String,
}

/// How a field is stored whose lanes are written under a mask, and how the lowest 1 of a vector is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// One array a lane; a tree of halves over the bits. What synthesis takes best, and what is easiest to read.
    #[default]
    Lanes,
    /// One array of whole rows, merged with the lanes that are written (or, with several writes to few short rows,
    /// rows that each work out their next value); masks over the lowest bit. What Verilator runs best.
    Words,
}

impl Style {
    /// All of them.
    pub const ALL: [Style; 2] = [Style::Lanes, Style::Words];

    /// `lanes` or `words`.
    pub fn name(self) -> &'static str {
        match self {
            Style::Lanes => "lanes",
            Style::Words => "words",
        }
    }
}

/// The files of a circuit in the default style.
pub fn emit(netlist: &Netlist) -> Files {
    emit_in(netlist, Style::default())
}

/// The files of a circuit, for the default clock.
pub fn emit_in(netlist: &Netlist, style: Style) -> Files {
    emit_for(netlist, style, Clock::default())
}

/// The files of a circuit. The clock is in constraints and testbench; the modules do not depend on it.
pub fn emit_for(netlist: &Netlist, style: Style, clock: Clock) -> Files {
    let sequential = module::sequential(netlist);
    let modules: Vec<File> = netlist
        .modules
        .iter()
        .enumerate()
        .map(|(index, module)| File {
            name: format!("{}.v", module.name),
            text: module::module_text(netlist, ModuleId(index as u32), &sequential, style),
        })
        .collect();
    let top = netlist.top();
    let has_clock = sequential[netlist.top.index()];
    let names = modules.iter().map(|file| file.name.as_str()).collect();
    let package = Package { top, sequential: has_clock, modules: names, clock };
    Files {
        list: File { name: format!("{}.f", top.name), text: list(&modules, Path::new("")) },
        manifest: File { name: "manifest.json".into(), text: manifest::manifest(netlist, &sequential) },
        packages: vec![
            package.core(),
            package.bender(),
            package.constraints(),
            testbench::testbench(top, has_clock, clock),
        ],
        top: top.name.clone(),
        modules,
    }
}

/// Paths of the modules' files, one a line.
fn list(modules: &[File], folder: &Path) -> String {
    modules.iter().map(|file| format!("{}\n", folder.join(&file.name).display())).collect()
}

/// Whether the outermost module keeps state, and therefore has the ports `clk_i` and `rst_i`.
pub fn is_sequential(netlist: &Netlist) -> bool {
    module::sequential(netlist)[netlist.top.index()]
}

impl Files {
    /// All files, the modules first.
    pub fn all(&self) -> impl Iterator<Item = &File> {
        self.modules.iter().chain([&self.list]).chain(&self.packages).chain([&self.manifest])
    }

    /// Has the file list name the modules' files in `folder`, so that it can be read from any other.
    pub fn list_in(&mut self, folder: &Path) {
        self.list.text = list(&self.modules, folder);
    }
}
