//! Registers held as base and stride: `affine`, `affine-rlpv`.

use std::collections::BTreeSet;
use std::path::Path;

use warpfile_kernels::program::{Instruction, LANES, LaneMask, LaneValues, PhysReg, WarpInstruction};
use warpfile_kernels::workloads::OpenWorkload;
use warpfile_sim::config::{Config, preset, preset_with};
use warpfile_sim::counters;
use warpfile_sim::counters::Counts;
use warpfile_sim::energy::structure::ArrayAccesses;
use warpfile_sim::energy::{EnergyModel, MeasuredRun};
use warpfile_sim::mechanisms::affine::{COUNTERS, Counted};
use warpfile_sim::mechanisms::register_file::REGISTERS;
use warpfile_sim::mechanisms::wir::{self, Parameters};
use warpfile_sim::mechanisms::{Build, Compiled, Info, Mechanism, Part, Registry, Role};
use warpfile_sim::sm::design::{Layer, WarpPlace, WarpRows};
use warpfile_sim::sm::{EngineName, RunOptions, RunReport, SimError, run};

use crate::tiny::{drawn, run_tiny};

fn design(name: &str) -> Config {
    preset("fermi-wir").expect("complete").with_design(name).expect("known")
}

fn counted(report: &RunReport) -> Counted {
    report.counters.get(COUNTERS)
}

/// What counts itself cannot contradict.
fn check_counts(report: &RunReport, what: &str) {
    let mrf = report.mrf();
    let Counted {
        reads,
        reads_spared,
        writes,
        writes_spared,
        expanded,
        expansion_writes,
        executed,
        one_lane,
        lanes_spared,
    } = counted(report);
    assert!(reads <= mrf.reads && writes + expanded <= mrf.writes, "{what}");
    assert!(reads_spared <= 7 * reads && reads_spared <= mrf.cluster_reads, "{what}");
    assert_eq!(writes_spared, 7 * writes, "{what}");
    assert!(expansion_writes < 8 * expanded || expanded == 0, "{what}");
    assert!(one_lane.sp <= executed.sp && one_lane.sfu <= executed.sfu, "{what}");
    assert_eq!(one_lane.memory, 0, "{what}");
    // §VII-A: "as much as 1 FU lane" of 32.
    assert_eq!(lanes_spared.lanes(), 31 * (one_lane.sp + one_lane.sfu), "{what}");
    let worked = design("affine").design.operations(report);
    assert_eq!(worked.lanes() + lanes_spared.lanes(), report.operations.lanes(), "{what}");
}

/// Every operand is compared with the kernel's value, and results with the host's.
#[test]
fn workloads_take_the_cycles_of_the_design_without_tuples() {
    for (workload, (without, name)) in drawn(&[("baseline", "affine"), ("wir-rlpv", "affine-rlpv")]) {
        let of = |name| {
            let mut config = design(name);
            // One of them has more registers than the paper's machine gives a thread.
            config.edit(|p: &mut Parameters| p.logical_registers = 128);
            run_tiny(&config, workload, RunOptions::default())
        };
        let (plain, tuples) = (of(without), of(name));
        let what = format!("{workload} on {name}");
        assert_eq!(tuples.launch_cycles, plain.launch_cycles, "{what}");
        assert_eq!(tuples.mrf(), plain.mrf(), "{what}");
        assert_eq!(tuples.operands_checked, plain.operands_checked, "{what}");
        let reused = |report: &RunReport| report.counters.get::<wir::Counted>(wir::COUNTERS);
        assert_eq!(reused(&tuples), reused(&plain), "{what}");
        check_counts(&tuples, &what);
    }
}

counters! {
    /// What the layer below counts of tuples.
    pub struct Watched {
        /// Reads of tuples.
        reads: sum("registers"),
        /// Tuples written.
        writes: sum("registers"),
        /// Tuples written in part.
        expanded: sum("registers"),
        /// Entries of four lanes read, one of a tuple, and one of a tuple that is expanded.
        entry_reads: sum("entries"),
        /// Entries of four lanes written, one of a tuple, and all with a tuple that is expanded.
        entry_writes: sum("entries"),
        /// Instructions with tuples as operands and result, and a name that says so.
        one_lane: sum("warp instructions"),
    }
}

/// A layer that looks at the kernel's values, and knows nothing of circuits.
struct Watcher;

#[derive(Default)]
struct WatcherLayer {
    /// Name, sources and results of each instruction.
    instructions: Vec<(String, Vec<PhysReg>, Vec<PhysReg>)>,
    /// Rows of each warp.
    rows: Vec<Vec<WarpRows>>,
    /// Partition and row of each tuple.
    tuples: BTreeSet<(usize, u32)>,
    counted: Watched,
}

