//! Energies of units against what is computed by hand from kim-45nm.toml.

use super::*;
use crate::config::{Config, apply_overrides, preset};
use crate::energy::structure::Source;
use crate::energy::{GpuEnergy, TableSize, Technology, TechnologyError, technology_names};
use crate::mechanisms::{ALL, Registry, affine, wir};
use crate::sm::{Accesses, CacheStatistics, MRF, OperationClass, RunReport};

/// Cycles a nanosecond.
const GHZ: f64 = 0.7;

fn model() -> EnergyModel {
    EnergyModel::named(Technology::KIM).expect("complete")
}

fn config(design: &str) -> Config {
    preset("fermi-wir").expect("complete").with_design(design).expect("known")
}

fn components(design: &str, report: &RunReport) -> Components {
    model().components(MeasuredRun { config: &config(design), report }).expect("priced")
}

fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value} instead of {expected}");
}

/// A run in which everything is used.
fn busy() -> RunReport {
    let mut report = RunReport { cycles: 1000, warp_instructions: 500, ..RunReport::default() };
    for class in OperationClass::ALL {
        report.operations.count(class, 640);
    }
    let accesses = Accesses { reads: 700, writes: 400, cluster_reads: 5600, cluster_writes: 3200 };
    report.operands = accesses;
    report.counters.add(MRF, &accesses);
    report.memory.l1 = CacheStatistics { hits: 30, merged_misses: 4, misses: 6, writebacks: 0 };
    report.memory.l2 = CacheStatistics { hits: 3, merged_misses: 1, misses: 2, writebacks: 0 };
    report.memory.bytes = 40 * 128;
    report.memory.dram_bytes = 2 * 128;
    report.memory.shared_words = 320;
    report.memory.constant_words = 20;
    let reuse = wir::Counted {
        rows_looked_up: 200,
        hits: 50,
        signatures: 150,
        registered: 150,
        moves: 5,
        ..Default::default()
    };
    report.counters.add(wir::COUNTERS, &reuse);
    report
}

/// Whatever the design: what [`EnergyModel::gpu`] adds up is what the components are.
#[test]
fn the_components_are_the_whole() {
    let (model, report, baseline) = (model(), busy(), config("baseline"));
    for stack in Registry::shipped().stacks() {
        for name in ["fermi-wir", "gtx980-regless"] {
            let config = preset(name).expect("complete").with_stack(stack.clone());
            let run = MeasuredRun { config: &config, report: &report };
            let base = MeasuredRun { config: &baseline, report: &report };
            let whole = model.gpu(base, run).expect("priced");
            let components = model.components(run).expect("priced");
            assert_near(components.total_pj(), whole.total_pj());
            let GpuEnergy { data_pj, .. } = whole;
            assert_near(components.network_pj + components.l2_pj + components.dram_pj, data_pj);
            let outside = data_pj + components.constant_pj;
            assert_near(components.sm_pj(), components.total_pj() - outside);
            assert!(components.parts().iter().all(|(.., pj)| *pj >= -1e-9), "{stack}: {components:?}");
        }
    }
}

#[test]
fn every_unit_is_paid_by_what_goes_through_it_alone() {
    let spent = |class| {
        let mut report = RunReport::default();
        report.operations.count(class, 32);
        let Components { pipeline_pj, integer_pj, float_pj, special_pj, .. } =
            components("baseline", &report);
        assert_near(pipeline_pj, 32.0 * 8.27);
        [integer_pj, float_pj, special_pj].map(|pj| pj / 32.0)
    };
    let near = |class, expected: [f64; 3]| {
        spent(class).iter().zip(expected).for_each(|(value, expected)| assert_near(*value, expected));
    };
    near(OperationClass::Integer, [67.37, 0.0, 0.0]);
    near(OperationClass::IntegerMultiply, [193.41, 0.0, 0.0]);
    near(OperationClass::Single, [0.0, 29.58, 0.0]);
    near(OperationClass::SingleMultiply, [0.0, 87.03, 0.0]);
    near(OperationClass::Double, [0.0, 87.03, 0.0]);
    near(OperationClass::Special, [0.0, 0.0, 1208.8]);
    for class in [
        OperationClass::Texture,
        OperationClass::Memory,
        OperationClass::Scratchpad,
        OperationClass::Constant,
        OperationClass::Control,
    ] {
        near(class, [0.0; 3]);
    }
}

/// An instruction that is issued and answered has no operands collected or dispatched, so that it counts nowhere else.
#[test]
fn an_instruction_that_is_answered_pays_the_front_end_alone() {
    let report = RunReport { warp_instructions: 1, answered_instructions: 1, ..RunReport::default() };
    let components = components("baseline", &report);
    assert_near(components.front_end_pj, 1067.5);
    assert_near(components.total_pj(), components.front_end_pj);
}

