//! A testbench in Verilog to start from: every port connected, clock, reset, random inputs.

use warpfile_hdl::rtl::netlist::{Direction, Module, Port};

use crate::code::{Code, range};
use crate::naming::Scope;
use crate::{Clock, File};

/// Name of the testbench's file. Not `.v`: with `*.v` goes what is synthesized.
pub(crate) fn name(top: &str) -> String {
    format!("{top}_tb.sv")
}

/// The testbench of a module, `NAME_tb`.
pub(crate) fn testbench(top: &Module, sequential: bool, clock: Clock) -> File {
    File { name: name(&top.name), text: Writer::new(top, sequential, clock).text() }
}

struct Writer<'a> {
    top: &'a Module,
    sequential: bool,
    clock: Clock,
    /// Names of the testbench's own, none of which is a port's.
    dut: String,
    step: String,
    check: String,
    failed: String,
}

impl<'a> Writer<'a> {
    fn new(top: &'a Module, sequential: bool, clock: Clock) -> Writer<'a> {
        let mut scope = Scope::default();
        let ports = top.ports.iter().map(|port| port.name.as_str());
        ["clk_i", "rst_i"].into_iter().chain(ports).for_each(|name| scope.take(name));
        let [dut, step, check, failed] = ["dut", "step", "check", "failed"].map(|name| scope.fresh(name));
        Writer { top, sequential, clock, dut, step, check, failed }
    }

    fn text(&self) -> String {
        let mut code = Code::default();
        let name = &self.top.name;
        code.raw(&format!("// Testbench of {name} to start from."));
        code.raw("//");
        code.raw("// Resets it, holds its inputs at 0 for 16 cycles and drives random ones for 1,000. Fails if in the former");
        code.raw("// an output of one bit that always means something is unknown.");
        code.raw("`timescale 1ns/1ps");
        code.line(&format!("module {name}_tb;"));
        let mut body = Code::at_level(1);
        self.declarations(&mut body);
        self.instance(&mut body);
        self.tasks(&mut body);
        self.sequence(&mut body);
        code.append(body);
        code.line("endmodule");
        code.into_text()
    }

    fn ports(&self, direction: Direction) -> impl Iterator<Item = &'a Port> {
        self.top.ports.iter().filter(move |port| port.direction == direction)
    }

    fn declarations(&self, code: &mut Code) {
        if self.sequential {
            code.line("reg clk_i = 1'b0;");
            code.line("reg rst_i = 1'b1;");
        }
        for port in self.ports(Direction::Input) {
            code.line(&format!("reg {}{} = 0;", range(port.width), port.name));
        }
        for port in self.ports(Direction::Output) {
            code.line(&format!("wire {}{};", range(port.width), port.name));
        }
        code.line(&format!("reg {} = 1'b0;", self.failed));
        code.blank();
    }

    fn instance(&self, code: &mut Code) {
        code.line(&format!("{} {} (", self.top.name, self.dut));
        let clocks: &[&str] = if self.sequential { &["clk_i", "rst_i"] } else { &[] };
        let names: Vec<&str> =
            clocks.iter().copied().chain(self.top.ports.iter().map(|port| port.name.as_str())).collect();
        let connected: Vec<String> = names.iter().map(|name| format!("        .{name}({name})")).collect();
        code.raw(&connected.join(",\n"));
        code.line(");");
        code.blank();
    }

    fn tasks(&self, code: &mut Code) {
        let half = self.clock.half_period_ns();
        code.line(&format!("task {};", self.step));
        code.line("begin");
        match self.sequential {
            true => code.line(&format!("    #{half} clk_i = 1'b1; #{half} clk_i = 1'b0;")),
            false => code.line(&format!("    #{half};")),
        }
        code.line("end");
        code.line("endtask");
        code.blank();
        code.line(&format!("task {};", self.check));
        code.line("begin");
        // Data may be of rows that were never written.
        let is_control = |port: &&Port| port.width == 1 && port.valid_when.is_none();
        for port in self.ports(Direction::Output).filter(is_control) {
            code.line(&format!("    if ({} === 1'bx) begin", port.name));
            code.raw(&format!("            $display(\"{} is unknown\");", port.name));
            code.line(&format!("        {} = 1'b1;", self.failed));
            code.line("    end");
        }
        code.line("end");
        code.line("endtask");
        code.blank();
    }

    fn sequence(&self, code: &mut Code) {
        code.line("initial begin");
        if self.sequential {
            code.line(&format!("    repeat (4) {};", self.step));
            code.line("    rst_i = 1'b0;");
        }
        code.line(&format!("    repeat (16) begin {}; {}; end", self.step, self.check));
        code.line("    repeat (1000) begin");
        for port in self.ports(Direction::Input) {
            let name = &port.name;
            match port.width {
                ..=32 => code.line(&format!("        {name} = $urandom;")),
                width => {
                    code.line(&format!(
                        "        repeat ({}) {name} = {{{name}, $urandom}};",
                        width.div_ceil(32)
                    ));
                }
            }
        }
        code.line(&format!("        {};", self.step));
        code.line("    end");
        code.line(&format!("    if ({}) $fatal(1, \"failed\");", self.failed));
        code.raw(&format!("        $display(\"{}_tb: passed\");", self.top.name));
        code.line("    $finish;");
        code.line("end");
    }
}
