//! What holds of rename tables, buffers, pool, reference counts and instructions in flight together, between two cycles. What one
//! circuit promises by itself is proven of it; this is what only their contents side by side show, and it is looked at where
//! assertions are compiled in: in all tests.

use warpfile_engine::{AnyEngine, Engine, EngineError, OutPort, RowPort};
use warpfile_hdl::wir::OPERANDS;

use super::FORM_BITS;
use super::circuits::{Changes, SharedCircuits, StageCircuits};
use crate::config::Config;
use crate::sm::SimError;
use crate::sm::design::MAX_ISSUES;

/// Cycles that are all looked at, those in which the first warps start.
const FIRST: u64 = 300;
/// Cycles from one look to the next behind them: a prime, so that all phases of what repeats are seen.
const PERIOD: u64 = 31;
/// Cycles in which a register comes back to the pool after its last reference and hold have gone.
const FREEING: u64 = 8;

/// A promise that has been broken.
#[derive(Debug, thiserror::Error)]
#[error("invariant {name}: physical register {register} has {found}, expected {expected}")]
struct Broken {
    name: &'static str,
    register: usize,
    found: u64,
    expected: u64,
}

/// A row that nobody fills.
#[derive(Debug, thiserror::Error)]
#[error(
    "invariant a_pending_row_is_of_an_instruction_in_flight: row {row} waits for instruction {id}, which has not reserved it"
)]
struct Forgotten {
    row: usize,
    id: u64,
}

/// Rows of a table and which of them are valid.
struct Rows<const FIELDS: usize> {
    rows: Vec<[RowPort; FIELDS]>,
    valid: OutPort,
}

impl<const FIELDS: usize> Rows<FIELDS> {
    fn new(engine: &AnyEngine, table: &str, fields: [&str; FIELDS]) -> Result<Self, EngineError> {
        let valid = engine.probe(&format!("{table}_valid_q"))?;
        let plan = engine.state().plan();
        let row = |row: u32| -> Result<[RowPort; FIELDS], EngineError> {
            let ports: Vec<RowPort> =
                fields.iter().map(|field| plan.row(table, row, field)).collect::<Result<_, _>>()?;
            Ok(ports.try_into().unwrap_or_else(|_| unreachable!("as many as there are fields")))
        };
        Ok(Rows { rows: (0..valid.width()).map(row).collect::<Result<_, _>>()?, valid })
    }

    /// The fields of the valid rows.
    fn valid<'a>(&'a self, engine: &'a AnyEngine) -> impl Iterator<Item = [u64; FIELDS]> + 'a {
        self.numbered(engine).map(|(_, fields)| fields)
    }

    /// The valid rows' numbers and fields.
    fn numbered<'a>(&'a self, engine: &'a AnyEngine) -> impl Iterator<Item = (usize, [u64; FIELDS])> + 'a {
        let words = engine.get_words(self.valid);
        let field = |port: RowPort| engine.get_row(port).to_u64_digits().first().copied().unwrap_or(0);
        let rows = (0..self.rows.len()).filter(|&row| is_set(words, row));
        rows.map(move |row| (row, self.rows[row].map(field)))
    }
}

/// Where the tables are, and what has been seen.
pub struct Invariants {
    /// Of each scheduler.
    mappings: Vec<Rows<1>>,
    computations: Rows<3>,
    seconds: Option<Rows<1>>,
    signatures: Rows<1>,
    counts: Rows<2>,
    used: OutPort,
    register_bits: usize,
    /// How often each register has been given away.
    allocations: Vec<u64>,
    /// Registers without reference or hold, with their allocations then, and the cycle in which they are looked at again.
    idle: Vec<(usize, u64)>,
    look_at: u64,
    /// Lanes of each register that have been written since it was given away.
    written: Vec<u32>,
    seen: Option<Seen>,
}

/// What there is beside the circuits at the end of a cycle.
pub struct Seen {
    pub now: u64,
    /// What went into the reference counts in it.
    pub in_cycle: InCycle,
    /// References and holds that have gone and wait for a port.
    pub decrements: Vec<u32>,
    pub drops: Vec<u32>,
    /// Registers that instructions and results hold, one entry a hold.
    pub holds: Vec<u32>,
    /// References that have been counted and are not in a table yet.
    pub references: Vec<u32>,
    /// The rows that instructions have reserved, by their number.
    pub reserved: Vec<Option<usize>>,
}

