//! Mutants of one node: another operator, a constant off by one, operands or ports swapped, priority reversed.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::{Direction, Module, Netlist, NodeId, Op};

use super::change::Change;

/// Every change of `node`, with what it is.
pub(super) fn mutants(netlist: &Netlist, module: &Module, node: NodeId) -> Vec<(String, Change)> {
    let width = |node: NodeId| module.nodes[node.index()].width;
    let own = width(node);
    let replace = |what: &str, op: Op| (what.to_string(), Change::Replace { node, op });
    let complement = |what: &str| (what.to_string(), Change::Complement { node });
    let reverse = |what: &str| (what.to_string(), Change::Reverse { node });
    match &module.nodes[node.index()].op {
        Op::Constant(value) => vec![replace("constant off by one", Op::Constant(next(value)))],
        &Op::Not(a) => vec![replace("Not is left out", Op::Wire(a))],
        &Op::And(a, b) => vec![replace("And becomes Or", Op::Or(a, b))],
        &Op::Or(a, b) => vec![replace("Or becomes And", Op::And(a, b))],
        &Op::Xor(a, b) => vec![replace("Xor becomes Or", Op::Or(a, b))],
        &Op::Add(a, b) => vec![replace("Add becomes Sub", Op::Sub(a, b))],
        &Op::Sub(a, b) => vec![replace("Sub becomes Add", Op::Add(a, b))],
        &Op::Mul(a, b) => vec![replace("Mul becomes Add", Op::Add(a, b))],
        Op::Eq(..) => vec![complement("Eq becomes Ne")],
        &Op::Lt(a, b) => vec![replace("Lt becomes Gt", Op::Lt(b, a)), complement("Lt becomes Ge")],
        &Op::ShiftLeft(a, b) => vec![replace("ShiftLeft becomes ShiftRight", Op::ShiftRight(a, b))],
        &Op::ShiftRight(a, b) => vec![replace("ShiftRight becomes ShiftLeft", Op::ShiftLeft(a, b))],
        &Op::Mux { condition, then, otherwise } => {
            vec![replace("Mux swaps its values", Op::Mux { condition, then: otherwise, otherwise: then })]
        }
        &Op::LaneMux { mask, then, otherwise } => {
            vec![replace("LaneMux swaps its values", Op::LaneMux { mask, then: otherwise, otherwise: then })]
        }
        Op::Concat(parts) => {
            let differ = |&i: &usize| parts[i] != parts[i + 1] && width(parts[i]) == width(parts[i + 1]);
            let swapped = |i: usize| {
                let mut parts = parts.clone();
                parts.swap(i, i + 1);
                replace(&format!("Concat swaps parts {i} and {}", i + 1), Op::Concat(parts))
            };
            (0..parts.len().saturating_sub(1)).filter(differ).map(swapped).collect()
        }
        &Op::Slice { value, low } if low > 0 => {
            vec![replace("Slice begins one bit lower", Op::Slice { value, low: low - 1 })]
        }
        &Op::Slice { value, low } if low + own < width(value) => {
            vec![replace("Slice begins one bit higher", Op::Slice { value, low: low + 1 })]
        }
        Op::Slice { .. } => Vec::new(),
        &Op::ReduceOr(a) if width(a) > 1 => vec![replace("ReduceOr becomes ReduceAnd", Op::ReduceAnd(a))],
        &Op::ReduceAnd(a) if width(a) > 1 => vec![replace("ReduceAnd becomes ReduceOr", Op::ReduceOr(a))],
        &Op::ReduceXor(a) if width(a) > 1 => vec![replace("ReduceXor becomes ReduceOr", Op::ReduceOr(a))],
        Op::ReduceOr(_) | Op::ReduceAnd(_) | Op::ReduceXor(_) => vec![complement("one bit is complemented")],
        &Op::PriorityEncode(a) if width(a) > 1 => vec![reverse("PriorityEncode begins at the highest bit")],
        &Op::LowestOne(a) if width(a) > 1 => vec![reverse("LowestOne becomes the highest one")],
        &Op::PrefixOr(a) if width(a) > 1 => vec![reverse("PrefixOr begins at the highest bit")],
        Op::PriorityEncode(_) | Op::LowestOne(_) | Op::PrefixOr(_) => Vec::new(),
        Op::GroupOr(_) => vec![complement("GroupOr is complemented")],
        Op::LaneEq(..) => vec![complement("LaneEq becomes LaneNe")],
        &Op::LaneAdd { a, b, .. } => vec![replace("LaneAdd becomes Xor", Op::Xor(a, b))],
        Op::Decode(_) => vec![complement("Decode is complemented")],
        Op::PopCount(_) => vec![complement("PopCount is complemented")],
        Op::PrefixCount(_) => vec![complement("PrefixCount is complemented")],
        Op::XorHash { value, rows } if rows.len() > 1 => {
            let mut rows = rows.clone();
            rows.swap(0, 1);
            vec![replace("XorHash swaps two rows", Op::XorHash { value: *value, rows })]
        }
        Op::LaneSelect { .. } => vec![complement("LaneSelect is complemented")],
        Op::OneHotSelect { .. } => vec![complement("OneHotSelect is complemented")],
        &Op::TableRead { table, port, field } => {
            let fields = &module.tables[table.index()].fields;
            let like = |&other: &u32| other != field && fields[other as usize].width == own;
            let other = (field + 1..fields.len() as u32).chain(0..field).find(like);
            let swapped = |other: u32| {
                let [own, shown] = [field, other].map(|field| &fields[field as usize].name);
                replace(&format!("`{own}` is `{shown}`"), Op::TableRead { table, port, field: other })
            };
            other.map(swapped).into_iter().collect()
        }
        Op::TableReadValid { .. } => vec![complement("valid bit is complemented")],
        Op::TableMatch { .. } => vec![complement("match lines are complemented")],
        Op::TableValid(_) => vec![complement("valid bits are complemented")],
        &Op::InstanceOutput { instance, port } => {
            let below = &netlist.modules[module.instances[instance.index()].module.index()];
            let like = |(_, other): &(u32, &warpfile_hdl::rtl::netlist::Port)| {
                other.direction == Direction::Output && other.width == own
            };
            let ports = (0..).zip(&below.ports).filter(like);
            let next = ports.clone().find(|(index, _)| *index > port.0).or(ports.clone().next());
            let swapped = |(index, other): (u32, &warpfile_hdl::rtl::netlist::Port)| {
                let port = warpfile_hdl::rtl::netlist::PortId(index);
                replace(&format!("takes output `{}`", other.name), Op::InstanceOutput { instance, port })
            };
            next.filter(|(index, _)| *index != port.0).map(swapped).into_iter().collect()
        }
        // What these do is in the nodes around them.
        Op::Input(_)
        | Op::Wire(_)
        | Op::Register(_)
        | Op::ZeroExtend(_)
        | Op::Replicate(_)
        | Op::SpreadLanes(_)
        | Op::XorHash { .. } => Vec::new(),
    }
}

/// One more, modulo the width.
pub(super) fn next(value: &Bits) -> Bits {
    let sum = value.to_biguint() + 1u32;
    Bits::from_biguint(value.width() + 1, &sum)
        .map_or(Bits::zero(value.width()), |sum| sum.slice(0, value.width()))
}