/// Where one lane does for an instruction of 32, 31 are spared. A register that is copied passes no unit.
#[test]
fn a_mechanism_says_what_went_through_the_units() {
    let mut report = busy();
    let baseline = components("baseline", &report);
    assert_near(components("wir-rlpv", &report).integer_pj, baseline.integer_pj);
    let mut tuples = affine::Counted::default();
    tuples.lanes_spared.count(OperationClass::Integer, 31);
    report.counters.add(affine::COUNTERS, &tuples);
    let spared = baseline.integer_pj - components("affine", &report).integer_pj;
    assert_near(spared, 31.0 * 67.37);
}

#[test]
fn memories_are_paid_by_access_and_leak() {
    let report = RunReport { memory: busy().memory, ..RunReport::default() };
    let Components { l1_pj, scratchpad_pj, constant_cache_pj, network_pj, l2_pj, dram_pj, .. } =
        components("baseline", &report);
    assert_near(l1_pj, 40.0 * 2391.7);
    assert_near(constant_cache_pj, 20.0 * 1290.9);
    assert_near(network_pj, 6.0 * 3807.6);
    assert_near(l2_pj, 6.0 * 3079.8);
    assert_near(dram_pj, 2.0 * 124_229.0);
    // 32 banks of 384 words, 2 mm away.
    let bank = model().prices().memory(384, 32, Ports::SINGLE).expect("inside the runs");
    assert_near(scratchpad_pj, 320.0 * ((bank.read_pj + bank.write_pj) / 2.0 + 2.0 * 1.9));
    let idle = RunReport { cycles: 700, ..RunReport::default() };
    let leaking = components("baseline", &idle);
    assert_near(leaking.scratchpad_pj, 32.0 * bank.leakage_mw * 700.0 / GHZ);
    assert!(leaking.l1_pj > 0.0 && leaking.l2_pj > 0.0 && leaking.constant_cache_pj > 0.0);
    // 9.82366 W of 15 SMs.
    assert_near(leaking.constant_pj, 1000.0 * 9.82366 / 15.0 / GHZ * 700.0);
}

#[test]
fn caches_of_the_node_take_their_place() {
    let (config, report) = (config("baseline"), busy());
    let run = MeasuredRun { config: &config, report: &report };
    let of_node = model().with_caches_of_the_node().components(run).expect("priced");
    let published = model().components(run).expect("priced");
    for (node, published) in [
        (of_node.l1_pj, published.l1_pj),
        (of_node.constant_cache_pj, published.constant_cache_pj),
        (of_node.network_pj, published.network_pj),
        (of_node.l2_pj, published.l2_pj),
    ] {
        assert!(node > 0.0 && node < published, "{node} of {published}");
    }
    assert_near(of_node.registers_pj, published.registers_pj);
    // A line of 128 bytes over 10 mm.
    assert_near(of_node.network_pj, 6.0 * 1024.0 * 0.1 * 10.0);
}

#[test]
fn a_table_has_its_published_energies_if_it_is_as_large() {
    let price = |overrides: &[(&str, &str)], name: &str| {
        let mut config = config("wir-rlpv");
        apply_overrides(&mut config, overrides).expect("accepted");
        let parts = model().parts(&config).expect("priced");
        parts.into_iter().map(|(_, part)| part).find(|part| part.name == name).expect("there")
    };
    let reuse = price(&[], "reuse buffers");
    assert_eq!((reuse.read_pj, reuse.write_pj, reuse.source), (4.71, 4.71, Source::Published));
    let larger = price(&[("wir.reuse_rows", "512")], "reuse buffers");
    assert_eq!(larger.source, Source::FlipFlops);
    assert!(larger.read_pj > 0.0 && larger.leakage_mw > reuse.leakage_mw);
    let narrower = price(&[("wir.hash_bits", "16")], "value signature buffers");
    assert_eq!(narrower.source, Source::FlipFlops);
    let counts = price(&[], "reference counts");
    assert_eq!((counts.read_pj, counts.write_pj), (0.0, 0.32));
    let hashes = price(&[], "value hashes");
    assert_eq!((hashes.search_pj, hashes.read_pj), (Some(4.85), 0.0));
    assert!(hashes.leakage_mw > 0.0 && hashes.area_um2 > 0.0);
}

