//! The firmware under rust-hdl's simulation, beside its export under Icarus.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use rust_hdl_core::prelude::*;
use warpfile_hdl::rfc::RegisterFileCache;
use warpfile_rust_hdl_example::{CACHE, Cache, Firmware};

const CYCLES: usize = 400;
/// Cycles under reset; what comes out until it has passed the flip-flops means nothing.
const RESET: usize = 2;
const LATENCY: usize = 2;

/// What drives a cycle.
#[derive(Clone, Copy, Debug)]
struct Stimulus {
    reset: bool,
    result: u64,
    value: u64,
    lookup: u64,
}

/// What is seen at the end of a cycle: taken, found, spilled, register, lanes, value; `None` is unknown.
type Seen = [Option<u64>; 6];

fn stimuli() -> Vec<Stimulus> {
    let mut state = 7u64;
    let mut random = || {
        // Xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut stimulus = |cycle| {
        let reset = cycle < RESET;
        let mask = |value: u64, bits: u64| if reset { 0 } else { value % (1 << bits) };
        Stimulus { reset, result: mask(random(), 7), value: random(), lookup: mask(random(), 6) }
    };
    (0..CYCLES).map(&mut stimulus).collect()
}

/// Runs the firmware as a user of rust-hdl does.
fn simulated(stimuli: Vec<Stimulus>) -> Vec<Seen> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let mut simulation = Simulation::new();
    simulation.add_clock(5, |firmware: &mut Box<Firmware>| firmware.clock.next = !firmware.clock.val());
    simulation.add_testbench(move |mut sim: Sim<Firmware>| {
        let mut x = sim.init()?;
        for stimulus in &stimuli {
            kept.lock().unwrap().push([
                Some(u64::from(x.taken.val())),
                Some(x.found.val().to_u64()),
                Some(u64::from(x.spilled.val())),
                Some(x.spilled_register.val().to_u64()),
                Some(x.spilled_lanes.val().to_u64()),
                Some(x.spilled_value.val().to_u64()),
            ]);
            x.reset.next = stimulus.reset;
            x.result.next = stimulus.result.into();
            x.result_value.next = stimulus.value.into();
            x.lookup.next = stimulus.lookup.into();
            wait_clock_true!(sim, clock, x);
            wait_clock_false!(sim, clock, x);
            sim_assert!(sim, x.cache().circuit().violation().is_none(), x);
        }
        sim.done(x)
    });
    simulation.run(Box::new(Firmware::new().unwrap()), 1_000_000).unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

fn exported() -> String {
    let mut firmware = Firmware::new().unwrap();
    firmware.connect_all();
    generate_verilog(&firmware)
}

/// Runs the export under Icarus, which looks and drives at the falling clock, as the simulation does.
fn under_icarus(stimuli: &[Stimulus]) -> Vec<Seen> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("firmware.v"), exported()).unwrap();
    let lines: Vec<String> = stimuli
        .iter()
        .map(|s| {
            let head = (u128::from(s.reset) << 13) | u128::from(s.result) << 6 | u128::from(s.lookup);
            format!("{:x}", head << 64 | u128::from(s.value))
        })
        .collect();
    fs::write(folder.path().join("stimuli.hex"), lines.join("\n")).unwrap();
    let testbench = format!(
        "module testbench;
    reg clock = 0, reset = 0;
    reg [6:0] result = 0;
    reg [63:0] value = 0;
    reg [5:0] lookup = 0;
    reg [77:0] stimuli [0:{last}];
    wire taken, spilled;
    wire [1:0] found, lanes;
    wire [2:0] register;
    wire [63:0] spilled_value;
    integer cycle;
    top firmware (.clock(clock), .reset(reset), .result(result), .result_value(value), .lookup(lookup),
        .taken(taken), .found(found), .spilled(spilled), .spilled_register(register),
        .spilled_lanes(lanes), .spilled_value(spilled_value));
    initial begin
        $readmemh(\"stimuli.hex\", stimuli);
        for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin
            #1 $display(\"%h %h %h %h %h %h\", taken, found, spilled, register, lanes, spilled_value);
            {{reset, result, lookup, value}} = stimuli[cycle];
            #1 clock = 1;
            #1 clock = 0;
        end
    end
endmodule
",
        last = stimuli.len() - 1,
        cycles = stimuli.len(),
    );
    fs::write(folder.path().join("testbench.v"), testbench).unwrap();
    run("iverilog", &["-g2005", "-o", "testbench.vvp", "testbench.v", "firmware.v"], folder.path());
    let text = run("vvp", &["-n", "testbench.vvp"], folder.path());
    let value = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let seen = |line: &str| {
        let values: Vec<Option<u64>> = line.split_whitespace().map(value).collect();
        Seen::try_from(values).ok()
    };
    text.lines().filter_map(seen).collect()
}

/// What the tool prints, which must end well.
fn run(tool: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(tool).args(arguments).current_dir(folder).output();
    let output =
        output.unwrap_or_else(|error| panic!("`{tool}` does not run ({error}); `scripts/test` installs it"));
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() || tool == "verilator", "{tool}: {text}");
    text
}

/// The bits of the lanes in `mask`.
fn in_lanes(value: u64, mask: u64) -> u64 {
    (0..2).filter(|lane| mask >> lane & 1 == 1).fold(0, |all, lane| all | value & 0xffff_ffff << (32 * lane))
}

