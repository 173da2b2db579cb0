use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::Place;

#[test]
fn a_circuit_is_written_as_verilog_with_file_list_and_manifest() {
    let place = Place::new();
    let printed = place.succeeds("gen fifo --set depth=5 --set width=1 -o out/fifo");
    let written = [
        "fifo_5x1.v",
        "fifo_5x1.f",
        "fifo_5x1.core",
        "Bender.yml",
        "fifo_5x1.sdc",
        "fifo_5x1_tb.sv",
        "manifest.json",
    ]
    .map(|name| format!("out/fifo/{name}"));
    assert_eq!(printed.lines().collect::<Vec<_>>(), written);
    let mut expected: Vec<&str> =
        ["out", "out/fifo"].into_iter().chain(written.iter().map(String::as_str)).collect();
    expected.sort_unstable();
    assert_eq!(place.files(), expected);
    assert!(place.read(&written[0]).contains("module fifo_5x1"));
}

#[test]
fn verilog_is_printed_in_the_style_asked_for() {
    let place = Place::new();
    place.succeeds("gen register_bank -o default");
    place.succeeds("gen register_bank --style lanes -o lanes");
    place.succeeds("gen register_bank --style words -o words");
    let folders = ["default", "lanes", "words"];
    let all = place.files();
    let module = all.iter().find(|file| file.starts_with("default/") && file.ends_with(".v")).unwrap();
    let [default, lanes, words] = folders.map(|folder| place.read(&module.replace("default", folder)));
    assert!(default == lanes && lanes != words);
    let refused = place.refused("gen register_bank --style rows -o rows");
    assert!(refused.contains("accepted: lanes, words"), "{refused}");
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
    assert!(listing.starts_with("// vectoradd: 18 instructions, 5 registers a thread"), "{listing}");
    assert!(listing.contains("R1!~") && listing.contains("S "), "{listing}");
    let both = Place::new().succeeds("annotate backprop");
    let one = Place::new().succeeds("annotate backprop --entry layer_forward");
    assert!(both.contains(&one) && both.len() > one.len());
}

#[test]
fn a_listing_of_regions_shows_what_they_need_and_where_lines_are_given_up() {
    let listing = Place::new().succeeds("annotate vectoradd --pass regless");
    for part in [
        "registers a thread, 4 regions",
        "region 0: live ",
        "banks ",
        "preload R",
        "(invalidating)",
        "^ ",
        "! ",
    ] {
        assert!(listing.contains(part), "{part}: {listing}");
    }
}

#[test]
fn a_listing_of_relssp_shows_where_variables_lie_and_how_long_they_are_in_use() {
    // 218 of 2,180 bytes are a block's own: the border is in the first variable.
    let listing = Place::new().succeeds("annotate nw --pass relssp --entry diagonal");
    for part in [
        "// scratchpad: 2180 bytes a block, the first 218 of them its own",
        "//       0      1156  in part own ",
        "//    1156      1024  shared ",
        " diagonal::match\n",
        "// in the range of all that are shared: ",
    ] {
        assert!(listing.contains(part), "{part}: {listing}");
    }
    assert_eq!(listing.lines().filter(|line| line.trim_end().ends_with(" relssp")).count(), 1, "{listing}");
    let listing = Place::new().succeeds("annotate nw --pass relssp --entry borders");
    assert!(listing.starts_with("// scratchpad: 0 bytes a block; with 1024 or fewer no block has to share"));
    let listing = Place::new().succeeds("annotate nw --pass sharing --entry diagonal");
    assert!(listing.contains("32 registers a thread, 3 for a warp alone"), "{listing}");
}

#[test]
fn regions_that_cannot_fit_and_options_of_another_pass_are_errors() {
    let error = Place::new()
        .refused("annotate mri-q --pass regless --set regless.lines=64 --set regless.max_live_fraction=0.13");
    assert!(error.contains("kernel `weigh`: region 1 ") && error.contains("at most 2"), "{error}");
    let error = Place::new().refused("annotate mri-q --set regless.soft_defs=paper");
    assert!(error.contains("--set regless.soft_defs says nothing to --pass liveness"), "{error}");
    let error = Place::new().refused("annotate mri-q --pass rfc");
    assert!(error.contains("no pass `rfc`; accepted: liveness, regless, rfv, rfh"), "{error}");
}

