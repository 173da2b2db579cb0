//! Mechanisms: ways to keep operands, to pick warps, to rename, to reuse, to admit, to put to sleep. A design is a
//! [`Stack`] of them.
//!
//! A mechanism is one name in five places: circuits in `hdl/src/NAME`, a compiler pass in `kernels/src/compile/NAME` if it
//! has one, a folder or file here, reference models in `testbenches/tests/NAME`, and figures in `cli/src/figures/PAPER`.
//! Here it says everything that the rest of the program asks of it: its parameters, what it builds, what its compiler pass
//! notes, what it counts, which arrays its energy is of, which of its signals are worth seeing. The SM
//! ([`crate::sm`]) knows the traits of [`crate::sm::design`] and no mechanism.

mod build;
pub mod circuit;
mod levels;
mod notes;
mod prepared;
mod registry;
mod stack;
pub mod waves;

pub mod affine;
pub mod banked;
pub mod greener;
pub mod hybrid;
pub mod register_file;
pub mod regless;
pub mod reuse;
pub mod rfc;
pub mod rfh;
pub mod rfv;
pub mod sharing;
pub mod single_level;
pub mod two_level;
pub mod warp_level_divergence;
pub mod wir;

use warpfile_hdl::regfile::ExtraRead;
use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::compile::cfg::Cfg;
use warpfile_kernels::program::Program;
use warpfile_kernels::ptx::ir::Kernel;

use crate::config::{Config, ConfigError, SectionInfo};
use crate::counters::{Group, Row};
use crate::energy::structure::{PowerGating, Structure};
use crate::sm::{Operations, RunReport, SimError};

pub use build::{Build, CircuitScope, NamedCircuit, Part};
pub use notes::{Compiled, Notes};
pub use registry::Registry;
pub use stack::Stack;
use waves::{Enumeration, Occupancy, WaveGroup};

/// Every mechanism that comes with the program, in the order of listings.
pub static ALL: &[&dyn Mechanism] = &[
    &single_level::SingleLevelScheduler,
    &banked::Banked,
    &two_level::TwoLevel,
    &rfc::Rfc,
    &regless::RegLess,
    &rfv::Rfv,
    &rfh::Rfh,
    &greener::GREENER,
    &greener::COMPILER_ONLY,
    &greener::SLEEP_REG,
    &hybrid::RegisterCache,
    &hybrid::RSP,
    &hybrid::HYBRID,
    &hybrid::PARALLEL_EVICT,
    &hybrid::PARALLEL_SIMPLE,
    &sharing::Owf,
    &sharing::SHARE_REGISTERS,
    &sharing::SHARE_SCRATCHPAD,
    &sharing::SHARE_SCRATCHPAD_RELSSP,
    &sharing::SHARE_BOTH,
    &warp_level_divergence::Divergence,
    &wir::R,
    &wir::RL,
    &wir::RLP,
    &wir::RLPV,
    &wir::RLPVC,
    &wir::RPV,
    &wir::NO_SIGNATURES,
    &affine::AffineRegisters,
    &reuse::Reuse,
];

/// What a mechanism is called, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// As in a stack.
    pub name: &'static str,
    /// One line, with the paper and its section.
    pub summary: &'static str,
    /// The design that it makes with what completes it: name and one line. `None` if it is listed under another's.
    pub design: Option<(&'static str, &'static str)>,
    /// The preset of its paper.
    pub preset: &'static str,
}

/// A design that mechanisms make together, in a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    /// The design's name.
    pub name: &'static str,
    /// One line, with the paper.
    pub summary: &'static str,
    /// The mechanisms, in the order of the stack.
    pub mechanisms: &'static [&'static str],
}

/// Where registers lie in a main register file, as far as a mechanism has a say in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterRows {
    /// Each register of a warp in a row of its own, for as long as the warp is there.
    Fixed,
    /// Of a storage: there, or wherever a layer has them, in rows that are another warp's as well at other times.
    Movable,
    /// The mechanism chooses, or lets several registers have one row.
    Chosen,
    /// Of a storage: in lines that it allocates to registers, in place of rows. It says of each what becomes of it
    /// ([`StorageOutputs::rows`](crate::sm::design::StorageOutputs::rows)).
    Lines {
        /// Banks of a scheduler.
        banks: usize,
        /// Lines of each.
        lines: usize,
    },
    /// Of a layer: in rows that it gives to values, so that registers of any warps may have one row at a time, and have another
    /// with each write. It says of each what becomes of it, as a storage of lines does.
    Shared,
}

impl RegisterRows {
    /// Whether a mechanism says which row of a main register file a register has.
    pub fn is_chosen(self) -> bool {
        matches!(self, RegisterRows::Chosen | RegisterRows::Shared)
    }
}

/// What a mechanism is in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Picks warps: one in a stack.
    Scheduler,
    /// Keeps operands: one in a stack.
    Storage {
        /// The scheduler of its paper, which completes a stack that names none.
        scheduler: &'static str,
    },
    /// Anything on top.
    Layer,
}

/// What a mechanism's compiler pass does to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// There is none.
    None,
    /// It leaves notes.
    Notes,
    /// It changes the program, which makes the notes of passes before it wrong.
    Rewrites,
}

/// A kernel that is shown with what a pass notes of it.
#[derive(Clone, Copy)]
pub struct Code<'a> {
    /// The machine instructions.
    pub program: &'a Program,
    /// Their control flow.
    pub cfg: &'a Cfg,
    /// The PTX that they have been made from; none of a trace's.
    pub kernel: Option<&'a Kernel>,
}

