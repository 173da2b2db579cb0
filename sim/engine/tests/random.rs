//! Random netlists: every operation, registers, tables with all kinds of ports, nested sub-circuits.
//!
//! Every node is named `n<index>`, so that an engine observing everything can be compared node by node.
//! Nodes are shuffled, so operands come before and after their users.

use warpfile_hdl::rtl::bits::{Bits, words_for};
use warpfile_hdl::rtl::netlist::*;

/// A small generator of pseudo-random numbers (splitmix64).
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        (self.next() % u64::from(limit)) as u32
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize].clone()
    }

    pub(crate) fn chance(&mut self, one_in: u32) -> bool {
        self.below(one_in) == 0
    }

    /// A value that is often sparse or dense, so that compares and priority encodes see their corners.
    pub(crate) fn bits(&mut self, width: u32) -> Bits {
        let style = self.below(5);
        let words: Vec<u64> = (0..words_for(width))
            .map(|_| match style {
                0 => 0,
                1 => u64::MAX,
                2 => self.next() & self.next() & self.next(),
                _ => self.next(),
            })
            .collect();
        let mut value = Bits::from_words(words.len() as u32 * 64, &words).expect("fits").to_biguint();
        value &= Bits::ones(width).to_biguint();
        Bits::from_biguint(width, &value).expect("masked")
    }
}

/// Bounds of a random netlist.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) nodes: u32,
    pub(crate) max_width: u32,
    /// Levels of sub-circuits.
    pub(crate) levels: u32,
}

const SOURCE: SourceLine = SourceLine { file: file!(), line: 1 };

/// A netlist that depends on the seed and the shape only.
pub(crate) fn netlist(seed: u64, shape: Shape) -> Netlist {
    let mut random = Random(seed);
    let mut modules = Vec::new();
    for level in 0..=shape.levels {
        let module = Maker::new(&mut random, shape, format!("random_{level}")).build(&modules);
        modules.push(module);
    }
    Netlist { top: ModuleId(modules.len() as u32 - 1), modules }
}

struct Maker<'r> {
    random: &'r mut Random,
    shape: Shape,
    module: Module,
    /// Nodes that may be operands.
    pool: Vec<NodeId>,
}