/// Every pass that is offered prints a listing of the kernel.
#[test]
fn every_pass_has_a_listing() {
    for pass in ["liveness", "regless", "rfv", "rfh"] {
        let printed = Place::new().succeeds(&format!("annotate hotspot --pass {pass}"));
        assert!(
            printed.starts_with("// hotspot: 122 instructions, ") && printed.contains("mad.lo.s32"),
            "{pass}: {printed}"
        );
    }
    assert!(Place::new().succeeds("annotate hotspot --pass rfv").contains("  free R"));
}

/// A trace's program is what was executed; its passes find strands and entries in it as in a kernel's.
#[test]
fn a_trace_is_annotated_kernel_by_kernel() {
    let place = Place::new();
    place.succeeds("trace backprop --size tiny --format accelsim -o t");
    let both = place.succeeds("annotate t --pass rsp");
    let one = place.succeeds("annotate t/kernelslist.g --pass rsp --entry layer_forward");
    assert!(
        one.starts_with("// launch 1\n// layer_forward: ") && both.contains(&one) && both.len() > one.len()
    );
    assert!(one.contains("write allocation of ") && one.contains("reconverges at B"), "{one}");
    place.succeeds("trace backprop --size tiny -o t.wft");
    assert!(place.succeeds("annotate t.wft").contains(" <- "));
    let error = place.refused("annotate t --entry layer_backward");
    assert!(error.contains("t: no kernel `layer_backward`; it has `layer_forward`, `"), "{error}");
    let error = place.refused("annotate t --schedule none");
    assert!(error.contains("--schedule none: a trace has the code that it was recorded with"), "{error}");
}

