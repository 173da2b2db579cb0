//! Owner warp first: picks by the classes that a layer gives, in each the oldest warp.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::sharing::OwnerWarpFirst;

use crate::config::Config;
use crate::mechanisms::{Build, Info, Mechanism, NamedCircuit, Part, Role};
use crate::sm::SimError;
use crate::sm::design::{SchedulerInputs, SchedulerOutputs, WarpScheduler};

/// The OWF scheduler (§2.3.1).
pub struct Owf;

impl Mechanism for Owf {
    fn info(&self) -> Info {
        Info {
            name: "owf",
            summary: "scheduler that picks owner warps first and non-owners last, the oldest of each (Jatala, §2.3.1)",
            design: None,
            preset: "jatala-ch2",
        }
    }

    fn role(&self) -> Role {
        Role::Scheduler
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![NamedCircuit::of_scheduler(config, "scheduler", &circuit(config))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = circuit(at.config);
        let part = |engine| Ok(Box::new(OwfCircuit::new(engine, &circuit)?) as Box<dyn WarpScheduler>);
        Ok(Part::Schedulers(at.of_schedulers(&circuit, &[], part)?))
    }
}

fn circuit(config: &Config) -> OwnerWarpFirst {
    OwnerWarpFirst { warps: config.warps_per_scheduler() as usize }
}

/// One of them.
struct OwfCircuit {
    engine: AnyEngine,
    ports: CircuitPorts<OwnerWarpFirst>,
}

impl OwfCircuit {
    fn new(engine: AnyEngine, circuit: &OwnerWarpFirst) -> Result<OwfCircuit, EngineError> {
        Ok(OwfCircuit { ports: engine.ports(circuit)?, engine })
    }
}

impl WarpScheduler for OwfCircuit {
    fn suspends(&self) -> bool {
        false
    }

    fn cycle(&mut self, inputs: SchedulerInputs) -> SchedulerOutputs {
        let (engine, ports) = (self.engine.state_mut(), &self.ports);
        engine.set(ports.resident_i, inputs.resident);
        engine.set(ports.ready_i, inputs.ready);
        engine.set(ports.first_i, inputs.classes.first & inputs.resident);
        engine.set(ports.last_i, inputs.classes.last & inputs.resident);
        engine.set(ports.issue_enable_i, u64::from(inputs.issue_enable));
        self.engine.step();
        let engine = self.engine.state();
        let decision = |valid, warp| {
            (engine.get(valid) == 1).then(|| engine.get(warp) as usize).map(|warp| (warp, warp))
        };
        SchedulerOutputs {
            issue: decision(ports.issue_valid_o, ports.issue_warp_o),
            retired: decision(ports.retire_valid_o, ports.retire_warp_o),
            ..SchedulerOutputs::default()
        }
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        Some(&self.engine)
    }
}
