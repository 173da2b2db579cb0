//! The reference engine: executes the plan's instructions one by one.

use std::ops::Range;
use std::sync::Arc;

use warpfile_hdl::rtl::netlist::Netlist;

use crate::ops;
use crate::plan::Plan;
use crate::plan::inst::{Column, ColumnInst, ColumnOp, FoldOp, Inst, array_words, element_bytes};
use crate::{Engine, EngineError, Options, State};

/// Interprets a circuit.
#[derive(Clone, Debug)]
pub struct Interpreter {
    state: State,
}

impl Interpreter {
    /// Prepares a netlist for running, in its initial state.
    pub fn new(netlist: &Netlist, options: &Options) -> Result<Interpreter, EngineError> {
        Ok(Interpreter::of_plan(Arc::new(Plan::new(netlist, options)?), options))
    }

    /// Runs a plan that there is already.
    pub(crate) fn of_plan(plan: Arc<Plan>, options: &Options) -> Interpreter {
        Interpreter { state: State::new(plan, options) }
    }
}

impl Engine for Interpreter {
    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn step(&mut self) {
        self.state.begin_cycle();
        let (plan, arena) = self.state.settling();
        settle(plan, arena);
        self.state.end_cycle();
    }

    fn foresee(&mut self) {
        self.state.begin_cycle();
        let (plan, arena) = self.state.settling();
        settle(plan, arena);
    }
}

/// Words below a result, and those of a result of `width` bits.
#[inline]
fn split(arena: &mut [u64], d: u32, width: u32) -> (Source<'_>, &mut [u64]) {
    let (low, high) = arena.split_at_mut(d as usize);
    (Source(low), &mut high[..width.div_ceil(64) as usize])
}

#[inline]
fn range(start: u32, n: u32) -> Range<usize> {
    start as usize..start as usize + n as usize
}

/// Words that operands are read from.
#[derive(Clone, Copy)]
struct Source<'a>(&'a [u64]);

impl<'a> Source<'a> {
    #[inline]
    fn words(self, place: u32, n: u32) -> &'a [u64] {
        &self.0[range(place, n)]
    }

    #[inline]
    fn of_width(self, place: u32, width: u32) -> &'a [u64] {
        self.words(place, width.div_ceil(64))
    }

    /// A row's value of more than 64 bits.
    #[inline]
    fn row(self, column: Column, row: u32) -> &'a [u64] {
        self.of_width(column.base + row * (column.bytes / 8), column.width)
    }

    /// A row's value of up to 64 bits.
    #[inline]
    fn row_word(self, column: Column, row: u32) -> u64 {
        match column.bytes {
            0 => self.0[column.base as usize],
            bytes => ops::element(self.0, column.base, row, bytes),
        }
    }
}

/// Runs the program once.
pub(crate) fn settle(plan: &Plan, arena: &mut [u64]) {
    for inst in &plan.program {
        execute(inst, plan, arena);
    }
}

