//! From regions as runs of instructions to what the hardware is told of them (§4.3, Fig. 6).

use std::ops::Range;

use super::metadata::before_each;
use super::regions::{Fate, Marks, Preload, Region, RegionId, Regions};
use super::usage::{Touched, lines, touched};
use crate::compile::function::Function;
use crate::compile::lifetime::Lifetimes;
use crate::program::PhysReg;

/// Annotates regions, given in program order.
pub fn annotate(function: &Function, lifetimes: &Lifetimes, ranges: Vec<Range<usize>>) -> Regions {
    let count = function.instructions.len();
    let mut regions = Regions {
        regions: Vec::with_capacity(ranges.len()),
        region_of: Vec::with_capacity(count),
        marks: vec![Marks::default(); count],
    };
    for range in ranges {
        regions.region_of.resize(range.end, RegionId(regions.regions.len() as u32));
        let touched = touched(function, lifetimes, range.clone());
        for register in &touched {
            mark_last_access(function, lifetimes, register, &mut regions.marks[register.last]);
        }
        let region = region(function, lifetimes, &touched, range.clone());
        let entries = region.preloads.len() + region.cache_invalidations.len();
        for (marks, before) in regions.marks[range.clone()].iter_mut().zip(before_each(range.len(), entries))
        {
            marks.metadata_before = before;
        }
        regions.regions.push(region);
    }
    regions
}

fn fate(lifetimes: &Lifetimes, register: &Touched) -> Fate {
    let lives_on = lifetimes.live_after(register.last).contains(usize::from(register.register.0));
    if lives_on { Fate::Evict } else { Fate::Erase }
}

fn mark_last_access(function: &Function, lifetimes: &Lifetimes, register: &Touched, marks: &mut Marks) {
    let access = &function.instructions[register.last];
    let number = u32::from(register.register.0);
    let fates: &mut [Fate] = if register.written_last { &mut marks.results } else { &mut marks.sources };
    let operand = if register.written_last {
        access.definitions.iter().position(|definition| definition.register == number)
    } else {
        access.uses.iter().position(|&used| used == number)
    };
    if let Some(operand) = operand {
        fates[operand] = fate(lifetimes, register);
    }
}

fn region(function: &Function, lifetimes: &Lifetimes, touched: &[Touched], range: Range<usize>) -> Region {
    let lines = lines(touched, range.clone());
    let inputs = touched.iter().filter(|register| register.is_input);
    let preloads = inputs.map(|register| Preload {
        register: register.register,
        invalidates: fate(lifetimes, register) == Fate::Erase,
    });
    Region {
        instructions: range.start as u32..range.end as u32,
        preloads: preloads.collect(),
        cache_invalidations: invalidations(function, lifetimes, range.start),
        bank_lines: lines.banks.map(|lines| lines as u8),
        live: lines.live,
    }
}

/// Registers to be invalidated before an instruction: where a block starts, as blocks say.
fn invalidations(function: &Function, lifetimes: &Lifetimes, start: usize) -> Vec<PhysReg> {
    let block = function.cfg.block_of(start);
    if function.cfg.block(block).instructions.start == start {
        lifetimes.invalidations(block).to_vec()
    } else {
        Vec::new()
    }
}
