//! The shipped designs: which circuits they are made of, and how these meet the pipeline.

use warpfile_engine::{Compiled, Engine, EngineError, Interpreter, Observe, Options};
use warpfile_hdl::regfile::{BankedRegisterFile, DualIssueRegisterFile, Geometry};
use warpfile_hdl::regless::{L1Port, RegLessShard, ShardGeometry};
use warpfile_hdl::rfc::{CachedRegisterFile, TwoLevelScheduler};
use warpfile_hdl::rfh::RegisterFileHierarchy;
use warpfile_hdl::rfv::VirtualRegisterFile;
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_hdl::rtl::{Circuit, elaborate};
use warpfile_hdl::{regfile, rfc};
use warpfile_kernels::compile::regless::{self, RegionError};
use warpfile_kernels::compile::release;
use warpfile_kernels::compile::rfh;
use warpfile_kernels::program::Program;
use warpfile_kernels::regions::BANKS;

use crate::config::{Config, DesignName, InnerPolicy, Replacement, SoftDefinitions};

use super::circuits::{
    HierarchyCircuit, L1_PORT_FORESEEN, L1PortCircuit, REGLESS_FORESEEN, REGLESS_WRITES, RegLessCircuit,
    RegisterFileCircuit, RenamedRegisterFile, SchedulerCircuit, TableNames,
};
use super::design::{Design, ID_BITS, OperandStorage, PartitionDesign, Unit, WarpScheduler};
use super::{EngineName, RunOptions, SimError, SingleLevel};

/// Lanes of a warp and of a cluster (Gebhart et al., §2.1).
const LANES: usize = regfile::Geometry::GEBHART_2011.lanes;
/// Register access cycles (Gebhart et al., Fig. 3).
const ACCESS_CYCLES: usize = 3;
/// Cycles of the tag check before them (Gebhart et al., Fig. 3(b)).
const TAG_CYCLES: usize = 1;

/// Name of the table that holds registers in a bank of the main register file.
const MRF_TABLE: &str = "registers";
/// Name of the table that holds values in the register file cache.
const RFC_TABLE: &str = "values";

/// The circuits of one scheduler's part of a design; all parts are equal.
pub struct Circuits {
    /// The operand storage; its scope in waveforms is `register_file`.
    pub register_file: Netlist,
    /// The scheduler, unless it is behavioural; its scope in waveforms is `scheduler`.
    pub scheduler: Option<Netlist>,
}

/// Elaborates the circuits of `config.design`.
///
/// # Errors
/// A parameter that a circuit does not support, by its name there.
pub fn circuits(config: &Config) -> Result<Circuits, SimError> {
    config.validate()?;
    let register_file = match config.design {
        DesignName::Baseline | DesignName::TwoLevel if config.sm.issues_per_scheduler > 1 => {
            build(config, &dual_issue_register_file(config))?
        }
        DesignName::Baseline | DesignName::TwoLevel => build(config, &banked_register_file(config))?,
        DesignName::Rfc => build(config, &cached_register_file(config))?,
        DesignName::Regless => build(config, &regless_shard(config))?,
        DesignName::Rfv => build(config, &virtual_register_file(config))?,
        DesignName::Rfh => build(config, &register_file_hierarchy(config))?,
    };
    let scheduler = match config.design {
        DesignName::Baseline | DesignName::Regless => None,
        DesignName::TwoLevel | DesignName::Rfc | DesignName::Rfv | DesignName::Rfh => {
            Some(build(config, &two_level_scheduler(config))?)
        }
    };
    Ok(Circuits { register_file, scheduler })
}

/// The configuration for values that are those of a kernel, or else without what depends on them.
pub(super) fn for_values(config: &Config, are_of_kernel: bool) -> Config {
    let mut config = config.clone();
    if !are_of_kernel {
        config.regless.compressor_lines = 0;
    }
    config
}

/// The circuits of a design by the names that they have in waveforms and recordings: those of one partition, and the
/// port to the L1 if there is one.
///
/// # Errors
/// As [`circuits`].
pub fn named_circuits(config: &Config) -> Result<Vec<(String, Netlist)>, SimError> {
    let Circuits { register_file, scheduler } = circuits(config)?;
    let prefix = if config.sm.schedulers > 1 { "partition0_" } else { "" };
    let mut named = vec![(format!("{prefix}register_file"), register_file)];
    named.extend(scheduler.map(|scheduler| (format!("{prefix}scheduler"), scheduler)));
    if config.design == DesignName::Regless {
        named.push(("l1_port".to_owned(), build(config, &l1_port_shape(config))?));
    }
    Ok(named)
}

