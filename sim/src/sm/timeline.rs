//! What happens over time, in at most so many columns: instructions that each warp issues, and how full the arrays are that
//! mechanisms name.
//!
//! A run's length is not known before its end. Columns are short at first; when there are too many of them each two become
//! one, and those that follow are as long. So the memory is bounded, and the cycle loop only counts.

use serde::{Deserialize, Serialize};
use warpfile_engine::{Engine, OutPort};

use super::circuits;
use super::design::Design;
use crate::config::Config;
use crate::mechanisms::waves::Occupancy;

/// Cycles of a column at first.
const FIRST_COLUMN: u64 = 16;
/// Columns are half of these at least, once there have been so many.
const MOST_COLUMNS: usize = 256;

/// A run over time. All rows of all tracks have a value for each column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Cycles of a column; the last one may be shorter.
    pub cycles_per_column: u64,
    /// Cycles of the run.
    pub cycles: u64,
    /// What is followed.
    pub tracks: Vec<Track>,
}

/// Rows of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// What they are.
    pub title: String,
    /// What their values are.
    pub unit: String,
    /// The rows.
    pub rows: Vec<TrackRow>,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrackRow {
    /// Which: `warp 3`, or the path of a circuit.
    pub name: String,
    /// A value for each column; `None` where there is none, as of a slot without a warp.
    pub values: Vec<Option<f64>>,
}

/// An array that is looked at.
struct Watched {
    /// Index of its circuit among those of the design.
    circuit: usize,
    /// One bit for each of its rows; those of a row of the track.
    signals: Vec<OutPort>,
    counts_zeros: bool,
    /// Rows of the arrays that are full, in per cent.
    row: TrackRow,
}

/// Follows a run.
pub(super) struct TimelineCounter {
    partitions: usize,
    cycles_per_column: u64,
    /// Cycles since the last column ended.
    elapsed: u64,
    cycles: u64,
    /// Instructions issued since then, by warp slot of the SM.
    issued: Vec<u32>,
    /// Instructions a cycle, by warp slot of the SM.
    warps: Vec<Vec<Option<f64>>>,
    arrays: Vec<(&'static str, Vec<Watched>)>,
}

impl TimelineCounter {
    /// Follows the warps and what the design's mechanisms name.
    pub fn new(config: &Config, design: &Design<'_>) -> TimelineCounter {
        let named = circuits::named(design);
        let named: Vec<(&str, &dyn Engine)> =
            named.iter().map(|(name, circuit)| (name.as_str(), *circuit)).collect();
        let occupancies = config.design.mechanisms().flat_map(|mechanism| mechanism.occupancies());
        let of_one = |occupancy: Occupancy| (occupancy.title, watched(&occupancy, &named));
        let slots = config.sm.warps as usize;
        TimelineCounter {
            partitions: config.partitions() as usize,
            cycles_per_column: FIRST_COLUMN,
            elapsed: 0,
            cycles: 0,
            issued: vec![0; slots],
            warps: vec![Vec::new(); slots],
            arrays: occupancies.map(of_one).filter(|(_, arrays)| !arrays.is_empty()).collect(),
        }
    }

    /// A warp of a partition issues an instruction.
    pub fn issue(&mut self, partition: usize, warp: usize) {
        self.issued[warp * self.partitions + partition] += 1;
    }

    /// A cycle ends; whether a column does.
    pub fn end_cycle(&mut self) -> bool {
        self.elapsed += 1;
        self.cycles += 1;
        self.elapsed == self.cycles_per_column
    }

