//! Circuits on standard cells: area, switching activity and power.
//!
//! [`sram::outline`] takes tables that memories would hold, and large arrays, out of the modules of a netlist,
//! [`yosys::map`] maps what is left onto the cells of a [`liberty::Library`], [`mapped::Design`] is what Yosys made of it,
//! [`area`] adds it up and [`gates::Gates`] is the same without hierarchy. Its gates run beside the engine in
//! [`activity`], which counts what changes for [`power`] and for other tools ([`saif`]); [`supply`] is of memories whose rows
//! sleep.

pub mod activity;
pub mod area;
pub mod gates;
pub mod liberty;
pub mod mapped;
pub mod memories;
pub mod page;
pub mod power;
pub mod saif;
pub mod sram;
pub mod supply;
pub mod yosys;
