//! The elaborated netlist: what a circuit is once its description has run.
//!
//! A [`Netlist`] is plain owned data. The engine runs it, `gen` prints it, formal and area tools read it;
//! nothing else describes a circuit. It is word level and hierarchical: one [`Module`] per distinct
//! (circuit, parameters) pair, children before parents, instantiated as often as needed.
//!
//! All values are unsigned bit vectors. Every corner case has one meaning, the same in the engine and in
//! the Verilog:
//!
//! - arithmetic wraps to the width of its operands;
//! - a shift by the width or more gives 0;
//! - a table read outside the depth gives 0, a write outside it is dropped;
//! - of two writes to one row in one cycle the later one in [`Table::updates`] wins, clears included;
//! - a combinational read sees the row as it was before this cycle's updates. Its enable does not change
//!   the value; it says in which cycles the port is used, which is what activity and energy count;
//! - a clocked read captures in cycles where its enable is 1 and holds its value otherwise; of a field in lanes it
//!   captures the physical arrays with a wanted lane and holds the others;
//! - an empty priority encode gives index 0;
//! - under reset, registers with a reset value take it and all valid bits become 0; rows, captured reads
//!   and registers without reset change as in any other cycle.

use super::bits::Bits;

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
        impl $name {
            /// Position in the vector this index refers to.
            pub fn index(self) -> usize { self.0 as usize }
        }
    };
}

index_type!(/// A module of a [`Netlist`].
    ModuleId);
index_type!(/// An expression of a [`Module`].
    NodeId);
index_type!(/// A port of a [`Module`].
    PortId);
index_type!(/// A register of a [`Module`].
    RegisterId);
index_type!(/// A table of a [`Module`].
    TableId);
index_type!(/// A sub-circuit of a [`Module`].
    InstanceId);

/// A circuit after elaboration. Checked: see `elaborate`.
#[derive(Clone, Debug, PartialEq)]
pub struct Netlist {
    /// Distinct modules, children before parents.
    pub modules: Vec<Module>,
    /// The outermost module.
    pub top: ModuleId,
}

impl Netlist {
    /// The outermost circuit.
    pub fn top(&self) -> &Module {
        &self.modules[self.top.index()]
    }

    /// The circuit at a path of instances (`cache.tags`; empty for the outermost) by itself; `None` if there is none.
    pub fn circuit_at(&self, path: &str) -> Option<Netlist> {
        let mut names = path.split('.').filter(|name| !name.is_empty());
        let top = names.try_fold(self.top, |module, name| {
            let instances = &self.modules[module.index()].instances;
            instances.iter().find(|instance| instance.name == name).map(|instance| instance.module)
        })?;
        Some(self.with_top(top))
    }

    /// Path and module of every circuit, each before the circuits in it; the first is the outermost, with an empty path.
    pub fn circuits(&self) -> Vec<(String, ModuleId)> {
        let mut found = vec![(String::new(), self.top)];
        let mut next = 0;
        while let Some((path, module)) = found.get(next).cloned() {
            for instance in &self.modules[module.index()].instances {
                let dot = if path.is_empty() { "" } else { "." };
                found.push((format!("{path}{dot}{}", instance.name), instance.module));
            }
            next += 1;
        }
        found
    }

    /// One of the modules as the outermost, with those that it needs.
    fn with_top(&self, top: ModuleId) -> Netlist {
        let mut needed = vec![false; self.modules.len()];
        needed[top.index()] = true;
        // Children come before parents.
        for index in (0..=top.index()).rev() {
            if needed[index] {
                self.modules[index].instances.iter().for_each(|child| needed[child.module.index()] = true);
            }
        }
        let mut ids = vec![ModuleId(0); self.modules.len()];
        let mut modules = Vec::new();
        for (index, module) in self.modules.iter().enumerate().filter(|&(index, _)| needed[index]) {
            ids[index] = ModuleId(modules.len() as u32);
            let mut module = module.clone();
            module.instances.iter_mut().for_each(|child| child.module = ids[child.module.index()]);
            modules.push(module);
        }
        Netlist { modules, top: ids[top.index()] }
    }
}

/// One distinct circuit: same description, same parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Unique in the netlist; a Verilog identifier and the stem of its file.
    pub name: String,
    /// Purpose, timing contract and source, as written at the head of the circuit. Lines without `//`.
    pub doc: String,
    /// Parameters by name, in declaration order, as text.
    pub parameters: Vec<(String, String)>,
    /// Ports in declaration order, without clock and reset.
    pub ports: Vec<Port>,
    /// Expressions. An operand may have a higher index than its user (a wire assigned later).
    pub nodes: Vec<Node>,
    /// Registers.
    pub registers: Vec<Register>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Sub-circuits.
    pub instances: Vec<Instance>,
    /// Properties that hold in every cycle outside reset, those that the environment keeps among them.
    pub invariants: Vec<Invariant>,
}

