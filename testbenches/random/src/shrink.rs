//! Making a failing case smaller.
//!
//! The lists of choices shrink by themselves: each choice is left out once, then numbers become smaller. With
//! smaller numbers more can be left out, so that is tried again until nothing helps.

use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::case::Case;
use crate::recipe::{Recipe, Style};

/// What a case is made from.
#[derive(Clone, Debug)]
pub(crate) struct Ingredients {
    pub(crate) recipe: Recipe,
    pub(crate) seed: u64,
    /// A number a cycle.
    pub(crate) cycles: Vec<u32>,
}

/// Cases from ingredients.
#[derive(Clone, Debug)]
pub(crate) struct Cases<S> {
    pub(crate) ingredients: S,
    pub(crate) style: Style,
}

impl<S: Strategy<Value = Ingredients>> Strategy for Cases<S> {
    type Tree = CaseTree<S::Tree>;
    type Value = Case;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let shrinking = self.ingredients.new_tree(runner)?;
        Ok(CaseTree { shrinking, style: self.style, smallest: None, leaving_out: None })
    }
}

/// A case that can become smaller.
pub(crate) struct CaseTree<T> {
    shrinking: T,
    style: Style,
    /// The last that failed.
    smallest: Option<Ingredients>,
    /// Once the lists shrink no further.
    leaving_out: Option<LeavingOut>,
}

/// One thing at a time is left out, the last first.
struct LeavingOut {
    trial: Ingredients,
    /// Number of things not yet tried in this round.
    left: usize,
    /// Whether this round left something out.
    helped: bool,
}

impl<T: ValueTree<Value = Ingredients>> ValueTree for CaseTree<T> {
    type Value = Case;

    fn current(&self) -> Case {
        let Ingredients { recipe, seed, cycles } = self.ingredients();
        Case::new(recipe.netlist(self.style), seed, cycles)
    }

    fn simplify(&mut self) -> bool {
        self.smallest = Some(self.ingredients());
        match &mut self.leaving_out {
            Some(leaving_out) => leaving_out.helped = true,
            None if self.shrinking.simplify() => return true,
            None => {}
        }
        self.leave_out_next()
    }

    fn complicate(&mut self) -> bool {
        if self.leaving_out.is_none() && self.shrinking.complicate() {
            return true;
        }
        self.leave_out_next()
    }
}

impl<T: ValueTree<Value = Ingredients>> CaseTree<T> {
    fn ingredients(&self) -> Ingredients {
        match &self.leaving_out {
            Some(leaving_out) => leaving_out.trial.clone(),
            None => self.shrinking.current(),
        }
    }

    /// Leaves out the next thing of the smallest failing case; false if a whole round did not help.
    fn leave_out_next(&mut self) -> bool {
        let Some(smallest) = &self.smallest else { return false };
        let (mut left, mut helped) = match &self.leaving_out {
            Some(leaving_out) => (leaving_out.left, leaving_out.helped),
            None => (0, true),
        };
        loop {
            if left == 0 {
                if !helped {
                    // The last trial did not fail: what is printed is the smallest that did.
                    self.leaving_out = Some(LeavingOut { trial: smallest.clone(), left, helped });
                    return false;
                }
                (left, helped) = (smallest.things(), false);
            }
            left -= 1;
            if let Some(trial) = smallest.without(left) {
                self.leaving_out = Some(LeavingOut { trial, left, helped });
                return true;
            }
        }
    }
}

impl Ingredients {
    /// Number of things that can be left out: choices, cycles, the renumbering.
    fn things(&self) -> usize {
        let lists = self.recipe.modules.iter().map(|module| module.clone().lists().map(|list| list.len()));
        lists.flatten().sum::<usize>() + self.cycles.len() + 1
    }

    /// The same without thing `index`, if that is a case and another one.
    fn without(&self, index: usize) -> Option<Ingredients> {
        let mut rest = self.clone();
        rest.leave_out(index).then_some(rest)
    }

    /// Leaves out thing `index`; whether that makes another case.
    fn leave_out(&mut self, mut index: usize) -> bool {
        for module in &mut self.recipe.modules {
            for (number, list) in module.lists().into_iter().enumerate() {
                if index < list.len() {
                    list.remove(index);
                    // A module has an input.
                    return number > 0 || !list.is_empty();
                }
                index -= list.len();
            }
        }
        if index < self.cycles.len() {
            self.cycles.remove(index);
            return !self.cycles.is_empty();
        }
        std::mem::take(&mut self.recipe.disorder) != 0
    }
}
