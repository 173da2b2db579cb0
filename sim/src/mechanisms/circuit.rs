//! What the circuits of several mechanisms have in common: ports by group, accesses to tables, lanes as words.

use warpfile_engine::{ActivityKind, Engine, EngineError, InPort, OutPort};
use warpfile_kernels::program::{LANES, LaneValues, MAX_SOURCES};

use crate::sm::{Accesses, PortActivity, TableAccesses};

/// Resolves ports of one group: `valid_i` of group `issue` is port `issue_valid_i`.
pub struct Group<'e> {
    engine: &'e dyn Engine,
    name: String,
}

impl<'e> Group<'e> {
    /// The ports that begin with `name`.
    pub fn new(engine: &'e dyn Engine, name: &str) -> Group<'e> {
        Group { engine, name: name.to_owned() }
    }

    /// An input.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn input(&self, port: &str) -> Result<InPort, EngineError> {
        self.engine.input(&format!("{}_{port}", self.name))
    }

    /// An output.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn output(&self, port: &str) -> Result<OutPort, EngineError> {
        self.engine.output(&format!("{}_{port}", self.name))
    }
}

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

/// Ports of each of `count` groups, which are numbered if there are several: `issue0`, `issue1`.
///
/// # Errors
/// The first that is not there.
pub fn numbered<P>(
    count: usize,
    resolve: impl Fn(&str) -> Result<P, EngineError>,
) -> Result<Vec<P>, EngineError> {
    let number = |index: usize| if count > 1 { index.to_string() } else { String::new() };
    (0..count).map(|index| resolve(&number(index))).collect()
}

/// A port for each source operand.
///
/// # Errors
/// The first that is not there.
pub fn per_source<P>(
    resolve: impl Fn(usize) -> Result<P, EngineError>,
) -> Result<[P; MAX_SOURCES], EngineError> {
    Ok([resolve(0)?, resolve(1)?, resolve(2)?])
}
