//! Machine instructions over virtual registers as a graph, for dataflow.

use super::cfg::{Cfg, CfgError, Flow};
use super::function::{Access, Definition, Function};
use super::lower::emit::MachineOp;
use crate::program::Operation;
use crate::ptx::ir::Kernel;

/// Control flow of machine instructions in program order.
///
/// # Errors
/// As [`Cfg::new`]; the parser lets no such kernel pass.
pub fn machine_cfg(kernel: &Kernel, ops: &[MachineOp]) -> Result<Cfg, CfgError> {
    Cfg::new(&machine_flow(kernel, ops))
}

/// Where control may go after each machine instruction.
pub fn machine_flow(kernel: &Kernel, ops: &[MachineOp]) -> Vec<Flow> {
    let mut start = Vec::with_capacity(kernel.instructions.len());
    let mut next = 0;
    for position in 0..kernel.instructions.len() {
        while ops.get(next).is_some_and(|op| op.ptx.index() < position) {
            next += 1;
        }
        start.push(next);
    }
    let flow = |(position, op): (usize, &MachineOp)| {
        if !matches!(op.operation, Operation::Branch | Operation::Exit) {
            return Flow::Next;
        }
        let ptx = &kernel.instructions[op.ptx.index()];
        let targets = ptx.targets().iter().map(|target| start[target.index()]);
        let fall_through = ptx.falls_through().then_some(position + 1);
        Flow::To { targets: targets.chain(fall_through).collect(), exits: op.operation == Operation::Exit }
    };
    ops.iter().enumerate().map(flow).collect()
}

/// What an instruction does to its warp, apart from its registers.
pub fn access_of(op: &MachineOp, may_diverge: &[bool]) -> Access {
    Access {
        may_diverge: matches!(op.operation, Operation::Branch | Operation::Exit)
            && may_diverge[op.ptx.index()],
        long_latency: op.operation.has_long_latency(),
        barrier: op.operation == Operation::Barrier,
        ..Access::default()
    }
}

/// The code over its virtual registers. A temporary is written and read under the same guard within one PTX
/// instruction, so a guarded definition of it ends its life all the same.
pub fn virtual_function(
    ops: &[MachineOp],
    cfg: Cfg,
    registers: u32,
    first_temporary: u32,
    may_diverge: &[bool],
) -> Function {
    let instructions = ops
        .iter()
        .map(|op| Access {
            uses: op.sources.iter().map(|(register, _)| register.0).collect(),
            definitions: op
                .results
                .iter()
                .map(|(register, _)| Definition {
                    register: register.0,
                    guarded: op.guarded && register.0 < first_temporary,
                })
                .collect(),
            ..access_of(op, may_diverge)
        })
        .collect();
    Function { cfg, instructions, registers: registers as usize }
}

/// The same with registers renamed: to allocated registers, or to classes of coalesced virtual registers.
pub fn renamed(function: &Function, registers: usize, rename: impl Fn(u32) -> u32) -> Function {
    let instructions = function
        .instructions
        .iter()
        .map(|access| Access {
            uses: access.uses.iter().map(|&register| rename(register)).collect(),
            definitions: access
                .definitions
                .iter()
                .map(|definition| Definition { register: rename(definition.register), ..*definition })
                .collect(),
            ..*access
        })
        .collect();
    Function { cfg: function.cfg.clone(), instructions, registers }
}
