//! How kernels are compiled, as said on the command line.

use anyhow::bail;
use serde::Serialize;
use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::compile::operands::Operands;
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, MAX_REGISTERS};
use warpfile_kernels::workloads::AddressBits;

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
    /// Registers that a thread is given at least, as another compiler would have used them, and no more than it may have
    /// [default: as many as its code needs].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    min_registers: Option<u16>,
    /// Bits of an address in the PTX of workloads and .cu files: 32, as clang makes it with -m32, or 64 [default: 64; in a
    /// paper's figures those of the code that it measured].
    #[arg(long, value_name = "BITS")]
    addresses: Option<AddressBits>,
    /// What arithmetic reads beside registers, parameters and immediates: `constants`, words of constant memory at fixed
    /// addresses; `scratchpad`, a word of scratchpad too, as in PTXPlus; `registers`, nothing [default: constants].
    #[arg(long, value_name = "NAME", value_parser = operands)]
    operands: Option<Operands>,
    /// Whose machine code PTX becomes: `maxwell`; `ptxplus`, that of the first GPUs, which GPGPU-Sim runs as PTXPlus: predicates
    /// are registers, and low words of 32-bit products are made of 16-bit products [default: maxwell; in a
    /// paper's figures that of its pages].
    #[arg(long, value_name = "NAME", value_parser = isa)]
    isa: Option<Isa>,
}

impl CodeArguments {
    /// What was given, or what is usual.
    pub fn code(&self) -> Code {
        Code {
            schedule: self.schedule.unwrap_or_default(),
            max_registers: self.max_registers.unwrap_or(MAX_REGISTERS),
            min_registers: self.min_registers.unwrap_or(0),
            addresses: self.addresses.unwrap_or_default(),
            operands: self.operands.unwrap_or_default(),
            isa: self.isa.unwrap_or_default(),
        }
    }

    /// These, but where `more` says something else.
    pub fn with(&self, more: CodeArguments) -> CodeArguments {
        CodeArguments {
            schedule: more.schedule.or(self.schedule),
            max_registers: more.max_registers.or(self.max_registers),
            min_registers: more.min_registers.or(self.min_registers),
            addresses: more.addresses.or(self.addresses),
            operands: more.operands.or(self.operands),
            isa: more.isa.or(self.isa),
        }
    }

    /// These, with so many bits of an address, and that machine code, unless they say it themselves.
    pub fn with_usual(&self, addresses: AddressBits, isa: Isa) -> CodeArguments {
        CodeArguments {
            addresses: self.addresses.or(Some(addresses)),
            isa: self.isa.or(Some(isa)),
            ..self.clone()
        }
    }

    /// The words that were given.
    pub fn words(&self) -> Vec<String> {
        let schedule = self.schedule.map(|schedule| format!("--schedule {}", schedule.as_str()));
        let most = self.max_registers.map(|registers| format!("--max-registers {registers}"));
        let least = self.min_registers.map(|registers| format!("--min-registers {registers}"));
        let addresses = self.addresses.map(|addresses| format!("--addresses {addresses}"));
        let operands = self.operands.map(|operands| format!("--operands {}", operands.as_str()));
        let isa = self.isa.map(|isa| format!("--isa {}", isa.as_str()));
        [schedule, most, least, addresses, operands, isa].into_iter().flatten().collect()
    }

    /// The words that are needed for it on the command line, where what is usual for addresses and machine code is not known.
    pub fn command_words(&self) -> Vec<String> {
        let mut words = self.code().words();
        if self.addresses == Some(AddressBits::default()) {
            words.extend(["--addresses".to_owned(), AddressBits::default().to_string()]);
        }
        if self.isa == Some(Isa::default()) {
            words.extend(["--isa".to_owned(), Isa::default().as_str().to_owned()]);
        }
        words
    }

    /// An error if bits of an address were given for an input whose PTX is not made here and does not come with the project.
    pub fn check_is_made(&self, is_made: bool, input: &str) -> anyhow::Result<()> {
        match self.addresses {
            Some(addresses) if !is_made => bail!(
                "--addresses {addresses}: the PTX of `{input}` says itself how many bits an address has; accepted for workloads and \
                 .cu files"
            ),
            Some(_) | None => Ok(()),
        }
    }
}

/// How kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Code {
    /// How instructions are ordered.
    pub schedule: Schedule,
    /// Registers that a thread may have.
    pub max_registers: u16,
    /// Registers that a thread is given at least.
    #[serde(skip_serializing_if = "is_zero")]
    pub min_registers: u16,
    /// Bits of an address in PTX that is made here or comes with the project.
    #[serde(skip_serializing_if = "is_usual")]
    pub addresses: AddressBits,
    /// What arithmetic reads.
    pub operands: Operands,
    /// Whose machine code it is.
    #[serde(skip_serializing_if = "is_usual")]
    pub isa: Isa,
}

fn is_zero(registers: &u16) -> bool {
    *registers == 0
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for Code {
    fn default() -> Code {
        CodeArguments::default().code()
    }
}

impl Code {
    /// For the compiler.
    pub fn options(self) -> CompileOptions {
        let Code { schedule, max_registers, min_registers, addresses: _, operands, isa } = self;
        CompileOptions { schedule, max_registers, min_registers, operands, isa, ..CompileOptions::default() }
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
        if self.min_registers != usual.min_registers {
            words.extend(["--min-registers".to_owned(), self.min_registers.to_string()]);
        }
        if self.addresses != usual.addresses {
            words.extend(["--addresses".to_owned(), self.addresses.to_string()]);
        }
        if self.operands != usual.operands {
            words.extend(["--operands".to_owned(), self.operands.as_str().to_owned()]);
        }
        if self.isa != usual.isa {
            words.extend(["--isa".to_owned(), self.isa.as_str().to_owned()]);
        }
        words
    }
}

/// What arithmetic reads, by its name.
fn operands(name: &str) -> Result<Operands, String> {
    let found = Operands::ALL.into_iter().find(|operands| operands.as_str() == name);
    found.ok_or_else(|| format!("accepted: {}", Operands::ALL.map(Operands::as_str).join(", ")))
}

/// The machine code of that name.
fn isa(name: &str) -> Result<Isa, String> {
    let found = Isa::ALL.into_iter().find(|isa| isa.as_str() == name);
    found.ok_or_else(|| format!("accepted: {}", Isa::ALL.map(Isa::as_str).join(", ")))
}

/// The order of instructions of that name.
fn schedule(name: &str) -> Result<Schedule, String> {
    let found = Schedule::ALL.into_iter().find(|schedule| schedule.as_str() == name);
    found.ok_or_else(|| format!("accepted: {}", Schedule::ALL.map(Schedule::as_str).join(", ")))
}
