//! Accel-Sim text.

use super::synthetic::{RecordedLaunch, Shape, Synthetic, record};
use crate::program::Launches;
use crate::program::{Instruction, Operation, PhysReg, Stream, WarpInstruction};
use crate::trace::accelsim::AccelSimTrace;
use crate::trace::{TraceReport, open, write_accelsim};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/accelsim").join(name)
}

fn read(path: &Path) -> Result<(Vec<RecordedLaunch>, TraceReport), String> {
    let mut trace = open(path).map_err(|error| error.to_string())?;
    let recording = record(&mut trace).map_err(|error| error.to_string())?;
    Ok((recording.launches, trace.report().clone()))
}

/// What the format can express of an instruction.
fn expressed(instruction: &Instruction) -> (u32, u32, Operation, Vec<PhysReg>, Vec<PhysReg>) {
    let sources = instruction.sources.iter().map(|source| source.register).collect();
    let results = instruction.results.iter().map(|result| result.register).collect();
    (instruction.pc, instruction.line, instruction.operation, sources, results)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_as_accelsim_text_is_read_back(
        seed in any::<u64>(), launches in 1..3u64, instructions in 1..12u64, blocks in 1..4u32,
        threads in 1..70u32, executed in 0..60u64,
    ) {
        let shape = Shape { seed, launches, instructions, grid: [blocks, 1, 2], block: [threads, 1, 1], executed };
        let directory = tempfile::tempdir().unwrap();
        let summary = write_accelsim(&mut Synthetic::new(shape).without_operands(), directory.path()).unwrap();
        let expected = record(&mut Synthetic::new(shape).without_operands()).unwrap().launches;
        let (found, report) = read(&directory.path().join("kernelslist.g")).map_err(TestCaseError::fail)?;
        prop_assert_eq!(found.len(), expected.len());
        prop_assert_eq!(report.contradicting_lanes, 0);
        prop_assert_eq!(report.instructions_with_values, summary.instructions);
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(&found.launch, &expected.launch);
            for (found_warp, expected_warp) in found.warps.iter().zip(&expected.warps) {
                prop_assert_eq!(found_warp.len(), expected_warp.len());
                for (ours, theirs) in found_warp.iter().zip(expected_warp) {
                    let ours_static = &found.program.instructions[ours.inst.0 as usize];
                    let theirs_static = &expected.program.instructions[theirs.inst.0 as usize];
                    prop_assert_eq!(expressed(ours_static), expressed(theirs_static));
                    prop_assert_eq!(&ours_static.predicate_sources, &theirs_static.predicate_sources);
                    prop_assert_eq!(&ours_static.predicate_results, &theirs_static.predicate_results);
                    prop_assert_eq!(&WarpInstruction { inst: theirs.inst, ..ours.clone() }, theirs);
                }
            }
        }
    }

    #[test]
    fn mutated_text_never_panics(
        file in 0..5usize, edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let names = ["none.traceg", "v3/kernel-2.traceg", "v4-lineinfo.traceg", "v5-cluster.traceg", "v6-values.traceg"];
        let mut bytes = std::fs::read(data(names[file])).unwrap();
        for (place, byte) in edits {
            let at = place.index(bytes.len());
            // Mostly characters that the format has, so that edits get past the first check.
            bytes[at] = if byte < 200 { b"0123456789abcdefRP -=,()\n.xVal"[usize::from(byte) % 30] } else { byte };
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        run_some(&bytes);
    }
}

/// Reads the first blocks of a trace; the outcome may be anything but a panic.
fn run_some(bytes: &[u8]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mutated.traceg");
    std::fs::write(&path, bytes).unwrap();
    let mut trace = AccelSimTrace::open(&path).unwrap();
    let Ok(Some(mut stream)) = trace.next_stream() else { return };
    let mut buffer = WarpInstruction::default();
    for block in 0..stream.launch().blocks().min(4) {
        if stream.start_block(block).is_err() {
            return;
        }
        for warp in 0..stream.launch().warps_per_block() {
            while let Ok(true) = stream.next(block, warp, &mut buffer) {}
        }
        stream.finish_block(block);
    }
}

/// The message that a trace with one place changed gives.
fn problem_with(name: &str, from: &str, to: &str) -> String {
    let text = std::fs::read_to_string(data(name)).unwrap();
    assert!(text.contains(from));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("changed.traceg");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    let message = read(&path).expect_err("an error");
    message.replace(&format!("{}", path.display()), "changed.traceg")
}

