//! Configuration of a run: presets, overrides, checks, listings.
//!
//! A [`Config`] starts from a preset, takes values from TOML files and from `name=value` pairs in the order
//! given, and is checked as a whole. [`Config::to_toml`] writes the file that reproduces a run. What every machine has
//! is a field; a mechanism's parameters are a section that it declares ([`Section`]), with [`Config::of`] and
//! [`Config::edit`].

mod overrides;
mod parameter;
mod presets;
mod sections;
mod variants;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use toml::{Table, Value};

use crate::mechanisms::{Registry, Stack};
use crate::sm::design::MAX_ISSUES;

pub use overrides::{apply_file, apply_overrides};
pub use parameter::{Accepted, Parameter, Section, SectionInfo};
pub use presets::{preset, preset_names, preset_with};
pub use sections::{
    ArithmeticUnit, CacheIndex, CacheLevel, Chip, Dram, Energy, Exec, Initiation, Latency, LineLayout,
    Memory, MemoryModel, Network, RegisterFile, Scheduler, SingleLevelPolicy, Slices, Slots, Sm, Throughput,
    Units, WritePolicy,
};

/// Lines of a cache: 512 MB with lines of 128 bytes. A line takes some 160 bytes here.
const MAX_CACHE_LINES: u64 = 1 << 22;

/// Sectors of a cache line at most.
const MAX_SECTORS: u64 = 64;
/// Bytes of a warp-wide register.
const REGISTER_LINE_BYTES: u64 = 128;

/// Why a configuration cannot be used. `origin` is the file's name, or how the value was given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// There is no such preset.
    #[error("unknown preset \"{name}\"; there are: {known}")]
    UnknownPreset {
        /// As given.
        name: String,
        /// Presets that exist.
        known: String,
    },
    /// There is no such parameter.
    #[error("{origin}: unknown parameter \"{key}\"{near}")]
    UnknownParameter {
        /// File or option.
        origin: String,
        /// As given.
        key: String,
        /// `; near names: …`, or nothing.
        near: String,
    },
    /// A parameter's value is of the wrong type or out of range.
    #[error("{origin}: {key} = {value} is not accepted; accepted: {accepted}")]
    Invalid {
        /// File or option.
        origin: String,
        /// Parameter.
        key: String,
        /// As given.
        value: String,
        /// What would be accepted.
        accepted: String,
    },
    /// A file is not TOML.
    #[error("{origin}: {message}")]
    Syntax {
        /// File.
        origin: String,
        /// Line, column and what is wrong.
        message: String,
    },
    /// A file that must hold every parameter lacks one.
    #[error("{origin}: parameter \"{key}\" is missing")]
    Missing {
        /// File.
        origin: String,
        /// Parameter.
        key: String,
    },
    /// A stack of mechanisms that cannot be.
    #[error("{origin}: design = {value} is not accepted: {problem}")]
    Stack {
        /// File or option.
        origin: String,
        /// As given.
        value: String,
        /// What is wrong, and the nearest stack that can be.
        problem: String,
    },
    /// A design that the machine cannot carry.
    #[error("{problem}; {hint}")]
    Machine {
        /// What stands against it.
        problem: Box<ConfigError>,
        /// Which preset can.
        hint: String,
    },
    /// Parameters that are fine by themselves contradict each other.
    #[error("{key} = {value} cannot be combined with the rest of the configuration: {reason}")]
    Conflict {
        /// Parameter.
        key: &'static str,
        /// Its value.
        value: String,
        /// What it contradicts, and what would be accepted.
        reason: String,
    },
}

/// Every parameter of a run. A preset is one of these as TOML.
#[derive(Clone)]
pub struct Config {
    /// Name of the preset this started from.
    pub preset: String,
    /// Design simulated: a stack of mechanisms.
    pub design: Stack,
    /// Chip.
    pub chip: Chip,
    /// Functional execution.
    pub exec: Exec,
    /// SM.
    pub sm: Sm,
    /// Main register file.
    pub register_file: RegisterFile,
    /// Scheduling.
    pub scheduler: Scheduler,
    /// Latencies.
    pub latency: Latency,
    /// Initiation intervals.
    pub initiation: Initiation,
    /// Throughput.
    pub throughput: Throughput,
    /// Arithmetic units that the schedulers share.
    pub units: Units,
    /// Slots of the whole SM.
    pub slots: Slots,
    /// Memory unit.
    pub memory: Memory,
    /// First-level cache of the SM.
    pub l1: CacheLevel,
    /// Second-level cache of the chip.
    pub l2: CacheLevel,
    /// Network between the SMs and the second-level cache.
    pub network: Network,
    /// Slices of the second-level cache.
    pub slices: Slices,
    /// DRAM.
    pub dram: Dram,
    /// Energy.
    pub energy: Energy,
    registry: Registry,
    /// The sections of all mechanisms of the registry, by name.
    mechanisms: BTreeMap<&'static str, Table>,
}

