//! Traces from end to end: our own small ones, and real ones if they lie beside the project.

use super::synthetic::{RecordedLaunch, record};
use crate::program::{LANES, LaneMask, Operation};
use crate::trace::registers::lanes;
use crate::trace::{TraceReport, open, write_warpfile};
use std::path::{Path, PathBuf};

/// Traces made for these tests, one for each version of the format.
pub(super) fn own() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/accelsim");
    ["none.traceg", "v3/kernelslist.g", "v4-lineinfo.traceg", "v4-packed.traceg.xz"]
        .iter()
        .chain(&["v5-cluster.traceg", "v6-values.traceg"])
        .map(|name| directory.join(name))
        .collect()
}

/// Lists of real traces under `../shared/traces` from the workspace, if there are any.
pub(super) fn real() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/traces");
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let mut lists: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path().join("kernelslist.g")).collect();
    lists.retain(|list| list.is_file());
    lists.sort();
    lists
}

fn read(path: &Path) -> (Vec<RecordedLaunch>, TraceReport) {
    let mut trace = open(path).unwrap();
    let recording = record(&mut trace).unwrap_or_else(|error| panic!("{error}"));
    (recording.launches, trace.report().clone())
}

/// Instruction lines of a text trace, counted independently of the reader.
fn lines(path: &Path) -> usize {
    let files: Vec<PathBuf> = match path.extension().and_then(|extension| extension.to_str()) {
        Some("g") => std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .filter(|line| line.starts_with("kernel"))
            .map(|name| path.with_file_name(name))
            .collect(),
        _kernel => vec![path.to_path_buf()],
    };
    let announced = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        let counts = text.lines().filter_map(|line| line.strip_prefix("insts = "));
        counts.map(|count| count.trim().parse::<usize>().unwrap()).sum::<usize>()
    };
    files.iter().map(announced).sum()
}

#[test]
fn every_line_of_every_sample_becomes_instructions() {
    for path in own().into_iter().chain(real()) {
        let (launches, report) = read(&path);
        let mut executed = 0;
        for launch in &launches {
            for warp in &launch.warps {
                // A line is counted at its first part, whose PC is a multiple of 8.
                executed += (warp.iter())
                    .filter(|found| launch.program.instructions[found.inst.0 as usize].pc % 8 == 0)
                    .count();
            }
        }
        if path.extension().is_some_and(|extension| extension != "xz") {
            assert_eq!(executed, lines(&path), "{}", path.display());
        }
        assert!(executed > 0, "{}", path.display());
        assert_eq!(report.launches, launches.len() as u64);
    }
}

#[test]
fn no_lane_reads_a_value_again_after_its_last_read() {
    for path in own().into_iter().chain(real()) {
        let (launches, report) = read(&path);
        for launch in &launches {
            for warp in &launch.warps {
                let mut dead = [[false; LANES]; 256];
                for executed in warp {
                    let instruction = &launch.program.instructions[executed.inst.0 as usize];
                    for lane in lanes(executed.active) {
                        for source in &instruction.sources {
                            let register = usize::from(source.register.0);
                            assert!(!dead[register][lane], "{}: {instruction:?}", path.display());
                            dead[register][lane] = source.last_read;
                        }
                        for result in &instruction.results {
                            dead[usize::from(result.register.0)][lane] = false;
                        }
                    }
                }
            }
        }
        assert!(report.kills.claimed <= report.kills.possible, "{}", path.display());
        assert!(report.kills.claimed > 0, "{}", path.display());
    }
}

#[test]
fn a_definition_seen_with_fewer_lanes_than_the_warp_has_is_soft() {
    for path in own().into_iter().chain(real()) {
        let (launches, _) = read(&path);
        for launch in &launches {
            let warps = launch.launch.warps_per_block();
            let mut partial = vec![false; launch.program.instructions.len()];
            for (number, warp) in launch.warps.iter().enumerate() {
                let threads = launch.launch.threads_per_block() as usize - number % warps * LANES;
                let mut alive = LaneMask::MAX >> (LANES - threads.min(LANES));
                for executed in warp {
                    let position = executed.inst.0 as usize;
                    partial[position] |= executed.active & alive != alive;
                    if launch.program.instructions[position].operation == Operation::Exit {
                        alive &= !executed.active;
                    }
                }
            }
            for (instruction, partial) in launch.program.instructions.iter().zip(partial) {
                for result in &instruction.results {
                    assert_eq!(result.soft, partial, "{}: {instruction:?}", path.display());
                }
            }
        }
    }
}

#[test]
fn an_operand_has_the_value_that_was_last_written_to_its_register() {
    for path in own().into_iter().chain(real()) {
        let (launches, _) = read(&path);
        for launch in &launches {
            for warp in &launch.warps {
                let mut held = [[None; LANES]; 256];
                for executed in warp {
                    let instruction = &launch.program.instructions[executed.inst.0 as usize];
                    for (slot, source) in instruction.sources.iter().enumerate() {
                        for lane in lanes(executed.defined[slot]) {
                            let expected = held[usize::from(source.register.0)][lane];
                            assert_eq!(Some(executed.sources[slot][lane]), expected);
                        }
                    }
                    for (slot, result) in instruction.results.iter().enumerate() {
                        for lane in lanes(executed.active) {
                            held[usize::from(result.register.0)][lane] = Some(executed.results[slot][lane]);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_trace_is_the_same_after_a_detour_through_the_container() {
    let directory = tempfile::tempdir().unwrap();
    for path in own().into_iter().chain(real()) {
        let container = directory.path().join("copy.wft");
        let summary = write_warpfile(&mut open(&path).unwrap(), &container).unwrap();
        let (copy, report) = read(&container);
        assert_eq!(copy, read(&path).0, "{}", path.display());
        assert_eq!(report.instructions_with_values, summary.instructions);
    }
}

#[test]
fn invented_values_differ_from_write_to_write_and_lane_to_lane() {
    let (launches, report) = read(&own()[1]);
    assert!(!report.carries_values());
    let mut values: Vec<u32> = Vec::new();
    for warp in &launches[0].warps {
        for executed in warp {
            let results = &launches[0].program.instructions[executed.inst.0 as usize].results;
            for slot in 0..results.len() {
                values.extend(lanes(executed.active).map(|lane| executed.results[slot][lane]));
            }
        }
    }
    let written = values.len();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), written);
}
