//! A register file as operand storage: what every mechanism with a main register file has in common.

use std::collections::BTreeMap;

use warpfile_engine::{AnyEngine, Engine, InPort, OutPort, PortsOf, RowPort, State};
use warpfile_hdl::regfile::{ExtraReadIo, Geometry, RegisterBank, RowPowerIo};
use warpfile_hdl::rtl::Circuit as _;
use warpfile_kernels::program::{BlockIndex, MAX_SOURCES, Program};

use super::Compiled;
use super::circuit::{accesses, activity, copy_lanes, words};
use crate::config::Config;
use crate::counters;
use crate::counters::{Counts, Row, Shown};
use crate::energy::grid::Ports;
use crate::energy::structure::{Account, ArrayAccesses, Published, Structure, Wire};
use crate::sm::design::{
    Issue, MAX_ISSUES, OperandStorage, RowAccess, RowAccessKind, RowStates, StorageInputs, StorageOutputs,
    WarpRows, WarpSlot, Write,
};
use crate::sm::{Accesses, MRF, PortActivity, RunReport, SimError};

/// Instructions that the schedulers of a partition issue a cycle at most.
pub fn issues(config: &Config) -> usize {
    config.issues_per_partition() as usize
}

/// Lanes of a warp and of a cluster (Gebhart et al., ISCA 2011, §2.1).
pub const LANES: usize = Geometry::GEBHART_2011.lanes;
/// Register access cycles (Gebhart et al., ISCA 2011, Fig. 3).
pub const ACCESS_CYCLES: usize = 3;
/// Name of the table that holds registers in a bank of the main register file.
pub const MRF_TABLE: &str = "registers";

/// The main register file of a partition.
pub fn geometry(config: &Config) -> Geometry {
    Geometry {
        banks: config.register_file.bank_groups as usize,
        rows: config.register_file.rows as usize,
        lanes: LANES,
        lanes_per_cluster: Geometry::GEBHART_2011.lanes_per_cluster,
    }
}

/// Whether a mechanism of the design gates the supply of the rows that hold registers.
pub fn is_gated(config: &Config) -> bool {
    config.design.mechanisms().any(|mechanism| mechanism.power_gating(config).is_some())
}

/// Ports of a circuit in front of a main register file whose rows may be without power.
pub type RowPowerPorts = PortsOf<RowPowerIo<'static>>;

/// Ports of a circuit that reads a row beside the operands of instructions.
pub type ExtraReadPorts = PortsOf<ExtraReadIo<'static>>;

/// Which rows a circuit may access in the cycle that comes; none to be told if its rows are never without power.
pub fn set_rows_on(engine: &mut AnyEngine, ports: &[RowPowerPorts], rows: Option<RowStates<'_>>) {
    if let (Some(ports), Some(rows)) = (ports.first(), rows) {
        engine.state_mut().set_words(ports.on_i, rows.on);
    }
}

/// The rows that a circuit has asked for in the cycle just run, or written.
pub fn say_rows(engine: &AnyEngine, ports: &[RowPowerPorts], rows: &mut Vec<RowAccess>) {
    let Some(ports) = ports.first() else { return };
    let engine = engine.state();
    let written = ports.written_o.first().map_or(0, |&port| engine.get(port));
    let reads = ports.read.iter().map(|port| (port, RowAccessKind::Reads));
    let writes = ports.write.iter().enumerate().map(|(index, port)| {
        let is_written = written >> index & 1 == 1;
        (port, if is_written { RowAccessKind::Written } else { RowAccessKind::AskedFor })
    });
    for (port, kind) in reads.chain(writes).filter(|(port, _)| engine.get(port.valid_o) == 1) {
        let (row, lanes) = (engine.get(port.register_o) as u32, engine.get(port.lanes_o) as u32);
        rows.push(RowAccess { row, of: None, lanes, kind });
    }
}

/// The arrays of main register files of `rows` warp-wide registers a bank group, of all partitions.
pub fn structure(config: &Config, rows: u64) -> Structure {
    Structure {
        wire: Wire::FromMainRegisterFile,
        published: Some(Published::MainRegisterFile),
        sleeping_rows: Some(RegisterBank::NAME),
        // A bank reads and writes in one cycle, as its circuit does and as in Gebhart et al., ISCA 2011, §4.3.
        ..Structure::of_warp_registers(
            REGISTERS,
            (config.partitions() * config.register_file.bank_groups) as u32,
            rows as u32,
            Ports::DUAL,
            |report: &RunReport| ArrayAccesses::of(report.mrf()),
        )
    }
}

