//! One node, or the few that make up one pattern.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::*;

use super::Maker;
use crate::choice::{Choice, lanes, nth, rest};
use crate::numbers::Random;

impl Maker<'_> {
    /// What `choice` says: an operation, a pattern, a port of a table or a sub-circuit.
    pub(super) fn node(&mut self, choice: Choice) {
        let [kind, key, x, y, z, more] = choice;
        let widest = self.recipe.widest;
        match kind % 56 {
            0 => self.unary(key, x, Op::Not),
            1 => self.binary(key, x, y, Op::And),
            2 => self.binary(key, x, y, Op::Or),
            3 => self.binary(key, x, y, Op::Xor),
            4 => self.binary(key, x, y, Op::Add),
            5 => self.binary(key, x, y, Op::Sub),
            6 => self.binary(key, x, y, Op::Mul),
            7 => self.compare(key, x, y, Op::Eq),
            8 => self.compare(key, x, y, Op::Lt),
            9 => self.shift(key, x, y, Op::ShiftLeft),
            10 => self.shift(key, x, y, Op::ShiftRight),
            11..18 => self.mux(key, x, y, z),
            18 => self.concat(key, &[x, y, z, more][..1 + usize::from(more % 4)]),
            19 => {
                let value = self.any(x);
                let width = self.width_of(value);
                let low = u32::from(y) % width;
                self.keep(key, Op::Slice { value, low }, 1 + u32::from(z) % (width - low));
            }
            20 => {
                let value = self.any(x);
                let width = self.width_of(value) + u32::from(y % 70);
                self.keep(key, Op::ZeroExtend(value), width);
            }
            21 => self.reduce(key, x, Op::ReduceOr),
            22 => self.reduce(key, x, Op::ReduceAnd),
            23 => self.reduce(key, x, Op::ReduceXor),
            24 => {
                let value = self.any(x);
                let width = bits_for(self.width_of(value) - 1);
                self.keep(key, Op::PriorityEncode(value), width);
            }
            25 => self.unary(key, x, Op::LowestOne),
            26 => {
                let (index, width) = (self.index(x), self.width(y));
                self.keep(key, Op::Decode(index), width);
            }
            27 => {
                let value = self.any(x);
                let width = bits_for(self.width_of(value));
                self.keep(key, Op::PopCount(value), width);
            }
            28 => self.unary(key, x, Op::PrefixOr),
            29 | 30 => self.selection(choice),
            31 => self.lane_mux(choice),
            32 => {
                let (count, lane) = lanes(z, widest);
                let (a, b) = (self.of_width(x, count * lane), self.of_width(y, count * lane));
                self.keep(key, Op::LaneEq(a, b), count);
            }
            33 => {
                let (count, lane) = lanes(z, widest);
                let (a, b) = (self.of_width(x, count * lane), self.of_width(y, count * lane));
                self.keep(key, Op::LaneAdd { a, b, lanes: count }, count * lane);
            }
            34 => {
                let (value, width) = (self.any(x), self.width(y));
                let width = width.max(self.width_of(value));
                self.keep(key, Op::Replicate(value), width);
            }
            35 => {
                let (count, lane) = lanes(z, widest);
                let value = self.of_width(x, count);
                self.keep(key, Op::SpreadLanes(value), count * lane);
            }
            36 => {
                let (count, lane) = lanes(z, widest);
                let value = self.of_width(x, count * lane);
                self.keep(key, Op::GroupOr(value), count);
            }
            37 => {
                let (count, lane) = lanes(z, widest);
                let value = self.of_width(x, count);
                self.keep(key, Op::PrefixCount(value), count * lane);
            }
            38 => self.hash(key, x, y, z),
            39 => {
                let width = self.width(x);
                let constant = self.constant(y, width);
                self.keep(key, Op::Wire(constant), width);
            }
            40 => self.unary(key, x, Op::Wire),
            41 | 42 => self.guard(key, x, y),
            43..48 => self.read(choice),
            48..52 => self.associative(choice),
            52..55 => self.mux(key, x, y, z),
            _ if self.children.is_empty() => self.mux(key, x, y, z),
            _ => self.instance([key, x, y, z, more, 0]),
        }
    }

    fn unary(&mut self, key: u16, x: u16, op: impl Fn(NodeId) -> Op) {
        let a = self.any(x);
        self.keep(key, op(a), self.width_of(a));
    }

    fn reduce(&mut self, key: u16, x: u16, op: impl Fn(NodeId) -> Op) {
        let a = self.any(x);
        self.keep(key, op(a), 1);
    }

    /// Two operands of one width; the second is sometimes a constant.
    fn pair(&mut self, x: u16, y: u16) -> (NodeId, NodeId) {
        let a = self.any(x);
        let width = self.width_of(a);
        let b = if y % 8 == 7 { self.constant(y / 8, width) } else { self.of_width(rest(y, 2), width) };
        if y.is_multiple_of(2) { (a, b) } else { (b, a) }
    }

    fn binary(&mut self, key: u16, x: u16, y: u16, op: impl Fn(NodeId, NodeId) -> Op) {
        let (a, b) = self.pair(x, y);
        self.keep(key, op(a, b), self.width_of(a));
    }

    fn compare(&mut self, key: u16, x: u16, y: u16, op: impl Fn(NodeId, NodeId) -> Op) {
        let (a, b) = self.pair(x, y);
        self.keep(key, op(a, b), 1);
    }

    fn shift(&mut self, key: u16, x: u16, y: u16, op: impl Fn(NodeId, NodeId) -> Op) {
        let (value, amount) = (self.any(x), self.index(y));
        self.keep(key, op(value, amount), self.width_of(value));
    }

    /// A choice between two values; its condition is often that of others.
    fn mux(&mut self, key: u16, x: u16, y: u16, z: u16) {
        let then = self.any(x);
        let width = self.width_of(then);
        let otherwise = self.of_width(y, width);
        let condition = self.one_bit(z);
        let (then, otherwise) =
            if (z / 16).is_multiple_of(2) { (then, otherwise) } else { (otherwise, then) };
        self.keep(key, Op::Mux { condition, then, otherwise }, width);
    }

    /// A value where a condition holds, else 0, as an and with a replicated bit; sometimes the other way round.
    fn guard(&mut self, key: u16, x: u16, y: u16) {
        let value = self.any(x);
        let (width, condition) = (self.width_of(value), self.one_bit(y));
        let condition = if y / 64 % 4 == 3 { self.add(Op::Not(condition), 1) } else { condition };
        let mask = match width {
            1 => condition,
            _ => self.add(Op::Replicate(condition), width),
        };
        let (a, b) = if (y / 32).is_multiple_of(2) { (mask, value) } else { (value, mask) };
        self.keep(key, Op::And(a, b), width);
    }

    fn concat(&mut self, key: u16, numbers: &[u16]) {
        let mut parts = Vec::new();
        let mut width = 0;
        for &number in numbers {
            let part = self.any(number);
            if width + self.width_of(part) <= 2 * self.recipe.widest || parts.is_empty() {
                width += self.width_of(part);
                parts.push(part);
            }
        }
        self.keep(key, Op::Concat(parts), width);
    }

    /// A lane by index or by one-hot bits, of a value or of some that are joined for it.
    fn selection(&mut self, [kind, key, x, y, z, more]: Choice) {
        let (count, lane) = lanes(z, self.recipe.widest);
        let vector = if count > 1 && count <= 8 && more % 2 == 1 {
            let parts = (0..count as usize).map(|index| self.of_width(nth(x, index), lane)).collect();
            self.add(Op::Concat(parts), count * lane)
        } else {
            self.of_width(x, count * lane)
        };
        if kind % 2 == 0 {
            let select = self.of_width(y, count);
            self.keep(key, Op::OneHotSelect { select, vector }, lane);
        } else {
            let index = self.index(y);
            self.keep(key, Op::LaneSelect { vector, index }, lane);
        }
    }

    fn lane_mux(&mut self, [_, key, x, y, z, more]: Choice) {
        let (count, lane) = lanes(z, self.recipe.widest);
        let mask = self.of_width(more, count);
        let (then, otherwise) = (self.of_width(x, count * lane), self.of_width(y, count * lane));
        self.keep(key, Op::LaneMux { mask, then, otherwise }, count * lane);
    }

    fn hash(&mut self, key: u16, x: u16, y: u16, z: u16) {
        let value = self.any(x);
        let width = self.width_of(value);
        let mut random = Random(z.into());
        let count = if y % 8 == 7 { 70 } else { 1 + u32::from(y % 8) };
        let rows: Vec<Bits> = (0..count).map(|_| random.bits(width)).collect();
        self.keep(key, Op::XorHash { value, rows }, count);
    }
}

/// Bits that hold `value`, at least one.
fn bits_for(value: u32) -> u32 {
    (u32::BITS - value.leading_zeros()).max(1)
}
