//! What the warps of a launch race for is found out by going through it once more: from its beginning, with the memory that the
//! launches before it have left, whoever asks and when.

use std::collections::BTreeSet;
use std::sync::Arc;

use warpfile_kernels::program::{Launches, Operation, Races, Space, Stream, WORD_BYTES, WarpInstruction};
use warpfile_kernels::trace::{self, write_warpfile};
use warpfile_kernels::workloads;

/// Several launches, the later of which depend on the earlier; one kernel of bfs has all threads write one word.
const WORKLOADS: [&str; 3] = ["bfs", "nw", "histogram"];

/// What is raced for in each launch, asked for before its first block and in the middle.
fn races(launches: &mut dyn Launches) -> Vec<Arc<Races>> {
    let mut all = Vec::new();
    while let Some(mut stream) = launches.next_launch().unwrap() {
        let blocks = stream.launch().blocks();
        let mut instruction = WarpInstruction::default();
        let before = stream.races().unwrap().expect("it can be executed again");
        for block in 0..blocks {
            stream.start_block(block).unwrap();
            if block == blocks / 2 {
                stream.next(block, 0, &mut instruction).unwrap();
                assert_eq!(stream.races().unwrap(), Some(before.clone()));
            }
            stream.finish_block(block);
        }
        all.push(before);
    }
    all
}

#[test]
fn whoever_replays_a_launch_is_told_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for name in WORKLOADS {
        let open = || workloads::by_name(name).unwrap().open("tiny").unwrap();
        let mut executed = open();
        let expected = races(&mut executed);
        executed.check_results().unwrap_or_else(|error| panic!("{name}: {error}"));
        let recorded = open().record();
        // The first has the launches executed; the second comes to each when the run is at its end.
        for _ in 0..2 {
            assert_eq!(races(&mut recorded.replay()), expected, "{name}");
        }
        recorded.check_results().unwrap_or_else(|error| panic!("{name}: {error}"));
        let path = folder.path().join(name);
        write_warpfile(&mut open(), &path).unwrap();
        assert_eq!(races(&mut trace::open(&path).unwrap()), expected, "{name} from a trace");
    }
}

/// Warps that find a node of bfs write that there are more, all in one word.
#[test]
fn warps_of_bfs_race_for_the_word_that_says_that_there_is_more() {
    let mut open = workloads::by_name("bfs").unwrap().open("tiny").unwrap();
    let raced: u64 = races(&mut open).iter().map(|races| races.words()).sum();
    assert!(raced > 0);
}

/// Of a launch without barriers all that several warps of it access, if it is not only loaded.
#[test]
fn without_barriers_every_word_is_raced_for_that_one_warp_writes_and_another_accesses() {
    let mut open = workloads::by_name("bfs").unwrap().open("tiny").unwrap();
    while let Some(mut stream) = open.next_launch().unwrap() {
        let races = stream.races().unwrap().expect("it can be executed again");
        let (mut accessed, mut stored) = (BTreeSet::new(), BTreeSet::new());
        follow(stream.as_mut(), |warp, operation, word| {
            accessed.insert((word, warp));
            if matches!(operation, Operation::Store(_)) {
                stored.insert((word, warp));
            }
        });
        let others = |word: u64, warp: u64| {
            let (before, after) = ((word, 0)..(word, warp), (word, warp + 1)..(word + 1, 0));
            accessed.range(before).next().is_some() || accessed.range(after).next().is_some()
        };
        let expected: BTreeSet<u64> =
            stored.iter().filter(|(word, warp)| others(*word, *warp)).map(|(word, _)| *word).collect();
        assert_eq!(races.words(), expected.len() as u64);
        for word in expected {
            assert!(races.contains(Space::Global, word * WORD_BYTES, WORD_BYTES), "{word:#x}");
        }
    }
}

/// Tells of every access to global memory: the warp, numbered through all blocks, what it does, and the word.
fn follow(stream: &mut dyn Stream, mut told: impl FnMut(u64, Operation, u64)) {
    let mut instruction = WarpInstruction::default();
    let warps = stream.launch().warps_per_block();
    for block in 0..stream.launch().blocks() {
        stream.start_block(block).unwrap();
        for warp in 0..warps {
            while stream.next(block, warp, &mut instruction).unwrap() {
                let operation = stream.program().instructions[instruction.inst.0 as usize].operation;
                assert!(operation != Operation::Barrier && !matches!(operation, Operation::Atomic(_)));
                let (Operation::Load(access) | Operation::Store(access)) = operation else { continue };
                if access.space != Space::Global {
                    continue;
                }
                for lane in (0..32).filter(|lane| instruction.active >> lane & 1 == 1) {
                    let address = instruction.addresses[lane];
                    let last = address + u64::from(access.bytes) - 1;
                    for word in address / WORD_BYTES..=last / WORD_BYTES {
                        told(block * warps as u64 + warp as u64, operation, word);
                    }
                }
            }
        }
        stream.finish_block(block);
    }
}
