//! The list of circuits that are raced, and what they do under their stimulus.

use warpfile_engine::{Compiled, Engine, Interpreter, Options};
use warpfile_gen::is_sequential;
use warpfile_hdl::rtl::netlist::{Direction, Netlist, Port};
use warpfile_testbenches::bench::{Activity, Drive, Entry, benchmarks, list};

pub const RACE: Options = Options {
    seed: 0,
    zeroed: true,
    observe: warpfile_engine::Observe::State,
    check_invariants: false,
    count_activity: false,
    count_toggles: false,
    foreseen: Vec::new(),
    smallest_part: None,
    code_cache: None,
};

fn inputs(netlist: &Netlist) -> Vec<Port> {
    let ports = &netlist.modules[netlist.top.index()].ports;
    ports.iter().filter(|port| port.direction == Direction::Input).cloned().collect()
}

/// The circuits of the list with their netlists.
fn circuits() -> Vec<(Netlist, Entry)> {
    list().into_iter().map(|entry| (entry.elaborate().unwrap(), entry)).collect()
}

#[test]
fn every_drive_of_the_list_is_of_an_input() {
    for (netlist, entry) in circuits() {
        let inputs = inputs(&netlist);
        for (end, drive) in &entry.drives {
            let used = inputs.iter().any(|input| entry.drive(input) == *drive);
            assert!(used, "{}: nothing ends in `{end}`", entry.name);
            if let Drive::Below(_, other) = drive {
                assert!(
                    inputs.iter().any(|input| input.name.ends_with(other)),
                    "{}: no `{other}`",
                    entry.name
                );
            }
        }
    }
}

#[test]
fn the_interpreter_and_the_compiled_engine_have_the_same_signature() {
    for benchmark in benchmarks() {
        let netlist = benchmark.netlist().unwrap();
        let mut interpreter = Interpreter::new(&netlist, &RACE).unwrap();
        let mut compiled = Compiled::new(&netlist, &RACE).unwrap();
        let output = interpreter.output("signature_o").unwrap();
        let mut seen = vec![0];
        for cycles in [200, 300] {
            interpreter.run(cycles);
            compiled.run(cycles);
            let signature = interpreter.get(output);
            assert_eq!(compiled.get(output), signature, "{}", benchmark.name());
            assert!(!seen.contains(&signature), "{}: the signature stands still", benchmark.name());
            seen.push(signature);
        }
    }
}

