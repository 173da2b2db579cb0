//! A scratchpad circuit as operand storage: a register file whose operands are where the compiler says.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::hybrid::ScratchpadHierarchy;
use warpfile_kernels::compile::rsp::{Placement, Places, SourcePlace};
use warpfile_kernels::program::{BlockIndex, InstId, Instruction, PhysReg, Program};

use super::COUNTERS;
use super::distances::{LastAccesses, Server};
use super::scratchpad::{RSP_COUNTERS, ScratchpadCounters};
use super::storage::{LastReads, VALUES_TABLE, last_reads};
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::mechanisms::register_file::{ACCESS_CYCLES, RegisterFile, common_ports, say_rows, set_rows_on};
use crate::sm::design::{
    Issue, OperandStorage, RowUse, RowUses, StorageInputs, StorageOutputs, WarpRows, WarpSlot, Write,
};
use crate::sm::{PortActivity, SimError};

/// Name of the table of the scratchpad.
const SLICES_TABLE: &str = "slices";

/// A register file with the ports of `ScratchpadHierarchy`.
pub struct ScratchpadStorage {
    file: RegisterFile,
    ports: CircuitPorts<ScratchpadHierarchy>,
    /// Where the operands of each instruction are.
    places: Vec<Places>,
    last_reads: LastReads,
    /// Instructions that begin a strand: before them nothing is in the scratchpad that is read again.
    begins_strand: Vec<bool>,
    /// Warps whose next instruction begins a strand, one bit each.
    between_strands: u64,
    /// Warps that have ended since the last cycle, one bit each.
    ended: u64,
    counted: ScratchpadCounters,
    /// Which structure serves reads of which distance; with a cache.
    last_accesses: Option<LastAccesses>,
    /// For each instruction the register of a result that is written to an entry and is live-out.
    live_outs: Vec<Option<PhysReg>>,
    /// For each warp the row of its first register.
    first_rows: Vec<u32>,
    registers_per_warp: usize,
}