impl Mechanism for Watcher {
    fn info(&self) -> Info {
        Info { name: "watcher", summary: "looks at values", design: None, preset: "fermi-wir" }
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let rows = vec![vec![WarpRows::default(); 64]; at.partitions()];
        Ok(Part::Layer(Box::new(WatcherLayer { rows, ..WatcherLayer::default() })))
    }
}

fn is_tuple(values: &LaneValues) -> bool {
    let stride = values[1].wrapping_sub(values[0]);
    (0..LANES as u32).all(|lane| values[lane as usize] == values[0].wrapping_add(lane.wrapping_mul(stride)))
}

/// Entries of four lanes that lanes are in.
fn entries(lanes: LaneMask) -> u64 {
    (0..LANES).step_by(4).filter(|first| lanes >> first & 0xf != 0).count() as u64
}

impl WatcherLayer {
    fn row(&self, at: WarpPlace, register: PhysReg) -> (usize, u32) {
        (at.partition, self.rows[at.partition][at.warp].row(u32::from(register.0)))
    }
}

impl Layer for WatcherLayer {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        let one = |one: &Instruction| {
            let sources = one.sources.iter().map(|source| source.register).collect();
            (one.text.clone(), sources, one.results.iter().map(|result| result.register).collect())
        };
        self.instructions = kernel.program.instructions.iter().map(one).collect();
        Ok(())
    }

    fn start_warp(&mut self, at: WarpPlace, rows: WarpRows, _block: u64) {
        self.rows[at.partition][at.warp] = rows;
    }

    /// No operand is pending any more, and none is written before it is read.
    fn issue(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        if instruction.active == 0 {
            return;
        }
        let (text, sources, results) = &self.instructions[instruction.inst.0 as usize];
        let reads = sources.iter().filter(|source| self.tuples.contains(&self.row(at, **source))).count();
        self.counted.reads += reads as u64;
        self.counted.entry_reads +=
            reads as u64 + (sources.len() - reads) as u64 * entries(instruction.active);
        let in_all_lanes = instruction.active == LaneMask::MAX && reads == sources.len();
        let is_simple =
            ["mov.u32", "add.s32", "sub.s32", "mul.lo.s32", "mad.lo.s32"].contains(&text.as_str());
        let makes_one = results.len() == 1 && is_tuple(&instruction.results[0]);
        self.counted.one_lane += u64::from(in_all_lanes && is_simple && makes_one);
    }

    fn written(&mut self, at: WarpPlace, instruction: &WarpInstruction, result: usize) {
        let register = self.instructions[instruction.inst.0 as usize].2[result];
        let row = self.row(at, register);
        let is_whole = instruction.active == LaneMask::MAX;
        if is_whole && is_tuple(&instruction.results[result]) {
            self.counted.writes += 1;
            self.counted.entry_writes += 1;
            self.tuples.insert(row);
        } else if self.tuples.remove(&row) && !is_whole {
            self.counted.expanded += 1;
            self.counted.entry_reads += 1;
            self.counted.entry_writes += 8;
        } else {
            self.counted.entry_writes += entries(instruction.active);
        }
    }

    fn count(&self, into: &mut Counts) {
        into.add("watched", &self.counted);
    }
}

/// Accesses to the banks that energy is charged for.
fn bank_accesses(config: &Config, report: &RunReport) -> ArrayAccesses {
    let structures = config.design.structures(config);
    let banks = structures.iter().find(|structure| structure.name == REGISTERS).expect("there are banks");
    (banks.accesses)(report)
}

/// Workloads with integers alone, loops, lanes that part, warps that are not full, and several registers a load.
const WATCHED: [&str; 8] =
    ["vectoradd", "hotspot", "bfs", "pathfinder", "lud", "sgemm", "nw", "blackscholes"];

#[test]
fn tuples_are_those_of_the_kernels_values() {
    let registry = Registry::shipped().with(&[&Watcher]);
    let mut all = Watched::default();
    for (schedulers_per_partition, issues) in [(2, 1), (1, 1), (1, 2)] {
        for workload in WATCHED {
            let mut config = preset_with(&registry, "fermi-wir").expect("complete");
            config = config.with_design("affine+watcher").expect("a stack");
            config.sm.schedulers_per_partition = schedulers_per_partition;
            config.sm.issues_per_scheduler = issues;
            let report = run_tiny(&config, workload, RunOptions::default());
            let (found, expected) = (counted(&report), report.counters.get::<Watched>("watched"));
            let Watched { reads, writes, expanded, one_lane, entry_reads, entry_writes } = expected;
            assert_eq!([found.reads, found.writes, found.expanded], [reads, writes, expanded], "{workload}");
            let accesses = bank_accesses(&config, &report);
            assert_eq!(
                [accesses.slice_reads, accesses.slice_writes],
                [entry_reads, entry_writes],
                "{workload}"
            );
            assert!(found.one_lane.sp + found.one_lane.sfu >= one_lane, "{workload}");
            check_counts(&report, workload);
            (all.reads, all.writes) = (all.reads + reads, all.writes + writes);
            (all.expanded, all.one_lane) = (all.expanded + expanded, all.one_lane + one_lane);
        }
    }
    let Watched { reads, writes, expanded, one_lane, .. } = all;
    assert!([reads, writes, expanded, one_lane].iter().all(|count| *count > 0), "{all:?}");
}

