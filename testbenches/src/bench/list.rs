//! The circuits that are raced.

use serde_json::json;
use warpfile_hdl::library::library;
use warpfile_hdl::regless::CapacityManager;
use warpfile_hdl::rtl::netlist::{Netlist, Port};
use warpfile_hdl::rtl::{Circuit, elaborate, index_bits};

use super::drive::{Activity, Drive};
use super::managed_warps::ManagedWarps;
use super::staging_shard::StagingShard;
use super::top::{Benchmark, Part};
use super::wide_table::WideTable;
use Drive::{Below, Low, Often, Rarely, Shared};

/// A circuit of the list.
pub struct Entry {
    /// Name of the circuit.
    pub name: &'static str,
    /// Entries of its tables, times those it has by default.
    pub size: usize,
    /// Drives of inputs whose name, digits left out, ends like this; the first that fits.
    pub drives: Vec<(&'static str, Drive)>,
    elaborate: Box<dyn Fn() -> Result<Netlist, String>>,
}

/// Sizes of the circuits that are there to show how cost grows.
const SIZES: [usize; 4] = [1, 2, 4, 8];

/// Every circuit that is raced, at every size. One of the library needs a line; what its ports mean is said where the usual
/// drives would leave it idle or stuck.
pub fn list() -> Vec<Entry> {
    let library = vec![
        from_library("round_robin_arbiter", &[("request_i", Drive::Active), ("take_i", Often)]),
        from_library("fifo", &[]),
        from_library("register_bank", &[]),
        from_library("main_register_file", &[]),
        // An instruction for a unit that does not exist would wait for ever.
        from_library("operand_collectors", &[("unit_i", Low(2)), ("source_valid_i", Often)]),
        from_library("banked_register_file", &[("unit_i", Low(2)), ("source_valid_i", Often)]),
        from_library("dual_issue_register_file", &[("unit_i", Low(2)), ("source_valid_i", Often)]),
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
        // Half of the names die at once now and then, so that most rows are used and some come back.
        from_library(
            "rename_table",
            &[("release_i", Rarely), ("retire_i", Rarely), ("dies_i", Rarely), ("taken_i", Often)],
        ),
        from_library(
            "virtual_register_file",
            &[
                ("unit_i", Low(2)),
                ("source_valid_i", Often),
                ("release_i", Rarely),
                // Names die with instructions and results: if half of them did now and then, a tenth of the activity
                // would have nothing to write to.
                ("retire_i", Low(1)),
                ("dead_i", Rarely),
                // Counts of registers as they come: a part of what a warp has at most, fewer at barriers.
                ("ended_i", Rarely),
                ("claim_i", Low(5)),
                ("quota_i", Low(4)),
            ],
        ),
        // Half the operands and results are in entries, and half the instructions copy one.
        from_library(
            "register_file_hierarchy",
            &[
                ("unit_i", Low(2)),
                ("source_valid_i", Often),
                ("entry_valid_i", Drive::Index),
                ("copy_valid_i", Drive::Index),
            ],
        ),
        // A quarter of the values are constants.
        from_library("pattern_matcher", &[("value_i", Drive::FewValues)]),
        from_library("pattern_expander", &[("bases_i", Drive::Data)]),
        // Fetches and writes of 18 compressed lines, so that some are missing.
        from_library(
            "compressor",
            &[
                ("request_kind_i", Low(1)),
                ("request_register_i", Low(4)),
                ("request_invalidates_i", Rarely),
                ("request_value_i", Drive::FewValues),
            ],
        ),
        from_library("l1_port", &[]),
        from_library("access_queue", &access_drives()),
        // What comes leaves room on the value port for reads.
        from_library(
            "operand_staging_bank",
            &[
                &[("write_valid_i", Shared(4)), ("fill_valid_i", Shared(8)), ("write_fate_i", Rarely)],
                &[("drop_valid_i", Rarely), ("may_hold_i", Often)][..],
                &access_drives(),
            ]
            .concat(),
        ),
        from_library(
            "operand_staging_unit",
            &[
                &[("blocked_i", Rarely), ("exit_valid_i", Rarely), ("compressed_i", Rarely)],
                &[("may_hold_i", Often)][..],
                &access_drives(),
            ]
            .concat(),
        ),
        from_library(
            "metadata_store",
            &[("first_i", Often), ("last_i", Often), ("note_valid_i", Often), ("begins_i", Drive::Active)],
        ),
        // Warps come more rarely than they go, so that there is room on the stack; half of them go at once.
        from_library("warp_stack", &[("push_valid_i", Shared(2))]),
        capacity_manager(),
        from_library(
            "access_distributor",
            &[
                ("unit_i", Low(2)),
                ("source_valid_i", Drive::Index),
                ("result_valid_i", Shared(4)),
                ("fate_i", Low(1)),
                ("written_i", Often),
                ("room_i", Often),
                ("two_i", Often),
            ],
        ),
        // Accesses are served at random: an instruction waits for some time until all of its own are.
        from_library("register_read_unit", &[("enter_valid_i", Shared(16))]),
    ];
    let own = SIZES.map(staging_shard).into_iter().chain(SIZES.map(wide_table));
    library.into_iter().chain(own).collect()
}

/// Accesses and annotations of 32 registers, so that half of them find their line among 16; a region ends with half of
/// the accesses.
fn access_drives() -> Vec<(&'static str, Drive)> {
    vec![
        ("warp_i", Low(1)),
        ("register_i", Low(4)),
        ("fate_i", Low(1)),
        ("kind_i", Low(1)),
        ("written_i", Often),
    ]
}

/// Every point of the race: each entry of the list at each activity level.
pub fn benchmarks() -> Vec<Benchmark> {
    let point = |entry: &Entry, activity| {
        let (circuit, size, part) = (entry.name.into(), entry.size, Part::Whole);
        Benchmark { circuit, size, activity, part }
    };
    list().iter().flat_map(|entry| Activity::ALL.map(|activity| point(entry, activity))).collect()
}

/// A circuit of the library with its defaults.
fn from_library(name: &'static str, drives: &[(&'static str, Drive)]) -> Entry {
    let elaborate = move || {
        let entry = library().into_iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| format!("the library has no `{name}`"))?;
        entry.elaborate_with(&json!({})).map_err(|error| error.to_string())
    };
    Entry { name, size: 1, drives: drives.to_vec(), elaborate: Box::new(elaborate) }
}