/// Warps of a partition at most.
const MAX_WARPS_PER_PARTITION: u64 = 64;

impl Config {
    /// Every parameter, those of the machine and then those of the mechanisms of `registry`.
    pub fn parameters(registry: &Registry) -> Vec<Parameter> {
        let mut all = vec![
            Parameter {
                name: "preset".to_owned(),
                doc: "Name of the preset this started from.".to_owned(),
                accepted: Accepted::Text,
            },
            Parameter {
                name: "design".to_owned(),
                doc: "Design simulated.".to_owned(),
                accepted: Accepted::Stack,
            },
        ];
        let machine = [
            Chip::describe("chip"),
            Exec::describe("exec"),
            Sm::describe("sm"),
            RegisterFile::describe("register_file"),
            Scheduler::describe("scheduler"),
            Latency::describe("latency"),
            Initiation::describe("initiation"),
            Throughput::describe("throughput"),
            Units::describe("units"),
            Slots::describe("slots"),
            Memory::describe("memory"),
            CacheLevel::describe("l1"),
            CacheLevel::describe("l2"),
            Network::describe("network"),
            Slices::describe("slices"),
            Dram::describe("dram"),
            Energy::describe("energy"),
        ];
        all.extend(machine.into_iter().flatten());
        all.extend(registry.sections().into_iter().flat_map(|section| section.parameters));
        all
    }

    /// The mechanisms that there are.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// A mechanism's parameters; their defaults if it is not in the registry.
    pub fn of<S: Section>(&self) -> S {
        let section = self.mechanisms.get(S::NAME);
        // Every value was checked when it was set.
        section.and_then(|table| table.clone().try_into().ok()).unwrap_or_else(S::defaults)
    }

    /// Changes a mechanism's parameters.
    pub fn edit<S: Section>(&mut self, change: impl FnOnce(&mut S)) {
        let mut section = self.of::<S>();
        change(&mut section);
        let table = Table::try_from(section).expect("a section holds only numbers, flags and text");
        self.mechanisms.insert(S::NAME, table);
    }

    /// The same machine with another design, as it is written: see [`Stack::parse`].
    ///
    /// # Errors
    /// There is no such mechanism, or the stack cannot be.
    pub fn with_design(&self, design: &str) -> Result<Config, ConfigError> {
        Ok(self.with_stack(Stack::parse(&self.registry, "design", design)?))
    }

    /// The same machine with another design.
    pub fn with_stack(&self, design: Stack) -> Config {
        Config { design, ..self.clone() }
    }

    /// Warps of a scheduler.
    pub fn warps_per_scheduler(&self) -> u64 {
        self.sm.warps / self.sm.schedulers
    }

    /// Partitions of the SM, each with an operand storage.
    pub fn partitions(&self) -> u64 {
        self.sm.schedulers / self.sm.schedulers_per_partition
    }

    /// Warps of a partition.
    pub fn warps_per_partition(&self) -> u64 {
        self.sm.warps / self.partitions()
    }

    /// Instructions that the schedulers of a partition issue a cycle at most.
    pub fn issues_per_partition(&self) -> u64 {
        self.sm.schedulers_per_partition * self.sm.issues_per_scheduler
    }

