//! Expressions of nodes.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::{Node, NodeId, Op};

use crate::module::ModuleWriter;

/// An expression's text and how tightly it binds.
pub(crate) struct Text {
    text: String,
    binding: Binding,
}

#[derive(Clone, Copy, PartialEq)]
enum Binding {
    /// A name, a literal, a call, a concatenation.
    Atom,
    /// `~a`, `-a`.
    Unary,
    /// `|a`: kept in parentheses beside binary operators.
    Reduction,
    /// Infix operator.
    Infix(&'static str),
    /// `a ? b : c`.
    Conditional,
}

impl Text {
    /// Text that never needs parentheses.
    pub(crate) fn atom(text: impl Into<String>) -> Text {
        Text { text: text.into(), binding: Binding::Atom }
    }

    /// `operator a`, for `~` and `-`.
    pub(crate) fn unary(operator: &str, a: Text) -> Text {
        Text { text: format!("{operator}{}", a.tight()), binding: Binding::Unary }
    }

    /// `operator a`, for `|`, `&` and `^`.
    pub(crate) fn reduction(operator: &str, a: Text) -> Text {
        Text { text: format!("{operator}{}", a.tight()), binding: Binding::Reduction }
    }

    /// `a operator b`.
    pub(crate) fn infix(a: Text, operator: &'static str, b: Text) -> Text {
        Text {
            text: format!("{} {operator} {}", a.beside(operator), b.beside(operator)),
            binding: Binding::Infix(operator),
        }
    }

    /// `condition ? then : otherwise`.
    pub(crate) fn conditional(condition: Text, then: Text, otherwise: Text) -> Text {
        let then = if then.binding == Binding::Conditional { format!("({})", then.text) } else { then.text };
        Text {
            text: format!("{} ? {then} : {}", condition.beside("?"), otherwise.text),
            binding: Binding::Conditional,
        }
    }

    /// The text, to look at.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text where commas, brackets or the statement itself delimit it.
    pub(crate) fn whole(self) -> String {
        self.text
    }

    fn tight(self) -> String {
        if self.binding == Binding::Atom { self.text } else { format!("({})", self.text) }
    }