/// Direction of a port, seen from inside the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Driven from outside; named `…_i`.
    Input,
    /// Driven by the module; named `…_o`.
    Output,
}

/// A port of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Full flattened name, `lookup_hash_i`.
    pub name: String,
    /// Direction.
    pub direction: Direction,
    /// Bits.
    pub width: u32,
    /// What drives an output; `None` for an input.
    pub driver: Option<NodeId>,
    /// The output is meaningful only in cycles where this one-bit node is 1.
    pub valid_when: Option<NodeId>,
}

/// One expression: an operation and the width of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// Bits of the result.
    pub width: u32,
    /// Name given in the description, if any; unique among the module's named things.
    pub name: Option<String>,
    /// Line of the description that made the node.
    pub source: SourceLine,
}

/// A line of a circuit's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// File as the compiler names it.
    pub file: &'static str,
    /// Line, from 1.
    pub line: u32,
}

/// An operation. Operand widths are stated per variant; `w` is the node's own width.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// An input port.
    Input(PortId),
    /// A constant of `w` bits.
    Constant(Bits),
    /// A wire: another node under a name of its own (forward references, `wire()` in the description).
    Wire(NodeId),
    /// The current value of a register.
    Register(RegisterId),
    /// A field of the row seen by read port `port` of a table.
    TableRead {
        /// The table.
        table: TableId,
        /// Index into [`Table::reads`].
        port: u32,
        /// Index into [`Table::fields`].
        field: u32,
    },
    /// The valid bit of the row seen by read port `port` (clocked ports capture it with the row).
    TableReadValid {
        /// The table.
        table: TableId,
        /// Index into [`Table::reads`].
        port: u32,
    },
    /// All valid bits of a table, bit `i` for row `i`; `w` is the depth.
    TableValid(TableId),
    /// Match lines of an associative port, bit `i` for row `i`; `w` is the depth.
    TableMatch {
        /// The table.
        table: TableId,
        /// Index into [`Table::matches`].
        port: u32,
    },
    /// An output port of a sub-circuit.
    InstanceOutput {
        /// The sub-circuit.
        instance: InstanceId,
        /// The port of its module.
        port: PortId,
    },

    /// Bitwise complement.
    Not(NodeId),
    /// Bitwise and; operands of `w` bits.
    And(NodeId, NodeId),
    /// Bitwise or; operands of `w` bits.
    Or(NodeId, NodeId),
    /// Bitwise exclusive or; operands of `w` bits.
    Xor(NodeId, NodeId),
    /// Sum modulo 2^w; operands of `w` bits.
    Add(NodeId, NodeId),
    /// Difference modulo 2^w; operands of `w` bits.
    Sub(NodeId, NodeId),
    /// Product modulo 2^w; operands of `w` bits.
    Mul(NodeId, NodeId),
    /// 1 if equal; operands of one width.
    Eq(NodeId, NodeId),
    /// 1 if the first is less than the second, unsigned; operands of one width.
    Lt(NodeId, NodeId),
    /// First shifted left by the second; `w` is the first's width.
    ShiftLeft(NodeId, NodeId),
    /// First shifted right by the second, zeros in; `w` is the first's width.
    ShiftRight(NodeId, NodeId),
    /// `then` where the one-bit `condition` is 1, else `otherwise`.
    Mux {
        /// One bit.
        condition: NodeId,
        /// Value when 1.
        then: NodeId,
        /// Value when 0.
        otherwise: NodeId,
    },
    /// Parts joined, the first in the lowest bits.
    Concat(Vec<NodeId>),
    /// Bits `low .. low + w` of the operand.
    Slice {
        /// Operand.
        value: NodeId,
        /// Lowest bit taken.
        low: u32,
    },
    /// The operand with zeros above it.
    ZeroExtend(NodeId),
    /// 1 if any bit is 1.
    ReduceOr(NodeId),
    /// 1 if all bits are 1.
    ReduceAnd(NodeId),
    /// Exclusive or of all bits.
    ReduceXor(NodeId),

    /// Index of the lowest 1 bit; 0 if there is none. `w` is enough for the operand's highest index.
    PriorityEncode(NodeId),
    /// Only the lowest 1 bit of the operand is kept.
    LowestOne(NodeId),
    /// One-hot of an index: bit `index` is 1 if it is below `w`, all else 0.
    Decode(NodeId),
    /// Number of 1 bits; `w` holds the operand's width as a number.
    PopCount(NodeId),
    /// The lane of `vector` that `index` names (0 beyond the last); lanes are `w` bits.
    LaneSelect {
        /// `n × w` bits, lane 0 lowest.
        vector: NodeId,
        /// Lane number.
        index: NodeId,
    },
    /// Or of the lanes of `vector` whose bit in `select` is 1; lanes are `w` bits.
    OneHotSelect {
        /// One bit a lane.
        select: NodeId,
        /// `n × w` bits, lane 0 lowest.
        vector: NodeId,
    },
    /// Lane by lane: `then` where `mask` has a 1, else `otherwise`. Lanes are `w / lanes` bits.
    LaneMux {
        /// One bit a lane.
        mask: NodeId,
        /// Lanes where 1.
        then: NodeId,
        /// Lanes where 0.
        otherwise: NodeId,
    },
    /// One bit a lane: 1 where the lanes of both operands are equal. `w` lanes.
    LaneEq(NodeId, NodeId),
    /// Lane by lane sum, each modulo its lane width; `lanes` lanes.
    LaneAdd {
        /// First operand, `w` bits.
        a: NodeId,
        /// Second operand, `w` bits.
        b: NodeId,
        /// Number of lanes.
        lanes: u32,
    },
    /// The operand repeated until `w` bits are full.
    Replicate(NodeId),
    /// Each bit of the operand widened to a lane of `w / width` equal bits.
    SpreadLanes(NodeId),
    /// One bit a group: or of the operand's bits in groups of `operand width / w`.
    GroupOr(NodeId),
    /// Bit `i` is the or of the operand's bits `0 ..= i`.
    PrefixOr(NodeId),
    /// Lane `i` is the number of 1 bits of the operand below bit `i`; lanes are `w / width` bits.
    PrefixCount(NodeId),
    /// Bit `i` is the exclusive or of the operand's bits selected by `rows[i]` (a hash matrix).
    XorHash {
        /// Operand.
        value: NodeId,
        /// One mask of the operand's width per result bit.
        rows: Vec<Bits>,
    },
}

