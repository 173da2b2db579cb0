//! The circuits of one scheduler, and what goes into them in a cycle.

use std::collections::VecDeque;

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, InPort};
use warpfile_hdl::wir::{
    EvictedRowIo, FreePool, LoadGuard, ROW_RESULTS, ReferenceCounts, RenameTables, RetryQueue, ReuseBuffer,
    ValueHash, ValueSignatureBuffer, VerifyCache,
};

use super::{CHANGES, Parts};
use crate::mechanisms::Build;
use crate::sm::SimError;

/// Holds that come in a cycle: of three sources, of the results that are found, and of a value that is.
pub const fn holds(row_results: usize) -> usize {
    4 + row_results
}

/// Registers asked for in a cycle: three sources, a result that has been found, a register that is to be shared, one that is to be
/// overwritten, and, with two results a row, the second of those that have been found.
pub const fn queries(row_results: usize) -> usize {
    5 + row_results
}

/// Registers asked for in a cycle at most.
pub const QUERIES: usize = queries(ROW_RESULTS);

/// A circuit that runs, with its ports.
pub struct Circuit<P> {
    pub engine: AnyEngine,
    pub ports: P,
}

/// The circuits of one scheduler.
pub struct Circuits {
    pub rename: Circuit<CircuitPorts<RenameTables>>,
    pub reuse: Circuit<CircuitPorts<ReuseBuffer>>,
    pub hash: Circuit<CircuitPorts<ValueHash>>,
    pub signatures: Circuit<CircuitPorts<ValueSignatureBuffer>>,
    pub pool: Circuit<CircuitPorts<FreePool>>,
    pub counts: Circuit<CircuitPorts<ReferenceCounts>>,
    /// `None` if nothing is looked up again.
    pub retry: Option<Circuit<CircuitPorts<RetryQueue>>>,
    /// `None` if every register that is verified is read.
    pub verify: Option<Circuit<CircuitPorts<VerifyCache>>>,
    /// `None` if no loads are reused but those of constants.
    pub guard: Option<Circuit<CircuitPorts<LoadGuard>>>,
    pub registers: usize,
    pub register_bits: usize,
}

/// References and holds that come and go in a cycle. Those that come have ports enough and are all counted in the next cycle; of
/// those that go as many as there are ports, and the others wait in their order: a register is freed later, never too early.
pub struct Changes {
    pub allocated: Option<u32>,
    pub increments: Vec<u32>,
    pub holds: Vec<u32>,
    pub decrements: VecDeque<u32>,
    pub drops: VecDeque<u32>,
}

impl Changes {
    fn new(registers: usize) -> Changes {
        Changes {
            allocated: None,
            increments: Vec::with_capacity(CHANGES),
            holds: Vec::with_capacity(holds(ROW_RESULTS)),
            decrements: VecDeque::with_capacity(registers),
            drops: VecDeque::with_capacity(registers),
        }
    }
}

/// What a query says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer {
    pub has_room: bool,
    pub is_sole: bool,
}

impl Circuits {
    /// Those of every partition.
    ///
    /// # Errors
    /// A parameter that a circuit does not support.
    pub fn of_partitions(at: &Build<'_>, parts: &Parts) -> Result<Vec<(Circuits, Changes)>, SimError> {
        macro_rules! built {
            ($circuit:expr, $foreseen:expr) => {{
                let foreseen: Vec<&str> = $foreseen;
                at.of_partitions($circuit, &foreseen, |engine| {
                    Ok(Circuit { ports: engine.ports($circuit)?, engine })
                })?
                .into_iter()
            }};
        }
        let queries: Vec<String> = (0..parts.counts.queries)
            .flat_map(|k| [format!("query{k}_has_room_o"), format!("query{k}_is_sole_o")])
            .collect();
        let mut rename = built!(&parts.rename, Vec::new());
        let mut reuse = built!(&parts.reuse, Vec::new());
        let mut hash = built!(&parts.hash, vec!["hash_o"]);
        let mut signatures = built!(&parts.signatures, Vec::new());
        let mut pool = built!(&parts.pool, vec!["valid_o", "register_o", "count_o"]);
        let mut counts = built!(&parts.counts, queries.iter().map(String::as_str).collect());
        let mut retry = match &parts.retry {
            Some(circuit) => Some(built!(circuit, vec!["ready_o", "valid_o", "id_o", "urgent_o"])),
            None => None,
        };
        let mut verify = match &parts.verify {
            Some(circuit) => Some(built!(circuit, Vec::new())),
            None => None,
        };
        let mut guard = match &parts.guard {
            Some(circuit) => Some(built!(circuit, Vec::new())),
            None => None,
        };
        let (registers, register_bits) = (parts.pool.registers, parts.reuse.register_bits);
        let mut all = Vec::with_capacity(at.partitions());
        while let (Some(rename), Some(reuse), Some(hash), Some(signatures), Some(pool), Some(counts)) =
            (rename.next(), reuse.next(), hash.next(), signatures.next(), pool.next(), counts.next())
        {
            let circuits = Circuits {
                rename,
                reuse,
                hash,
                signatures,
                pool,
                counts,
                retry: retry.as_mut().and_then(Iterator::next),
                verify: verify.as_mut().and_then(Iterator::next),
                guard: guard.as_mut().and_then(Iterator::next),
                registers,
                register_bits,
            };
            all.push((circuits, Changes::new(registers)));
        }
        Ok(all)
    }

