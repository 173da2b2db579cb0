//! A stack of mechanisms: one scheduler, one operand storage, any layers.

use std::fmt;

use warpfile_hdl::regfile::ExtraRead;
use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::program::Program;

use super::{Build, CircuitScope, Mechanism, Notes, Part, Pass, RegisterRows, Registry, Role};
use crate::config::{Config, ConfigError, conflict};
use crate::counters::{Group, Row};
use crate::energy::structure::{PowerGating, Structure};
use crate::sm::design::{Design, Interposed, OperandStorage, PartitionDesign};
use crate::sm::{Accesses, MRF, Operations, RunReport, SimError};
use warpfile_hdl::rtl::netlist::Netlist;

/// The operand storage of a stack that names none.
const DEFAULT_STORAGE: &str = "banked";
/// The scheduler of a stack that names none and whose storage asks for none.
const DEFAULT_SCHEDULER: &str = "single-level";

/// A design: mechanisms in the order in which their compiler passes run.
#[derive(Clone)]
pub struct Stack {
    /// The design's own name, or its mechanisms joined by `+`.
    name: String,
    mechanisms: Vec<&'static dyn Mechanism>,
}

impl Stack {
    /// A stack as it is written: a design, or mechanisms joined by `+`. What is missing of a scheduler and a storage is
    /// put in front: the scheduler of the storage's paper, a banked register file.
    ///
    /// # Errors
    /// There is no such mechanism, or they cannot be combined; `origin` is named.
    pub fn parse(registry: &Registry, origin: &str, text: &str) -> Result<Stack, ConfigError> {
        let refuse = |problem: String| ConfigError::Stack {
            origin: origin.to_owned(),
            value: text.to_owned(),
            problem,
        };
        let mut given: Vec<&'static dyn Mechanism> = Vec::new();
        for name in text.split('+').map(str::trim) {
            let of_design = || registry.designs().find(|(design, ..)| *design == name);
            let found = registry.find(name).map(|mechanism| vec![mechanism]);
            let Some(named) = found.or_else(|| of_design().map(|(.., mechanisms)| mechanisms)) else {
                return Err(refuse(unknown(registry, name)));
            };
            for mechanism in named {
                if let Some(other) = given.iter().find(|other| excludes(**other, mechanism)) {
                    let (name, other) = (mechanism.info().name, other.info().name);
                    let rest = given.iter().map(|known| known.info().name).filter(|known| *known != other);
                    let nearest: Vec<&str> = rest.chain([name]).collect();
                    return Err(refuse(format!(
                        "{name} and {other} do the same job, of which a stack has one; nearest: {}",
                        nearest.join("+")
                    )));
                }
                given.push(mechanism);
            }
        }
        let stack = Stack::of(registry, &given);
        stack.check_passes().map_err(refuse)?;
        Ok(stack)
    }

    /// Mechanisms with what completes them.
    pub(super) fn of(registry: &Registry, given: &[&'static dyn Mechanism]) -> Stack {
        let mechanisms = completed(registry, given);
        let is_this = |of_design: &[&'static dyn Mechanism]| {
            names(&completed(registry, of_design)).eq(names(&mechanisms))
        };
        let design = registry.designs().find(|(.., of_design)| is_this(of_design));
        let joined = || names(&mechanisms).collect::<Vec<_>>().join("+");
        Stack { name: design.map_or_else(joined, |(name, ..)| name.to_owned()), mechanisms }
    }

    /// The design's own name, or its mechanisms joined by `+`.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Its mechanisms in the order in which their compiler passes run.
    pub fn mechanisms(&self) -> impl Iterator<Item = &'static dyn Mechanism> + use<'_> {
        self.mechanisms.iter().copied()
    }

    /// Whether a mechanism is among them.
    pub fn contains(&self, name: &str) -> bool {
        self.mechanisms().any(|mechanism| mechanism.info().name == name)
    }

    /// Warps of a scheduler that hold a slot of the active set at once.
    pub fn slots(&self, config: &Config) -> u64 {
        let scheduler = self.mechanisms().find(|mechanism| is_scheduler(*mechanism));
        scheduler.map_or(config.warps_per_scheduler(), |scheduler| scheduler.slots(config))
    }

    /// The preset of the paper that it is of: of its last layer, or of its storage.
    pub fn preset(&self) -> Option<&'static str> {
        self.mechanisms
            .iter()
            .max_by_key(|mechanism| rank(mechanism.role()))
            .map(|mechanism| mechanism.info().preset)
    }

