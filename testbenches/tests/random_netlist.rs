//! Netlists made from random numbers: every operation, in widths and depths that are not round.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::*;

const HERE: SourceLine = SourceLine { file: "random", line: 1 };

/// Widest value made.
const WIDEST: u32 = 200;

/// Numbers that decide one node; shrinking them shrinks the netlist.
pub type Choice = [u16; 4];

/// Which constants a random netlist has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Constants {
    /// All zeros and all ones: what corner cases are made of.
    Extreme,
    /// Neither: Verilator finds out what the extreme ones decide, and warns of it.
    Moderate,
}

/// A netlist from `shape` (widths and depths of state) and one node a choice.
pub fn random_netlist(constants: Constants, shape: Choice, choices: &[Choice]) -> Netlist {
    let mut maker = Maker::new(constants);
    maker.inputs();
    maker.state(shape);
    for (i, choice) in choices.iter().enumerate() {
        let node = maker.operation(*choice);
        if choice[0] % 7 == 0 {
            maker.module.nodes[node.index()].name = Some(format!("named_{i}"));
        }
    }
    maker.close(shape);
    Netlist { modules: vec![maker.module], top: ModuleId(0) }
}

struct Maker {
    constants: Constants,
    module: Module,
    values: Vec<NodeId>,
    used: Vec<bool>,
}

impl Maker {
    fn new(constants: Constants) -> Maker {
        let module = Module {
            name: "random".into(),
            doc: "A random netlist.".into(),
            parameters: vec![],
            ports: vec![],
            nodes: vec![],
            registers: vec![],
            tables: vec![],
            instances: vec![],
            invariants: vec![],
        };
        Maker { constants, module, values: vec![], used: vec![] }
    }

    fn add(&mut self, op: Op, width: u32) -> NodeId {
        self.module.nodes.push(Node { op, width, name: None, source: HERE });
        self.used.push(false);
        NodeId(self.module.nodes.len() as u32 - 1)
    }

    fn keep(&mut self, op: Op, width: u32) -> NodeId {
        let node = self.add(op, width);
        self.values.push(node);
        node
    }

    fn width(&self, node: NodeId) -> u32 {
        self.module.nodes[node.index()].width
    }

    /// Some value made so far.
    fn pick(&mut self, choice: u16) -> NodeId {
        let node = self.values[usize::from(choice) % self.values.len()];
        self.used[node.index()] = true;
        node
    }

    /// Some value made so far, in `width` bits.
    fn pick_wide(&mut self, choice: u16, width: u32) -> NodeId {
        let node = self.pick(choice);
        self.fit(node, width, u32::from(choice >> 8))
    }

    fn fit(&mut self, node: NodeId, width: u32, from: u32) -> NodeId {
        let own = self.width(node);
        match own.cmp(&width) {
            std::cmp::Ordering::Equal => node,
            std::cmp::Ordering::Greater => {
                self.add(Op::Slice { value: node, low: from % (own - width + 1) }, width)
            }
            std::cmp::Ordering::Less if from.is_multiple_of(3) => self.add(Op::Replicate(node), width),
            std::cmp::Ordering::Less => self.add(Op::ZeroExtend(node), width),
        }
    }

    fn inputs(&mut self) {
        for (i, width) in [1, 1, 2, 3, 5, 8, 33, 64, 70].into_iter().enumerate() {
            let (name, direction) = (format!("in{i}_i"), Direction::Input);
            self.module.ports.push(Port { name, direction, width, driver: None, valid_when: None });
            self.keep(Op::Input(PortId(i as u32)), width);
        }
    }

    fn state(&mut self, shape: Choice) {
        for (i, width) in [1, u32::from(shape[0] % 90) + 1, 6].into_iter().enumerate() {
            let reset = (i != 2).then(|| Bits::ones(width));
            let next = NodeId(0);
            let name = format!("state{i}");
            self.module.registers.push(Register { name, width, reset, next, enable: None, source: HERE });
            self.keep(Op::Register(RegisterId(i as u32)), width);
        }
        let lane = [1, 3, 8][usize::from(shape[2]) % 3];
        for (i, depth) in [[1, 2, 3][usize::from(shape[0]) % 3], [4, 5, 7, 9][usize::from(shape[1]) % 4]]
            .into_iter()
            .enumerate()
        {
            self.table(i as u32, depth, lane, shape);
        }
    }