/// The design that `config` names, on the engine that `run` names; state without a reset starts from its seed.
/// Every named signal can be looked at if it wants a waveform, else only ports, registers and tables.
pub(super) fn design(config: &Config, run: &RunOptions<'_>) -> Result<Design<'static>, SimError> {
    match run.engine {
        EngineName::Interpreter => design_on(config, run, Interpreter::new),
        EngineName::Compiled => design_on(config, run, Compiled::new),
    }
}

fn design_on<E: Engine + Clone + 'static>(
    config: &Config,
    run: &RunOptions<'_>,
    engine: fn(&Netlist, &Options) -> Result<E, EngineError>,
) -> Result<Design<'static>, SimError> {
    let circuits = circuits(config)?;
    let foreseen: &[&str] = match config.design {
        DesignName::Regless => &REGLESS_FORESEEN,
        DesignName::Baseline | DesignName::TwoLevel | DesignName::Rfc | DesignName::Rfv | DesignName::Rfh => {
            &[]
        }
    };
    // All partitions have the same circuits: they are prepared once.
    let problem = |error| engine_problem(config, &error);
    let storages = engine(&circuits.register_file, &engine_options(run, foreseen)).map_err(problem)?;
    let schedulers = circuits.scheduler.map(|netlist| engine(&netlist, &engine_options(run, &[])));
    let schedulers = schedulers.transpose().map_err(problem)?;
    let partition = |_| {
        let scheduler = match &schedulers {
            Some(engine) => scheduler(config, engine.clone()).map_err(problem)?,
            None => Box::new(SingleLevel::new(config.scheduler.single_level)),
        };
        Ok(PartitionDesign { storage: storage(config, storages.clone()).map_err(problem)?, scheduler })
    };
    Ok(Design { partitions: (0..config.sm.schedulers).map(partition).collect::<Result<_, SimError>>()? })
}

/// The port through which operand storages that keep registers in memory, and data, reach the L1.
pub(super) fn l1_port(config: &Config, run: &RunOptions<'_>) -> Result<L1PortCircuit, SimError> {
    let shape = l1_port_shape(config);
    let netlist = build(config, &shape)?;
    let options = engine_options(run, &L1_PORT_FORESEEN);
    let engine = match run.engine {
        EngineName::Interpreter => Interpreter::new(&netlist, &options).map(boxed),
        EngineName::Compiled => Compiled::new(&netlist, &options).map(boxed),
    };
    let port = engine.and_then(|engine| L1PortCircuit::new(engine, &shape));
    port.map_err(|error| engine_problem(config, &error))
}

fn boxed(engine: impl Engine + 'static) -> Box<dyn Engine> {
    Box::new(engine)
}