impl<'r> Maker<'r> {
    fn new(random: &'r mut Random, shape: Shape, name: String) -> Maker<'r> {
        let module = Module {
            name,
            doc: String::new(),
            parameters: Vec::new(),
            ports: Vec::new(),
            nodes: Vec::new(),
            registers: Vec::new(),
            tables: Vec::new(),
            instances: Vec::new(),
            invariants: Vec::new(),
        };
        Maker { random, shape, module, pool: Vec::new() }
    }

    fn build(mut self, children: &[Module]) -> Module {
        self.add_inputs();
        self.add_registers();
        self.add_tables();
        self.add_node(Op::Constant(Bits::ones(1)), 1);
        for _ in 0..self.shape.nodes {
            self.grow();
        }
        if let Some(child) = children.last() {
            for index in 0..1 + self.random.below(2) {
                self.add_instance(index, ModuleId(children.len() as u32 - 1), child);
            }
        }
        self.connect_registers();
        self.add_updates();
        self.add_outputs();
        self.shuffle();
        self.module
    }

    fn width(&mut self) -> u32 {
        let width = match self.random.below(4) {
            0 => 1,
            1 => 1 + self.random.below(16),
            2 => self.random.pick(&[31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 192]),
            _ => 1 + self.random.below(self.shape.max_width),
        };
        width.min(self.shape.max_width)
    }

    fn add_node(&mut self, op: Op, width: u32) -> NodeId {
        let id = NodeId(self.module.nodes.len() as u32);
        self.module.nodes.push(Node { op, width, name: None, source: SOURCE });
        self.pool.push(id);
        id
    }

    fn width_of(&self, node: NodeId) -> u32 {
        self.module.nodes[node.index()].width
    }

    fn any(&mut self) -> NodeId {
        self.random.pick(&self.pool)
    }

    /// A node of a given width: one there is, or one cut from or filled up with another.
    fn of_width(&mut self, width: u32) -> NodeId {
        let fitting: Vec<_> =
            self.pool.iter().copied().filter(|&node| self.width_of(node) == width).collect();
        if !fitting.is_empty() && !self.random.chance(4) {
            return self.random.pick(&fitting);
        }
        let value = self.any();
        let from = self.width_of(value);
        if from > width {
            let low = self.random.below(from - width + 1);
            self.add_node(Op::Slice { value, low }, width)
        } else if self.random.chance(2) {
            self.add_node(Op::ZeroExtend(value), width)
        } else {
            self.add_node(Op::Replicate(value), width)
        }
    }

    fn add_inputs(&mut self) {
        for index in 0..3 + self.random.below(3) {
            let width = if index == 0 { 1 } else { self.width() };
            let port = PortId(index);
            self.module.ports.push(Port {
                name: format!("in{index}_i"),
                direction: Direction::Input,
                width,
                driver: None,
                valid_when: None,
            });
            self.add_node(Op::Input(port), width);
        }
    }

    fn add_registers(&mut self) {
        for index in 0..2 + self.random.below(4) {
            let width = self.width();
            let reset = if self.random.chance(3) { None } else { Some(self.random.bits(width)) };
            let name = format!("reg{index}");
            let next = NodeId(0);
            self.module.registers.push(Register { name, width, reset, next, enable: None, source: SOURCE });
            self.add_node(Op::Register(RegisterId(index)), width);
        }
    }

    fn connect_registers(&mut self) {
        for index in 0..self.module.registers.len() {
            let next = self.of_width(self.module.registers[index].width);
            let enable = if self.random.chance(2) { None } else { Some(self.of_width(1)) };
            self.module.registers[index].next = next;
            self.module.registers[index].enable = enable;
        }
    }

    fn add_tables(&mut self) {
        for index in 0..1 + self.random.below(2) {
            let depth = self.random.pick(&[1, 2, 3, 5, 8, 13, 64, 70]);
            let laned = self.random.pick(&[1, 2, 3, 8, 32, 70]);
            let fields = (0..1 + self.random.below(3)).map(|field| self.field(field, laned)).collect();
            let has_valid = !self.random.chance(4);
            let table = TableId(index);
            self.module.tables.push(Table {
                name: format!("table{index}"),
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
                self.add_node(Op::TableValid(table), depth);
            }
        }
    }

    fn field(&mut self, index: u32, laned: u32) -> Field {
        let lanes = if self.random.chance(2) { laned } else { 1 };
        let width = if lanes == 1 { self.width() } else { lanes * self.random.pick(&[1, 5, 8, 32, 64, 70]) };
        let divisors: Vec<_> = (1..=lanes).filter(|size| lanes.is_multiple_of(*size)).collect();
        let lanes_per_array = self.random.pick(&divisors);
        Field { name: format!("field{index}"), width, lanes, lanes_per_array }
    }

    fn add_read(&mut self, table: TableId) {
        let address_bits = self.module.tables[table.index()].address_bits;
        let (address, enable) = (self.of_width(address_bits), self.of_width(1));
        let clocked = self.random.chance(2);
        let lanes = self.module.tables[table.index()].fields.iter().map(|field| field.lanes).max();
        let lanes = lanes.filter(|_| self.random.chance(2)).map(|lanes| self.of_width(lanes));
        let description = &mut self.module.tables[table.index()];
        let port = description.reads.len() as u32;
        let name = format!("read{port}");
        description.reads.push(ReadPort { name, address, enable, lanes, clocked, source: SOURCE });
        let widths: Vec<_> = description.fields.iter().map(|field| field.width).collect();
        let has_valid = description.has_valid;
        for (field, width) in (0..).zip(widths) {
            self.add_node(Op::TableRead { table, port, field }, width);
        }
        if has_valid {
            self.add_node(Op::TableReadValid { table, port }, 1);
        }
    }

    fn add_match(&mut self, table: TableId) {
        let condition = self.row_condition(table, 3);
        let enable = self.of_width(1);
        let description = &mut self.module.tables[table.index()];
        let (port, depth) = (description.matches.len() as u32, description.depth);
        let name = format!("match{port}");
        description.matches.push(MatchPort { name, enable, condition, source: SOURCE });
        self.add_node(Op::TableMatch { table, port }, depth);
    }

    /// A one-bit expression over a row.
    fn row_condition(&mut self, table: TableId, budget: u32) -> RowExpr {
        let depth = self.module.tables[table.index()].depth;
        match self.random.below(if budget == 0 { 3 } else { 8 }) {
            0 if self.module.tables[table.index()].has_valid => RowExpr::Valid,
            0 | 1 => RowExpr::PerRow(self.of_width(depth)),
            2 => RowExpr::Outer(self.of_width(1)),
            3 => RowExpr::Not(Box::new(self.row_condition(table, budget - 1))),
            4 => {
                let (field, width) = self.row_field(table);
                RowExpr::Slice(Box::new(field), self.random.below(width), 1)
            }
            5 => {
                let (a, b) = (self.row_condition(table, budget - 1), self.row_condition(table, budget - 1));
                self.row_pair(a, b)
            }
            _ => {
                let (a, width) = self.row_field(table);
                let b = RowExpr::Outer(self.of_width(width));
                let a = if self.random.chance(3) { RowExpr::Not(Box::new(a)) } else { a };
                let mixed = RowExpr::And(Box::new(a.clone()), Box::new(b.clone()));
                let a = if self.random.chance(3) { mixed } else { a };
                let (a, b) = (Box::new(a), Box::new(b));
                if self.random.chance(2) { RowExpr::Eq(a, b) } else { RowExpr::Lt(a, b) }
            }
        }
    }

    fn row_pair(&mut self, a: RowExpr, b: RowExpr) -> RowExpr {
        let (a, b) = (Box::new(a), Box::new(b));
        match self.random.below(4) {
            0 => RowExpr::And(a, b),
            1 => RowExpr::Or(a, b),
            2 => RowExpr::Eq(a, b),
            _ => RowExpr::Lt(a, b),
        }
    }

    fn row_field(&mut self, table: TableId) -> (RowExpr, u32) {
        let fields = &self.module.tables[table.index()].fields;
        let index = self.random.below(fields.len() as u32);
        let width = fields[index as usize].width;
        let low = self.random.below(width);
        if self.random.chance(2) {
            return (RowExpr::Field(index), width);
        }
        let width = 1 + self.random.below(width - low);
        (RowExpr::Slice(Box::new(RowExpr::Field(index)), low, width), width)
    }

    fn add_updates(&mut self) {
        for table in (0..self.module.tables.len() as u32).map(TableId) {
            for index in 0..self.random.below(6) {
                let update = self.update(table, index);
                self.module.tables[table.index()].updates.push(update);
            }
        }
    }

    fn update(&mut self, table: TableId, index: u32) -> Update {
        let description = self.module.tables[table.index()].clone();
        let (address, enable) = (self.of_width(description.address_bits), self.of_width(1));
        let name = format!("update{index}");
        match self.random.below(if description.has_valid { 6 } else { 3 }) {
            0 | 1 => {
                let mut fields = Vec::new();
                for (index, field) in (0..).zip(&description.fields) {
                    if self.random.chance(3) {
                        continue;
                    }
                    let value = self.of_width(field.width);
                    let masked = field.lanes > 1 && !self.random.chance(3);
                    let lanes = if masked { Some(self.of_width(field.lanes)) } else { None };
                    fields.push(FieldWrite { field: index, value, lanes });
                }
                Update::Write { name, address, enable, fields, set_valid: self.random.chance(2) }
            }
            2 => {
                let field = self.random.below(description.fields.len() as u32);
                let amount = self.of_width(description.fields[field as usize].width);
                Update::Add { name, address, enable, field, amount }
            }
            3 => Update::ClearRow { address, enable },
            4 => Update::ClearRows { rows: self.of_width(description.depth), enable },
            _ => Update::SetRows { rows: self.of_width(description.depth), enable },
        }
    }

    fn add_instance(&mut self, index: u32, module: ModuleId, child: &Module) {
        let instance = InstanceId(index);
        let mut inputs = Vec::new();
        let mut outputs = Vec::new();
        for (id, port) in (0..).map(PortId).zip(&child.ports) {
            match port.direction {
                Direction::Input => inputs.push((id, self.of_width(port.width))),
                Direction::Output => outputs.push((id, port.width)),
            }
        }
        let name = format!("child{index}");
        self.module.instances.push(Instance { name, module, inputs, source: SOURCE });
        for (port, width) in outputs {
            self.add_node(Op::InstanceOutput { instance, port }, width);
        }
    }

    fn add_outputs(&mut self) {
        for index in 0..3 {
            let driver = self.any();
            let valid_when = if self.random.chance(2) { Some(self.of_width(1)) } else { None };
            self.module.ports.push(Port {
                name: format!("out{index}_o"),
                direction: Direction::Output,
                width: self.width_of(driver),
                driver: Some(driver),
                valid_when,
            });
        }
    }

    /// Adds one node of a random kind, or a port of a table.
    fn grow(&mut self) {
        let a = self.any();
        let width = self.width_of(a);
        match self.random.below(33) {
            0 => _ = self.add_node(Op::Not(a), width),
            1 => self.grow_pair(a, width, Op::And),
            2 => self.grow_pair(a, width, Op::Or),
            3 => self.grow_pair(a, width, Op::Xor),
            4 => self.grow_pair(a, width, Op::Add),
            5 => self.grow_pair(a, width, Op::Sub),
            6 => self.grow_pair(a, width, Op::Mul),
            7 => self.grow_pair(a, 1, Op::Eq),
            8 => self.grow_pair(a, 1, Op::Lt),
            9 => self.grow_shift(a, Op::ShiftLeft),
            10 => self.grow_shift(a, Op::ShiftRight),
            11 => {
                let (condition, otherwise) = (self.of_width(1), self.of_width(width));
                self.add_node(Op::Mux { condition, then: a, otherwise }, width);
            }
            12 => self.grow_concat(),
            13 => {
                let low = self.random.below(width);
                let kept = 1 + self.random.below(width - low);
                self.add_node(Op::Slice { value: a, low }, kept);
            }
            14 => {
                let wider = width + self.random.below(70);
                self.add_node(Op::ZeroExtend(a), wider);
            }
            15 => _ = self.add_node(Op::ReduceOr(a), 1),
            16 => _ = self.add_node(Op::ReduceAnd(a), 1),
            17 => _ = self.add_node(Op::ReduceXor(a), 1),
            18 => _ = self.add_node(Op::PriorityEncode(a), index_bits(width)),
            19 => _ = self.add_node(Op::LowestOne(a), width),
            20 => {
                let index = self.small();
                let width = self.width();
                self.add_node(Op::Decode(index), width);
            }
            21 => _ = self.add_node(Op::PopCount(a), u32::BITS - width.leading_zeros()),
            22 => {
                let (lanes, lane) = self.lanes();
                let (vector, index) = (self.of_width(lanes * lane), self.small());
                self.add_node(Op::LaneSelect { vector, index }, lane);
            }
            23 => {
                let (lanes, lane) = self.lanes();
                let (vector, select) = (self.of_width(lanes * lane), self.of_width(lanes));
                self.add_node(Op::OneHotSelect { select, vector }, lane);
            }
            24 => {
                let (lanes, lane) = self.lanes();
                let mask = self.of_width(lanes);
                let (then, otherwise) = (self.of_width(lanes * lane), self.of_width(lanes * lane));
                self.add_node(Op::LaneMux { mask, then, otherwise }, lanes * lane);
            }
            25 => {
                let (lanes, lane) = self.lanes();
                let (a, b) = (self.of_width(lanes * lane), self.of_width(lanes * lane));
                self.add_node(Op::LaneEq(a, b), lanes);
            }
            26 => {
                let (lanes, lane) = self.lanes();
                let (a, b) = (self.of_width(lanes * lane), self.of_width(lanes * lane));
                self.add_node(Op::LaneAdd { a, b, lanes }, lanes * lane);
            }
            27 => {
                let (lanes, lane) = self.lanes();
                let a = self.of_width(lanes);
                self.add_node(Op::SpreadLanes(a), lanes * lane);
            }
            28 => {
                let (groups, size) = self.lanes();
                let a = self.of_width(groups * size);
                self.add_node(Op::GroupOr(a), groups);
            }
            29 => {
                self.add_node(Op::PrefixOr(a), width);
                let (lanes, lane) = self.lanes();
                let a = self.of_width(lanes);
                self.add_node(Op::PrefixCount(a), lanes * lane);
            }
            30 => {
                let rows: Vec<_> = (0..1 + self.random.below(70)).map(|_| self.random.bits(width)).collect();
                let count = rows.len() as u32;
                self.add_node(Op::XorHash { value: a, rows }, count);
            }
            31 => {
                let table = TableId(self.random.below(self.module.tables.len() as u32));
                if self.random.chance(2) { self.add_read(table) } else { self.add_match(table) }
            }
            _ => {
                let width = self.width();
                let bits = self.random.bits(width);
                self.add_node(Op::Constant(bits), width);
                self.add_node(Op::Wire(a), self.width_of(a));
            }
        }
    }

    fn grow_pair(&mut self, a: NodeId, width: u32, op: impl Fn(NodeId, NodeId) -> Op) {
        let b = self.of_width(self.width_of(a));
        let (a, b) = if self.random.chance(2) { (a, b) } else { (b, a) };
        self.add_node(op(a, b), width);
    }

    fn grow_shift(&mut self, a: NodeId, op: impl Fn(NodeId, NodeId) -> Op) {
        let amount = self.small();
        self.add_node(op(a, amount), self.width_of(a));
    }

    fn grow_concat(&mut self) {
        let parts: Vec<_> = (0..1 + self.random.below(4)).map(|_| self.any()).collect();
        let width = parts.iter().map(|&part| self.width_of(part)).sum();
        if width <= 2 * self.shape.max_width {
            self.add_node(Op::Concat(parts), width);
        }
    }

    /// An index: mostly narrow, so that it is often in range; sometimes of any width.
    fn small(&mut self) -> NodeId {
        if self.random.chance(5) {
            return self.any();
        }
        let width = 1 + self.random.below(8);
        self.of_width(width)
    }

    fn lanes(&mut self) -> (u32, u32) {
        let lanes = self.random.pick(&[1, 2, 3, 8, 32, 65]);
        let lane = self.random.pick(&[1, 2, 7, 8, 16, 32, 64, 65, 128]);
        if lanes * lane <= self.shape.max_width.max(64) { (lanes, lane) } else { (3, 7) }
    }

    /// Renumbers the nodes at random, then names them.
    fn shuffle(&mut self) {
        let count = self.module.nodes.len();
        let mut places: Vec<_> = (0..count as u32).map(NodeId).collect();
        for last in (1..count).rev() {
            places.swap(last, self.random.below(last as u32 + 1) as usize);
        }
        let renumber = &mut |node: &mut NodeId| *node = places[node.index()];
        self.module.visit_roots_mut(renumber);
        for node in &mut self.module.nodes {
            node.op.visit_operands_mut(renumber);
        }
        let mut nodes: Vec<_> = places.iter().zip(self.module.nodes.drain(..)).collect();
        nodes.sort_by_key(|(place, _)| **place);
        self.module.nodes = nodes.into_iter().map(|(_, node)| node).collect();
        for (index, node) in self.module.nodes.iter_mut().enumerate() {
            node.name = Some(format!("n{index}"));
        }
    }
}

/// Bits that hold every index of a value of `width` bits.
pub(crate) fn index_bits(width: u32) -> u32 {
    (u32::BITS - (width - 1).leading_zeros()).max(1)
}
