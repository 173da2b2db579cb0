//! What is written and read of each register in a strand, in the pieces that an entry can hold.
//!
//! A value begins where an instruction writes it in all lanes that execute the strand there, or before the strand. A
//! write under a guard changes it in some lanes; the entry that holds it takes these lanes, as a register does.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::compile::lives::{Lives, has_no_guard};
use crate::program::{Instruction, Operation, PhysReg, Program};

/// A value of a register in a strand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The register.
    pub register: PhysReg,
    /// Whether it begins with a write in the strand; if not, it is from before.
    pub is_written: bool,
    /// Its accesses in program order, the first write among them.
    pub accesses: Vec<Access>,
    /// It may be read behind the strand, or where control leaves it on the way.
    pub lives_on: bool,
    /// Branches between its beginning and its end behind which the strand goes on, in increasing order: control may
    /// leave it there.
    pub exits: Vec<usize>,
}

/// An access to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The instruction.
    pub position: usize,
    /// Index of the operand, among the sources or the results.
    pub operand: usize,
    /// What it does.
    pub kind: AccessKind,
    /// An instruction of the arithmetic units, which alone have the last result file (§3.2).
    pub by_alu: bool,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads it; `in_all_lanes` if surely no guard leaves lanes out.
    Read {
        /// All lanes that execute the strand here are read.
        in_all_lanes: bool,
    },
    /// Writes it; a result that comes after a long time reaches the main register file only.
    Write {
        /// It comes after a long, unpredictable time.
        late: bool,
    },
}

impl Access {
    /// Whether it reads.
    pub fn is_read(&self) -> bool {
        matches!(self.kind, AccessKind::Read { .. })
    }
}

/// The values of a strand, in the order of their first access.
pub fn values(program: &Program, lives: &Lives, strand: &Range<usize>) -> Vec<Value> {
    let mut found = Found { values: Vec::new(), current: BTreeMap::new(), ended_by: BTreeMap::new() };
    for position in strand.clone() {
        let instruction = &program.instructions[position];
        let no_guard = has_no_guard(instruction);
        for (operand, source) in instruction.sources.iter().enumerate() {
            let kind = AccessKind::Read { in_all_lanes: no_guard };
            found.add(source.register, false, Access::new(instruction, position, operand, kind));
        }
        for (operand, result) in instruction.results.iter().enumerate() {
            let kind = AccessKind::Write { late: instruction.operation.has_long_latency() };
            found.add(result.register, no_guard, Access::new(instruction, position, operand, kind));
        }
    }
    let exits = lives.exits(strand);
    let Found { mut values, ended_by, .. } = found;
    for (index, value) in values.iter_mut().enumerate() {
        let end = ended_by.get(&index).copied();
        let span = value.accesses[0].position..end.unwrap_or(strand.end - 1);
        value.exits = exits.iter().copied().filter(|exit| span.contains(exit)).collect();
        let register = usize::from(value.register.0);
        let read_behind = end.is_none() && lives.after(strand.end - 1).contains(register);
        value.lives_on = read_behind || value.exits.iter().any(|&exit| lives.is_read_aside(exit, register));
    }
    values
}

/// Values found so far.
struct Found {
    values: Vec<Value>,
    /// The value that each register has.
    current: BTreeMap<PhysReg, usize>,
    /// The write that ended a value, by another one.
    ended_by: BTreeMap<usize, usize>,
}

impl Found {
    /// Adds an access to a register's value; `begins` a new one with it.
    fn add(&mut self, register: PhysReg, begins: bool, access: Access) {
        let current = self.current.get(&register).copied();
        let index = current.filter(|_| !begins).unwrap_or(self.values.len());
        if index == self.values.len() {
            let value = Value {
                register,
                is_written: begins,
                accesses: Vec::new(),
                lives_on: false,
                exits: Vec::new(),
            };
            self.values.push(value);
            self.current.insert(register, index);
            self.ended_by.extend(current.map(|ended| (ended, access.position)));
        }
        self.values[index].accesses.push(access);
    }
}

impl Access {
    fn new(instruction: &Instruction, position: usize, operand: usize, kind: AccessKind) -> Access {
        let by_alu = matches!(instruction.operation, Operation::Alu | Operation::Double);
        Access { position, operand, kind, by_alu }
    }
}