    fn beside(self, operator: &str) -> String {
        let joins = match self.binding {
            Binding::Atom | Binding::Unary => true,
            Binding::Infix(own) => own == operator && matches!(operator, "&" | "|" | "^"),
            Binding::Reduction | Binding::Conditional => false,
        };
        if joins { self.text } else { format!("({})", self.text) }
    }
}

/// A sized literal.
pub(crate) fn literal(bits: &Bits) -> Text {
    let width = bits.width();
    let value = bits.to_biguint();
    Text::atom(if width == 1 {
        format!("1'b{value}")
    } else if width > 8 && *bits == Bits::ones(width) {
        format!("{{{width}{{1'b1}}}}")
    } else if value < 1024u32.into() {
        format!("{width}'d{value}")
    } else {
        format!("{width}'h{value:x}")
    })
}

/// `value` in `width` bits, cut to them.
pub(crate) fn number(width: u32, value: u64) -> Text {
    let kept = if width < 64 { value & ((1 << width) - 1) } else { value };
    literal(&Bits::new(width, kept).unwrap_or_else(|| Bits::zero(width)))
}

/// A constant from its bits.
fn bits_of(width: u32, bit: impl Fn(u32) -> bool) -> Bits {
    let mut words = vec![0u64; (width as usize).div_ceil(64)];
    for i in (0..width).filter(|&i| bit(i)) {
        words[i as usize / 64] |= 1 << (i % 64);
    }
    Bits::from_words(width, &words).unwrap_or_else(|| Bits::zero(width))
}

impl ModuleWriter<'_> {
    /// The node itself.
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.module.nodes[id.index()]
    }

    /// Width of a node.
    pub(crate) fn width(&self, id: NodeId) -> u32 {
        self.node(id).width
    }

    /// The name that stands for a node, if it has one.
    pub(crate) fn name_of(&self, id: NodeId) -> Option<String> {
        if let Some(name) = &self.names.nodes[id.index()] {
            return Some(name.clone());
        }
        match &self.node(id).op {
            Op::Wire(inner) => self.name_of(*inner),
            op => self.source_name(op),
        }
    }

    /// The name of a port, of state or of a port of state.
    fn source_name(&self, op: &Op) -> Option<String> {
        let name = match op {
            Op::Input(port) => &self.module.ports[port.index()].name,
            Op::Register(register) => &self.names.registers[register.index()],
            Op::TableRead { table, port, field } => {
                &self.names.tables[table.index()].reads[*port as usize].fields[*field as usize]
            }
            Op::TableReadValid { table, port } => {
                &self.names.tables[table.index()].reads[*port as usize].valid
            }
            Op::TableValid(table) => &self.names.tables[table.index()].valid,
            Op::TableMatch { table, port } => &self.names.tables[table.index()].matches[*port as usize],
            Op::InstanceOutput { instance, port } => {
                &self.names.instances[instance.index()].ports[port.index()]
            }
            _ => return None,
        };
        Some(name.clone())
    }

    /// A node as an operand: its name, or its expression.
    pub(crate) fn value(&mut self, id: NodeId) -> Text {
        match self.name_of(id) {
            Some(name) => {
                self.read(&name, 0, self.width(id));
                Text::atom(name)
            }
            None => self.expression(id),
        }
    }

    /// Bits `low .. low + width` of a node.
    pub(crate) fn bits(&mut self, id: NodeId, low: u32, width: u32) -> Text {
        if width == self.width(id) {
            return self.value(id);
        }
        if let Some(name) = self.name_of(id) {
            self.read(&name, low, width);
            let high = low + width - 1;
            return Text::atom(if width == 1 {
                format!("{name}[{low}]")
            } else {
                format!("{name}[{high}:{low}]")
            });
        }
        match &self.node(id).op {
            Op::Wire(inner) => self.bits(*inner, low, width),
            Op::Slice { value, low: offset } => self.bits(*value, low + offset, width),
            Op::Constant(bits) => literal(&bits_of(width, |i| bits.bit(low + i))),
            op => unreachable!("node {id:?} ({op:?}) is sliced and has no wire"),
        }
    }

    /// Lane `index` of a node that has `lanes` lanes; `index` is a loop variable or a number.
    pub(crate) fn lane_of(&mut self, id: NodeId, lanes: u32, index: &str) -> Text {
        let width = self.width(id);
        let text = self.value(id);
        if lanes == 1 { text } else { Text::atom(element(&text.whole(), width, width / lanes, index)) }
    }

    /// The expression that computes a node.
    pub(crate) fn expression(&mut self, id: NodeId) -> Text {
        let width = self.width(id);
        match self.node(id).op.clone() {
            Op::Wire(inner) => self.value(inner),
            Op::Constant(bits) => literal(&bits),
            op @ (Op::Input(_)
            | Op::Register(_)
            | Op::TableRead { .. }
            | Op::TableReadValid { .. }
            | Op::TableValid(_)
            | Op::TableMatch { .. }
            | Op::InstanceOutput { .. }) => {
                let name = self.source_name(&op).unwrap_or_default();
                self.read(&name, 0, width);
                Text::atom(name)
            }
            Op::Not(a) => Text::unary("~", self.value(a)),
            Op::And(a, b) => self.infix(a, "&", b),
            Op::Or(a, b) => self.infix(a, "|", b),
            Op::Xor(a, b) => self.infix(a, "^", b),
            Op::Add(a, b) => self.infix(a, "+", b),
            Op::Sub(a, b) => self.infix(a, "-", b),
            Op::Mul(a, b) => self.infix(a, "*", b),
            Op::Eq(a, b) => self.infix(a, "==", b),
            Op::Lt(a, b) => self.less_than(a, b),
            Op::ShiftLeft(a, amount) => {
                let value = self.value(a);
                self.shift(value, "<<", amount, width)
            }
            Op::ShiftRight(a, amount) => {
                let value = self.value(a);
                self.shift(value, ">>", amount, width)
            }
            Op::Decode(index) => self.shift(number(width, 1), "<<", index, width),
            Op::Mux { condition, then, otherwise } => {
                let condition = self.value(condition);
                let then = self.value(then);
                Text::conditional(condition, then, self.value(otherwise))
            }
            Op::Concat(parts) => self.concat(&parts),
            Op::Slice { value, low } => self.bits(value, low, width),
            Op::ZeroExtend(a) => self.zero_extend(a, width),
            Op::ReduceOr(a) => self.reduce("|", a),
            Op::ReduceAnd(a) => self.reduce("&", a),
            Op::ReduceXor(a) => self.reduce("^", a),
            Op::LowestOne(a) if width == 1 => self.value(a),
            Op::LowestOne(a) => Text::infix(self.value(a), "&", Text::unary("-", self.value(a))),
            Op::PrefixOr(a) if width == 1 => self.value(a),
            Op::PrefixOr(a) => Text::infix(self.value(a), "|", Text::unary("-", self.value(a))),
            Op::Replicate(a) => self.replicate(a, width),
            Op::XorHash { value, rows } => self.xor_hash(value, &rows),
            Op::PriorityEncode(a) => self.priority_encode(a, width),
            Op::PopCount(a) => self.pop_count(a, width),
            Op::PrefixCount(a) => self.prefix_count(a, width),
            Op::LaneSelect { vector, index } => self.lane_select(vector, index, width),
            Op::OneHotSelect { select, vector } => self.one_hot_select(select, vector, width),
            Op::LaneMux { mask, then, otherwise } => self.lane_mux(mask, then, otherwise),
            Op::LaneEq(a, b) => self.lane_eq(a, b, width),
            Op::LaneAdd { a, b, lanes } => self.lane_add(a, b, lanes),
            Op::SpreadLanes(a) => self.spread_lanes(a, width),
            Op::GroupOr(a) => self.group_or(a, width),
        }
    }

    pub(crate) fn infix(&mut self, a: NodeId, operator: &'static str, b: NodeId) -> Text {
        let a = self.value(a);
        Text::infix(a, operator, self.value(b))
    }

    /// Verilator warns about comparisons that constants decide.
    fn less_than(&mut self, a: NodeId, b: NodeId) -> Text {
        if self.is_never_less(a, b) {
            return number(1, 0);
        }
        self.infix(a, "<", b)
    }

    fn is_never_less(&self, a: NodeId, b: NodeId) -> bool {
        self.is_constant(a, Bits::ones) || self.is_constant(b, Bits::zero)
    }

    /// Whether a node is printed as the constant that `make` makes in its width.
    pub(crate) fn is_constant(&self, id: NodeId, make: impl Fn(u32) -> Bits) -> bool {
        self.constant(id) == Some(make(self.width(id)))
    }

    /// The value of a node printed as constants only, which is how tools see through it.
    pub(crate) fn constant(&self, id: NodeId) -> Option<Bits> {
        let width = self.width(id);
        if self.name_of(id).is_some() {
            return None;
        }
        match &self.node(id).op {
            Op::Constant(bits) => Some(bits.clone()),
            Op::Wire(inner) => self.constant(*inner),
            Op::Slice { value, low } => Some(bits_of(width, {
                let value = self.constant(*value)?;
                move |i| value.bit(low + i)
            })),
            Op::ZeroExtend(a) => Some(bits_of(width, {
                let value = self.constant(*a)?;
                move |i| value.bit(i)
            })),
            Op::Replicate(a) => Some(bits_of(width, {
                let value = self.constant(*a)?;
                move |i| value.bit(i % value.width())
            })),
            Op::Concat(parts) => {
                let parts = parts.iter().map(|&p| self.constant(p)).collect::<Option<Vec<_>>>()?;
                let bits: Vec<bool> = parts.iter().flat_map(|p| (0..p.width()).map(|i| p.bit(i))).collect();
                Some(bits_of(width, |i| bits[i as usize]))
            }
            // Printed as a literal 0.
            Op::PriorityEncode(a) | Op::PrefixCount(a) if self.width(*a) == 1 => Some(Bits::zero(width)),
            Op::Lt(a, b) if self.is_never_less(*a, *b) => Some(Bits::zero(width)),
            _ => None,
        }
    }

    /// A shift whose amount may have more than the 32 bits that tools support.
    fn shift(&mut self, value: Text, operator: &'static str, amount: NodeId, width: u32) -> Text {
        let amount_width = self.width(amount);
        if amount_width <= 32 {
            return Text::infix(value, operator, self.value(amount));
        }
        let beyond = Text::reduction("|", self.bits(amount, 32, amount_width - 32));
        let shifted = Text::infix(value, operator, self.bits(amount, 0, 32));
        Text::conditional(beyond, literal(&Bits::zero(width)), shifted)
    }

    fn concat(&mut self, parts: &[NodeId]) -> Text {
        if let [only] = parts {
            return self.value(*only);
        }
        let texts: Vec<String> = parts.iter().rev().map(|&p| self.value(p).whole()).collect();
        Text::atom(format!("{{{}}}", texts.join(", ")))
    }

    pub(crate) fn zero_extend(&mut self, a: NodeId, width: u32) -> Text {
        let value = self.value(a);
        match width - self.width(a) {
            0 => value,
            zeros => Text::atom(format!("{{{}, {}}}", literal(&Bits::zero(zeros)).whole(), value.whole())),
        }
    }

    fn reduce(&mut self, operator: &str, a: NodeId) -> Text {
        let value = self.value(a);
        if self.width(a) == 1 { value } else { Text::reduction(operator, value) }
    }

    fn replicate(&mut self, a: NodeId, width: u32) -> Text {
        let own = self.width(a);
        let value = self.value(a);
        let whole = match width / own {
            1 => value,
            times => Text::atom(format!("{{{times}{{{}}}}}", value.whole())),
        };
        match width % own {
            0 => whole,
            rest => Text::atom(format!("{{{}, {}}}", self.bits(a, 0, rest).whole(), whole.whole())),
        }
    }

    fn xor_hash(&mut self, value: NodeId, rows: &[Bits]) -> Text {
        let bits: Vec<String> = rows
            .iter()
            .rev()
            .map(|mask| Text::reduction("^", Text::infix(self.value(value), "&", literal(mask))).whole())
            .collect();
        match bits.as_slice() {
            [only] => Text::atom(format!("({only})")),
            _ => Text::atom(format!("{{{}}}", bits.join(", "))),
        }
    }
}

/// Element `index` of a vector of `total` bits whose elements have `width`.
pub(crate) fn element(name: &str, total: u32, width: u32, index: &str) -> String {
    match width {
        _ if width == total => name.to_string(),
        1 => format!("{name}[{index}]"),
        _ => format!("{name}[{width}*{index} +: {width}]"),
    }
}
