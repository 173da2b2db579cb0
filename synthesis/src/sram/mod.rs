//! Tables that memories hold, and large arrays: taken out of modules; what memories cost by the CACTI runs.
//!
//! A field of a table becomes memories if every port that reads it is clocked, no row of it is matched or added to, it
//! is large enough ([`LEAST_ROWS`], [`LEAST_BITS`]), and there are runs with its ports. Everything else stays
//! flip-flops: valid bits, other fields, smaller tables. Of these, a field that is split into physical arrays of
//! [`LEAST_ARRAY_BITS`] or more, and of which rows are only read and written, becomes one module an array: tools then
//! map one array and not all of them. Each memory and each such array is a circuit of its own, so what is taken out
//! still runs, and the netlist means the same as before (decision 46).

mod cost;
mod outline;

use warpfile_hdl::rtl::netlist::{Module, Netlist};

pub use cost::{Cost, NODE_NM};
pub use outline::outline;

/// Rows from which a field can be a memory: the smallest arrays of the CACTI runs.
pub const LEAST_ROWS: u32 = 8;
/// Bits from which an array of a field can be a memory.
pub const LEAST_BITS: u64 = 1024;
/// Bits from which an array of flip-flops is a module. Each has decoders of its own; with fewer bits they would be a
/// good part of it.
pub const LEAST_ARRAY_BITS: u64 = 512;

/// A netlist whose large clocked tables are memories, and whose other large arrays are modules.
#[derive(Clone, Debug)]
pub struct Outlined {
    /// The circuit; memories are its first modules.
    pub netlist: Netlist,
    /// The memories.
    pub memories: Vec<Memory>,
}

impl Outlined {
    /// Bits of registers, tables and captured rows that are not in memories: what becomes flip-flops. A module counts
    /// once, however many instances it has, as it is mapped once.
    pub fn flip_flops(&self) -> u64 {
        self.netlist.modules[self.memories.len()..].iter().map(own_flip_flops).sum()
    }
}

fn own_flip_flops(module: &Module) -> u64 {
    let registers = module.registers.iter().map(|register| u64::from(register.width));
    let tables = module.tables.iter().map(|table| {
        let row: u64 = table.fields.iter().map(|field| u64::from(field.width)).sum();
        let captured = table.reads.iter().filter(|port| port.clocked).count() as u64;
        u64::from(table.depth) * (row + u64::from(table.has_valid)) + captured * row
    });
    registers.chain(tables).sum()
}

/// A memory: rows of one word, of which writes may mask lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its module.
    pub module: String,
    /// Rows.
    pub rows: u32,
    /// Bits of a row.
    pub bits: u32,
    /// Lanes of a row.
    pub lanes: u32,
    /// Read ports. They read whole rows: a port whose lanes are not wanted is not enabled.
    pub reads: u32,
    /// Write ports: whether each masks lanes.
    pub writes: Vec<bool>,
}

impl Memory {
    /// Bits it holds.
    pub fn capacity(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.bits)
    }
}
