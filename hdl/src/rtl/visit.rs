//! Walking over the nodes that an operation or a module refers to.
//!
//! Each walk exists for shared and for mutable references; one macro writes both, so that they cannot differ.

use super::netlist::{Module, NodeId, Op, RowExpr, Update};

macro_rules! operands {
    ($op:expr, $visit:expr) => {
        match $op {
            Op::Input(_)
            | Op::Constant(_)
            | Op::Register(_)
            | Op::TableRead { .. }
            | Op::TableReadValid { .. }
            | Op::TableValid(_)
            | Op::TableMatch { .. }
            | Op::InstanceOutput { .. } => {}
            Op::Wire(a)
            | Op::Not(a)
            | Op::ZeroExtend(a)
            | Op::ReduceOr(a)
            | Op::ReduceAnd(a)
            | Op::ReduceXor(a)
            | Op::PriorityEncode(a)
            | Op::LowestOne(a)
            | Op::Decode(a)
            | Op::PopCount(a)
            | Op::Replicate(a)
            | Op::SpreadLanes(a)
            | Op::GroupOr(a)
            | Op::PrefixOr(a)
            | Op::PrefixCount(a)
            | Op::Slice { value: a, .. }
            | Op::XorHash { value: a, .. } => $visit(a),
            Op::And(a, b)
            | Op::Or(a, b)
            | Op::Xor(a, b)
            | Op::Add(a, b)
            | Op::Sub(a, b)
            | Op::Mul(a, b)
            | Op::Eq(a, b)
            | Op::Lt(a, b)
            | Op::ShiftLeft(a, b)
            | Op::ShiftRight(a, b)
            | Op::LaneEq(a, b)
            | Op::LaneSelect { vector: a, index: b }
            | Op::OneHotSelect { select: a, vector: b }
            | Op::LaneAdd { a, b, .. } => {
                $visit(a);
                $visit(b);
            }
            Op::Mux { condition: a, then: b, otherwise: c }
            | Op::LaneMux { mask: a, then: b, otherwise: c } => {
                $visit(a);
                $visit(b);
                $visit(c);
            }
            Op::Concat(parts) => {
                for part in parts {
                    $visit(part);
                }
            }
        }
    };
}

impl Op {
    /// Calls `visit` with every operand, in the order the variant lists them. Tables, registers, ports and
    /// sub-circuits are not operands.
    pub fn visit_operands(&self, visit: &mut dyn FnMut(&NodeId)) {
        operands!(self, visit);
    }

    /// As [`visit_operands`](Op::visit_operands), to change them.
    pub fn visit_operands_mut(&mut self, visit: &mut dyn FnMut(&mut NodeId)) {
        operands!(self, visit);
    }
}

macro_rules! row_operands {
    ($row:expr, $visit:expr, $recurse:ident) => {
        match $row {
            RowExpr::Field(_) | RowExpr::Valid => {}
            RowExpr::Outer(node) | RowExpr::PerRow(node) => $visit(node),
            RowExpr::Slice(a, _, _) | RowExpr::Not(a) => a.$recurse($visit),
            RowExpr::And(a, b) | RowExpr::Or(a, b) | RowExpr::Eq(a, b) | RowExpr::Lt(a, b) => {
                a.$recurse($visit);
                b.$recurse($visit);
            }
        }
    };
}

impl RowExpr {
    /// Calls `visit` with every node of the module that the expression uses.
    pub fn visit_nodes(&self, visit: &mut dyn FnMut(&NodeId)) {
        row_operands!(self, visit, visit_nodes);
    }

    /// As [`visit_nodes`](RowExpr::visit_nodes), to change them.
    pub fn visit_nodes_mut(&mut self, visit: &mut dyn FnMut(&mut NodeId)) {
        row_operands!(self, visit, visit_nodes_mut);
    }
}

macro_rules! roots {
    ($module:expr, $visit:expr, $row:ident, [$($mutable:tt)?]) => {{
        let module = $module;
        for port in & $($mutable)? module.ports {
            for node in [& $($mutable)? port.driver, & $($mutable)? port.valid_when] {
                if let Some(node) = node {
                    $visit(node);
                }
            }
        }
        for register in & $($mutable)? module.registers {
            $visit(& $($mutable)? register.next);
            if let Some(enable) = & $($mutable)? register.enable {
                $visit(enable);
            }
        }
        for table in & $($mutable)? module.tables {
            for read in & $($mutable)? table.reads {
                $visit(& $($mutable)? read.address);
                $visit(& $($mutable)? read.enable);
                if let Some(lanes) = & $($mutable)? read.lanes {
                    $visit(lanes);
                }
            }
            for port in & $($mutable)? table.matches {
                $visit(& $($mutable)? port.enable);
                port.condition.$row($visit);
            }
            for update in & $($mutable)? table.updates {
                match update {
                    Update::Write { address, enable, fields, .. } => {
                        $visit(address);
                        $visit(enable);
                        for write in fields {
                            $visit(& $($mutable)? write.value);
                            if let Some(lanes) = & $($mutable)? write.lanes {
                                $visit(lanes);
                            }
                        }
                    }
                    Update::Add { address, enable, amount, .. } => {
                        $visit(address);
                        $visit(enable);
                        $visit(amount);
                    }
                    Update::ClearRow { address, enable } => {
                        $visit(address);
                        $visit(enable);
                    }
                    Update::ClearRows { rows, enable } | Update::SetRows { rows, enable } => {
                        $visit(rows);
                        $visit(enable);
                    }
                }
            }
        }
        for instance in & $($mutable)? module.instances {
            for (_, node) in & $($mutable)? instance.inputs {
                $visit(node);
            }
        }
        for invariant in & $($mutable)? module.invariants {
            $visit(& $($mutable)? invariant.condition);
        }
    }};
}

impl Module {
    /// Calls `visit` with every node that something other than a node refers to: outputs, registers, tables,
    /// sub-circuits, invariants. What these reach is what the module computes.
    pub fn visit_roots(&self, visit: &mut dyn FnMut(&NodeId)) {
        roots!(self, visit, visit_nodes, []);
    }

    /// As [`visit_roots`](Module::visit_roots), to change them.
    pub fn visit_roots_mut(&mut self, visit: &mut dyn FnMut(&mut NodeId)) {
        roots!(self, visit, visit_nodes_mut, [mut]);
    }
}
