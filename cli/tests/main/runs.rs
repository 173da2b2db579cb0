use std::path::Path;

use serde_json::Value;

use crate::command::Place;

/// The designs of the first kernel, without what differs from run to run.
fn designs(report: &Value) -> Vec<Value> {
    designs_of(&report["kernels"][0])
}

/// Those of a kernel.
fn designs_of(kernel: &Value) -> Vec<Value> {
    let mut designs = kernel["designs"].as_array().expect("a list").clone();
    for design in &mut designs {
        let design = design.as_object_mut().expect("an object");
        for measured in ["wall_time_s", "warp_instructions_per_second"] {
            assert!(design.remove(measured).is_some_and(|value| value.as_f64() > Some(0.0)), "{measured}");
        }
    }
    designs
}

#[test]
fn the_table_has_a_column_for_the_baseline_and_one_for_the_design() {
    let table = Place::new().succeeds("run hotspot --design rfc --size tiny");
    let heading: Vec<&str> = table.lines().nth(2).expect("a heading").split_whitespace().collect();
    assert_eq!(heading, ["baseline", "rfc"]);
    let rows = [
        "cycles",
        "IPC",
        "warp instructions",
        "MRF reads",
        "MRF writes",
        "RFC reads",
        "RFC writes",
        "MRF reads avoided",
        "MRF writes avoided",
        "energy, access only",
        "energy, with wires",
        "energy, registers",
        "energy, GPU",
        "operands checked",
        "wall time",
        "warp instructions/s",
    ];
    for row in rows {
        assert!(table.lines().any(|line| line.starts_with(&format!("{row}  "))), "{row}: {table}");
    }
    assert!(table.contains("1 result buffer equals the CPU reference: 1,152 elements."), "{table}");
}

#[test]
fn the_document_holds_what_the_table_shows() {
    let report = Place::new().json("run hotspot --design rfc --size tiny --json");
    let input = serde_json::json!({
        "kind": "workload", "name": "hotspot", "size": "tiny", "schedule": "list", "max_registers": 255,
        "operands": "constants"
    });
    assert_eq!(report["kernels"][0]["input"], input);
    let designs = designs(&report);
    assert_eq!([&designs[0]["name"], &designs[1]["name"]], ["baseline", "rfc"]);
    let keys = [
        "cycles",
        "ipc",
        "warp_instructions",
        "mrf_reads",
        "mrf_writes",
        "mrf_reads_avoided_percent",
        "mrf_writes_avoided_percent",
        "energy_normalised_access",
        "energy_normalised_with_wires",
        "operands_checked",
    ];
    for key in keys {
        assert!(designs.iter().all(|design| design[key].is_number()), "{key}");
    }
    let of = |design: usize, key: &str| designs[design][key].as_f64().expect("a number");
    assert_eq!(of(0, "energy_normalised_access"), 1.0);
    assert_eq!(of(0, "warp_instructions"), of(1, "warp_instructions"));
    assert!(of(1, "mrf_reads") < of(0, "mrf_reads"));
    let cache = &designs[1]["counters"]["rfc"];
    assert!(cache["reads"].as_u64() > Some(0) && designs[0]["counters"]["rfc"].is_null(), "{cache}");
    assert!(of(1, "operands_checked") > 0.0);
    assert_eq!(designs[1]["results"]["elements_checked"], 1152);
}

#[test]
fn a_size_without_a_published_energy_is_priced_as_flip_flops() {
    let place = Place::new();
    let report = place.json("run vectoradd --size tiny --set rfc.entries=5 --json");
    let rfc = &report["kernels"][0]["designs"][1];
    assert!(rfc["energy_normalised_access"].is_number() && rfc["energy_normalised_with_wires"].is_number());
    let arrays = rfc["energy"]["accesses"]["arrays"].as_array().expect("arrays");
    let source = |name: &str| &arrays.iter().find(|array| array["name"] == name).expect(name)["source"];
    assert_eq!(source("registers"), "Table 3");
    assert_eq!(source("register file cache"), "flip-flops, 40 nm");
    let table = place.succeeds("run vectoradd --size tiny --set rfc.entries=5");
    assert!(
        table.contains("No published energy for register file cache (40 rows): flip-flops, 40 nm."),
        "{table}"
    );
}

