//! The order of instructions: loads early and together, their uses late.
//!
//! The first pass works on the PTX, within basic blocks, before it is lowered: what is executed, and what machine
//! instructions are made of, is then one kernel. How long results take and what they occupy is taken from a first
//! compilation in source order.
//!
//! [`dependences`] has what must stay in order, [`list`] chooses among the rest, [`pressure`] says what values take, and
//! [`check`] compares the result with the source. The second pass, [`mod@again`], moves
//! single instructions behind allocation.

mod again;
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

use again::Stretch;
use dependences::Dependences;
use pressure::{Pressure, Values};

pub use check::ScheduleError;
pub use latency::cycles;

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

/// By how many fewer registers a stretch is put in order again, if the order took too many.
const STRETCH_AIM_LOWER: usize = 3;
/// How often.
const STRETCH_AIMS: usize = 8;

/// How many registers are enough at each point of an order.
#[derive(Clone, Copy)]
pub struct Aim {
    /// So many machine registers of a thread.
    pub registers: u16,
    /// By which rule.
    pub bound: Bound,
}

/// What holds where values take as many registers as are aimed at.
#[derive(Clone, Copy)]
pub enum Bound {
    /// What frees registers comes first; it may be that more are needed nevertheless.
    Aimed,
    /// A stretch that would need more by the estimate stays in the order of the source.
    Kept,
}

/// A kernel in a new order.
pub struct Ordered {
    /// With its instructions in that order.
    pub kernel: Kernel,
    /// The cycles that a warp alone would wait within basic blocks, each executed once.
    pub stalls: u64,
}

/// The kernel with its instructions in another order; `compiled` is the kernel in source order, and `function` has the
/// virtual machine registers that its instructions read and write.
///
/// # Errors
/// An order that breaks a dependence: an error of this pass.
pub fn list(
    kernel: &Kernel,
    cfg: &Cfg,
    compiled: &Compiled,
    function: &Function,
    aim: Aim,
) -> Result<Ordered, ScheduleError> {
    let latencies = latency::of(kernel, compiled);
    let pressure = Pressure::new(function);
    let mut order: Vec<usize> = Vec::with_capacity(kernel.instructions.len());
    let mut stalls = 0;
    for block in cfg.block_ids() {
        let stretches = stretches::of(kernel, cfg.block(block).instructions.clone());
        for (values, stretch) in pressure.of(block, &stretches).into_iter().zip(stretches) {
            let instructions = &kernel.instructions[stretch.clone()];
            let dependences = Dependences::new(kernel, instructions, &latencies[stretch.clone()]);
            let registers = i64::from(aim.registers);
            let chosen = match aim.bound {
                Bound::Aimed => list::order(&dependences, values, registers),
                Bound::Kept => within(&dependences, &values, registers),
            };
            stalls += list::stalls(&dependences, &chosen);
            order.extend(chosen.into_iter().map(|position| stretch.start + position));
        }
    }
    Ok(Ordered { kernel: in_order(kernel, cfg, &order)?, stalls })
}

/// A compiled kernel in an order in which loads are further from their uses, and every value can stay in its register; `None`
/// if none is found. `cfg` is that of the kernel's PTX.
///
/// # Errors
/// An order that breaks a dependence: an error of this pass.
pub fn again(cfg: &Cfg, compiled: &Compiled) -> Result<Option<Kernel>, ScheduleError> {
    let kernel = &compiled.kernel;
    let latencies = latency::of(kernel, compiled);
    let mut order: Vec<usize> = (0..kernel.instructions.len()).collect();
    let mut is_better = false;
    let stretches = |block| stretches::between_barriers(kernel, cfg.block(block).instructions.clone());
    for stretch in cfg.block_ids().flat_map(stretches) {
        if let Some(better) = Stretch::new(compiled, &latencies, stretch.clone()).better() {
            order.splice(stretch.clone(), better.into_iter().map(|position| stretch.start + position));
            is_better = true;
        }
    }
    is_better.then(|| in_order(kernel, cfg, &order)).transpose()
}

/// The kernel with its instructions in an order, which is checked.
fn in_order(kernel: &Kernel, cfg: &Cfg, order: &[usize]) -> Result<Kernel, ScheduleError> {
    check::check(kernel, cfg, order)?;
    let instructions: Vec<Instruction> =
        order.iter().map(|&position| kernel.instructions[position].clone()).collect();
    Ok(Kernel { instructions, ..kernel.clone() })
}

/// The positions of a stretch's instructions in an order in which so many registers are enough at each point: that of the
/// list scheduler, which may need more than it aims at, and then aims at fewer. If none of these orders does with so few,
/// that of the source.
fn within(dependences: &Dependences, values: &Values, registers: i64) -> Vec<usize> {
    let aims = (1..=registers).rev().step_by(STRETCH_AIM_LOWER).take(STRETCH_AIMS);
    let mut orders = aims.map(|aim| list::order(dependences, values.clone(), aim));
    let is_enough = |order: &Vec<usize>| values.most(order.iter().copied()) <= registers;
    orders.find(is_enough).unwrap_or_else(|| (0..dependences.predecessors.len()).collect())
}