/// Name of the group of counters of accesses that were put off.
pub const RETRIES: &str = "bank_retries";

counters! {
    /// Accesses to banks that were put off, once for each cycle.
    pub struct Retries {
        /// Reads of operands: others read the bank, or an older instruction the operand of that place.
        reads: sum("reads"),
        /// Reads beside operands.
        extra_reads: sum("reads"),
        /// Writes: another writes the bank, or the register has still to be read.
        writes: sum("writes"),
    }
}

/// Name of the arrays of the main register file.
pub const REGISTERS: &str = "registers";
/// Name of the arrays that buffer operands.
pub const COLLECTORS: &str = "operand collectors";
/// Bits of an operand collector beside its operands, as it is mapped: 25,901 flip-flops less 8 × 3 × 1024 in eight collectors
/// (docs/area.md).
const COLLECTOR_STATE_BITS: u32 = 166;

/// The arrays of a main register file of `rows` warp-wide registers a bank group, and its operand collectors, which hold
/// what is read from it until the instruction leaves.
pub fn structures(config: &Config, rows: u64) -> Vec<Structure> {
    let groups = (config.partitions() * config.issues_per_partition()) as u32;
    let (positions, collectors) = (MAX_SOURCES as u32, config.register_file.collectors as u32);
    let operands = Structure {
        account: Account::Control,
        ..Structure::of_warp_registers(COLLECTORS, groups * positions, collectors, Ports::DUAL, |report| {
            buffered(report.mrf().cluster_reads)
        })
    };
    let state = Structure::table(
        "state of operand collectors",
        Account::Control,
        (groups, collectors, COLLECTOR_STATE_BITS),
        // What a design answers has no operands to collect.
        |report| ArrayAccesses::queued(report.warp_instructions - report.answered_instructions),
    );
    vec![structure(config, rows), operands.of_flip_flops(), state]
}

/// Slices that are written into a buffer and read from it.
pub fn buffered(slices: u64) -> ArrayAccesses {
    ArrayAccesses { slice_reads: slices, slice_writes: slices, ..ArrayAccesses::default() }
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
    ports: CommonPorts,
    /// Units that take two instructions a cycle; `None` if it dispatches one to each.
    pub units_for_two: Option<InPort>,
    /// Of rows beside operands, and whether each was read in the cycle before.
    pub extra_reads: Vec<ExtraReadPorts>,
    have_read_extra: [bool; MAX_ISSUES],
    /// `None` if they are not counted.
    retries: Option<WatchedBanks>,
    /// The rows of the main register file, bank after bank.
    rows: Vec<RowPort>,
}

/// What shows that accesses to banks are put off.
struct WatchedBanks {
    /// Operands that have still to be read, one bit for each collector; by position, and of every group of collectors.
    wanted: Vec<OutPort>,
    retries: Retries,
}

impl WatchedBanks {
    fn new(engine: &AnyEngine) -> WatchedBanks {
        let is_wanted = |name: &str| name.starts_with("operand") && name.ends_with("_valid_q");
        let signals = engine.signals().iter();
        let wanted = signals.filter(|signal| signal.is_state && is_wanted(&signal.name));
        WatchedBanks { wanted: wanted.map(|signal| signal.value).collect(), retries: Retries::default() }
    }

    /// Follows a cycle.
    fn follow(&mut self, engine: &State, inputs: &StorageInputs<'_>, outputs: &StorageOutputs) {
        let waiting = self.wanted.iter().map(|&port| u64::from(engine.get(port).count_ones()));
        let offered = inputs.result.iter().map(Option::is_some).zip(outputs.result_taken);
        let writes = offered.chain([(inputs.fill.is_some(), outputs.fill_taken)]);
        self.retries.reads += waiting.sum::<u64>();
        let extra = inputs.extra_reads.iter().zip(&outputs.extra_reads_taken);
        self.retries.extra_reads +=
            extra.filter(|(wanted, taken)| wanted.is_some() && !**taken).count() as u64;
        self.retries.writes += writes.filter(|(offered, taken)| *offered && !taken).count() as u64;
    }
}

/// What a lane that has lost its value is off by; an odd number, so that it takes 2^32 times to come back.
const SPOIL: u32 = 0x9e37_79b9;

/// What a lane becomes that has lost its value.
pub fn spoiled(lane: u32) -> u32 {
    lane.wrapping_add(SPOIL)
}

