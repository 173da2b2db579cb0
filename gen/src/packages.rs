//! What other tools are told of a circuit: a core of FuseSoC, a package of Bender, constraints of its clock.

use serde::Serialize;
use warpfile_hdl::rtl::netlist::Module;

use crate::{Clock, File, testbench};

/// What all of these files are made from.
pub(crate) struct Package<'a> {
    pub(crate) top: &'a Module,
    /// The outermost module has a clock.
    pub(crate) sequential: bool,
    /// Names of the modules' files, children before parents.
    pub(crate) modules: Vec<&'a str>,
    pub(crate) clock: Clock,
}

impl Package<'_> {
    /// `NAME.core` in FuseSoC's format CAPI2, with a target `lint` for Verilator and a target `sim` for Icarus.
    ///
    /// Constraints are in target `synth` only: what depends on a core takes its target `default`, and the clock of a part
    /// is not that of the whole.
    pub(crate) fn core(&self) -> File {
        let name = &self.top.name;
        let text = format!(
            "\
CAPI=2:

name: warpfile:circuits:{name}:{version}
description: {purpose}

filesets:
  rtl:
    files:
{modules}    file_type: verilogSource-2005
  testbench:
    files:
      - {testbench}
    file_type: systemVerilogSource
  constraints:
    files:
      - {name}.sdc
    file_type: SDC

targets:
  default:
    filesets: [rtl]
    toplevel: {name}
  lint:
    filesets: [rtl]
    toplevel: {name}
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
  sim:
    filesets: [rtl, testbench]
    toplevel: {name}_tb
    flow: sim
    flow_options:
      tool: icarus
      iverilog_options: [-g2012]
  synth:
    filesets: [rtl, constraints]
    toplevel: {name}
",
            version = env!("CARGO_PKG_VERSION"),
            purpose = quoted(&self.purpose()),
            modules = self.list_of_modules(),
            testbench = testbench::name(name),
        );
        File { name: format!("{name}.core"), text }
    }

    /// `Bender.yml`; the testbench is there for the targets `test` and `simulation`.
    pub(crate) fn bender(&self) -> File {
        let text = format!(
            "\
package:
  name: {name}
  description: {purpose}

sources:
  - files:
{modules}  - target: any(test, simulation)
    files:
      - {testbench}
",
            name = self.top.name,
            purpose = quoted(&self.purpose()),
            modules = self.list_of_modules(),
            testbench = testbench::name(&self.top.name),
        );
        File { name: "Bender.yml".into(), text }
    }

    /// `NAME.sdc`: the clock at its port; of a circuit without one a clock that delays at its ports can refer to.
    pub(crate) fn constraints(&self) -> File {
        let (period, mhz) = (self.clock.period_ns(), self.clock.mhz());
        let port = if self.sequential { " [get_ports clk_i]" } else { "" };
        let text = format!(
            "\
# {name}: {mhz} MHz. Times in ns. Delays at the ports belong to what stands around the circuit.
create_clock -name clk_i -period {period}{port}
",
            name = self.top.name
        );
        File { name: format!("{}.sdc", self.top.name), text }
    }

    fn list_of_modules(&self) -> String {
        self.modules.iter().map(|module| format!("      - {module}\n")).collect()
    }

    /// The first paragraph of the description, on one line.
    fn purpose(&self) -> String {
        let lines = self.top.doc.trim().lines().take_while(|line| !line.trim().is_empty());
        lines.map(str::trim).collect::<Vec<_>>().join(" ")
    }
}

/// Text as YAML takes it: JSON's strings are among its own.
fn quoted(text: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(text).unwrap_or_else(|error| unreachable!("a string: {error}"))
}
