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

use super::Emitter;
use super::units::Unit;
use crate::compiled::parts::Parts;

/// A unit emitted by itself.
struct Sketch {
    function: Function,
    outside: Vec<*const u8>,
    /// Places by number; none if it names too many.
    places: Option<Vec<u32>>,
}

impl Sketch {
    /// Instructions of the code.
    fn size(&self) -> usize {
        self.function.dfg.num_insts()
    }

    fn is_like(&self, other: &Sketch) -> bool {
        let [own, others] = [self, other].map(|sketch| sketch.places.as_ref().map(Vec::len));
        own.is_some() && own == others && self.outside == other.outside && self.function == other.function
    }
}

/// How far the places of members are from those of the first.
struct Moves {
    /// Columns by place of the first member; none of a place that all members share.
    columns: BTreeMap<u32, Option<u32>>,
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
            let is_moved = distances.iter().any(|&distance| distance != 0);
            let next = known.len() as u32;
            columns.insert(first, is_moved.then(|| *known.entry(distances).or_insert(next)));
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
            let spared = (members.len() - 1) * sketches[together[0]].size();
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
        let mut emitter = Emitter::new(builder, self.subject.clone());
        emitter.frame.begin_sketch();
        emitter.emit_unit(parts, unit);
        let (outside, places) = emitter.frame.finalize_sketch(self.frontend);
        Sketch { function, outside: outside.addresses, places }
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
        self.frame.begin_members(columns.clone(), rows, row);
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
    let mut firsts: BTreeMap<usize, Vec<(usize, &Sketch)>> = BTreeMap::new();
    let mut count = 0;
    let kind = |sketch| {
        let known = firsts.entry(Sketch::size(sketch)).or_default();
        let found = known.iter().find(|(_, first)| first.is_like(sketch)).map(|(kind, _)| *kind);
        found.unwrap_or_else(|| {
            known.push((count, sketch));
            count += 1;
            count - 1
        })
    };
    sketches.iter().map(kind).collect()
}

/// An order in which each unit comes after those that it needs, and as many units of one kind as can be together: kinds of
/// which all that are left can be next come first.
fn order(kinds: &[usize], needs: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut users = vec![Vec::new(); kinds.len()];
    for (unit, needed) in needs.iter().enumerate() {
        needed.iter().for_each(|&other| users[other].push(unit));
    }
    let mut unmet: Vec<usize> = needs.iter().map(BTreeSet::len).collect();
    let mut waiting = Waiting::new(kinds);
    (0..kinds.len()).filter(|&unit| unmet[unit] == 0).for_each(|unit| waiting.add(unit));
    let mut order = Vec::new();
    while let Some(kind) = waiting.next_kind() {
        let mut together = Vec::new();
        while let Some(unit) = waiting.take(kind) {
            together.push(unit);
            for &user in &users[unit] {
                unmet[user] -= 1;
                if unmet[user] == 0 {
                    waiting.add(user);
                }
            }
        }
        order.push(together);
    }
    assert!(unmet.iter().all(|&unmet| unmet == 0), "units that wait for each other");
    order
}

/// Units that can be next.
struct Waiting<'k> {
    kinds: &'k [usize],
    /// By kind, those that can be next, and how many have not been taken.
    of_kind: Vec<(BTreeSet<usize>, usize)>,
    /// Kinds with units that can be next: whether others of them cannot, and the first of those that can.
    ready: BTreeSet<(bool, usize, usize)>,
}

impl<'k> Waiting<'k> {
    fn new(kinds: &'k [usize]) -> Waiting<'k> {
        let count = kinds.iter().max().map_or(0, |last| last + 1);
        let mut waiting =
            Waiting { kinds, of_kind: vec![(BTreeSet::new(), 0); count], ready: BTreeSet::new() };
        kinds.iter().for_each(|&kind| waiting.of_kind[kind].1 += 1);
        waiting
    }

    fn next_kind(&self) -> Option<usize> {
        self.ready.first().map(|&(_, _, kind)| kind)
    }

    fn add(&mut self, unit: usize) {
        self.change(self.kinds[unit], |units, _| _ = units.insert(unit));
    }

    /// The next unit of a kind.
    fn take(&mut self, kind: usize) -> Option<usize> {
        self.change(kind, |units, left| {
            let unit = units.pop_first();
            *left -= usize::from(unit.is_some());
            unit
        })
    }

    fn change<T>(&mut self, kind: usize, change: impl FnOnce(&mut BTreeSet<usize>, &mut usize) -> T) -> T {
        let (units, left) = &mut self.of_kind[kind];
        let place = |units: &BTreeSet<usize>, left| Some((units.len() < left, *units.first()?, kind));
        let before = place(units, *left);
        let result = change(units, left);
        let after = place(units, *left);
        before.map(|before| self.ready.remove(&before));
        self.ready.extend(after);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_are_equally_far_share_a_column() {
        let moves = Moves::new(&[&[10, 11, 3, 40], &[20, 21, 3, 44], &[5, 6, 3, 48]]);
        assert_eq!(moves.columns[&3], None, "what all share is not moved");
        assert_eq!(moves.columns[&10], moves.columns[&11]);
        let column = |place| moves.columns[&place].expect("a column") as usize;
        let row = |member: usize| [10, 40].map(|place| moves.rows[member][column(place)] as i64);
        assert_eq!([row(0), row(1), row(2)], [[0, 0], [80, 32], [-40, 64]]);
    }

    #[test]
    fn units_of_one_kind_are_together_as_far_as_others_let_them() {
        let needs = |list: &[&[usize]]| -> Vec<BTreeSet<usize>> {
            list.iter().map(|needs| needs.iter().copied().collect()).collect()
        };
        // The second of a kind needs the first: they are run in this order.
        assert_eq!(order(&[0, 0, 1], &needs(&[&[], &[0], &[]])), [vec![2], vec![0, 1]]);
        // Another kind is in between.
        assert_eq!(order(&[0, 0, 1], &needs(&[&[], &[2], &[0]])), [vec![0], vec![2], vec![1]]);
        // What has all of its kind at hand comes first, so that the others find theirs.
        assert_eq!(order(&[0, 0, 1], &needs(&[&[], &[2], &[]])), [vec![2], vec![0, 1]]);
    }
}
