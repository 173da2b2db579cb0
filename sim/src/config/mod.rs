//! Configuration of a run: presets, overrides, checks, listings.
//!
//! A [`Config`] starts from a preset, takes values from TOML files and from `name=value` pairs in the order
//! given, and is checked as a whole. [`Config::to_toml`] writes the file that reproduces a run.

mod overrides;
mod parameter;
mod presets;
mod sections;

use warpfile_kernels::regions::BANKS;

pub use overrides::{apply_file, apply_overrides};
pub use parameter::{Accepted, Parameter};
pub use presets::{preset, preset_names};
pub use sections::{
    CacheLevel, Chip, Config, DesignName, Dram, Energy, InnerPolicy, Latency, Memory, MemoryModel,
    RegisterFile, Regless, Replacement, Rfc, Rfh, Rfv, Scheduler, SingleLevelPolicy, Sm, SoftDefinitions,
    Throughput, WritePolicy,
};

/// Sectors of a cache line at most.
const MAX_SECTORS: u64 = 64;
/// Warps of a scheduler that a shard of RegLess serves at most.
const REGLESS_WARPS: u64 = 16;
/// Lines that a bank of an operand staging unit may have.
const REGLESS_BANK_LINES: std::ops::RangeInclusive<u64> = 2..=64;
/// Rows that a bank of a renamed register file may have.
const RFV_ROWS: std::ops::RangeInclusive<u64> = 2..=1024;
/// Registers that a rename table has names for.
const RFV_NAMES: u64 = 4096;
/// Lines that a compressor may hold.
const COMPRESSOR_LINES: u64 = 64;
/// Bytes of a warp-wide register.
const REGISTER_LINE_BYTES: u64 = 4 * warpfile_kernels::program::LANES as u64;

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

impl Config {
    /// The whole configuration as TOML; reading it again gives an equal configuration.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration holds only tables, numbers, flags and text")
    }

    /// A whole configuration from TOML text, as [`Config::to_toml`] and the preset files write it. Errors name
    /// `origin`.
    pub fn from_toml(origin: &str, text: &str) -> Result<Config, ConfigError> {
        overrides::whole_config(origin, text)
    }

    /// Checks what depends on more than one parameter.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check_units()?;
        self.check_cache("l1.line_bytes", "l1.bytes", &self.l1)?;
        self.check_cache("l2.line_bytes", "l2.bytes", &self.l2)?;
        if self.chip.simulated_sms > self.chip.sms {
            return Err(conflict(
                "chip.simulated_sms",
                self.chip.simulated_sms,
                format!("at most chip.sms = {}", self.chip.sms),
            ));
        }
        self.check_schedulers()?;
        match self.design {
            DesignName::Baseline | DesignName::TwoLevel | DesignName::Rfc => Ok(()),
            DesignName::Regless => self.check_regless(),
            DesignName::Rfv => self.check_rfv(),
            DesignName::Rfh => self.check_rfh(),
        }
    }

    /// What the circuit of a register file hierarchy asks for.
    fn check_rfh(&self) -> Result<(), ConfigError> {
        let issues = self.sm.issues_per_scheduler;
        if issues != 2 {
            let reason = "design rfh: 2, as in preset gtx980-regless; its register file takes two instructions a cycle";
            return Err(conflict("sm.issues_per_scheduler", issues, reason.to_owned()));
        }
        Ok(())
    }

    /// What the circuits of a renamed register file ask for.
    fn check_rfv(&self) -> Result<(), ConfigError> {
        let banks = self.sm.schedulers * self.register_file.bank_groups;
        let registers = self.rfv.registers;
        if !registers.is_multiple_of(banks) || !RFV_ROWS.contains(&(registers / banks)) {
            let reason = format!("2 to 1024 registers for each of {banks} bank groups of the SM");
            return Err(conflict("rfv.registers", registers, reason));
        }
        let names = self.register_file.bank_groups * self.register_file.rows;
        if names > RFV_NAMES {
            let reason = format!(
                "design rfv: at most {RFV_NAMES} registers for each scheduler, there are {} bank groups",
                self.register_file.bank_groups
            );
            return Err(conflict("register_file.rows", self.register_file.rows, reason));
        }
        Ok(())
    }

    /// What the circuits of a shard and the register lines in memory ask for.
    fn check_regless(&self) -> Result<(), ConfigError> {
        let Sm { warps, schedulers, .. } = self.sm;
        let shard_warps = warps / schedulers;
        if shard_warps > REGLESS_WARPS || !shard_warps.is_power_of_two() {
            let reason =
                format!("design regless: a power of two of at most {REGLESS_WARPS} for each scheduler");
            return Err(conflict("sm.warps", warps, reason));
        }
        let banks = schedulers * BANKS as u64;
        let lines = self.regless.lines;
        if !lines.is_multiple_of(banks) || !REGLESS_BANK_LINES.contains(&(lines / banks)) {
            let reason = format!("2 to 64 lines for each of {BANKS} banks of {schedulers} schedulers");
            return Err(conflict("regless.lines", lines, reason));
        }
        let compressed = self.regless.compressor_lines;
        if !compressed.is_multiple_of(schedulers) || compressed / schedulers > COMPRESSOR_LINES {
            let reason = format!("0 to {COMPRESSOR_LINES} lines for each of {schedulers} schedulers");
            return Err(conflict("regless.compressor_lines", compressed, reason));
        }
        for (key, value) in [
            ("regless.metadata_words", self.regless.metadata_words),
            ("regless.read_entries", self.regless.read_entries),
        ] {
            if !value.is_power_of_two() {
                return Err(conflict(key, value, "a power of two is needed".to_owned()));
            }
        }
        self.check_lines_in_memory()
    }

    fn check_lines_in_memory(&self) -> Result<(), ConfigError> {
        if self.memory.model != MemoryModel::Caches {
            return Err(ConfigError::Conflict {
                key: "memory.model",
                value: "fixed".to_owned(),
                reason:
                    "design regless keeps registers in caches; accepted: caches, as in preset gtx980-regless"
                        .to_owned(),
            });
        }
        if !self.memory.single_l1_port {
            return Err(ConfigError::Conflict {
                key: "memory.single_l1_port",
                value: "false".to_owned(),
                reason: "design regless has an L1 port that takes one request a cycle; accepted: true"
                    .to_owned(),
            });
        }
        for (key, value) in [("l1.line_bytes", self.l1.line_bytes), ("l2.line_bytes", self.l2.line_bytes)] {
            if value != REGISTER_LINE_BYTES {
                let reason = format!("design regless: a register is a line of {REGISTER_LINE_BYTES} bytes");
                return Err(conflict(key, value, reason));
            }
        }
        Ok(())
    }

    fn check_schedulers(&self) -> Result<(), ConfigError> {
        let Sm { warps, schedulers, .. } = self.sm;
        if !warps.is_multiple_of(schedulers) {
            return Err(conflict("sm.warps", warps, format!("a multiple of sm.schedulers = {schedulers}")));
        }
        if self.design == DesignName::Rfc && self.sm.issues_per_scheduler > 1 {
            return Err(conflict(
                "sm.issues_per_scheduler",
                self.sm.issues_per_scheduler,
                "1: the register file cache of design rfc takes one instruction a cycle".to_owned(),
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
        Ok(())
    }
}

fn conflict(key: &'static str, value: u64, reason: String) -> ConfigError {
    ConfigError::Conflict { key, value: value.to_string(), reason }
}
