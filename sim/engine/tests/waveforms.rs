//! Waveforms: value change dumps, fast signal traces and text.

use std::io::Cursor;

use num_bigint::BigUint;
use vcd::{Command, Parser, Value};
use warpfile_engine::waveform::{Format, Fst, Vcd, WaveformError, WaveformOptions, WaveformRecorder};
use warpfile_engine::waves::waves;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_random::Random;

use crate::behaviour::counter;
use crate::lockstep::{drive, netlist};

fn dump(
    engine: &mut Interpreter,
    options: &WaveformOptions,
    cycles: u64,
    before: impl FnMut(&mut Interpreter),
) -> Vec<u8> {
    let mut output = Vec::new();
    record(engine, options, Box::new(Vcd::new(&mut output)), cycles, before);
    output
}

fn record(
    engine: &mut Interpreter,
    options: &WaveformOptions,
    format: Box<dyn Format + '_>,
    cycles: u64,
    mut before: impl FnMut(&mut Interpreter),
) {
    let mut recorder = WaveformRecorder::new(engine, options, format).expect("a scope");
    for _ in 0..cycles {
        before(engine);
        engine.step();
        recorder.record(engine).expect("memory takes all");
    }
    recorder.finish().expect("memory takes all");
}

/// Value of a variable at every time stamp, as the dump has it.
fn replay(text: &[u8], path: &[&str]) -> Vec<(u64, BigUint)> {
    let mut parser = Parser::new(text);
    let header = parser.parse_header().expect("a header");
    let id = header.find_var(path).unwrap_or_else(|| panic!("no {path:?}")).code;
    let bit = |value: Value| value == Value::V1;
    let (mut seen, mut time, mut now) = (Vec::new(), 0, BigUint::default());
    for command in parser {
        match command.expect("well formed") {
            Command::Timestamp(next) => {
                seen.push((time, now.clone()));
                time = next;
            }
            Command::ChangeScalar(of, value) if of == id => now = u32::from(bit(value)).into(),
            Command::ChangeVector(of, value) if of == id => {
                now = value.iter().fold(BigUint::default(), |all, b| (all << 1) + u32::from(bit(b)));
            }
            _ => {}
        }
    }
    seen
}

#[test]
fn a_dump_replays_to_the_values_of_every_cycle() {
    let netlist = netlist(11, 40, 2);
    let mut engine = Interpreter::new(&netlist, &Options::checked()).expect("sound");
    let top = netlist.modules[1].name.clone();
    let paths = ["out0_o", "out1_o", "reg0_q", "child0.reg0_q", "child0.n3", "n7"];
    let mut random = Random(5);
    let mut expected = vec![Vec::new(); paths.len()];
    let mut stepped = false;
    let mut keep = |engine: &Interpreter| {
        for (values, path) in expected.iter_mut().zip(paths) {
            values.push(engine.peek(path).expect("observed"));
        }
    };
    let text = dump(&mut engine, &WaveformOptions::default(), 30, |engine| {
        if stepped {
            keep(engine);
        }
        stepped = true;
        drive(&mut random, &netlist, engine);
    });
    keep(&engine);
    for (expected, path) in expected.iter().zip(paths) {
        let path: Vec<_> = [top.as_str()].into_iter().chain(path.split('.')).collect();
        let cycles: Vec<_> = replay(&text, &path).into_iter().filter(|(time, _)| time % 10 == 5).collect();
        let times: Vec<_> = cycles.iter().map(|(time, _)| *time).collect();
        assert_eq!(times, (0..30).map(|cycle| cycle * 10 + 5).collect::<Vec<_>>());
        let values: Vec<_> = cycles.into_iter().map(|(_, value)| value).collect();
        assert_eq!(&values, expected, "{path:?}");
    }
}

