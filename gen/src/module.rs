//! One module as a Verilog file.

use std::collections::{BTreeMap, BTreeSet};

use warpfile_hdl::rtl::netlist::{
    Direction, InstanceId, KeptBy, Module, ModuleId, Netlist, NodeId, Op, Port, RegisterId, TableId,
};

use crate::Style;
use crate::code::{Code, range};
use crate::functions::Functions;
use crate::lanes::loop_lanes;
use crate::naming::Names;
use crate::plan::{Plan, Section, plan};
use crate::tables::{ReadOutput, Shown};
use crate::usage::Usage;

/// The text of a module's file. `sequential` tells of every module whether it has a clock.
pub(crate) fn module_text(netlist: &Netlist, id: ModuleId, sequential: &[bool], style: Style) -> String {
    ModuleWriter::new(netlist, id, sequential, style).file()
}

/// Of every module, whether it keeps state, and therefore has a clock and a reset.
pub(crate) fn sequential(netlist: &Netlist) -> Vec<bool> {
    let mut known: Vec<bool> = Vec::with_capacity(netlist.modules.len());
    for module in &netlist.modules {
        let state = !module.registers.is_empty() || !module.tables.is_empty();
        known.push(state || module.instances.iter().any(|i| known[i.module.index()]));
    }
    known
}

/// Writes one module.
pub(crate) struct ModuleWriter<'a> {
    pub(crate) netlist: &'a Netlist,
    id: ModuleId,
    pub(crate) module: &'a Module,
    pub(crate) sequential: &'a [bool],
    pub(crate) style: Style,
    pub(crate) plan: Plan,
    pub(crate) names: Names,
    pub(crate) functions: Functions,
    section: Section,
    hardware: Usage,
    formal: Usage,
}

