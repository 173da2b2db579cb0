//! What must stay in order within a stretch of instructions.

use std::collections::BTreeMap;

use super::latency::Latency;
use crate::compile::effect::Effect;
use crate::ptx::ir::{Instruction, Kernel, Reg};

/// Which instructions of a stretch must come after which, by their positions in it.
pub(super) struct Dependences {
    /// For each instruction those that need it before them, and how many cycles before.
    pub successors: Vec<Vec<(usize, u32)>>,
    /// For each instruction how many it needs before it.
    pub predecessors: Vec<usize>,
    /// For each instruction how long its results take.
    pub latencies: Vec<Latency>,
}

/// An instruction that reads a register, or writes it.
#[derive(Default)]
struct Register {
    writer: Option<usize>,
    readers: Vec<usize>,
}

impl Dependences {
    /// Those of `instructions`, whose results take `latencies`.
    pub fn new(kernel: &Kernel, instructions: &[Instruction], latencies: &[Latency]) -> Dependences {
        let mut dependences = Dependences {
            successors: vec![Vec::new(); instructions.len()],
            predecessors: vec![0; instructions.len()],
            latencies: latencies.to_vec(),
        };
        let mut registers: BTreeMap<Reg, Register> = BTreeMap::new();
        let mut effects: Vec<(usize, Effect)> = Vec::new();
        for (position, instruction) in instructions.iter().enumerate() {
            for register in instruction.uses() {
                let register = registers.entry(register).or_default();
                if let Some(writer) = register.writer {
                    dependences.add(writer, position, latencies[writer].cycles);
                }
                register.readers.push(position);
            }
            let base = instruction.address.and_then(|address| address.register());
            let version = base.and_then(|base| registers.get(&base)?.writer);
            for register in instruction.definitions() {
                let register = registers.entry(register).or_default();
                let before =
                    std::mem::replace(register, Register { writer: Some(position), readers: vec![] });
                before.readers.into_iter().for_each(|reader| dependences.add(reader, position, 0));
                if let Some(writer) = before.writer {
                    dependences.add(writer, position, latencies[writer].cycles);
                }
            }
            let effect = Effect::of(kernel, instruction, version);
            if effect != Effect::None {
                for (other, earlier) in &effects {
                    if earlier.is_before(&effect) {
                        dependences.add(*other, position, 1);
                    }
                }
                effects.push((position, effect));
            }
        }
        dependences
    }

    fn add(&mut self, from: usize, to: usize, cycles: u32) {
        if from != to {
            self.successors[from].push((to, cycles));
            self.predecessors[to] += 1;
        }
    }
}
