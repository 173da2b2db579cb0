//! Adding nodes, and finding operands for them.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::*;

use super::{Maker, SOURCE};
use crate::choice::rest;
use crate::numbers::Random;
use crate::recipe::Constants;

impl Maker<'_> {
    /// A node that only its maker knows.
    pub(super) fn add(&mut self, op: Op, width: u32) -> NodeId {
        let id = NodeId(self.module.nodes.len() as u32);
        self.module.nodes.push(Node { op, width, name: None, source: SOURCE });
        id
    }

    /// A node that others use: of three, one by a single one only, two by any.
    pub(super) fn keep(&mut self, key: u16, op: Op, width: u32) -> NodeId {
        let node = self.add(op, width);
        self.unused.push(node);
        if !key.is_multiple_of(3) {
            self.shared.push((key, node));
        }
        node
    }

    /// A node that any other may use, and that need not be used.
    pub(super) fn add_leaf(&mut self, key: u16, op: Op, width: u32) {
        let node = self.add(op, width);
        self.shared.push((key, node));
        self.leaves.push((key, node));
    }

    pub(super) fn width_of(&self, node: NodeId) -> u32 {
        self.module.nodes[node.index()].width
    }

    pub(super) fn constant(&mut self, number: u16, width: u32) -> NodeId {
        let value = match (self.constants(), number % 4) {
            (Constants::Extreme, 0) => Bits::zero(width),
            (Constants::Extreme, 1) => Bits::ones(width),
            (Constants::Extreme, _) => Random(number.into()).bits(width),
            (Constants::Moderate, _) => moderate(width),
        };
        self.add(Op::Constant(value), width)
    }

    /// Some value: often the newest that nothing uses, else a shared one, else a leaf.
    pub(super) fn any(&mut self, number: u16) -> NodeId {
        let key = rest(number, 4);
        match number % 4 {
            0 => nearest(&self.shared, key),
            1 | 2 => self.unused.pop().unwrap_or_else(|| nearest(&self.shared, key)),
            _ => nearest(&self.leaves, key),
        }
    }

    /// Some value of `width` bits, mostly one that has them as it is.
    pub(super) fn of_width(&mut self, number: u16, width: u32) -> NodeId {
        let key = rest(number, 8);
        let exact = |values: &[(u16, NodeId)], maker: &Self| -> Vec<(u16, NodeId)> {
            values.iter().copied().filter(|(_, node)| maker.width_of(*node) == width).collect()
        };
        let found = match number % 8 {
            0..3 => exact(&self.shared, self),
            3 => exact(&self.leaves, self),
            4..7 => match self.unused.iter().rposition(|&node| self.width_of(node) == width) {
                Some(place) => return self.unused.remove(place),
                None => exact(&self.shared, self),
            },
            _ => Vec::new(),
        };
        if found.is_empty() {
            let node = self.any(key);
            return self.fit(node, width, key);
        }
        nearest(&found, key)
    }

    /// A condition: some one-bit value, often the one used last.
    pub(super) fn one_bit(&mut self, number: u16) -> NodeId {
        let node = match (number % 4, self.condition) {
            (3, Some(last)) => last,
            _ => self.of_width(rest(number, 4), 1),
        };
        self.condition = Some(node);
        node
    }

    /// An enable: a condition, or a choice between conditions by another.
    pub(super) fn enable(&mut self, number: u16) -> NodeId {
        if number % 4 != 3 {
            return self.one_bit(rest(number, 4));
        }
        let [condition, then, otherwise] = [4, 5, 7].map(|kinds| self.one_bit(rest(number, kinds)));
        self.add(Op::Mux { condition, then, otherwise }, 1)
    }

    /// An index: mostly narrow, so that it is often in range; sometimes of any width.
    pub(super) fn index(&mut self, number: u16) -> NodeId {
        match number % 8 {
            7 => self.any(rest(number, 8)),
            _ => self.of_width(rest(number, 64), 1 + u32::from(number / 8 % 8)),
        }
    }

    /// `node` cut or filled up to `width` bits.
    fn fit(&mut self, node: NodeId, width: u32, number: u16) -> NodeId {
        let from = self.width_of(node);
        if from == width {
            return node;
        }
        if from > width {
            let slack = from - width + 1;
            let low = if number.is_multiple_of(2) { 0 } else { u32::from(number / 2) % slack };
            return self.add(Op::Slice { value: node, low }, width);
        }
        match number % 4 {
            0 | 1 => self.add(Op::ZeroExtend(node), width),
            2 => self.add(Op::Replicate(node), width),
            _ => {
                let above = self.any(rest(number, 4));
                let above = self.resized(above, width - from);
                self.add(Op::Concat(vec![node, above]), width)
            }
        }
    }

    fn resized(&mut self, node: NodeId, width: u32) -> NodeId {
        match self.width_of(node) {
            from if from == width => node,
            from if from > width => self.add(Op::Slice { value: node, low: 0 }, width),
            _ => self.add(Op::ZeroExtend(node), width),
        }
    }
}

/// The value with the nearest key from `key` on, around the ring.
fn nearest(values: &[(u16, NodeId)], key: u16) -> NodeId {
    let (_, node) =
        values.iter().min_by_key(|(own, _)| own.wrapping_sub(key)).expect("a module has an input");
    *node
}

/// Alternating ones and zeros; of one bit, a one.
fn moderate(width: u32) -> Bits {
    Bits::from_words(width.next_multiple_of(64), &vec![0x5555_5555_5555_5555; width.div_ceil(64) as usize])
        .expect("as wide as its words")
        .slice(0, width)
}
