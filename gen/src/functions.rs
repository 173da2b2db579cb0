//! Operations that Verilog writes as functions.

use std::collections::BTreeMap;

use warpfile_hdl::rtl::netlist::NodeId;

use crate::Style;
use crate::code::{Code, range};
use crate::expr::{Text, number};
use crate::module::ModuleWriter;

/// Functions that a module has needed so far, by key.
pub(crate) struct Functions {
    known: BTreeMap<String, String>,
    code: Code,
}

impl Functions {
    /// Their text.
    pub(crate) fn into_code(self) -> Code {
        self.code
    }
}

impl Default for Functions {
    fn default() -> Functions {
        Functions { known: BTreeMap::new(), code: Code::at_level(1) }
    }
}

/// A function with one loop.
struct Looped<'a> {
    /// What it does, with the widths that tell it from its kin: `pop_count_64`.
    key: String,
    /// Bits of the result.
    width: u32,
    /// Arguments and their widths.
    arguments: &'a [(&'static str, u32)],
    /// Head of the loop over `i`.
    head: String,
    /// Statements of the loop; `$` stands for the result, `@value` for an argument, `@i` for the loop's variable.
    body: Vec<String>,
    /// Further local variable with its width, 0 at the start.
    local: Option<(&'static str, u32)>,
}

/// The bits `from .. to` of a vector.
fn select(from: u32, to: u32) -> String {
    if to - from == 1 { format!("[{from}]") } else { format!("[{}:{from}]", to - 1) }
}

fn upwards(count: u32) -> String {
    format!("for (@i = 0; @i < {count}; @i = @i + 1)")
}

/// `bit` as a number of `width` bits.
fn widened(bit: &str, width: u32) -> String {
    if width == 1 { bit.to_string() } else { format!("{{{}, {bit}}}", number(width - 1, 0).whole()) }
}

