//! How kernels are compiled, as said on the command line.

use serde::Serialize;
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, MAX_REGISTERS};

/// How kernels are compiled.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct CodeArguments {
    /// The order of instructions: `list`, that of a list scheduler in blocks that have been made longer; `blocks`, the same
    /// in the blocks of the PTX; `none`, that of the PTX [default: list].
    #[arg(long, value_name = "NAME", value_parser = schedule)]
    schedule: Option<Schedule>,
    /// Registers that a thread may have, if its kernel does not say fewer (.maxnreg, .maxntid, .minnctapersm): what does not
    /// fit is kept in local memory [default: 255].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(8..=1024))]
    max_registers: Option<u16>,
}

impl CodeArguments {
    /// What was given, or what is usual.
    pub fn code(&self) -> Code {
        Code {
            schedule: self.schedule.unwrap_or_default(),
            max_registers: self.max_registers.unwrap_or(MAX_REGISTERS),
        }
    }

    /// These, but where `more` says something else.
    pub fn with(&self, more: CodeArguments) -> CodeArguments {
        CodeArguments {
            schedule: more.schedule.or(self.schedule),
            max_registers: more.max_registers.or(self.max_registers),
        }
    }

    /// The words that were given.
    pub fn words(&self) -> Vec<String> {
        let schedule = self.schedule.map(|schedule| format!("--schedule {}", schedule.as_str()));
        let registers = self.max_registers.map(|registers| format!("--max-registers {registers}"));
        schedule.into_iter().chain(registers).collect()
    }
}

/// How kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Code {
    /// How instructions are ordered.
    pub schedule: Schedule,
    /// Registers that a thread may have.
    pub max_registers: u16,
}

impl Default for Code {
    fn default() -> Code {
        CodeArguments::default().code()
    }
}

impl Code {
    /// For the compiler.
    pub fn options(self) -> CompileOptions {
        let Code { schedule, max_registers } = self;
        CompileOptions { schedule, max_registers, ..CompileOptions::default() }
    }

    /// The words that are needed for it on the command line.
    pub fn words(self) -> Vec<String> {
        let usual = Code::default();
        let mut words = Vec::new();
        if self.schedule != usual.schedule {
            words.extend(["--schedule".to_owned(), self.schedule.as_str().to_owned()]);
        }
        if self.max_registers != usual.max_registers {
            words.extend(["--max-registers".to_owned(), self.max_registers.to_string()]);
        }
        words
    }
}

/// The order of instructions of that name.
fn schedule(name: &str) -> Result<Schedule, String> {
    let found = Schedule::ALL.into_iter().find(|schedule| schedule.as_str() == name);
    found.ok_or_else(|| format!("accepted: {}", Schedule::ALL.map(Schedule::as_str).join(", ")))
}
