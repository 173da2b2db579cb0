//! Energies against what is computed by hand from cacti_sram.csv, 28 nm.

use super::*;
use crate::config::preset;
use crate::mechanisms::regless::{Preloads, STAGING_COUNTERS, Staging};
use crate::mechanisms::rfh::{self, UpperLevels};
use crate::sm::{Accesses, MRF, RegisterLineStatistics, TableAccesses};

/// 64 entries of 128 bits, 1rw: read, write, pJ, and leakage, mW.
const BANK: (f64, f64, f64) = (1.1087, 1.6941, 0.330263);
/// 256 slices of the register file's 32 banks, mW.
const FILE_LEAKAGE: f64 = 256.0 * BANK.2;

fn model() -> GpuModel {
    GpuModel::gtx980().expect("complete")
}

fn config(design: &str) -> Config {
    preset("gtx980-regless").expect("complete").with_design(design).expect("known")
}

/// Accesses to slices of four lanes.
fn slices((cluster_reads, cluster_writes): (u64, u64)) -> Accesses {
    Accesses { cluster_reads, cluster_writes, ..Accesses::default() }
}

/// A run whose register file, or staging unit, has these accesses to slices of four lanes.
fn report(cycles: u64, mrf: (u64, u64), staged: (u64, u64)) -> RunReport {
    let mut report = RunReport { cycles, ..RunReport::default() };
    report.counters.add(MRF, &slices(mrf));
    report.counters.add(STAGING_COUNTERS, &Staging { values: slices(staged), ..Staging::default() });
    report
}

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} instead of {expected}");
}

#[test]
fn a_register_file_spends_its_accesses_and_its_leakage() {
    let (config, report) = (config("baseline"), report(100, (10, 5), (0, 0)));
    let energy = model().registers(MeasuredRun { config: &config, report: &report }).expect("there");
    assert_near(energy.access_pj, 10.0 * BANK.0 + 5.0 * BANK.1);
    assert_near(energy.leakage_pj, 100.0 * FILE_LEAKAGE);
    assert_near(energy.total_pj(), energy.access_pj + energy.leakage_pj);
}

#[test]
fn a_renamed_register_file_is_charged_for_its_registers_alone() {
    let (config, report) = (config("rfv"), report(100, (10, 5), (0, 0)));
    let model = model();
    let parts = model.parts(&config).expect("priced");
    let [(_, registers)] = parts.as_slice() else { panic!("one part: {parts:?}") };
    assert_eq!(registers.arrays * registers.entries, 1024);
    let energy = model.registers(MeasuredRun { config: &config, report: &report }).expect("there");
    let slice = |pj: f64| pj / 8.0;
    assert_near(energy.access_pj, 10.0 * slice(registers.read_pj) + 5.0 * slice(registers.write_pj));
    assert_near(energy.leakage_pj, 100.0 * registers.leakage_mw);
}

/// 8 slots a scheduler: last result files of 8 rows, cacti_sram_extrapolated.csv, 6r2w: 2.745 and 2.943 pJ, 0.3395 mW.
/// Operand register files of 24 rows, log2(24 / 16) of the way from the 16 rows there (2.796 and 3.222 pJ, 0.4377 mW) to
/// the 32 of cacti_sram.csv (2.89875 and 3.78083 pJ, 0.633946 mW).
#[test]
fn a_register_file_hierarchy_spends_what_each_of_its_levels_does() {
    let (config, mut report) = (config("rfh"), report(100, (10, 5), (0, 0)));
    report.counters.add(rfh::COUNTERS, &UpperLevels { lrf: slices((7, 3)), orf: slices((20, 9)) });
    let energy = model().registers(MeasuredRun { config: &config, report: &report }).expect("there");
    let orf = |few: f64, many: f64| few * (many / few).powf(1.5_f64.log2());
    let lrf_pj = 7.0 * 2.745 + 3.0 * 2.943;
    let orf_pj = 20.0 * orf(2.796, 2.89875) + 9.0 * orf(3.222, 3.78083);
    assert_near(energy.access_pj, 10.0 * BANK.0 + 5.0 * BANK.1 + lrf_pj + orf_pj);
    let slices = 4.0 * 8.0;
    assert_near(energy.leakage_pj, 100.0 * (FILE_LEAKAGE + slices * (0.3395 + orf(0.4377, 0.633946))));
    let single = model()
        .with_ports(Arrays::Named("last result files"), Ports::SINGLE)
        .with_ports(Arrays::Named("operand register files"), Ports::SINGLE);
    let energy = single.registers(MeasuredRun { config: &config, report: &report }).expect("there");
    assert_near(energy.leakage_pj, 100.0 * (FILE_LEAKAGE + slices * (0.0562 + orf(0.09535, 0.173653))));
}