impl Invariants {
    /// Looks for the tables.
    ///
    /// # Errors
    /// A table is not there.
    pub fn new(stages: &[StageCircuits], circuits: &SharedCircuits) -> Result<Invariants, EngineError> {
        let reuse = &circuits.reuse;
        let has_seconds = reuse.ports.lookup.iter().any(|lookup| !lookup.second.is_empty());
        let mappings = stages.iter().map(|stages| Rows::new(&stages.rename.engine, "mappings", ["physical"]));
        let seconds = has_seconds.then(|| Rows::new(&reuse.engine, "seconds", ["register"])).transpose()?;
        Ok(Invariants {
            mappings: mappings.collect::<Result<_, _>>()?,
            computations: Rows::new(&reuse.engine, "rows", ["tag", "result", "pending"])?,
            seconds,
            signatures: Rows::new(&circuits.signatures.engine, "rows", ["register"])?,
            counts: Rows::new(&circuits.counts.engine, "counts", ["entries", "holds"])?,
            used: circuits.pool.engine.probe("used_q")?,
            register_bits: circuits.register_bits,
            allocations: vec![0; circuits.registers],
            idle: Vec::new(),
            look_at: u64::MAX,
            written: vec![0; circuits.registers],
            seen: None,
        })
    }

    /// The registers among the operands of a computation.
    fn operands(&self, tag: u64) -> impl Iterator<Item = u64> + use<> {
        let bits = self.register_bits;
        let fields = (0..OPERANDS).map(move |operand| tag >> (FORM_BITS + operand * (bits + 1)));
        fields.filter(move |field| field >> bits & 1 == 1).map(move |field| field & ((1 << bits) - 1))
    }

    /// Entries and holds of each register, if it has been given away.
    fn counts(&self, circuits: &SharedCircuits) -> Vec<Option<[u64; 2]>> {
        let engine = &circuits.counts.engine;
        let words = engine.get_words(self.counts.valid);
        let mut valid = self.counts.valid(engine);
        (0..circuits.registers)
            .map(|register| if is_set(words, register) { valid.next() } else { None })
            .collect()
    }

    /// Registers have been given away in this cycle.
    pub fn allocate(&mut self, registers: [Option<u32>; MAX_ISSUES]) {
        for register in registers.into_iter().flatten() {
            self.allocations[register as usize] += 1;
            self.written[register as usize] = 0;
        }
    }

    /// Lanes of a register are written.
    ///
    /// # Errors
    /// `an_unpinned_register_is_written_once_per_allocation`: some of them have been before, and its mapping is not pinned.
    pub fn write(
        &mut self,
        config: &Config,
        register: u32,
        lanes: u32,
        is_pinned: bool,
    ) -> Result<(), SimError> {
        let written = &mut self.written[register as usize];
        let again = *written & lanes;
        *written |= lanes;
        let name = "an_unpinned_register_is_written_once_per_allocation";
        expect(config, name, register as usize, (u64::from(again) * u64::from(!is_pinned), 0))
    }

    /// Whether the state behind this cycle is one to look at.
    pub fn is_due(&self, now: u64) -> bool {
        now < FIRST || now.is_multiple_of(PERIOD) || now == self.look_at
    }

    /// Keeps what there was beside the circuits at the end of a cycle, until they show what it left.
    pub fn see(&mut self, seen: Seen) {
        self.seen = Some(seen);
    }