    /// A table with a plain, a laned and a counting field, two read ports and a match port.
    fn table(&mut self, index: u32, depth: u32, lane: u32, shape: Choice) {
        let id = TableId(index);
        let address_bits = (u32::BITS - (depth - 1).leading_zeros()).max(1);
        let field = |name: &str, width: u32, lanes: u32| Field {
            name: name.into(),
            width,
            lanes,
            lanes_per_array: 1,
        };
        let fields = vec![
            field("tag", 1 + u32::from(shape[3] % 40), 1),
            field("data", 4 * lane, 4),
            field("uses", 5, 1),
        ];
        let mut reads = Vec::new();
        for (name, clocked) in [("look", false), ("take", true)] {
            let address = self.pick_wide(shape[1].wrapping_add(index as u16), address_bits);
            let enable = self.pick_wide(shape[2], 1);
            reads.push(ReadPort { name: name.into(), address, enable, lanes: None, clocked, source: HERE });
        }
        let enable = self.pick_wide(0, 1);
        let condition = self.row_condition(shape, depth, fields[0].width, fields[1].width);
        self.module.tables.push(Table {
            name: format!("table{index}"),
            depth,
            address_bits,
            fields: fields.clone(),
            has_valid: true,
            reads,
            matches: vec![MatchPort { name: "probe".into(), enable, condition, source: HERE }],
            updates: vec![],
            source: HERE,
        });
        for port in 0..2 {
            for (field, record) in fields.iter().enumerate() {
                self.keep(Op::TableRead { table: id, port, field: field as u32 }, record.width);
            }
            self.keep(Op::TableReadValid { table: id, port }, 1);
        }
        self.keep(Op::TableMatch { table: id, port: 0 }, depth);
        self.keep(Op::TableValid(id), depth);
    }

    fn row_condition(&mut self, shape: Choice, depth: u32, tag: u32, data: u32) -> RowExpr {
        let wanted = RowExpr::Outer(self.pick_wide(shape[3], tag));
        let low = (tag - 1).min(1);
        let part = |e: RowExpr| Box::new(RowExpr::Slice(Box::new(e), low, tag - low));
        let equal = match shape[3] % 3 {
            0 => RowExpr::Eq(part(RowExpr::Field(0)), part(wanted)),
            1 => RowExpr::Lt(Box::new(RowExpr::Field(0)), Box::new(wanted)),
            _ => RowExpr::Lt(
                part(RowExpr::And(Box::new(wanted), Box::new(RowExpr::Not(Box::new(RowExpr::Field(0)))))),
                part(RowExpr::Field(0)),
            ),
        };
        let per_row = RowExpr::PerRow(self.pick_wide(shape[2], depth));
        let either = RowExpr::Or(Box::new(equal), Box::new(per_row));
        let match_data = shape[0].is_multiple_of(2);
        let valid = if match_data {
            let zero = RowExpr::Outer(self.add(Op::Constant(Bits::zero(data)), data));
            RowExpr::Not(Box::new(RowExpr::Eq(Box::new(RowExpr::Field(1)), Box::new(zero))))
        } else {
            RowExpr::Valid
        };
        RowExpr::And(Box::new(either), Box::new(valid))
    }