    /// The whole configuration as TOML; reading it again gives an equal configuration.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.to_tree()).expect("a configuration holds only tables, numbers, flags and text")
    }

    /// A whole configuration from TOML text, as [`Config::to_toml`] and the preset files write it, with the mechanisms of
    /// `registry`, whose parameters may be left out. Errors name `origin`.
    pub fn from_toml(registry: &Registry, origin: &str, text: &str) -> Result<Config, ConfigError> {
        overrides::whole_config(registry, origin, text)
    }

    /// Every value by section.
    fn to_tree(&self) -> Table {
        let mut tree = Table::new();
        tree.insert("preset".to_owned(), Value::String(self.preset.clone()));
        tree.insert("design".to_owned(), Value::String(self.design.to_string()));
        fn section(tree: &mut Table, name: &str, section: &impl Serialize) {
            let table = Table::try_from(section).expect("a section holds only numbers, flags and text");
            tree.insert(name.to_owned(), Value::Table(table));
        }
        section(&mut tree, "chip", &self.chip);
        section(&mut tree, "exec", &self.exec);
        section(&mut tree, "sm", &self.sm);
        section(&mut tree, "register_file", &self.register_file);
        section(&mut tree, "scheduler", &self.scheduler);
        section(&mut tree, "latency", &self.latency);
        section(&mut tree, "initiation", &self.initiation);
        section(&mut tree, "throughput", &self.throughput);
        section(&mut tree, "units", &self.units);
        section(&mut tree, "slots", &self.slots);
        section(&mut tree, "memory", &self.memory);
        section(&mut tree, "l1", &self.l1);
        section(&mut tree, "l2", &self.l2);
        section(&mut tree, "network", &self.network);
        section(&mut tree, "slices", &self.slices);
        section(&mut tree, "dram", &self.dram);
        section(&mut tree, "energy", &self.energy);
        for (name, table) in &self.mechanisms {
            tree.insert((*name).to_owned(), Value::Table(table.clone()));
        }
        tree
    }

    /// The other way round. Each value has been checked by itself.
    fn from_tree(registry: &Registry, origin: &str, mut tree: Table) -> Result<Config, ConfigError> {
        let mut take = |name: &str| tree.remove(name).unwrap_or_else(|| Value::Table(Table::new()));
        fn section<S: serde::de::DeserializeOwned>(origin: &str, value: Value) -> Result<S, ConfigError> {
            value.try_into().map_err(|error: toml::de::Error| overrides::syntax(origin, &error))
        }
        let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
        let mut mechanisms = BTreeMap::new();
        for SectionInfo { name, mut defaults, .. } in registry.sections() {
            if let Value::Table(given) = take(name) {
                defaults.extend(given);
            }
            mechanisms.insert(name, defaults);
        }
        Ok(Config {
            preset: text(take("preset")),
            design: Stack::parse(registry, origin, &text(take("design")))?,
            chip: section(origin, take("chip"))?,
            exec: section(origin, take("exec"))?,
            sm: section(origin, take("sm"))?,
            register_file: section(origin, take("register_file"))?,
            scheduler: section(origin, take("scheduler"))?,
            latency: section(origin, take("latency"))?,
            initiation: section(origin, take("initiation"))?,
            throughput: section(origin, take("throughput"))?,
            units: section(origin, take("units"))?,
            slots: section(origin, take("slots"))?,
            memory: section(origin, take("memory"))?,
            l1: section(origin, take("l1"))?,
            l2: section(origin, take("l2"))?,
            network: section(origin, take("network"))?,
            slices: section(origin, take("slices"))?,
            dram: section(origin, take("dram"))?,
            energy: section(origin, take("energy"))?,
            registry: registry.clone(),
            mechanisms,
        })
    }

    /// Checks what depends on more than one parameter, and whether the machine can carry the design.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check_machine()?;
        self.design.check(self).map_err(|problem| match self.presets_that_carry() {
            Some(hint) => ConfigError::Machine { problem: Box::new(problem), hint },
            None => problem,
        })
    }

    /// Which presets carry the design, unless the one of this configuration does when nothing else is set.
    fn presets_that_carry(&self) -> Option<String> {
        let carries = |name: &str| {
            let preset = presets::preset_with(&self.registry, name);
            preset.is_ok_and(|preset| {
                let config = Config { design: self.design.clone(), ..preset };
                config.check_machine().and_then(|()| config.design.check(&config)).is_ok()
            })
        };
        if carries(&self.preset) {
            return None;
        }
        let names: Vec<&str> = preset_names().filter(|name| carries(name)).collect();
        (!names.is_empty()).then(|| format!("design {} runs with preset {}", self.design, names.join(", ")))
    }

    fn check_machine(&self) -> Result<(), ConfigError> {
        self.check_units()?;
        self.check_cache("l1.line_bytes", "l1.bytes", &self.l1)?;
        self.check_cache("l2.line_bytes", "l2.bytes", &self.l2)?;
        self.check_indices()?;
        self.check_interleaving()?;
        if self.chip.simulated_sms > self.chip.sms {
            return Err(conflict(
                "chip.simulated_sms",
                self.chip.simulated_sms,
                format!("at most chip.sms = {}", self.chip.sms),
            ));
        }
        self.check_schedulers()
    }

    fn check_schedulers(&self) -> Result<(), ConfigError> {
        let Sm { warps, schedulers, schedulers_per_partition, issues_per_scheduler, .. } = self.sm;
        if !warps.is_multiple_of(schedulers) {
            return Err(conflict("sm.warps", warps, format!("a multiple of sm.schedulers = {schedulers}")));
        }
        if !schedulers.is_multiple_of(schedulers_per_partition) {
            let reason = format!("1: sm.schedulers = {schedulers} are in equal partitions");
            return Err(conflict("sm.schedulers_per_partition", schedulers_per_partition, reason));
        }
        if self.issues_per_partition() > MAX_ISSUES as u64 {
            let reason = format!(
                "1: sm.issues_per_scheduler is {issues_per_scheduler}, and a partition takes {MAX_ISSUES} a cycle"
            );
            return Err(conflict("sm.schedulers_per_partition", schedulers_per_partition, reason));
        }
        if self.warps_per_partition() > MAX_WARPS_PER_PARTITION {
            let most = MAX_WARPS_PER_PARTITION * self.partitions();
            return Err(conflict(
                "sm.warps",
                warps,
                format!("at most {most}: {MAX_WARPS_PER_PARTITION} for each partition"),
            ));
        }
        if self.scheduler.active_warps > warps / schedulers {
            let reason = match schedulers {
                1 => format!("at most sm.warps = {warps}"),
                _ => format!("at most {}: sm.warps over sm.schedulers", warps / schedulers),
            };
            return Err(conflict("scheduler.active_warps", self.scheduler.active_warps, reason));
        }
        Ok(())
    }

    fn check_units(&self) -> Result<(), ConfigError> {
        let powers = [
            ("register_file.bank_groups", self.register_file.bank_groups),
            ("memory.sector_bytes", self.memory.sector_bytes),
            ("throughput.shared_bytes", self.throughput.shared_bytes),
        ];
        for (key, value) in powers {
            if !value.is_power_of_two() {
                return Err(conflict(key, value, "a power of two is needed".to_owned()));
            }
        }
        Ok(())
    }

    fn check_indices(&self) -> Result<(), ConfigError> {
        if self.l2.index == CacheIndex::Fermi {
            return Err(conflict("l2.index", "fermi", "linear or xor: fermi is for an L1".to_owned()));
        }
        let sets = self.l1.bytes / (self.l1.ways * self.l1.line_bytes);
        if self.l1.index == CacheIndex::Fermi && self.l1.bytes != 0 && !matches!(sets, 32 | 64) {
            let reason = format!("32 or 64 sets of l1.ways × l1.line_bytes are needed, there are {sets}");
            return Err(conflict("l1.index", "fermi", reason));
        }
        Ok(())
    }

    /// A line lies in one slice, and in one row of the memory.
    fn check_interleaving(&self) -> Result<(), ConfigError> {
        let longest = self.l1.line_bytes.max(self.l2.line_bytes).max(REGISTER_LINE_BYTES);
        let parts = [
            ("slices.interleave_bytes", self.slices.interleave_bytes),
            ("dram.row_bytes", self.dram.row_bytes),
        ];
        for (key, value) in parts {
            if self.memory.model == MemoryModel::Queued && (!value.is_power_of_two() || value < longest) {
                let reason = format!("a power of two of at least a line of {longest} bytes");
                return Err(conflict(key, value, reason));
            }
        }
        Ok(())
    }

    fn check_cache(
        &self,
        line_key: &'static str,
        bytes_key: &'static str,
        level: &CacheLevel,
    ) -> Result<(), ConfigError> {
        let sector = self.memory.sector_bytes;
        let sectors = level.line_bytes / sector;
        if !level.line_bytes.is_power_of_two() || !(1..=MAX_SECTORS).contains(&sectors) {
            let reason = format!(
                "a power of two of at least memory.sector_bytes = {sector} and at most {MAX_SECTORS} times it"
            );
            return Err(conflict(line_key, level.line_bytes, reason));
        }
        let set_bytes = level.ways * level.line_bytes;
        if level.bytes != 0 && level.bytes < set_bytes {
            let reason = format!("0, or at least one set of {set_bytes} bytes");
            return Err(conflict(bytes_key, level.bytes, reason));
        }
        if level.bytes / level.line_bytes > MAX_CACHE_LINES {
            let reason = format!(
                "at most {MAX_CACHE_LINES} lines of {} bytes, all of which are kept",
                level.line_bytes
            );
            return Err(conflict(bytes_key, level.bytes, reason));
        }
        Ok(())
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_tree().fmt(f)
    }
}

impl PartialEq for Config {
    fn eq(&self, other: &Config) -> bool {
        self.to_tree() == other.to_tree()
    }
}

impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_tree().serialize(serializer)
    }
}

/// A parameter that contradicts another.
pub fn conflict(key: &'static str, value: impl fmt::Display, reason: String) -> ConfigError {
    ConfigError::Conflict { key, value: value.to_string(), reason }
}
