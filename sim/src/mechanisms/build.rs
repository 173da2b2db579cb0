//! What a mechanism is built with, and what it gives.

use std::sync::Arc;

use warpfile_engine::{AnyEngine, CodeCache, Observe, Options};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_hdl::rtl::{Circuit, elaborate};

use super::prepared;
use crate::config::Config;
use crate::sm::design::{Interposer, Layer, LinePort, OperandStorage, WarpScheduler};
use crate::sm::{Channel, ChipSm, EngineName, RunOptions, SimError};

/// What a mechanism plugs into the SM.
pub enum Part {
    /// Schedulers, in the order of their numbers in the SM.
    Schedulers(Vec<Box<dyn WarpScheduler>>),
    /// Operand storages.
    Storages {
        /// One a partition.
        of_partitions: Vec<Box<dyn OperandStorage>>,
        /// The port to the L1 that they share, if they keep register lines in memory.
        line_port: Option<Box<dyn LinePort>>,
    },
    /// A layer of the SM.
    Layer(Box<dyn Layer>),
    /// A layer in front of the operand storages, one a partition. Of several the first of the stack is the nearest to its
    /// storage.
    Interposers(Vec<Box<dyn Interposer>>),
}

/// A circuit of a mechanism.
pub struct NamedCircuit {
    /// Its name in waveforms and recordings, and of its folder of Verilog.
    pub name: &'static str,
    /// How many there are.
    pub scope: CircuitScope,
    /// The circuit.
    pub netlist: Netlist,
}

/// How many of a circuit an SM has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitScope {
    /// One for each partition.
    Partition,
    /// One for each scheduler.
    Scheduler,
    /// One.
    Sm,
}

impl NamedCircuit {
    /// A circuit that there is one of for each partition.
    ///
    /// # Errors
    /// A parameter that the circuit does not support.
    pub fn of_partition<C: Circuit>(
        config: &Config,
        name: &'static str,
        circuit: &C,
    ) -> Result<NamedCircuit, SimError> {
        Ok(NamedCircuit { name, scope: CircuitScope::Partition, netlist: netlist(config, circuit)? })
    }

    /// A circuit that there is one of for each scheduler; of several in a partition the names have numbers.
    ///
    /// # Errors
    /// As [`NamedCircuit::of_partition`].
    pub fn of_scheduler<C: Circuit>(
        config: &Config,
        name: &'static str,
        circuit: &C,
    ) -> Result<NamedCircuit, SimError> {
        Ok(NamedCircuit { name, scope: CircuitScope::Scheduler, netlist: netlist(config, circuit)? })
    }

    /// A circuit that there is one of.
    ///
    /// # Errors
    /// As [`NamedCircuit::of_partition`].
    pub fn of_sm<C: Circuit>(
        config: &Config,
        name: &'static str,
        circuit: &C,
    ) -> Result<NamedCircuit, SimError> {
        Ok(NamedCircuit { name, scope: CircuitScope::Sm, netlist: netlist(config, circuit)? })
    }
}

/// The machine that a mechanism is built for, and the engine that its circuits run on.
pub struct Build<'a> {
    /// The configuration.
    pub config: &'a Config,
    engine: EngineName,
    seed: u64,
    observe: Observe,
    code_cache: Option<Arc<CodeCache>>,
    /// Number of the SM, and its end of what the SMs of the chip tell each other.
    sm: u64,
    chip: Option<&'a ChipSm>,
}

impl<'a> Build<'a> {
    /// For a run: every named signal can be looked at if it wants a waveform, else only ports, registers and tables.
    pub fn new(config: &'a Config, run: &'a RunOptions<'_>) -> Build<'a> {
        Build {
            config,
            engine: run.engine,
            seed: run.seed,
            observe: observed(run),
            code_cache: run.code_cache.clone(),
            sm: run.sm,
            chip: run.chip.as_ref(),
        }
    }

    /// Number of the SM among those that are simulated.
    pub fn sm(&self) -> u64 {
        self.sm
    }

    /// What a mechanism tells the same mechanism of the chip's other SMs; `None` if there are none, or if this SM is run
    /// without them.
    pub fn channel(&self, mechanism: &'static str) -> Option<Channel> {
        let chip = self.chip.filter(|_| self.config.chip.simulated_sms > 1)?;
        Some(chip.channel(mechanism))
    }

    /// Partitions of the SM.
    pub fn partitions(&self) -> usize {
        self.config.partitions() as usize
    }

    /// A circuit, ready to run; `foreseen` are outputs that are asked for before a cycle is run.
    ///
    /// # Errors
    /// A parameter that the circuit does not support, by its name there.
    pub fn circuit<C: Circuit>(&self, circuit: &C, foreseen: &[&str]) -> Result<AnyEngine, SimError> {
        let options = Options {
            seed: self.seed,
            observe: self.observe.clone(),
            foreseen: foreseen.iter().map(|&name| name.to_owned()).collect(),
            code_cache: self.code_cache.clone(),
            ..Options::default()
        };
        let engine = prepared::engine(netlist(self.config, circuit)?, self.engine, &options);
        engine.map_err(|error| SimError::circuit(self.config, error))
    }

    /// What `part` makes of a circuit, for each partition. All partitions have the same circuit, which is prepared once.
    ///
    /// # Errors
    /// As [`Build::circuit`]; or a port that is not there.
    pub fn of_partitions<C: Circuit, P>(
        &self,
        circuit: &C,
        foreseen: &[&str],
        part: impl Fn(AnyEngine) -> Result<P, warpfile_engine::EngineError>,
    ) -> Result<Vec<P>, SimError> {
        self.several(self.partitions(), (circuit, foreseen), part)
    }

    /// The same for each scheduler.
    ///
    /// # Errors
    /// As [`Build::of_partitions`].
    pub fn of_schedulers<C: Circuit, P>(
        &self,
        circuit: &C,
        foreseen: &[&str],
        part: impl Fn(AnyEngine) -> Result<P, warpfile_engine::EngineError>,
    ) -> Result<Vec<P>, SimError> {
        self.several(self.config.sm.schedulers as usize, (circuit, foreseen), part)
    }

    fn several<C: Circuit, P>(
        &self,
        count: usize,
        (circuit, foreseen): (&C, &[&str]),
        part: impl Fn(AnyEngine) -> Result<P, warpfile_engine::EngineError>,
    ) -> Result<Vec<P>, SimError> {
        let engine = self.circuit(circuit, foreseen)?;
        let parts = (0..count).map(|_| part(engine.clone()));
        parts.collect::<Result<_, _>>().map_err(|error| SimError::circuit(self.config, error))
    }
}

/// Everything for a waveform; for a recording the circuit recorded, if it is within another: its path there.
fn observed(run: &RunOptions<'_>) -> Observe {
    let recorded = run.port_traffic.as_ref().and_then(|traffic| traffic.circuit.split_once('.'));
    match (&run.waveform, recorded) {
        (Some(_), _) => Observe::All,
        (None, Some((_, inner))) => Observe::Scopes(vec![inner.to_owned()]),
        (None, None) => Observe::State,
    }
}

fn netlist<C: Circuit>(config: &Config, circuit: &C) -> Result<Netlist, SimError> {
    elaborate(circuit).map_err(|errors| SimError::circuit(config, errors))
}