impl ScratchpadStorage {
    /// An engine that runs `circuit`.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(engine: AnyEngine, circuit: &ScratchpadHierarchy) -> Result<ScratchpadStorage, EngineError> {
        let ports = engine.ports(circuit)?;
        let file = RegisterFile::new(engine, common_ports!(ports), ACCESS_CYCLES);
        Ok(ScratchpadStorage {
            file,
            ports,
            places: Vec::new(),
            last_reads: Vec::new(),
            begins_strand: Vec::new(),
            between_strands: u64::MAX,
            ended: 0,
            counted: ScratchpadCounters::default(),
            last_accesses: (circuit.sets > 0)
                .then(|| LastAccesses::new(circuit.geometry.banks * circuit.geometry.rows)),
            live_outs: Vec::new(),
            first_rows: vec![0; circuit.warps],
            registers_per_warp: 0,
        })
    }

    fn set_issue(&mut self, index: usize, issue: &Issue) {
        let places = &self.places[issue.inst.0 as usize];
        let last_reads = &self.last_reads[issue.inst.0 as usize];
        let (engine, ports) = (self.file.engine.state_mut(), &self.ports.issue[index]);
        engine.set(ports.slot_i, issue.slot as u64);
        engine.set(ports.copy_valid_i, 0);
        for (number, (source, place)) in issue.sources.iter().zip(&places.sources).enumerate() {
            let ports_of_source = &ports.source[number];
            let entry = place.entry.filter(|_| source.is_some());
            engine.set(ports_of_source.entry_valid_i, u64::from(entry.is_some()));
            engine.set(ports_of_source.entry_i, u64::from(entry.unwrap_or_default()));
            engine.set(ports_of_source.last_read_i, u64::from(last_reads[number]));
            if let Some(entry) = place.copied_to.filter(|_| source.is_some()) {
                engine.set(ports.copy_valid_i, 1);
                engine.set(ports.copy_entry_i, u64::from(entry));
                engine.set(ports.copy_source_i, number as u64);
            }
        }
        engine.set(ports.writes_i, if issue.active == 0 { 0 } else { written_entries(places) });
        if let [copied, written] = &ports.leave[..] {
            let copies = |(_, place): &(&Option<u32>, &SourcePlace)| place.copied_to.is_some();
            let source =
                issue.sources.iter().zip(&places.sources).find(copies).and_then(|(source, _)| *source);
            let result = self.live_outs[issue.inst.0 as usize].filter(|_| issue.active != 0);
            let result = result.map(|register| self.first_rows[issue.warp] + u32::from(register.0));
            for (port, row) in [(copied, source), (written, result)] {
                self.counted.leave_searches += u64::from(row.is_some());
                engine.set(port.valid_i, u64::from(row.is_some()));
                engine.set(port.register_i, u64::from(row.unwrap_or_default()));
            }
        }
    }

    fn set_result(&mut self, index: usize, write: &Write<'_>) {
        let place = self.places[write.inst.0 as usize].results[write.result];
        let (engine, ports) = (self.file.engine.state_mut(), &self.ports.result[index]);
        engine.set(ports.warp_i, write.warp as u64);
        engine.set(ports.entry_valid_i, u64::from(place.entry.is_some()));
        engine.set(ports.slot_i, write.slot.unwrap_or_default() as u64);
        engine.set(ports.entry_i, u64::from(place.entry.unwrap_or_default()));
        engine.set(ports.live_out_i, u64::from(place.live_out));
    }

    /// Counts what has been taken in a cycle.
    fn count_taken(&mut self, inputs: &StorageInputs<'_>, outputs: &StorageOutputs) {
        let taken = inputs.issue.iter().flatten().zip(outputs.issue_taken).filter(|&(_, taken)| taken);
        for (issue, _) in taken {
            let places = &self.places[issue.inst.0 as usize].sources;
            let last_reads = &self.last_reads[issue.inst.0 as usize];
            for ((_, place), &ends) in
                issue.sources.iter().zip(places).zip(last_reads).filter(|((source, _), _)| source.is_some())
            {
                self.counted.operand_reads += u64::from(place.entry.is_some());
                self.counted.last_reads += u64::from(place.entry.is_some() && ends);
                self.counted.copies += u64::from(place.copied_to.is_some());
            }
            self.counted.strands += u64::from(self.begins_strand[issue.inst.0 as usize]);
        }
        let taken = inputs.result.iter().zip(outputs.result_taken).filter(|&(_, taken)| taken);
        for write in taken.filter_map(|(write, _)| write.as_ref()) {
            let place = self.places[write.inst.0 as usize].results[write.result];
            self.counted.result_writes += u64::from(place.entry.is_some());
        }
        let engine = self.file.engine.state();
        self.counted.entry_waits += engine.get(self.ports.entry_wait_o);
        self.counted.transfer_waits += engine.get(self.ports.transfer_wait_o);
        if let [wait] = self.ports.leave_wait_o[..] {
            self.counted.leave_waits += engine.get(wait);
        }
    }

    /// Follows the accesses of a cycle.
    fn follow_accesses(&mut self, inputs: &StorageInputs<'_>, outputs: &StorageOutputs) {
        let Some(last) = &mut self.last_accesses else { return };
        let engine = self.file.engine.state();
        let taken = inputs.issue.iter().zip(&self.ports.issue).zip(outputs.issue_taken);
        for ((issue, ports), _) in taken.filter(|(_, taken)| *taken) {
            let Some(issue) = issue else { continue };
            let places = &self.places[issue.inst.0 as usize].sources;
            for (k, (source, place)) in issue.sources.iter().zip(places).enumerate() {
                let Some(row) = *source else { continue };
                let server = match (place.entry, &ports.source[k].misses_o[..]) {
                    (Some(_), _) => Server::Scratchpad,
                    (None, [misses]) if engine.get(*misses) == 0 => Server::Cache,
                    (None, _) => Server::Main,
                };
                last.read(row, server);
            }
        }
        let results = inputs.result.iter().zip(outputs.result_taken).filter(|&(_, taken)| taken);
        let fill = inputs.fill.iter().filter(|_| outputs.fill_taken);
        for write in results.filter_map(|(write, _)| write.as_ref()).chain(fill) {
            last.write(write.row);
        }
        last.step();
    }
}

