//! Registers and the storage of tables.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::*;

use super::{Maker, SOURCE};
use crate::choice::{self, Choice, nth, rest};
use crate::numbers::Random;

impl Maker<'_> {
    /// A register, connected once all values are there.
    pub(super) fn register(&mut self, [key, width, reset, ..]: Choice) {
        let index = self.module.registers.len() as u32;
        let width = self.width(width);
        let reset = match reset % 4 {
            0 => Some(Bits::zero(width)),
            1 => None,
            2 => Some(Bits::ones(width)),
            _ => Some(Random(reset.into()).bits(width)),
        };
        let (name, next) = (format!("reg{index}"), NodeId(0));
        self.module.registers.push(Register { name, width, reset, next, enable: None, source: SOURCE });
        self.add_leaf(key, Op::Register(RegisterId(index)), width);
    }

    /// Drives a register: from any value, from another register (so that some swap and some form chains), or
    /// from a choice between those and what it holds.
    pub(super) fn connect(&mut self, index: usize, [key, _, _, next, enable, other]: Choice) {
        let width = self.module.registers[index].width;
        let own = NodeId(self.position_of(RegisterId(index as u32)));
        let next = match next % 8 {
            0..4 => self.of_width(rest(next, 8), width),
            4 => self.other_register(width, key),
            5 => {
                let (condition, then) = (self.one_bit(other), self.of_width(rest(next, 8), width));
                self.add(Op::Mux { condition, then, otherwise: own }, width)
            }
            6 => {
                let (condition, then) = (self.one_bit(other), self.other_register(width, key));
                let otherwise = self.of_width(rest(next, 8), width);
                self.add(Op::Mux { condition, then, otherwise }, width)
            }
            _ => {
                let conditions = [self.one_bit(other), self.one_bit(rest(other, 2))];
                let (then, between) =
                    (self.of_width(rest(next, 8), width), self.of_width(rest(next, 16), width));
                let inner = Op::Mux { condition: conditions[1], then: own, otherwise: between };
                let otherwise = self.add(inner, width);
                self.add(Op::Mux { condition: conditions[0], then, otherwise }, width)
            }
        };
        self.module.registers[index].next = next;
        self.module.registers[index].enable = (enable % 2 == 1).then(|| self.enable(rest(enable, 2)));
    }

    fn position_of(&self, register: RegisterId) -> u32 {
        let is_it = |node: &Node| node.op == Op::Register(register);
        self.module.nodes.iter().position(is_it).expect("every register has a node") as u32
    }

    /// A register of `width` bits, the next in line after `key`.
    fn other_register(&mut self, width: u32, key: u16) -> NodeId {
        let fits = |node: &&(u16, NodeId)| {
            let node = &self.module.nodes[node.1.index()];
            node.width == width && matches!(node.op, Op::Register(_))
        };
        let found =
            self.leaves.iter().filter(fits).min_by_key(|(own, _)| own.wrapping_sub(key).wrapping_sub(1));
        found.expect("the register itself has its width").1
    }

    /// A table with its valid bits as a value; its ports come as nodes, its updates at the end.
    pub(super) fn table(&mut self, [key, depth, lanes, count, first, second]: Choice) {
        let table = TableId(self.module.tables.len() as u32);
        let depth = choice::depth(depth, self.recipe.deepest);
        let laned = choice::field_lanes(lanes, self.recipe.widest);
        let fields = (0..1 + usize::from(count) % 4)
            .map(|index| self.field(index, laned, nth(if index % 2 == 0 { first } else { second }, index)))
            .collect();
        let has_valid = count / 4 % 4 != 3;
        self.module.tables.push(Table {
            name: format!("table{}", table.0),
            depth,
            address_bits: (u32::BITS - (depth - 1).leading_zeros()).max(1),
            fields,
            has_valid,
            reads: Vec::new(),
            matches: Vec::new(),
            updates: Vec::new(),
            source: SOURCE,
        });
        if has_valid {
            self.add_leaf(key, Op::TableValid(table), depth);
        }
    }

    fn field(&self, index: usize, laned: u32, number: u16) -> Field {
        let name = format!("field{index}");
        if laned == 1 || number.is_multiple_of(2) {
            return Field { name, width: self.width(number / 2), lanes: 1, lanes_per_array: 1 };
        }
        let divisors: Vec<u32> = (1..=laned).filter(|size| laned.is_multiple_of(*size)).collect();
        let lane = choice::lane_width(number / 2, laned, self.recipe.widest);
        let lanes_per_array = choice::one_of(&divisors, number / 16);
        Field { name, width: laned * lane, lanes: laned, lanes_per_array }
    }
}