#[test]
fn nested_parameters_of_a_circuit_are_set_by_dotted_names() {
    let place = Place::new();
    place.succeeds("gen main_register_file --set geometry.banks=2 --set geometry.rows=8 -o out");
    let manifest: serde_json::Value = serde_json::from_str(&place.read("out/manifest.json")).expect("JSON");
    let text = manifest.to_string();
    assert!(text.contains(r#"\"banks\":2"#) && text.contains(r#"\"rows\":8"#), "{text}");
}

#[test]
fn a_design_is_written_circuit_by_circuit_as_its_parameters_say() {
    let place = Place::new();
    let printed = place.succeeds("gen rfc --set rfc.entries=4 --set scheduler.active_warps=6 -o out");
    for circuit in ["register_file", "scheduler"] {
        let list =
            printed.lines().find(|line| line.starts_with(&format!("out/{circuit}/")) && line.ends_with(".f"));
        for name in place.read(list.expect("a file list")).lines() {
            assert!(place.path(&format!("out/{circuit}/{name}")).is_file(), "{name}");
        }
    }
    let manifest = |circuit: &str| place.read(&format!("out/{circuit}/manifest.json"));
    let (register_file, scheduler) = (manifest("register_file"), manifest("scheduler"));
    assert!(
        register_file.contains("\"entries\": \"4\"") && scheduler.contains("\"slots\": \"6\""),
        "{register_file}"
    );
}

#[test]
fn area_is_kept_as_table_json_and_chart() {
    let place = Place::new();
    let printed = place.succeeds("area fifo --set depth=2 --set width=3 --out area --cache mapped");
    assert!(printed.starts_with("fifo_2x3, library osu018_stdcells\n"), "{printed}");
    assert_eq!(place.read("area/area.txt"), printed);
    assert!(place.read("area/area.json").contains("\"circuit\": \"fifo_2x3\""));
    assert!(place.read("area/area.svg").starts_with("<svg"));
    // What is mapped already is not mapped again.
    let document = place.succeeds("area fifo --set depth=2 --set width=3 --json --cache mapped");
    assert_eq!(document, place.read("area/area.json"));
}

#[test]
fn power_is_kept_with_saif_and_the_mapped_verilog() {
    let place = Place::new();
    let printed =
        place.succeeds("power fifo --set depth=2 --set width=3 --random 50 --clock 200 --out power");
    assert!(
        printed.starts_with("fifo_2x3, library osu018_stdcells, 200 MHz, random inputs, 50 cycles\n"),
        "{printed}"
    );
    assert_eq!(place.read("power/power.txt"), printed);
    assert!(place.read("power/fifo_2x3.saif").contains("(DURATION 250000)"));
    assert!(place.read("power/fifo_2x3.v").contains("module fifo_2x3("));
}

/// Commands that write a file, up to its name.
const WRITERS: [&str; 7] = [
    "trace vectoradd --size tiny -o ",
    "run vectoradd --size tiny --vcd ",
    "run vectoradd --size tiny --kanata ",
    "run vectoradd --size tiny --record-circuit scheduler --record ",
    "run vectoradd --size tiny --vcd other.vcd --gtkw ",
    "run vectoradd --size tiny --dump sum=",
    "run vectoradd --size tiny --dump a=other.npy --dump sum=",
];

#[test]
fn an_output_goes_where_its_name_leads() {
    for writer in WRITERS {
        let place = Place::new();
        place.succeeds(&format!("{writer}plain"));
        let expected = place.bytes("plain");
        place.write("old", "old");
        fs::set_permissions(place.path("old"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::create_dir(place.path("folder")).unwrap();
        let links = [("to_old", "old"), ("to_none", "folder/none"), ("to_link", "to_none")];
        for (link, target) in links {
            symlink(target, place.path(link)).unwrap();
        }
        for (link, target) in [("to_old", "old"), ("to_none", "folder/none"), ("to_link", "folder/none")] {
            place.succeeds(&format!("{writer}{link}"));
            assert!(place.path(link).is_symlink(), "{writer}{link}");
            assert!(place.bytes(target) == expected, "{writer}{link}");
            place.write(target, "old");
        }
        place.succeeds(&format!("{writer}old"));
        assert_eq!(fs::metadata(place.path("old")).unwrap().permissions().mode() & 0o777, 0o600);

        let fifo = place.path("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let reader = thread::spawn({
            let fifo = fifo.clone();
            move || fs::read(fifo).unwrap()
        });
        place.succeeds(&format!("{writer}fifo"));
        assert!(reader.join().unwrap() == expected, "{writer}fifo");
        assert!(fs::metadata(fifo).unwrap().file_type().is_fifo());

        place.succeeds(&format!("{writer}/dev/null"));
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let full = place.refused(&format!("{writer}/dev/full"));
        let (_, said) = full.split_once("error: ").expect("an error");
        assert!(said.contains("/dev/full") && said.contains("No space left on device"), "{full}");
        symlink("loop", place.path("loop")).unwrap();
        place.refused(&format!("{writer}loop"));
    }
}

/// Starts a run that writes for long, and gives it once it has begun to.
fn long_run(place: &Place) -> std::process::Child {
    // What runs the tests may ignore signals, as a shell does for what it starts in the background.
    let mut run = Command::new("env");
    run.args(["--default-signal", env!("CARGO_BIN_EXE_warpfile"), "run", "hotspot", "--vcd", "w.vcd"])
        .args(["--out", "results/of/run"])
        .current_dir(place.path(""))
        .env("TMPDIR", place.path("temporary"))
        .stdin(Stdio::null());
    let run = run.spawn();
    let begun = Instant::now();
    let writes = |file: &String| {
        let size = fs::metadata(place.path(file)).map_or(0, |metadata| metadata.len());
        file.ends_with(".partial") && size > 100_000
    };
    while !place.files().iter().any(writes) {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written: {:?}", place.files());
        thread::sleep(Duration::from_millis(5));
    }
    run.expect("started")
}

#[test]
fn a_signal_leaves_nothing_behind() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)] {
        let place = Place::new();
        fs::create_dir(place.path("temporary")).unwrap();
        place.write("w.vcd.partial", "a user's");
        let mut run = long_run(&place);
        let kill = Command::new("kill").args([format!("-{signal}"), run.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let status = run.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(number));
        assert_eq!(place.files(), ["temporary", "w.vcd.partial"], "{signal}");
        assert_eq!(place.read("w.vcd.partial"), "a user's");
    }
}

/// Commands that are ended at any time, with what they make.
const LONG_WRITERS: [(&str, &[&str]); 4] = [
    (
        "run vectoradd --size tiny --vcd w.vcd --dump sum=sum.npy --out results/of/run",
        &[
            "results",
            "results/of",
            "results/of/run",
            "results/of/run/config.toml",
            "results/of/run/report.json",
            "sum.npy",
            "w.vcd",
        ],
    ),
    ("trace hotspot --size tiny -o t.wft", &["t.wft"]),
    (
        "trace hotspot --size tiny --format accelsim -o a/b",
        &["a", "a/b", "a/b/kernel-1.traceg", "a/b/kernelslist.g"],
    ),
    ("figure gebhart-6 --size tiny --workloads vectoradd --out f", &["f"]),
];

#[test]
fn a_signal_at_any_time_leaves_whole_files_or_none() {
    for (command, made) in LONG_WRITERS {
        let whole = Place::new();
        let begun = Instant::now();
        whole.succeeds(command);
        let takes = begun.elapsed();
        assert!(made.iter().all(|name| whole.files().contains(&name.to_string())), "{:?}", whole.files());
        let mut ended = 0;
        for step in 0..12_u32 {
            let place = Place::new();
            fs::create_dir(place.path("temporary")).unwrap();
            let mut run = Command::new("env");
            run.args(["--default-signal", env!("CARGO_BIN_EXE_warpfile")]).args(command.split_whitespace());
            run.current_dir(place.path("")).env("TMPDIR", place.path("temporary")).stdin(Stdio::null());
            run.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).stdout(Stdio::null());
            let mut run = run.spawn().expect("started");
            // From the start to behind the end.
            thread::sleep(takes * step / 10);
            let signal = ["INT", "TERM", "HUP", "QUIT"][step as usize % 4];
            let mut kill = Command::new("kill");
            kill.args([format!("-{signal}"), run.id().to_string()]).stderr(Stdio::null());
            // It may have ended before.
            kill.status().expect("started");
            let status = run.wait().unwrap();
            let files: Vec<String> = place.files().into_iter().filter(|file| file != "temporary").collect();
            if status.success() {
                assert_eq!(files, whole.files(), "{command}, step {step}");
                continue;
            }
            assert!(std::os::unix::process::ExitStatusExt::signal(&status).is_some(), "{status}");
            ended += 1;
            // Files appear one after the other once all are complete.
            for file in files {
                assert!(whole.files().contains(&file), "{command}, SIG{signal} at step {step} leaves {file}");
                let is_timed = file.ends_with(".json") || file.starts_with('f');
                if !is_timed && place.path(&file).is_file() {
                    assert!(place.bytes(&file) == whole.bytes(&file), "{command}, step {step}: {file}");
                }
            }
        }
        assert!(ended > 2, "{command}: {ended} were ended");
    }
}

