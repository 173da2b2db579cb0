//! Which branches may send lanes of a warp different ways.
//!
//! Conservative: a register is *varying* if it may differ between lanes that execute together: the thread's
//! index, what memory holds, what is computed from either, and what is merged or carried out of a loop under a
//! varying branch. A branch is divergent if its guard or index is varying, unless the source says `.uni`.

use std::collections::BTreeMap;

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
    let readers = readers(kernel);
    let mut varying = Varying::new(kernel.registers.len());
    for instruction in kernel.instructions.iter().filter(|instruction| is_source_of_variation(instruction)) {
        instruction.definitions().for_each(|register| varying.add(register.0));
    }
    let mut divergent = vec![false; kernel.instructions.len()];
    while let Some(register) = varying.new.pop() {
        for &position in &readers[register as usize] {
            let instruction = &kernel.instructions[position];
            instruction.definitions().for_each(|register| varying.add(register.0));
            let block = cfg.block_of(position);
            let parts =
                position == cfg.last_instruction(block) && cfg.branches(block) && may_part(instruction);
            if parts && !std::mem::replace(&mut divergent[position], true) {
                spread_through_merges(&function, postdominators, &threads, block, &mut varying);
            }
        }
    }
    divergent
}

/// Registers that may differ between lanes.
struct Varying {
    members: Vec<bool>,
    /// Members whose readers have not been looked at.
    new: Vec<u32>,
}

impl Varying {
    fn new(registers: usize) -> Varying {
        Varying { members: vec![false; registers], new: Vec::new() }
    }

    fn add(&mut self, register: u32) {
        if !std::mem::replace(&mut self.members[register as usize], true) {
            self.new.push(register);
        }
    }
}

/// For each register the instructions that read it.
fn readers(kernel: &Kernel) -> Vec<Vec<usize>> {
    let mut readers = vec![Vec::new(); kernel.registers.len()];
    for (position, instruction) in kernel.instructions.iter().enumerate() {
        instruction.uses().for_each(|register| readers[register.index()].push(position));
    }
    readers
}

/// The kernel's virtual registers as a [`Function`]; divergence is not filled in.
pub(super) fn ptx_function(kernel: &Kernel, cfg: &Cfg) -> Function {
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

/// Whether lanes part at a branch if what it reads varies.
fn may_part(branch: &Instruction) -> bool {
    !matches!(branch.op, Op::Bra { uniform: true, .. } | Op::Brx { uniform: true, .. })
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
            | Op::Tex { .. }
            | Op::SurfaceLoad { .. }
            | Op::Shfl { .. }
            | Op::Match { .. }
            | Op::Vote { .. }
            | Op::Redux { .. }
            | Op::Mma { .. }
            | Op::LoadMatrix { .. }
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
    varying: &mut Varying,
) {
    let cfg = &function.cfg;
    let meet = postdominators.immediate(branch);
    // For each block between the two, from how many successors of the branch it is reached.
    let mut ways: BTreeMap<Block, usize> = BTreeMap::new();
    for &successor in &cfg.block(branch).successors {
        for block in cfg.reachable_before(&[successor], meet) {
            *ways.entry(block).or_default() += 1;
        }
    }
    let mut live = BitSet::default();
    let merges = ways.iter().filter(|&(_, &ways)| ways > 1).map(|(&block, _)| block);
    for block in merges.chain(meet) {
        live.union_with(threads.live_in(block));
    }
    for &block in ways.keys() {
        for instruction in cfg.block(block).instructions.clone() {
            for definition in &function.instructions[instruction].definitions {
                if live.contains(definition.register as usize) {
                    varying.add(definition.register);
                }
            }
        }
    }
}
