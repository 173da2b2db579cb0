//! Energy, leakage and area of storage arrays from the CACTI runs in `sim/technologies/cacti`.
//!
//! Inside the grid of runs, bilinear interpolation in log(entries), log(bits), log(value); outside it, the polynomial
//! that was fitted to the runs. What this is good for, and how far, is in the README beside the files.

mod files;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use files::{ArrayFit, CamFit};

/// Read and write ports of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    /// Ports that read.
    pub read: u32,
    /// Ports that write.
    pub write: u32,
    /// Ports that do either in a cycle.
    pub read_write: u32,
}

impl Ports {
    /// One read or one write a cycle.
    pub const SINGLE: Ports = Ports { read: 0, write: 0, read_write: 1 };
    /// One read and one write a cycle.
    pub const DUAL: Ports = Ports { read: 1, write: 1, read_write: 0 };
}

impl fmt::Display for Ports {
    /// As in the files: `1rw`, `2r1w`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, name) in [(self.read, "r"), (self.write, "w"), (self.read_write, "rw")] {
            if count > 0 {
                write!(f, "{count}{name}")?;
            }
        }
        Ok(())
    }
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A run, or interpolated between runs.
    Runs,
    /// The runs of 32 and 64 entries extended in a line to 8 and 16.
    Extrapolated,
    /// The polynomial fitted to the runs.
    Fit,
}

impl Origin {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Runs => "runs",
            Origin::Extrapolated => "extrapolated",
            Origin::Fit => "fit",
        }
    }
}

/// An array with rows of one word.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Array {
    /// Read of a word, pJ.
    pub read_pj: f64,
    /// Write of a word, pJ.
    pub write_pj: f64,
    /// Leakage, mW at 350 K.
    pub leakage_mw: f64,
    /// Leakage with all rows in a state that keeps their values (CACTI's array gating), mW at 350 K.
    #[serde(skip)]
    pub gated_mw: f64,
    /// Area, µm².
    pub area_um2: f64,
    /// The least of the figures it was found from.
    pub origin: Origin,
}

/// A content-addressed array with one search port, from the fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cam {
    /// Search for a word in all rows, pJ.
    pub search_pj: f64,
    /// Read of a word, pJ.
    pub read_pj: f64,
    /// Write of a word, pJ.
    pub write_pj: f64,
    /// Leakage, mW at 350 K.
    pub leakage_mw: f64,
    /// Area, µm².
    pub area_um2: f64,
}

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// A file is not what it should be.
    #[error("{origin}: {message}")]
    Malformed {
        /// File.
        origin: String,
        /// Line and what is wrong.
        message: String,
    },
    /// Arrays with these ports were not run.
    #[error("there is no array with ports {ports} at {node_nm} nm; there are: {known}")]
    Ports {
        /// As asked for.
        ports: String,
        /// Technology node, nm.
        node_nm: u32,
        /// Port sets that there are.
        known: String,
    },
    /// An array of nothing.
    #[error("an array of {entries} entries of {bits} bits; it needs at least 1 of each")]
    Empty {
        /// As asked for.
        entries: u32,
        /// As asked for.
        bits: u32,
    },
}

/// The runs of one technology node.
#[derive(Clone, Debug)]
pub struct Grid {
    node_nm: u32,
    arrays: BTreeMap<Ports, ArrayGrid>,
    cam: CamFit,
}

/// The runs of one port set. Every number of entries was run with every number of bits.
#[derive(Clone, Debug)]
struct ArrayGrid {
    points: BTreeMap<(u32, u32), Array>,
    entries: Vec<u32>,
    bits: Vec<u32>,
    fit: ArrayFit,
}

/// A place on an axis: between two values that were run, or on one.
#[derive(Clone, Copy, Debug)]
struct Between {
    below: u32,
    above: u32,
    /// 0 at `below`, 1 at `above`, in the logarithm.
    share: f64,
}

