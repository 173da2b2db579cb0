//! A program as a graph: for one lane, and for the warp.
//!
//! A lane goes where branches send it. A warp also goes on with lanes that have waited: at the end of one side of a
//! divergent branch it turns to the other side. What is dead on every way of the warp is dead in all its lanes,
//! so lifetimes are found on the graph of the warp.

use super::cfg::{Cfg, CfgError};
use super::function::{Access, Definition, Function};
use crate::program::{ControlFlow, Flow, InstId, Instruction, Operation, Program};

/// Why a program has no graphs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Nothing says where control goes.
    #[error(
        "kernel `{kernel}`: where its control goes is not known; accepted: PTX, Accel-Sim traces, and containers \
         that hold control flow (record the trace again)"
    )]
    NoControlFlow {
        /// The kernel.
        kernel: String,
    },
    /// Control leaves the program.
    #[error("kernel `{kernel}`: {source}")]
    ControlFlow {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        source: CfgError,
    },
}

/// The two graphs of a program. Their blocks are the same.
pub struct Graphs {
    /// Where a lane may go.
    pub lanes: Function,
    /// Where the warp may go.
    pub warps: Function,
}

impl Graphs {
    /// Builds both from what a program says of its control flow.
    ///
    /// # Errors
    /// It says nothing, or control leaves the program.
    pub fn of(program: &Program) -> Result<Graphs, GraphError> {
        let control = control(program)?;
        Graphs::new(program, &control.flow, &control.switches)
    }

    /// The same for passes that tell lanes apart: of a trace both are what its lanes were seen to do, where guards show.
    ///
    /// # Errors
    /// As [`Graphs::of`].
    pub fn telling_lanes_apart(program: &Program) -> Result<Graphs, GraphError> {
        match &control(program)?.seen {
            Some(seen) => Graphs::new(program, &seen.flow, &[]),
            None => Graphs::of(program),
        }
    }

    /// The blocks in which the outcome of a pass that tells lanes apart is shown: of a trace those of its lanes, else `cfg`.
    ///
    /// # Errors
    /// As [`Graphs::of`].
    pub fn blocks_of_lanes(program: &Program, cfg: &Cfg) -> Result<Cfg, GraphError> {
        match control(program)?.seen {
            Some(_) => Ok(Graphs::telling_lanes_apart(program)?.lanes.cfg),
            None => Ok(cfg.clone()),
        }
    }

    fn new(program: &Program, flow: &[Flow], switches: &[(InstId, InstId)]) -> Result<Graphs, GraphError> {
        let left = |source| GraphError::ControlFlow { kernel: program.name.clone(), source };
        let instructions: Vec<Access> = program.instructions.iter().map(access).collect();
        let registers = usize::from(program.registers_per_thread);
        let warps = Cfg::new(&with_switches(flow, switches)).map_err(left)?;
        let lanes = Cfg::new(&with_borders_of(&warps, flow)).map_err(left)?;
        Ok(Graphs {
            lanes: Function { cfg: lanes, instructions: instructions.clone(), registers },
            warps: Function { cfg: warps, instructions, registers },
        })
    }
}

fn control(program: &Program) -> Result<&ControlFlow, GraphError> {
    let unknown = || GraphError::NoControlFlow { kernel: program.name.clone() };
    program.control.as_ref().ok_or_else(unknown)
}

/// What an instruction does to registers. Guards are not told apart: soft definitions are found elsewhere.
fn access(instruction: &Instruction) -> Access {
    Access {
        uses: instruction.sources.iter().map(|source| u32::from(source.register.0)).collect(),
        definitions: (instruction.results.iter())
            .map(|result| Definition { register: u32::from(result.register.0), guarded: false })
            .collect(),
        may_diverge: false,
        long_latency: instruction.operation.has_long_latency(),
        barrier: instruction.operation == Operation::Barrier,
    }
}

/// The flow of lanes with the ways that only a warp takes.
fn with_switches(flow: &[Flow], switches: &[(InstId, InstId)]) -> Vec<Flow> {
    let count = flow.len();
    let mut flow = flow.to_vec();
    for (from, to) in switches {
        let from = from.0 as usize;
        if let Some(step) = flow.get_mut(from) {
            let (mut targets, exits) = explicit(step, from, count);
            targets.push(to.0 as usize);
            *step = Flow::To { targets, exits };
        }
    }
    flow
}

/// The same flow, with a block ending wherever one of `cfg` does.
fn with_borders_of(cfg: &Cfg, flow: &[Flow]) -> Vec<Flow> {
    let mut flow = flow.to_vec();
    for block in cfg.block_ids() {
        let last = cfg.last_instruction(block);
        let (targets, exits) = explicit(&flow[last], last, flow.len());
        flow[last] = Flow::To { targets, exits };
    }
    flow
}

/// Targets of an instruction, the fall-through among them, and whether lanes may end at it.
fn explicit(flow: &Flow, position: usize, count: usize) -> (Vec<usize>, bool) {
    match flow {
        Flow::Next if position + 1 < count => (vec![position + 1], false),
        Flow::Next => (Vec::new(), true),
        Flow::To { targets, exits } => (targets.clone(), *exits),
    }
}