#[test]
fn designs_of_the_gtx980_have_an_energy_of_their_registers_and_of_the_gpu() {
    let place = Place::new();
    let command = "run vectoradd --size tiny --preset gtx980-regless --design regless,rfv,rfh,two-level";
    let report = place.json(&format!("{command} --json"));
    let designs = designs(&report);
    assert_eq!(designs.len(), 5);
    for design in &designs {
        let of = |key: &str| design[key].as_f64().unwrap_or_else(|| panic!("{key} of {design}"));
        let energy = &design["energy"];
        assert_eq!(energy["technology"], "gtx980-28nm");
        let registers = |of: &str| {
            let energy = &energy[of]["registers"];
            let parts = ["access_pj", "wires_pj", "clock_pj", "leakage_pj"];
            parts.iter().map(|part| energy[*part].as_f64().expect("a number")).sum::<f64>()
        };
        let relative = registers("design") / registers("baseline");
        assert!((of("energy_normalised_registers") - relative).abs() < 1e-9, "{design}");
        assert!(of("energy_normalised_gpu") > 0.5, "{design}");
        assert!(of("energy_normalised_with_wires") > 0.0 && energy["unavailable"].is_null());
    }
    let of = |design: usize, key: &str| designs[design][key].as_f64().expect("a number");
    assert_eq!((of(0, "energy_normalised_registers"), of(0, "energy_normalised_gpu")), (1.0, 1.0));
    let leakage = |design: usize| {
        let arrays = designs[design]["energy"]["accesses"]["arrays"].as_array().expect("arrays");
        let registers = arrays.iter().find(|array| array["name"] == "registers").expect("registers");
        registers["leakage_pj"].as_f64().expect("a number") / of(design, "cycles")
    };
    assert!(leakage(1) < 0.25 * leakage(0), "RegLess has a quarter of the lines, with a port less");
    let table = place.succeeds(command);
    for row in ["energy of registers, nJ", "energy, registers", "energy, GPU"] {
        assert!(table.lines().any(|line| line.starts_with(&format!("{row}  "))), "{row}: {table}");
    }
    assert!(!table.contains("No energy for"), "{table}");
    assert!(table.contains("technology gtx980-28nm (28 nm, 1.126 GHz).\n"), "{table}");
    assert!(
        table.contains("\nModelled: registers: ") && table.contains("\nNot modelled: arbiters"),
        "{table}"
    );
}

#[test]
fn every_design_has_an_energy_in_every_technology() {
    let designs = "two-level,rfc,regless,rfv,rfh".split(',');
    for (design, technology) in
        designs.flat_map(|one| warpfile_sim::energy::technology_names().map(move |two| (one, two)))
    {
        let command =
            format!("run vectoradd --size tiny --design {design} --set energy.technology={technology}");
        let table = Place::new().succeeds(&command);
        assert!(!table.contains("No energy for"), "{table}");
    }
}

#[test]
fn a_design_runs_on_the_preset_of_its_paper() {
    let preset = |designs: &str| {
        let table = Place::new().succeeds(&format!("run vectoradd --size tiny --design {designs}"));
        let (_, rest) = table.split_once(", preset ").expect("it says which");
        rest.split(',').next().expect("a name").to_owned()
    };
    assert_eq!(preset("rfc"), "gebhart2011");
    assert_eq!(preset("regless"), "gtx980-gpgpusim");
    assert_eq!(preset("two-level,regless"), "gtx980-gpgpusim");
    let error = Place::new().refused("run vectoradd --preset gebhart2011 --design regless");
    assert!(error.contains("design regless runs with preset gtx980-regless"), "{error}");
    Place::new().succeeds("gen regless -o out");
}