/// Part of the cycles in which a table port or register of a circuit is used, at least, when it is busy; of a circuit without
/// a line here every port and register of the outermost module has to be used in some cycle.
const USED_WHEN_BUSY: [(&str, &str, f64); 69] = [
    ("round_robin_arbiter", "behind_last", 0.7),
    ("fifo", "words.head", 0.8),
    ("fifo", "words.tail", 0.8),
    ("register_bank", "registers.operand", 0.8),
    ("register_bank", "registers.result", 0.9),
    ("main_register_file", "bank3.registers.operand", 0.8),
    ("main_register_file", "bank3.registers.result", 0.3),
    ("operand_collectors", "entries.issue", 0.8),
    ("operand_collectors", "collected2.dispatch", 0.6),
    ("banked_register_file", "collectors.entries.issue", 0.6),
    ("banked_register_file", "mrf.bank3.registers.operand", 0.4),
    ("banked_register_file", "mrf.bank3.registers.result", 0.2),
    ("dual_issue_register_file", "collectors0.entries.issue", 0.7),
    ("dual_issue_register_file", "collectors1.entries.issue", 0.7),
    ("dual_issue_register_file", "mrf.bank7.registers.operand", 0.4),
    ("dual_issue_register_file", "mrf.bank7.registers.result", 0.2),
    ("two_scheduler_register_file", "collectors0.entries.issue", 0.7),
    ("two_scheduler_register_file", "collectors1.entries.issue", 0.7),
    ("two_scheduler_register_file", "mrf.bank7.registers.operand", 0.4),
    ("two_scheduler_register_file", "mrf.bank7.registers.result", 0.2),
    ("register_file_cache", "values.operand0", 0.2),
    ("register_file_cache", "values.result", 0.6),
    ("register_file_cache", "way5.clean", 0.01),
    ("register_cache", "line0.allocate0", 0.05),
    ("source_allocator", "collected2.collect", 0.7),
    ("source_allocator", "kept2_value", 0.1),
    ("cached_register_file", "cache.values.operand0", 0.4),
    ("cached_register_file", "cache.values.result", 0.6),
    ("cached_register_file", "mrf.bank3.registers.operand", 0.2),
    ("cached_register_file", "mrf.bank3.registers.result", 0.2),
    ("register_file_hierarchy", "collectors1.entries.issue", 0.3),
    ("register_file_hierarchy", "mrf.bank7.registers.operand", 0.1),
    ("register_file_hierarchy", "upper.orf.write0", 0.2),
    ("register_file_hierarchy", "upper.lrf.operand0_0", 0.02),
    ("two_level_scheduler", "last_issued", 0.7),
    ("two_level_scheduler", "last_entered", 0.1),
    // Once a window.
    ("dynamic_execution", "counted", 0.0007),
    ("rename_table", "names.allocate0_0", 0.3),
    ("rename_table", "names.free0", 0.7),
    ("virtual_register_file", "renaming.names.allocate0_0", 0.05),
    ("virtual_register_file", "renaming.names.free0", 0.05),
    ("virtual_register_file", "register_file.collectors1.entries.issue", 0.05),
    ("virtual_register_file", "register_file.mrf.bank7.registers.operand", 0.02),
    ("virtual_register_file", "register_file.mrf.bank7.registers.result", 0.02),
    ("compressor", "lines.line", 0.05),
    ("compressor", "lines.slots", 0.05),
    ("compressor", "presence.note", 0.05),
    ("compressor", "held_value", 0.3),
    ("l1_port", "arbiter.behind_last", 0.8),
    ("access_queue", "waiting.push", 0.7),
    ("access_queue", "waiting.pop", 0.7),
    ("operand_staging_bank", "tags.allocate", 0.05),
    ("operand_staging_bank", "values.read", 0.2),
    ("operand_staging_unit", "bank3.values.read", 0.1),
    ("operand_staging_unit", "bank3.values.write", 0.2),
    ("operand_staging_unit", "bank3.tags.allocate", 0.05),
    ("metadata_store", "words.decode", 0.2),
    ("metadata_store", "words.word", 0.2),
    ("warp_stack", "stack.top", 0.15),
    ("capacity_manager", "manager.store.words.word", 0.05),
    ("capacity_manager", "manager.stack.stack.top", 0.05),
    ("access_distributor", "warp1", 0.1),
    ("access_distributor", "registers0", 0.1),
    ("register_read_unit", "held.dispatch", 0.05),
    ("register_read_unit", "source1.operands", 0.02),
    ("staging_shard", "bank7.lines.hit_line", 0.35),
    ("staging_shard", "bank7.lines.write", 0.8),
    ("wide_table", "rows.hit_row", 0.4),
    ("wide_table", "rows.write", 0.8),
];

#[test]
fn a_busy_circuit_uses_its_tables_and_a_tenth_of_the_activity_uses_them_less() {
    for benchmark in benchmarks() {
        // A combinational circuit has none.
        if !is_sequential(&benchmark.circuit_netlist().unwrap()) {
            continue;
        }
        let netlist = benchmark.netlist().unwrap();
        let options = Options { count_activity: true, ..RACE };
        let mut engine = Interpreter::new(&netlist, &options).unwrap();
        engine.run(4000);
        let activity = engine.activity();
        let ports = activity.ports.iter().map(|port| (&port.path, port.cycles));
        let registers = activity.registers.iter().map(|register| (&register.path, register.cycles));
        let used: Vec<_> = ports.chain(registers).collect();
        let floors = USED_WHEN_BUSY.iter().filter(|(circuit, ..)| *circuit == benchmark.circuit);
        if floors.clone().next().is_none() {
            for (path, cycles) in used.iter().filter(|(path, _)| path.matches('.').count() == 1) {
                assert!(*cycles > 0, "{}: {path} is never used", benchmark.name());
            }
        }
        for (circuit, end, floor) in floors {
            let path = format!("{circuit}.{end}");
            let cycles = used.iter().find(|(known, _)| **known == path).unwrap().1;
            let part = cycles as f64 / activity.cycles as f64;
            let name = benchmark.name();
            match benchmark.activity {
                Activity::Busy => {
                    assert!(part >= *floor, "{name}: {path} is used in {part:.3} of the cycles")
                }
                // The scheduler gives slots away at any level.
                Activity::Tenth if *end == "last_entered" => assert!(part >= *floor, "{name}: {part:.3}"),
                // Five share it, each active in one cycle of ten.
                Activity::Tenth if benchmark.circuit == "l1_port" => assert!(part < 0.5, "{name}: {part:.3}"),
                Activity::Tenth => assert!(part < 0.25 && part > 0.0, "{name}: {path}: {part:.3}"),
            }
        }
    }
}
