//! Instructions with their operands resolved to rows and masks of [`Registers`](super::Registers).
//!
//! Constants, addresses and special registers become rows of their own behind the virtual registers, so that
//! executing an instruction never asks what kind of operand it has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::integer::mask;
use super::launch::{Loaded, symbol_address, window};
use super::registers::{Layout, Slot};
use crate::ptx::ir::{Base, Instruction, Kernel, Op, Operand, Special, Type};

/// Sources of an instruction at most: the registers of three matrices.
const MAX_SOURCES: usize = 10;

/// Operands of one instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operands {
    /// Predicate of the guard.
    pub(super) guard: Option<PredicateSource>,
    /// Source rows; for predicate sources see `predicates`.
    pub(super) sources: [u32; MAX_SOURCES],
    /// Sources that are predicates, all among the first.
    pub(super) predicates: [PredicateSource; 4],
    /// Number of sources.
    pub(super) source_count: u8,
    /// Results.
    pub(super) results: [Option<Result>; 4],
    /// Number of results.
    pub(super) result_count: u8,
    /// Row of the address' base.
    pub(super) base: u32,
    /// Added to the base.
    pub(super) offset: i64,
    /// Bits that an address of global or generic memory has.
    pub(super) address_mask: u64,
    /// Reads a clock.
    pub(super) reads_clock: bool,
}

/// A predicate that is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PredicateSource {
    pub(super) mask: u32,
    pub(super) negated: bool,
}

/// A register that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Result {
    Row { row: u32, bits: u32 },
    Mask(u32),
}

/// What a constant row holds, before the launch and warp are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Value(u64),
    Special(Special),
}

/// A kernel's operands, and the rows behind the virtual registers.
#[derive(Clone, Debug)]
pub(super) struct Decoded {
    pub(super) layout: Arc<Layout>,
    pub(super) operands: Vec<Operands>,
    /// Row `layout.rows + n` holds constant n.
    pub(super) constants: Vec<Constant>,
    /// The mask behind the predicates that is false, and the one that is true.
    constant_masks: [u32; 2],
}

impl Decoded {
    pub(super) fn new(kernel: &Kernel, loaded: &Loaded) -> Decoded {
        let layout = Arc::new(Layout::new(kernel));
        let first_mask = layout.masks as u32;
        let mut decoder = Decoder {
            kernel,
            loaded,
            decoded: Decoded {
                layout,
                operands: Vec::with_capacity(kernel.instructions.len()),
                constants: Vec::new(),
                constant_masks: [first_mask, first_mask + 1],
            },
            values: BTreeMap::new(),
        };
        for instruction in &kernel.instructions {
            let operands = decoder.operands(instruction);
            decoder.decoded.operands.push(operands);
        }
        decoder.decoded
    }

    /// The row of a special register, if the kernel reads it.
    pub(super) fn special_row(&self, special: Special) -> Option<usize> {
        let position = self.constants.iter().position(|&constant| constant == Constant::Special(special));
        position.map(|position| self.layout.rows + position)
    }
}

struct Decoder<'a> {
    kernel: &'a Kernel,
    loaded: &'a Loaded,
    decoded: Decoded,
    values: BTreeMap<u64, u32>,
}

