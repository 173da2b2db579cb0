//! Circuits behind the pipeline's traits: port handles are resolved once, by the names in
//! `docs/sm-pipeline.md`, and drive the engine from then on.

mod register_file;
mod regless;
mod renaming;
mod scheduler;

use warpfile_engine::activity::ActivityKind;
use warpfile_engine::{Engine, EngineError, InPort, OutPort};
use warpfile_kernels::program::{LANES, LaneValues};

use super::{Accesses, PortActivity, TableAccesses};

pub use register_file::{HierarchyCircuit, RegisterFileCircuit, TableNames};
pub use regless::RegLessCircuit;
pub(in crate::sm) use regless::{
    FORESEEN as REGLESS_FORESEEN, L1_PORT_FORESEEN, L1PortCircuit, Offer, WRITES as REGLESS_WRITES,
};
pub use renaming::RenamedRegisterFile;
pub use scheduler::SchedulerCircuit;

/// Resolves ports of one group: `valid_i` of group `issue` is port `issue_valid_i`.
struct Group<'e> {
    engine: &'e dyn Engine,
    name: String,
}

impl<'e> Group<'e> {
    fn new(engine: &'e dyn Engine, name: &str) -> Group<'e> {
        Group { engine, name: name.to_owned() }
    }

    fn input(&self, port: &str) -> Result<InPort, EngineError> {
        self.engine.input(&format!("{}_{port}", self.name))
    }

    fn output(&self, port: &str) -> Result<OutPort, EngineError> {
        self.engine.output(&format!("{}_{port}", self.name))
    }
}

/// Accesses to the tables whose path ends in `.name`, or is `name`.
fn accesses(engine: &impl Engine, name: &str) -> Accesses {
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
fn table_accesses(engine: &impl Engine, belongs: impl Fn(&str) -> bool) -> TableAccesses {
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
fn activity(engine: &impl Engine) -> Vec<PortActivity> {
    let ports = engine.activity().ports.into_iter();
    ports.map(|port| PortActivity { port: port.path, cycles: port.cycles, arrays: port.arrays }).collect()
}

/// Lanes two a word, lane 0 lowest.
fn words(lanes: &LaneValues) -> [u64; LANES / 2] {
    let (pairs, _) = lanes.as_chunks();
    std::array::from_fn(|index| {
        let [low, high] = pairs[index];
        u64::from(low) | u64::from(high) << 32
    })
}

/// The other way round.
fn copy_lanes(words: &[u64], into: &mut LaneValues) {
    for (pair, &word) in into.as_chunks_mut().0.iter_mut().zip(words) {
        *pair = [word as u32, (word >> 32) as u32];
    }
}
