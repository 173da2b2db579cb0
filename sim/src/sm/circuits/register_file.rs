//! A register file circuit as operand storage.

mod hierarchy;

use warpfile_engine::{Engine, EngineError, InPort, OutPort};
use warpfile_kernels::program::{BlockIndex, MAX_SOURCES, Program};

use super::super::design::{
    Flush, Issue, MAX_ISSUES, OperandStorage, StorageInputs, StorageOutputs, WarpSlot, Write,
};
use super::super::{Accesses, PortActivity, SimError};
use super::{Group, accesses, activity, copy_lanes, words};

pub use hierarchy::HierarchyCircuit;

/// A register file with the common ports, and those of a register file cache if it has one.
pub struct RegisterFileCircuit<E> {
    pub(super) engine: E,
    tables: TableNames,
    operand_cycles: u64,
    common: CommonPorts,
    cache: Option<CachePorts>,
}

/// Which tables of a circuit hold registers: last part of their paths.
#[derive(Clone, Copy, Debug)]
pub struct TableNames {
    /// Tables of the main register file.
    pub mrf: &'static str,
    /// Table of the register file cache; `None` for a circuit without one.
    pub rfc: Option<&'static str>,
}

/// Ports that every register file has.
struct CommonPorts {
    /// One for each instruction that is issued a cycle.
    ways: Vec<IssueWay>,
    unit_ready: InPort,
    fill: WritePorts,
}

/// The way of one instruction a cycle: in at issue, out at dispatch, and back with its result.
struct IssueWay {
    issue_valid: InPort,
    issue_ready: OutPort,
    issue_id: InPort,
    issue_unit: InPort,
    issue_active: InPort,
    source_valid: [InPort; MAX_SOURCES],
    source_register: [InPort; MAX_SOURCES],
    dispatch_valid: OutPort,
    dispatch_id: OutPort,
    operands_valid: OutPort,
    operands_id: OutPort,
    operands: [OutPort; MAX_SOURCES],
    result: WritePorts,
}

/// Ports that take a register's new value.
struct WritePorts {
    valid: InPort,
    ready: OutPort,
    register: InPort,
    lanes: InPort,
    value: InPort,
}

/// Ports that a register file cache adds.
struct CachePorts {
    issue_slot: InPort,
    source_last_read: [InPort; MAX_SOURCES],
    source_idle: [InPort; MAX_SOURCES],
    result_slot: InPort,
    result_cached: InPort,
    result_idle: InPort,
    fill_slot: InPort,
    fill_slot_valid: InPort,
    flush_valid: InPort,
    flush_slot: InPort,
    flush_discard: InPort,
    slot_busy: OutPort,
}

impl<E: Engine> RegisterFileCircuit<E> {
    /// A circuit that takes `issues` instructions a cycle and delivers operands `operand_cycles` after the
    /// scheduler's pick at the earliest. Errors name a port that is not there.
    pub fn new(
        engine: E,
        tables: TableNames,
        issues: usize,
        operand_cycles: u64,
    ) -> Result<RegisterFileCircuit<E>, EngineError> {
        Ok(RegisterFileCircuit {
            common: CommonPorts::resolve(&engine, issues)?,
            cache: tables.rfc.map(|_| CachePorts::resolve(&engine)).transpose()?,
            engine,
            tables,
            operand_cycles,
        })
    }

    fn set_issue(&mut self, way: usize, issue: &Option<Issue>) {
        let (engine, ports) = (&mut self.engine, &self.common.ways[way]);
        engine.set(ports.issue_valid, u64::from(issue.is_some()));
        let Some(issue) = issue else { return };
        engine.set(ports.issue_id, u64::from(issue.id));
        engine.set(ports.issue_unit, issue.unit as u64);
        engine.set(ports.issue_active, u64::from(issue.active));
        for (index, source) in issue.sources.iter().enumerate() {
            engine.set(ports.source_valid[index], u64::from(source.is_some()));
            if let Some(source) = source {
                engine.set(ports.source_register[index], u64::from(source.row));
            }
        }
        let Some(cache) = &self.cache else { return };
        engine.set(cache.issue_slot, issue.slot as u64);
        for (index, source) in issue.sources.iter().enumerate() {
            if let Some(source) = source {
                engine.set(cache.source_last_read[index], u64::from(source.last_read));
                engine.set(cache.source_idle[index], u64::from(source.idle));
            }
        }
    }

