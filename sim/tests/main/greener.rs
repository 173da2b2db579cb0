//! Registers that sleep: `greener`, `greener-comp-opt`, `sleep-reg`.

use warpfile_kernels::compile::greener::{Codes, Liveness, PowerState, PowerStates};
use warpfile_kernels::program::Program;
use warpfile_random::slice;
use warpfile_sim::config::{Config, preset, preset_with};
use warpfile_sim::energy::structure::{PowerGating, RowCycles};
use warpfile_sim::mechanisms::greener::{self, Parameters, Power};
use warpfile_sim::mechanisms::regless::{self, staging};
use warpfile_sim::mechanisms::wir::{self, Counted};
use warpfile_sim::mechanisms::{Build, Info, Mechanism, Notes, Part, Pass, Registry, Role};
use warpfile_sim::sm::design::{Layer, RowStates};
use warpfile_sim::sm::{Compared, EngineName, RunOptions, RunReport, SimError, run};

use crate::tiny::{drawn, open, run_checked, run_tiny};

const DESIGNS: [&str; 3] = ["greener", "greener-comp-opt", "sleep-reg"];

fn design(name: &str) -> Config {
    preset("k20x-greener").expect("complete").with_design(name).expect("known")
}

fn power(report: &RunReport) -> Power {
    report.counters.get(greener::COUNTERS)
}

fn with(name: &str, edit: impl FnOnce(&mut Parameters)) -> Config {
    let mut config = design(name);
    config.edit(edit);
    config
}

/// Short ones: loads and stores, barriers, shared memory, lanes that part.
const WORKLOADS: [&str; 7] = ["vectoradd", "hotspot", "bfs", "pathfinder", "hybridsort", "dwt2d", "lud"];

/// The run ends if a row is accessed that is not ON, or a lane is read that an OFF has destroyed.
#[test]
fn no_workload_reads_what_is_off_or_asleep() {
    for (workload, name) in drawn(&DESIGNS) {
        let report = run_tiny(&design(name), workload, RunOptions::default());
        let Power { on, sleep, off, lost_lanes, .. } = power(&report);
        assert_eq!(on + sleep + off, 2048 * report.cycles, "{workload} on {name}");
        assert_eq!(lost_lanes, 0, "{workload} on {name}");
    }
}

#[test]
fn what_is_executed_does_not_depend_on_states_of_registers() {
    for name in WORKLOADS {
        let baseline = run_tiny(&design("baseline"), name, RunOptions::default());
        for design_name in DESIGNS {
            let report = run_tiny(&design(design_name), name, RunOptions::default());
            assert_eq!(report.operands_checked, baseline.operands_checked, "{name} on {design_name}");
            assert_eq!(report.operands, baseline.operands, "{name} on {design_name}");
            assert!(power(&report).sleep > 0 && power(&report).off > 0, "{name} on {design_name}");
        }
    }
}

#[test]
fn neither_seed_nor_engine_changes_a_figure() {
    for name in ["vectoradd", "pathfinder"] {
        for design_name in ["greener", "regless+greener"] {
            let run = |seed, engine| {
                let options = RunOptions { seed, engine, ..RunOptions::default() };
                run_tiny(&design(design_name), name, options)
            };
            let first = run(0, EngineName::Compiled);
            assert_eq!(run(7, EngineName::Compiled), first, "{name} on {design_name}");
            assert_eq!(run(0, EngineName::Interpreter), first, "{name} on {design_name}");
        }
    }
}

#[test]
fn sleep_reg_switches_nothing_off_before_a_warp_ends() {
    let of = |name| power(&run_tiny(&design(name), "hotspot", RunOptions::default()));
    let (sleep_reg, greener) = (of("sleep-reg"), of("greener-comp-opt"));
    assert!(greener.on_to_off > 0);
    assert!(sleep_reg.sleep_to_on > greener.sleep_to_on, "{sleep_reg:?} {greener:?}");
    assert!(sleep_reg.on_to_sleep > greener.on_to_sleep, "{sleep_reg:?} {greener:?}");
}