impl<'a> ModuleWriter<'a> {
    /// Plans and names a module.
    pub(crate) fn new(
        netlist: &'a Netlist,
        id: ModuleId,
        sequential: &'a [bool],
        style: Style,
    ) -> ModuleWriter<'a> {
        let module = &netlist.modules[id.index()];
        let mut names = Names::new(netlist, module);
        let plan = plan(module, &mut names, style);
        ModuleWriter {
            netlist,
            id,
            module,
            sequential,
            style,
            plan,
            names,
            functions: Functions::default(),
            section: Section::Hardware,
            hardware: Usage::default(),
            formal: Usage::default(),
        }
    }

    /// Watches a signal of the present section for bits that nothing reads.
    pub(crate) fn declare(&mut self, name: &str, width: u32) {
        self.usage().declare(name, width);
    }

    /// Notes that the present section reads bits of a signal.
    pub(crate) fn read(&mut self, name: &str, low: u32, width: u32) {
        self.usage().read(name, low, width);
    }

    fn usage(&mut self) -> &mut Usage {
        match self.section {
            Section::Dead | Section::Hardware => &mut self.hardware,
            Section::Formal => &mut self.formal,
        }
    }

    fn file(&mut self) -> String {
        let mut ports = Code::default();
        self.head(&mut ports);
        let mut body = Code::at_level(1);
        self.hardware_section(&mut body);
        let loop_variables = self.loop_variables();
        self.formal_section(&mut body, &loop_variables);
        let unread = self.hardware.unread();
        self.unused(&mut body, "unused", &unread);

        let mut file = Code::default();
        self.comment(&mut file);
        file.append(ports);
        let mut loops = Code::at_level(1);
        loop_variables.iter().for_each(|name| loops.line(&format!("genvar {name};")));
        loops.blank();
        file.append(loops);
        file.append(std::mem::take(&mut self.functions).into_code());
        body.no_blank();
        file.append(body);
        file.line("endmodule");
        file.into_text()
    }

    /// Variables of the loops printed so far.
    fn loop_variables(&self) -> Vec<String> {
        ["lane", "row"].iter().filter_map(|variable| self.names.locals.get(variable).cloned()).collect()
    }

    fn comment(&self, code: &mut Code) {
        for line in self.module.doc.trim().lines() {
            code.raw(format!("// {line}").trim_end());
        }
        if !self.module.parameters.is_empty() {
            code.raw("//");
            for (name, value) in &self.module.parameters {
                code.raw(&format!("// {name} = {value}"));
            }
        }
    }

    fn is_sequential(&self) -> bool {
        self.sequential[self.id.index()]
    }

    fn head(&mut self, code: &mut Code) {
        let module = self.module;
        let mut lines: Vec<(&str, String, &str, Option<String>)> = Vec::new();
        if self.is_sequential() {
            for name in ["clk_i", "rst_i"] {
                lines.push(("input ", String::new(), name, None));
                self.declare(name, 1);
            }
        }
        for port in &module.ports {
            let direction = match port.direction {
                Direction::Input => "input ",
                Direction::Output => "output",
            };
            if port.direction == Direction::Input {
                self.declare(&port.name, port.width);
            }
            lines.push((direction, range(port.width), &port.name, self.qualifier(port)));
        }
        let width = lines.iter().map(|(_, range, ..)| range.len()).max().unwrap_or(0);
        code.line(&format!("module {} (", module.name));
        let last = lines.len().saturating_sub(1);
        for (i, (direction, range, name, note)) in lines.iter().enumerate() {
            let comma = if i == last { "" } else { "," };
            let note = note.as_ref().map_or(String::new(), |n| format!(" // when {n}"));
            code.raw(&format!("    {direction} wire {range:width$}{name}{comma}{note}"));
        }
        code.line(");");
    }

    /// The name of the signal under which an output is meaningful.
    fn qualifier(&self, port: &Port) -> Option<String> {
        port.valid_when.and_then(|node| self.name_of(node))
    }

    fn hardware_section(&mut self, code: &mut Code) {
        self.section = Section::Hardware;
        self.state_declarations(code);
        for index in 0..self.module.instances.len() {
            self.declare_instance(code, InstanceId(index as u32));
        }
        code.blank();
        self.nodes(code);
        self.outputs(code);
        for index in 0..self.module.instances.len() {
            self.write_instance(code, InstanceId(index as u32));
        }
        self.state(code);
    }

    /// `declared` are the loop variables that need no declaration here.
    fn formal_section(&mut self, code: &mut Code, declared: &[String]) {
        let module = self.module;
        if module.invariants.is_empty() {
            return;
        }
        self.section = Section::Formal;
        code.raw("`ifdef FORMAL");
        let mut logic = Code::at_level(1);
        self.state_declarations(&mut logic);
        self.nodes(&mut logic);
        self.state(&mut logic);
        for name in self.loop_variables().iter().filter(|name| !declared.contains(name)) {
            code.line(&format!("genvar {name};"));
        }
        code.append(logic);
        let is_top = self.netlist.top == self.id;
        let mut properties = Vec::new();
        for invariant in &module.invariants {
            let label = self.names.scope.fresh(&invariant.name);
            let condition = self.value(invariant.condition).whole();
            // What a circuit inside another takes for granted, the other has to keep.
            let statement = match invariant.kept_by {
                KeptBy::Environment if is_top => "assume",
                KeptBy::Surroundings => "assume",
                KeptBy::Environment | KeptBy::Circuit => "assert",
            };
            properties.push(format!("{label}: {statement} ({condition});"));
        }
        if self.is_sequential() {
            code.line("initial assume (rst_i);");
            code.line("always @(posedge clk_i) begin");
            code.indent();
            code.line("if (!rst_i) begin");
        } else {
            code.line("always @* begin");
            code.indent();
            code.line("begin");
        }
        code.indent();
        properties.iter().for_each(|property| code.line(property));
        code.dedent();
        code.line("end");
        code.dedent();
        code.line("end");
        let unread = self.formal.unread();
        self.unused(code, "unused_formal", &unread);
        code.raw("`endif");
        code.blank();
        self.section = Section::Hardware;
    }

    fn unused(&mut self, code: &mut Code, name: &str, unread: &[String]) {
        if !unread.is_empty() {
            let name = self.names.scope.fresh(name);
            code.line(&format!("wire {name} = &{{1'b0, {}}};", unread.join(", ")));
        }
    }

    /// What read ports show to the present section.
    pub(crate) fn reads(&self) -> Vec<ReadOutput> {
        let mut sections: BTreeMap<ReadOutput, Section> = BTreeMap::new();
        for (index, section) in self.plan.nodes.iter().enumerate() {
            if let Some(read) = self.read_output(NodeId(index as u32)) {
                let known = sections.entry(read).or_insert(*section);
                *known = (*known).max(*section);
            }
        }
        sections.into_iter().filter(|&(_, s)| s == self.section).map(|(read, _)| read).collect()
    }

    fn read_output(&self, id: NodeId) -> Option<ReadOutput> {
        match self.node(id).op {
            Op::TableRead { table, port, field } => {
                Some(ReadOutput { table, port, shown: Shown::Field(field) })
            }
            Op::TableReadValid { table, port } => Some(ReadOutput { table, port, shown: Shown::Valid }),
            _ => None,
        }
    }

    fn state_declarations(&mut self, code: &mut Code) {
        for id in self.registers() {
            self.declare_register(code, id);
        }
        for id in self.tables() {
            self.declare_table(code, id);
        }
        for read in self.reads() {
            self.declare_read(code, read);
        }
        code.blank();
    }

    fn state(&mut self, code: &mut Code) {
        for id in self.registers() {
            self.write_register(code, id);
        }
        let reads = self.reads();
        for id in self.tables() {
            self.write_table(code, id, &reads);
        }
        self.write_captured(code, &reads);
    }

    pub(crate) fn registers(&self) -> Vec<RegisterId> {
        let all = (0..self.module.registers.len()).filter(|&i| self.plan.registers[i] == self.section);
        all.map(|i| RegisterId(i as u32)).collect()
    }

    pub(crate) fn tables(&self) -> Vec<TableId> {
        let all = (0..self.module.tables.len()).filter(|&i| self.plan.tables[i] == self.section);
        all.map(|i| TableId(i as u32)).collect()
    }

    fn nodes(&mut self, code: &mut Code) {
        let reads: BTreeSet<ReadOutput> = self.reads().into_iter().collect();
        let mut printed_reads = BTreeSet::new();
        let mut printed_matches = BTreeSet::new();
        for id in self.plan.order.clone() {
            if self.plan.nodes[id.index()] != self.section {
                continue;
            }
            if let Some(read) = self.read_output(id)
                && reads.contains(&read)
                && printed_reads.insert(read)
            {
                self.write_read(code, read);
            }
            if let Op::TableMatch { table, port } = self.node(id).op
                && self.first_of_match(id)
                && printed_matches.insert((table, port))
            {
                self.write_match(code, table, port);
            }
            self.write_node(code, id);
        }
        code.blank();
    }

    /// Whether no node of an earlier section shows the same match lines.
    fn first_of_match(&self, id: NodeId) -> bool {
        let op = &self.node(id).op;
        let same = self.module.nodes.iter().zip(&self.plan.nodes).filter(|(node, _)| node.op == *op);
        same.map(|(_, &section)| section).max() == Some(self.section)
    }

    /// Prints the wire of a node that has one.
    fn write_node(&mut self, code: &mut Code, id: NodeId) {
        let Some(name) = self.names.nodes[id.index()].clone() else { return };
        let width = self.width(id);
        let is_port = self.plan.is_port[id.index()];
        let lanes = loop_lanes(self.module, id);
        if let Some(lanes) = lanes {
            if !is_port {
                code.line(&format!("wire {}{name};", range(width)));
            }
            self.lane_loop(code, &name, id, lanes);
        } else {
            let value = self.expression(id).whole();
            if is_port {
                code.line(&format!("assign {name} = {value};"));
            } else {
                code.line(&format!("wire {}{name} = {value};", range(width)));
            }
        }
        if !is_port {
            self.declare(&name, width);
        }
    }

    /// Outputs that are driven by something with another name.
    fn outputs(&mut self, code: &mut Code) {
        for port in &self.module.ports {
            let Some(driver) = port.driver else { continue };
            if self.name_of(driver).as_ref() != Some(&port.name) {
                let value = self.value(driver).whole();
                code.line(&format!("assign {} = {value};", port.name));
            }
        }
        code.blank();
    }

    fn declare_instance(&mut self, code: &mut Code, id: InstanceId) {
        let instance = &self.module.instances[id.index()];
        for (index, port) in self.netlist.modules[instance.module.index()].ports.iter().enumerate() {
            if port.direction == Direction::Output {
                let name = self.names.instances[id.index()].ports[index].clone();
                code.line(&format!("wire {}{name};", range(port.width)));
                self.declare(&name, port.width);
            }
        }
    }

    fn write_instance(&mut self, code: &mut Code, id: InstanceId) {
        let instance = &self.module.instances[id.index()];
        let child = &self.netlist.modules[instance.module.index()];
        let mut connections = Vec::new();
        if self.sequential[instance.module.index()] {
            for name in ["clk_i", "rst_i"] {
                self.read(name, 0, 1);
                connections.push(format!(".{name}({name})"));
            }
        }
        for (index, port) in child.ports.iter().enumerate() {
            let value = match port.direction {
                Direction::Output => self.names.instances[id.index()].ports[index].clone(),
                Direction::Input => match instance.inputs.iter().find(|(p, _)| p.index() == index) {
                    Some(&(_, node)) => self.value(node).whole(),
                    None => String::new(),
                },
            };
            connections.push(format!(".{}({value})", port.name));
        }
        code.line(&format!("{} {} (", child.name, self.names.instances[id.index()].name));
        code.indent();
        let last = connections.len().saturating_sub(1);
        for (i, connection) in connections.iter().enumerate() {
            code.line(&format!("{connection}{}", if i == last { "" } else { "," }));
        }
        code.dedent();
        code.line(");");
        code.blank();
    }
}
