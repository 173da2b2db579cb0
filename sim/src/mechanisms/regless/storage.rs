//! A shard of RegLess as operand storage.

use std::array;
use std::collections::VecDeque;

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError, InPort, RowPort, State};
use warpfile_hdl::regless::{RegLessShard, RequestKind};
use warpfile_kernels::compile::regless::{Regions, bank};
use warpfile_kernels::program::{
    BlockIndex, InstId, LANES, LaneMask, LaneValues, MAX_RESULTS, PhysReg, Program,
};

use super::code::{Code, RegisterAccess};
use super::{Preloads, STAGING_COUNTERS, Staging};
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::mechanisms::circuit::{accesses, activity, copy_lanes, table_accesses, words};
use crate::mechanisms::register_file::{rows_of_banks, spoil};
use crate::sm::design::{
    ID_BITS, Issue, Line, LineRequest, Metadata, OperandStorage, RowAccess, RowAccessKind, RowStates,
    RowUses, StorageInputs, StorageOutputs, WarpRows, WarpSlot, Write,
};
use crate::sm::{PortActivity, SimError};

/// Cycles from the scheduler's pick to the earliest dispatch (`docs/regless-pipeline.md`).
const OPERAND_CYCLES: u64 = 3;
/// Name of the table that holds values in a bank of the operand staging unit.
const VALUES_TABLE: &str = "values";

/// Outputs that are asked for before a cycle is run: whether memory takes a request depends on those of all shards.
pub(super) const FORESEEN: [&str; 8] = [
    "memory_request_valid_o",
    "memory_request_kind_o",
    "memory_request_compressed_o",
    "memory_request_warp_o",
    "memory_request_register_o",
    "memory_request_line_o",
    "memory_request_invalidates_o",
    "memory_request_value_o",
];

/// Instructions that the shard has taken and whose lines have not come out: none of them may offer a result, because there
/// is no line of its own that it could go to.
///
/// The shard cannot tell: it gets the number of a line, and a line that an earlier instruction has given up may be held by
/// another one by now (decision 80). It is followed from the shard's ports alone, so that it does not lean on what
/// [`RegLessStorage::set_write`] waits for.
struct Unreserved(Vec<bool>);

impl Unreserved {
    /// The invariant's name.
    const INVARIANT: &str = "a_result_goes_to_a_line_that_came_out_with_its_operands";

    fn new() -> Unreserved {
        Unreserved(vec![false; 1 << ID_BITS])
    }

    /// The shard has taken an instruction.
    fn issued(&mut self, id: u16) {
        self.0[usize::from(id)] = true;
    }

    /// Its lines have come out with its operands.
    fn came_out(&mut self, id: u16) {
        self.0[usize::from(id)] = false;
    }

    /// A result of it is offered in the cycle that begins.
    fn offered(&self, write: &Write<'_>) -> Result<(), SimError> {
        if !self.0[usize::from(write.id)] {
            return Ok(());
        }
        let Write { warp, inst, result, .. } = write;
        Err(SimError::Circuit {
            design: "regless".to_owned(),
            problem: format!(
                "invariant `{}` does not hold: result {result} of instruction {}, warp {warp}, is offered before its \
                 line has come out",
                Unreserved::INVARIANT,
                inst.0
            ),
        })
    }
}

/// A shard with its ports: what decode, the scheduler, the units and the L1 see of it.
pub struct RegLessStorage {
    engine: AnyEngine,
    ports: CircuitPorts<RegLessShard>,
    /// Lines of a bank.
    bank_lines: usize,
    /// The lines, bank after bank.
    line_rows: Vec<RowPort>,
    /// Bits of a number of lines of a bank.
    count_bits: usize,
    code: Code,
    /// Metadata instructions take issue slots.
    metadata_slots: bool,
    /// Lines reserved for the results of instructions in flight, by their number; `None` until they have come out with
    /// the operands. A result goes to no line before that.
    lines: Vec<Option<[u16; MAX_RESULTS]>>,
    unreserved: Unreserved,
    /// Words of metadata that have been decoded: warp, region, number of the word.
    metadata: VecDeque<(WarpSlot, usize, usize)>,
    /// Warps whose region is staged.
    active: u64,
    /// Warps of which the last instruction of a region has been picked and that are still seen as active.
    leaving: u64,
    /// Warps that hold nothing.
    inactive: u64,
    /// Warps that have ended and whose registers have still to be dropped.
    ended: u64,
    /// The one of them whose exit is offered.
    exit: Option<WarpSlot>,
    /// Lanes of the register that is written to memory.
    written: LaneValues,
    preloads: Preloads,
    /// Regions that warps have become active with.
    regions: u64,
    /// Cycles that regions were active, summed over regions.
    active_cycles: u64,
    /// Warps whose region has issued its last instruction and that are not inactive yet.
    draining: u64,
    /// Cycles that regions were draining, summed over regions.
    draining_cycles: u64,
}