/// A mechanism.
pub trait Mechanism: Sync {
    /// What it is called.
    fn info(&self) -> Info;

    /// What it is in a stack.
    fn role(&self) -> Role;

    /// Designs that it makes with more than what completes it, beside the one of [`Info::design`].
    fn combinations(&self) -> &'static [Combination] {
        &[]
    }

    /// Of a layer: the scheduler of its paper, which completes a stack that names none.
    fn scheduler(&self) -> Option<&'static str> {
        None
    }

    /// Its section of the configuration, which it may share with others.
    fn section(&self) -> Option<SectionInfo> {
        None
    }

    /// Whether the machine, and the rest of the stack, can carry it.
    ///
    /// # Errors
    /// The parameter that stands against it, and what would be accepted.
    fn check(&self, _config: &Config) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Warps of a scheduler that hold a slot of the active set at once, for a scheduler.
    fn slots(&self, config: &Config) -> u64 {
        config.warps_per_scheduler()
    }

    /// Changes the configuration for values that are not those of a kernel. Gives what a reader has to know of it.
    ///
    /// # Errors
    /// It does nothing without them, and what would do.
    fn without_values(&self, _config: &mut Config) -> Result<Option<&'static str>, ConfigError> {
        Ok(None)
    }

    /// How kernels are compiled for it, where there is source; a trace has the code that it was recorded with.
    fn code(&self, _config: &Config, options: CompileOptions) -> CompileOptions {
        options
    }

    /// What its compiler pass does.
    fn pass(&self) -> Pass {
        Pass::None
    }

    /// Its compiler pass: leaves notes, and gives the program if it rewrites it.
    ///
    /// # Errors
    /// The pass does not take the program.
    fn compile(
        &self,
        _config: &Config,
        _program: &Program,
        _notes: &mut Notes,
    ) -> Result<Option<Program>, SimError> {
        Ok(None)
    }

    /// Another name of its pass, if it has one.
    fn pass_name(&self) -> Option<&'static str> {
        None
    }

    /// A program as text with what the pass notes of it; `None` if there is no listing.
    ///
    /// # Errors
    /// As [`Mechanism::compile`].
    fn listing(&self, _config: &Config, _code: Code<'_>) -> Result<Option<String>, SimError> {
        Ok(None)
    }

    /// The groups of counters that its parts add to a report, as zeros; that of the main register file needs not be among
    /// them.
    fn counters(&self) -> Vec<Group> {
        Vec::new()
    }

    /// Its circuits, by the names that they have in waveforms, recordings and exported Verilog.
    ///
    /// # Errors
    /// A parameter that a circuit does not support.
    fn circuits(&self, _config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(Vec::new())
    }

    /// What it plugs into the SM.
    ///
    /// # Errors
    /// As [`Mechanism::circuits`].
    fn build(&self, at: &Build<'_>) -> Result<Part, SimError>;

    /// The arrays that its energy is of, with what accesses them.
    fn structures(&self, _config: &Config) -> Vec<Structure> {
        Vec::new()
    }

    /// An array that another mechanism of the stack states, as it is with this one: what accesses it, if that changes.
    fn revised(&self, structure: Structure) -> Structure {
        structure
    }

    /// What the functional units have worked on in a run, by lanes: `operations` is what the SM dispatched, or what the mechanisms before
    /// it in the stack have made of it. A mechanism that has a unit work for fewer lanes takes the others away
    /// ([`Operations::without`]), one that executes instructions of its own adds theirs. What it answers instead of executing has
    /// not been dispatched.
    fn operations(&self, _report: &RunReport, operations: Operations) -> Operations {
        operations
    }

    /// Where registers lie.
    fn register_rows(&self, _config: &Config) -> RegisterRows {
        RegisterRows::Fixed
    }

    /// Of a storage: whether registers of several warps may have one row at a time, and another with each write
    /// ([`RegisterRows::Shared`]).
    fn carries_shared_rows(&self) -> bool {
        false
    }

    /// Of a storage or a layer: whether several schedulers may be in front of a partition of it
    /// ([`schedulers_per_partition`](crate::config::Sm::schedulers_per_partition)), whose instructions come one each and do not wait
    /// for one another. A layer sees the warps of all of them.
    fn serves_several_schedulers(&self) -> bool {
        self.role() == Role::Layer
    }

    /// Of a layer: whether it has more blocks resident than registers or scratchpad are enough for.
    fn admits_more_blocks(&self) -> bool {
        false
    }

    /// Of a layer: that it reads registers beside the operands of instructions, and who reads first.
    fn extra_read(&self, _config: &Config) -> ExtraRead {
        ExtraRead::None
    }

    /// How it gates the supply of the rows that hold registers, if it does.
    fn power_gating(&self, _config: &Config) -> Option<PowerGating> {
        None
    }

    /// Rows of the report that show what it counts.
    fn rows(&self) -> Vec<Row> {
        Vec::new()
    }

    /// Signals of its circuits that are worth seeing first.
    fn waves(&self) -> Vec<WaveGroup> {
        Vec::new()
    }

    /// Arrays of its circuits that are followed over time.
    fn occupancies(&self) -> Vec<Occupancy> {
        Vec::new()
    }

    /// Ports of its circuits whose values have names.
    fn enumerations(&self) -> Vec<Enumeration> {
        Vec::new()
    }
}

impl std::fmt::Debug for dyn Mechanism {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info().name)
    }
}
