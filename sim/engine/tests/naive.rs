//! An evaluator that shares nothing with the engine: big numbers, recursion through the hierarchy, one bit at
//! a time where that is simplest. Written from the documentation of the netlist.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use warpfile_hdl::rtl::netlist::*;

type Value = BigUint;

/// A netlist with its state.
pub(crate) struct Naive<'n> {
    netlist: &'n Netlist,
    pub(crate) circuits: Vec<Circuit>,
    inputs: BTreeMap<String, Value>,
    /// Cycles and arrays by path of a table port.
    pub(crate) activity: BTreeMap<String, (u64, u64)>,
}

/// One circuit of the hierarchy.
pub(crate) struct Circuit {
    module: ModuleId,
    parent: Option<(usize, usize)>,
    children: Vec<usize>,
    pub(crate) path: String,
    registers: Vec<Value>,
    tables: Vec<TableState>,
    memo: Vec<Option<Value>>,
}

#[derive(Clone)]
struct TableState {
    rows: Vec<Vec<Value>>,
    valid: Vec<bool>,
    captured: Vec<(Vec<Value>, bool)>,
}

/// Where the initial state comes from.
pub(crate) trait Initial {
    fn signal(&self, path: &str) -> Value;
    fn row(&self, table: &str, row: u32, field: &str) -> Value;
}

fn one() -> Value {
    Value::from(1u32)
}

fn bit(value: &Value, index: u32) -> bool {
    value.bit(index.into())
}

fn flag(value: bool) -> Value {
    Value::from(u32::from(value))
}

fn low_bits(value: Value, width: u32) -> Value {
    value & ((one() << width) - one())
}

fn slice(value: &Value, low: u32, width: u32) -> Value {
    low_bits(value >> low, width)
}

/// A value as an index, if it is below `limit`.
fn index(value: &Value, limit: u32) -> Option<u32> {
    (*value < Value::from(limit)).then(|| u32::try_from(value).expect("below a u32"))
}

fn from_bits(bits: impl Iterator<Item = bool>) -> Value {
    let mut value = Value::default();
    for (place, bit) in (0u64..).zip(bits) {
        value.set_bit(place, bit);
    }
    value
}

fn from_lanes(lane: u32, lanes: impl Iterator<Item = Value>) -> Value {
    (0u32..).zip(lanes).fold(Value::default(), |all, (i, value)| all | (low_bits(value, lane) << (i * lane)))
}

impl<'n> Naive<'n> {
    pub(crate) fn new(netlist: &'n Netlist, initial: &impl Initial) -> Naive<'n> {
        let mut naive =
            Naive { netlist, circuits: Vec::new(), inputs: BTreeMap::new(), activity: BTreeMap::new() };
        naive.enter(netlist.top, None, String::new(), initial);
        naive
    }

    fn enter(
        &mut self,
        id: ModuleId,
        parent: Option<(usize, usize)>,
        path: String,
        initial: &impl Initial,
    ) -> usize {
        let module = &self.netlist.modules[id.index()];
        let at = |name: &str| format!("{path}{name}");
        let registers = module.registers.iter().map(|r| initial.signal(&at(&format!("{}_q", r.name))));
        let registers = registers.collect();
        let tables = module.tables.iter().map(|table| initial_table(table, &path, initial)).collect();
        let place = self.circuits.len();
        let memo = vec![None; module.nodes.len()];
        let path_of_this = path.clone();
        self.circuits.push(Circuit {
            module: id,
            parent,
            children: Vec::new(),
            path,
            registers,
            tables,
            memo,
        });
        for (index, instance) in module.instances.iter().enumerate() {
            let path = format!("{path_of_this}{}.", instance.name);
            let child = self.enter(instance.module, Some((place, index)), path, initial);
            self.circuits[place].children.push(child);
        }
        place
    }

    /// Sets the inputs of the cycle.
    pub(crate) fn begin(&mut self, inputs: BTreeMap<String, Value>) {
        self.inputs = inputs;
        for circuit in &mut self.circuits {
            circuit.memo.fill(None);
        }
    }

    pub(crate) fn module(&self, circuit: usize) -> &'n Module {
        &self.netlist.modules[self.circuits[circuit].module.index()]
    }

