//! The two-level scheduler circuit as a warp scheduler.

use warpfile_engine::{Engine, EngineError, InPort, OutPort};

use super::super::design::{SchedulerInputs, SchedulerOutputs, WarpScheduler, WarpSlot};
use super::Group;

/// A scheduler with the ports of `TwoLevelScheduler`.
pub struct SchedulerCircuit<E> {
    engine: E,
    suspends: bool,
    resident: InPort,
    ready: InPort,
    suspend: InPort,
    eligible: InPort,
    slot_busy: InPort,
    issue_enable: InPort,
    issue: DecisionPorts,
    suspended: DecisionPorts,
    retired: DecisionPorts,
    activated: DecisionPorts,
}

/// A warp and its slot.
struct DecisionPorts {
    valid: OutPort,
    warp: OutPort,
    slot: OutPort,
}

impl<E: Engine> SchedulerCircuit<E> {
    /// `suspends`: whether there are fewer slots than warps. Errors name a port that is not there.
    pub fn new(engine: E, suspends: bool) -> Result<SchedulerCircuit<E>, EngineError> {
        Ok(SchedulerCircuit {
            suspends,
            resident: engine.input("resident_i")?,
            ready: engine.input("ready_i")?,
            suspend: engine.input("suspend_i")?,
            eligible: engine.input("eligible_i")?,
            slot_busy: engine.input("slot_busy_i")?,
            issue_enable: engine.input("issue_enable_i")?,
            issue: DecisionPorts::resolve(&engine, "issue")?,
            suspended: DecisionPorts::resolve(&engine, "suspend")?,
            retired: DecisionPorts::resolve(&engine, "retire")?,
            activated: DecisionPorts::resolve(&engine, "activate")?,
            engine,
        })
    }
}

impl<E: Engine> WarpScheduler for SchedulerCircuit<E> {
    fn suspends(&self) -> bool {
        self.suspends
    }

    fn cycle(&mut self, inputs: SchedulerInputs) -> SchedulerOutputs {
        self.engine.set(self.resident, inputs.resident);
        self.engine.set(self.ready, inputs.ready);
        self.engine.set(self.suspend, inputs.suspend);
        self.engine.set(self.eligible, inputs.eligible);
        self.engine.set(self.slot_busy, inputs.busy_slots);
        self.engine.set(self.issue_enable, u64::from(inputs.issue_enable));
        self.engine.step();
        SchedulerOutputs {
            issue: self.issue.get(&self.engine),
            suspended: self.suspended.get(&self.engine),
            retired: self.retired.get(&self.engine),
            activated: self.activated.get(&self.engine),
        }
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        Some(&self.engine)
    }
}

impl DecisionPorts {
    fn resolve(engine: &dyn Engine, name: &str) -> Result<DecisionPorts, EngineError> {
        let group = Group::new(engine, name);
        Ok(DecisionPorts {
            valid: group.output("valid_o")?,
            warp: group.output("warp_o")?,
            slot: group.output("slot_o")?,
        })
    }

    fn get(&self, engine: &impl Engine) -> Option<(WarpSlot, usize)> {
        (engine.get(self.valid) == 1)
            .then(|| (engine.get(self.warp) as usize, engine.get(self.slot) as usize))
    }
}