/// A warp, counted by hand: the parameter is known at launch and in no register.
#[test]
fn instructions_for_one_lane_are_those_of_the_paper() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/strides.ptx");
    let mut open = OpenWorkload::from_ptx(&path, "tiny").unwrap_or_else(|error| panic!("{error}"));
    let report = run(&design("affine"), &mut open, RunOptions::default()).expect("it runs");
    let Counted { reads, reads_spared, writes, writes_spared, expanded, expansion_writes, one_lane, .. } =
        counted(&report);
    // mov, add, sub; mul, mad and the low word of the wide product are the special function units'.
    assert_eq!((one_lane.sp, one_lane.sfu, one_lane.memory), (3, 3, 0));
    // These, the wide product's high word, and both words of the sum of 64 bits, whose carry is one bit a lane.
    assert_eq!((writes, writes_spared), (9, 7 * 9));
    // 18 in all lanes, and one in seven, which are in two entries of which one is read.
    assert_eq!((reads, reads_spared), (19, 18 * 7 + 1));
    assert_eq!((expanded, expansion_writes), (1, 6));
}

/// §VII-A: an eighth of a bank access. Nothing else of the register file changes.
#[test]
fn tuples_save_energy_in_the_banks() {
    for (without, name) in [("baseline", "affine"), ("wir-rlpv", "affine-rlpv")] {
        for workload in ["vectoradd", "pathfinder"] {
            let of = |name| {
                let config = design(name);
                let report = run_tiny(&config, workload, RunOptions::default());
                let model = EnergyModel::named(&config.energy.technology).expect("known");
                let banks = bank_accesses(&config, &report);
                let run = MeasuredRun { config: &config, report: &report };
                (banks, model.registers(run).expect("priced").total_pj())
            };
            let ((banks, all_pj), (tuples, tuples_pj)) = (of(without), of(name));
            assert!(tuples.slice_reads < banks.slice_reads, "{workload} on {name}");
            assert!(tuples.slice_writes < banks.slice_writes, "{workload} on {name}");
            assert!(8 * tuples.slice_reads > banks.slice_reads, "{workload} on {name}");
            assert!(tuples_pj < all_pj, "{workload} on {name}: {tuples_pj} of {all_pj}");
        }
    }
}

#[test]
fn neither_seed_nor_engine_changes_a_figure() {
    for name in ["affine", "affine-rlpv"] {
        let of = |seed, engine| {
            let options = RunOptions { seed, engine, ..RunOptions::default() };
            run_tiny(&design(name), "pathfinder", options)
        };
        let first = of(0, EngineName::Compiled);
        assert_eq!(of(7, EngineName::Compiled), first);
        assert_eq!(of(0, EngineName::Interpreter), first);
    }
}

#[test]
fn a_design_of_two_mechanisms_has_one_name() {
    let names = |text: &str| {
        let config = design(text);
        let of: Vec<&str> = config.design.mechanisms().map(|mechanism| mechanism.info().name).collect();
        (config.design.to_string(), of, config.design.preset())
    };
    let both =
        ("affine-rlpv".to_owned(), vec!["single-level", "banked", "affine", "wir-rlpv"], Some("fermi-wir"));
    assert_eq!(names("affine-rlpv"), both);
    assert_eq!(names("affine+wir-rlpv"), both);
    assert_eq!(names("banked+affine").0, "affine");
    assert_eq!(names("affine+wir-r").0, "single-level+banked+affine+wir-r");
}

#[test]
fn what_does_not_go_with_tuples_says_so() {
    let refused = |text: &str| {
        let config = preset("fermi-wir").expect("complete").with_design(text);
        config.and_then(|config| config.validate()).expect_err(text).to_string()
    };
    let error = refused("wir-rlpv+affine");
    assert!(
        error.contains("affine knows rows, which wir-rlpv gives away; nearest: affine+wir-rlpv"),
        "{error}"
    );
    let error = refused("rfc+affine");
    assert!(error.contains("affine does not go with rfc: it follows the rows of banked"), "{error}");
    let error = refused("affine+greener");
    assert!(error.contains("affine does not go with greener"), "{error}");
    let error = refused("affine-rlpv+affine");
    assert!(error.contains("affine and affine do the same job"), "{error}");
    let mut config = design("affine");
    config.register_file.rows = 1024;
    let error = config.validate().expect_err("too many").to_string();
    assert!(error.contains("at most 4096 registers for each register file, there are 8192"), "{error}");
}
