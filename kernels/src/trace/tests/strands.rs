//! What the compilers of a register scratchpad and of a register file hierarchy map in a trace, whose control flow and
//! guards are what was seen.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::samples::{own, real};
use crate::compile::rfh::{self, AccessEnergy, LevelEnergies};
use crate::compile::rsp;
use crate::program::{Launches, Operation, Program, Stream};
use crate::trace::{open, write_accelsim};
use crate::workloads;

/// Entries of a warp in both.
const ENTRIES: u8 = 3;

fn in_scratchpad(program: &Program) -> rsp::Placement {
    let energy = |both: f64| AccessEnergy { read: both, write: both };
    let energies = rsp::Energies { backing: energy(16.0), scratchpad: energy(4.0), copy: 20.0 };
    rsp::compile(program, &rsp::Parameters { entries: ENTRIES, energies, transfers: true }).unwrap()
}

fn in_hierarchy(program: &Program) -> rfh::Placement {
    let energy = |both: f64| AccessEnergy { read: both, write: both };
    let energies = LevelEnergies { main: energy(16.0), orf: energy(4.0), lrf: energy(2.0) };
    rfh::compile(program, &rfh::Parameters { orf_entries: ENTRIES, energies }).unwrap()
}

/// Calls a check for every launch of a trace; sums up what it counts.
fn of_launches(
    path: &Path,
    check: impl Fn(&mut dyn Stream, &Program) -> Result<usize, String>,
) -> Result<usize, String> {
    let mut trace = open(path).map_err(|error| error.to_string())?;
    let mut sum = 0;
    while let Some(mut stream) = trace.next_launch().map_err(|error| error.to_string())? {
        let program = stream.program().clone();
        sum += check(stream.as_mut(), &program)?;
    }
    Ok(sum)
}

/// Checks both placements of every launch, on every path seen and as executed; returns how many operands are mapped in each.
fn check(path: &Path) -> Result<[usize; 2], String> {
    let scratchpad = of_launches(path, |stream, program| {
        let wrong = |wrong: &dyn std::fmt::Display| format!("rsp: {wrong}");
        let placement = in_scratchpad(program);
        rsp::check_static::check_static(program, &placement).map_err(|error| wrong(&error))?;
        rsp::check::check_recorded(stream, program, &placement, ENTRIES).map_err(|error| wrong(&error))?;
        let sources = placement.places.iter().flat_map(|places| places.sources);
        Ok(sources.filter(|source| source.entry.is_some()).count())
    })?;
    let hierarchy = of_launches(path, |stream, program| {
        let wrong = |wrong: &dyn std::fmt::Display| format!("rfh: {wrong}");
        let placement = in_hierarchy(program);
        rfh::check_static::check_static(program, &placement).map_err(|error| wrong(&error))?;
        rfh::check::check_recorded(stream, program, &placement, ENTRIES).map_err(|error| wrong(&error))?;
        let sources = placement.places.iter().flat_map(|places| places.sources);
        Ok(sources.filter(|source| source.upper.is_some()).count())
    })?;
    Ok([scratchpad, hierarchy])
}

/// The strands with two made one that meet where the trace breaks and nothing else ends the first: for each such pair, and where.
fn joined(program: &Program, strands: &[Range<u32>]) -> Vec<(usize, Vec<Range<u32>>)> {
    let seen = program.control.as_ref().and_then(|control| control.seen.as_ref()).expect("of a trace");
    let meet_at_break = |&number: &usize| {
        let start = strands[number].start as usize;
        let before = program.instructions[start - 1].operation;
        seen.breaks[start] && !program.instructions[start].suspends && before != Operation::Barrier
    };
    let join = |number: usize| {
        let mut all = strands.to_vec();
        let second = all.remove(number);
        all[number - 1].end = second.end;
        (second.start as usize, all)
    };
    (1..strands.len()).filter(meet_at_break).map(join).collect()
}

/// Two lanes execute a straight program after each other and meet at its end: no edge shows that the first has waited.
#[test]
fn a_strand_that_goes_on_where_its_trace_breaks_is_found() {
    let line = |pc: u32, mask: u32| format!("{pc:04x} {mask:08x} 1 R1 IADD3 2 R1 R2 0");
    let lines = [(0, 1), (16, 1), (0, 2), (16, 2), (32, 3)].map(|(pc, mask)| line(pc, mask)).to_vec();
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &[lines.clone(), lines]);
    let checked = of_launches(&path, |_, program| {
        let scratchpad = in_scratchpad(program);
        let [(2, strands)] = &joined(program, &scratchpad.strands)[..] else { panic!("{scratchpad:?}") };
        let broken = rsp::Placement { strands: strands.clone(), ..scratchpad.clone() };
        let misplaced = rsp::check_static::check_static(program, &broken);
        assert_eq!(misplaced, Err(rsp::check_static::Misplaced::EnteredInTheMiddle(2)));
        let hierarchy = in_hierarchy(program);
        let [(2, strands)] = &joined(program, &hierarchy.strands)[..] else { panic!("{hierarchy:?}") };
        let broken = rfh::Placement { strands: strands.clone(), ..hierarchy.clone() };
        let misplaced = rfh::check_static::check_static(program, &broken);
        assert_eq!(misplaced, Err(rfh::check_static::Misplaced::EnteredInTheMiddle(2)));
        Ok(1)
    });
    assert_eq!(checked, Ok(1));
}

#[test]
fn operands_of_every_sample_are_mapped_and_found() {
    for path in own().into_iter().chain(real()) {
        let mapped = check(&path).unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display()));
        assert!(mapped.iter().all(|&operands| operands > 0), "{}: {mapped:?}", path.display());
    }
}

