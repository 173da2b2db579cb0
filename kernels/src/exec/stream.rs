//! A launch as a stream of machine instructions with the value of every operand.
//!
//! A block is executed when it is started, so what the stream delivers depends on the order of the blocks
//! alone. Of each PTX instruction a warp's [`Records`] keep lanes, results and addresses; handing them out
//! replays them on registers of the warp's own, and each PTX instruction becomes the machine instructions
//! that the compiler made of it.

use std::collections::BTreeMap;

use super::access::lanes_of;
use super::block::{BlockExecution, Executed, Observer};
use super::decode::{Operands, Result as Target};
use super::error::ExecError;
use super::launch::Execution;
use super::memory::Memory;
use super::record::{Header, Records};
use super::registers::{Lanes, Registers};
use crate::compile::Compiled;
use crate::compile::lowering::{Temporary, Value};
use crate::program::{
    BlockIndex, InstId, LANES, LaneMask, LaneValues, Launch, Program, Stream, StreamError, WarpInstruction,
};
use crate::ptx::ir::{Instruction, Op, Reg};

/// Bytes of records that one block may need: some hundred million instructions.
const MAX_RECORD_BYTES: usize = 2 << 30;

/// A launch of a compiled kernel.
pub struct PtxStream<'a> {
    compiled: &'a Compiled,
    execution: Execution<'a>,
    memory: &'a mut Memory,
    blocks: BTreeMap<BlockIndex, Vec<Replay>>,
    /// Records of finished blocks, to be filled again.
    spare: Vec<Records>,
    started: Option<BlockIndex>,
}

impl<'a> PtxStream<'a> {
    /// The stream of a launch. `compiled` must be the execution's kernel, compiled.
    pub fn new(compiled: &'a Compiled, execution: Execution<'a>, memory: &'a mut Memory) -> Self {
        PtxStream { compiled, execution, memory, blocks: BTreeMap::new(), spare: Vec::new(), started: None }
    }

    /// Executes a block and records what its warps do.
    fn record(&mut self, block: BlockIndex) -> Result<Vec<Replay>, ExecError> {
        let mut execution = BlockExecution::new(&self.execution, block);
        let warps = self.execution.launch().warps_per_block();
        let registers: Vec<Registers> = (0..warps).map(|warp| execution.registers(warp).clone()).collect();
        let mut recorder = Recorder {
            operands: &self.execution.decoded.operands,
            records: (0..warps).map(|_| self.spare.pop().unwrap_or_default()).collect(),
        };
        execution.run(self.memory, &mut recorder)?;
        let needed: usize = recorder.records.iter().map(Records::len).sum();
        if needed > MAX_RECORD_BYTES {
            let message =
                format!("one block needs {needed} bytes of records; accepted: at most {MAX_RECORD_BYTES}");
            return Err(ExecError::launch(self.execution.kernel, message));
        }
        let replays = recorder.records.into_iter().zip(registers);
        Ok(replays.map(|(records, registers)| Replay::new(&self.execution, records, registers)).collect())
    }
}

impl Stream for PtxStream<'_> {
    fn program(&self) -> &Program {
        &self.compiled.program
    }

    fn launch(&self) -> &Launch {
        self.execution.launch()
    }

    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        let blocks = self.execution.launch().blocks();
        if block >= blocks || self.started.is_some_and(|last| last >= block) {
            return Err(StreamError(format!(
                "kernel `{}`: block {block} is started after {:?}; accepted: increasing numbers below {blocks}",
                self.execution.kernel.name, self.started
            )));
        }
        let replays = self.record(block).map_err(|error| StreamError(error.to_string()))?;
        self.started = Some(block);
        self.blocks.insert(block, replays);
        Ok(())
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        let replay = self.blocks.get_mut(&block).and_then(|warps| warps.get_mut(warp)).ok_or_else(|| {
            let name = &self.execution.kernel.name;
            StreamError(format!("kernel `{name}`: warp {warp} of block {block}, which has not been started"))
        })?;
        Ok(replay.next(self.compiled, &self.execution, into))
    }

    fn finish_block(&mut self, block: BlockIndex) {
        for mut replay in self.blocks.remove(&block).unwrap_or_default() {
            replay.records.clear();
            self.spare.push(replay.records);
        }
    }
}

/// Writes the records of a block.
struct Recorder<'e> {
    operands: &'e [Operands],
    records: Vec<Records>,
}

/// Bytes in which a register's values are stored.
fn stored_bytes(bits: u32) -> usize {
    if bits == 64 { 8 } else { 4 }
}

