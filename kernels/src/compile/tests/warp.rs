//! Runs a small subset of PTX on a few lanes and, beside it, the machine instructions on allocated registers:
//! an oracle for values, last reads, soft definitions, suspension marks, idle values and releases of shared scratchpad.

use std::collections::BTreeMap;

use crate::compile::Compiled;
use crate::compile::lowering::Value;
use crate::compile::sharing::ScratchpadOptions;
use crate::program::{Instruction, Operation, Space};
use crate::ptx::ir::{
    Base, Combine, Compare, Instruction as Ptx, Kernel, Op, Operand, Place, Product, Reg, Special, Type,
    TypeKind,
};

pub const LANES: usize = 4;
/// PTX instructions after which a run stops: random loops need not end.
const STEPS: usize = 600;

/// A lane's copy of a register.
#[derive(Clone, Copy, Default)]
struct Slot {
    value: u32,
    /// Holds a value that some instruction wrote and that has not been given up since.
    kept: bool,
    /// The compiler said that it is not read before a suspension, and there was none since.
    idle: bool,
}

struct Lane {
    virtuals: Vec<u64>,
    defined: Vec<bool>,
    registers: Vec<Slot>,
}

struct Entry {
    pc: usize,
    lanes: u32,
    meet: Option<usize>,
}

/// A warp that executes PTX and machine code side by side.
pub struct Warp<'a> {
    kernel: &'a Kernel,
    compiled: &'a Compiled,
    lanes: Vec<Lane>,
    stack: Vec<Entry>,
    pending: Vec<bool>,
    /// How often scratchpad may have been written: a word that is loaded depends on it.
    writes: u64,
    /// What each load found last, if its address was defined, by PTX instruction and lane.
    loaded: BTreeMap<(usize, usize), Option<u64>>,
    /// Bytes of scratchpad that a block has for itself, if it shares the others.
    private: Option<u64>,
    /// Lanes that have released what they share.
    released: u32,
    /// Machine operands compared.
    pub compared: usize,
}

impl<'a> Warp<'a> {
    pub fn new(compiled: &'a Compiled) -> Warp<'a> {
        let kernel = &compiled.kernel;
        let registers = usize::from(compiled.program.registers_per_thread);
        let lane = || Lane {
            virtuals: vec![0; kernel.registers.len()],
            defined: vec![false; kernel.registers.len()],
            registers: vec![Slot::default(); registers],
        };
        Warp {
            kernel,
            compiled,
            lanes: (0..LANES).map(|_| lane()).collect(),
            stack: vec![Entry { pc: 0, lanes: (1 << LANES) - 1, meet: None }],
            pending: vec![false; registers],
            writes: 0,
            loaded: BTreeMap::new(),
            private: None,
            released: 0,
            compared: 0,
        }
    }

    /// The same for a block that shares scratchpad.
    pub fn with_shared_scratchpad(mut self, options: Option<ScratchpadOptions>) -> Warp<'a> {
        let bytes = u64::from(self.kernel.shared_bytes);
        self.private = options.map(|options| options.threshold.private(bytes));
        self
    }

    /// Runs until the end or for a number of steps; an error says which promise was broken.
    pub fn run(&mut self) -> Result<(), String> {
        for _ in 0..STEPS {
            while self.stack.last().is_some_and(|top| top.lanes == 0 || Some(top.pc) == top.meet) {
                self.stack.pop();
            }
            let Some(top) = self.stack.last() else { return Ok(()) };
            let (pc, lanes) = (top.pc, top.lanes);
            self.step(pc, lanes)?;
        }
        Ok(())
    }

