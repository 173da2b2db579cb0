//! Code that is the same but for places, once.
//!
//! The parts of eight banks do the same, each with words of its own, and code for each would not fit into the processor's
//! cache. So every unit is first emitted by itself, into a sketch, in which places are numbered as they come up. Units whose
//! sketches are one function are members: the code of the first is emitted in a loop over the rows of a table, which has for
//! each member how far its places are from those of the first. Places that are equally far in every row share a column.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, Function, InstBuilder, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::units::Unit;
use super::{Emitter, Subject};
use crate::compiled::parts::Parts;

/// A unit emitted by itself.
struct Sketch {
    function: Function,
    outside: Vec<*const u8>,
    /// Places by number; none if it names too many.
    places: Option<Vec<u32>>,
}

impl Sketch {
    fn is_like(&self, other: &Sketch) -> bool {
        let [own, others] = [self, other].map(|sketch| sketch.places.as_ref().map(Vec::len));
        own.is_some() && own == others && self.outside == other.outside && self.function == other.function
    }
}

/// How far the places of members are from those of the first.
struct Moves {
    /// Columns by place of the first member, but for places that all members share.
    columns: BTreeMap<u32, u32>,
    /// By member, a distance in bytes for each column.
    rows: Vec<Vec<u64>>,
}

impl Moves {
    /// Of members, each of which is given by its places.
    fn new(members: &[&[u32]]) -> Moves {
        let mut known: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
        let mut columns = BTreeMap::new();
        for (number, &first) in members[0].iter().enumerate() {
            let distance =
                |member: &&[u32]| u64::from(member[number]).wrapping_sub(u64::from(first)).wrapping_mul(8);
            let distances: Vec<u64> = members.iter().map(distance).collect();
            if distances.iter().any(|&distance| distance != 0) {
                let next = known.len() as u32;
                columns.insert(first, *known.entry(distances).or_insert(next));
            }
        }
        debug_assert!(!known.is_empty(), "units that are the same");
        let mut rows = vec![vec![0; known.len()]; members.len()];
        for (distances, column) in known {
            for (row, distance) in rows.iter_mut().zip(distances) {
                row[column as usize] = distance;
            }
        }
        Moves { columns, rows }
    }
}

impl<'a> Emitter<'a, '_> {
    /// Emits units in an order in which each comes after those that it `needs`, which are given by index.
    pub fn emit_units(&mut self, parts: &Parts, units: &[Unit<'a>], needs: &[BTreeSet<usize>]) {
        let sketches: Vec<Sketch> = units.iter().map(|unit| self.sketch(parts, unit)).collect();
        for together in order(&kinds(&sketches), needs) {
            let members: Vec<&Unit> = together.iter().map(|&unit| &units[unit]).collect();
            let places: Vec<&[u32]> =
                together.iter().filter_map(|&unit| sketches[unit].places.as_deref()).collect();
            let spared = (members.len() - 1) * sketches[together[0]].function.dfg.num_insts();
            if spared < parts.worth_a_loop {
                members.into_iter().for_each(|unit| self.emit_unit(parts, unit));
            } else {
                self.emit_where_one_asks(parts, &members, &Moves::new(&places));
            }
        }
    }

    /// Emits a unit by itself.
    fn sketch(&self, parts: &Parts, unit: &Unit<'a>) -> Sketch {
        let mut function = Function::new();
        function.signature = self.frame.builder.func.signature.clone();
        let mut context = FunctionBuilderContext::new();
        let builder = FunctionBuilder::new(&mut function, &mut context);
        let mut emitter = Emitter::new(builder, self.subject());
        emitter.frame.begin_sketch();
        emitter.emit_unit(parts, unit);
        let (outside, places) = emitter.frame.finalize_sketch(self.frontend);
        Sketch { function, outside: outside.addresses, places }
    }

    fn subject(&self) -> Subject<'a> {
        Subject {
            graph: self.graph,
            segments: self.segments,
            slots: self.slots,
            parts: self.parts,
            ranges: self.ranges.clone(),
            vectors: self.vectors.clone(),
            has_several_columns: self.has_several_columns,
            frontend: self.frontend,
        }
    }

    /// Emits members where one of them has something to do, which is asked of all of them at once.
    fn emit_where_one_asks(&mut self, parts: &Parts, members: &[&Unit<'a>], moves: &Moves) {
        let asked: Option<Vec<u32>> = members.iter().map(|unit| unit.asks(parts)).collect();
        let Some(asked) = asked else { return self.emit_members(parts, members[0], moves) };
        let words: Vec<Value> = asked.into_iter().map(|place| self.frame.stored(place)).collect();
        let any = self.join(&words);
        self.frame.open(any, true);
        self.emit_members(parts, members[0], moves);
        self.frame.close();
    }

    /// Emits a loop over members: the code of the first, with places moved.
    fn emit_members(&mut self, parts: &Parts, first: &Unit<'a>, Moves { columns, rows }: &Moves) {
        let bytes = 8 * rows[0].len();
        let start = self.frame.table(rows.concat());
        let end = self.ins().iadd_imm_s(start, (bytes * rows.len()) as i64);
        let b = &mut self.frame.builder;
        let [member, done] = [(); 2].map(|()| b.create_block());
        let row = b.append_block_param(member, types::I64);
        b.ins().jump(member, &[BlockArg::Value(start)]);

        b.switch_to_block(member);
        self.frame.begin_members(columns.clone(), row);
        self.emit_unit(parts, first);
        self.frame.end_members();
        let next = self.ins().iadd_imm_s(row, bytes as i64);
        let has_more = self.ins().icmp(IntCC::NotEqual, next, end);
        self.ins().brif(has_more, member, &[BlockArg::Value(next)], done, &[]);
        self.frame.builder.switch_to_block(done);
    }
}

