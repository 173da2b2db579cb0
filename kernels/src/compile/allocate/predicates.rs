//! Predicates: one bit each, outside the register file, so their number costs nothing here. They are coloured
//! in order of appearance.

use std::collections::BTreeSet;

use crate::compile::cfg::Cfg;
use crate::compile::function::{Access, Definition, Function};
use crate::compile::liveness::{Liveness, maybe_written_and_live};
use crate::compile::lower::MachineCode;
use crate::program::Predicate;

/// The predicate of each virtual predicate, and how many there are.
pub fn allocate_predicates(code: &MachineCode, cfg: &Cfg) -> (Vec<Predicate>, u16) {
    let function = predicate_function(code, cfg);
    let threads = Liveness::per_thread(&function);
    let written = maybe_written_and_live(&function, &threads);
    let mut conflicts: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); function.registers];
    for block in cfg.block_ids() {
        threads.each_held_backward(&function, block, &written[block.index()], |_, access, held| {
            let written = || access.definitions.iter().map(|definition| definition.register);
            for register in written() {
                for other in held.iter().copied().chain(written()).filter(|&other| other != register) {
                    conflicts[register as usize].insert(other);
                    conflicts[other as usize].insert(register);
                }
            }
        });
    }
    let mut colour: Vec<Option<u16>> = vec![None; function.registers];
    let mut count = 0;
    for op in &code.ops {
        for predicate in op.predicate_results.iter().chain(&op.predicate_sources) {
            let index = predicate.0 as usize;
            if colour[index].is_some() {
                continue;
            }
            let taken: Vec<u16> =
                conflicts[index].iter().filter_map(|&other| colour[other as usize]).collect();
            let free = (0..).find(|number| !taken.contains(number)).unwrap_or(0);
            colour[index] = Some(free);
            count = count.max(free + 1);
        }
    }
    (colour.into_iter().map(|number| Predicate(number.unwrap_or(0))).collect(), count)
}

fn predicate_function(code: &MachineCode, cfg: &Cfg) -> Function {
    let access = |op: &super::super::lower::emit::MachineOp| Access {
        uses: op.predicate_sources.iter().map(|predicate| predicate.0).collect(),
        definitions: op
            .predicate_results
            .iter()
            .map(|predicate| Definition { register: predicate.0, guarded: op.guarded })
            .collect(),
        ..Access::default()
    };
    Function {
        cfg: cfg.clone(),
        instructions: code.ops.iter().map(access).collect(),
        registers: code.predicates as usize,
    }
}