    pub(crate) fn register(&self, circuit: usize, register: usize) -> &Value {
        &self.circuits[circuit].registers[register]
    }

    pub(crate) fn row(&self, circuit: usize, table: usize, row: usize, field: usize) -> &Value {
        &self.circuits[circuit].tables[table].rows[row][field]
    }

    /// Value of a node in this cycle.
    pub(crate) fn value(&mut self, circuit: usize, node: NodeId) -> Value {
        if let Some(known) = &self.circuits[circuit].memo[node.index()] {
            return known.clone();
        }
        let value = self.evaluate(circuit, &self.module(circuit).nodes[node.index()]);
        self.circuits[circuit].memo[node.index()] = Some(value.clone());
        value
    }

    fn is_set(&mut self, circuit: usize, node: NodeId) -> bool {
        self.value(circuit, node) == one()
    }

    fn evaluate(&mut self, c: usize, node: &'n Node) -> Value {
        let w = node.width;
        let module = self.module(c);
        let width_of = |node: &NodeId| module.nodes[node.index()].width;
        macro_rules! v {
            ($node:expr) => {
                self.value(c, *$node)
            };
        }
        match &node.op {
            Op::Input(port) => match self.circuits[c].parent {
                None => self.inputs[&module.ports[port.index()].name].clone(),
                Some((parent, instance)) => {
                    let drivers = &self.module(parent).instances[instance].inputs;
                    let (_, driver) = drivers.iter().find(|(id, _)| id == port).expect("driven");
                    self.value(parent, *driver)
                }
            },
            Op::Constant(bits) => bits.to_biguint(),
            Op::Wire(a) | Op::ZeroExtend(a) => v!(a),
            Op::Register(id) => self.circuits[c].registers[id.index()].clone(),
            Op::TableRead { table, port, field } => {
                self.read(c, *table, *port as usize).0[*field as usize].clone()
            }
            Op::TableReadValid { table, port } => flag(self.read(c, *table, *port as usize).1),
            Op::TableValid(table) => from_bits(self.circuits[c].tables[table.index()].valid.iter().copied()),
            Op::TableMatch { table, port } => {
                let description = &module.tables[table.index()];
                let condition = &description.matches[*port as usize].condition;
                let lines: Vec<_> = (0..description.depth)
                    .map(|row| self.row_value(c, *table, condition, row).0 == one())
                    .collect();
                from_bits(lines.into_iter())
            }
            Op::InstanceOutput { instance, port } => {
                let child = self.circuits[c].children[instance.index()];
                let driver = self.module(child).ports[port.index()].driver.expect("driven");
                self.value(child, driver)
            }
            Op::Not(a) => ((one() << w) - one()) ^ v!(a),
            Op::And(a, b) => v!(a) & v!(b),
            Op::Or(a, b) => v!(a) | v!(b),
            Op::Xor(a, b) => v!(a) ^ v!(b),
            Op::Add(a, b) => low_bits(v!(a) + v!(b), w),
            Op::Sub(a, b) => low_bits((one() << w) + v!(a) - v!(b), w),
            Op::Mul(a, b) => low_bits(v!(a) * v!(b), w),
            Op::Eq(a, b) => flag(v!(a) == v!(b)),
            Op::Lt(a, b) => flag(v!(a) < v!(b)),
            Op::ShiftLeft(a, b) => index(&v!(b), w).map_or(Value::default(), |by| low_bits(v!(a) << by, w)),
            Op::ShiftRight(a, b) => index(&v!(b), w).map_or(Value::default(), |by| v!(a) >> by),
            Op::Mux { condition, then, otherwise } => {
                if self.is_set(c, *condition) {
                    v!(then)
                } else {
                    v!(otherwise)
                }
            }
            Op::Concat(parts) => {
                let mut low = 0;
                let mut all = Value::default();
                for part in parts {
                    all |= v!(part) << low;
                    low += width_of(part);
                }
                all
            }
            Op::Slice { value, low } => slice(&v!(value), *low, w),
            Op::ReduceOr(a) => flag(v!(a) != Value::default()),
            Op::ReduceAnd(a) => flag(v!(a).count_ones() == u64::from(width_of(a))),
            Op::ReduceXor(a) => flag(v!(a).count_ones() % 2 == 1),
            Op::PriorityEncode(a) => Value::from(v!(a).trailing_zeros().unwrap_or(0)),
            Op::LowestOne(a) => v!(a).trailing_zeros().map_or(Value::default(), |place| one() << place),
            Op::Decode(a) => index(&v!(a), w).map_or(Value::default(), |place| one() << place),
            Op::PopCount(a) => Value::from(v!(a).count_ones()),
            Op::LaneSelect { vector, index: lane } => {
                let lanes = width_of(vector) / w;
                index(&v!(lane), lanes).map_or(Value::default(), |i| slice(&v!(vector), i * w, w))
            }
            Op::OneHotSelect { select, vector } => {
                let (select_value, vector) = (v!(select), v!(vector));
                (0..width_of(select))
                    .filter(|&i| bit(&select_value, i))
                    .fold(Value::default(), |all, i| all | slice(&vector, i * w, w))
            }
            Op::LaneMux { mask, then, otherwise } => {
                let (lanes, mask) = (width_of(mask), v!(mask));
                let (then, otherwise) = (v!(then), v!(otherwise));
                let lane = w / lanes;
                let chosen = |i| if bit(&mask, i) { &then } else { &otherwise };
                from_lanes(lane, (0..lanes).map(|i| slice(chosen(i), i * lane, lane)))
            }
            Op::LaneEq(a, b) => {
                let lane = width_of(a) / w;
                let (a, b) = (v!(a), v!(b));
                from_bits((0..w).map(|i| slice(&a, i * lane, lane) == slice(&b, i * lane, lane)))
            }
            Op::LaneAdd { a, b, lanes } => {
                let lane = w / lanes;
                let (a, b) = (v!(a), v!(b));
                from_lanes(lane, (0..*lanes).map(|i| slice(&a, i * lane, lane) + slice(&b, i * lane, lane)))
            }
            Op::Replicate(a) => {
                let (from, a) = (width_of(a), v!(a));
                from_bits((0..w).map(|i| bit(&a, i % from)))
            }
            Op::SpreadLanes(a) => {
                let lane = w / width_of(a);
                let a = v!(a);
                from_bits((0..w).map(|i| bit(&a, i / lane)))
            }
            Op::GroupOr(a) => {
                let size = width_of(a) / w;
                let a = v!(a);
                from_bits((0..w).map(|i| slice(&a, i * size, size) != Value::default()))
            }
            Op::PrefixOr(a) => {
                let a = v!(a);
                from_bits((0..w).map(|i| slice(&a, 0, i + 1) != Value::default()))
            }
            Op::PrefixCount(a) => {
                let lanes = width_of(a);
                let a = v!(a);
                let below = |i| if i == 0 { 0 } else { slice(&a, 0, i).count_ones() };
                from_lanes(w / lanes, (0..lanes).map(|i| Value::from(below(i))))
            }
            Op::XorHash { value, rows } => {
                let value = v!(value);
                from_bits(rows.iter().map(|row| (row.to_biguint() & &value).count_ones() % 2 == 1))
            }
        }
    }