/// Commands that write files into a folder, up to its name.
const FOLDER_WRITERS: [&str; 6] = [
    "gen two_level_scheduler -o ",
    "run vectoradd --size tiny --force --out ",
    "trace vectoradd --size tiny --format accelsim -o ",
    "figure gebhart-6 --size tiny --workloads vectoradd --out ",
    // What Yosys has mapped is kept outside of the place: Yosys's own files are not what is short of room.
    concat!("area fifo --set depth=2 --set width=3 --cache ", env!("CARGO_TARGET_TMPDIR"), "/mapped --out "),
    concat!(
        "power fifo --set depth=2 --set width=3 --random 50 --cache ",
        env!("CARGO_TARGET_TMPDIR"),
        "/mapped --out "
    ),
];

/// Runs a command in a place where no file may have more than so many bytes: the disk is full at that write.
fn limited(place: &Place, bytes: usize, command: &str) -> std::process::Output {
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--fsize={bytes}")).arg(env!("CARGO_BIN_EXE_warpfile"));
    limited.args(command.split_whitespace()).current_dir(place.path("")).stdin(Stdio::null());
    limited.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).output().expect("started")
}

#[test]
fn a_disk_that_is_full_at_any_write_leaves_what_was_there() {
    for writer in WRITERS.iter().chain(&FOLDER_WRITERS) {
        let command = format!("{writer}out");
        let kept = Place::new();
        kept.succeeds(&command);
        let complete = kept.contents();
        let longest = complete.values().map(Vec::len).max().unwrap();
        // A report also says how long the run took, so that its length differs by a few bytes.
        for bytes in [0, 1, longest / 3, longest * 9 / 10] {
            let empty = Place::new();
            for (place, before) in [(&empty, &BTreeMap::new()), (&kept, &complete)] {
                let run = limited(place, bytes, &command);
                let said = String::from_utf8_lossy(&run.stderr);
                assert_eq!(run.status.code(), Some(2), "{command}, {bytes} bytes: {said}");
                assert!(said.contains("File too large"), "{command}, {bytes} bytes: {said}");
                assert!(place.contents() == *before, "{command}, {bytes} bytes: {:?}", place.files());
            }
        }
    }
}