/// Executes one instruction.
#[inline(always)]
pub(crate) fn execute(inst: &Inst, plan: &Plan, arena: &mut [u64]) {
    macro_rules! word {
        ($place:expr) => {
            arena[$place as usize]
        };
    }
    match *inst {
        Inst::Copy { d, a } => word!(d) = word!(a),
        Inst::Not { d, a, width } => word!(d) = !word!(a) & ops::mask(width),
        Inst::And { d, a, b } => word!(d) = word!(a) & word!(b),
        Inst::Or { d, a, b } => word!(d) = word!(a) | word!(b),
        Inst::Xor { d, a, b } => word!(d) = word!(a) ^ word!(b),
        Inst::Add { d, a, b, width } => word!(d) = word!(a).wrapping_add(word!(b)) & ops::mask(width),
        Inst::Sub { d, a, b, width } => word!(d) = word!(a).wrapping_sub(word!(b)) & ops::mask(width),
        Inst::Mul { d, a, b, width } => word!(d) = word!(a).wrapping_mul(word!(b)) & ops::mask(width),
        Inst::Eq { d, a, b } => word!(d) = u64::from(word!(a) == word!(b)),
        Inst::Lt { d, a, b } => word!(d) = u64::from(word!(a) < word!(b)),
        Inst::ShiftLeft { d, a, b, width } => {
            let shifted = if word!(b) < u64::from(width) { word!(a) << word!(b) } else { 0 };
            word!(d) = shifted & ops::mask(width);
        }
        Inst::ShiftRight { d, a, b } => {
            word!(d) = if word!(b) < 64 { word!(a) >> word!(b) } else { 0 };
        }
        Inst::Mux { d, condition, then, otherwise } => {
            word!(d) = if word!(condition) != 0 { word!(then) } else { word!(otherwise) };
        }
        Inst::Slice { d, a, low, width } => word!(d) = word!(a) >> low & ops::mask(width),
        Inst::Join { d, a, b, shift } => word!(d) = word!(a) | word!(b) << shift,
        Inst::NonZero { d, a } => word!(d) = u64::from(word!(a) != 0),
        Inst::AllOnes { d, a, width } => word!(d) = u64::from(word!(a) == ops::mask(width)),
        Inst::Parity { d, a } => word!(d) = u64::from(word!(a).count_ones() & 1),
        Inst::FirstOne { d, a } => {
            word!(d) = if word!(a) == 0 { 0 } else { u64::from(word!(a).trailing_zeros()) };
        }
        Inst::LowestOne { d, a } => word!(d) = word!(a) & word!(a).wrapping_neg(),
        Inst::Decode { d, a, width } => {
            word!(d) = if word!(a) < u64::from(width) { 1 << word!(a) } else { 0 };
        }
        Inst::PopCount { d, a } => word!(d) = u64::from(word!(a).count_ones()),
        Inst::Read { d, address, base, depth, bytes } => {
            let row = word!(address);
            let is_row = row < u64::from(depth);
            word!(d) = if is_row { ops::element(arena, base, row as u32, bytes) } else { 0 };
        }
        Inst::ReadBit { d, address, base, depth } => {
            let row = word!(address);
            let word = if row < u64::from(depth) { word!(u64::from(base) + row / 64) } else { 0 };
            word!(d) = word >> (row % 64) & 1;
        }

        Inst::WideCopy { d, a, n } => arena.copy_within(range(a, n), d as usize),
        Inst::WideNot { d, a, width } => {
            let (source, result) = split(arena, d, width);
            ops::not(result, source.of_width(a, width), width);
        }
        Inst::WideAnd { d, a, b, n } => bitwise(arena, d, a, b, n, |a, b| a & b),
        Inst::WideOr { d, a, b, n } => bitwise(arena, d, a, b, n, |a, b| a | b),
        Inst::WideXor { d, a, b, n } => bitwise(arena, d, a, b, n, |a, b| a ^ b),
        Inst::WideAdd { d, a, b, width } => arithmetic(arena, d, a, b, width, ops::add),
        Inst::WideSub { d, a, b, width } => arithmetic(arena, d, a, b, width, ops::sub),
        Inst::WideMul { d, a, b, width } => arithmetic(arena, d, a, b, width, ops::mul),
        Inst::WideEq { d, a, b, n } => word!(d) = u64::from(arena[range(a, n)] == arena[range(b, n)]),
        Inst::WideLt { d, a, b, n } => {
            word!(d) = u64::from(ops::less(&arena[range(a, n)], &arena[range(b, n)]));
        }
        Inst::WideShiftLeft { d, a, b, b_n, width } => {
            let (source, result) = split(arena, d, width);
            ops::shift_left(result, source.of_width(a, width), source.words(b, b_n), width);
        }
        Inst::WideShiftRight { d, a, b, b_n, width } => {
            let (source, result) = split(arena, d, width);
            ops::shift_right(result, source.of_width(a, width), source.words(b, b_n), width);
        }
        Inst::WideMux { d, condition, then, otherwise, n } => {
            let taken = if word!(condition) != 0 { then } else { otherwise };
            arena.copy_within(range(taken, n), d as usize);
        }
        Inst::WideSlice { d, a, low, width } => {
            let (source, result) = split(arena, d, width);
            ops::extract(result, source.of_width(a, low + width), low, width);
        }
        Inst::Concat { d, n, parts, count } => {
            let (source, result) = split(arena, d, n * 64);
            result.fill(0);
            for part in &plan.parts[range(parts, count)] {
                ops::insert(result, source.of_width(part.a, part.width), part.low, part.width);
            }
        }
        Inst::WideNonZero { d, a, n } => {
            word!(d) = u64::from(arena[range(a, n)].iter().any(|&word| word != 0));
        }
        Inst::WideAllOnes { d, a, width } => {
            word!(d) = u64::from(ops::all_ones(&arena[a as usize..], width));
        }
        Inst::PartSelect { d, select, parts, count, n } => {
            let bits = word!(select);
            let (source, result) = split(arena, d, n * 64);
            result.fill(0);
            for (bit, part) in plan.parts[range(parts, count)].iter().enumerate() {
                if bits >> bit & 1 == 1 {
                    result.iter_mut().zip(source.words(part.a, n)).for_each(|(all, word)| *all |= word);
                }
            }
        }
        Inst::FoldWords { d, a, n, op } => {
            let words = arena[range(a, n)].iter().copied();
            let folded = match op {
                FoldOp::Add => words.reduce(u64::wrapping_add),
                FoldOp::And => words.reduce(|a, b| a & b),
                FoldOp::Or => words.reduce(|a, b| a | b),
                FoldOp::Xor => words.reduce(|a, b| a ^ b),
            };
            word!(d) = folded.unwrap_or(0);
        }
        Inst::WideParity { d, a, n } => word!(d) = ops::parity(arena[range(a, n)].iter().copied()),
        Inst::WideFirstOne { d, a, n } => word!(d) = ops::first_one(&arena[range(a, n)]).unwrap_or(0),
        Inst::WideLowestOne { d, a, n } => {
            let (source, result) = split(arena, d, n * 64);
            ops::lowest_one(result, source.words(a, n));
        }
        Inst::WideDecode { d, a, a_n, width } => {
            let (source, result) = split(arena, d, width);
            ops::decode(result, source.words(a, a_n), width);
        }
        Inst::WidePopCount { d, a, n } => word!(d) = ops::population(&arena[range(a, n)]),
        Inst::LaneSelect { d, vector, index, index_n, lanes, lane } => {
            let (source, result) = split(arena, d, lane);
            let vector = source.of_width(vector, lanes * lane);
            ops::lane_select(result, vector, source.words(index, index_n), lanes, lane);
        }
        Inst::OneHotSelect { d, select, vector, lanes, lane } => {
            let (source, result) = split(arena, d, lane);
            let (select, vector) = (source.of_width(select, lanes), source.of_width(vector, lanes * lane));
            ops::one_hot_select(result, select, vector, lane);
        }
        Inst::LaneMux { d, mask, then, otherwise, lanes, lane } => {
            let (source, result) = split(arena, d, lanes * lane);
            result.copy_from_slice(source.of_width(otherwise, lanes * lane));
            let (then, mask) = (source.of_width(then, lanes * lane), source.of_width(mask, lanes));
            ops::blend(result, then, mask, lanes, lane);
        }
        Inst::LaneEq { d, a, b, lanes, lane } => {
            let (source, result) = split(arena, d, lanes);
            let (a, b) = (source.of_width(a, lanes * lane), source.of_width(b, lanes * lane));
            ops::lane_eq(result, a, b, lanes, lane);
        }
        Inst::LaneAdd { d, a, b, lanes, lane } => {
            let (source, result) = split(arena, d, lanes * lane);
            let (a, b) = (source.of_width(a, lanes * lane), source.of_width(b, lanes * lane));
            ops::lane_add(result, a, b, lanes, lane);
        }
        Inst::Replicate { d, a, from, width } => {
            let (source, result) = split(arena, d, width);
            ops::replicate(result, source.of_width(a, from), from, width);
        }
        Inst::SpreadLanes { d, a, lanes, lane } => {
            let (source, result) = split(arena, d, lanes * lane);
            ops::spread_lanes(result, source.of_width(a, lanes), lanes, lane);
        }
        Inst::GroupOr { d, a, groups, size } => {
            let (source, result) = split(arena, d, groups);
            ops::group_or(result, source.of_width(a, groups * size), groups, size);
        }
        Inst::PrefixOr { d, a, width } => {
            let (source, result) = split(arena, d, width);
            ops::prefix_or(result, source.of_width(a, width), width);
        }
        Inst::PrefixCount { d, a, lanes, lane } => {
            let (source, result) = split(arena, d, lanes * lane);
            ops::prefix_count(result, source.of_width(a, lanes), lanes, lane);
        }
        Inst::XorHash { d, a, n, masks, rows } => {
            let (source, result) = split(arena, d, rows);
            ops::xor_hash(result, source.words(a, n), &plan.masks[range(masks, n * rows)]);
        }
        Inst::WideRead { d, address, base, depth, n } => {
            let row = word!(address);
            if row < u64::from(depth) {
                arena.copy_within(range(base + row as u32 * n, n), d as usize);
            } else {
                arena[range(d, n)].fill(0);
            }
        }
        Inst::Column { column } => settle_column(&plan.columns[column as usize], arena),
    }
}