    /// What a read port shows: fields and valid bit.
    fn read(&mut self, c: usize, table: TableId, port: usize) -> (Vec<Value>, bool) {
        let clocked = self.module(c).tables[table.index()].reads[port].clocked;
        if clocked {
            return self.circuits[c].tables[table.index()].captured[port].clone();
        }
        self.addressed(c, table, port)
    }

    /// The row a read port addresses.
    fn addressed(&mut self, c: usize, table: TableId, port: usize) -> (Vec<Value>, bool) {
        let description = &self.module(c).tables[table.index()];
        let address = self.value(c, description.reads[port].address);
        match index(&address, description.depth) {
            Some(row) => {
                let state = &self.circuits[c].tables[table.index()];
                (state.rows[row as usize].clone(), state.valid[row as usize])
            }
            None => (vec![Value::default(); description.fields.len()], false),
        }
    }

    /// A row expression's value and width.
    fn row_value(&mut self, c: usize, table: TableId, expr: &RowExpr, row: u32) -> (Value, u32) {
        let module = self.module(c);
        match expr {
            RowExpr::Field(field) => {
                let width = module.tables[table.index()].fields[*field as usize].width;
                (self.circuits[c].tables[table.index()].rows[row as usize][*field as usize].clone(), width)
            }
            RowExpr::Valid => (flag(self.circuits[c].tables[table.index()].valid[row as usize]), 1),
            RowExpr::Outer(node) => (self.value(c, *node), module.nodes[node.index()].width),
            RowExpr::Slice(a, low, width) => {
                (slice(&self.row_value(c, table, a, row).0, *low, *width), *width)
            }
            RowExpr::PerRow(node) => (flag(bit(&self.value(c, *node), row)), 1),
            RowExpr::Not(a) => {
                let (a, width) = self.row_value(c, table, a, row);
                (((one() << width) - one()) ^ a, width)
            }
            RowExpr::And(a, b) | RowExpr::Or(a, b) | RowExpr::Eq(a, b) | RowExpr::Lt(a, b) => {
                let ((a, width), (b, _)) =
                    (self.row_value(c, table, a, row), self.row_value(c, table, b, row));
                match expr {
                    RowExpr::And(..) => (a & b, width),
                    RowExpr::Or(..) => (a | b, width),
                    RowExpr::Eq(..) => (flag(a == b), 1),
                    _ => (flag(a < b), 1),
                }
            }
        }
    }

