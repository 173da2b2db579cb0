//! Turns nodes into instructions: one word where the values fit, slices of words where they do not.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::{NodeId, Op, PortId, TableId};

use super::ZERO;
use super::inst::{Inst, Part, element_bytes};
use super::layout::{Builder, words};

/// Places and widths for an operation on one value: `n` words and `from` bits in, `width` bits out.
struct Unary {
    d: u32,
    a: u32,
    n: u32,
    from: u32,
    width: u32,
}

/// Places and widths for an operation on two values: `n` and `b_n` words in, `width` bits out.
struct Binary {
    d: u32,
    a: u32,
    b: u32,
    n: u32,
    b_n: u32,
    width: u32,
}

impl Builder<'_> {
    /// Gives `node` a place and, where it is computed, an instruction.
    pub fn lower(&mut self, node: NodeId) {
        let flat = self.flat;
        self.origin = node.0;
        let width = self.width(node);
        if let Some(bits) = self.fixed.get(&node) {
            return self.set_slot(node, self.constant(bits));
        }
        if let Some(operand) = self.unchanged(node) {
            return self.set_slot(node, self.slot(operand));
        }
        let slot = match &flat.nodes[node.index()].item.op {
            Op::Input(port) => self.input_slot(*port),
            Op::Constant(_) => unreachable!("a constant is fixed"),
            Op::Wire(a) => self.slot(*a),
            Op::Register(id) => self.plan.registers[id.index()].q,
            Op::TableRead { table, port, field } => self.lower_read(*table, *port, *field),
            Op::TableReadValid { table, port } => self.lower_read_valid(*table, *port),
            Op::TableValid(table) => self.valid(*table).unwrap_or(ZERO),
            Op::TableMatch { table, port } => self.lower_match(*table, *port),
            Op::InstanceOutput { .. } => unreachable!("flattening turned outputs of sub-circuits into wires"),
            Op::And(a, b) => self.binary(
                *a,
                *b,
                width,
                |o| Inst::And { d: o.d, a: o.a, b: o.b },
                |o| Inst::WideAnd { d: o.d, a: o.a, b: o.b, n: o.n },
            ),
            Op::Or(a, b) => self.binary(
                *a,
                *b,
                width,
                |o| Inst::Or { d: o.d, a: o.a, b: o.b },
                |o| Inst::WideOr { d: o.d, a: o.a, b: o.b, n: o.n },
            ),
            Op::Xor(a, b) => self.binary(
                *a,
                *b,
                width,
                |o| Inst::Xor { d: o.d, a: o.a, b: o.b },
                |o| Inst::WideXor { d: o.d, a: o.a, b: o.b, n: o.n },
            ),
            Op::Add(a, b) => self.binary(
                *a,
                *b,
                width,
                |o| Inst::Add { d: o.d, a: o.a, b: o.b, width: o.width },
                |o| Inst::WideAdd { d: o.d, a: o.a, b: o.b, width: o.width },
            ),
            Op::Sub(a, b) => self.binary(
                *a,
                *b,
                width,
                |o| Inst::Sub { d: o.d, a: o.a, b: o.b, width: o.width },
                |o| Inst::WideSub { d: o.d, a: o.a, b: o.b, width: o.width },
            ),
            Op::Mul(a, b) => self.binary(
                *a,
                *b,
                width,
                |o| Inst::Mul { d: o.d, a: o.a, b: o.b, width: o.width },
                |o| Inst::WideMul { d: o.d, a: o.a, b: o.b, width: o.width },
            ),
            Op::Eq(a, b) => self.binary(
                *a,
                *b,
                width,
                |o| Inst::Eq { d: o.d, a: o.a, b: o.b },
                |o| Inst::WideEq { d: o.d, a: o.a, b: o.b, n: o.n },
            ),
            Op::Lt(a, b) => self.binary(
                *a,
                *b,
                width,
                |o| Inst::Lt { d: o.d, a: o.a, b: o.b },
                |o| Inst::WideLt { d: o.d, a: o.a, b: o.b, n: o.n },
            ),
            Op::ShiftLeft(a, b) => self.binary(
                *a,
                *b,
                width,
                |o| Inst::ShiftLeft { d: o.d, a: o.a, b: o.b, width: o.width },
                |o| Inst::WideShiftLeft { d: o.d, a: o.a, b: o.b, b_n: o.b_n, width: o.width },
            ),
            Op::ShiftRight(a, b) => self.binary(
                *a,
                *b,
                width,
                |o| Inst::ShiftRight { d: o.d, a: o.a, b: o.b },
                |o| Inst::WideShiftRight { d: o.d, a: o.a, b: o.b, b_n: o.b_n, width: o.width },
            ),
            Op::ReduceOr(a) => self.unary(
                *a,
                width,
                |o| Inst::NonZero { d: o.d, a: o.a },
                |o| Inst::WideNonZero { d: o.d, a: o.a, n: o.n },
            ),
            Op::ReduceAnd(a) => self.unary(
                *a,
                width,
                |o| Inst::AllOnes { d: o.d, a: o.a, width: o.from },
                |o| Inst::WideAllOnes { d: o.d, a: o.a, width: o.from },
            ),
            Op::ReduceXor(a) => self.unary(
                *a,
                width,
                |o| Inst::Parity { d: o.d, a: o.a },
                |o| Inst::WideParity { d: o.d, a: o.a, n: o.n },
            ),
            Op::PriorityEncode(a) => self.unary(
                *a,
                width,
                |o| Inst::FirstOne { d: o.d, a: o.a },
                |o| Inst::WideFirstOne { d: o.d, a: o.a, n: o.n },
            ),
            Op::LowestOne(a) => self.unary(
                *a,
                width,
                |o| Inst::LowestOne { d: o.d, a: o.a },
                |o| Inst::WideLowestOne { d: o.d, a: o.a, n: o.n },
            ),
            Op::Decode(a) => self.unary(
                *a,
                width,
                |o| Inst::Decode { d: o.d, a: o.a, width: o.width },
                |o| Inst::WideDecode { d: o.d, a: o.a, a_n: o.n, width: o.width },
            ),
            Op::PopCount(a) => self.unary(
                *a,
                width,
                |o| Inst::PopCount { d: o.d, a: o.a },
                |o| Inst::WidePopCount { d: o.d, a: o.a, n: o.n },
            ),
            Op::Not(a) => self.unary(
                *a,
                width,
                |o| Inst::Not { d: o.d, a: o.a, width: o.width },
                |o| Inst::WideNot { d: o.d, a: o.a, width: o.width },
            ),
            Op::Replicate(a) => self.unary_any(*a, width, |o| Inst::Replicate {
                d: o.d,
                a: o.a,
                from: o.from,
                width: o.width,
            }),
            Op::SpreadLanes(a) => self.unary_any(*a, width, |o| Inst::SpreadLanes {
                d: o.d,
                a: o.a,
                lanes: o.from,
                lane: o.width / o.from,
            }),
            Op::GroupOr(a) => self.unary_any(*a, width, |o| Inst::GroupOr {
                d: o.d,
                a: o.a,
                groups: o.width,
                size: o.from / o.width,
            }),
            Op::PrefixOr(a) => {
                self.unary_any(*a, width, |o| Inst::PrefixOr { d: o.d, a: o.a, width: o.width })
            }
            Op::PrefixCount(a) => self.unary_any(*a, width, |o| Inst::PrefixCount {
                d: o.d,
                a: o.a,
                lanes: o.from,
                lane: o.width / o.from,
            }),
            Op::Mux { condition, then, otherwise } => self.lower_mux(*condition, *then, *otherwise, width),
            Op::Concat(parts) => self.lower_concat(parts, width),
            Op::Slice { value, low } => self.lower_slice(*value, *low, width),
            Op::ZeroExtend(a) => self.lower_zero_extend(*a, width),
            Op::LaneSelect { vector, index } => self.lower_lane_select(*vector, *index, width),
            Op::OneHotSelect { select, vector } => self.lower_one_hot_select(*select, *vector, width),
            Op::LaneMux { mask, then, otherwise } => self.lower_lane_mux(*mask, *then, *otherwise, width),
            Op::LaneEq(a, b) => self.lower_lane_eq(*a, *b, width),
            Op::LaneAdd { a, b, lanes } => self.lower_lane_add(*a, *b, *lanes, width),
            Op::XorHash { value, rows } => self.lower_hash(*value, rows),
        };
        self.set_slot(node, slot);
    }

    fn input_slot(&self, port: PortId) -> u32 {
        let input = self.flat.inputs.iter().find(|input| input.port == port);
        let name = &input.expect("an input of the outermost circuit").name;
        self.plan.inputs.start + self.plan.in_ports[name].offset
    }

    fn lower_read(&mut self, table: TableId, port: u32, field: u32) -> u32 {
        let read = &self.flat.tables[table.index()].item.reads[port as usize];
        if read.clocked {
            return self.captures[table.index()][port as usize].fields[field as usize];
        }
        self.emit_read(table, port, field)
    }

    /// Reads a field of the row a port addresses.
    pub fn emit_read(&mut self, table: TableId, port: u32, field: u32) -> u32 {
        let read = &self.flat.tables[table.index()].item.reads[port as usize];
        let (address, base) = (self.slot(read.address), self.rows(table, field));
        let layout = &self.plan.tables[table.index()];
        let (depth, width) = (layout.depth, layout.fields[field as usize].width);
        let bytes = element_bytes(width);
        match words(width) {
            1 => self.emit(1, |d| Inst::Read { d, address, base, depth, bytes }),
            n => self.emit(n, |d| Inst::WideRead { d, address, base, depth, n }),
        }
    }

    fn lower_read_valid(&mut self, table: TableId, port: u32) -> u32 {
        let read = &self.flat.tables[table.index()].item.reads[port as usize];
        match self.captures[table.index()][port as usize].valid {
            Some(captured) if read.clocked => captured,
            Some(_) | None => self.emit_read_valid(table, port),
        }
    }

    /// Reads the valid bit of the row a port addresses.
    pub fn emit_read_valid(&mut self, table: TableId, port: u32) -> u32 {
        let read = &self.flat.tables[table.index()].item.reads[port as usize];
        let (address, depth) = (self.slot(read.address), self.plan.tables[table.index()].depth);
        match self.valid(table) {
            Some(base) => self.emit(1, |d| Inst::ReadBit { d, address, base, depth }),
            None => ZERO,
        }
    }

    fn unary(
        &mut self,
        a: NodeId,
        width: u32,
        word: impl FnOnce(Unary) -> Inst,
        wide: impl FnOnce(Unary) -> Inst,
    ) -> u32 {
        let from = self.width(a);
        let (a, n) = (self.slot(a), words(from));
        let is_word = n == 1 && words(width) == 1;
        self.emit(words(width), |d| {
            let operands = Unary { d, a, n, from, width };
            if is_word { word(operands) } else { wide(operands) }
        })
    }

    fn unary_any(&mut self, a: NodeId, width: u32, inst: impl FnOnce(Unary) -> Inst) -> u32 {
        let from = self.width(a);
        let (a, n) = (self.slot(a), words(from));
        self.emit(words(width), |d| inst(Unary { d, a, n, from, width }))
    }

    fn binary(
        &mut self,
        a: NodeId,
        b: NodeId,
        width: u32,
        word: impl FnOnce(Binary) -> Inst,
        wide: impl FnOnce(Binary) -> Inst,
    ) -> u32 {
        let (n, b_n) = (words(self.width(a)), words(self.width(b)));
        let (a, b) = (self.slot(a), self.slot(b));
        self.emit(words(width), |d| {
            let operands = Binary { d, a, b, n, b_n, width };
            if n == 1 && b_n == 1 { word(operands) } else { wide(operands) }
        })
    }

    fn lower_mux(&mut self, condition: NodeId, then: NodeId, otherwise: NodeId, width: u32) -> u32 {
        let (condition, then, otherwise) = (self.slot(condition), self.slot(then), self.slot(otherwise));
        if then == otherwise {
            return then;
        }
        match words(width) {
            1 => self.emit(1, |d| Inst::Mux { d, condition, then, otherwise }),
            n => self.emit(n, |d| Inst::WideMux { d, condition, then, otherwise, n }),
        }
    }

    fn lower_concat(&mut self, parts: &[NodeId], width: u32) -> u32 {
        let mut low = 0;
        let mut placed = Vec::with_capacity(parts.len());
        for &part in parts {
            let width = self.width(part);
            placed.push(Part { a: self.slot(part), low, width });
            low += width;
        }
        if let ([first, second], 1) = (placed.as_slice(), words(width)) {
            let (a, b, shift) = (first.a, second.a, second.low);
            return self.emit(1, |d| Inst::Join { d, a, b, shift });
        }
        let start = self.plan.parts.len() as u32;
        let count = placed.len() as u32;
        self.plan.parts.extend(placed);
        let n = words(width);
        self.emit(n, |d| Inst::Concat { d, n, parts: start, count })
    }

    fn lower_slice(&mut self, value: NodeId, low: u32, width: u32) -> u32 {
        let reaches_top = low + width == self.width(value) || width.is_multiple_of(64);
        let a = self.slot(value) + low / 64;
        let low = low % 64;
        if low == 0 && reaches_top {
            return a;
        }
        match words(width) {
            1 if low + width <= 64 => self.emit(1, |d| Inst::Slice { d, a, low, width }),
            n => self.emit(n, |d| Inst::WideSlice { d, a, low, width }),
        }
    }

    fn lower_zero_extend(&mut self, a: NodeId, width: u32) -> u32 {
        let (from, n) = (self.width(a), words(width));
        let a = self.slot(a);
        if words(from) == n {
            return a;
        }
        let part = Part { a, low: 0, width: from };
        let parts = self.plan.parts.len() as u32;
        self.plan.parts.push(part);
        self.emit(n, |d| Inst::Concat { d, n, parts, count: 1 })
    }

    fn lower_lane_select(&mut self, vector: NodeId, index: NodeId, lane: u32) -> u32 {
        let (lanes, index_n) = (self.width(vector) / lane, words(self.width(index)));
        let (vector, index) = (self.slot(vector), self.slot(index));
        self.emit(words(lane), |d| Inst::LaneSelect { d, vector, index, index_n, lanes, lane })
    }

    fn lower_one_hot_select(&mut self, select: NodeId, vector: NodeId, lane: u32) -> u32 {
        let lanes = self.width(select);
        let (select, vector) = (self.slot(select), self.slot(vector));
        self.emit(words(lane), |d| Inst::OneHotSelect { d, select, vector, lanes, lane })
    }

    fn lower_lane_mux(&mut self, mask: NodeId, then: NodeId, otherwise: NodeId, width: u32) -> u32 {
        let lanes = self.width(mask);
        let (mask, then, otherwise) = (self.slot(mask), self.slot(then), self.slot(otherwise));
        let lane = width / lanes;
        self.emit(words(width), |d| Inst::LaneMux { d, mask, then, otherwise, lanes, lane })
    }

    fn lower_lane_eq(&mut self, a: NodeId, b: NodeId, lanes: u32) -> u32 {
        let lane = self.width(a) / lanes;
        let (a, b) = (self.slot(a), self.slot(b));
        self.emit(words(lanes), |d| Inst::LaneEq { d, a, b, lanes, lane })
    }

    fn lower_lane_add(&mut self, a: NodeId, b: NodeId, lanes: u32, width: u32) -> u32 {
        let (a, b) = (self.slot(a), self.slot(b));
        self.emit(words(width), |d| Inst::LaneAdd { d, a, b, lanes, lane: width / lanes })
    }

    fn lower_hash(&mut self, value: NodeId, rows: &[Bits]) -> u32 {
        let (a, n) = (self.slot(value), words(self.width(value)));
        let masks = self.plan.masks.len() as u32;
        rows.iter().for_each(|row| self.plan.masks.extend_from_slice(row.words()));
        let rows = rows.len() as u32;
        self.emit(words(rows), |d| Inst::XorHash { d, a, n, masks, rows })
    }
}