#[test]
fn the_lookup_table_keeps_rows_on_that_are_about_to_be_accessed() {
    let of = |name| power(&run_tiny(&with(name, |p| p.threshold = 1), "hotspot", RunOptions::default()));
    let (with, without) = (of("greener"), of("greener-comp-opt"));
    assert!(with.kept_on > 0 && without.kept_on == 0);
    assert!(
        with.sleep_to_on + with.off_to_on < without.sleep_to_on + without.off_to_on,
        "{with:?} {without:?}"
    );
}

/// Thresholds, latencies, a limit on the rush current and tables of any size; the run ends if a row is not as it must be.
#[test]
fn parameters_change_times_and_not_values() {
    for name in ["bfs", "lud"] {
        let checked = run_tiny(&design("greener"), name, RunOptions::default()).operands_checked;
        let mut cells = Vec::new();
        for (threshold, sleep_latency, off_latency, rush_limit, lookup_entries) in
            [(1, 1, 1, 1, 1), (2, 4, 8, 0, 8), (7, 16, 1, 2, 3), (21, 2, 16, 8, 2)]
        {
            for design_name in DESIGNS {
                let config = with(design_name, |p| {
                    *p = Parameters {
                        threshold,
                        sleep_latency,
                        off_latency,
                        rush_limit,
                        lookup_entries,
                        ..p.clone()
                    };
                });
                let staged = config.with_design(&format!("regless+{design_name}")).expect("known");
                cells.extend([(threshold, staged), (threshold, config)]);
            }
        }
        for (threshold, config) in slice(4, cells) {
            let report = run_tiny(&config, name, RunOptions::default());
            assert_eq!(report.operands_checked, checked, "{name} on {}, {threshold}", config.design);
        }
    }
}

/// Storages with a level in front of the main register file.
const IN_FRONT: [&str; 5] = ["rfc", "rfh", "rc", "rsp", "hybrid"];

#[test]
fn other_storages_and_schedulers_can_carry_it() {
    let others = [
        "two-level+greener",
        "two-level+sleep-reg",
        "rfc+greener-comp-opt",
        "reuse+greener",
        "regless+greener",
        "regless+greener-comp-opt",
    ];
    let in_front = IN_FRONT.map(|storage| format!("{storage}+greener"));
    let stacks = in_front.iter().map(String::as_str).chain(others);
    let names = ["vectoradd", "hotspot", "bfs", "pathfinder", "lud"];
    // One for each of them.
    for (stack, name) in slice(5, stacks.flat_map(|stack| names.map(|name| (stack, name)))) {
        let config = design("greener").with_design(stack).expect("known");
        let report = run_tiny(&config, name, RunOptions::default());
        assert_eq!(power(&report).lost_lanes, 0, "{name} on {stack}");
    }
}

/// Sleep-Reg wakes a row up for each access: with a level in front as often as the main register file is accessed, and not as
/// often as operands are. A few rows are woken for a register that then does not leave its cache, because an entry has
/// become free.
#[test]
fn only_accesses_to_the_main_register_file_wake_rows() {
    for storage in IN_FRONT {
        let config = design("greener").with_design(&format!("{storage}+sleep-reg")).expect("known");
        for name in ["hotspot", "pathfinder", "lud"] {
            let report = run_tiny(&config, name, RunOptions::default());
            let Power { sleep_to_on, off_to_on, .. } = power(&report);
            let (woken, accesses) = (sleep_to_on + off_to_on, report.mrf().reads + report.mrf().writes);
            let operands = report.operands.reads + report.operands.writes;
            let message =
                format!("{name} on {storage}: {woken} for {accesses} accesses, {operands} operands");
            assert!(woken > 0 && woken <= accesses + accesses / 20, "{message}");
            assert!(woken < operands, "{message}");
        }
    }
}

