//! What is kept of a design's circuits while they run: their waveform, the traffic at the ports of one of them.

use std::io::Write;

use warpfile_engine::recording::{PortRecorder, RecordingError};
use warpfile_engine::waveform::{WaveformError, WaveformOptions, WaveformRecorder};
use warpfile_engine::{Engine, EngineError};

use crate::config::Config;

use super::circuits;
use super::design::Design;
use super::{PortTraffic, RunOptions, SimError, Waveform};

/// Records the circuits of a design.
pub(super) struct Recorder<'a> {
    waveform: Option<WaveformRecorder<'a>>,
    /// With the index of the engine that the circuit is in.
    ports: Option<(usize, PortRecorder<&'a mut dyn Write>)>,
}

impl<'a> Recorder<'a> {
    /// What the options ask for, taken out of them; `None` if they ask for nothing.
    pub fn new(
        config: &Config,
        design: &Design<'_>,
        options: &mut RunOptions<'a>,
    ) -> Result<Option<Recorder<'a>>, SimError> {
        let (waveform, traffic) = (options.waveform.take(), options.port_traffic.take());
        if waveform.is_none() && traffic.is_none() {
            return Ok(None);
        }
        let named = circuits::named(design);
        let circuits: Vec<_> = named.iter().map(|(name, circuit)| (name.as_str(), *circuit)).collect();
        let waveform = waveform.map(|asked| waveform_of(config, &circuits, asked)).transpose()?;
        let ports = traffic.map(|traffic| ports(config, &circuits, traffic)).transpose()?;
        Ok(Some(Recorder { waveform, ports }))
    }

    /// The cycle just run.
    pub fn record<'d>(&mut self, mut circuits: impl Iterator<Item = &'d dyn Engine>) -> Result<(), SimError> {
        let Some(waveform) = &mut self.waveform else {
            let recorded = self.ports.as_mut();
            let recorded = recorded.and_then(|(index, ports)| Some((circuits.nth(*index)?, ports)));
            return recorded.map_or(Ok(()), |(circuit, ports)| {
                Ok(ports.record(circuit).map_err(RecordingError::from)?)
            });
        };
        let circuits: Vec<&dyn Engine> = circuits.collect();
        if let Some((index, ports)) = &mut self.ports {
            ports.record(circuits[*index]).map_err(RecordingError::from)?;
        }
        Ok(waveform.record_together(&circuits).map_err(WaveformError::from)?)
    }

    pub fn finish(self) -> Result<(), SimError> {
        self.waveform.map_or(Ok(()), WaveformRecorder::finish).map_err(WaveformError::from)?;
        if let Some((_, ports)) = self.ports {
            ports.finish().map_err(RecordingError::from)?;
        }
        Ok(())
    }
}

fn waveform_of<'a>(
    config: &Config,
    circuits: &[(&str, &dyn Engine)],
    waveform: Waveform<'a>,
) -> Result<WaveformRecorder<'a>, SimError> {
    let options = WaveformOptions {
        scope: waveform.scope.unwrap_or_default(),
        cycles: waveform.cycles.unwrap_or(0..u64::MAX),
    };
    Ok(WaveformRecorder::together(&scope(config), circuits, &options, waveform.format)?)
}

fn ports<'a>(
    config: &Config,
    circuits: &[(&str, &dyn Engine)],
    traffic: PortTraffic<'a>,
) -> Result<(usize, PortRecorder<&'a mut dyn Write>), SimError> {
    let PortTraffic { writer, circuit: path, cycles } = traffic;
    let (outermost, inner) = path.split_once('.').unwrap_or((&path, ""));
    let Some(index) = circuits.iter().position(|(name, _)| *name == outermost) else {
        let names = circuits.iter().map(|(name, _)| *name);
        let unknown = EngineError::unknown("circuit", outermost, &scope(config), names);
        return Err(RecordingError::from(unknown).into());
    };
    let (cycles, engine) = (cycles.unwrap_or(u64::MAX), circuits[index].1);
    Ok((index, PortRecorder::new(engine, inner, &path, cycles, writer)?))
}

/// The outermost scope: the design, as an identifier.
fn scope(config: &Config) -> String {
    config.design.as_str().replace('+', "_")
}
