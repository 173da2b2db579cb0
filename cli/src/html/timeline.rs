//! What happens in a run over time, as heat maps.

use serde::Serialize;
use warpfile_sim::sm::{Timeline, Track, TrackRow};

/// A run over time.
#[derive(Serialize)]
pub struct OverTime {
    kernel: String,
    design: String,
    cycles_per_column: u64,
    maps: Vec<HeatMap>,
}

/// A value for each row and column.
#[derive(Serialize)]
struct HeatMap {
    title: String,
    unit: String,
    rows: Vec<String>,
    values: Vec<Vec<Option<f64>>>,
}

impl OverTime {
    /// Of a run of a design on a kernel.
    pub fn new(kernel: String, design: String, timeline: &Timeline) -> OverTime {
        let maps = timeline.tracks.iter().map(heat_map).collect();
        OverTime { kernel, design, cycles_per_column: timeline.cycles_per_column, maps }
    }
}

fn heat_map(track: &Track) -> HeatMap {
    let values = |row: &TrackRow| row.values.iter().map(|value| value.map(thousandths)).collect();
    HeatMap {
        title: track.title.clone(),
        unit: track.unit.clone(),
        rows: track.rows.iter().map(|row| row.name.clone()).collect(),
        values: track.rows.iter().map(values).collect(),
    }
}

/// More is not seen, and takes room.
fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
