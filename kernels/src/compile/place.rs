//! Puts allocated registers into the instructions and drops copies that became nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::allocate::Allocation;
use super::allocate::predicates::allocate_predicates;
use super::annotate::annotate;
use super::cfg::{Block, Cfg, CfgError, Flow};
use super::check::{AllocationError, Placed, check};
use super::function::Function;
use super::lower::MachineCode;
use super::lower::computation::Computed;
use super::lower::emit::{MachineOp, VPred};
use super::lowering::{Lowered, Lowering};
use super::machine::{machine_cfg, machine_flow, renamed, virtual_function};
use super::operands;
use super::optimise::resolve::VReg;
use super::optimise::webs::UnionFind;
use super::suspension::next_sides;
use super::{Compiled, Statistics};
use crate::program::{
    Computation, ControlFlow, InstId, Instruction, PhysReg, Predicate, Program, ResultRegister, Source,
    Spills,
};
use crate::ptx::ir::{InstIndex, Kernel};

/// Machine instructions with registers, before annotation.
pub struct Placement {
    /// For each instruction of the code; `None` for a copy whose two sides share a register.
    instructions: Vec<Option<Instruction>>,
    predicates: Vec<Predicate>,
    predicate_count: u16,
}

impl Placement {
    /// Places every instruction.
    pub fn new(kernel: &Kernel, code: &MachineCode, cfg: &Cfg, allocation: &Allocation) -> Placement {
        let (predicates, predicate_count) = allocate_predicates(code, cfg);
        let instructions = code.ops.iter().map(|op| place(kernel, op, allocation, &predicates)).collect();
        Placement { instructions, predicates, predicate_count }
    }

    /// Checks what the instructions say against what they should read and write.
    ///
    /// # Errors
    /// The first read of a wrong value.
    pub fn check(
        &self,
        code: &MachineCode,
        cfg: &Cfg,
        allocation: &Allocation,
    ) -> Result<(), AllocationError> {
        let registers: Vec<Placed> = code
            .ops
            .iter()
            .zip(&self.instructions)
            .map(|(op, placed)| checked_registers(code, op, placed.as_ref(), allocation))
            .collect();
        let highest = registers
            .iter()
            .flat_map(|placed| {
                let reads = placed.reads.iter().map(|&(_, register)| register);
                reads.chain(placed.writes.iter().map(|&(_, register, _)| register))
            })
            .max();
        check(&registers, cfg, highest.map_or(0, |highest| highest as usize + 1))?;
        let predicates: Vec<Placed> = code.ops.iter().map(|op| self.checked_predicates(op)).collect();
        check(&predicates, cfg, usize::from(self.predicate_count))
    }

    fn checked_predicates(&self, op: &MachineOp) -> Placed {
        let number = |predicate: &VPred| u32::from(self.predicates[predicate.0 as usize].0);
        Placed {
            reads: op.predicate_sources.iter().map(|predicate| (predicate.0, number(predicate))).collect(),
            writes: op
                .predicate_results
                .iter()
                .map(|predicate| (predicate.0, number(predicate), op.guarded))
                .collect(),
            removed_copy: None,
        }
    }