impl ModuleWriter<'_> {
    pub(crate) fn priority_encode(&mut self, a: NodeId, width: u32) -> Text {
        let bits = self.width(a);
        if bits == 1 {
            return number(width, 0);
        }
        let value = self.value(a).whole();
        match self.style {
            Style::Lanes => self.encode_by_halves(bits, width, &value),
            Style::Words => self.encode_by_masks(bits, width, &value),
        }
    }

    /// The number of the lowest 1 as a tree, as deep as the logarithm of `bits`. From a loop Yosys makes a chain of as many
    /// steps as there are bits.
    fn encode_by_halves(&mut self, bits: u32, width: u32, value: &str) -> Text {
        let lowest = self.lowest(0, bits);
        let number = format!("|@value ? {lowest} : {}", number(width, 0).whole());
        let name = self.one_line(format!("priority_encode_{bits}"), width, bits, &number);
        Text::atom(format!("{name}({value})"))
    }

    /// The number, counted from `from`, of the lowest 1 of the bits `from .. to` of `@value`, two at least, of which one has to
    /// be 1: the last of them does not matter.
    fn lowest(&mut self, from: u32, to: u32) -> String {
        let bits = to - from;
        let key = format!("lowest_{bits}");
        let name = match self.functions.known.get(&key) {
            Some(name) => name.clone(),
            None => {
                let width = bits.next_power_of_two().ilog2();
                let middle = 1 << (width - 1);
                let low = self.lowest_of_half(0, middle, width);
                let high = self.lowest_of_half(middle, bits, width);
                let low_has_it =
                    if bits == 2 { "@value".to_owned() } else { format!("|@value{}", select(0, middle)) };
                self.one_line(key, width, bits - 1, &format!("{low_has_it} ? {low} : {high}"))
            }
        };
        format!("{name}(@value{})", select(from, to - 1))
    }

    /// The same in `width` bits and counted from 0, for one bit too.
    fn lowest_of_half(&mut self, from: u32, to: u32, width: u32) -> String {
        if to - from == 1 {
            return number(width, from.into()).whole();
        }
        let known = width - (to - from).next_power_of_two().ilog2();
        let start = number(known, u64::from(from) >> (width - known)).whole();
        format!("{{{start}, {}}}", self.lowest(from, to))
    }

    /// A function of one argument, `@value` of `bits`, which is one expression; defined where it is new.
    fn one_line(&mut self, key: String, width: u32, bits: u32, expression: &str) -> String {
        if let Some(name) = self.functions.known.get(&key) {
            return name.clone();
        }
        let name = self.names.scope.fresh(&key);
        let value = self.names.local("value");
        let code = &mut self.functions.code;
        code.line(&format!("function {}{name};", range(width)));
        code.indent();
        code.line(&format!("input {}{value};", range(bits)));
        code.line(&format!("{name} = {};", expression.replace("@value", &value)));
        code.dedent();
        code.line("endfunction");
        code.blank();
        self.functions.known.insert(key, name.clone());
        name
    }

    /// The number of the lowest 1 without a loop, for which Verilator makes a step a bit: each bit of the number says
    /// whether the lowest 1 is at a place whose number has that bit.
    fn encode_by_masks(&mut self, bits: u32, width: u32, value: &str) -> Text {
        let key = format!("priority_encode_{bits}");
        let name = match self.functions.known.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = self.names.scope.fresh(&key);
                let (value, lowest) = (self.names.local("value"), self.names.local("lowest"));
                let places = |bit: u32| {
                    let digit = |digit: u32| {
                        let places = (4 * digit..4 * digit + 4).filter(|place| *place < bits);
                        places
                            .filter(|place| place >> bit & 1 == 1)
                            .map(|place| 1 << (place % 4))
                            .sum::<u32>()
                    };
                    let digits: String =
                        (0..bits.div_ceil(4)).rev().map(|at| format!("{:x}", digit(at))).collect();
                    format!("|({lowest} & {bits}'h{digits})")
                };
                let number: Vec<String> = (0..width).rev().map(places).collect();
                let code = &mut self.functions.code;
                code.line(&format!("function {}{name};", range(width)));
                code.indent();
                code.line(&format!("input {}{value};", range(bits)));
                code.line(&format!("reg {}{lowest};", range(bits)));
                code.line("begin");
                code.indent();
                code.line(&format!("{lowest} = {value} & (~{value} + {bits}'d1);"));
                code.line(&format!("{name} = {{{}}};", number.join(", ")));
                code.dedent();
                code.line("end");
                code.dedent();
                code.line("endfunction");
                code.blank();
                self.functions.known.insert(key, name.clone());
                name
            }
        };
        Text::atom(format!("{name}({value})"))
    }

    pub(crate) fn pop_count(&mut self, a: NodeId, width: u32) -> Text {
        let bits = self.width(a);
        if bits == 1 {
            return self.zero_extend(a, width);
        }
        let value = self.value(a);
        let function = Looped {
            key: format!("pop_count_{bits}"),
            width,
            arguments: &[("@value", bits)],
            head: upwards(bits),
            body: vec![format!("$ = $ + {};", widened("@value[@i]", width))],
            local: None,
        };
        self.call(function, &[value.whole()])
    }

    pub(crate) fn prefix_count(&mut self, a: NodeId, width: u32) -> Text {
        let bits = self.width(a);
        if bits == 1 {
            return number(width, 0);
        }
        let value = self.value(a).whole();
        let lane = width / bits;
        let function = Looped {
            key: format!("prefix_count_{bits}x{lane}"),
            width,
            arguments: &[("@value", bits)],
            head: upwards(bits),
            body: vec![
                format!("$[{lane}*@i +: {lane}] = @below;"),
                format!("@below = @below + {};", widened("@value[@i]", lane)),
            ],
            local: Some(("@below", lane)),
        };
        self.call(function, &[value])
    }

    pub(crate) fn lane_select(&mut self, vector: NodeId, index: NodeId, width: u32) -> Text {
        let (total, index_width) = (self.width(vector), self.width(index));
        let lanes = total / width;
        if let Some(index) = self.constant(index) {
            let lane = (0..lanes).find(|&lane| index.to_biguint() == lane.into());
            return match lane {
                Some(lane) => self.bits(vector, lane * width, width),
                None => number(width, 0),
            };
        }
        let vector = self.value(vector).whole();
        let index = self.value(index);
        if lanes == 1 {
            let first = Text::infix(index, "==", number(index_width, 0));
            return Text::conditional(first, Text::atom(vector), number(width, 0));
        }
        let every_index_is_a_lane = index_width < 32 && 1u32 << index_width == lanes;
        if every_index_is_a_lane && width.is_power_of_two() {
            let index = index.whole();
            return Text::atom(match width {
                1 => format!("{vector}[{index}]"),
                _ => format!("{vector}[{{{index}, {}}} +: {width}]", number(width.ilog2(), 0).whole()),
            });
        }
        let reachable = if index_width < 32 { lanes.min(1 << index_width) } else { lanes };
        let lane = match index_width {
            0..32 => format!("@i[{}:0]", index_width - 1),
            32 => "@i".to_string(),
            wider => format!("{{{}, @i}}", number(wider - 32, 0).whole()),
        };
        let function = Looped {
            key: format!("lane_select_{lanes}x{width}_{index_width}"),
            width,
            arguments: &[("@vector", total), ("@index", index_width)],
            head: upwards(reachable),
            body: vec![format!("if (@index == {lane}) $ = @vector[{width}*@i +: {width}];")],
            local: None,
        };
        self.call(function, &[vector, index.whole()])
    }

    pub(crate) fn one_hot_select(&mut self, select: NodeId, vector: NodeId, width: u32) -> Text {
        let lanes = self.width(select);
        if lanes == 1 {
            let select = self.value(select).whole();
            let spread = if width == 1 { select } else { format!("{{{width}{{{select}}}}}") };
            return Text::infix(self.value(vector), "&", Text::atom(spread));
        }
        if width == 1 {
            return Text::reduction("|", self.infix(select, "&", vector));
        }
        let function = Looped {
            key: format!("one_hot_select_{lanes}x{width}"),
            width,
            arguments: &[("@select", lanes), ("@vector", lanes * width)],
            head: upwards(lanes),
            body: vec![format!("$ = $ | (@vector[{width}*@i +: {width}] & {{{width}{{@select[@i]}}}});")],
            local: None,
        };
        let select = self.value(select).whole();
        let vector = self.value(vector).whole();
        self.call(function, &[select, vector])
    }

    fn call(&mut self, function: Looped, arguments: &[String]) -> Text {
        let name = match self.functions.known.get(&function.key) {
            Some(name) => name.clone(),
            None => self.define(&function),
        };
        Text::atom(format!("{name}({})", arguments.join(", ")))
    }

    fn define(&mut self, function: &Looped) -> String {
        let name = self.names.scope.fresh(&function.key);
        let mut locals = vec![("@i", self.names.local("i"))];
        let mut declarations = Vec::new();
        let mut starts = vec![format!("{name} = {};", number(function.width, 0).whole())];
        for &(argument, width) in function.arguments {
            let local = self.names.local(argument.trim_start_matches('@'));
            declarations.push(format!("input {}{local};", range(width)));
            locals.push((argument, local));
        }
        if let Some((variable, width)) = function.local {
            let local = self.names.local(variable.trim_start_matches('@'));
            declarations.push(format!("reg {}{local};", range(width)));
            starts.push(format!("{local} = {};", number(width, 0).whole()));
            locals.push((variable, local));
        }
        declarations.push(format!("integer {};", locals[0].1));
        // Longest first: `@i` is the start of `@index`.
        locals.sort_by_key(|(placeholder, _)| std::cmp::Reverse(placeholder.len()));
        let fill = |text: &String| {
            locals.iter().fold(text.replace('$', &name), |text, (from, to)| text.replace(from, to))
        };

        let code = &mut self.functions.code;
        code.line(&format!("function {}{name};", range(function.width)));
        code.indent();
        declarations.iter().for_each(|line| code.line(line));
        code.line("begin");
        code.indent();
        starts.iter().for_each(|line| code.line(line));
        code.line(&format!("{} begin", fill(&function.head)));
        code.indent();
        function.body.iter().for_each(|line| code.line(&fill(line)));
        code.dedent();
        code.line("end");
        code.dedent();
        code.line("end");
        code.dedent();
        code.line("endfunction");
        code.blank();
        self.functions.known.insert(function.key.clone(), name.clone());
        name
    }
}