impl Observer for Recorder<'_> {
    fn before(&mut self, _executed: &Executed<'_>, _registers: &Registers) {}

    fn after(&mut self, executed: &Executed<'_>, registers: &Registers) {
        let &Executed { warp, inst, path, active, addresses } = executed;
        let records = &mut self.records[warp];
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
    }
}

/// A warp whose records are being handed out.
struct Replay {
    records: Records,
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
    fn new(execution: &Execution<'_>, records: Records, registers: Registers) -> Replay {
        Replay {
            records,
            registers,
            defined: vec![0; execution.kernel.registers.len()],
            known: 0,
            header: Header::default(),
            results: [[0; LANES]; 4],
            masks: [0; 4],
            addresses: [0; LANES],
            machine: 0..0,
        }
    }

    fn next(&mut self, compiled: &Compiled, execution: &Execution<'_>, into: &mut WarpInstruction) -> bool {
        while self.machine.is_empty() {
            if !self.read(compiled, execution) {
                return false;
            }
        }
        let inst = self.machine.start;
        self.machine.start += 1;
        self.fill(compiled, execution, inst, into);
        if self.machine.is_empty() {
            self.commit(execution);
        }
        true
    }

    /// Reads the next PTX instruction; `false` after the last. One without machine instructions is done.
    fn read(&mut self, compiled: &Compiled, execution: &Execution<'_>) -> bool {
        let Some(header) = self.records.read_header() else {
            return false;
        };
        self.header = header;
        let operands = &execution.decoded.operands[header.inst as usize];
        for (index, result) in operands.results.iter().enumerate() {
            match *result {
                Some(Target::Row { bits, .. }) => {
                    self.records.read_lanes(header.active, &mut self.results[index], stored_bytes(bits));
                }
                Some(Target::Mask(_)) => self.masks[index] = self.records.read_u32(),
                None => {}
            }
        }
        if accesses_memory(&execution.kernel.instructions[header.inst as usize].op) {
            self.records.read_lanes(header.active, &mut self.addresses, 8);
        }
        self.known =
            header.active & self.defined_results(&execution.kernel.instructions[header.inst as usize]);
        self.machine = compiled.lowering.ranges[header.inst as usize].clone();
        if self.machine.is_empty() {
            self.commit(execution);
        }
        true
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
    fn commit(&mut self, execution: &Execution<'_>) {
        let Header { inst, active, .. } = self.header;
        let operands = &execution.decoded.operands[inst as usize];
        for (index, result) in operands.results.iter().enumerate() {
            match *result {
                Some(Target::Row { row, .. }) => self.registers.write(row, active, &self.results[index]),
                Some(Target::Mask(mask)) => self.registers.write_mask(mask, active, self.masks[index]),
                None => {}
            }
        }
        for register in execution.kernel.instructions[inst as usize].definitions() {
            let defined = &mut self.defined[register.index()];
            *defined = (*defined & !active) | self.known;
        }
    }

    fn fill(&self, compiled: &Compiled, execution: &Execution<'_>, inst: u32, into: &mut WarpInstruction) {
        let lowered = &compiled.lowering.instructions[inst as usize];
        let Header { path, active, .. } = self.header;
        into.inst = InstId(inst);
        into.active = if lowered.guarded { active } else { path };
        for (index, &value) in lowered.sources.iter().enumerate() {
            into.defined[index] = self.value(execution, value, &mut into.sources[index]);
        }
        for (index, &value) in lowered.results.iter().enumerate() {
            self.value(execution, value, &mut into.results[index]);
        }
        if accesses_memory(&execution.kernel.instructions[self.header.inst as usize].op) {
            into.addresses = self.addresses;
        }
    }

    /// Writes a 32-bit value of every lane, and gives the lanes in which it is known.
    fn value(&self, execution: &Execution<'_>, value: Value, into: &mut LaneValues) -> LaneMask {
        match value {
            Value::Before(register, word) => {
                if let Some(lanes) = self.registers.lanes(register) {
                    write_word(lanes, word, into);
                }
                self.defined[register.index()]
            }
            Value::After(register, word) => {
                let Some(index) = self.result_index(execution, register) else {
                    return self.value(execution, Value::Before(register, word), into);
                };
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
                self.temporary(execution, temporary, into);
                self.header.active
            }
        }
    }

    fn result_index(&self, execution: &Execution<'_>, register: Reg) -> Option<usize> {
        let instruction = &execution.kernel.instructions[self.header.inst as usize];
        instruction.dsts.iter().position(|&result| result == Some(register))
    }

    fn temporary(&self, execution: &Execution<'_>, temporary: Temporary, into: &mut LaneValues) {
        let operands = &execution.decoded.operands[self.header.inst as usize];
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

/// Whether an instruction's records hold addresses.
fn accesses_memory(op: &Op) -> bool {
    super::execute::accessed_space(op).is_some()
}
