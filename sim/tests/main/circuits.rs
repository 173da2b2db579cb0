//! The harness around a circuit: the smallest register file that keeps the contract of `docs/sm-pipeline.md`,
//! an in-order pipeline of two stages over one table with three read ports.

use serde::{Deserialize, Serialize};
use warpfile_engine::waveform::Vcd;
use warpfile_engine::{AnyEngine, CircuitPorts, Engine, Options, PortsOf};
use warpfile_hdl::regfile::{ExtraRead, Geometry};
use warpfile_hdl::rfc::{CachedRegisterFile, Replacement};
use warpfile_hdl::rtl::{Circuit, Documented, Field, In, Module, Out, Ports, Record, Signal, elaborate};
use warpfile_kernels::program::{Launches, Operation};
use warpfile_sim::config::{Config, SingleLevelPolicy};
use warpfile_sim::mechanisms::register_file::{CommonPorts, IssuePorts, RegisterFile, WritePorts};
use warpfile_sim::mechanisms::rfc::CachedStorage;
use warpfile_sim::mechanisms::single_level::SingleLevel;
use warpfile_sim::sm::design::{ID_BITS, PartitionDesign, Unit};
use warpfile_sim::sm::{RunOptions, RunReport, SimError, Waveform, run_design};

use crate::kernels::{Kernel, Sequence, shared};
use crate::stand_ins::{design, gebhart, run_with_access};

/// Register file that reads all operands in one cycle, two cycles after issue.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
pub struct SmallRegisterFile {
    /// Warp-wide registers, 513 to 1024: their number has ten bits.
    pub rows: usize,
}

#[derive(Clone, Ports)]
#[params(SmallRegisterFile)]
pub struct Io<'m> {
    pub issue: IssueIo<'m>,
    #[bits(Unit::COUNT)]
    pub unit_ready_i: In<'m>,
    pub dispatch: DispatchIo<'m>,
    pub operands: OperandsIo<'m>,
    pub result: WriteIo<'m>,
    pub fill: WriteIo<'m>,
}

#[derive(Clone, Ports)]
#[params(SmallRegisterFile)]
pub struct IssueIo<'m> {
    pub valid_i: In<'m>,
    pub ready_o: Out<'m>,
    #[bits(ID_BITS)]
    pub id_i: In<'m>,
    #[bits(3)]
    pub unit_i: In<'m>,
    #[bits(32)]
    pub active_i: In<'m>,
    #[repeat(3)]
    pub source: Vec<SourceIo<'m>>,
}

#[derive(Clone, Ports)]
#[params(SmallRegisterFile)]
pub struct SourceIo<'m> {
    pub valid_i: In<'m>,
    #[bits(10)]
    pub register_i: In<'m>,
}

#[derive(Clone, Ports)]
#[params(SmallRegisterFile)]
pub struct DispatchIo<'m> {
    pub valid_o: Out<'m>,
    #[bits(ID_BITS)]
    pub id_o: Out<'m>,
}

#[derive(Clone, Ports)]
#[params(SmallRegisterFile)]
pub struct OperandsIo<'m> {
    pub valid_o: Out<'m>,
    #[bits(ID_BITS)]
    pub id_o: Out<'m>,
    #[repeat(3)]
    #[bits(1024)]
    pub source_o: Vec<Out<'m>>,
}

#[derive(Clone, Ports)]
#[params(SmallRegisterFile)]
pub struct WriteIo<'m> {
    pub valid_i: In<'m>,
    pub ready_o: Out<'m>,
    #[bits(10)]
    pub register_i: In<'m>,
    #[bits(32)]
    pub lanes_i: In<'m>,
    #[bits(1024)]
    pub value_i: In<'m>,
}

/// A row: the register of a warp.
#[derive(Clone, Copy, Record)]
struct WarpRegister<T = Field> {
    #[bits(1024)]
    #[lanes(32)]
    #[lanes_per_array(4)]
    value: T,
}

impl Circuit for SmallRegisterFile {
    type Io<'m> = Io<'m>;
    const NAME: &'static str = "small_register_file";

    fn build<'m>(&self, m: &Module<'m>, io: &Io<'m>) {
        let rows = m.table::<WarpRegister>("registers", self.rows, &());
        let issue = &io.issue;

        let unit = m.wire("unit", 3);
        let last_valid = m.wire("last_valid", 1);
        let moves = (!last_valid | (io.unit_ready_i >> unit).bit(0)).named("moves");
        issue.ready_o.set(moves);

