//! What the technology of a configuration charges for accesses, for compilers that choose between levels.

use warpfile_kernels::compile::rfh::AccessEnergy;

use super::register_file;
use crate::config::Config;
use crate::energy::EnergyModel;
use crate::energy::structure::{Account, Part, Structure};
use crate::sm::SimError;

/// The arrays of a design whose accesses are charged to its registers, priced.
pub struct Levels(Vec<(Structure, Part)>);

impl Levels {
    /// Those of a configuration's design.
    ///
    /// # Errors
    /// There is no such technology, or it cannot price an array.
    pub fn of(config: &Config) -> Result<Levels, SimError> {
        let model = EnergyModel::named(&config.energy.technology).map_err(SimError::mechanism)?;
        let mut parts = model.parts(config).map_err(SimError::mechanism)?;
        if model.technology().accesses_alone.is_some() {
            parts.retain(|(structure, _)| structure.account == Account::Registers);
        }
        Ok(Levels(parts))
    }

    /// An access to arrays of a name, wires included.
    pub fn access(&self, name: &str) -> AccessEnergy {
        let part = self.0.iter().map(|(_, part)| part).find(|part| part.name == name);
        part.map_or(AccessEnergy::default(), |part| AccessEnergy {
            read: part.read_pj + part.wire_pj,
            write: part.write_pj + part.wire_pj,
        })
    }

    /// A value that arrays of a name are read for and that is written to the main register file (decision 172).
    pub fn move_to_register_file(&self, name: &str) -> f64 {
        let part = self.0.iter().map(|(_, part)| part).find(|part| part.name == name);
        let wire_pj = part.map_or(0.0, |part| part.wire_pj);
        self.access(name).read + self.access(register_file::REGISTERS).write - 2.0 * wire_pj
    }

    /// An access to the main register file: what is read there is kept in a collector; what is read above it is not.
    pub fn main_register_file(&self) -> AccessEnergy {
        let mut main = self.access(register_file::REGISTERS);
        let collected = self.access(register_file::COLLECTORS);
        main.read += collected.write + collected.read;
        main
    }
}