#[test]
fn a_staging_unit_spends_what_each_of_its_parts_does() {
    let config = config("regless");
    let table = |reads, writes, searches| TableAccesses { reads, writes, searches };
    let mut report = report(100, (0, 0), (16, 8));
    let counted = Staging {
        tags: table(0, 3, 7),
        compressed_lines: table(2, 1, 0),
        compressed_tags: table(0, 1, 5),
        compressed_registers: table(4, 1, 0),
        preloads: Preloads { staged: 6, unwritten: 1, fetched: 2, ..Preloads::default() },
        ..Staging::default()
    };
    report.counters.add(STAGING_COUNTERS, &counted);
    report.memory.register_lines =
        RegisterLineStatistics { writes: 3, compressed_writes: 1, invalidations: 2, ..Default::default() };
    let model = model();
    let parts = model.parts(&config).expect("priced");
    let of_registers = parts.iter().filter(|(structure, _)| structure.account == Account::Registers);
    let of_registers: Vec<&Part> = of_registers.map(|(_, part)| part).collect();
    let [registers, tags, copies, lines, line_tags, compressed] = of_registers[..] else {
        panic!("six parts: {of_registers:?}");
    };
    let search = |part: &Part| part.search_pj.expect("searched");
    let expected = 2.0 * registers.read_pj
        + registers.write_pj
        + 7.0 * search(tags)
        + 3.0 * tags.write_pj
        + 9.0 * copies.read_pj
        // Two registers and one compressed one have gone to memory, two are dropped there.
        + 5.0 * copies.write_pj
        + 2.0 * lines.read_pj
        + lines.write_pj
        + 5.0 * search(line_tags)
        + line_tags.write_pj
        + 4.0 * compressed.read_pj
        + compressed.write_pj;
    let energy = model.registers(MeasuredRun { config: &config, report: &report }).expect("there");
    assert_near(energy.access_pj, expected);
    assert_near(energy.leakage_pj, 100.0 * of_registers.iter().map(|part| part.leakage_mw).sum::<f64>());
}

#[test]
fn the_baselines_registers_have_the_share_of_the_papers_bound() {
    let (config, report) = (config("baseline"), report(1000, (4000, 1000), (0, 0)));
    let run = MeasuredRun { config: &config, report: &report };
    let energy = model().gpu(run, run).expect("there");
    assert_near(energy.registers_pj / energy.total_pj(), 0.167);
    assert_eq!((energy.lines_pj, energy.metadata_pj), (0.0, 0.0));
    assert_near(model().rest_of_baseline_pj(run).expect("there") / energy.total_pj(), 1.0 - 0.167);
}

#[test]
fn half_of_the_rest_grows_with_the_run_time() {
    let (config, base) = (config("baseline"), report(1000, (4000, 1000), (0, 0)));
    let slow = report(1200, (4000, 1000), (0, 0));
    let run = |report| MeasuredRun { config: &config, report };
    let rest = |model: GpuModel, report| model.gpu(run(&base), run(report)).expect("there").rest_pj;
    assert_near(rest(model(), &slow) / rest(model(), &base), 1.1);
    assert_near(rest(model().with_rest_by_time(1.0), &slow) / rest(model(), &base), 1.2);
}

/// An L1 of 256 lines and 4 ways: 64 sets, tags of 128 bits a set; lines of eight 256 × 128. The L2's arrays have 1024
/// rows: 64 sets of 16 ways, four slices of tags. Tags of 32 bits: 0.367819 pJ a write. 102.4 pJ a millimetre.
#[test]
fn register_lines_cost_what_they_touch_in_each_level() {
    let mut config = config("regless");
    (config.l1.bytes, config.l1.ways) = (32768, 4);
    let cost = |lines| {
        let mut report = report(0, (0, 0), (0, 0));
        report.memory.register_lines = lines;
        model().lines_pj(MeasuredRun { config: &config, report: &report }).expect("there")
    };
    let none = RegisterLineStatistics::default();
    let l1 = |data: f64| BANK.0 + 8.0 * data;
    let (l1_read, l1_write) = (l1(1.57635), l1(4.10246) + 0.367819);
    let l2 = |data: f64| 4.0 * BANK.0 + 8.0 * data + 1024.0;
    assert_eq!(cost(none), 0.0);
    assert_near(cost(RegisterLineStatistics { fetched_from_l1: 3, ..none }), 3.0 * l1_read);
    assert_near(cost(RegisterLineStatistics { writes: 2, ..none }), 2.0 * l1_write);
    assert_near(
        cost(RegisterLineStatistics { invalidations: 1, drops: 1, ..none }),
        2.0 * (BANK.0 + 0.367819),
    );
    assert_near(cost(RegisterLineStatistics { fetched_from_l2: 1, ..none }), l1_write + l2(4.12206));
    let l2_write = l2(8.04254) + 0.367819;
    assert_near(cost(RegisterLineStatistics { fetched_from_dram: 1, ..none }), l1_write + l2_write + 16000.0);
    let written_back = RegisterLineStatistics { writes: 1, written_to_l2: 1, written_to_dram: 1, ..none };
    assert_near(cost(written_back), l1_write + l1_read + l2_write + 4.0 * BANK.0 + 8.0 * 4.12206 + 16000.0);
}

