//! Energies against what is computed by hand from cacti_sram.csv, 28 nm, and from the technologies' figures.

use super::*;
use crate::config::preset;
use crate::energy::Technology;
use crate::energy::structure::Part;
use crate::mechanisms::regless::{Preloads, STAGING_COUNTERS, Staging};
use crate::mechanisms::rfh::{self, UpperLevels};
use crate::sm::{Accesses, MRF, RegisterLineStatistics, TableAccesses};

/// What Gebhart et al. have for CACTI's bank of 256 × 128 at 40 nm, 1r1w: read and write.
const FACTORS: (f64, f64) = (SUPPLY * 8.0 / 3.63974, SUPPLY * 11.0 / 9.79755);
/// What 0.9 V at 28 nm, where CACTI has 0.86 V, is over 0.9 V at 40 nm, where it has 12.5/13 V.
const SUPPLY: f64 = (12.5 / 13.0 / 0.86) * (12.5 / 13.0 / 0.86);
/// 64 entries of 128 bits, 1r1w: read, write, pJ, and leakage, mW.
const BANK: (f64, f64, f64) = (1.39751 * FACTORS.0, 2.16414 * FACTORS.1, 0.408056);
/// 64 entries of 128 bits, 1rw: a read, pJ.
const SET_PJ: f64 = 1.1087 * FACTORS.0;
/// Cycles a nanosecond.
const GHZ: f64 = 1.126;

fn model() -> EnergyModel {
    EnergyModel::named(Technology::GTX980).expect("complete")
}