    /// Numbers and annotates the instructions.
    ///
    /// # Errors
    /// Control flow that leaves the kernel.
    pub fn finish(
        self,
        kernel: &Kernel,
        code: MachineCode,
        allocation: &Allocation,
        may_diverge: Vec<bool>,
        reconvergence: Vec<Option<InstIndex>>,
    ) -> Result<Compiled, CfgError> {
        let mut classes = UnionFind::new(code.registers as usize);
        let mut kept: Vec<MachineOp> = Vec::with_capacity(code.ops.len());
        let mut instructions = Vec::with_capacity(code.ops.len());
        let mut copies_coalesced = 0;
        let mut computations = Computations::default();
        for (mut op, instruction) in code.ops.into_iter().zip(self.instructions) {
            match instruction {
                Some(instruction) => {
                    computations.push(&op, &operands(&op, allocation));
                    let mut operands = operands(&op, allocation).into_iter();
                    let mut listed = 0;
                    op.sources.retain(|_| {
                        let is_new = operands.next() == Some(listed);
                        listed += usize::from(is_new);
                        is_new
                    });
                    instructions.push(Instruction { pc: 8 * kept.len() as u32, ..instruction });
                    kept.push(op);
                }
                None => {
                    classes.unite(op.sources[0].0.index(), op.results[0].0.index());
                    copies_coalesced += 1;
                }
            }
        }
        let cfg = machine_cfg(kernel, &kept)?;
        let function =
            virtual_function(&kept, cfg.clone(), code.registers, code.first_temporary, &may_diverge);
        let class: Vec<u32> =
            (0..code.registers as usize).map(|register| classes.find(register) as u32).collect();
        let values = renamed(&function, function.registers, |register| class[register as usize]);
        // A definition under a guard is soft whatever it defines.
        let mut registers = renamed(&function, usize::from(allocation.count), |register| {
            allocation.registers[register as usize].map_or(0, |register| u32::from(register.0))
        });
        for (access, op) in registers.instructions.iter_mut().zip(&kept) {
            for definition in &mut access.definitions {
                definition.guarded = op.guarded;
            }
        }
        let mut program = Program {
            name: kernel.name.clone(),
            instructions,
            registers_per_thread: allocation.count,
            shared_bytes: kernel.shared_bytes,
            control: Some(control_flow(machine_flow(kernel, &kept), &registers)),
            spills: Spills::default(),
            computations: computations.finish(),
        };
        annotate(&mut program, &values, &registers);
        let lowering = lowering(kernel, &kept);
        let statistics = Statistics {
            ptx_instructions: kernel.instructions.len(),
            ptx_eliminated: lowering.ranges.iter().filter(|range| range.is_empty()).count(),
            machine_instructions: kept.len(),
            copies_coalesced,
            registers: allocation.count,
            max_live: allocation.max_live,
            predicates: self.predicate_count,
        };
        Ok(Compiled {
            kernel: kernel.clone(),
            program,
            lowering,
            reconvergence,
            may_diverge,
            cfg,
            statistics,
        })
    }
}

/// What instructions compute, with their forms numbered in the order in which they come, those of instructions of several
/// results behind the others.
#[derive(Default)]
struct Computations {
    forms: BTreeMap<String, u32>,
    /// Of instructions of several results.
    forms_of_several: BTreeMap<String, u32>,
    of_instructions: Vec<Computation>,
    /// Whether each has several results.
    have_several: Vec<bool>,
}

impl Computations {
    /// Adds an instruction whose sources are these operands: which of them share a register is a part of the form.
    fn push(&mut self, op: &MachineOp, operands: &[usize]) {
        let has_several = op.results.len() > 1;
        let computation = match &op.computed {
            Computed::Function { form, immediates } => {
                let form = self.form(form, operands, has_several);
                Computation::Function { form, immediates: immediates.clone() }
            }
            Computed::Load { form, immediates } => {
                let form = self.form(form, operands, has_several);
                Computation::Load { form, immediates: immediates.clone() }
            }
            Computed::Ordering => Computation::Ordering,
            Computed::Invented => Computation::Invented,
            Computed::Wide => Computation::Wide,
            Computed::Other => Computation::Other,
        };
        self.of_instructions.push(computation);
        self.have_several.push(has_several);
    }

    /// The number of a form among those of one result, or of several.
    fn form(&mut self, form: &str, operands: &[usize], has_several: bool) -> u32 {
        let forms = if has_several { &mut self.forms_of_several } else { &mut self.forms };
        let next = forms.len() as u32;
        *forms.entry(format!("{form} {operands:?}")).or_insert(next)
    }

    /// What each instruction computes.
    fn finish(mut self) -> Vec<Computation> {
        let first = self.forms.len() as u32;
        let several = self.of_instructions.iter_mut().zip(self.have_several).filter(|(_, several)| *several);
        for (computation, _) in several {
            match computation {
                Computation::Function { form, .. } | Computation::Load { form, .. } => *form += first,
                Computation::Ordering | Computation::Invented | Computation::Wide | Computation::Other => {}
            }
        }
        self.of_instructions
    }
}

