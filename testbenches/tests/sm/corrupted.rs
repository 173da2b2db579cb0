//! What the operand oracle does when a circuit is broken, or a value.

use warpfile_engine::{AnyEngine, Options};
use warpfile_hdl::rtl::netlist::{Netlist, Table, Update};
use warpfile_kernels::program::{
    BlockIndex, Launch, Launches, Program, Stream, StreamError, WarpInstruction,
};
use warpfile_sim::config::Config;
use warpfile_sim::mechanisms::rfc::{self, CachedStorage};
use warpfile_sim::mechanisms::two_level::{self, SchedulerCircuit, TwoLevel};
use warpfile_sim::sm::design::{Design, PartitionDesign};
use warpfile_sim::sm::{RunOptions, RunReport, SimError, WrongOperand, run_design};

use super::{as_written, gebhart, run_tiny, simulate, tiny};

/// Runs launches with the cache's register file after `corrupt` has changed tables whose name starts with `table`.
fn run_corrupted(
    launches: &mut dyn Launches,
    table: &str,
    corrupt: fn(&mut Table),
) -> Result<RunReport, SimError> {
    let config = gebhart("rfc");
    let mut register_file = circuit(&config, "register_file");
    let modules = register_file.modules.iter_mut();
    let mut changed = 0;
    for table in modules.flat_map(|module| &mut module.tables).filter(|found| found.name.starts_with(table)) {
        corrupt(table);
        changed += 1;
    }
    assert!(changed > 0, "no table {table}");
    run_design(&config, cached(&config, &register_file), launches, RunOptions::default())
}

/// The design `rfc` with this register file.
fn cached(config: &Config, register_file: &Netlist) -> Design<'static> {
    let scheduler = circuit(config, "scheduler");
    let described = two_level::circuit(&TwoLevel, config);
    let engine = |netlist: &Netlist| AnyEngine::interpreter(netlist, &Options::default()).unwrap();
    let partition = PartitionDesign {
        storage: Box::new(CachedStorage::new(engine(register_file), &rfc::circuit(config)).unwrap()),
        schedulers: vec![Box::new(SchedulerCircuit::new(engine(&scheduler), &described, true).unwrap())],
    };
    Design { partitions: vec![partition], ..Design::default() }
}

/// The circuit of a name in a design.
fn circuit(config: &Config, name: &str) -> Netlist {
    let circuits = config.design.circuits(config).unwrap();
    circuits.into_iter().find(|(known, _)| known == name).unwrap().1
}

fn write_all_lanes(table: &mut Table) {
    for update in &mut table.updates {
        if let Update::Write { fields, .. } = update {
            fields.iter_mut().for_each(|field| field.lanes = None);
        }
    }
}

fn never_clear(table: &mut Table) {
    table.updates.retain(|update| !matches!(update, Update::ClearRow { .. } | Update::ClearRows { .. }));
}

fn halve(table: &mut Table) {
    table.depth /= 2;
}

fn change_nothing(_table: &mut Table) {}

fn wrong_operand(result: Result<RunReport, SimError>) -> WrongOperand {
    match result {
        Err(SimError::WrongOperand(wrong)) => *wrong,
        other => panic!("no wrong operand: {other:?}"),
    }
}

#[test]
fn the_design_put_together_by_hand_is_the_shipped_one() {
    let report = run_corrupted(&mut tiny("backprop"), "values", change_nothing).unwrap();
    assert_eq!(report, run_tiny(&gebhart("rfc"), "backprop"));
}

#[test]
fn a_broken_circuit_delivers_an_operand_that_is_found_wrong() {
    for (name, table, corrupt) in [
        ("scalarprod", "registers", write_all_lanes as fn(&mut Table)),
        ("bfs", "values", write_all_lanes),
        ("scalarprod", "way", never_clear),
        ("hotspot", "values", halve),
        ("hotspot", "registers", halve),
    ] {
        let wrong = wrong_operand(run_corrupted(&mut as_written(name), table, corrupt));
        assert!(wrong.cycle > 0 && wrong.expected != wrong.found && wrong.lane < 32, "{table}: {wrong}");
    }
}

/// Launches of which one value is not what the kernel computed.
struct Corrupted<L> {
    launches: L,
    /// Instructions with an operand until then.
    countdown: u64,
}

struct CorruptedStream<'a> {
    stream: Box<dyn Stream + 'a>,
    countdown: &'a mut u64,
}

impl<L: Launches> Launches for Corrupted<L> {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        let Some(stream) = self.launches.next_launch()? else { return Ok(None) };
        Ok(Some(Box::new(CorruptedStream { stream, countdown: &mut self.countdown })))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        self.launches.has_values()
    }
}

impl Stream for CorruptedStream<'_> {
    fn program(&self) -> &Program {
        self.stream.program()
    }

    fn launch(&self) -> &Launch {
        self.stream.launch()
    }

    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        self.stream.start_block(block)
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        let more = self.stream.next(block, warp, into)?;
        let instruction = &self.stream.program().instructions[into.inst.0 as usize];
        let compared = into.active & into.defined[0];
        if more && !instruction.sources.is_empty() && compared != 0 {
            *self.countdown = self.countdown.wrapping_sub(1);
            if *self.countdown == 0 {
                into.sources[0][compared.trailing_zeros() as usize] ^= 1 << 31;
            }
        }
        Ok(more)
    }

    fn finish_block(&mut self, block: BlockIndex) {
        self.stream.finish_block(block);
    }
}

#[test]
fn one_wrong_bit_of_one_operand_ends_the_run() {
    for design in ["baseline", "two-level", "rfc"] {
        for countdown in [1, 1000] {
            let mut launches = Corrupted { launches: tiny("hotspot"), countdown };
            let wrong = wrong_operand(simulate(&gebhart(design), &mut launches));
            assert_eq!(wrong.expected ^ wrong.found, 1 << 31, "{wrong}");
            assert_eq!(wrong.kernel, "hotspot");
        }
    }
}