        // Two stages of what an instruction is; every stage moves or none.
        let stage = |name: &str, value: Signal<'m>| {
            let first = m.register(format!("{name}_first"), value.width()).no_reset();
            let second = m.register(format!("{name}_second"), value.width()).no_reset();
            m.when(moves, || {
                first.set(value);
                second.set(first);
            });
            (first, second)
        };
        let first_valid = m.register("first_valid", 1).reset(0);
        let second_valid = m.register("second_valid", 1).reset(0);
        m.when(moves, || {
            first_valid.set(issue.valid_i);
            second_valid.set(first_valid);
        });
        last_valid.set(second_valid);
        let (_, id) = stage("id", issue.id_i);
        unit.set(stage("unit", issue.unit_i).1);
        let (_, active) = stage("active", issue.active_i);

        let dispatch = moves & second_valid;
        io.dispatch.valid_o.set(dispatch);
        io.dispatch.id_o.set(id).valid_when(io.dispatch.valid_o);

        let delivered = m.register("delivered", 1).reset(0);
        delivered.set(dispatch);
        let delivered_id = m.register("delivered_id", ID_BITS).no_reset();
        m.when(dispatch, || {
            delivered_id.set(id);
        });
        io.operands.valid_o.set(delivered);
        io.operands.id_o.set(delivered_id).valid_when(io.operands.valid_o);

        let writes = [("result", &io.result), ("fill", &io.fill)];
        // A write waits while an earlier instruction has still to read the register.
        let mut read_later = writes.map(|_| m.lit(1, 0));
        for (index, (source, output)) in issue.source.iter().zip(&io.operands.source_o).enumerate() {
            let (first_reads, reads) = stage(&format!("source{index}_valid"), source.valid_i);
            let (first_register, register) = stage(&format!("source{index}_register"), source.register_i);
            let value = rows.read_clocked(format!("source{index}"), register, dispatch & reads).lanes(active);
            output.set(value.value).valid_when(io.operands.valid_o);
            for (later, (_, write)) in read_later.iter_mut().zip(&writes) {
                *later = *later
                    | (first_valid & first_reads & first_register.eq(write.register_i))
                    | (second_valid & reads & register.eq(write.register_i));
            }
        }
        for ((name, write), later) in writes.into_iter().zip(read_later) {
            write.ready_o.set(!later);
            m.when(write.valid_i & !later, || {
                let row = WarpRegister { value: write.value_i };
                rows.write(name, write.register_i, row).lanes(write.lanes_i);
            });
        }
    }
}

fn run(kernel: Kernel, options: RunOptions<'_>) -> Result<RunReport, SimError> {
    run_circuit(&mut Sequence::from(kernel), options)
}

/// Runs with a [`SmallRegisterFile`] and loose round-robin scheduling.
pub fn run_circuit(launches: &mut dyn Launches, options: RunOptions<'_>) -> Result<RunReport, SimError> {
    run_circuit_of(&gebhart(), launches, options)
}

/// As [`run_circuit`], under a configuration.
pub fn run_circuit_of(
    config: &Config,
    launches: &mut dyn Launches,
    options: RunOptions<'_>,
) -> Result<RunReport, SimError> {
    let circuit = SmallRegisterFile { rows: 1024 };
    let netlist = elaborate(&circuit).expect("sound");
    let design = design(config, || {
        let engine = AnyEngine::interpreter(&netlist, &Options::default()).expect("sound");
        let ports = common(&engine.ports(&circuit).expect("its own ports"));
        let storage = RegisterFile::new(engine, ports, 3);
        let scheduler = SingleLevel::new(SingleLevelPolicy::Lrr);
        PartitionDesign { storage: Box::new(storage), schedulers: vec![Box::new(scheduler)] }
    });
    run_design(config, design, launches, options)
}

/// The ports of the contract among those of the circuit.
fn common(ports: &CircuitPorts<SmallRegisterFile>) -> CommonPorts {
    let (issue, dispatch, operands) = (&ports.issue, &ports.dispatch, &ports.operands);
    let write = |write: &PortsOf<WriteIo<'static>>| WritePorts {
        valid: write.valid_i,
        ready: write.ready_o,
        register: write.register_i,
        lanes: write.lanes_i,
        value: write.value_i,
    };
    let issue = IssuePorts {
        issue_valid: issue.valid_i,
        issue_ready: issue.ready_o,
        issue_id: issue.id_i,
        issue_unit: issue.unit_i,
        issue_active: issue.active_i,
        source_valid: std::array::from_fn(|k| issue.source[k].valid_i),
        source_register: std::array::from_fn(|k| issue.source[k].register_i),
        dispatch_valid: dispatch.valid_o,
        dispatch_id: dispatch.id_o,
        operands_valid: operands.valid_o,
        operands_id: operands.id_o,
        operands: std::array::from_fn(|k| operands.source_o[k]),
        result: write(&ports.result),
    };
    CommonPorts { issues: vec![issue], unit_ready: ports.unit_ready_i, fill: write(&ports.fill) }
}

