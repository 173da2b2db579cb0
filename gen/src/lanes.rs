//! Operations lane by lane, which Verilog writes as a `generate` loop.

use warpfile_hdl::rtl::netlist::{Module, NodeId, Op};

use crate::code::Code;
use crate::expr::{Text, element};
use crate::module::ModuleWriter;

/// Lanes of the loop that computes a node; `None` if an expression does.
pub(crate) fn loop_lanes(module: &Module, id: NodeId) -> Option<u32> {
    let width = module.nodes[id.index()].width;
    let width_of = |id: NodeId| module.nodes[id.index()].width;
    let (lanes, lane_width) = match module.nodes[id.index()].op {
        Op::LaneMux { mask, .. } => (width_of(mask), width / width_of(mask)),
        Op::LaneEq(a, _) => (width, width_of(a) / width),
        Op::LaneAdd { lanes, .. } => (lanes, width / lanes),
        Op::SpreadLanes(a) => (width_of(a), width / width_of(a)),
        Op::GroupOr(a) => (width, width_of(a) / width),
        _ => return None,
    };
    (lanes > 1 && lane_width > 1).then_some(lanes)
}

/// Whether a node is computed by a loop and therefore needs a wire.
pub(crate) fn is_loop(module: &Module, id: NodeId) -> bool {
    loop_lanes(module, id).is_some()
}

impl ModuleWriter<'_> {
    /// The loop that drives `name` from the lanes of a node.
    pub(crate) fn lane_loop(&mut self, code: &mut Code, name: &str, id: NodeId, lanes: u32) {
        let lane = self.names.local("lane");
        let width = self.width(id);
        let value = match self.node(id).op.clone() {
            Op::LaneMux { mask, then, otherwise } => {
                let mask = self.lane_of(mask, lanes, &lane);
                let then = self.lane_of(then, lanes, &lane);
                Text::conditional(mask, then, self.lane_of(otherwise, lanes, &lane))
            }
            Op::LaneEq(a, b) => {
                let a = self.lane_of(a, lanes, &lane);
                Text::infix(a, "==", self.lane_of(b, lanes, &lane))
            }
            Op::LaneAdd { a, b, .. } => {
                let a = self.lane_of(a, lanes, &lane);
                Text::infix(a, "+", self.lane_of(b, lanes, &lane))
            }
            Op::SpreadLanes(a) => {
                Text::atom(format!("{{{}{{{}}}}}", width / lanes, self.lane_of(a, lanes, &lane).whole()))
            }
            Op::GroupOr(a) => Text::reduction("|", self.lane_of(a, lanes, &lane)),
            op => unreachable!("{op:?} is not computed lane by lane"),
        };
        let target = element(name, width, width / lanes, &lane);
        let label = self.names.scope.fresh(&format!("{name}_lane"));
        self.over_lanes(code, &label, lanes, |_, code| {
            code.line(&format!("assign {target} = {};", value.whole()))
        });
    }

    /// A named loop over lanes around what `body` prints.
    pub(crate) fn over_lanes(
        &mut self,
        code: &mut Code,
        label: &str,
        lanes: u32,
        body: impl FnOnce(&mut Self, &mut Code),
    ) {
        let lane = self.names.local("lane");
        self.over(code, &lane, label, lanes, body);
    }

    /// A named loop over rows around what `body` prints.
    pub(crate) fn over_rows(
        &mut self,
        code: &mut Code,
        stem: &str,
        rows: u32,
        body: impl FnOnce(&mut Self, &mut Code),
    ) {
        let label = self.names.scope.fresh(&format!("{stem}_row"));
        let row = self.names.local("row");
        self.over(code, &row, &label, rows, body);
    }

    fn over(
        &mut self,
        code: &mut Code,
        variable: &str,
        label: &str,
        count: u32,
        body: impl FnOnce(&mut Self, &mut Code),
    ) {
        code.line("generate");
        code.indent();
        code.line(&format!(
            "for ({variable} = 0; {variable} < {count}; {variable} = {variable} + 1) begin : {label}"
        ));
        code.indent();
        body(self, code);
        code.no_blank();
        code.dedent();
        code.line("end");
        code.dedent();
        code.line("endgenerate");
    }

    // The same operations where there is one lane or a lane is one bit.

    pub(crate) fn lane_mux(&mut self, mask: NodeId, then: NodeId, otherwise: NodeId) -> Text {
        if self.width(mask) == 1 {
            let condition = self.value(mask);
            let then = self.value(then);
            return Text::conditional(condition, then, self.value(otherwise));
        }
        let taken = self.infix(mask, "&", then);
        let kept = Text::infix(Text::unary("~", self.value(mask)), "&", self.value(otherwise));
        Text::infix(taken, "|", kept)
    }

    pub(crate) fn lane_eq(&mut self, a: NodeId, b: NodeId, lanes: u32) -> Text {
        if lanes == 1 { self.infix(a, "==", b) } else { Text::unary("~", self.infix(a, "^", b)) }
    }

    pub(crate) fn lane_add(&mut self, a: NodeId, b: NodeId, lanes: u32) -> Text {
        self.infix(a, if lanes == 1 { "+" } else { "^" }, b)
    }

    pub(crate) fn spread_lanes(&mut self, a: NodeId, width: u32) -> Text {
        let value = self.value(a);
        if width == self.width(a) {
            return value;
        }
        Text::atom(format!("{{{width}{{{}}}}}", value.whole()))
    }

    pub(crate) fn group_or(&mut self, a: NodeId, width: u32) -> Text {
        let value = self.value(a);
        if width == self.width(a) { value } else { Text::reduction("|", value) }
    }
}