/// A register: changes at the clock edge in cycles where `enable` is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// Name without the `_q` it has in Verilog and waveforms.
    pub name: String,
    /// Bits.
    pub width: u32,
    /// Value under reset; `None` says explicitly that it has none.
    pub reset: Option<Bits>,
    /// Value taken at the edge, `width` bits.
    pub next: NodeId,
    /// One bit; `None` means always enabled.
    pub enable: Option<NodeId>,
    /// Line of the description.
    pub source: SourceLine,
}

/// A table: `depth` rows of a record. Rows have no reset; valid bits do.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name.
    pub name: String,
    /// Rows.
    pub depth: u32,
    /// Bits of an address: enough for `depth - 1`, at least 1.
    pub address_bits: u32,
    /// The record.
    pub fields: Vec<Field>,
    /// Whether rows have valid bits, kept apart from the rows, 0 after reset.
    pub has_valid: bool,
    /// Read ports.
    pub reads: Vec<ReadPort>,
    /// Associative ports.
    pub matches: Vec<MatchPort>,
    /// What changes the table at the clock edge, in program order; later entries win.
    pub updates: Vec<Update>,
    /// Line of the description.
    pub source: SourceLine,
}

/// A field of a table's record.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Bits of the whole field.
    pub width: u32,
    /// Equal parts that writes can mask; 1 for an ordinary field.
    pub lanes: u32,
    /// Lanes that one physical array holds. A port's activity counts arrays touched: groups of this many
    /// lanes with at least one enabled. Divides `lanes`; equal to `lanes` for an ordinary field.
    pub lanes_per_array: u32,
}

/// One physical read port.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadPort {
    /// Name, unique in the table.
    pub name: String,
    /// Row, `address_bits` bits.
    pub address: NodeId,
    /// One bit: the port is used in this cycle.
    pub enable: NodeId,
    /// Lanes that are wanted, one bit a lane, for tables with laned fields (every laned field of a table has as many
    /// lanes). A clocked port captures the physical arrays with a wanted lane and holds what it shows of the others; a
    /// combinational port shows the whole row, and the lanes count for activity only. `None` means all.
    pub lanes: Option<NodeId>,
    /// Whether the row is captured at the clock edge (true) or seen in the same cycle (false).
    pub clocked: bool,
    /// Line of the description.
    pub source: SourceLine,
}