#[test]
fn only_the_cycles_asked_for_are_written() {
    let mut engine = Interpreter::new(&counter(), &Options::checked()).expect("sound");
    let options = WaveformOptions { cycles: 3..5, ..WaveformOptions::default() };
    let text =
        dump(&mut engine, &options, 9, |engine| engine.set(engine.input("enable_i").expect("there"), 1));
    let count = replay(&text, &["counter", "count_q"]);
    let expected: Vec<_> = [(0, 0u32), (30, 3), (35, 3), (40, 4), (45, 4)].map(|(t, v)| (t, v.into())).into();
    assert_eq!(count, expected);
}

#[test]
fn a_scope_is_written_with_the_circuits_around_and_below_it_only() {
    let netlist = netlist(4, 20, 3);
    let mut engine = Interpreter::new(&netlist, &Options::checked()).expect("sound");
    let options = WaveformOptions { scope: "child0".to_owned(), ..WaveformOptions::default() };
    let text = dump(&mut engine, &options, 1, |_| {});
    let header = Parser::new(text.as_slice()).parse_header().expect("a header");
    let top = netlist.modules[2].name.as_str();
    assert!(header.find_var(&[top, "clk_i"]).is_some());
    assert!(header.find_var(&[top, "n0"]).is_none());
    assert!(header.find_var(&[top, "child0", "n0"]).is_some());
    assert!(header.find_var(&[top, "child0", "child0", "reg0_q"]).is_some());
    assert!(header.find_scope(&[top, "child1"]).is_none());
}

#[test]
fn an_unknown_scope_is_an_error_that_lists_scopes() {
    let netlist = netlist(4, 5, 2);
    let engine = Interpreter::new(&netlist, &Options::checked()).expect("sound");
    let options = WaveformOptions { scope: "child".to_owned(), ..WaveformOptions::default() };
    let Err(error) = WaveformRecorder::new(&engine, &options, Box::new(Vcd::new(Vec::new()))) else {
        panic!("there is no such scope")
    };
    assert!(matches!(error, WaveformError::Scope(_)));
    let text = error.to_string();
    assert!(text.starts_with("no scope `child` in `random_1`; the nearest are `child0`"), "{text}");
}

#[test]
fn nothing_is_written_between_changes() {
    let mut engine = Interpreter::new(&counter(), &Options::checked()).expect("sound");
    let idle = dump(&mut engine, &WaveformOptions::default(), 100, |_| {});
    let text = String::from_utf8(idle).expect("text");
    // Per cycle: two time stamps and two edges of the clock.
    let body = text.split_once("$enddefinitions $end\n").expect("a header").1;
    let first = body.split_once("$end\n").expect("initial values").1;
    assert_eq!(first.lines().count(), 2 + 99 * 4 + 1);
}

#[test]
fn text_shows_levels_values_changes_and_what_means_nothing() {
    let mut engine = Interpreter::new(&counter(), &Options::checked()).expect("sound");
    let on: &[_] = &[("enable_i", 1)];
    let text = waves(&mut engine, &["enable_i", "count_q", "count_o"], &[on, on, &[], on, on]).unwrap();
    let expected = "
clk_i     ▁▁▔▔▁▁▔▔▁▁▔▔▁▁▔▔▁▁▔▔
enable_i  ▔▔▔▔▔▔▔▔▁▁▁▁▔▔▔▔▔▔▔▔
count_q   ═0══╳1══╳2══════╳3══
count_o   ═0══╳1══╳═══╳2══╳3══";
    assert_eq!(format!("\n{text}"), expected);
    assert!(waves(&mut engine, &["count"], &[]).is_err());
}