#[test]
fn what_renaming_did_is_shown() {
    let table = Place::new().succeeds("run vectoradd --size tiny --design rfv");
    let row = table.lines().find(|line| line.starts_with("registers allocated")).expect("a row");
    assert!(row.split_whitespace().last().is_some_and(|number| number != "0" && number != "-"), "{row}");
    let report = Place::new().json("run vectoradd --size tiny --design rfv --json");
    assert!(report["kernels"][0]["designs"][1]["counters"]["renaming"]["allocations"].as_u64() > Some(0));
}

#[test]
fn counters_of_a_hierarchy_are_those_of_all_sms() {
    let report = |sms: u32| {
        let command = format!("run hotspot --size tiny --design rfh --set chip.simulated_sms={sms} --json");
        let report = Place::new().json(&command);
        let of = |level: &str| {
            report["kernels"][0]["designs"][1]["counters"]["hierarchy"][level]["reads"]
                .as_u64()
                .expect("a number")
        };
        (of("lrf"), of("orf"))
    };
    assert_eq!(report(1), report(2));
}

#[test]
fn what_is_kept_reproduces_the_run() {
    let place = Place::new();
    let printed = place.json("run vectoradd --size tiny --set rfc.entries=4 --seed 3 --out kept --json");
    assert_eq!(place.files(), ["kept", "kept/config.toml", "kept/report.json"]);
    let kept: Value = serde_json::from_str(&place.read("kept/report.json")).expect("JSON");
    assert_eq!(kept, printed);
    let config = place.read("kept/config.toml");
    let command = config.lines().next().and_then(|line| line.strip_prefix("# warpfile ")).expect("a command");
    let again = place.json(&format!("{command} --json"));
    assert_eq!(designs(&again), designs(&printed));
    assert_eq!(again["kernels"][0]["input"], printed["kernels"][0]["input"]);
    for key in ["seed", "parameters"] {
        assert_eq!(again[key], printed[key], "{key}");
    }
}

#[test]
fn no_figure_depends_on_the_seed() {
    let place = Place::new();
    let run = |seed: u64| designs(&place.json(&format!("run vectoradd --size tiny --seed {seed} --json")));
    assert_eq!(run(1), run(2));
}

#[test]
fn a_kernel_its_trace_and_its_ptx_give_the_same_figures() {
    let place = Place::with_workload("vectoradd");
    place.succeeds("trace vectoradd --size tiny -o vectoradd.wft");
    let run = |input: &str| {
        let report = place.json(&format!("run {input} --json"));
        let without_results = |mut design: Value| {
            design.as_object_mut().expect("an object").remove("results");
            design
        };
        designs(&report).into_iter().map(without_results).collect::<Vec<_>>()
    };
    let workload = run("vectoradd --size tiny");
    assert_eq!(run("vectoradd.wft"), workload);
    assert_eq!(run("vectoradd.ptx --size tiny"), workload);
}

#[test]
fn a_trace_without_values_says_so() {
    let place = Place::new();
    place.succeeds("trace vectoradd --size tiny -o text --format accelsim");
    let with = place.succeeds("run text/kernelslist.g");
    assert!(with.contains("last reads claimed") && !with.contains("without values"), "{with}");
    let text = place.read("text/kernel-1.traceg");
    let without_values = |line: &str| match line.split_once(" Val ") {
        Some((instruction, _)) => format!("{instruction} NoVal\n"),
        None => format!("{line}\n"),
    };
    let text: String = text.lines().map(without_values).collect();
    place.write("text/kernel-1.traceg", text);
    let without = place.succeeds("run text/kernelslist.g");
    assert!(without.contains(" warp instructions without values; every write of theirs"), "{without}");
}

#[test]
fn a_waveform_covers_the_scope_and_cycles_asked_for() {
    let place = Place::new();
    place.succeeds("run vectoradd --size tiny --vcd w.vcd --wave-scope scheduler --wave-cycles 10..20");
    assert_eq!(place.files(), ["w.vcd"]);
    let vcd = place.read("w.vcd");
    assert!(vcd.contains("$scope module scheduler") && vcd.contains("issue_warp_o"), "{vcd}");
    assert!(vcd.contains("\n#100\n") && !vcd.contains("\n#90\n") && !vcd.contains("\n#210\n"));
    assert!(!vcd.contains("operands_source0_o"));
}