    /// One node of an operation that `choice` names.
    fn operation(&mut self, [kind, x, y, z]: Choice) -> NodeId {
        let a = self.pick(x);
        let width = self.width(a);
        let lanes = [1, 2, 3, 4, 8][usize::from(z) % 5];
        match kind % 33 {
            0 => self.keep(Op::Not(a), width),
            1 => self.pair(a, y, Op::And, width),
            2 => self.pair(a, y, Op::Or, width),
            3 => self.pair(a, y, Op::Xor, width),
            4 => self.pair(a, y, Op::Add, width),
            5 => self.pair(a, y, Op::Sub, width),
            6 => self.pair(a, y, Op::Mul, width),
            7 => self.pair(a, y, Op::Eq, 1),
            8 => self.pair(a, y, Op::Lt, 1),
            9 => self.shift(a, y, Op::ShiftLeft),
            10 => self.shift(a, y, Op::ShiftRight),
            11 => {
                let (condition, otherwise) = (self.pick_wide(y, 1), self.pick_wide(z, width));
                self.keep(Op::Mux { condition, then: a, otherwise }, width)
            }
            12 => {
                let parts: Vec<NodeId> = [x, y, z].iter().map(|&c| self.pick(c)).collect();
                let total = parts.iter().map(|&p| self.width(p)).sum();
                if total > WIDEST {
                    self.keep(Op::Not(a), width)
                } else {
                    self.keep(Op::Concat(parts), total)
                }
            }
            13 => {
                let low = u32::from(y) % width;
                let taken = 1 + u32::from(z) % (width - low);
                self.keep(Op::Slice { value: a, low }, taken)
            }
            14 => self.keep(Op::ZeroExtend(a), width + u32::from(y % 9)),
            15 => self.keep(Op::ReduceOr(a), 1),
            16 => self.keep(Op::ReduceAnd(a), 1),
            17 => self.keep(Op::ReduceXor(a), 1),
            18 => self.keep(Op::PriorityEncode(a), bits_for(width - 1)),
            19 => self.keep(Op::LowestOne(a), width),
            20 => self.keep(Op::Decode(a), 1 + u32::from(y) % 40),
            21 => self.keep(Op::PopCount(a), bits_for(width)),
            22 => {
                let lane = 1 + u32::from(z >> 4) % 9;
                let (vector, index) = (self.pick_wide(y, lanes * lane), a);
                self.keep(Op::LaneSelect { vector, index }, lane)
            }
            23 => {
                let lane = 1 + u32::from(z >> 4) % 9;
                let (select, vector) = (self.pick_wide(x, lanes), self.pick_wide(y, lanes * lane));
                self.keep(Op::OneHotSelect { select, vector }, lane)
            }
            24 => {
                let total = lanes * (1 + u32::from(z >> 4) % 9);
                let mask = self.pick_wide(x, lanes);
                let (then, otherwise) = (self.pick_wide(y, total), self.pick_wide(z, total));
                self.keep(Op::LaneMux { mask, then, otherwise }, total)
            }
            25 => {
                let total = lanes * (1 + u32::from(z >> 4) % 9);
                let (a, b) = (self.pick_wide(x, total), self.pick_wide(y, total));
                self.keep(Op::LaneEq(a, b), lanes)
            }
            26 => {
                let total = lanes * (1 + u32::from(z >> 4) % 9);
                let (a, b) = (self.pick_wide(x, total), self.pick_wide(y, total));
                self.keep(Op::LaneAdd { a, b, lanes }, total)
            }
            27 => self.keep(Op::Replicate(a), width + u32::from(y) % 40),
            28 => {
                let mask = self.pick_wide(x, lanes);
                self.keep(Op::SpreadLanes(mask), lanes * (1 + u32::from(y) % 9))
            }
            29 => {
                let value = self.pick_wide(x, lanes * (1 + u32::from(y) % 9));
                self.keep(Op::GroupOr(value), lanes)
            }
            30 => self.keep(Op::PrefixOr(a), width),
            31 => {
                let value = self.pick_wide(x, 1 + u32::from(y) % 17);
                let count = self.width(value);
                self.keep(Op::PrefixCount(value), count * (1 + u32::from(z) % 6))
            }
            _ => {
                let rows: Vec<Bits> = (0..1 + u64::from(y % 5))
                    .map(|i| {
                        let words: Vec<u64> = (0..4)
                            .map(|w| u64::from(z | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 + i + w))
                            .collect();
                        let mut bits = words[..width.div_ceil(64) as usize].to_vec();
                        if let (Some(last), rest @ 1..) = (bits.last_mut(), width % 64) {
                            *last &= (1 << rest) - 1;
                        }
                        Bits::from_words(width, &bits).unwrap()
                    })
                    .collect();
                let result = rows.len() as u32;
                self.keep(Op::XorHash { value: a, rows }, result)
            }
        }
    }