/// Every kind of instruction, divergence, several blocks.
fn varied() -> Kernel {
    let kernel = (0..6).fold(Kernel::new().warps(5, 7), |kernel, step| {
        kernel
            .alu(1, &[1, 2, 3])
            .load(2, 1)
            .op(Operation::Load(shared(4)), &[4, 5], &[1])
            .alu(3, &[4, 5])
            .lanes(0x1 << step | 0xf0)
            .op(Operation::Sfu, &[6], &[3])
            .store(6, 2)
            .op(Operation::Branch, &[], &[])
            .op(Operation::Barrier, &[], &[])
    });
    kernel.exit()
}

#[test]
fn a_circuit_in_the_harness_delivers_every_operand() {
    let report = run(varied(), RunOptions::default()).expect("every operand right");
    assert_eq!(report.warp_instructions, 35 * 49);
    assert!(report.operands_checked > 35 * 6 * 8, "{}", report.operands_checked);
    assert_eq!(report.mrf(), report.operands, "each operand is one access of the table");
    assert_eq!(report.mrf_reads_avoided_percent(), Some(0.0));
    assert!(report.activity.iter().any(|port| port.port == "registers.source0" && port.cycles > 0));
}

#[test]
fn the_circuit_has_the_timing_of_the_ideal_register_file() {
    for kernel in [Kernel::new().alus(20, 1, &[1]), Kernel::new().alus(20, 1, &[1]).warps(1, 8)] {
        let (ideal, _) = run_with_access(&gebhart(), 3, kernel.clone()).expect("runs");
        assert_eq!(run(kernel, RunOptions::default()).expect("runs").cycles, ideal.cycles);
    }
}

#[test]
fn a_wrong_bit_behind_a_circuit_is_found() {
    let mut kernel = varied();
    kernel.corrupt = Some((4, 3, 3, 1, 5));
    let error = run(kernel, RunOptions::default()).expect_err("corrupted").to_string();
    assert!(error.contains("block 4, warp 3, instruction 0x18") && error.contains("R5, lane 5"), "{error}");
}

#[test]
fn the_waveform_covers_the_scope_and_cycles_asked_for() {
    let mut output = Vec::new();
    let waveform = Waveform {
        format: Box::new(Vcd::new(&mut output)),
        scope: Some("register_file".to_owned()),
        cycles: Some(10..20),
    };
    run(varied(), RunOptions { waveform: Some(waveform), ..RunOptions::default() }).expect("runs");
    let text = String::from_utf8(output).expect("text");
    assert!(text.contains("$scope module register_file") && text.contains("issue_valid_i"), "{text}");
    assert!(text.contains("\n#100\n") && !text.contains("\n#90\n") && !text.contains("\n#210\n"));

    let mut output = Vec::new();
    let waveform = Waveform {
        format: Box::new(Vcd::new(&mut output)),
        scope: Some("registers".to_owned()),
        cycles: None,
    };
    let error = run(varied(), RunOptions { waveform: Some(waveform), ..RunOptions::default() })
        .expect_err("no scope");
    assert!(error.to_string().contains("no scope `registers`"), "{error}");
}

/// It shows what it has read last, also of operands that are none and of rows that were never written.
#[test]
fn a_circuit_that_shows_what_has_no_reset_is_found_by_other_seeds() {
    let error = run(varied(), RunOptions { check_seeds: 2, ..RunOptions::default() }).expect_err("it shows");
    let SimError::MissingReset { circuit, missing, .. } = &error else { panic!("{error}") };
    assert_eq!(circuit, "register_file");
    assert!(missing.output.starts_with("operands_source"), "{error}");
}

#[test]
fn a_circuit_without_the_ports_is_refused_by_the_name_of_the_port() {
    let netlist = elaborate(&SmallRegisterFile { rows: 1024 }).expect("sound");
    let engine = AnyEngine::interpreter(&netlist, &Options::default()).expect("sound");
    let cached = CachedRegisterFile {
        geometry: Geometry::GEBHART_2011,
        collectors: 8,
        access_cycles: 3,
        id_bits: ID_BITS,
        units: Unit::COUNT,
        slots: 8,
        entries: 6,
        replacement: Replacement::Fifo,
        allocate_sources: false,
        liveness: true,
        bypass_idle: false,
        evict_idle_first: false,
        issues: 1,
        gated: false,
        shared: false,
        extra_read: ExtraRead::None,
    };
    let Err(error) = CachedStorage::new(engine, &cached) else { panic!("it is no cache") };
    assert!(error.to_string().contains("issue_slot_i"), "{error}");
}

#[test]
fn progress_is_reported_and_ends_with_the_whole_run() {
    let mut seen = Vec::new();
    let mut callback = |progress| seen.push(progress);
    let options = RunOptions { progress: Some(&mut callback), ..RunOptions::default() };
    let report = run(varied(), options).expect("runs");
    let last = seen.last().expect("at least one");
    assert_eq!((last.cycles, last.warp_instructions), (report.cycles, report.warp_instructions));
    assert_eq!((last.blocks_ended, last.blocks), (5, 5));
    assert!(seen.len() as u64 > report.cycles / 2048);
}