/// Numbers of kinds: units of one kind have the same code.
fn kinds(sketches: &[Sketch]) -> Vec<usize> {
    let mut firsts: Vec<usize> = Vec::new();
    let mut kinds = Vec::with_capacity(sketches.len());
    for (unit, sketch) in sketches.iter().enumerate() {
        let known = firsts.iter().position(|&first| sketches[first].is_like(sketch));
        kinds.push(known.unwrap_or(firsts.len()));
        if known.is_none() {
            firsts.push(unit);
        }
    }
    kinds
}

/// An order in which each unit comes after those that it needs, and as many units of one kind as can be together.
fn order(kinds: &[usize], needs: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut left: BTreeSet<usize> = (0..kinds.len()).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        // By kind, units that can be next: one may need those before it.
        let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut has_more: BTreeSet<usize> = BTreeSet::new();
        for &unit in &left {
            let together = next.entry(kinds[unit]).or_default();
            if needs[unit].intersection(&left).all(|needed| together.contains(needed)) {
                together.push(unit);
            } else {
                has_more.insert(kinds[unit]);
            }
        }
        next.retain(|_, together| !together.is_empty());
        let together = next.into_iter().min_by_key(|(kind, units)| (has_more.contains(kind), units[0]));
        let (_, together) = together.expect("units that wait for each other");
        together.iter().for_each(|unit| _ = left.remove(unit));
        order.push(together);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_are_equally_far_share_a_column() {
        let moves = Moves::new(&[&[10, 11, 3, 40], &[20, 21, 3, 44], &[5, 6, 3, 48]]);
        assert_eq!(
            moves.columns.keys().copied().collect::<Vec<u32>>(),
            [10, 11, 40],
            "what all share is not moved"
        );
        assert_eq!(moves.columns[&10], moves.columns[&11]);
        let row =
            |member: usize| [10, 40].map(|place| moves.rows[member][moves.columns[&place] as usize] as i64);
        assert_eq!([row(0), row(1), row(2)], [[0, 0], [80, 32], [-40, 64]]);
    }

    #[test]
    fn units_of_one_kind_are_together_as_far_as_others_let_them() {
        let needs = |list: &[&[usize]]| -> Vec<BTreeSet<usize>> {
            list.iter().map(|needs| needs.iter().copied().collect()).collect()
        };
        // The second of a kind needs the first: they are run in this order.
        assert_eq!(order(&[0, 0, 1], &needs(&[&[], &[0], &[]])), [vec![0, 1], vec![2]]);
        // Another kind is in between.
        assert_eq!(order(&[0, 0, 1], &needs(&[&[], &[2], &[0]])), [vec![0], vec![2], vec![1]]);
        // What has all of its kind at hand comes first, so that the others find theirs.
        assert_eq!(order(&[0, 0, 1], &needs(&[&[], &[2], &[]])), [vec![2], vec![0, 1]]);
    }
}