    fn step(&mut self, pc: usize, path: u32) -> Result<(), String> {
        let kernel = self.kernel;
        let ptx = &kernel.instructions[pc];
        let active = (0..LANES)
            .filter(|&lane| path >> lane & 1 == 1 && self.guard(ptx, lane))
            .fold(0, |mask, lane| mask | 1 << lane);
        self.check_release(ptx, active)?;
        let before: Vec<Vec<u64>> = self.lanes.iter().map(|lane| lane.virtuals.clone()).collect();
        let defined: Vec<Vec<bool>> = self.lanes.iter().map(|lane| lane.defined.clone()).collect();
        for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
            self.execute(ptx, lane);
            if matches!(ptx.op, Op::Ld { .. }) {
                let address = ptx.address.and_then(|address| address.register());
                let known = address.is_none_or(|register| defined[lane][register.index()]);
                self.loaded.insert((pc, lane), known.then(|| self.load(ptx, lane, &before[lane])[0]));
            }
        }
        for position in self.compiled.lowering.ranges[pc].clone() {
            let position = position as usize;
            let lowered = &self.compiled.lowering.instructions[position];
            let executing = if lowered.guarded { active } else { path };
            self.machine(position, executing, &before, &defined).map_err(|what| {
                let text = &self.compiled.program.instructions[position].text;
                format!("machine instruction {position} ({text}) of `{}`: {what}", ptx.text)
            })?;
        }
        self.writes += u64::from(matches!(ptx.op, Op::St { space: Space::Shared, .. } | Op::Barrier));
        self.advance(ptx, pc, path, active);
        Ok(())
    }

    fn advance(&mut self, ptx: &Ptx, pc: usize, path: u32, active: u32) {
        match ptx.op {
            Op::Exit => {
                for entry in &mut self.stack {
                    entry.lanes &= !active;
                }
                if let Some(top) = self.stack.last_mut() {
                    top.pc = pc + 1;
                }
            }
            Op::Bra { target, .. } => {
                let meet = self.compiled.reconvergence[pc].map(|meet| meet.index());
                let Some(mut top) = self.stack.pop() else { return };
                if active == path || active == 0 {
                    top.pc = if active == path { target.index() } else { pc + 1 };
                    self.stack.push(top);
                    return;
                }
                let parts = target.index() != pc + 1;
                assert!(!parts || self.compiled.may_diverge[pc], "`{}` diverges", ptx.text);
                let inner = if meet.is_some() { meet } else { top.meet };
                if let Some(meet) = meet {
                    top.pc = meet;
                    self.stack.push(top);
                }
                self.stack.push(Entry { pc: pc + 1, lanes: path & !active, meet: inner });
                self.stack.push(Entry { pc: target.index(), lanes: active, meet: inner });
            }
            _ => {
                if let Some(top) = self.stack.last_mut() {
                    top.pc = pc + 1;
                }
            }
        }
    }

    fn machine(
        &mut self,
        position: usize,
        executing: u32,
        before: &[Vec<u64>],
        defined: &[Vec<bool>],
    ) -> Result<(), String> {
        let compiled = self.compiled;
        let instruction = &compiled.program.instructions[position];
        let lowered = &compiled.lowering.instructions[position];
        self.check_pending(instruction)?;
        if let Some(load) = lowered.operand {
            let late = self.released & executing;
            if late != 0 && self.may_be_shared(&self.kernel.instructions[load.index()]) {
                return Err(format!("the operand of lanes {late:#b} is behind their release"));
            }
            for lane in (0..LANES).filter(|lane| executing >> lane & 1 == 1) {
                self.check_operand(load.index(), lane, &before[lane])?;
            }
        }
        for (source, &value) in instruction.sources.iter().zip(&lowered.sources) {
            let register = source.register.0 as usize;
            for lane in (0..LANES).filter(|lane| executing >> lane & 1 == 1) {
                let known = match value {
                    Value::Before(reg, _) => defined[lane][reg.index()],
                    Value::After(reg, _) => self.lanes[lane].defined[reg.index()],
                    Value::Temporary(_) => true,
                };
                let wanted = self.value(lowered.ptx.index(), lane, value, before);
                let slot = &mut self.lanes[lane].registers[register];
                if known {
                    if !slot.kept {
                        return Err(format!("R{register} of lane {lane} is read but was given up"));
                    }
                    if slot.value != wanted {
                        return Err(format!(
                            "R{register} of lane {lane} holds {:#x}, not {wanted:#x}",
                            slot.value
                        ));
                    }
                    if slot.idle {
                        return Err(format!("R{register} of lane {lane} is read though it was idle"));
                    }
                    self.compared += 1;
                }
            }
            for lane in (0..LANES).filter(|lane| executing >> lane & 1 == 1) {
                let slot = &mut self.lanes[lane].registers[register];
                slot.kept &= !source.last_read;
                slot.idle |= source.idle_until_suspension;
            }
        }
        for (result, &value) in instruction.results.iter().zip(&lowered.results) {
            let register = result.register.0 as usize;
            for lane in 0..LANES {
                if executing >> lane & 1 == 1 {
                    let value = self.value(lowered.ptx.index(), lane, value, before);
                    let idle = result.idle_until_suspension;
                    self.lanes[lane].registers[register] = Slot { value, kept: true, idle };
                } else if !result.soft {
                    self.lanes[lane].registers[register].kept = false;
                }
            }
            self.pending[register] = instruction.operation.has_long_latency();
        }
        Ok(())
    }

    /// Whether an access to scratchpad may be one to what the block shares.
    fn may_be_shared(&self, ptx: &Ptx) -> bool {
        let Some(private) = self.private else { return false };
        ptx.address.is_some_and(|address| match address.base {
            // Whatever may lie there.
            Base::Reg(_) | Base::Zero => true,
            Base::Symbol(symbol) => {
                let symbol = &self.kernel.symbols[symbol.index()];
                !matches!(symbol.place, Place::Offset(offset) if u64::from(offset) + symbol.bytes <= private)
            }
        })
    }

    /// Every lane releases what it shares once, before it ends, and accesses none of it afterwards (thesis §3.2.3).
    fn check_release(&mut self, ptx: &Ptx, active: u32) -> Result<(), String> {
        if self.private.is_none() {
            return Ok(());
        }
        let (again, not_yet) = (self.released & active, active & !self.released);
        match ptx.op {
            Op::ReleaseScratchpad if again != 0 => Err(format!("lanes {again:#b} release once more")),
            Op::ReleaseScratchpad => {
                self.released |= active;
                Ok(())
            }
            Op::Exit if not_yet != 0 => Err(format!("lanes {not_yet:#b} end without a release")),
            Op::Ld { space: Space::Shared, .. } | Op::St { space: Space::Shared, .. }
                if again != 0 && self.may_be_shared(ptx) =>
            {
                Err(format!("`{}` of lanes {again:#b} is behind their release", ptx.text))
            }
            _ => Ok(()),
        }
    }

    /// A word of scratchpad that is read as an operand is the one that was loaded.
    fn check_operand(&self, load: usize, lane: usize, before: &[u64]) -> Result<(), String> {
        let found = self.load(&self.kernel.instructions[load], lane, before)[0];
        match self.loaded.get(&(load, lane)) {
            Some(Some(loaded)) if found != *loaded => {
                Err(format!("the operand of lane {lane} is {found:#x}, and {loaded:#x} was loaded"))
            }
            Some(_) => Ok(()),
            None => Err(format!("the operand of lane {lane} was never loaded")),
        }
    }

    /// What a load finds: in scratchpad another word after each write.
    fn load(&self, ptx: &Ptx, lane: usize, virtuals: &[u64]) -> Vec<u64> {
        let address = ptx.address.map_or(0, |address| match address.base {
            Base::Reg(reg) => operand_value(Operand::Reg(reg), virtuals, lane),
            Base::Symbol(_) | Base::Zero => 0,
        });
        let writes =
            if matches!(ptx.op, Op::Ld { space: Space::Shared, .. }) { self.writes << 40 } else { 0 };
        let word = |n: u64| (address ^ writes ^ (n << 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8;
        (0..ptx.dsts.len() as u64).map(word).collect()
    }

    /// Waiting for a long-latency result must be marked; a mark ends every idle time.
    fn check_pending(&mut self, instruction: &Instruction) -> Result<(), String> {
        let results = instruction.results.iter().map(|result| result.register);
        let touched = instruction.sources.iter().map(|source| source.register).chain(results);
        for register in touched {
            let pending = std::mem::replace(&mut self.pending[register.0 as usize], false);
            if pending && !instruction.suspends {
                return Err(format!("R{} is under way, but the warp is not suspended", register.0));
            }
        }
        if instruction.suspends || instruction.operation == Operation::Barrier {
            for slot in self.lanes.iter_mut().flat_map(|lane| &mut lane.registers) {
                slot.idle = false;
            }
        }
        Ok(())
    }

    fn value(&self, ptx: usize, lane: usize, value: Value, before: &[Vec<u64>]) -> u32 {
        let word = |bits: u64, word: u8| (bits >> (32 * u32::from(word))) as u32;
        match value {
            Value::Before(reg, at) => word(before[lane][reg.index()], at),
            Value::After(reg, at) => word(self.lanes[lane].virtuals[reg.index()], at),
            Value::Temporary(temporary) => {
                let ptx = &self.kernel.instructions[ptx];
                let source = |index: usize| {
                    ptx.srcs.get(index).map_or(0, |&operand| operand_value(operand, &before[lane], lane))
                };
                let result = ptx.dsts.first().copied().flatten();
                let result = result.map_or(0, |reg| self.lanes[lane].virtuals[reg.index()]);
                temporary.value(source(0), source(1), result)
            }
        }
    }

    fn guard(&self, ptx: &Ptx, lane: usize) -> bool {
        ptx.guard
            .is_none_or(|guard| (self.lanes[lane].virtuals[guard.register.index()] != 0) != guard.negated)
    }

    fn execute(&mut self, ptx: &Ptx, lane: usize) {
        let read = |operand: Operand| operand_value(operand, &self.lanes[lane].virtuals, lane);
        let sources: Vec<u64> = ptx.srcs.iter().map(|&operand| read(operand)).collect();
        let results = match ptx.op {
            Op::Ld { .. } => self.load(ptx, lane, &self.lanes[lane].virtuals),
            _ => evaluate(&ptx.op, &sources, ptx.dsts.len()),
        };
        // What is computed from an undefined register is undefined: a copy of it may have been removed.
        let registers = ptx.srcs.iter().filter_map(|operand| operand.register());
        let address = ptx.address.and_then(|address| address.register());
        let known = registers.chain(address).all(|reg| self.lanes[lane].defined[reg.index()]);
        for (destination, bits) in ptx.dsts.iter().zip(results) {
            let Some(Reg(index)) = *destination else { continue };
            let width = self.kernel.registers[index as usize].ty.bits();
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            self.lanes[lane].virtuals[index as usize] = bits & mask;
            self.lanes[lane].defined[index as usize] = known;
        }
    }
}

fn operand_value(operand: Operand, virtuals: &[u64], lane: usize) -> u64 {
    match operand {
        Operand::Reg(reg) => virtuals[reg.index()],
        Operand::Not(reg) => virtuals[reg.index()] ^ 1,
        Operand::Imm(bits) => bits,
        Operand::Special(Special::Tid(_)) => lane as u64,
        Operand::Special(_) => 7,
        Operand::Symbol(..) | Operand::GenericSymbol(..) => 0x1000,
    }
}

/// Results of the instructions that the random programs use.
fn evaluate(op: &Op, s: &[u64], results: usize) -> Vec<u64> {
    let signed = |ty: &Type| ty.kind() == TypeKind::Signed;
    let one = match op {
        Op::Mov { .. } => s[0],
        Op::Add { .. } => s[0].wrapping_add(s[1]),
        Op::Sub { .. } => s[0].wrapping_sub(s[1]),
        Op::MulInt { product: Product::Low, .. } => s[0].wrapping_mul(s[1]),
        Op::MulInt { product: Product::Wide, .. } => (s[0] & 0xffff_ffff) * (s[1] & 0xffff_ffff),
        Op::MadInt { product: Product::Wide, .. } => {
            ((s[0] & 0xffff_ffff) * (s[1] & 0xffff_ffff)).wrapping_add(s[2])
        }
        Op::MadInt { .. } => s[0].wrapping_mul(s[1]).wrapping_add(s[2]),
        Op::And { .. } => s[0] & s[1],
        Op::Or { .. } => s[0] | s[1],
        Op::Xor { .. } => s[0] ^ s[1],
        Op::Not { .. } => !s[0],
        Op::Neg { .. } => s[0].wrapping_neg(),
        Op::Shl { .. } => s[0].checked_shl(s[1] as u32).unwrap_or(0),
        Op::Shr { ty } if signed(ty) => ((s[0] as i64) >> s[1].min(63)) as u64,
        Op::Shr { .. } => s[0].checked_shr(s[1] as u32).unwrap_or(0),
        Op::Brev { .. } => s[0].reverse_bits(),
        Op::Min { .. } => (s[0] as i64).min(s[1] as i64) as u64,
        Op::RemInt { .. } => s[0].checked_rem(s[1]).unwrap_or(s[0]),
        Op::Selp { .. } => s[if s[2] != 0 { 0 } else { 1 }],
        Op::Setp { ty, compare, combine, .. } => {
            let holds = u64::from(compares(*ty, *compare, s[0], s[1]));
            match combine {
                None => holds,
                Some(Combine::And) => holds & s[2],
                Some(Combine::Or) => holds | s[2],
                Some(Combine::Xor) => holds ^ s[2],
            }
        }
        Op::Cvt { from: Type::S32, .. } => i64::from(s[0] as i32) as u64,
        Op::Cvt { from: Type::U16, .. } => s[0] & 0xffff,
        Op::Cvt { .. } => s[0],
        Op::Pack { .. } => s[0] | s[1] << 32,
        Op::Unpack { .. } => return vec![s[0] & 0xffff_ffff, s[0] >> 32],
        Op::St { .. } | Op::Barrier | Op::Bra { .. } | Op::Exit | Op::ReleaseScratchpad => return Vec::new(),
        other => unreachable!("{other:?} is not used in random programs"),
    };
    vec![one; results]
}

/// A comparison of integers.
fn compares(ty: Type, compare: Compare, a: u64, b: u64) -> bool {
    let number = |bits: u64| match (ty.kind() == TypeKind::Signed, ty.bits()) {
        (true, 32) => i128::from(bits as i32),
        (true, _) => i128::from(bits as i64),
        (false, 32) => i128::from(bits as u32),
        (false, _) => i128::from(bits),
    };
    let (a, b) = (number(a), number(b));
    match compare {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
        other => unreachable!("{other:?} is no comparison of integers"),
    }
}