fn bitwise(arena: &mut [u64], d: u32, a: u32, b: u32, n: u32, op: impl Fn(u64, u64) -> u64) {
    let (source, result) = split(arena, d, n * 64);
    ops::bitwise(result, source.words(a, n), source.words(b, n), op);
}

fn arithmetic(
    arena: &mut [u64],
    d: u32,
    a: u32,
    b: u32,
    width: u32,
    op: impl Fn(&mut [u64], &[u64], &[u64], u32),
) {
    let (source, result) = split(arena, d, width);
    op(result, source.of_width(a, width), source.of_width(b, width), width);
}

/// Evaluates an operation for every row of a table.
fn settle_column(inst: &ColumnInst, arena: &mut [u64]) {
    if inst.a.width <= 64 { settle_narrow_column(inst, arena) } else { settle_wide_column(inst, arena) }
}

/// As [`settle_column`], for operands of up to 64 bits.
fn settle_narrow_column(inst: &ColumnInst, arena: &mut [u64]) {
    let (a, b) = (inst.a, inst.b);
    match inst.op {
        ColumnOp::Eq => {
            row_bits(inst, arena, |source, row| source.row_word(a, row) == source.row_word(b, row))
        }
        ColumnOp::Lt => {
            row_bits(inst, arena, |source, row| source.row_word(a, row) < source.row_word(b, row))
        }
        ColumnOp::EqSlice { low, width } => row_bits(inst, arena, |source, row| {
            source.row_word(a, row) >> low & ops::mask(width) == source.row_word(b, row)
        }),
        ColumnOp::Disjoint => {
            row_bits(inst, arena, |source, row| source.row_word(a, row) & source.row_word(b, row) == 0)
        }
        ColumnOp::Pack => row_bits(inst, arena, |source, row| source.row_word(a, row) != 0),
        ColumnOp::Not => row_words(inst, arena, a.width, |source, row| !source.row_word(a, row)),
        ColumnOp::And => {
            row_words(inst, arena, a.width, |source, row| source.row_word(a, row) & source.row_word(b, row))
        }
        ColumnOp::Or => {
            row_words(inst, arena, a.width, |source, row| source.row_word(a, row) | source.row_word(b, row))
        }
        ColumnOp::Slice { low, width } => {
            row_words(inst, arena, width, |source, row| source.row_word(a, row) >> low)
        }
    }
}