    /// The clock edge: everything is computed from old values, then replaced.
    pub(crate) fn edge(&mut self, reset: bool) {
        let mut after = Vec::new();
        for c in 0..self.circuits.len() {
            let registers = self.next_registers(c, reset);
            let count = self.module(c).tables.len() as u32;
            let tables = (0..count).map(|table| self.next_table(c, TableId(table), reset)).collect();
            after.push((registers, tables));
        }
        for (circuit, (registers, tables)) in self.circuits.iter_mut().zip(after) {
            (circuit.registers, circuit.tables) = (registers, tables);
        }
    }

    fn next_registers(&mut self, c: usize, reset: bool) -> Vec<Value> {
        let mut next = self.circuits[c].registers.clone();
        for (value, register) in next.iter_mut().zip(&self.module(c).registers) {
            match &register.reset {
                Some(to) if reset => *value = to.to_biguint(),
                Some(_) | None => {
                    if register.enable.is_none_or(|enable| self.is_set(c, enable)) {
                        *value = self.value(c, register.next);
                    }
                }
            }
        }
        next
    }

    fn next_table(&mut self, c: usize, table: TableId, reset: bool) -> TableState {
        let description = &self.module(c).tables[table.index()];
        let mut next = self.circuits[c].tables[table.index()].clone();
        for (port, read) in description.reads.iter().enumerate() {
            let enabled = self.is_set(c, read.enable);
            if enabled && read.clocked {
                let (row, valid) = self.addressed(c, table, port);
                let held = std::mem::take(&mut next.captured[port].0);
                let wanted = read.lanes.map(|lanes| self.value(c, lanes));
                let fields = description.fields.iter().zip(row.iter().zip(&held));
                let captured = fields.map(|(field, (row, held))| captured(field, wanted.as_ref(), row, held));
                next.captured[port] = (captured.collect(), valid);
            }
            let fields: Vec<_> = description.fields.iter().map(|field| (field, read.lanes)).collect();
            self.count(c, table, &read.name, enabled && !reset, &fields);
        }
        for port in &description.matches {
            let enabled = self.is_set(c, port.enable);
            self.count(c, table, &port.name, enabled && !reset, &[]);
        }
        for update in &description.updates {
            self.update(c, table, update, &mut next, reset);
        }
        if reset {
            next.valid.fill(false);
        }
        next
    }

