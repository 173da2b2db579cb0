//! Which branches may send lanes of a warp different ways.
//!
//! Conservative: a register is *varying* if it may differ between lanes that execute together: the thread's
//! index, what memory holds, what is computed from either, and what is merged or carried out of a loop under a
//! varying branch. A branch is divergent if its guard or index is varying, unless the source says `.uni`.

use super::bitset::BitSet;
use super::cfg::{Block, Cfg, CfgError, Flow};
use super::dominators::Postdominators;
use super::function::{Access, Definition, Function};
use super::liveness::Liveness;
use crate::program::Space;
use crate::ptx::ir::{Instruction, Kernel, Op, Operand, Special};

/// Control flow of a kernel's PTX; graph positions are instruction indices.
///
/// # Errors
/// A kernel without instructions, or a branch out of it; the parser lets neither pass.
pub fn ptx_cfg(kernel: &Kernel) -> Result<Cfg, CfgError> {
    let flow: Vec<Flow> = kernel
        .instructions
        .iter()
        .enumerate()
        .map(|(position, instruction)| flow(instruction, position))
        .collect();
    Cfg::new(&flow)
}

/// Whether the instruction redirects or ends control flow.
pub fn is_control(op: &Op) -> bool {
    matches!(op, Op::Bra { .. } | Op::Brx { .. } | Op::Exit | Op::Trap)
}

fn flow(instruction: &Instruction, position: usize) -> Flow {
    if !is_control(&instruction.op) {
        return Flow::Next;
    }
    let next = instruction.falls_through().then_some(position + 1);
    let targets = instruction.targets().iter().map(|target| target.index());
    Flow::To { targets: targets.chain(next).collect(), exits: matches!(instruction.op, Op::Exit | Op::Trap) }
}

/// For each PTX instruction whether it is a branch or guarded exit at which lanes may part.
pub fn divergent_branches(kernel: &Kernel, cfg: &Cfg, postdominators: &Postdominators) -> Vec<bool> {
    let function = ptx_function(kernel, cfg);
    let threads = Liveness::per_thread(&function);
    let mut varying = BitSet::new(kernel.registers.len());
    let mut divergent = vec![false; kernel.instructions.len()];
    loop {
        let mut changed = spread_through_operands(kernel, &mut varying);
        for block in cfg.block_ids() {
            let last = cfg.last_instruction(block);
            let branch = &kernel.instructions[last];
            if !divergent[last] && cfg.branches(block) && may_part(branch, &varying) {
                divergent[last] = true;
                changed |= spread_through_merges(&function, postdominators, &threads, block, &mut varying);
            }
        }
        if !changed {
            return divergent;
        }
    }
}

/// The kernel's virtual registers as a [`Function`]; divergence is not filled in.
fn ptx_function(kernel: &Kernel, cfg: &Cfg) -> Function {
    let access = |instruction: &Instruction| Access {
        uses: instruction.uses().map(|register| register.0).collect(),
        definitions: instruction
            .definitions()
            .map(|register| Definition { register: register.0, guarded: instruction.guard.is_some() })
            .collect(),
        ..Access::default()
    };
    Function {
        cfg: cfg.clone(),
        instructions: kernel.instructions.iter().map(access).collect(),
        registers: kernel.registers.len(),
    }
}

fn may_part(branch: &Instruction, varying: &BitSet) -> bool {
    let uniform = matches!(branch.op, Op::Bra { uniform: true, .. } | Op::Brx { uniform: true, .. });
    !uniform && branch.uses().any(|register| varying.contains(register.index()))
}

/// Marks what is computed from varying values until nothing changes.
fn spread_through_operands(kernel: &Kernel, varying: &mut BitSet) -> bool {
    let mut any = false;
    let mut changed = true;
    while changed {
        changed = false;
        for instruction in &kernel.instructions {
            let varies = is_source_of_variation(instruction)
                || instruction.uses().any(|register| varying.contains(register.index()));
            if varies {
                for register in instruction.definitions() {
                    changed |= varying.insert(register.index());
                }
            }
        }
        any |= changed;
    }
    any
}

/// Whether its results may differ between lanes although its operands do not.
fn is_source_of_variation(instruction: &Instruction) -> bool {
    let special = instruction.srcs.iter().any(|operand| match operand {
        Operand::Special(special) => varies(*special),
        Operand::Reg(_)
        | Operand::Not(_)
        | Operand::Imm(_)
        | Operand::Symbol(..)
        | Operand::GenericSymbol(..) => false,
    });
    let load = matches!(
        instruction.op,
        Op::Ld { space: Space::Global | Space::Shared | Space::Local | Space::Generic, .. }
    );
    let exchange = matches!(
        instruction.op,
        Op::Atom { .. }
            | Op::Tex1d { .. }
            | Op::Shfl { .. }
            | Op::Match { .. }
            | Op::Vote { .. }
            | Op::Redux { .. }
            | Op::Activemask
    );
    special || load || exchange
}

fn varies(special: Special) -> bool {
    match special {
        Special::Tid(_)
        | Special::LaneId
        | Special::LaneMaskEq
        | Special::LaneMaskLe
        | Special::LaneMaskLt
        | Special::LaneMaskGe
        | Special::LaneMaskGt
        | Special::Clock
        | Special::ClockHi
        | Special::Clock64 => true,
        Special::Ntid(_)
        | Special::Ctaid(_)
        | Special::Nctaid(_)
        | Special::WarpId
        | Special::NWarpId
        | Special::SmId
        | Special::NSmId
        | Special::GridId
        | Special::DynamicSharedBytes
        | Special::TotalSharedBytes => false,
    }
}

/// Marks what is defined between a divergent branch and its reconvergence and is live where lanes meet that
/// came from different successors: values merged there, and values carried out of a loop in different
/// iterations.
fn spread_through_merges(
    function: &Function,
    postdominators: &Postdominators,
    threads: &Liveness,
    branch: Block,
    varying: &mut BitSet,
) -> bool {
    let cfg = &function.cfg;
    let successors = &cfg.block(branch).successors;
    let meet = postdominators.immediate(branch);
    let reached: Vec<Vec<bool>> =
        successors.iter().map(|&successor| cfg.reachable_before(&[successor], meet)).collect();
    let mut live = BitSet::new(function.registers);
    for block in cfg.block_ids() {
        let ways = reached.iter().filter(|reached| reached[block.index()]).count();
        if ways > 1 || Some(block) == meet {
            live.union_with(threads.live_in(block));
        }
    }
    let mut changed = false;
    for block in cfg.block_ids().filter(|block| reached.iter().any(|reached| reached[block.index()])) {
        for instruction in cfg.block(block).instructions.clone() {
            for definition in &function.instructions[instruction].definitions {
                if live.contains(definition.register as usize) {
                    changed |= varying.insert(definition.register as usize);
                }
            }
        }
    }
    changed
}
