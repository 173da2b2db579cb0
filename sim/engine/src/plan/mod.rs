//! The levelised program of a circuit, and where everything is in the arena.
//!
//! The arena is one vector of 64-bit words, in lines of the cache: constants, inputs, registers, captured reads, valid bits,
//! rows, then one place per computed value in the order of computation. Wide places begin with a line. Everything an
//! instruction reads lies below what it writes. Wires, zero extensions and aligned slices have no place of their own.

mod edge;
pub mod inst;
mod layout;
mod lower;
mod names;
pub mod operands;
mod order;
mod rows;

use std::collections::BTreeMap;
use std::ops::Range;

use warpfile_hdl::rtl::netlist::Netlist;

use crate::activity::{PortMeter, RegisterMeter};
use crate::flatten::Flat;
pub use crate::flatten::FlatScope as Scope;
use crate::{EngineError, Options};
use inst::{ColumnInst, Inst, Part};
pub(crate) use order::is_within;

/// An input of the outermost circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPort {
    /// First word among the inputs.
    pub(crate) offset: u32,
    pub(crate) width: u32,
}

impl InPort {
    /// Bits.
    pub fn width(self) -> u32 {
        self.width
    }
}

/// A value that can be read: an output or any observed signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutPort {
    /// First word in the arena.
    pub(crate) offset: u32,
    pub(crate) width: u32,
    /// Word that is 1 where the value is meaningful.
    pub(crate) valid: u32,
}

impl OutPort {
    /// Bits.
    pub fn width(self) -> u32 {
        self.width
    }

    /// Whether the output has a qualifier (`valid_when`).
    pub fn is_qualified(self) -> bool {
        self.valid != ONE
    }
}

/// A field of a table's row that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPort {
    /// First word in the arena, and the lowest bit in it.
    pub(crate) offset: u32,
    pub(crate) shift: u32,
    pub(crate) width: u32,
}

/// A named value of the circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Circuit it belongs to: index into [`Plan::scopes`].
    pub scope: usize,
    /// Name, with `_q` for a register.
    pub name: String,
    /// Whether it changes only at the clock edge.
    pub is_state: bool,
    /// Where its value is read.
    pub value: OutPort,
}

/// Arena offset of a word that is always 0.
pub const ZERO: u32 = 0;
/// Arena offset of a word that is always 1.
pub const ONE: u32 = 1;
/// Words of a line of the processor's cache, at whose multiples wide values and rows have their places.
pub const LINE_WORDS: u32 = 8;

/// A circuit prepared for running.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Name of the outermost module.
    pub circuit: String,
    /// The hierarchy, parents before children; the first is the outermost circuit.
    pub scopes: Vec<Scope>,
    /// Named values that can be read, circuit by circuit.
    pub signals: Vec<Signal>,
    /// Words of the arena.
    pub arena_words: u32,
    /// The arena's first words, which never change.
    pub constants: Vec<u64>,
    /// As many words that are always 0 as the widest value read has: what a row that is not there reads as.
    pub zeros: u32,
    /// Places of the inputs.
    pub inputs: Range<u32>,
    /// State filled from the seed.
    pub fills: Vec<Fill>,
    /// Bits that the words at some places have at most; others have 64.
    pub widths: BTreeMap<u32, u32>,
    /// What settles the circuit, in order.
    pub program: Vec<Inst>,
    /// By instruction, the expression that it is made from, in the order in which circuits state them: the same in each of
    /// several equal circuits, whatever the order of the program. Those for the clock edge come last.
    pub origins: Vec<u32>,
    /// Parts of concatenations.
    pub parts: Vec<Part>,
    /// Column operations of associative ports.
    pub columns: Vec<ColumnInst>,
    /// Masks of hash matrices.
    pub masks: Vec<u64>,
    /// Registers in netlist order.
    pub registers: Vec<RegisterEdge>,
    /// Captured rows of clocked reads.
    pub captures: Vec<RegisterEdge>,
    /// Updates of tables, those of one table in program order.
    pub updates: Vec<UpdateEdge>,
    /// Fields of the writes in `updates`.
    pub stores: Vec<Store>,
    /// Tables in netlist order.
    pub tables: Vec<TableLayout>,
    /// Invariants that are checked.
    pub invariants: Vec<CheckedInvariant>,
    /// Words that are not 0 where something has changed; see the compiled engine's parts. All are set where it does not
    /// notice the change itself.
    pub triggers: Range<u32>,
    /// Outputs that are asked for before a cycle is run.
    pub foreseen: Vec<OutPort>,
    /// Activity of table ports.
    pub port_meters: Vec<PortMeter>,
    /// Activity of registers, in the order of `registers`.
    pub register_meters: Vec<RegisterMeter>,
    /// Whether an output is read only where its qualifier holds.
    pub qualified_outputs: bool,
    /// Whether uses of table ports and registers are counted.
    pub count_activity: bool,
    /// Whether changed register bits are counted.
    pub count_toggles: bool,
    in_ports: BTreeMap<String, InPort>,
    out_ports: BTreeMap<String, OutPort>,
    probes: BTreeMap<String, OutPort>,
}