    fn update(&mut self, c: usize, table: TableId, update: &Update, next: &mut TableState, reset: bool) {
        let description = &self.module(c).tables[table.index()];
        match update {
            Update::Write { name, address, enable, fields, set_valid } => {
                let enabled = self.is_set(c, *enable);
                let counted: Vec<_> =
                    fields.iter().map(|w| (&description.fields[w.field as usize], w.lanes)).collect();
                self.count(c, table, name, enabled && !reset, &counted);
                let row = index(&self.value(c, *address), description.depth).filter(|_| enabled);
                let Some(row) = row.map(|row| row as usize) else { return };
                for write in fields {
                    let field = &description.fields[write.field as usize];
                    let lane = field.width / field.lanes;
                    let value = self.value(c, write.value);
                    let mask = write.lanes.map(|node| self.value(c, node));
                    let old = next.rows[row][write.field as usize].clone();
                    let chosen = |i| mask.as_ref().is_none_or(|mask| bit(mask, i));
                    next.rows[row][write.field as usize] = from_lanes(
                        lane,
                        (0..field.lanes)
                            .map(|i| slice(if chosen(i) { &value } else { &old }, i * lane, lane)),
                    );
                }
                next.valid[row] |= *set_valid;
            }
            Update::Add { name, address, enable, field, amount } => {
                let enabled = self.is_set(c, *enable);
                let description_of_field = &description.fields[*field as usize];
                self.count(c, table, name, enabled && !reset, &[(description_of_field, None)]);
                let row = index(&self.value(c, *address), description.depth).filter(|_| enabled);
                if let Some(row) = row {
                    let amount = self.value(c, *amount);
                    let place = &mut next.rows[row as usize][*field as usize];
                    *place = low_bits(&*place + amount, description_of_field.width);
                }
            }
            Update::ClearRow { address, enable } => {
                let row = index(&self.value(c, *address), description.depth);
                if let Some(row) = row.filter(|_| self.is_set(c, *enable)) {
                    next.valid[row as usize] = false;
                }
            }
            Update::ClearRows { rows, enable } | Update::SetRows { rows, enable } => {
                if self.is_set(c, *enable) {
                    let rows = self.value(c, *rows);
                    let set = matches!(update, Update::SetRows { .. });
                    for (row, valid) in (0..).zip(&mut next.valid) {
                        *valid = if bit(&rows, row) { set } else { *valid };
                    }
                }
            }
        }
    }

    fn count(
        &mut self,
        c: usize,
        table: TableId,
        port: &str,
        enabled: bool,
        fields: &[(&Field, Option<NodeId>)],
    ) {
        let path = format!("{}{}.{port}", self.circuits[c].path, self.module(c).tables[table.index()].name);
        let mut arrays = 0;
        for (field, lanes) in fields {
            let mask = match lanes.filter(|_| field.lanes > 1) {
                Some(node) => self.value(c, node),
                None => (one() << field.lanes) - one(),
            };
            let groups = (0..field.lanes).step_by(field.lanes_per_array as usize);
            arrays +=
                groups.filter(|&low| slice(&mask, low, field.lanes_per_array) != Value::default()).count();
        }
        let counted = self.activity.entry(path).or_default();
        if enabled {
            counted.0 += 1;
            counted.1 += arrays as u64;
        }
    }
}

/// What a clocked read shows of a field: `row` in the arrays with a wanted lane, what it `held` in the others.
fn captured(field: &Field, wanted: Option<&Value>, row: &Value, held: &Value) -> Value {
    let Some(wanted) = wanted.filter(|_| field.lanes > 1) else { return row.clone() };
    let (size, lane) = (field.lanes_per_array, field.width / field.lanes);
    let is_read = |array: u32| (array * size..(array + 1) * size).any(|i| bit(wanted, i));
    let lanes = (0..field.lanes).map(|i| slice(if is_read(i / size) { row } else { held }, i * lane, lane));
    from_lanes(lane, lanes)
}

fn initial_table(table: &Table, path: &str, initial: &impl Initial) -> TableState {
    let at = format!("{path}{}", table.name);
    let row = |row| table.fields.iter().map(|field| initial.row(&at, row, &field.name)).collect();
    let captured = |read: &ReadPort| {
        if !read.clocked {
            return (Vec::new(), false);
        }
        let signal = |name: &str| initial.signal(&format!("{at}_{}_{name}_q", read.name));
        let fields = table.fields.iter().map(|field| signal(&field.name)).collect();
        (fields, table.has_valid && signal("valid") == one())
    };
    TableState {
        rows: (0..table.depth).map(row).collect(),
        valid: vec![false; table.depth as usize],
        captured: table.reads.iter().map(captured).collect(),
    }
}