/// The rows of a circuit's banks, bank after bank: of their tables `name`, which hold registers.
pub fn rows_of_banks(engine: &AnyEngine, name: &str) -> Vec<RowPort> {
    let plan = engine.state().plan();
    let tables = engine.activity().ports.into_iter().map(|port| port.table);
    let banks: BTreeMap<usize, String> =
        tables.filter_map(|table| Some((bank(&table, name)?, table))).collect();
    let rows = |table: &String| (0..).map_while(|row| plan.row(table, row, "value").ok()).collect::<Vec<_>>();
    banks.values().flat_map(rows).collect()
}

/// The number of the bank whose registers a table holds.
fn bank(table: &str, registers: &str) -> Option<usize> {
    let (bank, name) = table.rsplit_once('.')?;
    let bank = bank.rsplit('.').next()?.strip_prefix("bank")?;
    (name == registers).then(|| bank.parse().ok())?
}

/// Rows without supply lose their values: each lane gets another, whatever it has and however often. `rows`: bank after bank,
/// as the bits of `lost`.
pub fn spoil(engine: &mut AnyEngine, rows: &[RowPort], lost: &[u64]) {
    for (word, &lost) in lost.iter().enumerate() {
        let mut left = lost;
        while left != 0 {
            let row = rows[word * 64 + left.trailing_zeros() as usize];
            engine.change_row(row, |lanes| {
                for pair in lanes {
                    let [low, high] = [*pair as u32, (*pair >> 32) as u32].map(spoiled);
                    *pair = u64::from(low) | u64::from(high) << 32;
                }
            });
            left &= left - 1;
        }
    }
}

/// The ports that every register file has.
#[derive(Clone, Debug)]
pub struct CommonPorts {
    /// One for each instruction that is issued a cycle.
    pub issues: Vec<IssuePorts>,
    /// Units that can take an instruction.
    pub unit_ready: InPort,
    /// Results of long-latency operations.
    pub fill: WritePorts,
}

/// The ports of one instruction a cycle: in at issue, out at dispatch, and back with its result.
#[derive(Clone, Debug)]
pub struct IssuePorts {
    /// One is offered.
    pub issue_valid: InPort,
    /// It is taken.
    pub issue_ready: OutPort,
    /// Its identifier.
    pub issue_id: InPort,
    /// The unit that executes it.
    pub issue_unit: InPort,
    /// Lanes that execute it.
    pub issue_active: InPort,
    /// It has this source.
    pub source_valid: [InPort; MAX_SOURCES],
    /// Its register.
    pub source_register: [InPort; MAX_SOURCES],
    /// One is dispatched.
    pub dispatch_valid: OutPort,
    /// Its identifier.
    pub dispatch_id: OutPort,
    /// Operands are delivered.
    pub operands_valid: OutPort,
    /// The identifier of their instruction.
    pub operands_id: OutPort,
    /// The operands, 32 bits a lane.
    pub operands: [OutPort; MAX_SOURCES],
    /// Results of short operations.
    pub result: WritePorts,
}

/// Ports that take a register's new value.
#[derive(Clone, Debug)]
pub struct WritePorts {
    /// One is offered.
    pub valid: InPort,
    /// It is taken.
    pub ready: OutPort,
    /// The register.
    pub register: InPort,
    /// Lanes written.
    pub lanes: InPort,
    /// The value, 32 bits a lane.
    pub value: InPort,
}

/// [`IssuePorts`] of groups of ports that have, with others, the fields of every register file's.
macro_rules! issue_ports {
    ($issue:expr, $dispatch:expr, $operands:expr, $result:expr) => {
        $crate::mechanisms::register_file::IssuePorts {
            issue_valid: $issue.valid_i,
            issue_ready: $issue.ready_o,
            issue_id: $issue.id_i,
            issue_unit: $issue.unit_i,
            issue_active: $issue.active_i,
            source_valid: ::std::array::from_fn(|k| $issue.source[k].valid_i),
            source_register: ::std::array::from_fn(|k| $issue.source[k].register_i),
            dispatch_valid: $dispatch.valid_o,
            dispatch_id: $dispatch.id_o,
            operands_valid: $operands.valid_o,
            operands_id: $operands.id_o,
            operands: ::std::array::from_fn(|k| $operands.source_o[k]),
            result: $crate::mechanisms::register_file::write_ports!($result),
        }
    };
}
pub(crate) use issue_ports;