    fn set_writes(&mut self, inputs: &StorageInputs<'_>) {
        for (way, result) in self.common.ways.iter().zip(&inputs.result) {
            set_write(&mut self.engine, &way.result, result);
        }
        set_write(&mut self.engine, &self.common.fill, &inputs.fill);
        let Some(cache) = &self.cache else { return };
        if let Some(write) = &inputs.result[0] {
            self.engine.set(cache.result_slot, write.slot.unwrap_or_default() as u64);
            self.engine.set(cache.result_cached, u64::from(write.cached));
            self.engine.set(cache.result_idle, u64::from(write.idle));
        }
        if let Some(write) = &inputs.fill {
            self.engine.set(cache.fill_slot, write.slot.unwrap_or_default() as u64);
            self.engine.set(cache.fill_slot_valid, u64::from(write.slot.is_some()));
        }
    }

    fn set_flush(&mut self, flush: Option<Flush>) {
        let Some(cache) = &self.cache else { return };
        self.engine.set(cache.flush_valid, u64::from(flush.is_some()));
        if let Some(flush) = flush {
            self.engine.set(cache.flush_slot, flush.slot as u64);
            self.engine.set(cache.flush_discard, u64::from(flush.discard));
        }
    }

    fn get(&self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) {
        let engine = &self.engine;
        let one = |port| engine.get(port) == 1;
        for (index, ports) in self.common.ways.iter().enumerate() {
            outputs.issue_taken[index] = inputs.issue[index].is_some() && one(ports.issue_ready);
            outputs.result_taken[index] = inputs.result[index].is_some() && one(ports.result.ready);
            outputs.dispatch[index] = one(ports.dispatch_valid).then(|| engine.get(ports.dispatch_id) as u16);
            outputs.delivered[index] =
                one(ports.operands_valid).then(|| engine.get(ports.operands_id) as u16);
            if outputs.delivered[index].is_some() {
                for (operand, &port) in outputs.operands[index].iter_mut().zip(&ports.operands) {
                    copy_lanes(engine.get_words(port), operand);
                }
            }
        }
        outputs.fill_taken = inputs.fill.is_some() && one(self.common.fill.ready);
        outputs.busy_slots = self.cache.as_ref().map_or(0, |cache| engine.get(cache.slot_busy));
    }
}

impl<E: Engine> OperandStorage for RegisterFileCircuit<E> {
    fn operand_cycles(&self) -> u64 {
        self.operand_cycles
    }

    fn dispatches(&self) -> usize {
        self.common.ways.len()
    }

    fn start_kernel(&mut self, _program: &Program) -> Result<(), SimError> {
        Ok(())
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        u64::from(program.registers_per_thread)
    }

    fn start_warp(&mut self, _warp: WarpSlot, _first_row: u32, _block: BlockIndex) {}

    fn held_warps(&self) -> u64 {
        0
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        for way in 0..self.common.ways.len() {
            self.set_issue(way, &inputs.issue[way]);
        }
        self.set_writes(inputs);
        self.set_flush(inputs.flush);
        self.engine.set(self.common.unit_ready, u64::from(inputs.ready_units));
        self.engine.step();
        self.get(inputs, outputs);
        Ok(())
    }

    fn end_warp(&mut self, _warp: WarpSlot) {}

    fn mrf(&self) -> Accesses {
        accesses(&self.engine, self.tables.mrf)
    }

    fn rfc(&self) -> Accesses {
        self.tables.rfc.map_or(Accesses::default(), |name| accesses(&self.engine, name))
    }