/// On the lines of RegLess one is woken at most for each access to its value, but for a few that are given up. A line that is no
/// register's is OFF.
#[test]
fn lines_wake_up_for_accesses_to_their_values() {
    for name in ["hotspot", "pathfinder", "lud", "bfs"] {
        let alone =
            run_tiny(&design("greener").with_design("regless").expect("known"), name, RunOptions::default());
        for layer in ["sleep-reg", "greener"] {
            let config = design("greener").with_design(&format!("regless+{layer}")).expect("known");
            let report = run_tiny(&config, name, RunOptions::default());
            assert_eq!(report.operands_checked, alone.operands_checked, "{name}");
            let Power { on, sleep, off, sleep_to_on, off_to_on, on_to_off, sleep_to_off, .. } =
                power(&report);
            let (woken, values) = (sleep_to_on + off_to_on, staging(&report).values);
            let message = format!("{name}, {layer}: {woken} woken, {values:?}");
            assert!(woken > 0 && woken <= values.reads + values.writes + values.writes / 20, "{message}");
            let lines = config.of::<regless::Parameters>().lines;
            assert_eq!(on + sleep + off, lines * report.cycles, "{message}");
            // Each line that has come from OFF goes there again, but for those that the last warps leave behind; lines are
            // given to one register after another.
            let switched_off = on_to_off + sleep_to_off;
            assert!(switched_off <= off_to_on && off_to_on - switched_off <= lines, "{message}");
            assert!(off_to_on > 2 * lines && off > 0, "{message}");
        }
    }
}

#[test]
fn what_cannot_carry_it_says_so() {
    for (stack, reason) in [
        ("rfv+sleep-reg", "sleep-reg does not go with rfv"),
        ("greener+sleep-reg", "greener and sleep-reg both put rows to sleep; nearest: greener"),
        ("sleep-reg+greener-comp-opt", "sleep-reg and greener-comp-opt both put rows to sleep"),
    ] {
        let config = design("greener").with_design(stack);
        let refused = config.and_then(|config| config.validate()).expect_err(stack).to_string();
        assert!(refused.contains(reason), "{stack}: {refused}");
    }
}

/// Eight banks read in one cycle what one issue a cycle asks for, more than the circuit is told of.
#[test]
fn lines_sleep_on_machines_of_one_issue() {
    for name in ["sgemm", "hotspot", "lud", "mri-q"] {
        for layer in DESIGNS {
            let mut config = design(&format!("regless+{layer}"));
            config.sm.issues_per_scheduler = 1;
            run_tiny(&config, name, RunOptions::default());
        }
    }
}

/// A supply that fails: all rows lose their values in the first cycles of each period.
struct Fails {
    period: u64,
    rows: usize,
}

struct FailingRows {
    cycle: u64,
    period: u64,
    on: Vec<u64>,
    none: Vec<u64>,
}

impl Layer for FailingRows {
    fn rows(&mut self, _partition: usize) -> Option<RowStates<'_>> {
        self.cycle += 1;
        let lost = if self.cycle % self.period < 4 { &self.on } else { &self.none };
        Some(RowStates { on: &self.on, lost })
    }
}