/// [`WritePorts`] of a group of ports that has, with others, the fields of every register file's.
macro_rules! write_ports {
    ($write:expr) => {
        $crate::mechanisms::register_file::WritePorts {
            valid: $write.valid_i,
            ready: $write.ready_o,
            register: $write.register_i,
            lanes: $write.lanes_i,
            value: $write.value_i,
        }
    };
}
pub(crate) use write_ports;

/// [`CommonPorts`] of the ports of a circuit that takes any number of instructions a cycle.
macro_rules! common_ports {
    ($ports:expr) => {
        $crate::mechanisms::register_file::CommonPorts {
            issues: (0..$ports.issue.len())
                .map(|index| {
                    $crate::mechanisms::register_file::issue_ports!(
                        $ports.issue[index],
                        $ports.dispatch[index],
                        $ports.operands[index],
                        $ports.result[index]
                    )
                })
                .collect(),
            unit_ready: $ports.unit_ready_i,
            fill: $crate::mechanisms::register_file::write_ports!($ports.fill),
        }
    };
}
pub(crate) use common_ports;

impl RegisterFile {
    /// A circuit that delivers operands `operand_cycles` after the scheduler's pick at the earliest.
    pub fn new(engine: AnyEngine, ports: CommonPorts, operand_cycles: usize) -> RegisterFile {
        let rows = rows_of_banks(&engine, MRF_TABLE);
        RegisterFile {
            ports,
            units_for_two: None,
            extra_reads: Vec::new(),
            have_read_extra: [false; MAX_ISSUES],
            operand_cycles: operand_cycles as u64,
            retries: None,
            rows,
            engine,
        }
    }

    /// Sets the common inputs.
    pub fn set(&mut self, inputs: &StorageInputs<'_>) {
        let engine = self.engine.state_mut();
        for (ports, (issue, result)) in self.ports.issues.iter().zip(inputs.issue.iter().zip(&inputs.result))
        {
            ports.set_issue(engine, issue);
            ports.result.set(engine, result);
        }
        self.ports.fill.set(engine, &inputs.fill);
        engine.set(self.ports.unit_ready, u64::from(inputs.ready_units));
        if let Some(port) = self.units_for_two {
            engine.set(port, u64::from(inputs.units_for_two));
        }
        for (ports, read) in self.extra_reads.iter().zip(&inputs.extra_reads) {
            engine.set(ports.valid_i, u64::from(read.is_some()));
            engine.set(ports.register_i, u64::from(read.unwrap_or_default()));
        }
    }

    /// Runs the cycle and gets the common outputs.
    pub fn step(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) {
        self.engine.step();
        let engine = self.engine.state();
        let one = |port| engine.get(port) == 1;
        for (index, ports) in self.ports.issues.iter().enumerate() {
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
        outputs.fill_taken = inputs.fill.is_some() && one(self.ports.fill.ready);
        for (number, ports) in self.extra_reads.iter().enumerate() {
            outputs.extra_values[number] = self.have_read_extra[number].then(|| {
                let mut value = [0; LANES];
                copy_lanes(engine.get_words(ports.value_o), &mut value);
                value
            });
            let taken = inputs.extra_reads[number].is_some() && one(ports.ready_o);
            outputs.extra_reads_taken[number] = taken;
            self.have_read_extra[number] = taken;
        }
        if let Some(watched) = &mut self.retries {
            watched.follow(self.engine.state(), inputs, outputs);
        }
        if let Some(rows) = inputs.rows {
            spoil(&mut self.engine, &self.rows, rows.lost);
        }
    }

    /// The same, counting accesses that are put off.
    pub fn counting_retries(self) -> RegisterFile {
        RegisterFile { retries: Some(WatchedBanks::new(&self.engine)), ..self }
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
        self.ports.issues.len()
    }

    fn start_kernel(&mut self, _kernel: &Compiled<'_>) -> Result<(), SimError> {
        Ok(())
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        u64::from(program.registers_per_thread)
    }

    fn start_warp(&mut self, _warp: WarpSlot, _rows: WarpRows, _block: BlockIndex) {}

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
        if let Some(watched) = &self.retries {
            into.add(RETRIES, &watched.retries);
        }
    }

    fn activity(&self) -> Vec<PortActivity> {
        activity(&self.engine)
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        Some(&self.engine)
    }
}

impl IssuePorts {
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
    fn set(&self, engine: &mut State, write: &Option<Write<'_>>) {
        engine.set(self.valid, u64::from(write.is_some()));
        if let Some(write) = write {
            engine.set(self.register, u64::from(write.row));
            engine.set(self.lanes, u64::from(write.lanes));
            engine.set_words(self.value, &words(write.values));
        }
    }
}
