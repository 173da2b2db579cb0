//! What a random netlist is made from.

use proptest::collection::vec;
use proptest::prelude::*;
use warpfile_hdl::rtl::netlist::{ModuleId, Netlist};

use crate::choice::Choice;
use crate::maker::Maker;
use crate::numbers::Random;

/// Bounds of random netlists.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Nodes chosen for a module; as many again may be needed to fit widths.
    pub nodes: usize,
    /// Bits of the widest value; concatenations and such reach twice as many.
    pub widest: u32,
    /// Rows of the deepest table.
    pub deepest: u32,
    /// Modules, each with instances of those below.
    pub modules: usize,
}

/// Which constants a netlist has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constants {
    /// All zeros, all ones and others: what corner cases are made of.
    Extreme,
    /// Neither zeros nor ones: tools find out what the extreme ones decide, and warn of it.
    Moderate,
}

/// Which nodes have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// All: `n0`, `n1`, …
    All,
    /// One in seven.
    Few,
}

/// What the netlists are for.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Constants.
    pub constants: Constants,
    /// Named nodes.
    pub names: Names,
    /// Whether values that nothing uses become outputs. Otherwise they are dead.
    pub unused_to_outputs: bool,
    /// Whether every field of every table is written by some port. Otherwise some keep what they start with.
    pub all_fields_written: bool,
}

/// Choices that a netlist is made from.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Modules from the innermost to the outermost.
    pub modules: Vec<ModuleRecipe>,
    /// Widths that many values have.
    pub palette: [u16; 4],
    /// Bits of the widest value.
    pub widest: u32,
    /// Rows of the deepest table.
    pub deepest: u32,
    /// How nodes are renumbered: 0 leaves them in the order of computation.
    pub disorder: u16,
}

/// Choices that a module is made from.
#[derive(Clone, Debug, Default)]
pub struct ModuleRecipe {
    /// Input ports.
    pub inputs: Vec<Choice>,
    /// Registers.
    pub registers: Vec<Choice>,
    /// Tables.
    pub tables: Vec<Choice>,
    /// Operations, read and match ports, sub-circuits.
    pub nodes: Vec<Choice>,
    /// Updates of tables, in program order.
    pub updates: Vec<Choice>,
    /// Output ports.
    pub outputs: Vec<Choice>,
    /// Invariants, which need not hold.
    pub invariants: Vec<Choice>,
}

impl Recipe {
    /// Recipes of up to a size.
    pub fn any(size: Size) -> impl Strategy<Value = Recipe> {
        let Size { nodes, widest, deepest, modules } = size;
        let narrowest = widest.min(8);
        (
            vec(ModuleRecipe::any(nodes), 1..=modules),
            any::<[u16; 4]>(),
            prop_oneof![narrowest..=widest.min(200), narrowest..=widest],
            1..=deepest,
            any::<u16>(),
        )
            .prop_map(|(modules, palette, widest, deepest, disorder)| Recipe {
                modules,
                palette,
                widest,
                deepest,
                disorder,
            })
    }

    /// A recipe of the full size from a seed, for tests of something else than netlists.
    pub fn from_seed(seed: u64, size: Size) -> Recipe {
        let mut random = Random(seed);
        let modules = (0..size.modules).map(|_| ModuleRecipe::from_random(&mut random, size.nodes)).collect();
        Recipe {
            modules,
            palette: [(); 4].map(|()| random.number() as u16),
            widest: size.widest,
            deepest: size.deepest,
            disorder: random.number() as u16,
        }
    }

    /// The netlist.
    pub fn netlist(&self, style: Style) -> Netlist {
        let mut modules = Vec::new();
        for recipe in &self.modules {
            let module = Maker::new(self, style, &modules).module(recipe);
            modules.push(module);
        }
        Netlist { top: ModuleId(modules.len() as u32 - 1), modules }
    }
}

impl ModuleRecipe {
    /// All lists of choices, inputs first.
    pub(crate) fn lists(&mut self) -> [&mut Vec<Choice>; 7] {
        let ModuleRecipe { inputs, registers, tables, nodes, updates, outputs, invariants } = self;
        [inputs, registers, tables, nodes, updates, outputs, invariants]
    }

    fn any(nodes: usize) -> impl Strategy<Value = ModuleRecipe> {
        let some = |range| vec(any::<Choice>(), range);
        (some(1..6), some(0..7), some(0..4), some(0..nodes + 1), some(0..14), some(1..6), some(0..3))
            .prop_map(|(inputs, registers, tables, nodes, updates, outputs, invariants)| ModuleRecipe {
                inputs,
                registers,
                tables,
                nodes,
                updates,
                outputs,
                invariants,
            })
    }

    fn from_random(random: &mut Random, nodes: usize) -> ModuleRecipe {
        let mut some = |count: usize| -> Vec<Choice> {
            (0..count).map(|_| [(); 6].map(|()| random.number() as u16)).collect()
        };
        ModuleRecipe {
            inputs: some(4),
            registers: some(4),
            tables: some(2),
            nodes: some(nodes),
            updates: some(5),
            outputs: some(3),
            invariants: some(1),
        }
    }
}
