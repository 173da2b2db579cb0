//! Two-level warp scheduling: a small active set, from which warps that wait for long operations are suspended.
//!
//! Source: Gebhart et al., "Energy-efficient Mechanisms for Managing Thread Context in Throughput Processors", ISCA 2011,
//! §3.2.

use warpfile_engine::{AnyEngine, Engine, EngineError, InPort, OutPort, State};
use warpfile_hdl::rfc::{self, TwoLevelScheduler};

use super::circuit::Group;
use super::waves::{self, WaveGroup};
use super::{Build, Info, Mechanism, NamedCircuit, Part, Role};
use crate::config::{Config, InnerPolicy};
use crate::sm::SimError;
use crate::sm::design::{SchedulerInputs, SchedulerOutputs, WarpScheduler, WarpSlot};

/// A two-level scheduler.
pub struct TwoLevel;

impl Mechanism for TwoLevel {
    fn info(&self) -> Info {
        Info {
            name: "two-level",
            summary: "two-level warp scheduler (Gebhart et al. §3.2)",
            design: Some((
                "two-level",
                "banked main register file, two-level scheduler (Gebhart et al. §3.2)",
            )),
            preset: "gebhart2011",
        }
    }

    fn role(&self) -> Role {
        Role::Scheduler
    }

    /// Never more than there are warps.
    fn slots(&self, config: &Config) -> u64 {
        config.scheduler.active_warps.min(config.warps_per_scheduler())
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![NamedCircuit::of_partition(config, "scheduler", &circuit(self, config))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let suspends = self.slots(at.config) < at.config.warps_per_scheduler();
        let part = |engine| Ok(Box::new(SchedulerCircuit::new(engine, suspends)?) as Box<dyn WarpScheduler>);
        Ok(Part::Schedulers(at.of_partitions(&circuit(self, at.config), &[], part)?))
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![waves::SCHEDULER]
    }
}

fn circuit(scheduler: &TwoLevel, config: &Config) -> TwoLevelScheduler {
    TwoLevelScheduler {
        warps: config.warps_per_scheduler() as usize,
        slots: scheduler.slots(config) as usize,
        policy: match config.scheduler.inner {
            InnerPolicy::Greedy => rfc::InnerPolicy::Greedy,
            InnerPolicy::RoundRobin => rfc::InnerPolicy::RoundRobin,
        },
    }
}

/// A scheduler with the ports of `TwoLevelScheduler`.
pub struct SchedulerCircuit {
    engine: AnyEngine,
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

impl SchedulerCircuit {
    /// `suspends`: whether there are fewer slots than warps. Errors name a port that is not there.
    pub fn new(engine: AnyEngine, suspends: bool) -> Result<SchedulerCircuit, EngineError> {
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

impl WarpScheduler for SchedulerCircuit {
    fn suspends(&self) -> bool {
        self.suspends
    }

    fn cycle(&mut self, inputs: SchedulerInputs) -> SchedulerOutputs {
        let engine = self.engine.state_mut();
        engine.set(self.resident, inputs.resident);
        engine.set(self.ready, inputs.ready);
        engine.set(self.suspend, inputs.suspend);
        engine.set(self.eligible, inputs.eligible);
        engine.set(self.slot_busy, inputs.busy_slots);
        engine.set(self.issue_enable, u64::from(inputs.issue_enable));
        self.engine.step();
        let engine = self.engine.state();
        SchedulerOutputs {
            issue: self.issue.get(engine),
            suspended: self.suspended.get(engine),
            retired: self.retired.get(engine),
            activated: self.activated.get(engine),
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

    fn get(&self, engine: &State) -> Option<(WarpSlot, usize)> {
        (engine.get(self.valid) == 1)
            .then(|| (engine.get(self.warp) as usize, engine.get(self.slot) as usize))
    }
}
