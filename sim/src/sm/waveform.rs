//! The waveform of a design's circuits.

use std::io::Write;

use warpfile_engine::Engine;
use warpfile_engine::vcd::{VcdError, VcdOptions, VcdRecorder};

use crate::config::Config;

use super::design::Design;
use super::{SimError, Waveform};

/// Records the circuits of a design.
pub(super) struct Recorder<'a> {
    vcd: VcdRecorder<&'a mut dyn Write>,
}

impl<'a> Recorder<'a> {
    pub fn new(
        config: &Config,
        design: &Design<'_>,
        waveform: Waveform<'a>,
    ) -> Result<Recorder<'a>, SimError> {
        let options = VcdOptions {
            scope: waveform.scope.unwrap_or_default(),
            cycles: waveform.cycles.unwrap_or(0..u64::MAX),
        };
        let circuits: Vec<(&str, &dyn Engine)> = [
            design.storage.circuit().map(|circuit| ("register_file", circuit)),
            design.scheduler.circuit().map(|circuit| ("scheduler", circuit)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let vcd = VcdRecorder::together(config.design.as_str(), &circuits, &options, waveform.writer)?;
        Ok(Recorder { vcd })
    }

    /// The cycle just run.
    pub fn record(&mut self, design: &Design<'_>) -> Result<(), SimError> {
        let recorded = match (design.storage.circuit(), design.scheduler.circuit()) {
            (Some(storage), Some(scheduler)) => self.vcd.record_together(&[storage, scheduler]),
            (Some(circuit), None) | (None, Some(circuit)) => self.vcd.record_together(&[circuit]),
            (None, None) => Ok(()),
        };
        Ok(recorded.map_err(VcdError::from)?)
    }

    pub fn finish(self) -> Result<(), SimError> {
        Ok(self.vcd.finish().map_err(VcdError::from)?)
    }
}