/// Runs a command for which permissions hold, also if the tests run as root.
fn permitted(place: &Place, command: &str) -> std::process::Output {
    let mut run = Command::new("setpriv");
    if nix::unistd::geteuid().is_root() {
        run.arg("--bounding-set=-dac_override,-dac_read_search,-fowner");
    }
    run.arg(env!("CARGO_BIN_EXE_warpfile")).args(command.split_whitespace()).current_dir(place.path(""));
    run.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).stdin(Stdio::null()).output().expect("started")
}

#[test]
fn a_folder_that_cannot_be_written_stays_as_it_is() {
    for writer in WRITERS.iter().chain(&FOLDER_WRITERS) {
        let place = Place::new();
        fs::create_dir(place.path("folder")).unwrap();
        place.write("folder/kept", "kept");
        fs::set_permissions(place.path("folder"), fs::Permissions::from_mode(0o555)).unwrap();
        let command = format!("{writer}folder/out");
        let run = permitted(&place, &command);
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{command}: {said}");
        assert!(
            said.contains("folder/out") && said.to_lowercase().contains("permission denied"),
            "{command}: {said}"
        );
        assert_eq!(place.files(), ["folder", "folder/kept"], "{command}");
        fs::set_permissions(place.path("folder"), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_file_that_must_not_be_replaced_is_not() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not checked: only root can give a file to somebody else");
        return;
    }
    // In a sticky folder a file can be made, and one of somebody else cannot be replaced: the last step is refused.
    for writer in WRITERS {
        let place = Place::new();
        fs::create_dir(place.path("folder")).unwrap();
        place.write("folder/out", "somebody else's");
        fs::set_permissions(place.path("folder/out"), fs::Permissions::from_mode(0o666)).unwrap();
        fs::set_permissions(place.path("folder"), fs::Permissions::from_mode(0o1777)).unwrap();
        for path in ["folder", "folder/out"] {
            std::os::unix::fs::chown(place.path(path), Some(65534), Some(65534)).unwrap();
        }
        let command = format!("{writer}folder/out");
        let run = permitted(&place, &command);
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("folder/out") && said.contains("not permitted"), "{command}: {said}");
        let kept: Vec<String> = place.files().into_iter().filter(|file| file.starts_with("folder")).collect();
        assert_eq!(kept, ["folder", "folder/out"], "{command}");
        assert_eq!(place.read("folder/out"), "somebody else's");
    }
}