#[test]
fn errors_name_file_line_field_value_and_what_is_accepted() {
    let v3 = |from, to| problem_with("v3/kernel-1.traceg", from, to);
    let messages = [
        v3("tracer version = 3", "tracer version = 7"),
        v3("grid dim = (2,1,1)", "grid dim = (2,0,1)"),
        v3("block dim = (40,1,1)", "block dim = (4000,1,1)"),
        v3("thread block = 1,0,0", "thread block = 5,0,0"),
        v3("thread block = 1,0,0", "thread block = 0,0,0"),
        v3("warp = 1", "warp = 2"),
        v3("warp = 1", "warp = 0"),
        v3("insts = 16", "insts = 17"),
        v3("insts = 16", "insts = 15"),
        v3("0010 ffffffff", "0010 fffffffff"),
        v3("1 R4 LDG.E", "1 X4 LDG.E"),
        v3("1 R4 LDG.E", "99 R4 LDG.E"),
        v3("4 2 0x7f0000002000 16 -4 100", "4 2 0x7f0000002000 16 -4"),
        v3("4 1 0x7f0000001000 4", "4 5 0x7f0000001000 4"),
        v3("FADD 2 R4 R5 0", "FADD 2 R4 R5 0 7"),
        problem_with("v6-values.traceg", "5 0 Val 1 5", "5 0 Vel 1 5"),
        problem_with("v6-values.traceg", "Val 1 5", "Val 2 5"),
        problem_with("v5-cluster.traceg", "0 -7", "0 x7"),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_truncated_trace_is_an_error_wherever_it_ends() {
    let text = std::fs::read_to_string(data("v3/kernel-1.traceg")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("short.traceg");
    let end = text.rfind("#END_TB").unwrap();
    for cut in (0..end + 7).filter(|cut| cut % 5 == 0 || *cut > end - 30) {
        std::fs::write(&path, &text[..cut]).unwrap();
        // Blank lines are accepted anywhere.
        match text[..cut].trim_end() == text[..end].trim_end() && text[..cut].ends_with('\n') {
            false => assert!(read(&path).is_err(), "cut at {cut}"),
            true => {
                let (launches, report) = read(&path).unwrap();
                let warnings: Vec<&str> = report.warnings().map(|(text, _)| text).collect();
                assert!(warnings.iter().any(|text| text.contains("the last `#END_TB` is missing")));
                std::fs::write(&path, &text).unwrap();
                let whole = read(&path).unwrap().0;
                assert_eq!(launches[0].warps, whole[0].warps);
            }
        }
    }
}

/// Registers that branches, stores and barriers list as results, and accesses of 32 bytes, from a file to instructions.
#[test]
fn what_real_traces_list_is_read() {
    let lines = [
        "0000 ffffffff 1 R20 MOV 1 R4 0",
        "0010 ffffffff 1 R12 LDG.E.256 1 R2 32 1 0x1000 32",
        "0020 ffffffff 1 R2 STG.E.256 1 R12 32 1 0x2000 32",
        "0030 ffffffff 1 R20 WARPSYNC 0 0",
        "0040 ffffffff 1 R20 BAR.SYNC 0 0",
        "0050 ffffffff 1 R20 RET.REL.NODEC 0 0",
        "0060 ffffffff 1 R20 KILL 0 0",
    ];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("listed.traceg");
    let header = "-kernel name = listed\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-binary version = 80\n\
                  -accelsim tracer version = 3\n#\n";
    let start = format!("#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = {}\n", lines.len());
    std::fs::write(&path, format!("{header}{start}{}\n#END_TB\n", lines.join("\n"))).unwrap();
    let (launches, _) = read(&path).unwrap();
    let program = &launches[0].program;
    let mut addresses = Vec::new();
    for executed in &launches[0].warps[0] {
        let instruction = &program.instructions[executed.inst.0 as usize];
        let operation = instruction.operation;
        assert!(operation.may_write_registers() || instruction.results.is_empty(), "{instruction:?}");
        if let Operation::Load(access) | Operation::Store(access) = operation {
            assert_eq!(access.bytes, 16);
            addresses.push(executed.addresses[1]);
        } else if !operation.may_write_registers() {
            assert_eq!(instruction.sources[0].register, PhysReg(20), "{instruction:?}");
        }
    }
    assert_eq!(addresses, [0x1020, 0x1030, 0x2020, 0x2030]);
}

#[test]
fn an_announced_length_allocates_nothing() {
    let message = problem_with("v3/kernel-1.traceg", "insts = 16", "insts = 1000000000000");
    assert!(message.contains("where 999999999984 more instructions are announced"), "{message}");
}

/// The message for a trace of one warp with these instruction lines.
fn problem_of_lines(lines: &[String]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("long.traceg");
    let header =
        "-kernel name = long\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-accelsim tracer version = 3\n";
    let start = format!("#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = {}\n", lines.len());
    std::fs::write(&path, format!("{header}{start}{}\n#END_TB\n", lines.join("\n"))).unwrap();
    read(&path).expect_err("an error")
}

#[test]
fn a_program_without_end_is_an_error() {
    let line = |number: u32| format!("{:x} ffffffff 0 NOP 0 0", 8 * number);
    let message = problem_of_lines(&(0..140_000).map(line).collect::<Vec<_>>());
    assert!(message.contains("long.traceg:131081: more than 131072 distinct instructions"), "{message}");
}

#[test]
fn control_flow_without_end_is_an_error() {
    // From everywhere to everywhere: steps of every length around a circle of 1009 instructions.
    let line = |number: u64| format!("{:x} 1 0 NOP 0 0", number % 1009 * (number / 1009 + 1) % 1009);
    let lines: Vec<String> = (0..20_000).map(line).collect();
    assert!(
        problem_of_lines(&lines)
            .contains("more than 8132 ways from one to the next of 1009 distinct instructions")
    );
}

#[test]
fn a_list_names_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("kernelslist.g");
    std::fs::write(&list, "MemcpyHtoD,0x0,4\nkernel-1.traceg\n").unwrap();
    let message = read(&list).expect_err("an error");
    assert!(message.contains("kernelslist.g:2: the kernel's trace"), "{message}");
    std::fs::write(&list, "MemcpyHtoD,0x0,4\n").unwrap();
    assert!(read(&list).expect_err("an error").contains("not a trace: a list with lines"));
}

/// A launch that is not recognised is not passed over, whatever its line is like.
#[test]
fn a_list_loses_no_line() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("kernelslist.g");
    std::fs::copy(data("none.traceg"), directory.path().join("kernel-1.traceg")).unwrap();
    let unknown = [
        "./kernel-2.traceg",
        "Kernel-3.traceg",
        "KERNEL",
        "memcpyHtoD,0x0,4",
        "ncclAllReduce",
        "\u{1b}[2J",
        "nothing",
    ];
    for line in unknown {
        std::fs::write(&list, format!("MemcpyHtoD,0x0,4\n\nkernel-1.traceg\n{line}\n")).unwrap();
        let message = read(&list).expect_err(line);
        assert!(message.contains("kernelslist.g:4: found `"), "{message}");
        assert!(message.ends_with("`; accepted: `kernel….traceg`, `Memcpy…`"), "{message}");
        assert!(message.chars().all(|c| !c.is_control()), "{message:?}");
    }
}

#[test]
fn a_damaged_xz_file_is_an_error() {
    let mut bytes = std::fs::read(data("v4-packed.traceg.xz")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.traceg.xz");
    std::fs::write(&path, bytes).unwrap();
    assert!(read(&path).expect_err("an error").contains("while unpacking"));
}

/// 8 MiB of empty lines in less than 2 KB.
#[test]
fn a_text_that_was_packed_beyond_belief_is_not_unpacked() {
    let path = data("bomb.traceg.xz");
    let packed = std::fs::metadata(&path).unwrap().len();
    let message = read(&path).expect_err("an error");
    let most = packed * 1000;
    assert!(message.contains(&format!("bomb.traceg.xz: unpacks to more than {most} bytes")), "{message}");
}

#[test]
fn a_header_says_everything_once() {
    let text = std::fs::read_to_string(data("v3/kernel-1.traceg")).unwrap();
    let header = text.lines().take_while(|line| line.starts_with('-'));
    for line in header {
        let message = problem_with("v3/kernel-1.traceg", line, &format!("{line}\n{line}"));
        let key = line[1..].split('=').next().unwrap().trim();
        assert!(message.contains(&format!("`{key}` comes twice")), "{message}");
        assert!(message.starts_with("changed.traceg:"), "{message}");
    }
}

#[test]
fn lanes_that_cannot_execute_are_told_of() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lanes.traceg");
    let warnings = |threads: u32, lines: [&str; 3]| {
        let header = format!(
            "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = ({threads},1,1)\n-accelsim tracer version = 3\n#\n"
        );
        let body =
            format!("#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 3\n{}\n#END_TB\n", lines.join("\n"));
        std::fs::write(&path, header + &body).unwrap();
        let (_, report) = read(&path).unwrap();
        report.warnings().map(|(text, times)| format!("{text} {times}")).collect::<Vec<_>>()
    };
    let partly = ["0 f 0 NOP 0 0", "8 3 0 EXIT 0 0", "10 c 0 EXIT 0 0"];
    assert_eq!(warnings(4, partly), [""; 0]);
    let exited = ["0 3 0 EXIT 0 0", "8 1 0 NOP 0 0", "10 e 0 EXIT 0 0"];
    assert_eq!(warnings(4, exited), ["kernel `k`: instructions of lanes that have exited 2"]);
    let beyond = ["0 10 0 NOP 0 0", "8 f 0 NOP 0 0", "10 f 0 EXIT 0 0"];
    assert_eq!(warnings(4, beyond), ["kernel `k`: instructions of lanes beyond the block 1"]);
}

#[test]
fn recorded_values_are_used_and_contradicted_ones_are_not_compared() {
    let (launches, report) = read(&data("v6-values.traceg")).unwrap();
    let warp = &launches[0].warps[0];
    assert_eq!(warp[2].sources[0][31], 93);
    assert_eq!(warp[2].defined[0], u32::MAX);
    assert_eq!(warp[2].results[0][1], 8);
    assert_eq!(warp[4].defined[0], 0, "R4 was loaded without a value and is read as 0x77");
    assert_eq!(warp[4].sources[0][3], 0x77);
    assert_eq!(report.contradicting_lanes, 2 * (32 + 8));
    assert!(!report.carries_values());
}

#[test]
fn a_trace_says_before_it_is_read_whether_it_has_values() {
    for (name, has_values) in
        [("v6-values.traceg", true), ("v5-cluster.traceg", false), ("v4-packed.traceg.xz", false)]
    {
        let mut trace = AccelSimTrace::open(&data(name)).unwrap();
        assert_eq!(trace.has_values().unwrap(), has_values, "{name}");
        let first = trace.next_launch().unwrap();
        assert!(first.is_some(), "{name}: to ask takes nothing away");
    }
}

#[test]
fn the_report_names_what_was_tolerated() {
    let (_, report) = read(&data("v5-cluster.traceg")).unwrap();
    let warnings: Vec<&str> = report.warnings().map(|(text, _)| text).collect();
    assert_eq!(
        warnings,
        [
            "header: nregs = 21955 is not a register count; it is found from the instructions",
            "unknown opcode `NEWOP.X`: treated as arithmetic",
        ]
    );
    assert_eq!(report.versions, ["5"]);
}

/// Most bytes the reader holds for a trace with so many instructions a warp and blocks.
fn peak(executed: u64, blocks: u32) -> usize {
    let shape =
        Shape { seed: 3, launches: 1, instructions: 12, grid: [blocks, 1, 1], block: [96, 1, 1], executed };
    let directory = tempfile::tempdir().unwrap();
    write_accelsim(&mut Synthetic::new(shape).without_operands(), directory.path()).unwrap();
    let mut trace = AccelSimTrace::open(&directory.path().join("kernelslist.g")).unwrap();
    let mut peak = 0;
    while let Some(mut stream) = trace.next_stream().unwrap() {
        let warps = stream.launch().warps_per_block();
        let mut buffer = WarpInstruction::default();
        for block in 0..stream.launch().blocks() {
            stream.start_block(block).unwrap();
            for warp in 0..warps {
                while stream.next(block, warp, &mut buffer).unwrap() {
                    peak = peak.max(stream.held_bytes());
                }
            }
            stream.finish_block(block);
        }
    }
    peak
}

#[test]
fn a_text_ten_times_longer_takes_no_more_memory() {
    let short = peak(200, 4);
    let (longer, wider) = (peak(2000, 4), peak(200, 40));
    assert!(longer <= short + short / 10, "{longer} bytes for more instructions, {short} before");
    assert!(wider <= short + short / 10, "{wider} bytes for more blocks, {short} before");
}

#[test]
fn an_operand_in_scratchpad_is_refused() {
    let shape =
        Shape { seed: 3, launches: 1, instructions: 12, grid: [1; 3], block: [32, 1, 1], executed: 5 };
    let directory = tempfile::tempdir().unwrap();
    let error = write_accelsim(&mut Synthetic::new(shape), directory.path()).unwrap_err().to_string();
    assert!(error.contains("an operand in scratchpad") && error.contains("accepted: "), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
