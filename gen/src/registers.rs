//! Registers.

use warpfile_hdl::rtl::netlist::{NodeId, Op, RegisterId};

use crate::code::{Code, Statement, range};
use crate::expr::{Text, literal};
use crate::module::ModuleWriter;

impl ModuleWriter<'_> {
    pub(crate) fn declare_register(&mut self, code: &mut Code, id: RegisterId) {
        let name = self.names.registers[id.index()].clone();
        let width = self.module.registers[id.index()].width;
        code.line(&format!("reg {}{name};", range(width)));
        self.declare(&name, width);
    }

    pub(crate) fn write_register(&mut self, code: &mut Code, id: RegisterId) {
        let register = &self.module.registers[id.index()];
        let name = self.names.registers[id.index()].clone();
        let mut body = self.take(id, &name, register.next);
        if body.is_empty() {
            // It never changes, which a tool should not take for a forgotten driver.
            self.read(&name, 0, register.width);
            body.push(Statement::Assign(format!("{name} <= {name};")));
        } else if let Some(enable) = register.enable {
            body = vec![Statement::when(self.value(enable).whole(), body)];
        }
        if let Some(reset) = &register.reset {
            let cleared = Statement::Assign(format!("{name} <= {};", literal(reset).whole()));
            self.read("rst_i", 0, 1);
            body = vec![Statement::If { condition: "rst_i".into(), then: vec![cleared], otherwise: body }];
        }
        self.read("clk_i", 0, 1);
        code.process("always @(posedge clk_i)", &body);
        code.blank();
    }

    /// `next` as statements: choices become branches, keeping the value becomes nothing.
    fn take(&mut self, id: RegisterId, name: &str, next: NodeId) -> Vec<Statement> {
        if self.keeps(id, next) {
            return Vec::new();
        }
        let Op::Mux { condition, then, otherwise } = self.node(next).op else {
            return vec![Statement::Assign(format!("{name} <= {};", self.value(next).whole()))];
        };
        if !self.plan.branches[next.index()] {
            return vec![Statement::Assign(format!("{name} <= {};", self.value(next).whole()))];
        }
        let then = self.take(id, name, then);
        let otherwise = self.take(id, name, otherwise);
        if then.is_empty() && otherwise.is_empty() {
            return Vec::new();
        }
        let condition = self.value(condition);
        if then.is_empty() {
            return vec![Statement::when(Text::unary("!", condition).whole(), otherwise)];
        }
        vec![Statement::If { condition: condition.whole(), then, otherwise }]
    }

    /// Whether a node is the register's own present value.
    fn keeps(&self, id: RegisterId, node: NodeId) -> bool {
        match self.node(node).op {
            Op::Register(register) => register == id && self.names.nodes[node.index()].is_none(),
            _ => false,
        }
    }
}
