//! Another name for the outermost module.

use thiserror::Error;
use warpfile_hdl::rtl::netlist::Netlist;

use crate::keywords::is_reserved;

/// A module cannot have that name.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NameError {
    /// It is no identifier.
    #[error("`{0}` is no Verilog identifier; accepted: letters, digits and _, not a digit first")]
    NoIdentifier(String),
    /// It means something else.
    #[error("`{0}` is a word of Verilog, SystemVerilog or C++; accepted: another identifier")]
    Reserved(String),
    /// A module within has it.
    #[error("`{0}` is a module within the circuit; accepted: another identifier")]
    Taken(String),
}

/// Renames the outermost module, and with it its files; nothing within refers to it.
pub fn rename_top(netlist: &mut Netlist, name: &str) -> Result<(), NameError> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_word) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(NameError::NoIdentifier(name.into()));
    }
    if is_reserved(name) {
        return Err(NameError::Reserved(name.into()));
    }
    let top = netlist.top.index();
    // Files are called as modules are, also where case makes no difference.
    let is_taken = |(index, other): (usize, &str)| index != top && other.eq_ignore_ascii_case(name);
    if netlist.modules.iter().map(|module| module.name.as_str()).enumerate().any(is_taken) {
        return Err(NameError::Taken(name.into()));
    }
    netlist.modules[top].name = name.into();
    Ok(())
}