    fn pair(&mut self, a: NodeId, other: u16, op: impl Fn(NodeId, NodeId) -> Op, width: u32) -> NodeId {
        let own = self.width(a);
        // Constants as often as values.
        let b = match (self.constants, other % 4) {
            (Constants::Extreme, 0) => self.add(Op::Constant(Bits::zero(own)), own),
            (Constants::Extreme, 1) => self.add(Op::Constant(Bits::ones(own)), own),
            (Constants::Moderate, 0) if own > 2 => self.add(Op::Constant(Bits::new(own, 2).unwrap()), own),
            _ => self.pick_wide(other, own),
        };
        let (a, b) = if other % 8 < 4 { (a, b) } else { (b, a) };
        self.keep(op(a, b), width)
    }

    fn shift(&mut self, a: NodeId, amount: u16, op: impl Fn(NodeId, NodeId) -> Op) -> NodeId {
        let width = self.width(a);
        let amount = if amount.is_multiple_of(2) { self.pick(amount) } else { self.pick_wide(amount, 4) };
        self.keep(op(a, amount), width)
    }

    /// Drives state and outputs from what was made.
    fn close(&mut self, shape: Choice) {
        let last = self.values.len() as u16;
        for i in 0..self.module.registers.len() {
            let width = self.module.registers[i].width;
            let next = self.pick_wide(last.wrapping_sub(1 + i as u16), width);
            let enable = (i == 1).then(|| self.pick_wide(shape[3], 1));
            self.module.registers[i].next = next;
            self.module.registers[i].enable = enable;
        }
        for table in 0..self.module.tables.len() {
            self.updates(table, shape);
        }
        let unread: Vec<NodeId> =
            self.values.iter().copied().filter(|n| !self.used[n.index()] || n.0 % 5 == 0).collect();
        for (i, node) in unread.into_iter().enumerate() {
            let (name, width) = (format!("out{i}_o"), self.width(node));
            self.module.ports.push(Port {
                name,
                direction: Direction::Output,
                width,
                driver: Some(node),
                valid_when: None,
            });
        }
    }

    /// Every kind of update, in an order that `shape` turns.
    fn updates(&mut self, table: usize, shape: Choice) {
        let Table { address_bits, depth, fields, .. } = self.module.tables[table].clone();
        let last = self.values.len() as u16;
        let mut updates = Vec::new();
        for turn in 0..7u16 {
            let seed = last.wrapping_mul(turn + 1).wrapping_add(shape[1]);
            let address = self.pick_wide(seed, address_bits);
            let enable = self.pick_wide(seed.wrapping_add(turn), 1);
            updates.push(match (turn + shape[0]) % 7 {
                0 => {
                    let (tag, data) =
                        (self.pick_wide(seed, fields[0].width), self.pick_wide(seed, fields[1].width));
                    let lanes = Some(self.pick_wide(seed.wrapping_add(3), 4));
                    let writes = vec![
                        FieldWrite { field: 0, value: tag, lanes: None },
                        FieldWrite { field: 1, value: data, lanes },
                    ];
                    Update::Write { name: "fill".into(), address, enable, fields: writes, set_valid: true }
                }
                1 => {
                    let (data, uses) = (self.pick_wide(seed, fields[1].width), self.pick_wide(seed, 5));
                    let lanes = Some(self.pick_wide(seed.wrapping_add(5), 4));
                    let writes = vec![
                        FieldWrite { field: 1, value: data, lanes },
                        FieldWrite { field: 2, value: uses, lanes: None },
                    ];
                    Update::Write { name: "patch".into(), address, enable, fields: writes, set_valid: false }
                }
                2 | 3 => {
                    let amount = self.pick_wide(seed, 5);
                    Update::Add { name: format!("add{turn}"), address, enable, field: 2, amount }
                }
                4 => Update::ClearRow { address, enable },
                5 => Update::ClearRows { rows: self.pick_wide(seed, depth), enable },
                _ => Update::SetRows { rows: self.pick_wide(seed, depth), enable },
            });
        }
        self.module.tables[table].updates = updates;
    }
}

/// Bits that hold `value`, at least one.
fn bits_for(value: u32) -> u32 {
    (u32::BITS - value.leading_zeros()).max(1)
}