/// A page that `prove --write` puts its table into, with room for so many bytes before it.
fn page(bytes: usize) -> String {
    let before = "x".repeat(bytes);
    format!("{before}\n<!-- warpfile prove --write: begin -->\n\n<!-- warpfile prove --write: end -->\n")
}

#[test]
fn what_comes_of_a_comparison_or_a_proof_is_whole_or_not_there() {
    let place = Place::new();
    place.succeeds("gen fifo --set depth=2 --set width=3 -o mine");
    place.rewrite("mine/fifo_2x3.v", "mine/fifo_2x3.v", "out_valid_o = ~", "out_valid_o = ");
    let verify = "verify fifo --set depth=2 --set width=3 --cycles 40 --seeds 1 --simulator icarus --verilog mine --vcd ";
    let prove = "prove fifo --seconds 20 --write ";
    place.write("page.md", page(0));
    place.succeeds(&format!("{prove}page.md"));
    assert!(place.read("page.md").contains("| fifo |"));

    // A device, and a folder that nothing can be written to.
    let said = |run: std::process::Output| {
        assert_eq!(run.status.code(), Some(2));
        String::from_utf8_lossy(&run.stderr).into_owned()
    };
    let full = said(place.run(&format!("{verify}/dev/full")));
    assert!(full.contains("cannot write /dev/full") && full.contains("No space left"), "{full}");
    fs::create_dir(place.path("folder")).unwrap();
    place.write("folder/page.md", page(0));
    fs::set_permissions(place.path("folder"), fs::Permissions::from_mode(0o555)).unwrap();
    let before = place.contents();
    for command in [format!("{verify}folder/w.vcd"), format!("{prove}folder/page.md"), {
        "prove fifo --seconds 20 --vcd folder/w.vcd".to_owned()
    }] {
        let said = said(permitted(&place, &command)).to_lowercase();
        assert!(said.contains("cannot write folder/") && said.contains("permission denied"), "{said}");
        assert!(place.contents() == before, "{command}: {:?}", place.files());
    }
    fs::set_permissions(place.path("folder"), fs::Permissions::from_mode(0o755)).unwrap();

    // A disk that is full at the page, which is longer than what the tools write.
    place.write("long.md", page(3 << 20));
    let before = place.contents();
    let told = said(limited(&place, 2 << 20, &format!("{prove}long.md")));
    assert!(told.contains("cannot write long.md") && told.contains("File too large"), "{told}");
    assert!(place.contents() == before, "{:?}", place.files());

    // Nothing is refuted, and so there is no waveform.
    place.write("kept.vcd", "a user's");
    place.succeeds("prove fifo --seconds 20 --vcd kept.vcd");
    assert_eq!(place.read("kept.vcd"), "a user's");
}

#[test]
fn a_loop_without_end_fills_the_disk_and_not_the_memory() {
    let place = Place::new();
    let ptx = "
        .version 7.0
        .target sm_50
        .address_size 64
        .visible .entry k()
        {
            .reg .b32 %r<2>;
            mov.u32 %r1, %tid.x;
        again:
            mad.lo.u32 %r1, %r1, %r1, 12345;
            bra again;
        }";
    place.write("k.ptx", ptx);
    place.write("launch.toml", "[[steps]]\ngrid = 1\nblock = 32\n");
    let run = limited(&place, 1 << 20, "run k.ptx --design baseline");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("k.ptx: cannot keep what the kernel does in "), "{said}");
    assert!(said.contains("File too large"), "{said}");
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let place = Place::new();
    let ignoring = format!(
        "trap '' HUP; {} run vectoradd --size tiny --vcd w.vcd & sleep 0.05; kill -HUP $!; wait $!",
        env!("CARGO_BIN_EXE_warpfile")
    );
    let run = Command::new("bash").args(["-c", &ignoring]).current_dir(place.path("")).output().unwrap();
    assert!(run.status.success());
    assert_eq!(place.files(), ["w.vcd"]);
}