#[test]
fn a_result_that_is_not_as_expected_has_an_exit_code_of_its_own() {
    let place = Place::with_workload("vectoradd");
    place.rewrite("vectoradd.toml", "expected.toml", "result = \"exact\"", "result = { file = \"sum.bin\" }");
    place.write("sum.bin", [0; 16_000]);
    let output = place.run("run vectoradd.ptx --launch expected.toml --size tiny --out results");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.starts_with("error: expected.toml: buffer `sum`: 4000 of 4000 elements differ\n  element 0: "),
        "{stderr}"
    );
    assert!(!place.path("results").exists());
}

#[test]
fn the_report_names_the_engine_and_depends_on_nothing_else_of_it() {
    let place = Place::new();
    let run = |engine: &str| place.json(&format!("run bfs --size tiny --engine {engine} --json"));
    let (interpreted, compiled) = (run("interpreter"), run("compiled"));
    assert_eq!((&interpreted["engine"], &compiled["engine"]), (&"interpreter".into(), &"compiled".into()));
    assert_eq!(designs(&interpreted), designs(&compiled));
    assert_eq!(place.json("run bfs --size tiny --json")["engine"], "compiled");
    let table = place.succeeds("run bfs --size tiny --engine interpreter");
    assert!(table.starts_with("bfs (tiny), preset gebhart2011, interpreter engine\n"), "{table}");
}

