//! The waveform of a design's circuits.

use std::io::Write;

use warpfile_engine::Engine;
use warpfile_engine::vcd::{VcdError, VcdOptions, VcdRecorder};

use crate::config::Config;

use super::circuits::L1PortCircuit;
use super::design::{Design, PartitionDesign};
use super::{SimError, Waveform};

/// Records the circuits of a design.
pub(super) struct Recorder<'a> {
    vcd: VcdRecorder<&'a mut dyn Write>,
}

impl<'a> Recorder<'a> {
    pub fn new(
        config: &Config,
        design: &Design<'_>,
        l1_port: Option<&L1PortCircuit>,
        waveform: Waveform<'a>,
    ) -> Result<Recorder<'a>, SimError> {
        let options = VcdOptions {
            scope: waveform.scope.unwrap_or_default(),
            cycles: waveform.cycles.unwrap_or(0..u64::MAX),
        };
        let several = design.partitions.len() > 1;
        let named = design.partitions.iter().enumerate().flat_map(|(index, partition)| {
            let prefix = if several { format!("partition{index}_") } else { String::new() };
            circuits(partition).map(move |(name, circuit)| (format!("{prefix}{name}"), circuit))
        });
        let l1_port = l1_port.map(|port| ("l1_port".to_owned(), port.circuit()));
        let named: Vec<(String, &dyn Engine)> = named.chain(l1_port).collect();
        let circuits: Vec<_> = named.iter().map(|(name, circuit)| (name.as_str(), *circuit)).collect();
        let vcd = VcdRecorder::together(config.design.as_str(), &circuits, &options, waveform.writer)?;
        Ok(Recorder { vcd })
    }

    /// The cycle just run.
    pub fn record<'d>(
        &mut self,
        partitions: impl Iterator<Item = &'d PartitionDesign<'d>>,
        l1_port: Option<&'d L1PortCircuit>,
    ) -> Result<(), SimError> {
        let circuits = partitions.flat_map(circuits).map(|(_, circuit)| circuit);
        let circuits: Vec<&dyn Engine> = circuits.chain(l1_port.map(L1PortCircuit::circuit)).collect();
        Ok(self.vcd.record_together(&circuits).map_err(VcdError::from)?)
    }

    pub fn finish(self) -> Result<(), SimError> {
        Ok(self.vcd.finish().map_err(VcdError::from)?)
    }
}

/// The circuits of a partition by name.
fn circuits<'d>(partition: &'d PartitionDesign<'_>) -> impl Iterator<Item = (&'static str, &'d dyn Engine)> {
    let storage = partition.storage.circuit().map(|circuit| ("register_file", circuit));
    let scheduler = partition.scheduler.circuit().map(|circuit| ("scheduler", circuit));
    storage.into_iter().chain(scheduler)
}