impl RegLessStorage {
    /// An engine that runs `circuit`. `metadata_slots`: metadata instructions take issue slots.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(
        engine: AnyEngine,
        circuit: &RegLessShard,
        metadata_slots: bool,
    ) -> Result<RegLessStorage, EngineError> {
        Ok(RegLessStorage {
            ports: engine.ports(circuit)?,
            bank_lines: circuit.geometry.lines,
            line_rows: rows_of_banks(&engine, VALUES_TABLE),
            engine,
            count_bits: (circuit.geometry.lines.ilog2() + 1) as usize,
            code: Code::default(),
            metadata_slots,
            lines: vec![None; 1 << ID_BITS],
            unreserved: Unreserved::new(),
            metadata: VecDeque::with_capacity(u64::BITS as usize),
            active: 0,
            leaving: 0,
            inactive: u64::MAX,
            ended: 0,
            exit: None,
            written: [0; LANES],
            preloads: Preloads::default(),
            regions: 0,
            active_cycles: 0,
            draining: 0,
            draining_cycles: 0,
        })
    }

    /// Every instruction names its registers, also one that no lane executes: their fates have to take effect.
    fn set_issue(&mut self, number: usize, issue: &Option<Issue>) {
        let (engine, ports) = (self.engine.state_mut(), &self.ports.sm.issue[number]);
        engine.set(ports.valid_i, u64::from(issue.is_some()));
        let Some(issue) = issue else { return };
        self.lines[usize::from(issue.id)] = None;
        let instruction = self.code.instruction(issue.inst);
        engine.set(ports.id_i, u64::from(issue.id));
        engine.set(ports.unit_i, issue.unit as u64);
        engine.set(ports.warp_i, issue.warp as u64);
        engine.set(ports.last_i, u64::from(instruction.last));
        engine.set(ports.lanes_i, u64::from(issue.active));
        for (ports, source) in ports.source.iter().zip(&instruction.sources) {
            set_access(engine, [ports.valid_i, ports.register_i, ports.fate_i], source);
        }
        for (ports, result) in ports.result.iter().zip(&instruction.results) {
            set_access(engine, [ports.valid_i, ports.register_i, ports.fate_i], result);
            engine.set(ports.written_i, u64::from(issue.active != 0));
        }
    }

    /// Offers a result from the cycle after its instruction's operands on: with them comes the line it goes to.
    fn set_write(&mut self, number: usize, write: &Option<Write<'_>>) -> Result<(), SimError> {
        let (engine, ports) = (self.engine.state_mut(), &self.ports.sm.write[number]);
        let with_lines = write.as_ref().and_then(|write| Some((write, self.lines[usize::from(write.id)]?)));
        engine.set(ports.valid_i, u64::from(with_lines.is_some()));
        let Some((write, lines)) = with_lines else { return Ok(()) };
        self.unreserved.offered(write)?;
        engine.set(ports.warp_i, write.warp as u64);
        engine.set(ports.line_i, u64::from(lines[write.result]));
        if let Some(RegisterAccess { register, fate }) =
            self.code.instruction(write.inst).results[write.result]
        {
            engine.set(ports.register_i, register);
            engine.set(ports.fate_i, fate);
        }
        engine.set(ports.lanes_i, u64::from(write.lanes));
        engine.set_words(ports.value_i, &words(write.values));
        Ok(())
    }

    fn set_metadata(&mut self) {
        let (engine, ports) = (self.engine.state_mut(), &self.ports.sm.metadata);
        let next = self.metadata.front();
        engine.set(ports.valid_i, u64::from(next.is_some()));
        let Some(&(warp, region, number)) = next else { return };
        let word = &self.code.words(region)[number];
        engine.set(ports.warp_i, warp as u64);
        engine.set(ports.first_i, u64::from(word.first));
        engine.set(ports.last_i, u64::from(word.last));
        engine.set(ports.usage_i, word.usage);
        for (ports, note) in ports.note.iter().zip(&word.notes) {
            engine.set(ports.valid_i, u64::from(note.is_some()));
            if let Some((kind, register)) = *note {
                engine.set(ports.kind_i, kind);
                engine.set(ports.register_i, register);
            }
        }
    }

    /// Offers the exit of a warp that has ended and has let go of everything.
    fn set_exit(&mut self) {
        let ready = self.ended & self.inactive;
        self.exit = (ready != 0).then_some(ready.trailing_zeros() as usize);
        self.engine.set(self.ports.sm.exit.valid_i, u64::from(self.exit.is_some()));
        self.engine.set(self.ports.sm.exit.warp_i, self.exit.unwrap_or_default() as u64);
    }

    fn set_memory(&mut self, inputs: &StorageInputs<'_>) {
        let (engine, ports) = (self.engine.state_mut(), &self.ports);
        engine.set(ports.memory_request.ready_i, u64::from(inputs.line_request_taken));
        engine.set(ports.memory_fill.valid_i, u64::from(inputs.line.is_some()));
        let Some(filled) = inputs.line else { return };
        engine.set(ports.memory_fill.compressed_i, u64::from(filled.line.compressed));
        engine.set(ports.memory_fill.warp_i, filled.line.warp as u64);
        engine.set(ports.memory_fill.register_i, filled.line.register as u64);
        engine.set(ports.memory_fill.line_i, u64::from(filled.tag));
        engine.set_words(ports.memory_fill.value_i, &words(&filled.values));
    }

    fn get(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) {
        let (engine, ports) = (self.engine.state(), &self.ports.sm);
        let one = |port| engine.get(port) == 1;
        for (index, issue) in ports.issue.iter().enumerate() {
            outputs.issue_taken[index] = inputs.issue[index].is_some() && one(issue.ready_o);
            if let Some(taken) = inputs.issue[index].as_ref().filter(|_| outputs.issue_taken[index]) {
                self.unreserved.issued(taken.id);
            }
            outputs.result_taken[index] = inputs.result[index].is_some() && one(ports.write[index].ready_o);
        }
        outputs.fill_taken = inputs.fill.is_some() && one(ports.write[ports.issue.len()].ready_o);
        for (index, unit) in ports.unit.iter().enumerate() {
            outputs.dispatch[index] =
                one(unit.dispatch.valid_o).then(|| engine.get(unit.dispatch.id_o) as u16);
            let operands = &unit.operands;
            let delivered = one(operands.valid_o).then(|| engine.get(operands.id_o) as u16);
            outputs.delivered[index] = delivered;
            let Some(id) = delivered else { continue };
            for (operand, &port) in outputs.operands[index].iter_mut().zip(&operands.source_o) {
                copy_lanes(engine.get_words(port), operand);
            }
            self.unreserved.came_out(id);
            let lines = array::from_fn(|result| engine.get(operands.result[result].line_o) as u16);
            self.lines[usize::from(id)] = Some(lines);
        }
        outputs.busy_slots = 0;
    }

    /// Lines that can be accessed in the cycle that comes; none to be told if all always can.
    fn set_lines_on(&mut self, rows: Option<RowStates<'_>>) {
        let (Some(power), Some(rows)) = (self.ports.sm.power.first(), rows) else { return };
        let engine = self.engine.state_mut();
        for (bank, ports) in power.bank.iter().enumerate() {
            engine.set(ports.on_i, bits(rows.on, bank * self.bank_lines, self.bank_lines));
        }
    }

    /// Says which lines are about to be accessed or are accessed, and which have become free.
    fn say_lines(&self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) {
        let Some(power) = self.ports.sm.power.first() else { return };
        let engine = self.engine.state();
        let banks = power.bank.len();
        let row = |bank: usize, line: u64| (line as usize * banks + bank) as u32;
        let bank_of = |warp: usize, register: u64| bank(warp, PhysReg(register as u16));
        let access = |row, of, lanes, kind| RowAccess { row, of: Some(of), lanes, kind };
        let say = |rows: &mut Vec<RowAccess>, bank: usize, port, kind| {
            let mut lines = engine.get(port);
            while lines != 0 {
                let row = row(bank, u64::from(lines.trailing_zeros()));
                rows.push(RowAccess { row, of: None, lanes: 0, kind });
                lines &= lines - 1;
            }
        };
        for (bank, ports) in power.bank.iter().enumerate() {
            say(&mut outputs.rows, bank, ports.request_o, RowAccessKind::AskedFor);
            let read = &ports.read.line;
            if engine.get(read.valid_o) == 1 {
                let of = (engine.get(read.warp_o) as usize, engine.get(read.register_o) as u16);
                let (line, lanes) = (engine.get(read.line_o), engine.get(ports.read.lanes_o) as LaneMask);
                outputs.rows.push(access(row(bank, line), of, lanes, RowAccessKind::Read));
            }
        }
        let filled = &power.filled;
        if engine.get(filled.valid_o) == 1 {
            let (warp, register) = (engine.get(filled.warp_o) as usize, engine.get(filled.register_o));
            let row = row(bank_of(warp, register), engine.get(filled.line_o));
            outputs.rows.push(access(row, (warp, register as u16), LaneMask::MAX, RowAccessKind::Written));
        }
        let taken = outputs.result_taken.iter().chain([&outputs.fill_taken]);
        let writes = inputs.result.iter().chain([&inputs.fill]);
        for (write, _) in writes.zip(taken).filter(|(_, taken)| **taken) {
            let Some(write) = write else { continue };
            let result = self.code.instruction(write.inst).results[write.result];
            if let (Some(lines), Some(result)) = (self.lines[usize::from(write.id)], result) {
                let row = row(bank_of(write.warp, result.register), u64::from(lines[write.result]));
                let of = (write.warp, result.register as u16);
                outputs.rows.push(access(row, of, write.lanes, RowAccessKind::Written));
            }
        }
        // What is accessed for the last time is free behind it.
        for (bank, ports) in power.bank.iter().enumerate() {
            say(&mut outputs.rows, bank, ports.freed_o, RowAccessKind::Freed);
        }
    }

    fn follow_states(&mut self) {
        let (engine, ports) = (self.engine.state(), &self.ports.sm);
        let active = engine.get(ports.active_o);
        self.regions += u64::from((active & !self.active).count_ones());
        self.active_cycles += u64::from(active.count_ones());
        self.inactive = engine.get(ports.inactive_o);
        self.draining = (self.draining | self.active & !active) & !self.inactive;
        self.draining_cycles += u64::from(self.draining.count_ones());
        self.active = active;
        self.leaving &= self.active;
        if let Some(warp) = self.exit.filter(|_| engine.get(ports.exit.ready_o) == 1) {
            self.ended &= !(1 << warp);
        }
        if engine.get(ports.metadata.ready_o) == 1
            && let Some((warp, region, number)) = self.metadata.pop_front()
            && number + 1 < self.code.words(region).len()
        {
            self.metadata.push_front((warp, region, number + 1));
        }
        let count = |port| u64::from(engine.get(port).count_ones());
        self.preloads.staged += count(ports.preload_hit_o);
        self.preloads.unwritten += count(ports.preload_unwritten_o);
        self.preloads.fetched += count(ports.preload_fetched_o);
        self.preloads.compressor_hits += count(ports.compressor_hit_o);
        self.preloads.compressor_misses += count(ports.compressor_miss_o);
    }
}

