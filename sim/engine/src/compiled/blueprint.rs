//! From a plan to its code, as often as it is made.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::code::Code;
use super::emit::{self, Recipe, Reserved, Slots, TUNINGS, Tuning};
use super::graph::{Graph, Readers};
use super::instances::Instances;
use super::profile::Profile;
use super::segments::Segments;
use super::{guards, schedule, simplify};
use crate::code_cache::CodeCache;
use crate::plan::Plan;
use crate::{EngineError, Options};

/// Places at which each code is laid that is made again.
pub const PLACES: usize = 8;

/// What the code of a plan is made from, besides the plan.
#[derive(Clone, Debug)]
pub struct Blueprint {
    instances: Option<Instances>,
    pub reserved: Reserved,
    kept: Option<Arc<CodeCache>>,
}

/// The code of a plan. Clones share it.
#[derive(Clone, Debug)]
pub struct Machine {
    pub cycle: Code,
    /// What works out the foreseen outputs; `None` if there are none.
    pub foresight: Option<Code>,
}

impl Blueprint {
    /// Rewrites and arranges a plan so that code can be made for it.
    pub fn new(plan: &mut Plan, options: &Options) -> Blueprint {
        simplify::simplify(plan);
        let instances = Instances::arrange(plan, options.share_code);
        let reserved = Reserved::new(plan, instances.as_ref());
        // A vector loaded at the end of a column may reach beyond it.
        plan.arena_words += 2;
        Blueprint { instances, reserved, kept: options.code_cache.clone() }
    }

    /// Makes code before anything is known of conditions.
    pub fn compile(&self, plan: &Arc<Plan>) -> Result<Machine, EngineError> {
        Ok(self.machines(plan, None, TUNINGS[0], 1)?.remove(0))
    }

    /// Makes code with what is known of conditions, and lays it at several places.
    pub fn compile_again(
        &self,
        plan: &Arc<Plan>,
        profile: &Profile,
        tuning: Tuning,
    ) -> Result<Vec<Machine>, EngineError> {
        self.machines(plan, Some(profile), tuning, PLACES)
    }

    /// Makes code and lays what runs cycles at so many places.
    fn machines(
        &self,
        plan: &Arc<Plan>,
        profile: Option<&Profile>,
        tuning: Tuning,
        places: usize,
    ) -> Result<Vec<Machine>, EngineError> {
        let (instances, kept) = (self.instances.as_ref(), self.kept.as_deref());
        let recipe = Recipe { plan, instances, profile, tuning, kept };
        let cycle = self.body(plan, Readers::OfCycle, recipe.instances, profile);
        let code = emit::compile_cycles(recipe, &cycle, places)?;
        let foresight = (!plan.foreseen.is_empty()).then(|| {
            let foresight = self.body(plan, Readers::OfForeseen, None, profile);
            emit::compile_foresight(recipe, &foresight, &cycle)
        });
        let foresight = foresight.transpose()?;
        Ok(code.into_iter().map(|cycle| Machine { cycle, foresight: foresight.clone() }).collect())
    }

    /// Schedules what `readers` need, with one code for all instances if there are any.
    fn body(
        &self,
        plan: &Plan,
        readers: Readers,
        instances: Option<&Instances>,
        profile: Option<&Profile>,
    ) -> Body {
        let graph = Graph::new(plan, readers);
        let guards = guards::guards(&graph, instances, profile);
        let order = schedule::schedule(&graph, &guards, instances);
        assert_eq!(order.len(), guards.iter().flatten().count(), "instructions that wait for each other");
        let segments = Segments::new(&graph, &order, instances);
        let slots = Slots::new(&graph, &segments, &self.reserved, instances);
        Body { readers, segments, slots }
    }

    /// Places of all conditions that code could ask for.
    pub fn conditions(&self, plan: &Plan) -> BTreeSet<u32> {
        let of_cycle = Graph::new(plan, Readers::OfCycle);
        let of_foreseen = Graph::new(plan, Readers::OfForeseen);
        let mut places = guards::conditions(&of_cycle, self.instances.as_ref());
        places.extend(guards::conditions(&of_foreseen, None));
        places
    }
}

/// What a function works out, in which order and under which conditions, and where pointers are kept in between.
pub struct Body {
    pub readers: Readers,
    pub segments: Segments,
    pub slots: Slots,
}
