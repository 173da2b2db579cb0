//! Every design in every SM: on every preset, with one to four schedulers that issue one or two instructions a cycle, and
//! with each kind of scheduler.

use warpfile_random::slice;
use warpfile_sim::config::{Config, MemoryModel, preset, preset_names};
use warpfile_sim::mechanisms::{Registry, Role, regless, rfv};
use warpfile_sim::sm::{RunOptions, RunReport};

use crate::tiny::run_tiny;

/// Straight code with loads and stores; lanes that part; barriers and shared memory.
const WORKLOADS: [&str; 3] = ["vectoradd", "hybridsort", "hotspot"];
const SCHEDULERS: [&str; 2] = ["single-level", "two-level"];
/// Warps of a scheduler: a block of the workloads is no larger.
const WARPS: u64 = 8;

/// A preset with so many schedulers of eight warps, each with the register file, cache or staging unit that a scheduler has
/// there.
fn sm(preset_name: &str, design: &str, schedulers: u64, issues: u64) -> Config {
    let mut config = preset(preset_name).expect("complete").with_design(design).expect("a stack");
    (config.sm.schedulers, config.sm.schedulers_per_partition) = (schedulers, 1);
    config.sm.issues_per_scheduler = issues;
    config.sm.warps = WARPS * schedulers;
    config.scheduler.active_warps = WARPS / 2;
    let registers = schedulers * config.register_file.bank_groups * config.register_file.rows / 2;
    config.edit(|rfv: &mut rfv::Parameters| rfv.registers = registers);
    config.edit(|regless: &mut regless::Parameters| {
        (regless.lines, regless.compressor_lines) = (128 * schedulers, 12 * schedulers);
    });
    if config.design.contains("regless") {
        // It keeps registers in caches behind one port.
        config.memory.model = MemoryModel::Caches;
        config.memory.single_l1_port = true;
    }
    config
}

/// Every storage, all presets; of one to four schedulers and one and two issues one pair is drawn for each. Workloads and kinds
/// of scheduler take turns, so that each can meet each number of schedulers and issues.
#[test]
fn every_storage_runs_on_every_preset() {
    let expected: Vec<RunReport> = WORKLOADS
        .map(|name| run_tiny(&sm("gebhart2011", "baseline", 1, 1), name, RunOptions::default()))
        .into();
    let registry = Registry::shipped();
    let storages = registry.all().filter(|mechanism| matches!(mechanism.role(), Role::Storage { .. }));
    let mut cells = Vec::new();
    for (turn, storage) in storages.enumerate() {
        let mut turn = turn;
        for (preset_name, schedulers) in
            preset_names().flat_map(|name| (1..=4).map(move |count| (name, count)))
        {
            for issues in [1, 2] {
                let design = format!("{}+{}", SCHEDULERS[turn / 2 % 2], storage.info().name);
                cells.push((design, preset_name, schedulers, issues, turn % WORKLOADS.len()));
                turn += 1;
            }
            turn += 1;
        }
    }
    for (design, preset_name, schedulers, issues, place) in slice(8, cells) {
        let (workload, expected) = (WORKLOADS[place], &expected[place]);
        let name = format!("{design}, {preset_name}, {schedulers} schedulers, {issues} issues, {workload}");
        println!("{name}");
        let report = run_tiny(&sm(preset_name, &design, schedulers, issues), workload, RunOptions::default());
        assert_eq!(report.operands_checked, expected.operands_checked, "{name}");
        assert_eq!(report.warp_instructions, expected.warp_instructions, "{name}");
    }
}