/// A read of 1024 words of 64 bits; a write and a read of a store of 16 warps of 16 words, one of which leaks
/// 0.662972 mW.
#[test]
fn metadata_is_fetched_stored_and_read_and_its_stores_leak() {
    let config = config("regless");
    let cost = |cycles, metadata_instructions| {
        let report = RunReport { metadata_instructions, ..report(cycles, (0, 0), (0, 0)) };
        model().metadata_pj(MeasuredRun { config: &config, report: &report }).expect("there")
    };
    assert_near(cost(0, 10), 10.0 * (2.29709 + 2.46705 + 0.861069));
    assert_near(cost(100, 0), 100.0 * 4.0 * 0.662972);
}

/// What no paper has measured is priced as well: every design, on an SM that is divided in another way, leaks.
#[test]
fn every_design_has_an_energy_on_every_machine() {
    let registry = crate::mechanisms::Registry::shipped();
    for stack in registry.stacks() {
        for schedulers in [1, 2, 4] {
            let mut config = config("baseline").with_stack(stack.clone());
            config.sm.schedulers = schedulers;
            let report = report(100, (10, 5), (10, 5));
            let energy = model().registers(MeasuredRun { config: &config, report: &report });
            let energy = energy.unwrap_or_else(|error| panic!("{stack}, {schedulers} schedulers: {error}"));
            assert!(energy.access_pj > 0.0 && energy.leakage_pj > 0.0, "{stack}, {schedulers} schedulers");
        }
    }
}

#[test]
fn arrays_that_were_not_run_are_named() {
    let odd = Ports { read: 5, write: 1, read_write: 0 };
    let model = model().with_ports(Arrays::MainRegisterFile, odd);
    let (config, report) = (config("baseline"), report(1, (0, 0), (0, 0)));
    let run = MeasuredRun { config: &config, report: &report };
    let error = model.registers(run).expect_err("not run").to_string();
    assert!(error.starts_with("there is no array with ports 5r1w at 28 nm; there are: "), "{error}");
    let made = model.report(&[run], &[run]);
    assert_eq!((made.design, made.normalised_registers, made.normalised_gpu), (None, None, None));
    assert_eq!(made.unavailable, Some(error));
}

#[test]
fn a_report_sets_the_energies_of_all_sms_beside_the_baselines() {
    let (base_config, config) = (config("baseline"), config("rfv"));
    let base = [report(1000, (4000, 1000), (0, 0)), report(500, (2000, 100), (0, 0))];
    let design = [report(1100, (4000, 1000), (0, 0)), report(600, (2000, 100), (0, 0))];
    let base = base.each_ref().map(|report| MeasuredRun { config: &base_config, report });
    let design = design.each_ref().map(|report| MeasuredRun { config: &config, report });
    let model = model();
    let made = model.report(&base, &design);
    let registers = |runs: &[MeasuredRun<'_>]| -> f64 {
        runs.iter().map(|run| model.registers(*run).expect("there").total_pj()).sum()
    };
    let gpu: f64 =
        base.iter().zip(&design).map(|(base, run)| model.gpu(*base, *run).expect("there").total_pj()).sum();
    let baseline_gpu: f64 = base.iter().map(|run| model.gpu(*run, *run).expect("there").total_pj()).sum();
    assert_near(made.normalised_registers.expect("there"), registers(&design) / registers(&base));
    assert_near(made.normalised_gpu.expect("there"), gpu / baseline_gpu);
    assert_near(made.design.expect("there").registers.total_pj(), registers(&design));
    let itself = model.report(&base, &base);
    assert_eq!((itself.normalised_registers, itself.normalised_gpu), (Some(1.0), Some(1.0)));
}
