//! The circuits of a partition, and what goes into them in a cycle.

use std::collections::VecDeque;

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, InPort};
use warpfile_hdl::wir::{
    EvictedRowIo, FreePool, LoadGuard, ROW_RESULTS, ReferenceCounts, RenameTables, RetryQueue, ReuseBuffer,
    ValueHash, ValueSignatureBuffer, VerifyCache,
};

use super::{CHANGES, Parts};
use crate::mechanisms::Build;
use crate::sm::SimError;
use crate::sm::design::MAX_ISSUES;

/// Holds that come to a scheduler in a cycle: of three sources, of the results that are found, and of a value that is.
pub const fn holds(row_results: usize) -> usize {
    4 + row_results
}

/// Registers that a scheduler asks for in a cycle: three sources, a result that has been found, a register that is to be shared, one that is to be
/// overwritten, and, with two results a row, the second of those that have been found.
pub const fn queries(row_results: usize) -> usize {
    5 + row_results
}

/// Registers that a scheduler asks for in a cycle at most.
pub const QUERIES: usize = queries(ROW_RESULTS);

/// A circuit that runs, with its ports.
pub struct Circuit<P> {
    pub engine: AnyEngine,
    pub ports: P,
}

/// The circuits of one scheduler.
pub struct StageCircuits {
    pub rename: Circuit<CircuitPorts<RenameTables>>,
    pub hash: Circuit<CircuitPorts<ValueHash>>,
    /// `None` if nothing is looked up again.
    pub retry: Option<Circuit<CircuitPorts<RetryQueue>>>,
    /// `None` if no loads are reused but those of constants.
    pub guard: Option<Circuit<CircuitPorts<LoadGuard>>>,
}

/// The circuits that the schedulers of a partition share.
pub struct SharedCircuits {
    pub reuse: Circuit<CircuitPorts<ReuseBuffer>>,
    pub signatures: Circuit<CircuitPorts<ValueSignatureBuffer>>,
    pub pool: Circuit<CircuitPorts<FreePool>>,
    pub counts: Circuit<CircuitPorts<ReferenceCounts>>,
    /// `None` if every register that is verified is read.
    pub verify: Option<Circuit<CircuitPorts<VerifyCache>>>,
    pub registers: usize,
    pub register_bits: usize,
}

/// The circuits of a partition.
pub struct PartitionCircuits {
    pub stages: Vec<StageCircuits>,
    pub shared: SharedCircuits,
    pub changes: Changes,
}

/// References and holds that come and go in a cycle. Those that come have ports enough and are all counted in the next cycle; of
/// those that go as many as there are ports, and the others wait in their order: a register is freed later, never too early.
pub struct Changes {
    /// By scheduler.
    pub allocated: [Option<u32>; MAX_ISSUES],
    pub increments: Vec<u32>,
    pub holds: Vec<u32>,
    pub decrements: VecDeque<u32>,
    pub drops: VecDeque<u32>,
}