    fn activity(&self) -> Vec<PortActivity> {
        activity(&self.engine)
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        Some(&self.engine)
    }
}

impl CommonPorts {
    /// Groups of a circuit with several ways are numbered: `issue0`, `issue1`.
    fn resolve(engine: &dyn Engine, issues: usize) -> Result<CommonPorts, EngineError> {
        let number = |way: usize| if issues > 1 { way.to_string() } else { String::new() };
        let ways = (0..issues.min(MAX_ISSUES)).map(|way| IssueWay::resolve(engine, &number(way)));
        Ok(CommonPorts {
            ways: ways.collect::<Result<_, _>>()?,
            unit_ready: engine.input("unit_ready_i")?,
            fill: WritePorts::resolve(engine, "fill")?,
        })
    }
}

impl IssueWay {
    fn resolve(engine: &dyn Engine, number: &str) -> Result<IssueWay, EngineError> {
        let issue = Group::new(engine, &format!("issue{number}"));
        let dispatch = Group::new(engine, &format!("dispatch{number}"));
        let operands = Group::new(engine, &format!("operands{number}"));
        Ok(IssueWay {
            issue_valid: issue.input("valid_i")?,
            issue_ready: issue.output("ready_o")?,
            issue_id: issue.input("id_i")?,
            issue_unit: issue.input("unit_i")?,
            issue_active: issue.input("active_i")?,
            source_valid: per_source(|k| issue.input(&format!("source{k}_valid_i")))?,
            source_register: per_source(|k| issue.input(&format!("source{k}_register_i")))?,
            dispatch_valid: dispatch.output("valid_o")?,
            dispatch_id: dispatch.output("id_o")?,
            operands_valid: operands.output("valid_o")?,
            operands_id: operands.output("id_o")?,
            operands: per_source(|k| operands.output(&format!("source{k}_o")))?,
            result: WritePorts::resolve(engine, &format!("result{number}"))?,
        })
    }
}

impl WritePorts {
    fn resolve(engine: &dyn Engine, name: &str) -> Result<WritePorts, EngineError> {
        let group = Group::new(engine, name);
        Ok(WritePorts {
            valid: group.input("valid_i")?,
            ready: group.output("ready_o")?,
            register: group.input("register_i")?,
            lanes: group.input("lanes_i")?,
            value: group.input("value_i")?,
        })
    }
}

impl CachePorts {
    fn resolve(engine: &dyn Engine) -> Result<CachePorts, EngineError> {
        let issue = Group::new(engine, "issue");
        let result = Group::new(engine, "result");
        let fill = Group::new(engine, "fill");
        let flush = Group::new(engine, "flush");
        Ok(CachePorts {
            issue_slot: issue.input("slot_i")?,
            source_last_read: per_source(|k| issue.input(&format!("source{k}_last_read_i")))?,
            source_idle: per_source(|k| issue.input(&format!("source{k}_idle_i")))?,
            result_slot: result.input("slot_i")?,
            result_cached: result.input("cached_i")?,
            result_idle: result.input("idle_i")?,
            fill_slot: fill.input("slot_i")?,
            fill_slot_valid: fill.input("slot_valid_i")?,
            flush_valid: flush.input("valid_i")?,
            flush_slot: flush.input("slot_i")?,
            flush_discard: flush.input("discard_i")?,
            slot_busy: engine.output("slot_busy_o")?,
        })
    }
}

fn per_source<P>(resolve: impl Fn(usize) -> Result<P, EngineError>) -> Result<[P; MAX_SOURCES], EngineError> {
    Ok([resolve(0)?, resolve(1)?, resolve(2)?])
}

fn set_write(engine: &mut impl Engine, ports: &WritePorts, write: &Option<Write<'_>>) {
    engine.set(ports.valid, u64::from(write.is_some()));
    if let Some(write) = write {
        engine.set(ports.register, u64::from(write.row));
        engine.set(ports.lanes, u64::from(write.lanes));
        engine.set_words(ports.value, &words(write.values));
    }
}
