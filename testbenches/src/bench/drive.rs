//! How an input of a benchmark circuit behaves.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use warpfile_hdl::rtl::netlist::Port;

/// How busy the ports of a circuit are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// A port is active in 9 cycles of 10.
    Busy,
    /// A port is active in 1 cycle of 10.
    Tenth,
}

impl Activity {
    /// All of them.
    pub const ALL: [Activity; 2] = [Activity::Busy, Activity::Tenth];

    /// Rate of events at active ports, in 1/256 a cycle.
    pub(super) fn rate(self) -> u64 {
        match self {
            Activity::Busy => OFTEN,
            Activity::Tenth => 26,
        }
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Activity::Busy => "busy",
            Activity::Tenth => "tenth",
        })
    }
}

/// Rate of [`Drive::Often`], in 1/256 a cycle.
pub(super) const OFTEN: u64 = 230;
/// Rate of [`Drive::Rarely`], in 1/256 a cycle.
pub(super) const RARELY: u64 = 8;

/// How an input behaves. Events, fields and data are those of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// Says that a port is used: an event at the rate of the activity level (230/256 or 26/256). Wider than one
    /// bit: data where the event happens, else 0.
    Active,
    /// Says something that is usual at any level: an event at 230/256. Wider than one bit: all ones where the event
    /// happens, else data.
    Often,
    /// Says something that is rare at any level: an event at 8/256. Wider than one bit: data where the event
    /// happens, else 0.
    Rarely,
    /// Says something that does not happen, for inputs of one bit.
    Never,
    /// One of so many that share what is active: an event at that part of the activity level's rate, for inputs of one bit.
    Shared(u64),
    /// A field as wide as the input.
    Index,
    /// A field of so many bits, zeros above.
    Low(u32),
    /// A field of so many bits (of 0 bits: none), and above it the value of another input, which has another drive
    /// than this; as wide as the input, cut or with zeros above. The other is called so, or so behind the first word of
    /// the input's own name: `write_line_i` is `bank3_write_line_i` for the inputs of `bank3`.
    Below(u32, &'static str),
    /// Lanes of a warp: all ones where a field of 2 bits is not 0 (it is drawn first), else data.
    Lanes,
    /// Data.
    Data,
    /// Data with all but the lowest two bits of each 32 cleared: lanes of four values.
    FewValues,
}

impl Drive {
    /// The drive of an input that the list says nothing of: by the end of its name, and its width.
    pub(super) fn usual(port: &Port) -> Drive {
        let ends = |ends: &[&str]| ends.iter().any(|end| port.name.ends_with(end));
        match () {
            () if ends(&["valid_i"]) => Drive::Active,
            () if ends(&["ready_i"]) => Drive::Often,
            () if ends(&["lanes_i", "active_i"]) => Drive::Lanes,
            () if ends(&["value_i", "data_i"]) || port.width > 64 => Drive::Data,
            () => Drive::Index,
        }
    }
}