    /// A column ends: `is_resident` tells of a slot of the SM whether there is a warp.
    pub fn end_column<'d>(
        &mut self,
        is_resident: impl Fn(usize) -> bool,
        circuits: impl Iterator<Item = &'d dyn Engine>,
    ) {
        let cycles = self.elapsed as f64;
        for (slot, (values, issued)) in self.warps.iter_mut().zip(&mut self.issued).enumerate() {
            let is_there = *issued > 0 || is_resident(slot);
            values.push(is_there.then(|| f64::from(*issued) / cycles));
            *issued = 0;
        }
        let circuits: Vec<&dyn Engine> = circuits.collect();
        for array in self.arrays.iter_mut().flat_map(|(_, arrays)| arrays) {
            let full = array.percent_full(circuits[array.circuit]);
            array.row.values.push(full);
        }
        self.elapsed = 0;
        if self.warps.first().is_some_and(|values| values.len() == MOST_COLUMNS) {
            self.rows().for_each(halve);
            self.cycles_per_column *= 2;
        }
    }

    fn rows(&mut self) -> impl Iterator<Item = &mut Vec<Option<f64>>> {
        let arrays = self.arrays.iter_mut().flat_map(|(_, arrays)| arrays);
        self.warps.iter_mut().chain(arrays.map(|array| &mut array.row.values))
    }

    /// What has been seen.
    pub fn timeline(&self) -> Timeline {
        let warp = |(slot, values): (usize, &Vec<Option<f64>>)| TrackRow {
            name: format!("warp slot {slot}"),
            values: values.clone(),
        };
        let warps = Track {
            title: "Instructions that each warp issues".to_owned(),
            unit: "instructions a cycle".to_owned(),
            rows: self.warps.iter().enumerate().map(warp).collect(),
        };
        let arrays = self.arrays.iter().map(|(title, arrays)| Track {
            title: (*title).to_owned(),
            unit: "% of the rows".to_owned(),
            rows: arrays.iter().map(|array| array.row.clone()).collect(),
        });
        Timeline {
            cycles_per_column: self.cycles_per_column,
            cycles: self.cycles,
            tracks: std::iter::once(warps).chain(arrays).collect(),
        }
    }
}

impl Watched {
    /// Per cent of its rows; `None` of no rows.
    fn percent_full(&self, circuit: &dyn Engine) -> Option<f64> {
        let bits: u32 = self.signals.iter().map(|signal| signal.width()).sum();
        let ones =
            self.signals.iter().flat_map(|signal| circuit.get_words(*signal)).map(|word| word.count_ones());
        let ones: u32 = ones.sum();
        let full = if self.counts_zeros { bits - ones } else { ones };
        (bits > 0).then(|| 100.0 * f64::from(full) / f64::from(bits))
    }
}

/// The arrays of an occupancy: a row for each circuit that has such signals.
fn watched(occupancy: &Occupancy, named: &[(&str, &dyn Engine)]) -> Vec<Watched> {
    let mut found: Vec<Watched> = Vec::new();
    for (circuit, (name, engine)) in named.iter().enumerate() {
        for (scope, at) in engine.scopes().iter().enumerate() {
            let own = engine.signals().iter().filter(|signal| signal.scope == scope);
            let signals: Vec<OutPort> = own
                .filter(|signal| occupancy.is_of(&at.name, &signal.name))
                .map(|signal| signal.value)
                .collect();
            if signals.is_empty() {
                continue;
            }
            let name = if at.path.is_empty() { (*name).to_owned() } else { format!("{name}.{}", at.path) };
            let row = TrackRow { name, values: Vec::new() };
            found.push(Watched { circuit, signals, counts_zeros: occupancy.counts_zeros, row });
        }
    }
    found
}

/// Each two values become their mean. Where one is missing nothing was done in that time.
fn halve(values: &mut Vec<Option<f64>>) {
    let mean = |pair: &[Option<f64>]| {
        let is_there = pair.iter().any(Option::is_some);
        is_there.then(|| pair.iter().flatten().sum::<f64>() / pair.len() as f64)
    };
    *values = values.chunks(2).map(mean).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_columns_become_one_by_their_mean() {
        let mut values = vec![Some(1.0), Some(2.0), None, Some(4.0), None, None];
        halve(&mut values);
        assert_eq!(values, [Some(1.5), Some(2.0), None]);
    }
}