/// A workload's own strands may be longer: a trace is cut where it was seen to break.
#[test]
fn operands_of_every_workload_are_mapped_and_found_in_its_trace() {
    for workload in workloads::list() {
        let directory = tempfile::tempdir().unwrap();
        write_accelsim(&mut workload.open("tiny").unwrap(), directory.path()).unwrap();
        let mapped = check(&directory.path().join("kernelslist.g"));
        let mapped = mapped.unwrap_or_else(|wrong| panic!("{}: {wrong}", workload.name));
        assert!(mapped.iter().all(|&operands| operands > 0), "{}: {mapped:?}", workload.name);
    }
}

/// What an instruction is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Sum,
    /// Two machine instructions: a pair of registers.
    Product,
    Load,
    Barrier,
    Exit,
}

/// A trace of two warps of four threads each that go where choices send them, and are executed in any order.
#[derive(Clone, Debug)]
struct Wandering {
    /// For each instruction its result, its two sources, and what it is.
    instructions: Vec<(u8, u8, u8, Kind)>,
    /// What each step of a warp draws from.
    choices: Vec<u8>,
    /// Lanes at the lowest address go first; else any.
    in_program_order: bool,
}

/// Lanes of a block that has two warps.
const LANES_OF_WARPS: [usize; 2] = [32, 4];

/// Writes a trace of a block with the lines of its warps.
fn write(folder: &Path, warps: &[Vec<String>; 2]) -> PathBuf {
    let mut text = "-kernel name = wandering\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (36,1,1)\n\
                    -shmem = 0\n-nregs = 8\n-binary version = 70\n-accelsim tracer version = 3\n\n\
                    #BEGIN_TB\n\nthread block = 0,0,0\n"
        .to_owned();
    for (warp, lines) in warps.iter().enumerate() {
        writeln!(text, "\nwarp = {warp}\ninsts = {}\n{}", lines.len(), lines.join("\n")).unwrap();
    }
    text.push_str("\n#END_TB\n");
    let path = folder.join("wandering.traceg");
    std::fs::write(&path, text).unwrap();
    path
}

impl Wandering {
    fn write(&self, folder: &Path) -> PathBuf {
        let mut choices = self.choices.iter().copied().cycle();
        write(folder, &LANES_OF_WARPS.map(|lanes| self.walk(lanes, &mut choices)))
    }

    /// The lines of a warp.
    fn walk(&self, lanes: usize, choices: &mut impl Iterator<Item = u8>) -> Vec<String> {
        let count = self.instructions.len();
        let mut draw = |below: usize| usize::from(choices.next().expect("it goes on")) % below;
        // Eight lanes stay together, so that four groups wander.
        let group = lanes.div_ceil(4);
        let mut places: Vec<usize> = (0..4).map(|_| if draw(4) == 0 { draw(count) } else { 0 }).collect();
        let mut lines = Vec::new();
        let mut steps = 8 * count;
        while let Some(lowest) = places.iter().copied().filter(|&place| place < count).min() {
            if lines.len() > 20 * count {
                break;
            }
            let waiting: Vec<usize> = (0..4).filter(|&group| places[group] < count).collect();
            let place = match self.in_program_order {
                true => lowest,
                false => places[waiting[draw(waiting.len())]],
            };
            let mut mask = 0u32;
            for (number, own) in places.iter_mut().enumerate() {
                // Some that are here wait for no reason.
                if *own == place && (self.in_program_order || draw(5) > 0) {
                    mask |= (u32::MAX >> (32 - group)) << (number * group);
                    steps = steps.saturating_sub(1);
                    *own = match draw(8) {
                        _ if steps == 0 || self.instructions[place].3 == Kind::Exit => count,
                        0 => draw(count + 1),
                        1 => place + 2,
                        _ => place + 1,
                    };
                }
            }
            lines.push(self.line(place, mask));
        }
        lines
    }

    fn line(&self, place: usize, mask: u32) -> String {
        let (result, one, other, kind) = self.instructions[place];
        let pc = 16 * place;
        match kind {
            Kind::Sum => format!("{pc:04x} {mask:08x} 1 R{result} IADD3 2 R{one} R{other} 0"),
            Kind::Product => format!("{pc:04x} {mask:08x} 1 R{} IMAD.WIDE 2 R{one} R{other} 0", result & !1),
            Kind::Load => {
                let addresses = " 0x7f0000001000".repeat(mask.count_ones() as usize);
                format!("{pc:04x} {mask:08x} 1 R{result} LDG.E 1 R{one} 4 0{addresses}")
            }
            Kind::Barrier => format!("{pc:04x} {mask:08x} 0 BAR.SYNC 0 0"),
            Kind::Exit => format!("{pc:04x} {mask:08x} 0 EXIT 0 0"),
        }
    }
}

fn wandering() -> impl Strategy<Value = Wandering> {
    let kind = prop_oneof![
        10 => Just(Kind::Sum), 2 => Just(Kind::Product), 1 => Just(Kind::Load), 1 => Just(Kind::Barrier),
        1 => Just(Kind::Exit)
    ];
    let instruction = (0..6u8, 0..6u8, 0..6u8, kind);
    (prop::collection::vec(instruction, 3..14), prop::collection::vec(any::<u8>(), 8..200), any::<bool>())
        .prop_map(|(instructions, choices, in_program_order)| Wandering {
            instructions,
            choices,
            in_program_order,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn operands_are_found_however_lanes_wander(trace in wandering()) {
        let folder = tempfile::tempdir().unwrap();
        check(&trace.write(folder.path())).map_err(TestCaseError::fail)?;
    }
}
