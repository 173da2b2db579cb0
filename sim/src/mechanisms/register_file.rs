//! A register file as operand storage: what every mechanism with a main register file has in common.

use warpfile_engine::{AnyEngine, Engine, EngineError, InPort, OutPort, State};
use warpfile_hdl::regfile::Geometry;
use warpfile_kernels::program::{BlockIndex, MAX_SOURCES, Program};

use super::Compiled;
use super::circuit::{Group, accesses, activity, copy_lanes, numbered, per_source, words};
use crate::config::Config;
use crate::counters::{Counts, Row, Shown};
use crate::energy::grid::Ports;
use crate::energy::structure::{ArrayAccesses, Published, Structure, Wire};
use crate::sm::design::{Issue, OperandStorage, StorageInputs, StorageOutputs, WarpSlot, Write};
use crate::sm::{Accesses, MRF, PortActivity, RunReport, SimError};

/// Instructions that a scheduler issues a cycle at most.
pub fn issues(config: &Config) -> usize {
    config.sm.issues_per_scheduler as usize
}

/// Lanes of a warp and of a cluster (Gebhart et al., ISCA 2011, §2.1).
pub const LANES: usize = Geometry::GEBHART_2011.lanes;
/// Register access cycles (Gebhart et al., ISCA 2011, Fig. 3).
pub const ACCESS_CYCLES: usize = 3;
/// Name of the table that holds registers in a bank of the main register file.
pub const MRF_TABLE: &str = "registers";

/// The main register file of a scheduler.
pub fn geometry(config: &Config) -> Geometry {
    Geometry {
        banks: config.register_file.bank_groups as usize,
        rows: config.register_file.rows as usize,
        lanes: LANES,
        lanes_per_cluster: Geometry::GEBHART_2011.lanes_per_cluster,
    }
}

/// The arrays of main register files of `rows` warp-wide registers a bank group, of all schedulers.
pub fn structure(config: &Config, rows: u64) -> Structure {
    Structure {
        wire: Wire::FromMainRegisterFile,
        published: Some(Published::MainRegisterFile),
        // A bank reads or writes once a cycle, as in every design it is compared with (decision 38).
        ..Structure::of_warp_registers(
            "registers",
            (config.sm.schedulers * config.register_file.bank_groups) as u32,
            rows as u32,
            Ports::SINGLE,
            |report: &RunReport| ArrayAccesses::of(report.mrf()),
        )
    }
}

/// The rows of a report that show accesses to the main register file.
pub fn rows() -> Vec<Row> {
    [
        ("MRF reads", Shown::Count("mrf.reads")),
        ("MRF writes", Shown::Count("mrf.writes")),
        ("MRF reads avoided", Shown::PercentLess("mrf.reads", "operands.reads")),
        ("MRF writes avoided", Shown::PercentLess("mrf.writes", "operands.writes")),
    ]
    .map(|(label, shown)| Row { label, shown })
    .into()
}

/// A register file with the common ports.
pub struct RegisterFile {
    /// The circuit.
    pub engine: AnyEngine,
    operand_cycles: u64,
    /// One for each instruction that is issued a cycle.
    issues: Vec<IssuePorts>,
    unit_ready: InPort,
    fill: WritePorts,
}

/// The ports of one instruction a cycle: in at issue, out at dispatch, and back with its result.
struct IssuePorts {
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

impl RegisterFile {
    /// A circuit that takes `issues` instructions a cycle and delivers operands `operand_cycles` after the
    /// scheduler's pick at the earliest. Its groups are numbered if there are several: `issue0`, `issue1`.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(engine: AnyEngine, issues: usize, operand_cycles: usize) -> Result<RegisterFile, EngineError> {
        Ok(RegisterFile {
            issues: numbered(issues, |number| IssuePorts::resolve(&engine, number))?,
            unit_ready: engine.input("unit_ready_i")?,
            fill: WritePorts::resolve(&engine, "fill")?,
            engine,
            operand_cycles: operand_cycles as u64,
        })
    }

    /// Sets the common inputs.
    pub fn set(&mut self, inputs: &StorageInputs<'_>) {
        let engine = self.engine.state_mut();
        for (ports, (issue, result)) in self.issues.iter().zip(inputs.issue.iter().zip(&inputs.result)) {
            ports.set_issue(engine, issue);
            ports.result.set(engine, result);
        }
        self.fill.set(engine, &inputs.fill);
        engine.set(self.unit_ready, u64::from(inputs.ready_units));
    }

    /// Runs the cycle and gets the common outputs.
    pub fn step(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) {
        self.engine.step();
        let engine = self.engine.state();
        let one = |port| engine.get(port) == 1;
        for (index, ports) in self.issues.iter().enumerate() {
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
        outputs.fill_taken = inputs.fill.is_some() && one(self.fill.ready);
    }

    /// Accesses to the tables of a name.
    pub fn accesses(&self, table: &str) -> Accesses {
        accesses(&self.engine, table)
    }
}

impl OperandStorage for RegisterFile {
    fn operand_cycles(&self) -> u64 {
        self.operand_cycles
    }

    fn dispatches(&self) -> usize {
        self.issues.len()
    }

    fn start_kernel(&mut self, _kernel: &Compiled<'_>) -> Result<(), SimError> {
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
        self.set(inputs);
        self.step(inputs, outputs);
        Ok(())
    }

    fn end_warp(&mut self, _warp: WarpSlot) {}

    fn count(&self, into: &mut Counts) {
        into.add(MRF, &self.accesses(MRF_TABLE));
    }

    fn activity(&self) -> Vec<PortActivity> {
        activity(&self.engine)
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        Some(&self.engine)
    }
}

impl IssuePorts {
    fn resolve(engine: &dyn Engine, number: &str) -> Result<IssuePorts, EngineError> {
        let issue = Group::new(engine, &format!("issue{number}"));
        let dispatch = Group::new(engine, &format!("dispatch{number}"));
        let operands = Group::new(engine, &format!("operands{number}"));
        Ok(IssuePorts {
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

    fn set_issue(&self, engine: &mut State, issue: &Option<Issue>) {
        engine.set(self.issue_valid, u64::from(issue.is_some()));
        let Some(issue) = issue else { return };
        engine.set(self.issue_id, u64::from(issue.id));
        engine.set(self.issue_unit, issue.unit as u64);
        engine.set(self.issue_active, u64::from(issue.active));
        for (index, source) in issue.sources.iter().enumerate() {
            engine.set(self.source_valid[index], u64::from(source.is_some()));
            if let Some(row) = source {
                engine.set(self.source_register[index], u64::from(*row));
            }
        }
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

    fn set(&self, engine: &mut State, write: &Option<Write<'_>>) {
        engine.set(self.valid, u64::from(write.is_some()));
        if let Some(write) = write {
            engine.set(self.register, u64::from(write.row));
            engine.set(self.lanes, u64::from(write.lanes));
            engine.set_words(self.value, &words(write.values));
        }
    }
}
