//! The order of instructions: loads early and together, their uses late.
//!
//! Works on the PTX, within basic blocks, before it is lowered: what is executed, and what machine instructions are made
//! of, is then one kernel. How long results take and what they occupy is taken from a first compilation in source order.
//!
//! [`dependences`] has what must stay in order, [`list`] chooses among the rest, [`pressure`] says what values take, and
//! [`check`] compares the result with the source.

mod check;
mod dependences;
mod latency;
mod list;
mod pressure;
mod stretches;
#[cfg(test)]
mod tests;

use super::Compiled;
use super::cfg::Cfg;
use super::function::Function;
use crate::ptx::ir::{Instruction, Kernel};

use dependences::Dependences;
use pressure::Pressure;

pub use check::ScheduleError;

/// How instructions are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// As in the source.
    None,
    /// By a list scheduler in the basic blocks of the source.
    Blocks,
    /// The same in longer blocks, after short branches have become guards and loops have been unrolled.
    #[default]
    List,
}

impl Schedule {
    /// Every choice.
    pub const ALL: [Schedule; 3] = [Schedule::None, Schedule::Blocks, Schedule::List];

    /// As written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Schedule::None => "none",
            Schedule::Blocks => "blocks",
            Schedule::List => "list",
        }
    }
}

/// Registers a thread that cost no resident block: a full SM of the machines that we model has 32 for each thread it can
/// hold (Gebhart et al., §2: 32,768 of 1,024 threads; GTX 980: 65,536 of 2,048).
pub const FREE_REGISTERS: u16 = 32;

/// The kernel with its instructions in another order, in which about `registers` are enough at each point; `compiled` is
/// the kernel in source order, and `function` has the virtual machine registers that its instructions read and write.
///
/// # Errors
/// An order that breaks a dependence: an error of this pass.
pub fn list(
    kernel: &Kernel,
    cfg: &Cfg,
    compiled: &Compiled,
    function: &Function,
    registers: u16,
) -> Result<Kernel, ScheduleError> {
    let latencies = latency::of(kernel, compiled);
    let pressure = Pressure::new(function);
    let mut order: Vec<usize> = Vec::with_capacity(kernel.instructions.len());
    for block in cfg.block_ids() {
        let stretches = stretches::of(kernel, cfg.block(block).instructions.clone());
        for (mut values, stretch) in pressure.of(block, &stretches).into_iter().zip(stretches) {
            let instructions = &kernel.instructions[stretch.clone()];
            let dependences = Dependences::new(kernel, instructions, &latencies[stretch.clone()]);
            let chosen = list::order(&dependences, &mut values, i64::from(registers));
            order.extend(chosen.into_iter().map(|position| stretch.start + position));
        }
    }
    check::check(kernel, cfg, &order)?;
    let instructions: Vec<Instruction> =
        order.iter().map(|&position| kernel.instructions[position].clone()).collect();
    Ok(Kernel { instructions, ..kernel.clone() })
}