/// The capacity manager of the library, with warps that run regions: under inputs that know nothing of each other its counts
/// would say nothing.
fn capacity_manager() -> Entry {
    let elaborate = move || {
        let entry = library().into_iter().find(|entry| entry.name == CapacityManager::NAME);
        let defaults = entry.ok_or("the library has no capacity manager")?.defaults;
        let manager = serde_json::from_value(defaults).map_err(|error| error.to_string())?;
        elaborate(&ManagedWarps { manager }).map_err(|errors| errors.to_string())
    };
    Entry {
        name: CapacityManager::NAME,
        size: 1,
        drives: vec![
            ("metadata_last_i", Often),
            ("note_valid_i", Often),
            ("kind_i", Low(1)),
            ("waiting_i", Rarely),
        ],
        elaborate: Box::new(elaborate),
    }
}

/// Eight banks of 64 lines and more. A line holds register `line` of one of two warps, so that half the lookups hit
/// and a register is in one line at most.
fn staging_shard(size: usize) -> Entry {
    let circuit = StagingShard { banks: 8, lines: 64 * size };
    let line_bits = index_bits(circuit.lines) as u32;
    Entry {
        name: StagingShard::NAME,
        size,
        drives: vec![
            ("warp_i", Low(1)),
            ("lookup_register_i", Low(line_bits)),
            ("write_register_i", Below(0, "write_line_i")),
        ],
        elaborate: Box::new(move || elaborate(&circuit).map_err(|errors| errors.to_string())),
    }
}

/// 1024 rows and 32 keys, and more. A place holds one of two keys, so that half the lookups hit and a key has one
/// place at most. Lanes have four values, so that some are equal.
fn wide_table(size: usize) -> Entry {
    let circuit = WideTable { rows: 1024 * size, keys: 32 * size };
    let key_bits = index_bits(circuit.keys) as u32 + 1;
    Entry {
        name: WideTable::NAME,
        size,
        drives: vec![
            ("lookup_key_i", Low(key_bits)),
            ("learn_key_i", Below(1, "learn_place_i")),
            ("value_i", Drive::FewValues),
        ],
        elaborate: Box::new(move || elaborate(&circuit).map_err(|errors| errors.to_string())),
    }
}

impl Entry {
    /// The netlist of the circuit alone; the error says why there is none.
    pub fn elaborate(&self) -> Result<Netlist, String> {
        (self.elaborate)()
    }

    /// How an input is driven.
    pub fn drive(&self, input: &Port) -> Drive {
        let name: String = input.name.chars().filter(|c| !c.is_ascii_digit()).collect();
        let said = self.drives.iter().find(|(end, _)| name.ends_with(end));
        said.map_or_else(|| Drive::usual(input), |(_, drive)| *drive)
    }
}