fn by_share() -> EnergyModel {
    EnergyModel::named("kloosterman2017-28nm").expect("complete")
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

fn part<'p>(parts: &'p [(crate::energy::structure::Structure, Part)], name: &str) -> &'p Part {
    &parts.iter().find(|(_, part)| part.name == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// 256 slices of the banks; what is read is also written into a collector and read there.
#[test]
fn a_register_file_spends_accesses_wires_clocks_and_leakage() {
    let (config, report) = (config("baseline"), report(100, (10, 5), (0, 0)));
    let model = model();
    let energy = model.registers(MeasuredRun { config: &config, report: &report }).expect("there");
    let parts = model.parts(&config).expect("priced");
    let collectors = part(&parts, "operand collectors");
    let collected = 10.0 / 8.0 * (collectors.read_pj + collectors.write_pj);
    assert_near(energy.access_pj, 10.0 * BANK.0 + 5.0 * BANK.1 + collected);
    // Four lanes of 32 bits.
    assert_near(energy.wires_pj, 15.0 * 4.0 * 1.9 * part(&parts, "registers").mm);
    let leakage_mw =
        256.0 * BANK.2 + collectors.leakage_mw + part(&parts, "state of operand collectors").leakage_mw;
    assert_near(energy.leakage_pj, 100.0 * leakage_mw / GHZ);
    let clock_pj = collectors.clock_pj + part(&parts, "state of operand collectors").clock_pj;
    assert_near(energy.clock_pj, 100.0 * clock_pj);
    assert_near(energy.total_pj(), energy.access_pj + energy.wires_pj + energy.clock_pj + energy.leakage_pj);
}

#[test]
fn a_renamed_register_file_pays_for_its_names() {
    let config = config("rfv");
    let model = model();
    let parts = model.parts(&config).expect("priced");
    let registers = part(&parts, "registers");
    assert_eq!(registers.arrays * registers.entries, 1024);
    let mut report = report(0, (0, 0), (0, 0));
    report.operands = Accesses { reads: 3, writes: 1, ..Accesses::default() };
    let energy = model.registers(MeasuredRun { config: &config, report: &report }).expect("there");
    assert_near(energy.access_pj, 4.0 * part(&parts, "rename tables").read_pj);
}

/// 8 slots a scheduler: last result files of 8 rows, operand register files of 24. Gebhart et al., Table 2 on a line: 0.62778
/// and 2.37431 pJ for 8 rows, 1.34206 and 4.47788 pJ for 24, at 40 nm.
#[test]
fn a_register_file_hierarchy_spends_what_each_of_its_levels_does() {
    let (config, mut report) = (config("rfh"), report(100, (0, 0), (0, 0)));
    report.counters.add(rfh::COUNTERS, &UpperLevels { lrf: slices((7, 3)), orf: slices((20, 9)) });
    let energy = model().registers(MeasuredRun { config: &config, report: &report }).expect("there");
    let at_40_nm = 7.0 * 0.627_778 + 3.0 * 2.374_306 + 20.0 * 1.342_063 + 9.0 * 4.477_877;
    assert!((energy.access_pj / (0.7 * at_40_nm) - 1.0).abs() < 1e-5, "{}", energy.access_pj);
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
    let search = |name: &str| part(&parts, name).search_pj.expect("searched");
    let read = |name: &str| part(&parts, name).read_pj;
    let write = |name: &str| part(&parts, name).write_pj;
    let expected = 2.0 * read("registers")
        + write("registers")
        + 7.0 * search("tags")
        + 3.0 * write("tags")
        + 9.0 * read("copies in memory")
        // Two registers and one compressed one have gone to memory, two are dropped there.
        + 5.0 * write("copies in memory")
        + 2.0 * read("compressed lines")
        + write("compressed lines")
        + 5.0 * search("tags of compressed lines")
        + write("tags of compressed lines")
        + 4.0 * read("compressed registers")
        + write("compressed registers");
    let run = MeasuredRun { config: &config, report: &report };
    let energy = model.account(Account::Registers, run).expect("there");
    assert_near(energy.access_pj, expected);
    let control = model.account(Account::Control, run).expect("there");
    let requests = 3.0 + 2.0;
    let which = read("requests to memory: which") + write("requests to memory: which");
    let states = 7.0 * read("states of lines") + (3.0 + 7.0) * write("states of lines");
    // A register's eight slices wait twice: in the bank and at the port.
    let values = 2.0 * requests * (read("requests to memory") + write("requests to memory"));
    assert_near(control.access_pj, (requests + 2.0) * which + states + values);
    assert_near(model.registers(run).expect("there").total_pj(), energy.total_pj() + control.total_pj());
}

/// A GTX 980 has 165 W and 16 SMs at 1.126 GHz: 3.05 nJ a cycle of what is static; of the 110 W left 77 are the SMs', 65.5
/// without registers, for four warp instructions a cycle of each.
#[test]
fn a_gpu_under_full_load_takes_what_the_card_does() {
    let Rest::Power(card) = model().technology().chip.rest.clone() else { panic!("a card") };
    assert!((card.static_pj_per_cycle(GHZ) - 3050.0).abs() < 2.0);
    assert!((card.instruction_pj(GHZ) - 908.0).abs() < 2.0);
    let cycles = 1000;
    let mut full = report(cycles, (0, 0), (0, 0));
    full.warp_instructions = 4 * cycles;
    // Two sources and a result of each instruction; DRAM at 224 GB/s over all SMs.
    full.counters.add(MRF, &slices((2 * 8 * 4 * cycles, 8 * 4 * cycles)));
    full.memory.dram_bytes = (224.0 / 16.0 / GHZ * cycles as f64) as u64;
    let config = config("baseline");
    let run = MeasuredRun { config: &config, report: &full };
    let energy = model().gpu(run, run).expect("there");
    let watts = 16.0 * energy.total_pj() / cycles as f64 * GHZ / 1000.0;
    assert!((watts / 165.0 - 1.0).abs() < 0.06, "{watts} W");
    let memory_w = 16.0 * energy.data_pj / cycles as f64 * GHZ / 1000.0;
    assert!((memory_w - 28.0).abs() < 0.1, "{memory_w} W of DRAM, of 33 for the memory system");
}

/// The registers' leakage is part of what is static, so a design that leaks less spends less, and none twice.
#[test]
fn leakage_of_registers_is_charged_once() {
    let (config, idle) = (config("baseline"), report(1000, (0, 0), (0, 0)));
    let run = MeasuredRun { config: &config, report: &idle };
    let energy = model().gpu(run, run).expect("there");
    let registers = model().registers(run).expect("there");
    assert_near(energy.rest_pj + registers.leakage_pj, 1000.0 * 1000.0 * 165.0 * 0.333 / 16.0 / GHZ);
}

/// 128 bytes cost 16 nJ; a sector of 32 bytes in the L2: four slices of tags, two of data, 256 bits over 10 mm.
#[test]
fn data_beyond_the_sm_is_charged_by_what_is_moved() {
    let config = config("baseline");
    let cost = |memory| {
        let report = RunReport { memory, ..report(0, (0, 0), (0, 0)) };
        model().data_pj(MeasuredRun { config: &config, report: &report }).expect("there")
    };
    let none = crate::sm::MemoryStatistics::default();
    assert_eq!(cost(none), 0.0);
    assert_near(cost(crate::sm::MemoryStatistics { dram_bytes: 256, ..none }), 32000.0);
    let lines = RegisterLineStatistics { fetched_from_dram: 1, written_to_dram: 1, ..Default::default() };
    let only_lines = crate::sm::MemoryStatistics { dram_bytes: 256, register_lines: lines, ..none };
    assert_eq!(cost(only_lines), 0.0);
    let mut sectors = none;
    (sectors.l2.hits, sectors.l2.misses, sectors.l2.merged_misses) = (1, 1, 1);
    assert_near(cost(sectors), 3.0 * (4.0 * SET_PJ + 2.0 * 4.12206 * FACTORS.0 + 256.0));
}

#[test]
fn the_baselines_registers_have_the_share_of_the_papers_bound() {
    let (config, report) = (config("baseline"), report(1000, (4000, 1000), (0, 0)));
    let run = MeasuredRun { config: &config, report: &report };
    let energy = by_share().gpu(run, run).expect("there");
    assert_near(energy.registers_pj / energy.total_pj(), 0.167);
    assert_eq!((energy.lines_pj, energy.metadata_pj, energy.data_pj), (0.0, 0.0, 0.0));
    assert_near(by_share().rest_of_baseline_pj(run).expect("there") / energy.total_pj(), 1.0 - 0.167);
}

#[test]
fn half_of_the_rest_by_share_grows_with_the_run_time() {
    let (config, base) = (config("baseline"), report(1000, (4000, 1000), (0, 0)));
    let slow = report(1200, (4000, 1000), (0, 0));
    let run = |report| MeasuredRun { config: &config, report };
    let rest = |report| by_share().gpu(run(&base), run(report)).expect("there").rest_pj;
    assert_near(rest(&slow) / rest(&base), 1.1);
}

/// An L1 of 256 lines and 4 ways: 64 sets, tags of 128 bits a set; lines of eight 256 × 128. The L2's arrays have 1024
/// rows: 64 sets of 16 ways, four slices of tags. Tags of 32 bits: 0.367819 pJ a write. 102.4 pJ a millimetre to the L2; 1.9 pJ
/// for 32 bits over each of the 1.8 mm to the L1.
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
    let tag_pj = 0.367819 * FACTORS.1;
    let to_l1 = 32.0 * 1.9 * 1.8;
    let (l1_read, l1_write) =
        (SET_PJ + 8.0 * 1.57635 * FACTORS.0, SET_PJ + 8.0 * 4.10246 * FACTORS.1 + tag_pj);
    let l2 = |data: f64| 4.0 * SET_PJ + 8.0 * data + 1024.0;
    let (l2_read, l2_write) = (4.12206 * FACTORS.0, 8.04254 * FACTORS.1);
    assert_eq!(cost(none), 0.0);
    assert_near(cost(RegisterLineStatistics { fetched_from_l1: 3, ..none }), 3.0 * (l1_read + to_l1));
    assert_near(cost(RegisterLineStatistics { writes: 2, ..none }), 2.0 * (l1_write + to_l1));
    assert_near(cost(RegisterLineStatistics { invalidations: 1, drops: 1, ..none }), 2.0 * (SET_PJ + tag_pj));
    assert_near(cost(RegisterLineStatistics { fetched_from_l2: 1, ..none }), l1_write + to_l1 + l2(l2_read));
    let from_dram = l1_write + to_l1 + l2(l2_write) + tag_pj + 16000.0;
    assert_near(cost(RegisterLineStatistics { fetched_from_dram: 1, ..none }), from_dram);
    let written_back = RegisterLineStatistics { writes: 1, written_to_l2: 1, written_to_dram: 1, ..none };
    let written = l1_write + to_l1 + l1_read + l2(l2_write) + tag_pj;
    assert_near(cost(written_back), written + l2(l2_read) - 1024.0 + 16000.0);
}

