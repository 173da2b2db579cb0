//! Leakage of rows that sleep: `warpfile power`, by what drives their transistors, beside what a run counts.

use std::collections::BTreeMap;
use std::thread;

use warpfile_kernels::workloads;
use warpfile_sim::config::{Config, apply_overrides, preset};
use warpfile_sim::energy::grid::Ports;
use warpfile_sim::energy::{EnergyModel, Technology};
use warpfile_sim::sm::{RunOptions, run};
use warpfile_synthesis::sram::NODE_NM;

use crate::command::Place;

/// Part by which the two may differ: decimals.
const TOLERANCE: f64 = 1e-6;

/// One scheduler, so that its circuit is all of the SM; changes of state take as much as to be seen.
const MACHINE: [(&str, &str); 6] = [
    ("sm.schedulers", "1"),
    ("sm.warps", "16"),
    ("register_file.bank_groups", "8"),
    ("greener.off_leakage", "0.03"),
    ("greener.sleep_transition_pj", "2"),
    ("greener.off_transition_pj", "7"),
];

/// What a run counts, mW at the node of [`NODE_NM`] and 1 GHz.
struct Events {
    /// Leakage of the registers and their changes of state.
    all_mw: f64,
    /// Of it changes of state.
    transitions_mw: f64,
    /// Leakage with every row ON.
    all_on_mw: f64,
    /// Leakage as a part of that, of arrays that read and write in one cycle.
    share: f64,
}

fn events(kernel: &str, config: &Config) -> Events {
    let mut technology = Technology::named(Technology::GTX980).expect("the project's");
    technology.node_nm = NODE_NM;
    technology.clock_ghz.value = 1.0;
    let model = EnergyModel::of(technology).expect("complete");
    let workload = workloads::list().iter().find(|workload| workload.name == kernel).expect("known");
    let report = run(config, &mut workload.open("tiny").expect("there"), RunOptions::default());
    let report = report.expect("every operand is right");
    let arrays = model.accesses(config, &report).arrays;
    let registers = arrays.iter().find(|array| array.name == "registers").expect("there");
    let gating = config.design.power_gating(config).expect("its rows sleep");
    let parts = model.parts(config).expect("priced");
    let (_, part) = parts.iter().find(|(array, _)| array.sleeping_rows.is_some()).expect("they sleep");
    let dual = model.prices().memory(part.entries, part.bits, Ports::DUAL).expect("priced");
    let (rows, cycles) = ((gating.rows)(&report), report.cycles as f64);
    Events {
        share: gating.leakage_share(rows, dual.gated_mw / dual.leakage_mw),
        all_mw: registers.leakage_pj / cycles,
        transitions_mw: gating.transitions_pj(rows) / cycles,
        all_on_mw: part.leakage_mw,
    }
}

/// What `warpfile power` says of the rows' memories, by name.
fn ports(circuit: &str, kernel: &str, design: &str) -> BTreeMap<String, f64> {
    let set = MACHINE.map(|(name, value)| format!("--set {name}={value}")).join(" ");
    let place = Place::new();
    place.succeeds(&format!(
        "power {circuit} --kernel {kernel} --preset k20x-greener --design {design} {set} --cycles 1000000 \
         --clock 1000 --json --out power"
    ));
    let gated = place.json_of("power/power.json")["power"]["memories"]["gated"].take();
    serde_json::from_value(gated).expect("numbers")
}

/// `instances`: circuits that have all rows together.
fn assert_agree(circuit: &str, instances: f64, kernel: &str, design: &str) {
    let mut config = preset("k20x-greener").expect("complete").with_design(design).expect("known");
    apply_overrides(&mut config, &MACHINE).expect("accepted");
    let (ports, events) = (ports(circuit, kernel, design), events(kernel, &config));
    let near = |name: &str, tolerance: f64, ports: f64, events: f64| {
        let differs = (ports / events - 1.0).abs();
        assert!(differs < tolerance, "{circuit}, {kernel}, {design}: {name} {ports} mW, by events {events}");
    };
    let transitions_mw = instances * ports["transitions_mw"];
    near("changes of state", TOLERANCE, transitions_mw, events.transitions_mw);
    let share = ports["leakage_mw"] / ports["ungated_leakage_mw"];
    near("part of the leakage", TOLERANCE, share, events.share);
    assert!(share < 0.6 && transitions_mw > 0.01 * events.all_mw, "{circuit}, {kernel}, {design}: {ports:?}");
    if instances == 1.0 {
        near("leakage with every row ON", TOLERANCE, ports["ungated_leakage_mw"], events.all_on_mw);
        near("leakage", TOLERANCE, ports["leakage_mw"] + transitions_mw, events.all_mw);
    }
    let states = ports["on"] + ports["sleep"] + ports["off"];
    near("states", TOLERANCE, states, 1.0);
}

/// RegLess's lines are in eight banks, which the model has as arrays of one port and the circuit as memories of two.
#[test]
fn leakage_by_ports_is_that_of_a_runs_events() {
    thread::scope(|scope| {
        for (circuit, instances, kernel, design) in [
            ("main_register_file", 1.0, "hotspot", "greener"),
            ("main_register_file", 1.0, "bfs", "sleep-reg"),
            ("main_register_file", 1.0, "hotspot", "rfc+greener"),
            ("operand_staging_bank", 8.0, "hotspot", "regless+greener"),
        ] {
            scope.spawn(move || assert_agree(circuit, instances, kernel, design));
        }
    });
}