impl Decoder<'_> {
    fn operands(&mut self, instruction: &Instruction) -> Operands {
        let mut operands = Operands {
            source_count: instruction.srcs.len() as u8,
            result_count: instruction.dsts.len() as u8,
            ..Operands::default()
        };
        if let Some(guard) = instruction.guard {
            let mask = self.mask_of(Operand::Reg(guard.register)).mask;
            operands.guard = Some(PredicateSource { mask, negated: guard.negated });
        }
        for (index, &source) in instruction.srcs.iter().enumerate() {
            if is_predicate_source(&instruction.op, index, instruction.srcs.len()) {
                operands.predicates[index] = self.mask_of(source);
            } else {
                operands.sources[index] = self.row_of(source);
            }
            operands.reads_clock |=
                matches!(source, Operand::Special(Special::Clock | Special::ClockHi | Special::Clock64));
        }
        for (index, &result) in instruction.dsts.iter().enumerate() {
            operands.results[index] =
                result.map(|register| match self.decoded.layout.slots[register.index()] {
                    Slot::Row(row) => {
                        Result::Row { row, bits: self.kernel.registers[register.index()].ty.bits() }
                    }
                    Slot::Mask(mask) => Result::Mask(mask),
                });
        }
        if let Some(address) = instruction.address {
            operands.offset = address.offset;
            operands.address_mask = mask(self.kernel.address_bits);
            operands.base = match address.base {
                Base::Reg(register) => self.row_of(Operand::Reg(register)),
                Base::Symbol(symbol) => self.row_of(Operand::Symbol(symbol, 0)),
                Base::Zero => self.value(0),
            };
        }
        operands
    }

    fn row_of(&mut self, operand: Operand) -> u32 {
        match operand {
            Operand::Reg(register) | Operand::Not(register) => {
                match self.decoded.layout.slots[register.index()] {
                    Slot::Row(row) | Slot::Mask(row) => row,
                }
            }
            Operand::Imm(value) => self.value(value),
            Operand::Special(special) => self.constant(Constant::Special(special)),
            Operand::Symbol(symbol, offset) | Operand::GenericSymbol(symbol, offset) => {
                let symbol = &self.kernel.symbols[symbol.index()];
                let generic = matches!(operand, Operand::GenericSymbol(..));
                let base = if generic { window(symbol.space) } else { 0 };
                let address = symbol_address(self.kernel, self.loaded, symbol);
                self.value(address.wrapping_add(base).wrapping_add_signed(offset))
            }
        }
    }

    fn mask_of(&self, operand: Operand) -> PredicateSource {
        match operand {
            Operand::Reg(register) | Operand::Not(register) => {
                let (Slot::Row(mask) | Slot::Mask(mask)) = self.decoded.layout.slots[register.index()];
                PredicateSource { mask, negated: matches!(operand, Operand::Not(_)) }
            }
            Operand::Imm(value) => {
                PredicateSource { mask: self.decoded.constant_masks[usize::from(value != 0)], negated: false }
            }
            Operand::Special(_) | Operand::Symbol(..) | Operand::GenericSymbol(..) => {
                PredicateSource { mask: self.decoded.constant_masks[0], negated: false }
            }
        }
    }

    fn value(&mut self, value: u64) -> u32 {
        if let Some(&row) = self.values.get(&value) {
            return row;
        }
        self.decoded.constants.push(Constant::Value(value));
        let row = (self.decoded.layout.rows + self.decoded.constants.len() - 1) as u32;
        self.values.insert(value, row);
        row
    }

    fn constant(&mut self, constant: Constant) -> u32 {
        let found = self.decoded.constants.iter().position(|&other| other == constant);
        let position = found.unwrap_or_else(|| {
            self.decoded.constants.push(constant);
            self.decoded.constants.len() - 1
        });
        (self.decoded.layout.rows + position) as u32
    }
}

/// Whether an instruction reads its n-th source as a predicate.
fn is_predicate_source(op: &Op, index: usize, count: usize) -> bool {
    match op {
        Op::Setp { .. } | Op::Set { .. } | Op::Selp { .. } | Op::AddCarry { .. } | Op::SubCarry { .. } => {
            index == 2
        }
        Op::MadCarry { .. } | Op::Lop3 { .. } => index == 3,
        Op::Vote { .. } => index == 0,
        Op::BarrierReduce { .. } => index + 1 == count,
        Op::And { ty } | Op::Or { ty } | Op::Xor { ty } | Op::Not { ty } | Op::Mov { ty } => {
            *ty == Type::Pred
        }
        _values_only => false,
    }
}
