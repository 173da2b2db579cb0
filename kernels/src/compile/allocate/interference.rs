//! Which virtual registers hold different values that are needed at the same time.

use std::collections::BTreeSet;

use super::TooManyRegisters;
use crate::compile::function::Function;
use crate::compile::liveness::{Liveness, maybe_written_and_live};
use crate::compile::lower::MachineCode;
use crate::program::PhysReg;

/// An undirected graph over virtual registers.
#[derive(Clone, Debug)]
pub struct Interference {
    /// For each register its neighbours in increasing order.
    neighbours: Vec<Vec<u32>>,
    max_live: usize,
}

impl Interference {
    /// A register interferes with what is live where it is written, except with the source of a copy.
    ///
    /// Live means: read later on some path, and written earlier on some path. (A guarded definition does not
    /// end a life, so without the second condition everything guarded would be live from the start.)
    ///
    /// # Errors
    /// More registers are live at once than `limit`; the graph, which may be as large as the square of that, is
    /// not built then.
    pub fn new(
        code: &MachineCode,
        function: &Function,
        limit: usize,
    ) -> Result<Interference, TooManyRegisters> {
        let mut graph = Interference { neighbours: vec![Vec::new(); function.registers], max_live: 0 };
        each_point(function, |_, live| graph.max_live = graph.max_live.max(live.len()));
        if graph.max_live > limit {
            return Err(TooManyRegisters { needed: graph.max_live, limit });
        }
        each_point(function, |position, live| graph.add_definitions(code, function, position, live));
        for neighbours in &mut graph.neighbours {
            neighbours.sort_unstable();
            neighbours.dedup();
        }
        Ok(graph)
    }

    /// What an instruction writes interferes with all else that is live then, except with what it copies.
    fn add_definitions(
        &mut self,
        code: &MachineCode,
        function: &Function,
        position: usize,
        live: &BTreeSet<u32>,
    ) {
        let copied = code.ops[position].copy.then(|| code.ops[position].sources[0].0.0);
        for definition in &function.instructions[position].definitions {
            for &other in live {
                if other != definition.register && Some(other) != copied {
                    self.neighbours[other as usize].push(definition.register);
                    self.neighbours[definition.register as usize].push(other);
                }
            }
        }
    }

    /// Registers that interfere with one.
    pub fn neighbours(&self, register: u32) -> &[u32] {
        &self.neighbours[register as usize]
    }

    /// Largest number of virtual registers live at once, copies included.
    pub fn max_live(&self) -> usize {
        self.max_live
    }
}

/// Largest number of registers of an allocation that hold live values at once.
pub fn most_held(function: &Function, registers: &[Option<PhysReg>]) -> usize {
    let mut most = 0;
    each_point(function, |_, live| {
        let held: BTreeSet<PhysReg> =
            live.iter().filter_map(|&register| registers[register as usize]).collect();
        most = most.max(held.len());
    });
    most
}

/// Visits each instruction, in each block from the last to the first, with what is live when it writes its results, those
/// included.
pub fn each_point(function: &Function, mut visit: impl FnMut(usize, &BTreeSet<u32>)) {
    let threads = Liveness::per_thread(function);
    let written = maybe_written_and_live(function, &threads);
    for block in function.cfg.block_ids() {
        threads.each_held_backward(function, block, &written[block.index()], |position, access, held| {
            let mut live = held.clone();
            live.extend(access.definitions.iter().map(|definition| definition.register));
            visit(position, &live);
        });
    }
}
