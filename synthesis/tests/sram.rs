//! Memories taken out of netlists.

use serde_json::json;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_synthesis::sram::outline;

use crate::tools::{Random, circuit};

/// Both circuits under the same inputs: every output in every cycle.
fn assert_same(netlist: &Netlist, other: &Netlist, cycles: u64) {
    let options = Options { zeroed: true, ..Options::checked() };
    let mut engines = [netlist, other].map(|n| Interpreter::new(n, &options).expect("it runs"));
    let top = &netlist.modules[netlist.top.index()];
    let mut random = Random::default();
    for cycle in 0..cycles {
        for port in top.ports.iter().filter(|port| port.direction == Direction::Input) {
            let words = random.words(port.width);
            for engine in &mut engines {
                let input = engine.input(&port.name).expect("the ports are the same");
                engine.set_words(input, &words);
            }
        }
        engines.iter_mut().for_each(|engine| engine.step());
        for port in top.ports.iter().filter(|port| port.direction == Direction::Output) {
            let [ours, theirs] = [0, 1].map(|i| engines[i].peek(&port.name).expect("the ports are the same"));
            assert_eq!(ours, theirs, "cycle {cycle}: {}", port.name);
        }
    }
}

#[test]
fn a_bank_is_one_memory_a_physical_array_and_means_the_same() {
    let bank =
        circuit("register_bank", json!({"rows": 100, "lanes": 6, "lanes_per_cluster": 3, "writers": 3}));
    let outlined = outline(&bank);
    let [memory] = &outlined.memories[..] else { panic!("one kind of memory: {:?}", outlined.memories) };
    assert_eq!((memory.rows, memory.bits, memory.lanes), (100, 96, 3));
    assert_eq!((memory.reads, &memory.writes[..]), (1, &[true][..]));
    let top = &outlined.netlist.modules[outlined.netlist.top.index()];
    assert_eq!(top.instances.len(), 2);
    assert_eq!(outlined.flip_flops(), 0);
    assert_same(&bank, &outlined.netlist, 2_000);
}

#[test]
fn memories_of_the_staging_bank_and_of_the_hierarchy_mean_the_same() {
    for (name, overrides) in [("operand_staging_bank", json!({})), ("register_file_hierarchy", json!({}))] {
        let netlist = circuit(name, overrides);
        let outlined = outline(&netlist);
        assert!(!outlined.memories.is_empty(), "{name} has memories");
        assert_same(&netlist, &outlined.netlist, 100);
    }
}

#[test]
fn large_arrays_of_flip_flops_are_modules_and_mean_the_same() {
    // Each with how many arrays, all of one kind: of every field of values, one a cluster of four lanes.
    for (name, count) in [("operand_collectors", 24), ("register_file_cache", 8), ("register_read_unit", 24)]
    {
        let netlist = circuit(name, json!({}));
        let outlined = outline(&netlist);
        assert!(outlined.memories.is_empty(), "{name} has no memories");
        assert_eq!(outlined.netlist.modules.len(), netlist.modules.len() + 1, "{name}");
        let (top, before) = (outlined.netlist.top(), netlist.top());
        assert_eq!(top.instances.len(), before.instances.len() + count, "{name}");
        assert_same(&netlist, &outlined.netlist, 100);
    }
}

#[test]
fn small_tables_and_undivided_tables_that_are_read_in_the_same_cycle_stay() {
    // Two arrays of 480 bits, one of less than 8 rows.
    let split = circuit("register_bank", json!({"rows": 5, "lanes": 6, "lanes_per_cluster": 3}));
    let small = circuit("register_bank", json!({"rows": 7, "lanes": 6, "lanes_per_cluster": 6}));
    let combinational = circuit("fifo", json!({"depth": 64, "width": 64}));
    for netlist in [split, small, combinational] {
        let outlined = outline(&netlist);
        assert!(outlined.memories.is_empty());
        assert_eq!(outlined.netlist.modules, netlist.modules);
        assert!(outlined.flip_flops() >= 5 * 6 * 32);
    }
}