    /// Looks at everything behind a cycle that has been kept, in the next: a circuit that has been stepped shows the state with which
    /// its cycle began.
    ///
    /// # Errors
    /// A promise is broken.
    pub fn check<'c>(
        &mut self,
        config: &Config,
        stages: impl Iterator<Item = &'c StageCircuits>,
        circuits: &SharedCircuits,
    ) -> Result<(), SimError> {
        let Some(seen) = self.seen.take() else { return Ok(()) };
        let Seen { now, in_cycle, decrements, drops, holds, references, reserved } = seen;
        let all = circuits.registers;
        let reuse = &circuits.reuse.engine;
        let tables = self.mappings.iter().zip(stages);
        let mappings =
            tables.flat_map(|(rows, stages)| rows.valid(&stages.rename.engine)).map(|[physical]| physical);
        let signatures = self.signatures.valid(&circuits.signatures.engine).map(|[register]| register);
        let seconds = self.seconds.iter().flat_map(|seconds| seconds.valid(reuse)).map(|[register]| register);
        let operands = self.computations.valid(reuse).flat_map(|[tag, ..]| self.operands(tag));
        let done = self.computations.valid(reuse).filter(|[_, _, pending]| *pending == 0);
        let named = mappings
            .chain(signatures)
            .chain(seconds)
            .chain(operands)
            .chain(done.map(|[_, result, _]| result));
        let references = tally(all, named.chain(references.into_iter().map(u64::from)));
        let holders = tally(all, holds.into_iter().map(u64::from));
        let pending = self.computations.numbered(reuse).filter(|(_, [_, _, pending])| *pending == 1);
        if let Some((row, [_, id, _])) =
            pending.into_iter().find(|(row, [_, id, _])| reserved[*id as usize] != Some(*row))
        {
            return Err(SimError::circuit(config, Forgotten { row, id }));
        }

        // What went into the counts in that cycle shows two later; what waits for a port has left its table.
        let several = |registers: &[u32]| tally(all, registers.iter().map(|&register| u64::from(register)));
        let coming = [several(&in_cycle.increments), several(&in_cycle.holds)];
        let going = [several(&in_cycle.decrements), several(&in_cycle.drops)];
        let waiting = [several(&decrements), several(&drops)];
        let counts = self.counts(circuits);
        let used = circuits.pool.engine.get_words(self.used);
        let mut idle = Vec::new();
        for register in 0..all {
            let (is_used, counted) = (is_set(used, register), counts[register]);
            let is_new = in_cycle.allocated.contains(&Some(register as u32));
            let given_away = u64::from(counted.is_some() || is_new);
            expect(config, "a_free_register_has_no_counts", register, (given_away, u64::from(is_used)))?;
            let [entries, held] = counted.unwrap_or_default();
            let [leaving, dropped] = [0, 1].map(|kind| going[kind][register] + waiting[kind][register]);
            let found = entries + coming[0][register];
            expect(config, "counts_equal_references", register, (found, references[register] + leaving))?;
            let found = held + u64::from(is_new) + coming[1][register];
            expect(config, "holds_equal_holders", register, (found, holders[register] + dropped))?;
            let is_named = references[register] + holders[register] > 0;
            expect(config, "no_row_names_a_freed_register", register, (u64::from(is_named && !is_used), 0))?;
            if is_used && !is_named && leaving + dropped == 0 {
                idle.push((register, self.allocations[register]));
            }
        }
        if now == self.look_at {
            // Nothing can have named one since: it is free, or it has been and is another's.
            let stays = self.idle.iter().find(|one| idle.contains(one));
            self.look_at = u64::MAX;
            if let Some(&(register, _)) = stays {
                expect(config, "the_pool_and_the_registers_with_references_are_all", register, (1, 0))?;
            }
        } else if self.look_at == u64::MAX && !idle.is_empty() {
            (self.idle, self.look_at) = (idle, now + FREEING);
        }
        Ok(())
    }
}

/// How often each register is named.
fn tally(registers: usize, named: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut tally = vec![0; registers];
    named.for_each(|register| tally[register as usize] += 1);
    tally
}

fn is_set(words: &[u64], bit: usize) -> bool {
    words[bit / 64] >> (bit % 64) & 1 == 1
}

/// What goes into the reference counts in a cycle.
pub struct InCycle {
    pub allocated: [Option<u32>; MAX_ISSUES],
    pub increments: Vec<u32>,
    pub decrements: Vec<u32>,
    pub holds: Vec<u32>,
    pub drops: Vec<u32>,
}

impl InCycle {
    /// What will go into so many ports.
    pub fn of(changes: &Changes, decrements: usize, drops: usize) -> InCycle {
        InCycle {
            allocated: changes.allocated,
            increments: changes.increments.clone(),
            decrements: changes.decrements.iter().take(decrements).copied().collect(),
            holds: changes.holds.clone(),
            drops: changes.drops.iter().take(drops).copied().collect(),
        }
    }
}

fn expect(
    config: &Config,
    name: &'static str,
    register: usize,
    (found, expected): (u64, u64),
) -> Result<(), SimError> {
    if found == expected {
        return Ok(());
    }
    Err(SimError::circuit(config, Broken { name, register, found, expected }))
}