    /// What the reference counts say of registers, in this cycle.
    pub fn query(&mut self, registers: [Option<u32>; QUERIES]) -> [Answer; QUERIES] {
        let Circuit { engine, ports } = &mut self.counts;
        for (query, register) in ports.query.iter().zip(registers) {
            set_register(engine, query.valid_i, query.register_i, register);
        }
        engine.foresee();
        let mut answers = [Answer::default(); QUERIES];
        for (answer, query) in answers.iter_mut().zip(&ports.query) {
            answer.has_room = engine.get(query.has_room_o) == 1;
            answer.is_sole = engine.get(query.is_sole_o) == 1;
        }
        answers
    }

    /// Ends the cycle of the reference counts and of the pool.
    pub fn end_cycle(&mut self, changes: &mut Changes) {
        let Circuit { engine, ports } = &mut self.counts;
        let take = changes.allocated.take();
        set_register(engine, ports.allocated.valid_i, ports.allocated.register_i, take);
        debug_assert!(changes.increments.len() <= ports.increment.len());
        debug_assert!(changes.holds.len() <= ports.hold.len());
        let mut increments = changes.increments.drain(..);
        for port in &ports.increment {
            set_register(engine, port.valid_i, port.register_i, increments.next());
        }
        let mut holds = changes.holds.drain(..);
        for port in &ports.hold {
            set_register(engine, port.valid_i, port.register_i, holds.next());
        }
        for port in &ports.decrement {
            set_register(engine, port.valid_i, port.register_i, changes.decrements.pop_front());
        }
        for port in &ports.drop {
            set_register(engine, port.valid_i, port.register_i, changes.drops.pop_front());
        }
        engine.step();
        let pool = &mut self.pool;
        pool.engine.set_words(pool.ports.freed_i, engine.get_words(ports.freed_o));
        pool.engine.set(pool.ports.take_i, u64::from(take.is_some()));
        pool.engine.step();
    }

    /// References of rows of the reuse buffer that have been given up go.
    pub fn give_up_rows(&self, changes: &mut Changes) {
        let Circuit { engine, ports } = &self.reuse;
        for row in &ports.evicted {
            give_up_row(engine, row, changes);
        }
    }
}

fn give_up_row(engine: &AnyEngine, row: &EvictedRowPorts, changes: &mut Changes) {
    if engine.get(row.valid_o) == 0 {
        return;
    }
    for operand in &row.operand {
        if engine.get(operand.is_register_o) == 1 {
            changes.decrements.push_back(engine.get(operand.register_o) as u32);
        }
    }
    if engine.get(row.has_result_o) == 1 {
        changes.decrements.push_back(engine.get(row.register_o) as u32);
    }
    for second in &row.second {
        if engine.get(second.valid_o) == 1 {
            changes.decrements.push_back(engine.get(second.register_o) as u32);
        }
    }
}

type EvictedRowPorts = warpfile_engine::PortsOf<EvictedRowIo<'static>>;

/// Sets a port that may have a register.
pub fn set_register(engine: &mut AnyEngine, valid: InPort, register: InPort, value: Option<u32>) {
    engine.set(valid, u64::from(value.is_some()));
    if let Some(value) = value {
        engine.set(register, u64::from(value));
    }
}
