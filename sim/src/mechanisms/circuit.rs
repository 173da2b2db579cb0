//! What the circuits of several mechanisms have in common: accesses to tables, lanes as words.

use warpfile_engine::{ActivityKind, Engine};
use warpfile_kernels::program::{LANES, LaneValues};

use crate::sm::{Accesses, PortActivity, TableAccesses};

/// Accesses to the tables whose path ends in `.name`, or is `name`.
pub fn accesses(engine: &impl Engine, name: &str) -> Accesses {
    let mut accesses = Accesses::default();
    for port in engine.activity().ports {
        if port.table.rsplit('.').next() != Some(name) {
            continue;
        }
        match port.kind {
            ActivityKind::Read | ActivityKind::ClockedRead => {
                accesses.reads += port.cycles;
                accesses.cluster_reads += port.arrays;
            }
            ActivityKind::Write => {
                accesses.writes += port.cycles;
                accesses.cluster_writes += port.arrays;
            }
            ActivityKind::Match
            | ActivityKind::Add
            | ActivityKind::ClearRow
            | ActivityKind::ClearRows
            | ActivityKind::SetRows => {}
        }
    }
    accesses
}

/// Cycles in which ports of the tables were used whose path `belongs`.
pub fn table_accesses(engine: &impl Engine, belongs: impl Fn(&str) -> bool) -> TableAccesses {
    let mut accesses = TableAccesses::default();
    for port in engine.activity().ports.into_iter().filter(|port| belongs(&port.table)) {
        match port.kind {
            ActivityKind::Read | ActivityKind::ClockedRead => accesses.reads += port.cycles,
            ActivityKind::Write => accesses.writes += port.cycles,
            ActivityKind::Match => accesses.searches += port.cycles,
            ActivityKind::Add | ActivityKind::ClearRow | ActivityKind::ClearRows | ActivityKind::SetRows => {}
        }
    }
    accesses
}

/// Activity of every table port.
pub fn activity(engine: &impl Engine) -> Vec<PortActivity> {
    let ports = engine.activity().ports.into_iter();
    ports.map(|port| PortActivity { port: port.path, cycles: port.cycles, arrays: port.arrays }).collect()
}

/// Lanes two a word, lane 0 lowest.
pub fn words(lanes: &LaneValues) -> [u64; LANES / 2] {
    let (pairs, _) = lanes.as_chunks();
    std::array::from_fn(|index| {
        let [low, high] = pairs[index];
        u64::from(low) | u64::from(high) << 32
    })
}

/// Lanes from words, as [`words`] makes them.
pub fn copy_lanes(words: &[u64], into: &mut LaneValues) {
    for (pair, &word) in into.as_chunks_mut().0.iter_mut().zip(words) {
        *pair = [word as u32, (word >> 32) as u32];
    }
}
