//! Waveforms and the GTKWave save files beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use crate::command::Place;

/// Lines of a save file that are signals or titles of groups.
fn shown(save: &str) -> Vec<&str> {
    save.lines().filter(|line| !line.starts_with(['[', '*', '@', '^'])).collect()
}

#[test]
fn a_save_file_shows_what_matters_of_each_design() {
    let mut all = String::new();
    for (design, preset) in [
        ("baseline", "gebhart2011"),
        ("two-level", "gebhart2011"),
        ("rfc", "gebhart2011"),
        ("regless", "gtx980-regless"),
        ("rfv", "gtx980-regless"),
        ("rfh", "gtx980-regless"),
    ] {
        let place = Place::new();
        let run = format!("run vectoradd --size tiny --preset {preset} --design {design} --wave-cycles 5..8");
        place.succeeds(&format!("{run} --vcd w.vcd --gtkw w.gtkw"));
        let save = place.read("w.gtkw");
        assert!(save.contains("/w.vcd\"\n[timestart] 50\n"), "{save}");
        all += &format!("{design}\n{}\n\n", shown(&save).join("\n"));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn enumerations_are_words_in_translation_files_beside_the_save_file() {
    let place = Place::new();
    place.succeeds(
        "run vectoradd --size tiny --preset gtx980-regless --design regless --wave-cycles 0..2 --vcd w.vcd --gtkw s.gtkw",
    );
    assert_eq!(place.files(), ["s.fate.txt", "s.gtkw", "s.note.txt", "s.request_kind.txt", "w.vcd"]);
    assert_eq!(place.read("s.request_kind.txt"), "0 Fetch\n1 Write\n2 Invalidate\n3 Drop\n");
    let save = place.read("s.gtkw");
    let translated: BTreeSet<&str> = save.lines().filter_map(|line| line.strip_prefix("^1 ")).collect();
    assert!(translated.iter().all(|file| std::path::Path::new(file).is_file()), "{translated:?}");
    assert!(
        save.contains("s.request_kind.txt\nregless.partition0_register_file.memory_request_kind_o[1:0]\n")
    );
}

#[test]
fn a_save_file_without_a_waveform_or_with_nothing_to_show_is_an_error() {
    let error = Place::new().refused("run vectoradd --size tiny --gtkw s.gtkw");
    assert!(error.contains("--vcd"), "{error}");
    let place = Place::new();
    let output =
        place.run("run vectoradd --size tiny --vcd w.vcd --wave-scope register_file.mrf.bank0 --gtkw s.gtkw");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("accepted: a waveform with the scopes register_file or scheduler"), "{error}");
    assert_eq!(place.files(), ["w.vcd"]);
}

/// Changes of every signal: time and bits, leading zeros left out.
type Changes = BTreeMap<String, Vec<(u64, String)>>;

fn digits(bits: &str) -> String {
    bits.trim_start_matches('0').to_owned()
}

/// As the crate `vcd` reads them, line by line; of a signal without a change nothing.
fn changes_in_the_file(text: &[u8]) -> Changes {
    fn name_all(items: &[vcd::ScopeItem], path: &str, names: &mut BTreeMap<vcd::IdCode, Vec<String>>) {
        for item in items {
            match item {
                vcd::ScopeItem::Scope(scope) => {
                    name_all(&scope.items, &format!("{path}{}.", scope.identifier), names)
                }
                vcd::ScopeItem::Var(var) => {
                    names.entry(var.code).or_default().push(format!("{path}{}", var.reference));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let mut parser = vcd::Parser::new(text);
    let header = parser.parse_header().expect("a header");
    let mut names = BTreeMap::new();
    name_all(&header.items, "", &mut names);
    let mut changes = Changes::new();
    let mut now = 0;
    for command in parser {
        let (code, bits) = match command.expect("a command") {
            vcd::Command::Timestamp(time) => {
                now = time;
                continue;
            }
            vcd::Command::ChangeScalar(code, value) => (code, value.to_string()),
            vcd::Command::ChangeVector(code, value) => (code, value.to_string()),
            _ => continue,
        };
        for name in &names[&code] {
            changes.entry(name.clone()).or_default().push((now, digits(&bits)));
        }
    }
    changes
}

/// As Surfer reads them.
fn changes_that_surfer_sees(waveform: &Path) -> Changes {
    let mut waves = wellen::simple::read(waveform).expect("a waveform");
    let hierarchy = waves.hierarchy();
    let signals: Vec<_> = hierarchy
        .all_vars()
        .map(|var| (hierarchy[var].full_name(hierarchy), hierarchy[var].signal_ref()))
        .collect();
    waves.load_signals(&signals.iter().map(|(_, signal)| *signal).collect::<Vec<_>>());
    let times = waves.time_table();
    let changes = |signal| {
        let changes = waves.get_signal(signal).expect("loaded").iter_changes();
        let of = |(time, value): (u32, wellen::SignalValueRef<'_>)| {
            (times[time as usize], digits(&value.to_string()))
        };
        changes.map(of).collect()
    };
    signals.into_iter().map(|(name, signal)| (name, changes(signal))).collect()
}

#[test]
fn a_trace_and_a_dump_have_the_same_signals_and_changes_for_every_viewer() {
    for (design, cycles) in [
        ("two-level", "--wave-cycles 5..40"),
        ("rfc", ""),
        ("regless", "--wave-scope partition0_register_file"),
    ] {
        let place = Place::new();
        let run = format!("run vectoradd --size tiny --design {design} {cycles}");
        place.succeeds(&format!("{run} --vcd w.vcd"));
        place.succeeds(&format!("{run} --fst w.fst"));
        let written = changes_in_the_file(&place.bytes("w.vcd"));
        assert!(written.values().map(Vec::len).sum::<usize>() > 1000, "{design}");
        assert!(changes_that_surfer_sees(&place.path("w.vcd")) == written, "{design} as a dump");
        assert!(changes_that_surfer_sees(&place.path("w.fst")) == written, "{design} as a trace");
        assert!(place.bytes("w.fst").len() * 2 < place.bytes("w.vcd").len(), "{design}");
        // A tool of GTKWave, with the code that GTKWave itself reads traces with.
        match Command::new("fst2vcd").arg(place.path("w.fst")).output() {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                assert!(changes_in_the_file(&output.stdout) == written, "{design} for GTKWave");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
        }
    }
}

#[test]
fn a_save_file_is_the_same_for_a_trace_but_for_its_name() {
    let place = Place::new();
    let run = "run vectoradd --size tiny --design rfc --wave-cycles 5..8 --gtkw w.gtkw";
    place.succeeds(&format!("{run} --vcd w.vcd"));
    let of_dump = place.read("w.gtkw");
    place.succeeds(&format!("{run} --fst w.fst"));
    assert_eq!(place.read("w.gtkw"), of_dump.replace("w.vcd", "w.fst"));
    assert!(of_dump.contains("w.vcd") && of_dump.contains("[timestart] 50\n"), "{of_dump}");
}

#[test]
fn the_names_that_options_had_when_there_were_dumps_only_still_work() {
    let place = Place::new();
    let run = "run vectoradd --size tiny --design rfc";
    place.succeeds(&format!("{run} --vcd new.vcd --wave-scope scheduler --wave-cycles 5..40"));
    place.succeeds(&format!("{run} --vcd old.vcd --vcd-scope scheduler --vcd-cycles 5..40"));
    assert_eq!(place.read("new.vcd"), place.read("old.vcd"));
}

#[test]
fn a_trace_into_a_pipe_is_refused_before_anything_is_run() {
    let place = Place::new();
    assert!(Command::new("mkfifo").arg(place.path("pipe")).status().expect("started").success());
    let pipe = place.path("pipe");
    let reader = std::thread::spawn(move || std::fs::read(pipe).expect("readable"));
    let error = place.refused("run hotspot --fst pipe");
    assert!(error.contains("--fst pipe: accepted: a file, no pipe"), "{error}");
    assert!(reader.join().expect("no panic").is_empty());
}
