//! Makes a module from its recipe.
//!
//! A node's operands are found so that leaving out one choice changes little: a shared value is found by its
//! key, as on a ring where the nearest one answers, and a value that only one node uses is the newest.

mod operations;
mod state;
mod tables;
mod values;

use warpfile_hdl::rtl::netlist::*;

use crate::choice::{self, Choice};
use crate::numbers::Random;
use crate::recipe::{Constants, ModuleRecipe, Names, Recipe, Style};

const SOURCE: SourceLine = SourceLine { file: "random", line: 1 };

/// A module in the making.
pub(crate) struct Maker<'a> {
    recipe: &'a Recipe,
    style: Style,
    children: &'a [Module],
    module: Module,
    /// Values that any node may use, with their keys.
    shared: Vec<(u16, NodeId)>,
    /// Those among them that no operation computes: inputs, registers, constants.
    leaves: Vec<(u16, NodeId)>,
    /// Values that nothing uses yet, the newest last.
    unused: Vec<NodeId>,
    /// The condition used last.
    condition: Option<NodeId>,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(recipe: &'a Recipe, style: Style, children: &'a [Module]) -> Maker<'a> {
        let module = Module {
            name: format!("random_{}", children.len()),
            doc: "A random circuit.".into(),
            parameters: Vec::new(),
            ports: Vec::new(),
            nodes: Vec::new(),
            registers: Vec::new(),
            tables: Vec::new(),
            instances: Vec::new(),
            invariants: Vec::new(),
        };
        let (shared, leaves, unused) = (Vec::new(), Vec::new(), Vec::new());
        Maker { recipe, style, children, module, shared, leaves, unused, condition: None }
    }

    pub(crate) fn module(mut self, recipe: &ModuleRecipe) -> Module {
        recipe.inputs.iter().for_each(|choice| self.input(*choice));
        recipe.registers.iter().for_each(|choice| self.register(*choice));
        recipe.tables.iter().for_each(|choice| self.table(*choice));
        recipe.nodes.iter().for_each(|choice| self.node(*choice));
        if self.module.instances.is_empty() && !self.children.is_empty() {
            self.instance([0; 6]);
        }
        recipe.updates.iter().for_each(|choice| self.update(*choice));
        if self.style.all_fields_written {
            self.write_what_nothing_writes();
        }
        for (index, choice) in recipe.registers.iter().enumerate() {
            self.connect(index, *choice);
        }
        for (index, choice) in recipe.invariants.iter().enumerate() {
            let (name, condition) = (format!("invariant{index}"), self.one_bit(choice[0]));
            self.module.invariants.push(Invariant {
                name,
                condition,
                kept_by: KeptBy::Circuit,
                source: SOURCE,
            });
        }
        recipe.outputs.iter().for_each(|choice| self.output(*choice));
        if self.style.unused_to_outputs {
            for node in std::mem::take(&mut self.unused) {
                self.add_output(node, None);
            }
        }
        self.renumber();
        self.name();
        self.module
    }

    fn width(&self, number: u16) -> u32 {
        let number = match number % 4 {
            3 => number / 4,
            other => self.recipe.palette[usize::from(other + number / 4) % self.recipe.palette.len()],
        };
        choice::width(number, self.recipe.widest)
    }

    fn input(&mut self, [key, width, ..]: Choice) {
        let index = self.module.ports.len();
        let width = if index == 0 { 1 } else { self.width(width) };
        let (name, direction) = (format!("in{index}_i"), Direction::Input);
        self.module.ports.push(Port { name, direction, width, driver: None, valid_when: None });
        self.add_leaf(key, Op::Input(PortId(index as u32)), width);
    }

    fn output(&mut self, [driver, qualifier, value, ..]: Choice) {
        let valid_when = (qualifier % 2 == 1).then(|| self.one_bit(choice::rest(qualifier, 2)));
        let driver = match driver % 8 {
            7 => {
                let width = self.width(value);
                self.constant(value, width)
            }
            _ => self.any(driver),
        };
        self.add_output(driver, valid_when);
    }

    fn add_output(&mut self, driver: NodeId, valid_when: Option<NodeId>) {
        let index = self.module.ports.iter().filter(|port| port.direction == Direction::Output).count();
        self.module.ports.push(Port {
            name: format!("out{index}_o"),
            direction: Direction::Output,
            width: self.width_of(driver),
            driver: Some(driver),
            valid_when,
        });
    }

    /// A sub-circuit, mostly one made as often as possible: two instances of one module.
    fn instance(&mut self, [key, which, from, ..]: Choice) {
        let last = self.children.len() as u32 - 1;
        let module = ModuleId(last - u32::from(which % 4 / 3 * (which / 4)) % (last + 1));
        let child = &self.children[module.index()];
        let index = self.module.instances.len() as u32;
        let ports: Vec<_> =
            (0..).map(PortId).zip(child.ports.iter().map(|p| (p.direction, p.width))).collect();
        let mut inputs = Vec::new();
        for (port, (direction, width)) in &ports {
            if *direction == Direction::Input {
                inputs.push((*port, self.of_width(choice::nth(from, port.index()), *width)));
            }
        }
        let name = format!("child{index}");
        self.module.instances.push(Instance { name, module, inputs, source: SOURCE });
        for (port, (direction, width)) in ports {
            if direction == Direction::Output {
                let instance = InstanceId(index);
                self.keep(key.wrapping_add(port.0 as u16), Op::InstanceOutput { instance, port }, width);
            }
        }
    }

    /// Renumbers the nodes, so that operands come before and after their users.
    fn renumber(&mut self) {
        if self.recipe.disorder == 0 {
            return;
        }
        let mut random = Random(self.recipe.disorder.into());
        let count = self.module.nodes.len();
        let mut places: Vec<_> = (0..count as u32).map(NodeId).collect();
        for last in (1..count).rev() {
            places.swap(last, random.below(last as u32 + 1) as usize);
        }
        let renumber = &mut |node: &mut NodeId| *node = places[node.index()];
        self.module.visit_roots_mut(renumber);
        for node in &mut self.module.nodes {
            node.op.visit_operands_mut(renumber);
        }
        let mut nodes: Vec<_> = places.iter().zip(self.module.nodes.drain(..)).collect();
        nodes.sort_by_key(|(place, _)| **place);
        self.module.nodes = nodes.into_iter().map(|(_, node)| node).collect();
    }

    fn name(&mut self) {
        for (index, node) in self.module.nodes.iter_mut().enumerate() {
            let named = match self.style.names {
                Names::All => true,
                Names::Few => index % 7 == 3,
            };
            node.name = named.then(|| format!("n{index}"));
        }
    }

    fn constants(&self) -> Constants {
        self.style.constants
    }
}
