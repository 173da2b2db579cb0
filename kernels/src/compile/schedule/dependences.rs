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

/// Who wrote what a register holds, and who has read it.
#[derive(Default)]
struct Register {
    writer: Option<usize>,
    readers: Vec<usize>,
}

/// The registers that an instruction reads, and those that it writes.
pub(super) type Accesses<R> = (Vec<R>, Vec<R>);

impl Dependences {
    /// Those of `instructions`, whose results take `latencies`.
    pub fn new(kernel: &Kernel, instructions: &[Instruction], latencies: &[Latency]) -> Dependences {
        let mut dependences = Dependences {
            successors: vec![Vec::new(); instructions.len()],
            predecessors: vec![0; instructions.len()],
            latencies: latencies.to_vec(),
        };
        dependences.keep_values(instructions.iter().map(|instruction| {
            (instruction.uses().collect::<Vec<Reg>>(), instruction.definitions().collect())
        }));
        dependences.keep_effects(kernel, instructions);
        dependences
    }

    /// Adds that each instruction finds in the registers it reads what it finds there now.
    pub fn keep_values<R: Ord>(&mut self, accesses: impl Iterator<Item = Accesses<R>>) {
        let mut registers: BTreeMap<R, Register> = BTreeMap::new();
        for (position, (uses, definitions)) in accesses.enumerate() {
            for register in uses {
                let register = registers.entry(register).or_default();
                if let Some(writer) = register.writer {
                    self.add(writer, position, self.latencies[writer].cycles);
                }
                register.readers.push(position);
            }
            for register in definitions {
                let register = registers.entry(register).or_default();
                let before =
                    std::mem::replace(register, Register { writer: Some(position), readers: vec![] });
                before.readers.into_iter().for_each(|reader| self.add(reader, position, 0));
                if let Some(writer) = before.writer {
                    self.add(writer, position, self.latencies[writer].cycles);
                }
            }
        }
    }

    /// Adds that accesses to memory that may meet stay in order.
    fn keep_effects(&mut self, kernel: &Kernel, instructions: &[Instruction]) {
        let mut writers: BTreeMap<Reg, usize> = BTreeMap::new();
        let mut effects: Vec<(usize, Effect)> = Vec::new();
        for (position, instruction) in instructions.iter().enumerate() {
            let base = instruction.address.and_then(|address| address.register());
            let version = base.and_then(|base| writers.get(&base).copied());
            let effect = Effect::of(kernel, instruction, version);
            if effect != Effect::None {
                for (other, earlier) in &effects {
                    if earlier.is_before(&effect) {
                        self.add(*other, position, 1);
                    }
                }
                effects.push((position, effect));
            }
            writers.extend(instruction.definitions().map(|register| (register, position)));
        }
    }

    fn add(&mut self, from: usize, to: usize, cycles: u32) {
        if from != to {
            self.successors[from].push((to, cycles));
            self.predecessors[to] += 1;
        }
    }
}
