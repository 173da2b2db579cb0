//! Elaborated netlist to Verilog, file lists and manifest.
//!
//! One Verilog-2005 module a file, named after it; the same netlist always gives the same bytes. The text
//! passes `verilator --lint-only -Wall`, `iverilog -Wall -g2005` and `yosys` (`hierarchy -check; proc;
//! check -assert`) without a warning. Names: ports as in the description, `count_q` for register `count`,
//! `rows_hash_q` for field `hash` of table `rows`, `rows_valid_q` for its valid bits, `rows_lookup_hash`
//! for what read port `lookup` shows, `rows_lookup_match` for match lines, and every named signal under its
//! own name.

mod code;
mod expr;
mod functions;
mod keywords;
mod lanes;
mod manifest;
mod module;
mod naming;
mod operands;
mod plan;
mod registers;
mod state;
mod tables;
mod usage;
mod write;

pub use state::{StateElement, StateSource, state_elements};
pub use write::{WriteError, write};

use warpfile_hdl::rtl::netlist::{ModuleId, Netlist};

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
    /// One array a lane; a loop over the bits. What synthesis takes best, and what is easiest to read.
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

/// The Verilog of a circuit with its file list and manifest, in the default style.
pub fn emit(netlist: &Netlist) -> Files {
    emit_in(netlist, Style::default())
}

/// The Verilog of a circuit with its file list and manifest.
pub fn emit_in(netlist: &Netlist, style: Style) -> Files {
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
    let top = netlist.modules[netlist.top.index()].name.clone();
    let list: String = modules.iter().map(|file| format!("{}\n", file.name)).collect();
    Files {
        list: File { name: format!("{top}.f"), text: list },
        manifest: File { name: "manifest.json".into(), text: manifest::manifest(netlist, &sequential) },
        modules,
        top,
    }
}

/// Whether the outermost module keeps state, and therefore has the ports `clk_i` and `rst_i`.
pub fn is_sequential(netlist: &Netlist) -> bool {
    module::sequential(netlist)[netlist.top.index()]
}

impl Files {
    /// All files: modules, file list, manifest.
    pub fn all(&self) -> impl Iterator<Item = &File> {
        self.modules.iter().chain([&self.list, &self.manifest])
    }
}
