//! The circuits that are raced.

use serde_json::json;
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::{Netlist, Port};

use super::drive::{Activity, Drive};
use super::top::Benchmark;
use Drive::{Below, Low, Often, Rarely};

/// A circuit of the list.
pub struct Entry {
    /// Name of the circuit.
    pub name: &'static str,
    /// Sizes it is raced at: entries of its tables, times those it has by default.
    pub sizes: &'static [usize],
    /// Drives of inputs whose name, digits left out, ends like this; the first that fits.
    pub drives: &'static [(&'static str, Drive)],
    elaborate: fn(name: &str, size: usize) -> Result<Netlist, String>,
}

/// Every circuit that is raced. One of the library needs a line; what its ports mean is said where the usual
/// drives would leave it idle or stuck.
pub fn list() -> Vec<Entry> {
    vec![
        from_library("round_robin_arbiter", &[("request_i", Drive::Active), ("take_i", Often)]),
        from_library("fifo", &[]),
        from_library("register_bank", &[]),
        from_library("main_register_file", &[]),
        // An instruction for a unit that does not exist would wait for ever.
        from_library("operand_collectors", &[("unit_i", Low(2)), ("source_valid_i", Often)]),
        from_library("banked_register_file", &[("unit_i", Low(2)), ("source_valid_i", Often)]),
        // Eight registers a slot, so that the six entries have hits and misses.
        from_library(
            "register_file_cache",
            &[
                ("register_i", Low(3)),
                ("source_valid_i", Often),
                ("last_read_i", Rarely),
                ("waiting_i", Often),
                ("result_clean_i", Rarely),
                ("invalidate_valid_i", Rarely),
                ("flush_valid_i", Rarely),
                ("flush_discard_i", Rarely),
            ],
        ),
        from_library(
            "source_allocator",
            &[("register_i", Low(4)), ("source_valid_i", Often), ("flush_valid_i", Rarely)],
        ),
        from_library(
            "cached_register_file",
            &[
                ("unit_i", Low(2)),
                ("source_valid_i", Often),
                ("source_register_i", Below(3, "issue_slot_i")),
                ("result_register_i", Below(3, "result_slot_i")),
                ("fill_register_i", Low(6)),
                ("last_read_i", Rarely),
                ("result_cached_i", Often),
                ("flush_valid_i", Rarely),
                ("flush_discard_i", Rarely),
            ],
        ),
        from_library(
            "two_level_scheduler",
            &[
                ("resident_i", Often),
                ("slot_busy_i", Rarely),
                ("suspend_i", Rarely),
                ("eligible_i", Often),
                ("issue_enable_i", Often),
                ("ready_i", Drive::Active),
            ],
        ),
    ]
}

/// Every point of the race: each circuit at each of its sizes and activity levels.
pub fn benchmarks() -> Vec<Benchmark> {
    let points = |entry: Entry| {
        let point = move |size: usize, activity| Benchmark { circuit: entry.name.into(), size, activity };
        let sizes = entry.sizes.iter();
        sizes.flat_map(move |&size| Activity::ALL.map(|activity| point(size, activity)))
    };
    list().into_iter().flat_map(points).collect()
}

/// A circuit of the library, at its default size.
fn from_library(name: &'static str, drives: &'static [(&'static str, Drive)]) -> Entry {
    let elaborate = |name: &str, _size: usize| {
        let entry = library().into_iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| format!("the library has no `{name}`"))?;
        entry.elaborate_with(&json!({})).map_err(|error| error.to_string())
    };
    Entry { name, sizes: &[1], drives, elaborate }
}

impl Entry {
    /// The netlist of the circuit alone; the error says why there is none.
    pub fn elaborate(&self, size: usize) -> Result<Netlist, String> {
        (self.elaborate)(self.name, size)
    }

    /// How an input is driven.
    pub fn drive(&self, input: &Port) -> Drive {
        let name: String = input.name.chars().filter(|c| !c.is_ascii_digit()).collect();
        let said = self.drives.iter().find(|(end, _)| name.ends_with(end));
        said.map_or_else(|| Drive::usual(input), |(_, drive)| *drive)
    }
}