/// A report's text without the numbers that are measured on the clock.
fn without_times(text: &str) -> String {
    let measured = ["\"wall_time_s\":", "\"warp_instructions_per_second\":"];
    let kept = |line: &&str| measured.iter().all(|key| !line.trim_start().starts_with(key));
    text.lines().filter(kept).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_number_of_threads_changes_no_byte_of_the_report() {
    let place = Place::new();
    let command = "run vectoradd bfs nw --design two-level,rfc --size tiny --json \
                   --set chip.sms=2 --set chip.simulated_sms=2";
    let one = without_times(&place.succeeds(&format!("{command} --threads 1")));
    assert!(one.contains("\"simulated_sms\": 2") && one.contains("\"name\": \"two-level\""), "{one}");
    for threads in [2, 0] {
        let several = without_times(&place.succeeds(&format!("{command} --threads {threads}")));
        assert!(several == one, "{threads} threads");
    }
}

/// Runs of SMs that ask each other, in any order and any number at once.
#[test]
fn sms_that_compare_their_stalls_give_the_same_on_any_number_of_threads() {
    let place = Place::new();
    let command = "run pathfinder --preset jatala-ch2 --design reg-share,two-level+reg-share --size tiny --json \
                   --set chip.simulated_sms=3 --set sharing.stall_window=20 --set sharing.private_percent=50 \
                   --set register_file.rows=12";
    let one = without_times(&place.succeeds(&format!("{command} --threads 1")));
    assert!(one.contains("\"windows\": ") && !one.contains("\"windows\": 0"), "{one}");
    for threads in [2, 3, 7] {
        let several = without_times(&place.succeeds(&format!("{command} --threads {threads}")));
        assert!(several == one, "{threads} threads");
    }
}

#[test]
fn several_kernels_and_designs_give_what_each_gives_alone() {
    let place = Place::new();
    let together = place.json("run vectoradd nw --design rfc,two-level --size tiny --json");
    let together = together["kernels"].as_array().expect("a list");
    assert_eq!(together.len(), 2);
    for (report, kernel) in together.iter().zip(["vectoradd", "nw"]) {
        let of = |design: &str| {
            designs(&place.json(&format!("run {kernel} --design {design} --size tiny --json")))
        };
        let (cached, two_level) = (of("rfc"), of("two-level"));
        assert_eq!(report["input"]["name"], kernel);
        assert_eq!(designs_of(report), [cached[0].clone(), cached[1].clone(), two_level[1].clone()]);
    }
    let tables = place.succeeds("run vectoradd nw --design rfc,two-level --size tiny");
    let headings: Vec<Vec<&str>> = tables
        .lines()
        .filter(|line| line.contains("baseline "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(headings, [["baseline", "rfc", "two-level"]; 2], "{tables}");
}

#[test]
fn what_is_kept_of_several_kernels_reproduces_them() {
    let place = Place::new();
    let printed = place
        .json("run vectoradd nw --design rfc,two-level --size tiny --set rfc.entries=4 --out kept --json");
    let config = place.read("kept/config.toml");
    let command = config.lines().next().and_then(|line| line.strip_prefix("# warpfile ")).expect("a command");
    let again = place.json(&format!("{command} --json"));
    let all = |document: &Value| -> Vec<Vec<Value>> {
        document["kernels"].as_array().expect("a list").iter().map(designs_of).collect()
    };
    assert_eq!(all(&again), all(&printed));
}

#[test]
fn sms_share_the_blocks_and_the_time() {
    let place = Place::new();
    let one = place.json("run hotspot --size tiny --json");
    let two = place.json("run hotspot --size tiny --json --set chip.sms=2 --set chip.simulated_sms=2");
    let of = |report: &Value, key: &str| report["kernels"][0]["designs"][1][key].as_f64().expect("a number");
    for key in ["warp_instructions", "blocks", "operands_checked"] {
        assert_eq!(of(&one, key), of(&two, key), "{key}");
    }
    assert!(of(&two, "cycles") < of(&one, "cycles"));
    assert!(of(&two, "ipc") > of(&one, "ipc"));
}

/// Lanes part and define `r2` at different times, with work in between, so that its line leaves the staging unit.
pub const SOFT_DEFINITIONS: [(&str, &str); 3] = [
    (
        "diamond",
        "setp.lt.u32 %p1, %r9, 7; @%p1 bra A;\n\
         mov.u32 %r2, %tid.x; add.u32 %r2, %r2, 5; bra M;\n\
         A: mov.u32 %r2, %tid.x; add.u32 %r2, %r2, 9;\n\
         M: add.u32 %r2, %r2, %r1;",
    ),
    (
        "rotated",
        "mov.u32 %r3, 0; mov.u32 %r2, 0;\n\
         L: ld.global.u32 %r5, [%rd2]; add.u32 %r3, %r3, 1; add.u32 %r3, %r3, %r5; xor.b32 %r2, %r3, 21;\n\
         setp.lt.u32 %p1, %r3, %r9; @%p1 bra L;\n\
         ld.global.u32 %r7, [%rd2]; add.u32 %r2, %r2, %r7;",
    ),
    (
        "guard",
        "add.u32 %r2, %r1, 3; setp.lt.u32 %p1, %r9, 7; bar.sync 0;\n\
         @%p1 add.u32 %r2, %r1, 40; bar.sync 0;\n\
         ld.global.u32 %r7, [%rd2]; add.u32 %r2, %r2, %r7;",
    ),
];

/// A kernel with a body of [`SOFT_DEFINITIONS`], and its launch file.
pub fn write_soft_definition(place: &Place, name: &str, body: &str) {
    let ptx = format!(
        ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd1, %rd3; and.b32 %r9, %r1, 31;\n\
         {body}\nst.global.u32 [%rd2], %r2; ret; }}\n"
    );
    place.write(&format!("{name}.ptx"), ptx);
    let launch = "[buffers]\nout = { type = \"u32\", length = 512, fill = \"zeros\" }\n\
                  [[steps]]\nentry = \"k\"\ngrid = 4\nblock = 512\narguments = [\"out\"]\n";
    place.write(&format!("{name}.toml"), launch);
}

#[test]
fn where_lines_are_scarce_the_papers_soft_definitions_lose_lanes_and_the_sound_ones_do_not() {
    let place = Place::new();
    for (name, body) in SOFT_DEFINITIONS {
        write_soft_definition(&place, name, body);
        let run = |soft_defs: &str| {
            place.run(&format!(
                "run {name}.toml --schedule none --preset gtx980-regless --design regless --set regless.lines=64 \
                 --set regless.max_live_fraction=0.5 --set regless.compressor_lines=0 --set regless.soft_defs={soft_defs}"
            ))
        };
        let (sound, paper) = (run("sound"), run("paper"));
        assert!(sound.status.success(), "{name}: {}", String::from_utf8_lossy(&sound.stderr));
        let told = String::from_utf8_lossy(&paper.stderr);
        assert_eq!(paper.status.code(), Some(1), "{name}: {told}");
        assert!(told.contains("wrong operand") && told.contains("found 0x00000000"), "{name}: {told}");
    }
}

/// Bodies that compile to no register, or to no instruction with one.
#[test]
fn a_kernel_without_registers_runs_through_every_design() {
    let place = Place::new();
    place.write("k.toml", "[[steps]]\nentry = \"k\"\ngrid = 3\nblock = 70\narguments = []\n");
    for body in ["ret;", "exit;", "bar.sync 0; ret;", "membar.gl; bar.sync 0; exit;"] {
        let head = ".version 7.0\n.target sm_70\n.address_size 64\n";
        place.write("k.ptx", format!("{head}.visible .entry k()\n{{\n{body}\n}}\n"));
        let table = place.succeeds("run k.ptx --design regless,rfv,rfh,two-level");
        assert!(table.contains("Every operand checked was right."), "{body}: {table}");
    }
}

#[test]
fn what_a_kernel_prints_comes_before_the_table_and_in_the_document() {
    let place = Place::new();
    let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/tests/ptx/print.ptx");
    place.write("print.ptx", std::fs::read(ptx).expect("readable"));
    let launch = |value: u32| {
        format!(
            "[buffers]\nvalues = {{ type = \"s32\", length = 1, fill = {{ constant = {value} }} }}\n\
             [[steps]]\nentry = \"check\"\ngrid = 2\nblock = 1\narguments = [\"values\", {{ s32 = 5 }}]\n"
        )
    };
    place.write("print.toml", launch(1));
    let lines = "thread 0 of block 0\nthread 0 of block 1\n";
    // Once, whatever the number of designs.
    let table = place.succeeds("run print.ptx --design rfc,regless");
    assert!(table.starts_with(&format!("{lines}\nprint.ptx")), "{table}");
    assert_eq!(place.json("run print.ptx --design rfc --json")["kernels"][0]["printed"], lines);
    place.write("print.toml", launch(9));
    let output = place.run("run print.ptx --design rfc");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "thread 0 of block 0\n\n");
    let refused = String::from_utf8_lossy(&output.stderr);
    assert!(refused.contains("assertion `values[i] < limit` failed"), "{refused}");
}

#[test]
fn kernels_are_annotated_though_another_of_the_file_cannot_be_run() {
    let place = Place::new();
    let entry = |name: &str, body: &str| format!(".entry {name}(.param .u64 p)\n{{\n{body}\nret;\n}}\n");
    let head = ".version 7.0\n.target sm_70\n.address_size 64\n";
    place.write("mixed.ptx", head.to_owned() + &entry("_Z4goodPf", "") + &entry("_Z3badPf", "frobnicate;"));
    let listing = place.succeeds("annotate mixed.ptx");
    assert!(listing.contains("_Z4goodPf"), "{listing}");
    assert!(listing.contains("bad(float*) cannot be run:\nmixed.ptx:11: `frobnicate`: "), "{listing}");
    assert!(place.succeeds("annotate mixed.ptx --entry good").contains("_Z4goodPf"));
    assert!(place.refused("annotate mixed.ptx --entry bad").contains("error: mixed.ptx:11: `frobnicate`: "));
    place.write("bad.ptx", head.to_owned() + &entry("_Z3badPf", "frobnicate;"));
    assert!(place.refused("annotate bad.ptx").contains("error: bad.ptx:6: `frobnicate`: "));
}
