//! The seam between the SM and its mechanisms: stacks, counters, notes, and mechanisms from outside.

use std::fs;
use std::path::Path;

use warpfile_random::slice;
use warpfile_sim::config::{Config, preset, preset_names, preset_with};
use warpfile_sim::counters::Merge;
use warpfile_sim::energy::{EnergyModel, MeasuredRun};
use warpfile_sim::mechanisms::{Registry, Role, Stack};
use warpfile_sim::sm::{RunOptions, RunReport};

use crate::stand_ins::run_single_level;
use crate::tiny::run_tiny;
use crate::toy::{Paced, Parameters, registry};

/// The design on the preset of its paper.
fn on_its_preset(stack: &Stack) -> Config {
    preset(stack.preset().expect("there is one")).expect("complete").with_stack(stack.clone())
}

fn toy(design: &str) -> Config {
    preset_with(&registry(), "gebhart2011").expect("complete").with_design(design).expect("a stack")
}

fn refused(design: &str) -> String {
    preset_with(&registry(), "gebhart2011")
        .expect("complete")
        .with_design(design)
        .expect_err(design)
        .to_string()
}

/// The parts of a name: `rfc_reads` and `RfcReads` are of `rfc` and `reads`.
fn parts(word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for (at, letter) in word.char_indices() {
        if letter == '_' || (letter.is_uppercase() && !word[..at].ends_with(char::is_uppercase)) {
            parts.push(String::new());
        }
        if letter != '_'
            && let Some(part) = parts.last_mut()
        {
            part.push(letter.to_ascii_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Words of the field that a mechanism happens to share: the row cycle time of DRAM.
const OTHER_MEANINGS: [(&str, &str); 1] = [("dram.rs", "rc")];

#[test]
fn the_sm_names_no_mechanism() {
    assert_eq!(parts("RfcReads_of"), ["rfc", "reads", "of"]);
    let registry = Registry::shipped();
    let names = registry.all().map(|mechanism| mechanism.info().name);
    let names: Vec<Vec<String>> = names.map(|name| name.split('-').map(str::to_owned).collect()).collect();
    let mut files = 0;
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sm")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("readable").map(|entry| entry.expect("readable").path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            files += 1;
            let text = fs::read_to_string(&entry).expect("text");
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for word in code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')) {
                let parts = parts(word);
                let names_one = names.iter().any(|name| parts.windows(name.len()).any(|some| some == name));
                let means_another =
                    OTHER_MEANINGS.iter().any(|(file, meant)| entry.ends_with(file) && word == *meant);
                assert!(!names_one || means_another, "{}: {word}", entry.display());
            }
        }
    }
    assert!(files > 20, "{files}");
}

#[test]
fn a_stack_is_a_design_or_mechanisms_with_what_they_lack() {
    let names = |design: &str| {
        let config = toy(design);
        let of: Vec<&str> = config.design.mechanisms().map(|mechanism| mechanism.info().name).collect();
        (config.design.to_string(), of)
    };
    assert_eq!(names("rfc"), ("rfc".to_owned(), vec!["two-level", "rfc"]));
    assert_eq!(names("two-level+rfc"), ("rfc".to_owned(), vec!["two-level", "rfc"]));
    assert_eq!(names("baseline"), ("baseline".to_owned(), vec!["single-level", "banked"]));
    assert_eq!(names("two-level"), ("two-level".to_owned(), vec!["two-level", "banked"]));
    assert_eq!(names("single-level+rfc").0, "single-level+rfc");
    assert_eq!(names("pacer").1, ["single-level", "banked", "pacer"]);
    assert_eq!(names("rfc+pacer"), ("two-level+rfc+pacer".to_owned(), vec!["two-level", "rfc", "pacer"]));
    assert_eq!(names("baseline+pacer").0, "single-level+banked+pacer");
}

#[test]
fn what_cannot_be_combined_says_so_with_the_nearest_stack() {
    let same_job = "do the same job, of which a stack has one; nearest: ";
    assert!(refused("rfc+regless").ends_with(&format!("regless and rfc {same_job}regless")));
    assert!(refused("two-level+rfc+single-level").ends_with(&format!("{same_job}rfc+single-level")));
    assert!(refused("pacer+rfc+pacer").contains("pacer and pacer do the same job"));
    let rewritten = "regless rewrites the program of which pacer has taken notes; nearest: regless+";
    let error = refused("pacer+regless");
    assert!(error.contains(rewritten), "{error}");
    let error = refused("two-level+rfd");
    assert!(error.contains("no design or mechanism `rfd`; near: rf"), "{error}");
    assert!(error.contains("mechanisms: single-level, banked, two-level, rfc"), "{error}");
}

#[test]
fn a_machine_that_cannot_carry_a_design_names_one_that_can() {
    for stack in Registry::shipped().stacks() {
        on_its_preset(&stack).validate().unwrap_or_else(|error| panic!("{stack}: {error}"));
        for name in preset_names() {
            let config = preset(name).expect("complete").with_stack(stack.clone());
            if let Err(error) = config.validate() {
                let own = stack.preset().expect("there is one");
                let error = error.to_string();
                let (_, named) =
                    error.split_once(&format!("design {stack} runs with preset ")).expect("a hint");
                assert!(named.split(", ").any(|name| name == own), "{error}");
                for name in named.split(", ") {
                    let config = preset(name).expect("complete").with_stack(stack.clone());
                    config.validate().unwrap_or_else(|error| panic!("{stack} with {name}: {error}"));
                }
            }
        }
    }
    let regless = preset("gebhart2011").expect("complete").with_design("regless").expect("known");
    assert!(regless.validate().is_err(), "registers are kept in caches, which that machine has none of");
}

/// A storage and a layer that nothing of the program knows run with any scheduler, and the layer on any storage: every
/// operand is right whenever warps are held back.
#[test]
fn mechanisms_from_outside_run() {
    let schedulers = ["single-level", "two-level"];
    let registry = registry();
    let storages = registry.all().filter(|mechanism| matches!(mechanism.role(), Role::Storage { .. }));
    let names: Vec<&str> = storages.map(|storage| storage.info().name).collect();
    assert!(names.contains(&"ideal"));
    for (scheduler, storage) in schedulers.into_iter().flat_map(|one| names.iter().map(move |two| (one, two)))
    {
        let design = format!("{scheduler}+{storage}+pacer");
        let on = |name: &&str| {
            let config = preset_with(&registry, name).expect("complete").with_design(&design);
            config.expect("a stack").validate().is_ok()
        };
        let name = preset_names().find(on).unwrap_or_else(|| panic!("{design} runs nowhere"));
        let mut config =
            preset_with(&registry, name).expect("complete").with_design(&design).expect("a stack");
        config.edit(|pacer: &mut Parameters| pacer.cycles = 3);
        run_tiny(&config, "bfs", RunOptions::default());
        config.edit(|pacer: &mut Parameters| pacer.cycles = 16);
        let report = run_tiny(&config, "hotspot", RunOptions::default());
        let paced: Paced = report.counters.get("pacer");
        assert_eq!(
            (paced.issued, paced.retired),
            (report.warp_instructions, report.warp_instructions),
            "{design}"
        );
        assert_eq!((paced.otherwise, paced.narrowed), (0, 0), "{design}");
        assert_eq!((paced.read, paced.started), (report.warp_instructions, paced.ended), "{design}");
        assert_eq!(paced.written, report.operands.writes, "{design}");
        assert!(paced.loads > 0 && paced.loads < paced.issued, "{design}");
    }
}

#[test]
fn a_layer_holds_warps_back_and_admits_fewer_blocks() {
    let run = |cycles, blocks| {
        let mut config = toy("ideal+pacer");
        config.edit(|pacer: &mut Parameters| (pacer.cycles, pacer.blocks) = (cycles, blocks));
        run_tiny(&config, "hotspot", RunOptions::default())
    };
    let (free, paced, few) = (run(1, 64), run(64, 64), run(1, 1));
    assert!(paced.cycles > 2 * free.cycles, "{} and {}", paced.cycles, free.cycles);
    assert!(paced.scheduler.held_warp_cycles > 0 && paced.stalls.design > 0);
    assert_eq!(few.residency[0].resident_blocks, 1);
    assert!(few.counters.get::<Paced>("pacer").most_warps < free.counters.get::<Paced>("pacer").most_warps);
}

#[test]
fn a_layer_has_its_class_of_warps_picked_first() {
    for design in ["ideal+pacer", "two-level+banked+pacer", "single-level+rfc+pacer"] {
        let mut config = toy(design);
        config.edit(|pacer: &mut Parameters| (pacer.cycles, pacer.odd_first) = (1, true));
        let report = run_tiny(&config, "hotspot", RunOptions::default());
        let paced: Paced = report.counters.get("pacer");
        assert!(paced.narrowed > report.warp_instructions / 10, "{design}: {}", paced.narrowed);
        assert_eq!(paced.passed_over, 0, "{design}");
    }
}

/// Registers that lie where a layer says, in the order that it says, are read as they were written; its scheduler completes
/// the stack, and another one may take its place.
#[test]
fn a_layer_says_where_warps_and_registers_lie() {
    let names = |design: &str| toy(design).design.mechanisms().map(|one| one.info().name).collect::<Vec<_>>();
    assert_eq!(names("mover"), ["owf", "banked", "mover"]);
    assert_eq!(names("single-level+mover"), ["single-level", "banked", "mover"]);
    for design in ["mover", "single-level+mover", "two-level+mover"] {
        for workload in ["hotspot", "bfs", "lud"] {
            let report = run_tiny(&toy(design), workload, RunOptions::default());
            let baseline = run_tiny(&toy("baseline"), workload, RunOptions::default());
            assert_eq!(report.residency[0].resident_blocks, 1, "{design}, {workload}");
            assert_eq!(report.operands, baseline.operands, "{design}, {workload}");
        }
    }
}

#[test]
fn a_stack_without_layers_runs_as_its_storage_does() {
    let alone = run_tiny(&toy("single-level+ideal"), "vectoradd", RunOptions::default());
    assert!(alone.counters.value("pacer.issued").is_none() && alone.counters.value("mrf.reads").is_some());
    let (by_hand, _) =
        run_single_level(&toy("baseline"), crate::kernels::Kernel::new().alus(9, 1, &[1]).exit())
            .expect("runs");
    assert_eq!(by_hand.counters.groups().count(), 1);
}

/// No output that means something shows what state without a reset was filled with.
#[test]
fn no_design_needs_a_reset_that_it_does_not_have() {
    let stacks = Registry::shipped().stacks();
    let pairs = stacks.iter().flat_map(|stack| ["vectoradd", "hotspot"].map(|workload| (stack, workload)));
    // One workload for each design.
    for (stack, workload) in slice(2, pairs) {
        let config =
            preset(stack.preset().expect("there is one")).expect("complete").with_stack(stack.clone());
        run_tiny(&config, workload, RunOptions { check_seeds: 2, ..RunOptions::default() });
    }
}

/// Of every other design, drawn, on one, two and four SMs: what instructions do is the same in sum, and the whole is what the parts say together.
#[test]
fn counters_of_every_design_add_up_over_sms() {
    for stack in slice(2, registry().stacks()) {
        let preset_name = stack.preset().expect("there is one");
        let machine = preset_with(&registry(), preset_name).expect("complete");
        let layered =
            format!("{}+pacer", stack.mechanisms().map(|one| one.info().name).collect::<Vec<_>>().join("+"));
        let mut config = machine.with_design(&layered).expect("a stack");
        config.chip.sms = config.chip.sms.max(4);
        let run = |sms| {
            let mut config = config.clone();
            config.chip.simulated_sms = sms;
            let of_sm = |sm| run_tiny(&config, "hotspot", RunOptions { sm, ..RunOptions::default() });
            let reports: Vec<RunReport> = (0..sms).map(of_sm).collect();
            let together = RunReport::together(&reports);
            check_sums(&together, &reports, &layered);
            together
        };
        let [one, two, four] = [1, 2, 4].map(run);
        for report in [&two, &four] {
            assert_eq!(
                (report.operands, report.warp_instructions),
                (one.operands, one.warp_instructions),
                "{layered}"
            );
            // What is answered delivers no operands, and how much is depends on what runs on the same SM.
            if one.answered_instructions == 0 {
                assert_eq!(report.operands_checked, one.operands_checked, "{layered}");
            }
            for path in ["pacer.issued", "pacer.retired", "pacer.written", "pacer.loads", "pacer.started"] {
                // The one register of an instruction that is answered is not written.
                let count = |report: &RunReport| {
                    let answered = if path == "pacer.written" { report.answered_instructions } else { 0 };
                    report.counters.value(path).map(|value| value + answered)
                };
                assert_eq!(count(report), count(&one), "{layered}: {path}");
            }
            let paths = |report: &RunReport| {
                report.counters.leaves().into_iter().map(|(path, ..)| path).collect::<Vec<_>>()
            };
            assert_eq!(paths(report), paths(&one), "{layered}");
        }
    }
}

fn check_sums(together: &RunReport, reports: &[RunReport], design: &str) {
    let mut counted = 0;
    for (path, counter, value) in together.counters.leaves() {
        let values = reports.iter().map(|report| report.counters.value(&path).unwrap_or_default());
        let expected = match counter.merge {
            Merge::Sum => values.sum(),
            Merge::Maximum => values.max().unwrap_or_default(),
        };
        assert_eq!(value, expected, "{design}: {path}");
        assert!(!counter.doc.is_empty() && !counter.unit.is_empty(), "{design}: {path}");
        counted += usize::from(value > 0);
    }
    assert!(counted > 8, "{design}: {counted} counters count something");
}

/// Every row of a report names counters that the design declares.
#[test]
fn rows_show_counters_that_are_there() {
    use warpfile_sim::counters::Shown;
    for stack in Registry::shipped().stacks() {
        let report = run_tiny(&on_its_preset(&stack), "vectoradd", RunOptions::default());
        for row in stack.rows() {
            let paths = match row.shown {
                Shown::Count(path) => vec![path],
                Shown::Mean(one, two) | Shown::PercentLess(one, two) => vec![one, two],
            };
            for path in paths.into_iter().filter(|path| !path.starts_with("operands.")) {
                assert!(report.counters.value(path).is_some(), "{stack}: row {} shows {path}", row.label);
            }
        }
    }
}

#[test]
fn any_stack_has_an_energy_in_any_technology() {
    for design in ["ideal+pacer", "rfc+pacer", "single-level+rfc", "two-level"] {
        let config = toy(design);
        let report = run_tiny(&config, "vectoradd", RunOptions::default());
        for technology in warpfile_sim::energy::technology_names() {
            let model = EnergyModel::named(technology).expect("complete");
            let run = MeasuredRun { config: &config, report: &report };
            let energy = model.report((&config, &report), &[run], &[run]);
            assert_eq!(energy.unavailable, None, "{design}, {technology}");
            let accesses = energy.accesses.design.expect("priced");
            assert!(accesses.access_pj > 0.0, "{design}, {technology}");
            let registers = energy.design.expect("priced").registers;
            let leaks = model.technology().accesses_alone.is_none();
            assert!(registers.access_pj > 0.0, "{design}, {technology}");
            assert_eq!(registers.leakage_pj > 0.0, leaks, "{design}, {technology}");
            assert!(energy.normalised_gpu.is_some(), "{design}, {technology}");
        }
    }
}
