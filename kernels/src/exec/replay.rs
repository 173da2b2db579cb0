//! What a warp executed, handed out as machine instructions with the value of every operand.
//!
//! Of each PTX instruction the records keep lanes, results and addresses; handing them out replays them on registers of
//! the warp's own, and each PTX instruction becomes the machine instructions that the compiler made of it.

use super::access::{self, lanes_of};
use super::block::{Executed, Observer, block_position, registers_at_start};
use super::decode::{Operands, Result as Target};
use super::record::{Header, RecordReader, RecordWriter};
use super::registers::{Lanes, Registers};
use super::run::Launched;
use super::store::{BlockRecords, PIECE_BYTES, Store};
use crate::compile::lowering::{Temporary, Value};
use crate::program::{BlockIndex, InstId, LANES, LaneMask, LaneValues, Space, StreamError, WarpInstruction};
use crate::ptx::ir::{Instruction, Op, Reg};

/// Writes the records of a block.
pub(super) struct Recorder<'e> {
    operands: &'e [Operands],
    store: &'e Store,
    /// Of each warp, what is no piece yet.
    writers: Vec<RecordWriter>,
    /// Of each warp, what the store has.
    pieces: BlockRecords,
}

impl<'e> Recorder<'e> {
    /// Of a block of so many warps before its first instruction.
    pub(super) fn new(operands: &'e [Operands], store: &'e Store, warps: usize) -> Recorder<'e> {
        let (writers, pieces) = (vec![RecordWriter::default(); warps], vec![Vec::new(); warps]);
        Recorder { operands, store, writers, pieces }
    }

    /// The records of the block.
    ///
    /// # Errors
    /// If the store cannot keep them.
    pub(super) fn end(mut self) -> Result<BlockRecords, String> {
        for (writer, pieces) in self.writers.into_iter().zip(&mut self.pieces) {
            if !writer.bytes.is_empty() {
                pieces.push(self.store.keep(writer.bytes)?);
            }
        }
        Ok(self.pieces)
    }
}

/// Bytes in which a register's values are stored.
fn stored_bytes(bits: u32) -> usize {
    if bits == 64 { 8 } else { 4 }
}

impl Observer for Recorder<'_> {
    fn executed(&mut self, executed: &Executed<'_>, registers: &Registers) -> Result<(), String> {
        let &Executed { warp, inst, path, active, addresses } = executed;
        let records = &mut self.writers[warp];
        records.write_header(Header { inst: inst.0, path, active });
        for result in self.operands[inst.index()].results.iter().flatten() {
            match *result {
                Target::Row { row, bits } => {
                    records.write_lanes(active, &registers.rows[row as usize], stored_bytes(bits));
                }
                Target::Mask(mask) => records.write_u32(registers.masks[mask as usize]),
            }
        }
        if let Some(addresses) = addresses {
            records.write_lanes(active, addresses, 8);
        }
        if records.bytes.len() >= PIECE_BYTES {
            self.pieces[warp].push(self.store.keep(std::mem::take(&mut records.bytes))?);
        }
        Ok(())
    }
}

/// A warp whose records are being handed out.
pub(super) struct Replay {
    records: RecordReader,
    /// Registers before the PTX instruction at hand.
    registers: Registers,
    /// Lanes in which each register has been written with a defined value.
    defined: Vec<LaneMask>,
    /// Executing lanes in which the results of the PTX instruction at hand are defined.
    known: LaneMask,
    header: Header,
    /// Results of the PTX instruction at hand: a row, or a predicate's mask.
    results: [Lanes; 4],
    masks: [LaneMask; 4],
    addresses: Lanes,
    /// Machine instructions of it that have not been handed out.
    machine: std::ops::Range<u32>,
}

impl Replay {
    /// Of a warp of a block, from its first instruction.
    pub(super) fn new(launched: &Launched, block: BlockIndex, records: RecordReader, warp: usize) -> Replay {
        let prepared = &launched.prepared;
        Replay {
            records,
            registers: registers_at_start(prepared, block_position(&prepared.launch, block), warp),
            defined: vec![0; launched.code.kernel.registers.len()],
            known: 0,
            header: Header::default(),
            results: [[0; LANES]; 4],
            masks: [0; 4],
            addresses: [0; LANES],
            machine: 0..0,
        }
    }

    /// The next machine instruction; `false` after the last.
    ///
    /// # Errors
    /// If the records cannot be read back.
    pub(super) fn next(
        &mut self,
        launched: &Launched,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        while self.machine.is_empty() {
            if !self.read(launched).map_err(StreamError)? {
                return Ok(false);
            }
        }
        let inst = self.machine.start;
        self.machine.start += 1;
        self.fill(launched, inst, into);
        if self.machine.is_empty() {
            self.commit(launched);
        }
        Ok(true)
    }

    /// Reads the next PTX instruction; `false` after the last. One without machine instructions is done.
    fn read(&mut self, launched: &Launched) -> Result<bool, String> {
        let Some(header) = self.records.read_header()? else {
            return Ok(false);
        };
        self.header = header;
        let operands = &launched.prepared.decoded.operands[header.inst as usize];
        for (index, result) in operands.results.iter().enumerate() {
            match *result {
                Some(Target::Row { bits, .. }) => {
                    self.records.read_lanes(header.active, &mut self.results[index], stored_bytes(bits));
                }
                Some(Target::Mask(_)) => self.masks[index] = self.records.read_u32(),
                None => {}
            }
        }
        if accesses_memory(&launched.code.kernel.instructions[header.inst as usize].op) {
            self.records.read_lanes(header.active, &mut self.addresses, 8);
        }
        self.known =
            header.active & self.defined_results(&launched.code.kernel.instructions[header.inst as usize]);
        self.machine = launched.code.lowering.ranges[header.inst as usize].clone();
        if self.machine.is_empty() {
            self.commit(launched);
        }
        Ok(true)
    }

