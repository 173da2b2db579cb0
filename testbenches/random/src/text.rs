//! A netlist as text, one thing a line: ports, state, then nodes in the order of computation.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::*;

/// The netlist as text for people: children first, the outermost module last.
pub fn describe(netlist: &Netlist) -> String {
    let mut text = String::new();
    for module in &netlist.modules {
        Writer { netlist, module, text: &mut text }.module();
    }
    text
}

struct Writer<'a> {
    netlist: &'a Netlist,
    module: &'a Module,
    text: &'a mut String,
}

impl Writer<'_> {
    fn module(&mut self) {
        self.line(&format!("module {}", self.module.name));
        for port in self.module.ports.iter().filter(|port| port.direction == Direction::Input) {
            self.line(&format!("  input {}: {}", port.name, port.width));
        }
        for register in &self.module.registers {
            self.register(register);
        }
        for table in &self.module.tables {
            self.table(table);
        }
        for instance in &self.module.instances {
            self.instance(instance);
        }
        for node in self.in_order() {
            self.node(node);
        }
        for port in &self.module.ports {
            if let Some(driver) = port.driver {
                let when = port.valid_when.map(|node| format!(" when {}", self.name(node)));
                self.line(&format!(
                    "  output {}: {} = {}{}",
                    port.name,
                    port.width,
                    self.name(driver),
                    when.unwrap_or_default()
                ));
            }
        }
        for invariant in &self.module.invariants {
            self.line(&format!("  invariant {} = {}", invariant.name, self.name(invariant.condition)));
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn name(&self, node: NodeId) -> String {
        self.module.nodes[node.index()].name.clone().unwrap_or_else(|| format!("n{}", node.0))
    }

    fn register(&mut self, register: &Register) {
        let mut line =
            format!("  register {}: {} next {}", register.name, register.width, self.name(register.next));
        if let Some(enable) = register.enable {
            let _ = write!(line, " enable {}", self.name(enable));
        }
        match &register.reset {
            Some(value) => _ = write!(line, " reset {}", number(value)),
            None => line.push_str(" no reset"),
        }
        self.line(&line);
    }

    fn table(&mut self, table: &Table) {
        let fields: Vec<String> = table.fields.iter().map(field).collect();
        let valid = if table.has_valid { ", valid bits" } else { "" };
        self.line(&format!("  table {}: {} rows of {}{valid}", table.name, table.depth, fields.join(", ")));
        for read in &table.reads {
            let kind = if read.clocked { "clocked read" } else { "read" };
            let lanes = read.lanes.map(|lanes| format!(" lanes {}", self.name(lanes))).unwrap_or_default();
            let (address, enable) = (self.name(read.address), self.name(read.enable));
            self.line(&format!("    {kind} {}: address {address} enable {enable}{lanes}", read.name));
        }
        for port in &table.matches {
            let condition = self.row(table, &port.condition);
            self.line(&format!("    match {}: {condition} enable {}", port.name, self.name(port.enable)));
        }
        for update in &table.updates {
            let update = self.update(table, update);
            self.line(&format!("    {update}"));
        }
    }

    fn update(&self, table: &Table, update: &Update) -> String {
        let at = |address: &NodeId| format!("row {}", self.name(*address));
        let when = |enable: &NodeId| format!("enable {}", self.name(*enable));
        match update {
            Update::Write { name, address, enable, fields, set_valid } => {
                let mut text = format!("write {name}: {} {}", at(address), when(enable));
                for write in fields {
                    let field = &table.fields[write.field as usize].name;
                    let _ = write!(text, " {field} = {}", self.name(write.value));
                    if let Some(lanes) = write.lanes {
                        let _ = write!(text, " lanes {}", self.name(lanes));
                    }
                }
                text + if *set_valid { " valid" } else { "" }
            }
            Update::Add { name, address, enable, field, amount } => {
                let field = &table.fields[*field as usize].name;
                let amount = self.name(*amount);
                format!("add {name}: {} {} {field} += {amount}", at(address), when(enable))
            }
            Update::ClearRow { address, enable } => format!("clear {} {}", at(address), when(enable)),
            Update::ClearRows { rows, enable } => format!("clear rows {} {}", self.name(*rows), when(enable)),
            Update::SetRows { rows, enable } => format!("set rows {} {}", self.name(*rows), when(enable)),
        }
    }

    fn row(&self, table: &Table, row: &RowExpr) -> String {
        let pair = |a: &RowExpr, sign: &str, b: &RowExpr| {
            format!("({} {sign} {})", self.row(table, a), self.row(table, b))
        };
        match row {
            RowExpr::Field(field) => table.fields[*field as usize].name.clone(),
            RowExpr::Valid => "valid".to_string(),
            RowExpr::Outer(node) => self.name(*node),
            RowExpr::Slice(a, low, width) => format!("{}[{low} +: {width}]", self.row(table, a)),
            RowExpr::PerRow(node) => format!("{}[row]", self.name(*node)),
            RowExpr::Not(a) => format!("~{}", self.row(table, a)),
            RowExpr::And(a, b) => pair(a, "&", b),
            RowExpr::Or(a, b) => pair(a, "|", b),
            RowExpr::Eq(a, b) => pair(a, "==", b),
            RowExpr::Lt(a, b) => pair(a, "<", b),
        }
    }

    fn instance(&mut self, instance: &Instance) {
        let child = &self.netlist.modules[instance.module.index()];
        let inputs: Vec<String> = (instance.inputs.iter())
            .map(|(port, node)| format!("{} = {}", child.ports[port.index()].name, self.name(*node)))
            .collect();
        self.line(&format!("  instance {} of {}: {}", instance.name, child.name, inputs.join(", ")));
    }

    fn node(&mut self, id: NodeId) {
        let node = &self.module.nodes[id.index()];
        let mut operands = Vec::new();
        node.op.visit_operands(&mut |operand| operands.push(self.name(*operand)));
        let what = match &node.op {
            Op::Input(port) => self.module.ports[port.index()].name.clone(),
            Op::Constant(value) => number(value),
            Op::Register(register) => self.module.registers[register.index()].name.clone(),
            Op::TableRead { table, port, field } => {
                let table = &self.module.tables[table.index()];
                let field = &table.fields[*field as usize].name;
                format!("{}.{}.{field}", table.name, table.reads[*port as usize].name)
            }
            Op::TableReadValid { table, port } => {
                let table = &self.module.tables[table.index()];
                format!("{}.{}.valid", table.name, table.reads[*port as usize].name)
            }
            Op::TableValid(table) => format!("{}.valid", self.module.tables[table.index()].name),
            Op::TableMatch { table, port } => {
                let table = &self.module.tables[table.index()];
                format!("{}.{}", table.name, table.matches[*port as usize].name)
            }
            Op::InstanceOutput { instance, port } => {
                let instance = &self.module.instances[instance.index()];
                let child = &self.netlist.modules[instance.module.index()];
                format!("{}.{}", instance.name, child.ports[port.index()].name)
            }
            Op::Slice { low, .. } => format!("slice {} from bit {low}", operands[0]),
            Op::LaneAdd { lanes, .. } => format!("lane_add {} in {lanes} lanes", operands.join(" ")),
            Op::XorHash { rows, .. } => {
                let rows: Vec<String> = rows.iter().map(number).collect();
                format!("xor_hash {} by {}", operands[0], rows.join(" "))
            }
            Op::Wire(_)
            | Op::Not(_)
            | Op::And(..)
            | Op::Or(..)
            | Op::Xor(..)
            | Op::Add(..)
            | Op::Sub(..)
            | Op::Mul(..)
            | Op::Eq(..)
            | Op::Lt(..)
            | Op::ShiftLeft(..)
            | Op::ShiftRight(..)
            | Op::Mux { .. }
            | Op::Concat(_)
            | Op::ZeroExtend(_)
            | Op::ReduceOr(_)
            | Op::ReduceAnd(_)
            | Op::ReduceXor(_)
            | Op::PriorityEncode(_)
            | Op::LowestOne(_)
            | Op::Decode(_)
            | Op::PopCount(_)
            | Op::LaneSelect { .. }
            | Op::OneHotSelect { .. }
            | Op::LaneMux { .. }
            | Op::LaneEq(..)
            | Op::Replicate(_)
            | Op::SpreadLanes(_)
            | Op::GroupOr(_)
            | Op::PrefixOr(_)
            | Op::PrefixCount(_) => format!("{} {}", operation(&node.op), operands.join(" ")),
        };
        self.line(&format!("  {}: {} = {what}", self.name(id), node.width));
    }

    /// Nodes, operands before their users.
    fn in_order(&self) -> Vec<NodeId> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for node in (0..self.module.nodes.len() as u32).map(NodeId) {
            self.visit(node, &mut seen, &mut order);
        }
        order
    }

    fn visit(&self, node: NodeId, seen: &mut BTreeSet<NodeId>, order: &mut Vec<NodeId>) {
        if seen.insert(node) {
            for operand in self.operands(node) {
                self.visit(operand, seen, order);
            }
            order.push(node);
        }
    }

    /// Operands of a node, those of a table's port or a sub-circuit included.
    fn operands(&self, node: NodeId) -> Vec<NodeId> {
        let mut operands = Vec::new();
        let op = &self.module.nodes[node.index()].op;
        op.visit_operands(&mut |operand| operands.push(*operand));
        if let Op::TableRead { table, port, .. } | Op::TableReadValid { table, port } = op {
            let read = &self.module.tables[table.index()].reads[*port as usize];
            if !read.clocked {
                operands.push(read.address);
            }
        }
        if let Op::TableMatch { table, port } = op {
            let port = &self.module.tables[table.index()].matches[*port as usize];
            port.condition.visit_nodes(&mut |node| operands.push(*node));
        }
        if let Op::InstanceOutput { instance, .. } = op {
            operands.extend(self.module.instances[instance.index()].inputs.iter().map(|(_, node)| *node));
        }
        operands
    }
}

fn field(field: &Field) -> String {
    let Field { name, width, lanes, lanes_per_array } = field;
    match lanes {
        1 => format!("{name}: {width}"),
        _ => format!("{name}: {lanes} x {} ({lanes_per_array} lanes an array)", width / lanes),
    }
}

fn number(value: &Bits) -> String {
    format!("{:#x}", value.to_biguint())
}

/// Name of the operation: `lane_mux`.
fn operation(op: &Op) -> String {
    let debug = format!("{op:?}");
    let name: String = debug.chars().take_while(char::is_ascii_alphanumeric).collect();
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}
