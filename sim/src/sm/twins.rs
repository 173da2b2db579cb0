//! Circuits beside those of a design, with other values in the state that has no reset.

use warpfile_engine::{Engine, Twin};

use super::SimError;

/// Twins of all circuits of a design.
pub(super) struct Twins {
    design: String,
    /// The name of each circuit, and its twins.
    circuits: Vec<(String, Vec<Twin>)>,
}

impl Twins {
    /// So many of each circuit, with the seeds that follow its own.
    pub fn new(design: &str, circuits: &[(String, &dyn Engine)], count: u64) -> Twins {
        let twins = |circuit: &dyn Engine| {
            (1..=count).map(|n| Twin::new(circuit, circuit.state().seed().wrapping_add(n))).collect()
        };
        let circuits = circuits.iter().map(|(name, circuit)| (name.clone(), twins(*circuit))).collect();
        Twins { design: design.to_owned(), circuits }
    }

    /// Runs the cycle just run.
    ///
    /// # Errors
    /// An output that differs and means something.
    pub fn follow<'d>(&mut self, circuits: impl Iterator<Item = &'d dyn Engine>) -> Result<(), SimError> {
        for ((name, twins), circuit) in self.circuits.iter_mut().zip(circuits) {
            for twin in twins {
                twin.follow(circuit).map_err(|missing| SimError::MissingReset {
                    design: self.design.clone(),
                    circuit: name.clone(),
                    missing: Box::new(missing),
                })?;
            }
        }
        Ok(())
    }
}