impl Grid {
    /// The runs at `node_nm` nm that come with the program: 45, 40, 32, 28 or 22. They are read once.
    pub fn at(node_nm: u32) -> Result<Grid, GridError> {
        static READ: Mutex<BTreeMap<u32, Grid>> = Mutex::new(BTreeMap::new());
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grid) = read.get(&node_nm) {
            return Ok(grid.clone());
        }
        let grid = files::Files::OURS.read(node_nm)?;
        Ok(read.entry(node_nm).or_insert(grid).clone())
    }

    /// An array of `entries` words of `bits` bits. Words of more than 128 bits are better built of several arrays.
    pub fn array(&self, entries: u32, bits: u32, ports: Ports) -> Result<Array, GridError> {
        check_size(entries, bits)?;
        let Some(grid) = self.arrays.get(&ports) else {
            let known: Vec<String> = self.arrays.keys().map(Ports::to_string).collect();
            let (ports, known) = (ports.to_string(), known.join(", "));
            return Err(GridError::Ports { ports, node_nm: self.node_nm, known });
        };
        Ok(grid.interpolated(entries, bits).unwrap_or_else(|| grid.fit.array(entries, bits)))
    }

    /// A content-addressed array of `entries` words of `bits` bits.
    pub fn cam(&self, entries: u32, bits: u32) -> Result<Cam, GridError> {
        check_size(entries, bits)?;
        Ok(self.cam.cam(entries, bits))
    }
}

fn check_size(entries: u32, bits: u32) -> Result<(), GridError> {
    if entries == 0 || bits == 0 {
        return Err(GridError::Empty { entries, bits });
    }
    Ok(())
}

impl ArrayGrid {
    fn new(points: BTreeMap<(u32, u32), Array>, fit: ArrayFit) -> ArrayGrid {
        let axis = |value: fn(&(u32, u32)) -> u32| {
            let mut values: Vec<u32> = points.keys().map(value).collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        let (entries, bits) = (axis(|key| key.0), axis(|key| key.1));
        ArrayGrid { points, entries, bits, fit }
    }

    /// The array from the runs around it; none if it lies outside.
    fn interpolated(&self, entries: u32, bits: u32) -> Option<Array> {
        let entries = between(&self.entries, entries)?;
        let bits = between(&self.bits, bits)?;
        let few = self.between_bits(entries.below, bits)?;
        let many = self.between_bits(entries.above, bits)?;
        Some(few.towards(&many, entries.share))
    }

    fn between_bits(&self, entries: u32, bits: Between) -> Option<Array> {
        let narrow = self.points.get(&(entries, bits.below))?;
        let wide = self.points.get(&(entries, bits.above))?;
        Some(narrow.towards(wide, bits.share))
    }
}

/// Where `value` lies among `axis`, which is in increasing order; none if outside.
fn between(axis: &[u32], value: u32) -> Option<Between> {
    let above = *axis.iter().find(|&&known| known >= value)?;
    if above == value {
        return Some(Between { below: value, above: value, share: 0.0 });
    }
    let below = *axis.iter().rfind(|&&known| known < value)?;
    let log = |value: u32| f64::from(value).ln();
    let share = (log(value) - log(below)) / (log(above) - log(below));
    Some(Between { below, above, share })
}

impl Array {
    /// The array `share` of the way to `other`, in the logarithm of each figure.
    fn towards(&self, other: &Array, share: f64) -> Array {
        let figure = |of: fn(&Array) -> f64| {
            let (from, to) = (of(self), of(other));
            from * (to / from).powf(share)
        };
        Array {
            read_pj: figure(|array| array.read_pj),
            write_pj: figure(|array| array.write_pj),
            leakage_mw: figure(|array| array.leakage_mw),
            gated_mw: figure(|array| array.gated_mw),
            area_um2: figure(|array| array.area_um2),
            origin: self.origin.max(other.origin),
        }
    }
}