fn engine_options(run: &RunOptions<'_>, foreseen: &[&str]) -> Options {
    Options {
        seed: run.seed,
        observe: observed(run),
        foreseen: foreseen.iter().map(|&name| name.to_owned()).collect(),
        ..Options::default()
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

fn storage(config: &Config, engine: impl Engine + 'static) -> Result<Box<dyn OperandStorage>, EngineError> {
    let (rfc, operand_cycles) = match config.design {
        DesignName::Baseline | DesignName::TwoLevel => (None, ACCESS_CYCLES),
        DesignName::Rfc => (Some(RFC_TABLE), TAG_CYCLES + ACCESS_CYCLES),
        DesignName::Regless => return Ok(Box::new(RegLessCircuit::new(engine, bank_lines(config))?)),
        DesignName::Rfv => return renamed(config, engine),
        DesignName::Rfh => {
            let (cycles, entries) = (ACCESS_CYCLES as u64, config.rfh.orf_entries as u8);
            return Ok(Box::new(HierarchyCircuit::new(engine, MRF_TABLE, cycles, entries)?));
        }
    };
    let tables = TableNames { mrf: MRF_TABLE, rfc };
    let issues = config.sm.issues_per_scheduler as usize;
    Ok(Box::new(RegisterFileCircuit::new(engine, tables, issues, operand_cycles as u64)?))
}

fn renamed(config: &Config, engine: impl Engine + 'static) -> Result<Box<dyn OperandStorage>, EngineError> {
    let circuit = virtual_register_file(config);
    let tables = TableNames { mrf: MRF_TABLE, rfc: None };
    let registers = circuit.table().registers() as u64;
    let (names, cycles) = (circuit.names, ACCESS_CYCLES as u64);
    Ok(Box::new(RenamedRegisterFile::new(engine, tables, cycles, names, registers)?))
}

fn scheduler(config: &Config, engine: impl Engine + 'static) -> Result<Box<dyn WarpScheduler>, EngineError> {
    let suspends = config.scheduler.active_warps < warps(config);
    Ok(Box::new(SchedulerCircuit::new(engine, suspends)?))
}

fn geometry(config: &Config) -> Geometry {
    Geometry {
        banks: config.register_file.bank_groups as usize,
        rows: config.register_file.rows as usize,
        lanes: LANES,
        lanes_per_cluster: Geometry::GEBHART_2011.lanes_per_cluster,
    }
}

fn banked_register_file(config: &Config) -> BankedRegisterFile {
    BankedRegisterFile {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
    }
}

fn dual_issue_register_file(config: &Config) -> DualIssueRegisterFile {
    DualIssueRegisterFile {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
    }
}

/// Names are the registers of the full register file.
fn virtual_register_file(config: &Config) -> VirtualRegisterFile {
    let full = geometry(config);
    let rows = config.rfv.registers / config.sm.schedulers / config.register_file.bank_groups;
    VirtualRegisterFile {
        names: full.banks * full.rows,
        warps: warps(config) as usize,
        geometry: Geometry { rows: rows as usize, ..full },
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
    }
}

fn register_file_hierarchy(config: &Config) -> RegisterFileHierarchy {
    RegisterFileHierarchy {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
        slots: slots(config),
        orf_entries: config.rfh.orf_entries as usize,
    }
}

fn cached_register_file(config: &Config) -> CachedRegisterFile {
    CachedRegisterFile {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
        slots: slots(config),
        entries: config.rfc.entries as usize,
        replacement: match config.rfc.replacement {
            Replacement::Fifo => rfc::Replacement::Fifo,
            Replacement::Lru => rfc::Replacement::Lru,
        },
        allocate_sources: config.rfc.allocate_sources,
        liveness: config.rfc.use_last_read,
        bypass_idle: config.rfc.bypass_idle,
        evict_idle_first: config.rfc.evict_idle_first,
    }
}

fn two_level_scheduler(config: &Config) -> TwoLevelScheduler {
    TwoLevelScheduler {
        warps: warps(config) as usize,
        slots: slots(config),
        policy: match config.scheduler.inner {
            InnerPolicy::Greedy => rfc::InnerPolicy::Greedy,
            InnerPolicy::RoundRobin => rfc::InnerPolicy::RoundRobin,
        },
    }
}

/// The program as the design's compiler makes it; `None` if it runs as it is.
pub(super) fn compile(config: &Config, program: &Program) -> Result<Option<Program>, RegionError> {
    match config.design {
        DesignName::Baseline | DesignName::TwoLevel | DesignName::Rfc => Ok(None),
        DesignName::Rfv => release::compile(program).map(Some),
        DesignName::Regless => {
            let shard_lines = config.regless.lines / config.sm.schedulers;
            let parameters = regless::Parameters {
                max_live_registers: (shard_lines as f64 * config.regless.max_live_fraction) as u16,
                soft_defs: match config.regless.soft_defs {
                    SoftDefinitions::Sound => regless::SoftDefs::Sound,
                    SoftDefinitions::Paper => regless::SoftDefs::Paper,
                },
                spread_banks: config.regless.spread_banks,
                ..regless::Parameters::for_shard(shard_lines as u16)
            };
            regless::compile(program, &parameters).map(Some)
        }
        DesignName::Rfh => {
            let parameters = rfh::Parameters { orf_entries: config.rfh.orf_entries as u8 };
            rfh::compile(program, &parameters).map(Some)
        }
    }
}

fn regless_shard(config: &Config) -> RegLessShard {
    RegLessShard {
        geometry: ShardGeometry {
            warps: warps(config) as usize,
            lines: bank_lines(config),
            ..ShardGeometry::GTX980
        },
        metadata_words: config.regless.metadata_words as usize,
        queue: config.regless.queue as usize,
        units: Unit::COUNT,
        entries: config.regless.read_entries as usize,
        id_bits: ID_BITS,
        writes: REGLESS_WRITES,
        compressor_lines: (config.regless.compressor_lines / config.sm.schedulers) as usize,
        compressor_queue: config.regless.compressor_queue as usize,
    }
}

fn l1_port_shape(config: &Config) -> L1Port {
    L1Port {
        shards: config.sm.schedulers as usize,
        warps: warps(config) as usize,
        register_bits: ShardGeometry::GTX980.register_bits,
        osu_lines: bank_lines(config),
        lanes: ShardGeometry::GTX980.lanes,
    }
}

/// Lines of a bank of an operand staging unit.
fn bank_lines(config: &Config) -> usize {
    (config.regless.lines / config.sm.schedulers) as usize / BANKS
}

/// Warps of a scheduler.
fn warps(config: &Config) -> u64 {
    config.sm.warps / config.sm.schedulers
}

/// Slots of the active set: never more than there are warps.
fn slots(config: &Config) -> usize {
    config.scheduler.active_warps.min(warps(config)) as usize
}

fn build<C: Circuit>(config: &Config, circuit: &C) -> Result<Netlist, SimError> {
    elaborate(circuit)
        .map_err(|errors| SimError::Circuit { design: config.design.as_str(), problem: errors.to_string() })
}

fn engine_problem(config: &Config, error: &EngineError) -> SimError {
    SimError::Circuit { design: config.design.as_str(), problem: error.to_string() }
}
