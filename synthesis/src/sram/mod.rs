//! Tables that memories hold: taken out of a netlist, and what they cost by the CACTI runs.
//!
//! A field of a table becomes memories if every port that reads it is clocked, no row of it is matched or added to, it
//! is large enough ([`LEAST_ROWS`], [`LEAST_BITS`]), and there are runs with its ports. Everything else stays
//! flip-flops: valid bits, other fields, smaller tables. Each memory is a circuit of its own, so what is taken out
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

/// A netlist whose large clocked tables are memories.
#[derive(Clone, Debug)]
pub struct Outlined {
    /// The circuit; memories are its first modules.
    pub netlist: Netlist,
    /// The memories.
    pub memories: Vec<Memory>,
}

impl Outlined {
    /// Bits of registers, tables and captured rows that are not in memories: what becomes flip-flops, all instances.
    pub fn flip_flops(&self) -> u64 {
        let mut known: Vec<u64> = Vec::with_capacity(self.netlist.modules.len());
        for (index, module) in self.netlist.modules.iter().enumerate() {
            let own = if index < self.memories.len() { 0 } else { own_flip_flops(module) };
            let inner: u64 = module.instances.iter().map(|instance| known[instance.module.index()]).sum();
            known.push(own + inner);
        }
        known[self.netlist.top.index()]
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
    /// Read ports: whether each says which lanes are wanted.
    pub reads: Vec<bool>,
    /// Write ports: whether each masks lanes.
    pub writes: Vec<bool>,
}

impl Memory {
    /// Bits it holds.
    pub fn capacity(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.bits)
    }
}