    /// Whether the machine can carry it.
    pub fn check(&self, config: &Config) -> Result<(), ConfigError> {
        self.mechanisms().try_for_each(|mechanism| mechanism.check(config))?;
        let of_one = |mechanism: &&'static dyn Mechanism| {
            mechanism.role() != Role::Scheduler && !mechanism.serves_several_schedulers()
        };
        let per_partition = config.sm.schedulers_per_partition;
        match self.mechanisms().filter(|_| per_partition > 1).find(of_one) {
            Some(mechanism) => {
                let reason = format!("{} serves one scheduler, accepted is 1", mechanism.info().name);
                Err(conflict("sm.schedulers_per_partition", per_partition, reason))
            }
            None => Ok(()),
        }
    }

    /// No pass rewrites what one before it has noted.
    fn check_passes(&self) -> Result<(), String> {
        let noting = |mechanism: &&'static dyn Mechanism| mechanism.pass() != Pass::None;
        for (position, rewriting) in self.mechanisms.iter().enumerate() {
            if rewriting.pass() != Pass::Rewrites {
                continue;
            }
            if let Some(before) = self.mechanisms[..position].iter().find(|mechanism| noting(mechanism)) {
                let mut nearest: Vec<&str> =
                    self.mechanisms.iter().map(|mechanism| mechanism.info().name).collect();
                nearest.remove(position);
                nearest.insert(0, rewriting.info().name);
                return Err(format!(
                    "{} rewrites the program of which {} has taken notes; nearest: {}",
                    rewriting.info().name,
                    before.info().name,
                    nearest.join("+")
                ));
            }
        }
        Ok(())
    }

    /// How kernels are compiled for it, where there is source.
    pub fn code(&self, config: &Config, options: CompileOptions) -> CompileOptions {
        self.mechanisms().fold(options, |options, mechanism| mechanism.code(config, options))
    }

    /// Runs the compiler passes on a program. Gives the program if one rewrites it, and their notes.
    ///
    /// # Errors
    /// A pass does not take the program.
    pub fn compile(&self, config: &Config, program: &Program) -> Result<(Option<Program>, Notes), SimError> {
        let (mut rewritten, mut notes) = (None, Notes::default());
        for mechanism in self.mechanisms() {
            let current = rewritten.as_ref().unwrap_or(program);
            if let Some(program) = mechanism.compile(config, current, &mut notes)? {
                rewritten = Some(program);
            }
        }
        Ok((rewritten, notes))
    }

    /// What it plugs into the SM.
    ///
    /// # Errors
    /// A parameter that a circuit does not support, by its name there.
    pub fn build(&self, at: &Build<'_>) -> Result<Design<'static>, SimError> {
        let (mut schedulers, mut storages, mut layers, mut line_port) =
            (Vec::new(), Vec::new(), Vec::new(), None);
        let mut in_front = Vec::new();
        for mechanism in self.mechanisms() {
            match mechanism.build(at)? {
                Part::Schedulers(of_sm) => schedulers = of_sm,
                Part::Storages { of_partitions, line_port: port } => {
                    (storages, line_port) = (of_partitions, port)
                }
                Part::Layer(layer) => layers.push(layer),
                Part::Interposers(of_partitions) => in_front.push(of_partitions),
            }
        }
        for of_partitions in in_front {
            let pairs = storages.into_iter().zip(of_partitions);
            let interposed = |(storage, interposer)| -> Box<dyn OperandStorage> {
                Box::new(Interposed { interposer, storage })
            };
            storages = pairs.map(interposed).collect();
        }
        let of_one = |storage| PartitionDesign { storage, schedulers: Vec::new() };
        let mut partitions: Vec<_> = storages.into_iter().map(of_one).collect();
        for (number, scheduler) in schedulers.into_iter().enumerate() {
            partitions[number % at.partitions()].schedulers.push(scheduler);
        }
        Ok(Design { stack: Some(self.clone()), partitions, layers, line_port })
    }

    /// The arrays that its energy is of.
    pub fn structures(&self, config: &Config) -> Vec<Structure> {
        let stated = self.mechanisms().flat_map(|mechanism| mechanism.structures(config));
        let revised = |structure| {
            self.mechanisms().fold(structure, |structure, mechanism| mechanism.revised(structure))
        };
        stated.map(revised).collect()
    }

    /// What the functional units have worked on in a run.
    pub fn operations(&self, report: &RunReport) -> Operations {
        let dispatched = report.operations;
        self.mechanisms().fold(dispatched, |operations, mechanism| mechanism.operations(report, operations))
    }

    /// How the supply of the main register file's rows is gated; `None` if it is not.
    pub fn power_gating(&self, config: &Config) -> Option<PowerGating> {
        self.mechanisms().find_map(|mechanism| mechanism.power_gating(config))
    }

    /// Whether registers of several warps may have one row at a time.
    pub fn shares_rows(&self, config: &Config) -> bool {
        self.mechanisms().any(|mechanism| mechanism.register_rows(config) == RegisterRows::Shared)
    }

    /// Reads of registers beside the operands of instructions.
    pub fn extra_read(&self, config: &Config) -> ExtraRead {
        let of_mechanisms = self.mechanisms().map(|mechanism| mechanism.extra_read(config));
        of_mechanisms.fold(ExtraRead::None, |read, other| if read == ExtraRead::None { other } else { read })
    }

    /// Rows of the report that show what its mechanisms count.
    pub fn rows(&self) -> Vec<Row> {
        self.mechanisms().flat_map(|mechanism| mechanism.rows()).collect()
    }

    /// The groups of counters that its reports can have, as zeros.
    pub fn counters(&self) -> Vec<Group> {
        let of_mechanisms = self.mechanisms().flat_map(|mechanism| mechanism.counters());
        of_mechanisms.chain([(MRF, Box::new(Accesses::default()) as _)]).collect()
    }

    /// Its circuits by the names that they have in waveforms and recordings: those of one partition, and those that
    /// partitions share.
    ///
    /// # Errors
    /// As [`Stack::build`].
    pub fn circuits(&self, config: &Config) -> Result<Vec<(String, Netlist)>, SimError> {
        let prefix = if config.partitions() > 1 { "partition0_" } else { "" };
        let number = if config.sm.schedulers_per_partition > 1 { "0" } else { "" };
        let mut named = Vec::new();
        for mechanism in self.mechanisms() {
            for circuit in mechanism.circuits(config)? {
                let name = match circuit.scope {
                    CircuitScope::Partition => format!("{prefix}{}", circuit.name),
                    CircuitScope::Scheduler => format!("{prefix}{}{number}", circuit.name),
                    CircuitScope::Sm => circuit.name.to_owned(),
                };
                named.push((name, circuit.netlist));
            }
        }
        // The operand storage first, then the scheduler, then what partitions share.
        named.sort_by_key(|(name, _)| {
            (!name.starts_with(prefix), name.ends_with(&format!("scheduler{number}")))
        });
        Ok(named)
    }
}

