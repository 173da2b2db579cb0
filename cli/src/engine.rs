//! The choice of the engine that runs the circuits.

use warpfile_sim::sm::EngineName;

/// Which engine.
#[derive(clap::Args)]
pub struct EngineArguments {
    /// What runs the circuits: `compiled`, or `interpreter`, the reference; no figure depends on it.
    #[arg(long, value_name = "NAME", default_value = EngineName::default().as_str(), value_parser = engine)]
    engine: EngineName,
}

impl EngineArguments {
    /// The engine of that name.
    pub fn name(&self) -> EngineName {
        self.engine
    }
}

fn engine(name: &str) -> Result<EngineName, String> {
    let found = EngineName::ALL.into_iter().find(|engine| engine.as_str() == name);
    found.ok_or_else(|| format!("accepted: {}", EngineName::ALL.map(EngineName::as_str).join(", ")))
}