/// As [`settle_column`], for operands of more than 64 bits.
fn settle_wide_column(inst: &ColumnInst, arena: &mut [u64]) {
    let (a, b) = (inst.a, inst.b);
    match inst.op {
        ColumnOp::Eq => row_bits(inst, arena, |source, row| source.row(a, row) == source.row(b, row)),
        ColumnOp::Lt => {
            row_bits(inst, arena, |source, row| ops::less(source.row(a, row), source.row(b, row)))
        }
        ColumnOp::EqSlice { .. } | ColumnOp::Disjoint => {
            unreachable!("parts are compared in place in narrow columns only")
        }
        ColumnOp::Pack => {
            row_bits(inst, arena, |source, row| source.row(a, row).iter().any(|&word| word != 0))
        }
        ColumnOp::Not => row_values(inst, arena, a.width, |source, row, result| {
            ops::not(result, source.row(a, row), a.width);
        }),
        ColumnOp::And => row_values(inst, arena, a.width, |source, row, result| {
            ops::bitwise(result, source.row(a, row), source.row(b, row), |a, b| a & b);
        }),
        ColumnOp::Or => row_values(inst, arena, a.width, |source, row, result| {
            ops::bitwise(result, source.row(a, row), source.row(b, row), |a, b| a | b);
        }),
        ColumnOp::Slice { low, width } if width <= 64 => {
            row_words(inst, arena, width, |source, row| ops::bits(source.row(a, row), low, width))
        }
        ColumnOp::Slice { low, width } => row_values(inst, arena, width, |source, row, result| {
            ops::extract(result, source.row(a, row), low, width);
        }),
    }
}

/// One bit a row.
#[inline]
fn row_bits(inst: &ColumnInst, arena: &mut [u64], holds: impl Fn(Source, u32) -> bool) {
    let (source, result) = split(arena, inst.d, inst.depth);
    for (first, word) in (0..inst.depth).step_by(64).zip(result) {
        let rows = first..inst.depth.min(first + 64);
        *word = rows.fold(0, |bits, row| bits | u64::from(holds(source, row)) << (row - first));
    }
}

/// A value of up to 64 bits a row.
#[inline]
fn row_words(inst: &ColumnInst, arena: &mut [u64], width: u32, value: impl Fn(Source, u32) -> u64) {
    let bytes = element_bytes(width);
    let (source, result) = split(arena, inst.d, 64 * array_words(width, inst.depth));
    for row in 0..inst.depth {
        ops::set_element(result, 0, row, bytes, value(source, row) & ops::mask(width));
    }
}

/// A value of more than 64 bits a row.
#[inline]
fn row_values(inst: &ColumnInst, arena: &mut [u64], width: u32, value: impl Fn(Source, u32, &mut [u64])) {
    let n = width.div_ceil(64);
    let (source, result) = split(arena, inst.d, inst.depth * n * 64);
    for (row, result) in (0..inst.depth).zip(result.chunks_exact_mut(n as usize)) {
        value(source, row, result);
    }
}