impl Changes {
    fn new(registers: usize) -> Changes {
        Changes {
            allocated: [None; MAX_ISSUES],
            increments: Vec::with_capacity(MAX_ISSUES * CHANGES),
            holds: Vec::with_capacity(MAX_ISSUES * holds(ROW_RESULTS)),
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

/// What the queries of each scheduler say.
pub type Answers = [[Answer; QUERIES]; MAX_ISSUES];

impl PartitionCircuits {
    /// Those of every partition.
    ///
    /// # Errors
    /// A parameter that a circuit does not support.
    pub fn of_partitions(at: &Build<'_>, parts: &Parts) -> Result<Vec<PartitionCircuits>, SimError> {
        macro_rules! built {
            ($of:ident, $circuit:expr, $foreseen:expr) => {{
                let foreseen: Vec<&str> = $foreseen;
                at.$of($circuit, &foreseen, |engine| Ok(Circuit { ports: engine.ports($circuit)?, engine }))?
                    .into_iter()
            }};
        }
        macro_rules! built_if_any {
            ($of:ident, $circuit:expr, $foreseen:expr) => {
                match $circuit {
                    Some(circuit) => Some(built!($of, circuit, $foreseen)),
                    None => None,
                }
            };
        }
        let queries: Vec<String> = (0..parts.counts.queries)
            .flat_map(|k| [format!("query{k}_has_room_o"), format!("query{k}_is_sole_o")])
            .collect();
        let offers: Vec<String> = (0..parts.pool.ways)
            .map(|way| if parts.pool.ways > 1 { format!("offer{way}") } else { "offer".to_owned() })
            .flat_map(|offer| [format!("{offer}_valid_o"), format!("{offer}_register_o")])
            .chain(["count_o".to_owned()])
            .collect();
        let mut rename = built!(of_schedulers, &parts.rename, Vec::new());
        let mut hash = built!(of_schedulers, &parts.hash, vec!["hash_o"]);
        let mut retry =
            built_if_any!(of_schedulers, &parts.retry, vec!["ready_o", "valid_o", "id_o", "urgent_o"]);
        let mut guard = built_if_any!(of_schedulers, &parts.guard, Vec::new());
        let mut reuse = built!(of_partitions, &parts.reuse, Vec::new());
        let mut signatures = built!(of_partitions, &parts.signatures, Vec::new());
        let mut pool = built!(of_partitions, &parts.pool, offers.iter().map(String::as_str).collect());
        let mut counts = built!(of_partitions, &parts.counts, queries.iter().map(String::as_str).collect());
        let mut verify = built_if_any!(of_partitions, &parts.verify, Vec::new());
        let mut all = Vec::with_capacity(at.partitions());
        while let (Some(reuse), Some(signatures), Some(pool), Some(counts)) =
            (reuse.next(), signatures.next(), pool.next(), counts.next())
        {
            let (registers, register_bits) = (parts.pool.registers, parts.reuse.register_bits);
            let verify = verify.as_mut().and_then(Iterator::next);
            all.push(PartitionCircuits {
                stages: Vec::new(),
                shared: SharedCircuits { reuse, signatures, pool, counts, verify, registers, register_bits },
                changes: Changes::new(registers),
            });
        }
        let mut number = 0;
        while let (Some(rename), Some(hash)) = (rename.next(), hash.next()) {
            let retry = retry.as_mut().and_then(Iterator::next);
            let guard = guard.as_mut().and_then(Iterator::next);
            all[number % at.partitions()].stages.push(StageCircuits { rename, hash, retry, guard });
            number += 1;
        }
        Ok(all)
    }
}

impl SharedCircuits {
    /// What the reference counts say of registers, in this cycle.
    pub fn query(&mut self, registers: &[[Option<u32>; QUERIES]; MAX_ISSUES]) -> Answers {
        let Circuit { engine, ports } = &mut self.counts;
        let of_one = ports.query.len() / ports.allocated.len();
        for (ports, registers) in ports.query.chunks(of_one).zip(registers) {
            for (query, &register) in ports.iter().zip(registers) {
                set_register(engine, query.valid_i, query.register_i, register);
            }
        }
        engine.foresee();
        let mut all = [[Answer::default(); QUERIES]; MAX_ISSUES];
        for (ports, answers) in ports.query.chunks(of_one).zip(&mut all) {
            for (query, answer) in ports.iter().zip(answers) {
                answer.has_room = engine.get(query.has_room_o) == 1;
                answer.is_sole = engine.get(query.is_sole_o) == 1;
            }
        }
        all
    }

    /// Ends the cycle of the reference counts and of the pool.
    pub fn end_cycle(&mut self, changes: &mut Changes) {
        let Circuit { engine, ports } = &mut self.counts;
        let taken = std::mem::take(&mut changes.allocated);
        for (port, register) in ports.allocated.iter().zip(taken) {
            set_register(engine, port.valid_i, port.register_i, register);
        }
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
        for offer in &pool.ports.offer {
            let register = pool.engine.get(offer.register_o) as u32;
            pool.engine.set(offer.take_i, u64::from(taken.contains(&Some(register))));
        }
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