impl ReadPort {
    /// The lanes by which a clocked port gates the arrays of `field`; `None` if it captures all of them.
    pub fn gating_lanes(&self, field: &Field) -> Option<NodeId> {
        self.lanes.filter(|_| field.lanes > 1)
    }
}

/// One associative port: a condition evaluated over every row at once.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchPort {
    /// Name, unique in the table.
    pub name: String,
    /// One bit: the port is used in this cycle. Does not change the value.
    pub enable: NodeId,
    /// The condition, one bit per row.
    pub condition: RowExpr,
    /// Line of the description.
    pub source: SourceLine,
}

/// An expression over one row of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum RowExpr {
    /// A field of the row (index into [`Table::fields`]).
    Field(u32),
    /// The valid bit of the row.
    Valid,
    /// A node of the module, the same for every row.
    Outer(NodeId),
    /// Bits `low .. low + width` of an expression.
    Slice(Box<RowExpr>, u32, u32),
    /// Bit `row` of a node that has one bit a row.
    PerRow(NodeId),
    /// Bitwise complement.
    Not(Box<RowExpr>),
    /// Bitwise and.
    And(Box<RowExpr>, Box<RowExpr>),
    /// Bitwise or.
    Or(Box<RowExpr>, Box<RowExpr>),
    /// One bit: equal.
    Eq(Box<RowExpr>, Box<RowExpr>),
    /// One bit: less than, unsigned.
    Lt(Box<RowExpr>, Box<RowExpr>),
}

/// A change to a table at the clock edge.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// Writes fields of one row; sets its valid bit where the table has them and `set_valid` is true.
    Write {
        /// Name of the port, unique in the table.
        name: String,
        /// Row, `address_bits` bits.
        address: NodeId,
        /// One bit.
        enable: NodeId,
        /// Fields written, with their values.
        fields: Vec<FieldWrite>,
        /// Whether the row becomes valid.
        set_valid: bool,
    },
    /// Adds to a field of one row, modulo its width. Several additions to one row in one cycle all count
    /// (reference counters). They see the row as earlier updates of the cycle leave it.
    Add {
        /// Name of the port, unique in the table.
        name: String,
        /// Row, `address_bits` bits.
        address: NodeId,
        /// One bit.
        enable: NodeId,
        /// Index into [`Table::fields`].
        field: u32,
        /// What is added, of the field's width (two's complement to subtract).
        amount: NodeId,
    },
    /// Clears the valid bit of one row.
    ClearRow {
        /// Row, `address_bits` bits.
        address: NodeId,
        /// One bit.
        enable: NodeId,
    },
    /// Clears the valid bits of the rows whose bit in `rows` is 1.
    ClearRows {
        /// One bit a row.
        rows: NodeId,
        /// One bit.
        enable: NodeId,
    },
    /// Sets the valid bits of the rows whose bit in `rows` is 1.
    SetRows {
        /// One bit a row.
        rows: NodeId,
        /// One bit.
        enable: NodeId,
    },
}

/// One field of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldWrite {
    /// Index into [`Table::fields`].
    pub field: u32,
    /// Value, of the field's width.
    pub value: NodeId,
    /// Lanes written, one bit a lane; `None` writes all.
    pub lanes: Option<NodeId>,
}

/// A sub-circuit.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Name, unique in the module.
    pub name: String,
    /// What it is an instance of.
    pub module: ModuleId,
    /// Drivers of the module's input ports: (input port, node of the parent).
    pub inputs: Vec<(PortId, NodeId)>,
    /// Line of the description.
    pub source: SourceLine,
}

/// A named property: `condition` is 1 in every cycle outside reset.
#[derive(Clone, Debug, PartialEq)]
pub struct Invariant {
    /// Reads as a sentence: `free_list_conserved`.
    pub name: String,
    /// One bit.
    pub condition: NodeId,
    /// Who sees to it that it holds.
    pub kept_by: KeptBy,
    /// Line of the description.
    pub source: SourceLine,
}

/// Who sees to it that a property holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptBy {
    /// The circuit, whatever its inputs are.
    Circuit,
    /// Whoever drives the inputs: an assumption of the circuit. Inside another circuit it is for that one to prove.
    Environment,
    /// Whoever drives the inputs of the outermost circuit: an assumption that the circuits around it can only pass on.
    /// Proofs make it of [`Environment`](KeptBy::Environment), in their copy of a netlist.
    Surroundings,
}
