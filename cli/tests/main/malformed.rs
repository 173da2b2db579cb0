//! What bad input is told. Each message is reviewed like code: it names file, line or option, the value, and what
//! would be accepted.

use insta::assert_snapshot;

use crate::command::Place;

#[test]
fn traces() {
    let place = Place::new();
    place.succeeds("trace vectoradd --size tiny -o whole.wft");
    let whole = place.bytes("whole.wft");
    place.write("truncated.wft", &whole[..3000]);
    let with_byte = |index: usize, byte: u8| {
        let mut damaged = whole.clone();
        damaged[index] = byte;
        damaged
    };
    place.write("version.wft", with_byte(8, 9));
    place.write("damaged.wft", with_byte(40, !whole[40]));
    place.write("text.wft", "hello\n");
    let commands = ["truncated", "version", "damaged", "text", "missing"]
        .map(|name| format!("trace {name}.wft -o out.wft"));
    assert_snapshot!(without_checksums(&place.all_refused(&commands.each_ref().map(String::as_str))));
}

/// Checksums depend on the whole trace.
fn without_checksums(text: &str) -> String {
    let is_checksum = |word: &str| word.len() == 16 && word.chars().all(|digit| digit.is_ascii_hexdigit());
    text.split(' ')
        .map(|word| if is_checksum(word) { "<checksum>" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn accel_sim_traces() {
    let place = Place::new();
    place.succeeds("trace vectoradd --size tiny -o whole --format accelsim");
    let kernel = "whole/kernel-1.traceg";
    let text = place.read(kernel);
    let lines: Vec<&str> = text.lines().collect();
    place.write("truncated.traceg", lines[..100].join("\n"));
    place.rewrite(kernel, "version.traceg", "tracer version = 6", "tracer version = 60");
    place.rewrite(kernel, "grid.traceg", "grid dim = (16,1,1)", "grid dim = (16,one,1)");
    place.rewrite(kernel, "mask.traceg", " ffffffff ", " xyz ");
    place.write("kernelslist.g", "kernel-7.traceg\n");
    let commands = [
        "trace truncated.traceg -o out.wft",
        "trace version.traceg -o out.wft",
        "trace grid.traceg -o out.wft",
        "trace mask.traceg -o out.wft",
        "trace kernelslist.g -o out.wft",
        "trace truncated.traceg -o out --format accelsim",
        "trace truncated.traceg --size tiny -o out.wft",
        "trace truncated.traceg --schedule list -o out.wft",
        "trace vectoradd --schedule fast -o out.wft",
        "trace vectoradd --isa sm_70 -o out.wft",
    ];
    assert_snapshot!(place.all_refused(&commands));
}

#[test]
fn ptx() {
    let place = Place::with_workload("vectoradd");
    let ptx = "vectoradd.ptx";
    place.rewrite(ptx, "opcode.ptx", "add.f32", "frobnicate.f32");
    place.rewrite(ptx, "form.ptx", "add.f32", "add.f77");
    place.rewrite(ptx, "register.ptx", "%f3, %f1", "%f3, %q1");
    place.write("latin.ptx", b".version 7.0 // \xe9\n");
    place.write("alone.ptx", place.read(ptx));
    let commands = [
        "run opcode.ptx --launch vectoradd.toml --out results",
        "trace form.ptx --launch vectoradd.toml -o out.wft",
        "annotate register.ptx",
        "annotate latin.ptx",
        "annotate missing.ptx",
        "annotate vectoradd.ptx --entry vectorsub",
        "run missing.ptx",
        "run alone.ptx",
    ];
    assert_snapshot!(place.all_refused(&commands));
}

#[test]
fn launch_files() {
    let place = Place::with_workload("backprop");
    let launch = "backprop.toml";
    place.write("backprop.bad.ptx", place.read("backprop.ptx"));
    place.rewrite(launch, "buffer.toml", "\"input\"", "\"inputs\"");
    place.rewrite(launch, "no_entry.toml", "entry = \"layer_forward\"\n", "");
    place.rewrite(launch, "entry.toml", "entry = \"layer_forward\"", "entry = \"layer_backward\"");
    place.rewrite(launch, "key.toml", "grid = ", "gird = ");
    place.rewrite(launch, "block.toml", "block = [16, 16]", "block = [160, 16]");
    place.rewrite(launch, "syntax.toml", "block = [16, 16]", "block = [16, 16");
    let commands = ["buffer", "no_entry", "entry", "key", "block", "syntax", "missing"]
        .map(|name| format!("trace backprop.ptx --launch {name}.toml --size tiny -o out.wft"));
    let mut text = place.all_refused(&commands.each_ref().map(String::as_str));
    text += &place.all_refused(&[
        "trace backprop.ptx --size huge -o out.wft",
        "trace vectoradd --launch backprop.toml -o out.wft",
    ]);
    assert_snapshot!(text);
}

#[test]
fn a_kernel_that_leaves_its_buffer() {
    let place = Place::with_workload("vectoradd");
    place.rewrite(
        "vectoradd.toml",
        "short.toml",
        "sum = { type = \"f32\", length = \"n\"",
        "sum = { type = \"f32\", length = \"n / 2\"",
    );
    assert_snapshot!(place.all_refused(&["trace vectoradd.ptx --launch short.toml --size tiny -o out.wft"]));
}

#[test]
fn names() {
    let place = Place::new();
    let commands = [
        "run hotspott",
        "run hotspot --design rcf",
        "run hotspot --preset gebhart2012",
        "run hotspot --size tyni",
        "run hotspot --engine verilator",
        "run hotspot --threads many",
        "run hotspot --threads 100000",
        "run hotspot --design rfc,rcf",
        "run vectoradd hotspott",
        "run vectoradd hotspot --launch launch.toml",
        "run vectoradd hotspot --vcd w.vcd",
        "run vectoradd hotspot --fst w.fst",
        "run vectoradd --design rfc,two-level --vcd w.vcd",
        "run vectoradd hotspot --kanata w.kanata",
        "run vectoradd --set chip.simulated_sms=2",
        "run hotspot --set energy.technology=7nm",
        "gen fifoo -o out",
        "annotate hotspott",
        "list things",
    ];
    assert_snapshot!(place.all_refused(&commands));
}

#[test]
fn area_and_power() {
    let place = Place::new();
    place.write("text.lib", "hello");
    place.write("empty.lib", "library (empty) { }");
    let commands = [
        "area fifoo",
        "area fifo --set depth=0",
        "area fifo --preset gebhart2011",
        "area fifo --liberty missing.lib",
        "area fifo --liberty text.lib",
        "area fifo --liberty empty.lib",
        "power rfc --random 5",
        "power fifo --random 0",
        "power fifo --random 5 --clock 0",
    ];
    assert_snapshot!(place.all_refused(&commands));
}

#[test]
fn parameters() {
    let place = Place::new();
    place.write("key.toml", "[rfc]\nentires = 6\n");
    place.write("value.toml", "[rfc]\nreplacement = \"random\"\n");
    place.write("syntax.toml", "[rfc]\nentries = \n");
    place.write("long.toml", "#".repeat((1 << 20) + 1));
    place.write("other.toml", "preset = \"gebhart2012\"\n");
    let commands = [
        "run hotspot --set rfc.entires=6",
        "run hotspot --set rfc.entries=99",
        "run hotspot --set rfc.entries=six",
        "run hotspot --set rfc.entries",
        "run hotspot --set sm.schedulers=3",
        "run hotspot --set sm.warps=4",
        "run hotspot --config key.toml",
        "run hotspot --config value.toml",
        "run hotspot --config syntax.toml",
        "run hotspot --config other.toml",
        "run hotspot --config other.toml --preset gebhart2011",
        "run hotspot --config missing.toml",
        "run hotspot --config long.toml",
        "gen fifo --set dept=5 -o out",
        "gen fifo --set depth=five -o out",
        "gen fifo --set depth=0 -o out",
        "gen fifo --preset gebhart2011 -o out",
    ];
    assert_snapshot!(place.all_refused(&commands));
}

#[test]
fn places_that_cannot_be_written_to() {
    let place = Place::new();
    place.write("file", "");
    let commands = [
        "run hotspot --size tiny --out file",
        "run hotspot --size tiny --out file/results",
        "run hotspot --size tiny --out results --vcd none/w.vcd",
        "run hotspot --size tiny --vcd .",
        "trace vectoradd --size tiny -o none/t.wft",
        "trace vectoradd --size tiny -o .",
        "trace vectoradd --size tiny -o file --format accelsim",
        "gen fifo -o file",
        "gen fifo",
    ];
    assert_snapshot!(place.all_refused(&commands));
}

#[test]
fn what_is_found_while_it_runs() {
    let place = Place::new();
    place.succeeds("trace vectoradd --size tiny -o text --format accelsim");
    let kernel = "text/kernel-1.traceg";
    let text = place.read(kernel);
    let lines: Vec<&str> = text.lines().collect();
    place.write("truncated.traceg", lines[..lines.len() - 9].join("\n"));
    let commands = [
        "run truncated.traceg --out results --vcd w.vcd",
        "run hotspot --set sm.warps=4 --set scheduler.active_warps=4 --size tiny --out results",
        "run hotspot --set register_file.bank_groups=3 --size tiny --out results",
    ];
    assert_snapshot!(place.all_refused(&commands));
}

#[test]
fn waveforms() {
    let place = Place::new();
    let commands = [
        "run hotspot --size tiny --vcd w.vcd --wave-cycles 5..2",
        "run hotspot --size tiny --vcd w.vcd --wave-cycles 5",
        "run hotspot --size tiny --wave-cycles 2..5",
        "run hotspot --size tiny --vcd w.vcd --fst w.fst",
        "run hotspot --size tiny --kanata-cycles 2..5",
        "run hotspot --size tiny --kanata w.kanata --kanata-cycles 5..2",
        "run hotspot --size tiny --vcd w.vcd --wave-scope registers --out results",
        "run hotspot --size tiny --fst w.fst --wave-scope register_file.caches",
    ];
    assert_snapshot!(place.all_refused(&commands));
}
