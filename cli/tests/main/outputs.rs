use crate::command::Place;

#[test]
fn a_circuit_is_written_as_verilog_with_file_list_and_manifest() {
    let place = Place::new();
    let printed = place.succeeds("gen fifo --set depth=5 --set width=1 -o out/fifo");
    let written = ["out/fifo/fifo_5x1.v", "out/fifo/fifo_5x1.f", "out/fifo/manifest.json"];
    assert_eq!(printed.lines().collect::<Vec<_>>(), written);
    let mut expected = [["out", "out/fifo"].as_slice(), &written].concat();
    expected.sort_unstable();
    assert_eq!(place.files(), expected);
    assert!(place.read(written[0]).contains("module fifo_5x1"));
}

#[test]
fn a_trace_of_a_trace_is_the_same_trace() {
    let place = Place::new();
    let summary = place.succeeds("trace vectoradd --size tiny -o a.wft");
    assert!(summary.starts_with("a.wft: 1 launches, 16 blocks, 2,268 warp instructions"), "{summary}");
    place.succeeds("trace a.wft -o b.wft");
    assert!(place.bytes("a.wft") == place.bytes("b.wft"));
    assert_eq!(place.files(), ["a.wft", "b.wft"]);
}

#[test]
fn an_accel_sim_trace_is_a_folder_that_can_be_read_again() {
    let place = Place::new();
    place.succeeds("trace vectoradd --size tiny -o out/text --format accelsim");
    assert_eq!(place.files(), ["out", "out/text", "out/text/kernel-1.traceg", "out/text/kernelslist.g"]);
    let again = place.succeeds("trace out/text -o again.wft");
    assert!(again.contains("1 launches, 16 blocks, 2,268 warp instructions"), "{again}");
}

#[test]
fn ptx_runs_with_the_launch_file_beside_it_or_one_that_is_named() {
    let place = Place::with_workload("vectoradd");
    place.write("elsewhere.toml", place.read("vectoradd.toml"));
    let summary = |arguments: &str| place.succeeds(arguments);
    let beside = summary("trace vectoradd.ptx --size tiny -o t.wft");
    assert_eq!(summary("trace vectoradd.ptx --launch elsewhere.toml --size tiny -o t.wft"), beside);
    assert_eq!(summary("trace vectoradd.toml --size tiny -o t.wft"), beside);
}

#[test]
fn a_listing_shows_registers_and_what_is_known_of_them() {
    let listing = Place::new().succeeds("annotate vectoradd --pass liveness");
    assert!(listing.starts_with("// vectoradd: 18 instructions, 6 registers a thread"), "{listing}");
    assert!(listing.contains("R1!~") && listing.contains("S "), "{listing}");
    let both = Place::new().succeeds("annotate backprop");
    let one = Place::new().succeeds("annotate backprop --entry layer_forward");
    assert!(both.contains(&one) && both.len() > one.len());
}