impl OperandStorage for RegLessStorage {
    fn operand_cycles(&self) -> u64 {
        OPERAND_CYCLES
    }

    fn dispatches(&self) -> usize {
        self.ports.sm.unit.len()
    }

    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.code = match kernel.notes.get::<Regions>() {
            Some(regions) => Code::new(kernel.program, regions, self.count_bits),
            None => Code::default(),
        };
        Ok(())
    }

    fn metadata(&self, inst: InstId) -> Metadata {
        let instructions = self.code.instruction(inst).metadata_before;
        Metadata { instructions, take_slots: self.metadata_slots }
    }

    /// Tags say which line an operand is in; a result gets its line when it is reserved.
    fn row_uses(&self, _inst: InstId) -> RowUses {
        RowUses::FOUND_LATER
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        u64::from(program.registers_per_thread)
    }

    fn start_warp(&mut self, _warp: WarpSlot, _rows: WarpRows, _block: BlockIndex) {}

    fn decode(&mut self, warp: WarpSlot, inst: InstId) {
        let instruction = self.code.instruction(inst);
        if instruction.first {
            self.metadata.push_back((warp, instruction.region, 0));
        }
    }

    fn pick(&mut self, warp: WarpSlot, inst: InstId) {
        if self.code.instruction(inst).last {
            self.leaving |= 1 << warp;
        }
    }

    fn held_warps(&self) -> u64 {
        !self.active | self.leaving
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        let issues = self.ports.sm.issue.len();
        for (number, issue) in inputs.issue[..issues].iter().enumerate() {
            self.set_issue(number, issue);
        }
        for (number, write) in inputs.result[..issues].iter().chain([&inputs.fill]).enumerate() {
            self.set_write(number, write)?;
        }
        for (unit, ports) in self.ports.sm.unit.iter().enumerate() {
            self.engine.set(ports.ready_i, u64::from(inputs.ready_units >> unit & 1));
        }
        self.set_metadata();
        self.set_memory(inputs);
        self.set_lines_on(inputs.rows);
        self.engine.step();
        self.get(inputs, outputs);
        self.say_lines(inputs, outputs);
        if let Some(rows) = inputs.rows {
            spoil(&mut self.engine, &self.line_rows, rows.lost);
        }
        self.follow_states();
        Ok(())
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.ended |= 1 << warp;
    }

    fn ending_warps(&self) -> u64 {
        self.ended
    }

    fn line_request(&mut self) -> Option<LineRequest<'_>> {
        self.set_exit();
        self.engine.foresee();
        let (engine, ports) = (self.engine.state(), &self.ports.memory_request);
        if engine.get(ports.valid_o) == 0 {
            return None;
        }
        let line = Line {
            compressed: engine.get(ports.compressed_o) == 1,
            warp: engine.get(ports.warp_o) as usize,
            register: engine.get(ports.register_o) as usize,
        };
        Some(match RequestKind::ALL[engine.get(ports.kind_o) as usize] {
            RequestKind::Fetch => LineRequest::Fetch {
                line,
                invalidates: engine.get(ports.invalidates_o) == 1,
                tag: engine.get(ports.line_o) as u16,
            },
            RequestKind::Write => {
                copy_lanes(engine.get_words(ports.value_o), &mut self.written);
                LineRequest::Write { line, values: &self.written }
            }
            RequestKind::Invalidate => LineRequest::Invalidate { line },
            RequestKind::Drop => LineRequest::Drop { warp: line.warp },
        })
    }

    fn count(&self, into: &mut Counts) {
        let of_compressor = |name| table_accesses(&self.engine, |table| table == name);
        let of_banks = |table: &str| table.starts_with("staging.") && table.ends_with(".tags");
        into.add(
            STAGING_COUNTERS,
            &Staging {
                values: accesses(&self.engine, VALUES_TABLE),
                regions: self.regions,
                active_cycles: self.active_cycles,
                draining_cycles: self.draining_cycles,
                preloads: self.preloads,
                tags: table_accesses(&self.engine, of_banks),
                compressed_lines: of_compressor("compressor.lines"),
                compressed_tags: of_compressor("compressor.tags"),
                compressed_registers: of_compressor("compressor.presence"),
            },
        );
    }

    fn activity(&self) -> Vec<PortActivity> {
        activity(&self.engine)
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        Some(&self.engine)
    }
}