#[test]
fn circuits_that_step_together_share_a_dump() {
    let make = || Interpreter::new(&counter(), &Options::checked()).expect("sound");
    let dump = |scope: &str| {
        let (mut a, mut b) = (make(), make());
        let options = WaveformOptions { scope: scope.to_owned(), ..WaveformOptions::default() };
        let mut output = Vec::new();
        let circuits: [(&str, &dyn Engine); 2] = [("a", &a), ("b", &b)];
        let format = Box::new(Vcd::new(&mut output));
        let mut recorder = WaveformRecorder::together("pair", &circuits, &options, format)?;
        let (enable_a, enable_b) = (a.input("enable_i").expect("port"), b.input("enable_i").expect("port"));
        for cycle in 0..4 {
            a.set(enable_a, 1);
            b.set(enable_b, cycle % 2);
            a.step();
            b.step();
            recorder.record_together(&[&a, &b])?;
        }
        recorder.finish()?;
        Ok::<_, WaveformError>(output)
    };
    let counts = |output: &[u8], circuit| -> Vec<BigUint> {
        replay(output, &["pair", circuit, "count_o"]).into_iter().map(|(_, value)| value).collect()
    };
    let both = dump("").expect("all");
    assert_ne!(counts(&both, "a"), counts(&both, "b"));
    assert_eq!(counts(&dump("b").expect("one"), "b"), counts(&both, "b"));
    assert!(!String::from_utf8(dump("b").expect("one")).expect("text").contains("module a "));
    let error = dump("c").expect_err("no such circuit").to_string();
    assert!(error.starts_with("no scope `c` in `pair`"), "{error}");
}

/// Times and values of every signal that a waveform has, as the reader of Surfer gives them, by path.
fn read(waveform: Vec<u8>) -> Vec<(String, Vec<(u64, String)>)> {
    let mut waves = wellen::simple::read_from_reader(Cursor::new(waveform)).expect("a waveform");
    let hierarchy = waves.hierarchy();
    let signals: Vec<_> = hierarchy
        .all_vars()
        .map(|var| (hierarchy[var].full_name(hierarchy), hierarchy[var].signal_ref()))
        .collect();
    waves.load_signals(&signals.iter().map(|(_, signal)| *signal).collect::<Vec<_>>());
    let times = waves.time_table();
    let changes = |signal| {
        let changes = waves.get_signal(signal).expect("loaded").iter_changes();
        changes.map(|(time, value)| (times[time as usize], value.to_string())).collect()
    };
    signals.into_iter().map(|(name, signal)| (name, changes(signal))).collect()
}

#[test]
fn both_formats_have_the_same_signals_and_the_same_changes() {
    let netlist = netlist(11, 40, 2);
    for cycles in [0..u64::MAX, 7..21, 29..30, 200..300] {
        let options = WaveformOptions { cycles: cycles.clone(), ..WaveformOptions::default() };
        let written = |format: Box<dyn Format + '_>| {
            let mut engine = Interpreter::new(&netlist, &Options::checked()).expect("sound");
            let mut random = Random(5);
            record(&mut engine, &options, format, 30, |engine| drive(&mut random, &netlist, engine));
        };
        let (mut vcd, mut fst) = (Vec::new(), Cursor::new(Vec::new()));
        written(Box::new(Vcd::new(&mut vcd)));
        written(Box::new(Fst::new(&mut fst)));
        let vcd = read(vcd);
        assert_eq!(read(fst.into_inner()), vcd);
        let count = vcd.iter().map(|(_, changes)| changes.len()).sum::<usize>();
        assert_eq!(count > vcd.len(), cycles.start < 30, "{cycles:?}: {count} changes");
    }
}

#[test]
fn a_value_under_several_names_is_written_once() {
    let netlist = netlist(4, 20, 3);
    let mut engine = Interpreter::new(&netlist, &Options::checked()).expect("sound");
    let text = dump(&mut engine, &WaveformOptions::default(), 1, |_| {});
    let text = String::from_utf8(text).expect("text");
    let codes: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("$var"))
        .map(|line| line.split(' ').nth(3).expect("a code"))
        .collect();
    let distinct: std::collections::BTreeSet<&str> = codes.iter().copied().collect();
    assert!(distinct.len() < codes.len(), "{text}");
    let body = text.split_once("$enddefinitions $end\n").expect("a header").1;
    let initial = body.split_once("$end\n").expect("initial values").0;
    // Beside the time and the bracket.
    assert_eq!(initial.lines().count() - 2, distinct.len());
}