    /// Lanes in which an instruction's results are defined: loaded values are; what is computed is undefined if
    /// an operand is, because a copy may have been removed ([`Value`]).
    fn defined_results(&self, instruction: &Instruction) -> LaneMask {
        if accesses_memory(&instruction.op) {
            return !0;
        }
        let registers = instruction.srcs.iter().filter_map(|operand| operand.register());
        registers.fold(!0, |known, register| known & self.defined[register.index()])
    }

    /// Makes the results visible to later instructions.
    fn commit(&mut self, launched: &Launched) {
        let Header { inst, active, .. } = self.header;
        let operands = &launched.prepared.decoded.operands[inst as usize];
        for (index, result) in operands.results.iter().enumerate() {
            match *result {
                Some(Target::Row { row, .. }) => self.registers.write(row, active, &self.results[index]),
                Some(Target::Mask(mask)) => self.registers.write_mask(mask, active, self.masks[index]),
                None => {}
            }
        }
        for register in launched.code.kernel.instructions[inst as usize].definitions() {
            let defined = &mut self.defined[register.index()];
            *defined = (*defined & !active) | self.known;
        }
    }

    fn fill(&self, launched: &Launched, inst: u32, into: &mut WarpInstruction) {
        let lowered = &launched.code.lowering.instructions[inst as usize];
        let Header { path, active, .. } = self.header;
        into.inst = InstId(inst);
        into.active = if lowered.guarded { active } else { path };
        for (index, &value) in lowered.sources.iter().enumerate() {
            into.defined[index] = self.value(launched, value, &mut into.sources[index]);
        }
        for (index, &value) in lowered.results.iter().enumerate() {
            self.value(launched, value, &mut into.results[index]);
        }
        if accesses_memory(&launched.code.kernel.instructions[self.header.inst as usize].op) {
            into.addresses = self.addresses;
        }
        if let Some(load) = lowered.operand {
            let operands = &launched.prepared.decoded.operands[load.index()];
            into.addresses = access::addresses(&self.registers, operands, Space::Shared, into.active);
        }
    }

    /// Writes a 32-bit value of every lane, and gives the lanes in which it is known.
    fn value(&self, launched: &Launched, value: Value, into: &mut LaneValues) -> LaneMask {
        match value {
            Value::Before(register, word) => {
                if let Some(lanes) = self.registers.lanes(register) {
                    write_word(lanes, word, into);
                } else if let Some(mask) = self.registers.predicate(register) {
                    write_bits(mask, into);
                }
                self.defined[register.index()]
            }
            Value::After(register, word) => {
                let Some(index) = self.result_index(launched, register) else {
                    return self.value(launched, Value::Before(register, word), into);
                };
                if let Some(before) = self.registers.predicate(register) {
                    let active = self.header.active;
                    write_bits(before & !active | self.masks[index] & active, into);
                    return (self.defined[register.index()] & !active) | self.known;
                }
                if self.header.active == LaneMask::MAX {
                    write_word(&self.results[index], word, into);
                    return self.known;
                }
                if let Some(lanes) = self.registers.lanes(register) {
                    write_word(lanes, word, into);
                }
                for lane in lanes_of(self.header.active) {
                    into[lane] = (self.results[index][lane] >> (32 * u32::from(word))) as u32;
                }
                (self.defined[register.index()] & !self.header.active) | self.known
            }
            Value::Temporary(temporary) => {
                self.temporary(launched, temporary, into);
                self.header.active
            }
        }
    }

    fn result_index(&self, launched: &Launched, register: Reg) -> Option<usize> {
        let instruction = &launched.code.kernel.instructions[self.header.inst as usize];
        instruction.dsts.iter().position(|&result| result == Some(register))
    }

    fn temporary(&self, launched: &Launched, temporary: Temporary, into: &mut LaneValues) {
        let operands = &launched.prepared.decoded.operands[self.header.inst as usize];
        let a = &self.registers.rows[operands.sources[0] as usize];
        let b = &self.registers.rows[operands.sources[1] as usize];
        for lane in lanes_of(self.header.active) {
            let result = match operands.results[0] {
                Some(Target::Row { .. }) => self.results[0][lane],
                Some(Target::Mask(_)) => u64::from(self.masks[0] >> lane & 1),
                None => 0,
            };
            into[lane] = temporary.value(a[lane], b[lane], result);
        }
    }
}

fn write_word(lanes: &Lanes, word: u8, into: &mut LaneValues) {
    for (into, value) in into.iter_mut().zip(lanes) {
        *into = (value >> (32 * u32::from(word))) as u32;
    }
}

/// A predicate as a register: 1 in the lanes in which it is true, else 0.
fn write_bits(mask: LaneMask, into: &mut LaneValues) {
    for (lane, into) in into.iter_mut().enumerate() {
        *into = mask >> lane & 1;
    }
}

/// Whether an instruction's records hold addresses.
fn accesses_memory(op: &Op) -> bool {
    super::execute::accessed_space(op).is_some()
}