/// The paper's tables are the SM's: one scheduler that has them all has their energies as well.
#[test]
fn tables_of_one_scheduler_have_their_published_energies() {
    let mut config = config("wir-rlpv");
    let one = [("sm.schedulers", "1"), ("sm.schedulers_per_partition", "1")];
    apply_overrides(&mut config, &one).expect("accepted");
    let parts = model().parts(&config).expect("priced");
    let technology = Technology::named(Technology::KIM).expect("complete");
    for table in &technology.tables {
        let part = parts.iter().map(|(_, part)| part).find(|part| part.name == table.name);
        assert_eq!(part.expect("there").source, Source::Published, "{}", table.name);
    }
}

/// A name or a size that nothing has would be a figure that is never used.
#[test]
fn every_published_table_is_one_of_a_mechanism_on_its_preset() {
    let mut tables: Vec<(&str, TableSize)> = Vec::new();
    for mechanism in ALL {
        let preset = preset(mechanism.info().preset).expect("complete");
        // A register file for each scheduler, and one for the only one.
        let mut halves = preset.clone();
        halves.sm.schedulers_per_partition = 1;
        halves.register_file.bank_groups /= preset.sm.schedulers_per_partition;
        let mut single = preset.clone();
        (single.sm.schedulers, single.sm.schedulers_per_partition) = (1, 1);
        single.register_file.rows *= preset.partitions();
        let all = [preset, halves, single];
        let structures = all.iter().flat_map(|config| mechanism.structures(config)).collect::<Vec<_>>();
        tables.extend(structures.iter().map(|structure| (structure.name, TableSize::of(structure))));
    }
    for technology in technology_names().map(|name| Technology::named(name).expect("complete")) {
        for table in &technology.tables {
            assert!(!table.sizes.is_empty(), "{}: {}", technology.name, table.name);
            for size in &table.sizes {
                let is_there = tables.contains(&(table.name.as_str(), *size));
                assert!(is_there, "{}: {}, {size:?}: {tables:?}", technology.name, table.name);
            }
            let figures = [&table.read_pj, &table.write_pj, &table.search_pj];
            assert!(figures.iter().any(|figure| figure.is_some()), "{}: {}", technology.name, table.name);
        }
    }
}

/// 32 trees over half of 1024 bits, a gate as the comparison of a bit: 3.7 fJ at 45 nm and 1.1 V.
#[test]
fn trees_of_exclusive_ors_cost_their_gates() {
    let trees = model().prices().xor_trees(1024, 32).expect("any size");
    assert_near(trees.search_pj, 32.0 * 512.0 * 3.8 / 1024.0 / 1.1 / 1.1);
    assert_near(trees.area_um2, 32.0 * 512.0 * 1.596);
    assert!(model().prices().xor_trees(0, 32).is_err());
}

#[test]
fn a_technology_without_units_says_which_have_them() {
    let model = EnergyModel::named(Technology::GTX980).expect("complete");
    let (config, report) = (config("baseline"), busy());
    let error = model.components(MeasuredRun { config: &config, report: &report }).expect_err("a card");
    let expected = "energy.technology: gtx980-28nm has no energies of units; accepted: kim-45nm";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_malformed_technology_is_named_with_what_is_wrong() {
    let text = include_str!("../../../technologies/kim-45nm.toml");
    let error = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        let error = Technology::from_toml("mine.toml", &text.replacen(from, to, 1)).expect_err("malformed");
        assert!(matches!(error, TechnologyError::Malformed { .. }));
        error.to_string()
    };
    let unknown = error("search_pj = { value = 4.85", "lookup_pj = { value = 4.85");
    assert!(unknown.starts_with("mine.toml: ") && unknown.contains("unknown field `lookup_pj`"), "{unknown}");
    let missing = error("rows = 3024, ", "");
    assert!(missing.contains("missing field `rows`"), "{missing}");
    let no_lane = error("integer_pj = {", "integers_pj = {");
    assert!(no_lane.contains("unknown field `integers_pj`"), "{no_lane}");
    let no_source =
        error(r#"constant_w = { value = 9.82366, source ="#, r#"constant_w = { value = 9.82366, from ="#);
    assert!(no_source.contains("unknown field `from`"), "{no_source}");
}

/// The registers' energies are those of everybody: 8 slices of 128 rows with a read and a write port.
#[test]
fn registers_are_of_the_node() {
    let parts = model().parts(&config("baseline")).expect("priced");
    let (_, file) = parts.iter().find(|(_, part)| part.name == "registers").expect("there");
    let slice = model().prices().memory(128, 128, Ports::DUAL).expect("inside the runs");
    assert_near(file.read_pj, 8.0 * slice.read_pj);
    assert_eq!(file.source, Source::Runs);
}
