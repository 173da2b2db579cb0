//! Two-level warp scheduling: a small active set, from which warps that wait for long operations are suspended.
//!
//! Source: Gebhart et al., "Energy-efficient Mechanisms for Managing Thread Context in Throughput Processors", ISCA 2011,
//! §3.2.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError, PortsOf, State};
use warpfile_hdl::rfc::{DecisionIo, TwoLevelScheduler};

use super::waves::{self, WaveGroup};
use super::{Build, Info, Mechanism, NamedCircuit, Part, Role};
use crate::config::Config;
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
        Ok(vec![NamedCircuit::of_scheduler(config, "scheduler", &circuit(self, config))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let suspends = self.slots(at.config) < at.config.warps_per_scheduler();
        let circuit = circuit(self, at.config);
        let part = |engine| {
            Ok(Box::new(SchedulerCircuit::new(engine, &circuit, suspends)?) as Box<dyn WarpScheduler>)
        };
        Ok(Part::Schedulers(at.of_schedulers(&circuit, &[], part)?))
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![waves::SCHEDULER]
    }
}

/// The circuit of a configuration.
pub fn circuit(scheduler: &TwoLevel, config: &Config) -> TwoLevelScheduler {
    TwoLevelScheduler {
        warps: config.warps_per_scheduler() as usize,
        slots: scheduler.slots(config) as usize,
        policy: config.scheduler.inner,
    }
}

/// A scheduler with the ports of `TwoLevelScheduler`.
pub struct SchedulerCircuit {
    engine: AnyEngine,
    suspends: bool,
    ports: CircuitPorts<TwoLevelScheduler>,
}

impl SchedulerCircuit {
    /// `suspends`: whether there are fewer slots than warps. Errors name a port that is not there.
    pub fn new(
        engine: AnyEngine,
        circuit: &TwoLevelScheduler,
        suspends: bool,
    ) -> Result<SchedulerCircuit, EngineError> {
        Ok(SchedulerCircuit { ports: engine.ports(circuit)?, engine, suspends })
    }
}

impl WarpScheduler for SchedulerCircuit {
    fn suspends(&self) -> bool {
        self.suspends
    }

    fn cycle(&mut self, inputs: SchedulerInputs) -> SchedulerOutputs {
        let (engine, ports) = (self.engine.state_mut(), &self.ports);
        engine.set(ports.resident_i, inputs.resident);
        engine.set(ports.ready_i, inputs.ready);
        engine.set(ports.suspend_i, inputs.suspend);
        engine.set(ports.eligible_i, inputs.eligible);
        engine.set(ports.slot_busy_i, inputs.busy_slots);
        engine.set(ports.issue_enable_i, u64::from(inputs.issue_enable));
        self.engine.step();
        let engine = self.engine.state();
        SchedulerOutputs {
            issue: decision(engine, &ports.issue),
            suspended: decision(engine, &ports.suspend),
            retired: decision(engine, &ports.retire),
            activated: decision(engine, &ports.activate),
        }
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        Some(&self.engine)
    }
}

/// A warp and its slot, if there is a decision.
fn decision(engine: &State, ports: &PortsOf<DecisionIo<'static>>) -> Option<(WarpSlot, usize)> {
    (engine.get(ports.valid_o) == 1)
        .then(|| (engine.get(ports.warp_o) as usize, engine.get(ports.slot_o) as usize))
}