/// State that starts from the seed.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// First word.
    pub offset: u32,
    /// Lowest bit in that word, for what shares it with others.
    pub shift: u32,
    /// Bits.
    pub width: u32,
    /// What it is, independent of the layout.
    pub key: u64,
}

/// A register's change at the clock edge.
#[derive(Clone, Copy, Debug)]
pub struct RegisterEdge {
    /// Where the register is.
    pub q: u32,
    /// Value it takes; not among the registers, so that edges can be applied in any order.
    pub next: u32,
    /// Word that is 1 in cycles where it changes; not among the registers.
    pub enable: u32,
    /// Words.
    pub n: u32,
    /// Value under reset.
    pub reset: Option<u32>,
}

/// A table's change at the clock edge. Operands are not among the valid bits.
#[derive(Clone, Copy, Debug)]
pub enum UpdateEdge {
    /// Writes fields of a row.
    Write {
        /// One-bit word.
        enable: u32,
        /// Row.
        address: u32,
        /// Rows.
        depth: u32,
        /// First of its fields in [`Plan::stores`].
        stores: u32,
        /// Number of its fields.
        count: u32,
        /// Valid bits in which the row's is set.
        valid: Option<u32>,
    },
    /// Adds to a field of a row.
    Add {
        /// One-bit word.
        enable: u32,
        /// Row.
        address: u32,
        /// Rows.
        depth: u32,
        /// Field of row 0.
        base: u32,
        /// Bits of the field.
        width: u32,
        /// What is added.
        amount: u32,
    },
    /// Clears the valid bit of a row.
    ClearRow {
        /// One-bit word.
        enable: u32,
        /// Row.
        address: u32,
        /// Rows.
        depth: u32,
        /// Valid bits.
        valid: u32,
    },
    /// Clears valid bits.
    ClearRows {
        /// One-bit word.
        enable: u32,
        /// Bits to clear.
        rows: u32,
        /// Valid bits.
        valid: u32,
        /// Words.
        n: u32,
    },
    /// Sets valid bits.
    SetRows {
        /// One-bit word.
        enable: u32,
        /// Bits to set.
        rows: u32,
        /// Valid bits.
        valid: u32,
        /// Words.
        n: u32,
    },
}

/// A field of a write.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// Field of row 0.
    pub base: u32,
    /// Bytes from row to row.
    pub bytes: u32,
    /// Words of the field.
    pub n: u32,
    /// Value written.
    pub value: u32,
    /// Lane mask.
    pub lanes: Option<u32>,
    /// Lanes.
    pub lane_count: u32,
    /// Bits of a lane.
    pub lane_width: u32,
}

/// Where a table is.
#[derive(Clone, Debug)]
pub struct TableLayout {
    /// Full path.
    pub path: String,
    /// Rows.
    pub depth: u32,
    /// Fields.
    pub fields: Vec<FieldLayout>,
    /// Valid bits, if it has them.
    pub valid: Option<u32>,
}

/// Where a field of a table is: row after row, [`element_bytes`](inst::element_bytes) each.
#[derive(Clone, Debug)]
pub struct FieldLayout {
    /// Name.
    pub name: String,
    /// Field of row 0.
    pub base: u32,
    /// Bits.
    pub width: u32,
}

/// An invariant that is checked every cycle outside reset.
#[derive(Clone, Debug)]
pub struct CheckedInvariant {
    /// Full path.
    pub path: String,
    /// One-bit word.
    pub condition: u32,
}

impl Plan {
    /// Bits that the word at a place has at most.
    pub fn width(&self, place: u32) -> u32 {
        self.widths.get(&place).copied().unwrap_or(64)
    }

    /// Inputs of the outermost circuit.
    pub(crate) fn in_ports(&self) -> impl Iterator<Item = InPort> {
        self.in_ports.values().copied()
    }

    /// Whether compiled code counts uses; where more is asked for than it counts, counting is done outside.
    pub(crate) fn counts_when_compiled(&self) -> bool {
        self.count_activity && !self.count_toggles && self.invariants.is_empty()
    }

    /// Prepares a netlist.
    pub fn new(netlist: &Netlist, options: &Options) -> Result<Plan, EngineError> {
        let flat = Flat::new(netlist)?;
        let order = order::Order::new(&flat, options)?;
        let mut builder = layout::Builder::new(&flat, options, &order);
        for &node in &order.nodes {
            builder.lower(node);
        }
        builder.lower_edges();
        builder.name_things(options);
        let mut plan = builder.finish()?;
        let foreseen = options.foreseen.iter().map(|name| plan.output(name));
        plan.foreseen = foreseen.collect::<Result<_, EngineError>>()?;
        Ok(plan)
    }
}
