//! Counting the uses of table ports and registers.

use std::collections::BTreeMap;

use cranelift_codegen::ir::{InstBuilder, Value};

use super::super::kernels::{self, Kernel};
use super::Emitter;
use super::frame::Pointer;
use crate::activity::LaneGroups;
use crate::compiled::parts::PartId;
use crate::plan::{ONE, ZERO};

/// Bytes of a counter: cycles, then arrays or toggles.
const COUNTER: usize = 16;

/// Indices of what is counted while one word is not 0.
#[derive(Default)]
struct Asked {
    ports: Vec<usize>,
    registers: Vec<usize>,
}

impl Emitter<'_, '_> {
    /// Emits the counting of a settled cycle. Registers that are always enabled are counted outside.
    pub fn count(&mut self) {
        let mut by_enable: BTreeMap<u32, Asked> = BTreeMap::new();
        for (index, meter) in self.plan.port_meters.iter().enumerate() {
            if meter.enable != ZERO {
                by_enable.entry(meter.enable).or_default().ports.push(index);
            }
        }
        for (index, edge) in self.plan.registers.iter().enumerate() {
            if edge.enable != ONE && edge.enable != ZERO {
                by_enable.entry(edge.enable).or_default().registers.push(index);
            }
        }
        let mut asked: BTreeMap<Option<PartId>, BTreeMap<u32, Asked>> = BTreeMap::new();
        for (enable, of_enable) in by_enable {
            let part = self.parts.and_then(|parts| parts.of_place(self.graph, enable));
            asked.entry(part).or_default().insert(enable, of_enable);
        }
        for (part, asked) in asked {
            match self.parts {
                Some(parts) => self.when_due(parts, part, |emitter| emitter.count_asked(asked)),
                None => self.count_asked(asked),
            }
        }
    }

    /// Counts what is enabled by words at some places.
    fn count_asked(&mut self, asked: BTreeMap<u32, Asked>) {
        for (enable, Asked { ports, registers }) in asked {
            let word = self.word(enable);
            if !ports.is_empty() {
                self.frame.open(word, true);
                ports.into_iter().for_each(|index| self.count_port(index));
                self.frame.close();
            }
            registers.into_iter().for_each(|index| self.add(self.registers, index * COUNTER, word));
        }
    }

    fn count_port(&mut self, index: usize) {
        let meter = &self.plan.port_meters[index];
        let one = self.frame.constant(1);
        self.add(self.ports, index * COUNTER, one);
        if meter.arrays > 0 {
            let arrays = self.frame.constant(u64::from(meter.arrays));
            self.add(self.ports, index * COUNTER + 8, arrays);
        }
        for groups in &meter.groups {
            let touched = self.touched(groups);
            self.add(self.ports, index * COUNTER + 8, touched);
        }
    }

    /// Groups of lanes with one enabled.
    fn touched(&mut self, groups: &LaneGroups) -> Value {
        if groups.lanes > 64 || !groups.size.is_power_of_two() {
            let at = self.pointer(groups.mask);
            let mask = self.frame.flatten(at);
            let (lanes, size) =
                (self.frame.constant(u64::from(groups.lanes)), self.frame.constant(u64::from(groups.size)));
            return self.frame.call_kernel_for(kernels::touched as Kernel, &[mask, lanes, size]);
        }
        let mut any = self.word(groups.mask);
        let mut folded = 1;
        while folded < groups.size {
            let next = self.frame.builder.ins().ushr_imm_u(any, i64::from(folded));
            any = self.frame.builder.ins().bor(any, next);
            folded *= 2;
        }
        let firsts = (0..64).step_by(groups.size as usize).fold(0, |bits, bit| bits | 1u64 << bit);
        let any = self.frame.builder.ins().band_imm_u(any, firsts as i64);
        self.frame.builder.ins().popcnt(any)
    }

    fn add(&mut self, base: Value, offset: usize, amount: Value) {
        let at = Pointer { base, offset: offset as i32 };
        let count = self.frame.load(at);
        let count = self.frame.builder.ins().iadd(count, amount);
        self.frame.store(at, count);
    }
}