/// Where lanes and the warp may go; `function` describes the same instructions.
fn control_flow(flow: Vec<Flow>, function: &Function) -> ControlFlow {
    let cfg = &function.cfg;
    let mut switches = BTreeSet::new();
    for (block, sides) in cfg.block_ids().zip(next_sides(function)) {
        let from = InstId(cfg.last_instruction(block) as u32);
        let start = |side: Block| InstId(cfg.block(side).instructions.start as u32);
        switches.extend(sides.into_iter().map(|side| (from, start(side))));
    }
    let may_diverge = function.instructions.iter().map(|access| access.may_diverge).collect();
    ControlFlow { flow, may_diverge, switches: switches.into_iter().collect(), seen: None }
}

fn place(
    kernel: &Kernel,
    op: &MachineOp,
    allocation: &Allocation,
    predicates: &[Predicate],
) -> Option<Instruction> {
    // Every register that an instruction mentions has been given a place.
    let register = |register: VReg| allocation.registers[register.index()].unwrap_or(PhysReg(0));
    if op.copy && register(op.sources[0].0) == register(op.results[0].0) {
        return None;
    }
    let mut sources: Vec<Source> = Vec::with_capacity(op.sources.len());
    for &(source, _) in &op.sources {
        let register = register(source);
        if !sources.iter().any(|listed| listed.register == register) {
            sources.push(Source { register, last_read: false, idle_until_suspension: false });
        }
    }
    let results = op.results.iter().map(|&(result, _)| ResultRegister {
        register: register(result),
        soft: false,
        idle_until_suspension: false,
    });
    let ptx = &kernel.instructions[op.ptx.index()];
    let number = |predicate: &VPred| predicates[predicate.0 as usize];
    let guard = match op.guard_negated {
        Some(negated) => {
            format!("@{}P{} ", if negated { "!" } else { "" }, number(&op.predicate_sources[0]).0)
        }
        None => String::new(),
    };
    Some(Instruction {
        pc: 0,
        line: ptx.line,
        text: format!("{guard}{}{}", op.name, if op.operand.is_some() { " [shared]" } else { "" }),
        operation: op.operation,
        sources,
        results: results.collect(),
        predicate_sources: op.predicate_sources.iter().map(number).collect(),
        predicate_results: op.predicate_results.iter().map(number).collect(),
        suspends: false,
        operand: op.operand.map(|_load| operands::ACCESS),
    })
}

/// For each virtual register read, which operand it is: two that share a register are one operand.
fn operands(op: &MachineOp, allocation: &Allocation) -> Vec<usize> {
    let mut listed = Vec::new();
    op.sources
        .iter()
        .map(|&(source, _)| {
            let register = allocation.registers[source.index()];
            listed.iter().position(|&other| other == register).unwrap_or_else(|| {
                listed.push(register);
                listed.len() - 1
            })
        })
        .collect()
}

fn checked_registers(
    code: &MachineCode,
    op: &MachineOp,
    placed: Option<&Instruction>,
    allocation: &Allocation,
) -> Placed {
    let guarded = |register: VReg| op.guarded && register.0 < code.first_temporary;
    let Some(instruction) = placed else {
        let (from, to) = (op.sources[0].0, op.results[0].0);
        return Placed { removed_copy: Some((from.0, to.0, guarded(to))), ..Placed::default() };
    };
    let reads = op
        .sources
        .iter()
        .zip(operands(op, allocation))
        .map(|(&(value, _), operand)| (value.0, u32::from(instruction.sources[operand].register.0)));
    let results = op.results.iter().zip(&instruction.results);
    Placed {
        reads: reads.collect(),
        writes: results
            .map(|(&(value, _), result)| (value.0, u32::from(result.register.0), guarded(value)))
            .collect(),
        removed_copy: None,
    }
}

fn lowering(kernel: &Kernel, ops: &[MachineOp]) -> Lowering {
    let mut ranges = Vec::with_capacity(kernel.instructions.len());
    let mut next = 0;
    for position in 0..kernel.instructions.len() {
        let start = next;
        while ops.get(next).is_some_and(|op| op.ptx.index() == position) {
            next += 1;
        }
        ranges.push(start as u32..next as u32);
    }
    let instructions = ops
        .iter()
        .map(|op| Lowered {
            ptx: op.ptx,
            sources: op.sources.iter().map(|&(_, value)| value).collect(),
            results: op.results.iter().map(|&(_, value)| value).collect(),
            guarded: op.guarded,
            operand: op.operand,
        })
        .collect();
    Lowering { ranges, instructions }
}