/// A read of 1024 words of 64 bits; a write and a read of a queue of 16 words of 37 bits, one for each of 64 warps.
#[test]
fn metadata_is_fetched_stored_and_read_and_its_stores_leak() {
    let config = config("regless");
    let model = model();
    let cost = |cycles, metadata_instructions| {
        let report = RunReport { metadata_instructions, ..report(cycles, (0, 0), (0, 0)) };
        model.metadata_pj(MeasuredRun { config: &config, report: &report }).expect("there")
    };
    let queue = model.prices().flip_flops(16, 37).expect("any size");
    assert_near(cost(0, 10), 10.0 * (2.29709 * FACTORS.0 + queue.write_pj + queue.read_pj));
    assert_near(cost(100, 0), 100.0 * 64.0 * (queue.leakage_mw / GHZ + queue.clock_pj));
}

#[test]
fn a_report_sets_the_energies_of_all_sms_beside_the_baselines() {
    let (base_config, config) = (config("baseline"), config("rfv"));
    let base = [report(1000, (4000, 1000), (0, 0)), report(500, (2000, 100), (0, 0))];
    let design = [report(1100, (4000, 1000), (0, 0)), report(600, (2000, 100), (0, 0))];
    let together = RunReport::together(&design);
    let base = base.each_ref().map(|report| MeasuredRun { config: &base_config, report });
    let design = design.each_ref().map(|report| MeasuredRun { config: &config, report });
    let model = model();
    let made = model.report((&config, &together), &base, &design);
    let registers = |runs: &[MeasuredRun<'_>]| -> f64 {
        runs.iter().map(|run| model.registers(*run).expect("there").total_pj()).sum()
    };
    let gpu: f64 =
        base.iter().zip(&design).map(|(base, run)| model.gpu(*base, *run).expect("there").total_pj()).sum();
    let baseline_gpu: f64 = base.iter().map(|run| model.gpu(*run, *run).expect("there").total_pj()).sum();
    assert_near(made.normalised_registers.expect("there"), registers(&design) / registers(&base));
    assert_near(made.normalised_gpu.expect("there"), gpu / baseline_gpu);
    assert_near(made.design.expect("there").registers.total_pj(), registers(&design));
    let itself = model.report((&base_config, base[0].report), &base, &base);
    assert_eq!((itself.normalised_registers, itself.normalised_gpu), (Some(1.0), Some(1.0)));
}