#[test]
fn a_firmware_runs_in_rust_hdl_as_its_export_does_in_icarus() {
    let stimuli = stimuli();
    let ours = simulated(stimuli.clone());
    let theirs = under_icarus(&stimuli);
    assert_eq!((ours.len(), theirs.len()), (CYCLES, CYCLES));
    let mut counts = [0; 3];
    for cycle in RESET + LATENCY..CYCLES {
        let [taken, found, spilled, register, lanes, value] = ours[cycle];
        let icarus = theirs[cycle];
        assert_eq!([taken, spilled], [icarus[0], icarus[2]], "cycle {cycle}");
        if stimuli[cycle - LATENCY].lookup & 1 == 1 {
            assert_eq!(found, icarus[1], "cycle {cycle}");
            counts[1] += u32::from(found != Some(0));
        }
        if spilled == Some(1) {
            assert_eq!([register, lanes], [icarus[3], icarus[4]], "cycle {cycle}");
            let mask = lanes.unwrap_or_default();
            let theirs = icarus[5].map(|value| in_lanes(value, mask));
            assert!(mask != 3 || theirs.is_some(), "cycle {cycle}: a spilled value is known");
            assert!(theirs.is_none_or(|theirs| value.map(|ours| in_lanes(ours, mask)) == Some(theirs)));
            counts[2] += 1;
        }
        counts[0] += u32::from(taken == Some(1) && stimuli[cycle - LATENCY].result & 1 == 1);
    }
    assert!(counts.iter().all(|&count| count >= 20), "taken, found, spilled: {counts:?}");
}

/// Lines of the export that are ours.
fn our_lines(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut begun = None;
    for (line, text) in (1..).zip(text.lines()) {
        if text.starts_with("`ifndef WARPFILE_") {
            begun = Some(line);
        }
        // Inside a guarded module `endif` ends its properties; the guard's own follows the module.
        if text == "endmodule"
            && let Some(begun) = begun.take()
        {
            ranges.push(begun..line);
        }
    }
    ranges
}

#[test]
fn no_tool_complains_about_our_modules_in_an_export() {
    let text = exported();
    let ours = our_lines(&text);
    assert!(!ours.is_empty(), "{text}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("firmware.v"), &text).unwrap();
    let lint = ["--lint-only", "-Wall", "-Wno-fatal", "--top-module", "top", "firmware.v"];
    let printed = run("verilator", &lint, folder.path());
    let printed = printed + &run("iverilog", &["-Wall", "-g2005", "-t", "null", "firmware.v"], folder.path());
    assert!(!printed.contains("%Error:"), "{printed}");
    let line_of = |line: &str| line.split_once("firmware.v:")?.1.split(':').next()?.parse::<usize>().ok();
    let complaints = printed.lines().filter_map(|line| Some((line_of(line)?, line)));
    let about_us: Vec<&str> = complaints
        .filter(|(number, _)| ours.iter().any(|range| range.contains(number)))
        .map(|(_, line)| line)
        .collect();
    assert!(about_us.is_empty(), "{}", about_us.join("\n"));
}

#[test]
fn yosys_takes_an_export() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("firmware.v"), exported()).unwrap();
    let script = "read_verilog firmware.v; hierarchy -check -top top; proc; check -assert; stat";
    let printed = run("yosys", &["-p", script], folder.path());
    assert!(printed.contains("$paramod") || printed.contains("register_file_cache"), "{printed}");
}

/// Two blocks of the same circuit.
#[derive(LogicBlock)]
struct Twins {
    clock: Signal<In, Clock>,
    first: warpfile_rust_hdl_example::Queue,
    second: warpfile_rust_hdl_example::Queue,
    full: Signal<Out, Bit>,
}

impl Logic for Twins {
    #[hdl_gen]
    fn update(&mut self) {
        self.first.clock.next = self.clock.val();
        self.second.clock.next = self.clock.val();
        self.first.rst_i.next = false;
        self.second.rst_i.next = false;
        self.first.in_valid_i.next = true;
        self.first.in_data_i.next = 5.into();
        self.first.out_ready_i.next = self.second.in_ready_o.val();
        self.second.in_valid_i.next = self.first.out_valid_o.val();
        self.second.in_data_i.next = self.first.out_data_o.val();
        self.second.out_ready_i.next = false;
        self.full.next = !self.first.in_ready_o.val();
    }
}

#[test]
fn two_blocks_of_one_circuit_can_be_exported_together() {
    let queue = || warpfile_rust_hdl_example::queue().unwrap();
    let mut twins =
        Twins { clock: Default::default(), first: queue(), second: queue(), full: Default::default() };
    twins.connect_all();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("twins.v"), generate_verilog(&twins)).unwrap();
    run("iverilog", &["-g2005", "-t", "null", "twins.v"], folder.path());
}

#[test]
fn a_block_whose_ports_are_others_is_refused() {
    let refused = |cache: RegisterFileCache| Cache::new(&cache).err().unwrap().to_string();
    assert!(
        refused(RegisterFileCache { register_bits: 4, ..CACHE })
            .ends_with("`lookup_source0_register_i` is declared with 3 bits and has 4")
    );
    assert!(
        refused(RegisterFileCache { slots: 0, ..CACHE }).contains("parameter `slots` is 0"),
        "an invalid parameter"
    );
}