impl Mechanism for Fails {
    fn info(&self) -> Info {
        Info { name: "fails", summary: "rows lose their values", design: None, preset: "k20x-greener" }
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn power_gating(&self, _: &Config) -> Option<PowerGating> {
        Some(PowerGating {
            rows: |_| RowCycles::default(),
            off_leakage: 0.0,
            sleep_transition_pj: 0.0,
            off_transition_pj: 0.0,
            control: None,
        })
    }

    fn build(&self, _: &Build<'_>) -> Result<Part, SimError> {
        let (period, words) = (self.period, self.rows / 64);
        let layer = FailingRows { cycle: 0, period, on: vec![u64::MAX; words], none: vec![0; words] };
        Ok(Part::Layer(Box::new(layer)))
    }
}

/// Values of lines are lost in the memories that operands are read from.
#[test]
fn a_line_that_loses_its_value_ends_the_run() {
    // 8 banks of 16 lines.
    let registry = Registry::shipped().with(&[&Fails { period: 100, rows: 128 }]);
    let config = preset_with(&registry, "k20x-greener").expect("complete");
    let config = config.with_design("regless+fails").expect("known");
    let error = run(&config, &mut open("hotspot"), RunOptions::default()).expect_err("an operand is wrong");
    assert!(matches!(error, SimError::WrongOperand(_)), "{error}");
}

/// The thesis's liveness is a thread's: lanes that wait elsewhere lose values, which is counted.
#[test]
fn the_thesis_liveness_counts_what_hardware_would_lose() {
    let lost = |liveness| {
        let config = with("greener", |p| p.liveness = liveness);
        let of = |name: &&str| power(&run_tiny(&config, name, RunOptions::default())).lost_lanes;
        WORKLOADS.iter().map(of).sum::<u64>()
    };
    assert_eq!(lost(Liveness::Sound), 0);
    assert!(lost(Liveness::Thesis) > 0);
}

/// A compiler that is wrong: every register is dead behind every access. Its notes come before those of the real one.
struct AllOff;

struct NoLayer;

impl Layer for NoLayer {}

impl Mechanism for AllOff {
    fn info(&self) -> Info {
        Info { name: "all-off", summary: "every register is dead", design: None, preset: "k20x-greener" }
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn pass(&self) -> Pass {
        Pass::Notes
    }

    fn compile(&self, _: &Config, program: &Program, notes: &mut Notes) -> Result<Option<Program>, SimError> {
        let codes = Codes {
            codes: [PowerState::Off; 3],
            sources: [Some(1), Some(2), None],
            results: [Some(0), None, None, None],
        };
        notes.leave(PowerStates { instructions: vec![codes; program.instructions.len()] });
        Ok(None)
    }

    fn build(&self, _: &Build<'_>) -> Result<Part, SimError> {
        Ok(Part::Layer(Box::new(NoLayer)))
    }
}

fn all_off(stack: &str, liveness: Liveness) -> Result<RunReport, SimError> {
    let registry = Registry::shipped().with(&[&AllOff]);
    let config = preset_with(&registry, "k20x-greener").expect("complete");
    let mut config = config.with_design(stack).expect("known");
    config.edit::<Parameters>(|p| p.liveness = liveness);
    run(&config, &mut open("vectoradd"), RunOptions::default())
}

/// The oracle finds it by the value: what a row without supply has lost is another, by as much as each loss adds.
#[test]
fn a_register_that_is_switched_off_too_early_ends_the_run() {
    const LOSS: u32 = 0x9e37_79b9;
    for stack in ["all-off+greener-comp-opt", "all-off+rfc+greener-comp-opt", "all-off+rfh+greener-comp-opt"]
    {
        let error = all_off(stack, Liveness::Sound).expect_err(stack);
        let SimError::WrongOperand(wrong) = error else { panic!("{stack}: {error}") };
        assert_eq!(wrong.compared, Compared::Operand, "{stack}");
        let difference = wrong.found.wrapping_sub(wrong.expected);
        let losses = (1..100u32).find(|losses| losses.wrapping_mul(LOSS) == difference);
        assert!(losses.is_some(), "{stack}: {wrong}");
    }
}

/// The same states with values that survive: nothing is wrong, and the lanes that would be are counted.
#[test]
fn a_register_that_is_switched_off_too_early_is_counted_where_values_survive() {
    let report = all_off("all-off+greener-comp-opt", Liveness::Thesis).expect("values survive");
    assert!(power(&report).lost_lanes > 0);
}

/// Warp instruction reuse on the machine of its paper: its physical registers are the rows, which registers share.
fn reusing(stack: &str) -> Config {
    let mut config = preset("fermi-wir").expect("complete").with_design(stack).expect("known");
    // One workload has more registers than the paper's machine gives a thread.
    config.edit::<wir::Parameters>(|p| p.logical_registers = 128);
    config
}

/// A physical register's row is OFF as long as nothing refers to it, but for the cycles in which it goes OFF or wakes up.
fn assert_off_is_free(report: &RunReport, message: &str) {
    let Power { on, sleep, off, off_to_on, on_to_off, sleep_to_off, lost_lanes, .. } = power(report);
    let Counted { allocations, register_cycles, .. } = report.counters.get(wir::COUNTERS);
    let all = 1024 * report.cycles;
    assert_eq!((on + sleep + off, lost_lanes), (all, 0), "{message}");
    let switched_off = on_to_off + sleep_to_off;
    assert!(switched_off <= off_to_on && off_to_on <= allocations, "{message}");
    let free = all - register_cycles;
    assert!(off.abs_diff(free) <= allocations, "{message}: {off} OFF, {free} free, {allocations} given");
}

#[test]
fn rows_that_registers_share_sleep_and_no_operand_is_wrong() {
    let stacks = ["wir-rlpv+greener", "wir-rlpvc+greener", "wir-rlpv+sleep-reg"];
    for (name, stack) in drawn(&stacks) {
        let alone = run_tiny(&reusing("wir-rlpv"), name, RunOptions::default());
        assert_eq!(alone.counters.get::<Counted>(wir::COUNTERS).row_waits, 0, "{name}");
        let report = run_tiny(&reusing(stack), name, RunOptions::default());
        let message = format!("{name} on {stack}");
        assert_eq!(report.warp_instructions, alone.warp_instructions, "{message}");
        assert_eq!(report.operands, alone.operands, "{message}");
        let Counted { row_waits, hits, .. } = report.counters.get(wir::COUNTERS);
        assert_eq!(report.results_checked, hits, "{message}");
        assert!(power(&report).sleep > 0 && row_waits > 0, "{message}");
        assert_off_is_free(&report, &message);
    }
}

/// A compiler that says of every register that it is dead: as long as a warp or a buffer names a row, it sleeps.
#[test]
fn a_row_that_a_buffer_names_is_not_switched_off() {
    let registry = Registry::shipped().with(&[&AllOff]);
    let config = preset_with(&registry, "fermi-wir").expect("complete");
    let config = config.with_design("all-off+wir-rlpv+greener-comp-opt").expect("known");
    for name in ["hotspot", "lud", "pathfinder"] {
        let report = run_checked(name, |launches| run(&config, launches, RunOptions::default()));
        assert!(report.answered_instructions > 0, "{name}");
        assert_off_is_free(&report, name);
        let sleeps =
            run_tiny(&config.with_design("wir-rlpv+sleep-reg").expect("known"), name, RunOptions::default());
        assert_eq!((power(&report), report.cycles), (power(&sleeps), sleeps.cycles), "{name}");
    }
}

/// What WIR answers with and compares results with is lost with the rows: of supplies that fail at any time some show there first,
/// others in an operand.
#[test]
fn a_physical_register_that_loses_its_value_ends_the_run() {
    let (mut operands, mut held) = (0, 0);
    for period in (200..1000).step_by(25) {
        let fails: &'static Fails = Box::leak(Box::new(Fails { period, rows: 1024 }));
        let registry = Registry::shipped().with(&[fails]);
        let config = preset_with(&registry, "fermi-wir").expect("complete");
        let config = config.with_design("wir-rlpv+fails").expect("known");
        match run(&config, &mut open("sobel"), RunOptions::default()).expect_err("a value is wrong") {
            SimError::WrongOperand(wrong) if wrong.compared == Compared::Operand => operands += 1,
            SimError::WrongOperand(_) | SimError::Circuit { .. } => held += 1,
            error => panic!("{error}"),
        }
    }
    assert!(operands > 0 && held > 0, "{operands} operands, {held} held");
}

#[test]
fn shared_rows_sleep_whatever_the_parameters_are() {
    let mut cells = Vec::new();
    for (sleep_latency, off_latency, rush_limit, lookup_entries) in
        [(1, 1, 1, 1), (4, 8, 0, 8), (16, 1, 2, 3)]
    {
        for (stack, rows) in
            [("wir-rlpv+greener", 128), ("greener+wir-r", 128), ("wir-rlpvc+greener-comp-opt", 40)]
        {
            let mut config = reusing(stack);
            config.register_file.rows = rows;
            config.edit::<Parameters>(|p| {
                *p = Parameters { sleep_latency, off_latency, rush_limit, lookup_entries, ..p.clone() };
            });
            cells.extend(["bfs", "lud"].map(|name| (config.clone(), name)));
        }
    }
    for (config, name) in slice(3, cells) {
        run_tiny(&config, name, RunOptions::default());
    }
}