/// `count` bits of `words` from bit `first` on, 64 at most.
fn bits(words: &[u64], first: usize, count: usize) -> u64 {
    let (word, shift) = (first / 64, first % 64);
    let above = words.get(word + 1).map_or(0, |word| word.checked_shl(64 - shift as u32).unwrap_or(0));
    (words[word] >> shift | above) & (u64::MAX >> (64 - count))
}

/// Sets the ports of an access: valid, register and fate.
fn set_access(engine: &mut State, ports: [InPort; 3], access: &Option<RegisterAccess>) {
    let [valid, register, fate] = ports;
    engine.set(valid, u64::from(access.is_some()));
    if let Some(access) = access {
        engine.set(register, access.register);
        engine.set(fate, access.fate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_not_offered_between_issue_and_operands() {
        let values = [0; LANES];
        let write = |id| Write {
            id,
            inst: InstId(7),
            result: 0,
            warp: 3,
            row: 0,
            lanes: 1,
            values: &values,
            slot: None,
            cached: false,
        };
        let mut unreserved = Unreserved::new();
        unreserved.issued(5);
        unreserved.offered(&write(4)).expect("another instruction's");
        let broken = unreserved.offered(&write(5)).expect_err("no line").to_string();
        assert!(broken.contains(Unreserved::INVARIANT) && broken.contains("warp 3"), "{broken}");
        unreserved.came_out(5);
        unreserved.offered(&write(5)).expect("its line has come out");
    }
}