/// Mechanisms with the scheduler and the storage that they lack, which come first.
fn completed(registry: &Registry, given: &[&'static dyn Mechanism]) -> Vec<&'static dyn Mechanism> {
    let mut mechanisms = given.to_vec();
    if !mechanisms.iter().any(|mechanism| is_storage(*mechanism)) {
        let after_scheduler = mechanisms.iter().take_while(|mechanism| is_scheduler(**mechanism)).count();
        mechanisms.splice(after_scheduler..after_scheduler, registry.find(DEFAULT_STORAGE));
    }
    if !mechanisms.iter().any(|mechanism| is_scheduler(*mechanism)) {
        let of_storage = mechanisms.iter().find_map(|mechanism| match mechanism.role() {
            Role::Storage { scheduler } => Some(scheduler),
            Role::Scheduler | Role::Layer => None,
        });
        let of_layer = mechanisms.iter().find_map(|mechanism| mechanism.scheduler());
        let scheduler = of_layer.or(of_storage).unwrap_or(DEFAULT_SCHEDULER);
        mechanisms.splice(0..0, registry.find(scheduler));
    }
    mechanisms
}

fn names<'m>(mechanisms: &'m [&'static dyn Mechanism]) -> impl Iterator<Item = &'static str> + use<'m> {
    mechanisms.iter().map(|mechanism| mechanism.info().name)
}

/// Whether a stack has only one of both.
fn excludes(one: &dyn Mechanism, other: &dyn Mechanism) -> bool {
    (is_storage(one) && is_storage(other))
        || (is_scheduler(one) && is_scheduler(other))
        || one.info().name == other.info().name
}

fn is_storage(mechanism: &dyn Mechanism) -> bool {
    matches!(mechanism.role(), Role::Storage { .. })
}

fn is_scheduler(mechanism: &dyn Mechanism) -> bool {
    mechanism.role() == Role::Scheduler
}

/// Whose paper a stack is of: a layer's before a storage's before a scheduler's.
fn rank(role: Role) -> u8 {
    match role {
        Role::Scheduler => 0,
        Role::Storage { .. } => 1,
        Role::Layer => 2,
    }
}

fn unknown(registry: &Registry, name: &str) -> String {
    let names: Vec<&str> = registry.all().map(|mechanism| mechanism.info().name).collect();
    let designs: Vec<&str> = registry.designs().map(|(design, ..)| design).collect();
    let near = names
        .iter()
        .chain(&designs)
        .map(|known| (strsim::normalized_damerau_levenshtein(known, name), *known));
    let near = near.filter(|(likeness, _)| *likeness > 0.6).max_by(|a, b| a.0.total_cmp(&b.0));
    let near = near.map_or(String::new(), |(_, near)| format!("; near: {near}"));
    format!(
        "no design or mechanism `{name}`{near}; designs: {}; mechanisms: {}",
        designs.join(", "),
        names.join(", ")
    )
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for Stack {
    fn eq(&self, other: &Stack) -> bool {
        names(&self.mechanisms).eq(names(&other.mechanisms))
    }
}