/// Entries that the results of an instruction go to, one bit each.
fn written_entries(places: &Places) -> u64 {
    places.results.iter().filter_map(|result| result.entry).fold(0, |entries, entry| entries | 1 << entry)
}

impl OperandStorage for ScratchpadStorage {
    fn operand_cycles(&self) -> u64 {
        self.file.operand_cycles()
    }

    fn dispatches(&self) -> usize {
        self.file.dispatches()
    }

    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        let instructions = kernel.program.instructions.len();
        self.last_reads = last_reads(kernel.program);
        self.begins_strand = vec![false; instructions];
        self.places = match kernel.notes.get::<Placement>() {
            Some(placement) => {
                for strand in &placement.strands {
                    self.begins_strand[strand.start as usize] = true;
                }
                placement.places.clone()
            }
            None => vec![Places::default(); instructions],
        };
        let live_out = |(instruction, places): (&Instruction, &Places)| {
            let mut results = instruction.results.iter().zip(&places.results);
            results.find_map(|(result, place)| place.live_out.then_some(result.register))
        };
        self.live_outs = kernel.program.instructions.iter().zip(&self.places).map(live_out).collect();
        self.registers_per_warp = self.registers_per_warp(kernel.program) as usize;
        self.file.start_kernel(kernel)
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.file.registers_per_warp(program)
    }

    /// What is not in the scratchpad is looked up in the cache behind it, or is in its row; results that are transferred there
    /// are so when the storage says.
    fn row_uses(&self, inst: InstId) -> RowUses {
        let behind = if self.last_accesses.is_some() { RowUse::FoundLater } else { RowUse::Row };
        let place = |in_scratchpad: bool| if in_scratchpad { RowUse::Above } else { behind };
        let places = &self.places[inst.0 as usize];
        RowUses {
            sources: places.sources.each_ref().map(|source| place(source.entry.is_some())),
            results: places.results.each_ref().map(|result| place(result.entry.is_some())),
        }
    }

    fn start_warp(&mut self, warp: WarpSlot, rows: WarpRows, block: BlockIndex) {
        self.first_rows[warp] = rows.first();
        if let Some(last) = &mut self.last_accesses {
            let first = rows.first() as usize;
            last.forget(first..first + self.registers_per_warp);
        }
        self.file.start_warp(warp, rows, block);
    }

    fn decode(&mut self, warp: WarpSlot, inst: InstId) {
        let begins = u64::from(self.begins_strand[inst.0 as usize]);
        self.between_strands = self.between_strands & !(1 << warp) | begins << warp;
    }

    fn held_warps(&self) -> u64 {
        0
    }

    /// What is in the scratchpad is lost with the slot.
    fn suspendable_warps(&self) -> u64 {
        self.between_strands
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        for index in 0..self.ports.issue.len() {
            if let Some(issue) = &inputs.issue[index] {
                self.set_issue(index, issue);
            }
            if let Some(write) = &inputs.result[index] {
                self.set_result(index, write);
            }
        }
        let engine = self.file.engine.state_mut();
        if let Some(write) = &inputs.fill {
            engine.set(self.ports.fill_warp_i, write.warp as u64);
        }
        engine.set(self.ports.ended_i, std::mem::take(&mut self.ended));
        set_rows_on(&mut self.file.engine, &self.ports.rows, inputs.rows);
        self.file.cycle(inputs, outputs)?;
        say_rows(&self.file.engine, &self.ports.rows, &mut outputs.rows);
        outputs.busy_slots = self.file.engine.state().get(self.ports.slot_busy_o);
        self.count_taken(inputs, outputs);
        self.follow_accesses(inputs, outputs);
        Ok(())
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.ended |= 1 << warp;
        self.file.end_warp(warp);
    }

    fn count(&self, into: &mut Counts) {
        self.file.count(into);
        let accesses = self.file.accesses(SLICES_TABLE);
        let transfers = accesses.reads - self.counted.operand_reads;
        into.add(RSP_COUNTERS, &ScratchpadCounters { accesses, transfers, ..self.counted });
        if let Some(last) = &self.last_accesses {
            into.add(COUNTERS, &self.file.accesses(VALUES_TABLE));
            last.count(into);
        }
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.file.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.file.circuit()
    }
}
