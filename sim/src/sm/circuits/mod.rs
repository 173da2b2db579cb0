//! Circuits behind the pipeline's traits: port handles are resolved once, by the names in
//! `docs/sm-pipeline.md`, and drive the engine from then on.

mod register_file;
mod scheduler;

use warpfile_engine::{Engine, EngineError, InPort, OutPort};

pub use register_file::{RegisterFileCircuit, TableNames};
pub use scheduler::SchedulerCircuit;

/// Resolves ports of one group: `valid_i` of group `issue` is port `issue_valid_i`.
struct Group<'e> {
    engine: &'e dyn Engine,
    name: String,
}

impl<'e> Group<'e> {
    fn new(engine: &'e dyn Engine, name: &str) -> Group<'e> {
        Group { engine, name: name.to_owned() }
    }

    fn input(&self, port: &str) -> Result<InPort, EngineError> {
        self.engine.input(&format!("{}_{port}", self.name))
    }

    fn output(&self, port: &str) -> Result<OutPort, EngineError> {
        self.engine.output(&format!("{}_{port}", self.name))
    }
}
