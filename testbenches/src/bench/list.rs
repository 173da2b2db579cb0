//! The circuits that are raced.

use serde_json::{Value, json};
use warpfile_hdl::library::{CircuitEntry, library};
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

/// Every circuit that is raced, at every size: those of the library, and some that show how cost grows.
pub fn list() -> Vec<Entry> {
    let own = SIZES.map(staging_shard).into_iter().chain(SIZES.map(wide_table));
    library().into_iter().map(from_library).chain(own).collect()
}

/// What the ports of a circuit of the library mean, where the usual drives would leave it idle or stuck.
fn drives(circuit: &str) -> Vec<(&'static str, Drive)> {
    match circuit {
        "round_robin_arbiter" => vec![("request_i", Drive::Active), ("take_i", Often)],

        // An instruction for a unit that does not exist would wait for ever.
        "operand_collectors" | "banked_register_file" | "reuse_collectors" | "reuse_register_file" => {
            vec![("unit_i", Low(2)), ("source_valid_i", Often)]
        }
        "dual_issue_register_file" | "two_scheduler_register_file" | "register_cache_hierarchy" => {
            vec![("unit_i", Low(2)), ("source_valid_i", Often)]
        }

        // Eight registers a slot, so that the six entries have hits and misses.
        "register_file_cache" => vec![
            ("register_i", Low(3)),
            ("source_valid_i", Often),
            ("last_read_i", Rarely),
            ("waiting_i", Often),
            ("result_clean_i", Rarely),
            ("invalidate_valid_i", Rarely),
            ("flush_valid_i", Rarely),
            ("flush_discard_i", Rarely),
        ],
        "source_allocator" => {
            vec![("register_i", Low(4)), ("source_valid_i", Often), ("flush_valid_i", Rarely)]
        }
        "cached_register_file" => vec![
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
        "two_level_scheduler" => vec![
            ("resident_i", Often),
            ("slot_busy_i", Rarely),
            ("suspend_i", Rarely),
            ("eligible_i", Often),
            ("issue_enable_i", Often),
            ("ready_i", Drive::Active),
        ],

        // Half of the names die at once now and then, so that most rows are used and some come back.
        "rename_table" => {
            vec![("release_i", Rarely), ("retire_i", Rarely), ("dies_i", Rarely), ("taken_i", Often)]
        }
        "virtual_register_file" => vec![
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

        // Half the operands and results are in entries, and half the instructions copy one.
        "register_file_hierarchy" | "scratchpad_hierarchy" => vec![
            ("unit_i", Low(2)),
            ("source_valid_i", Often),
            ("entry_valid_i", Drive::Index),
            ("copy_valid_i", Drive::Index),
        ],

        // A quarter of the values are constants.
        "pattern_matcher" => vec![("value_i", Drive::FewValues)],
        "pattern_expander" => vec![("bases_i", Drive::Data)],

        // Fetches and writes of 18 compressed lines, so that some are missing.
        "compressor" => vec![
            ("request_kind_i", Low(1)),
            ("request_register_i", Low(4)),
            ("request_invalidates_i", Rarely),
            ("request_value_i", Drive::FewValues),
        ],
        "access_queue" => access_drives(),

        // What comes leaves room on the value port for reads.
        "operand_staging_bank" => [
            &[("write_valid_i", Shared(4)), ("fill_valid_i", Shared(8)), ("write_fate_i", Rarely)],
            &[("drop_valid_i", Rarely), ("may_hold_i", Often)][..],
            &access_drives(),
        ]
        .concat(),
        "operand_staging_unit" => [
            &[("blocked_i", Rarely), ("exit_valid_i", Rarely), ("compressed_i", Rarely)],
            &[("may_hold_i", Often)][..],
            &access_drives(),
        ]
        .concat(),
        "metadata_store" => {
            vec![("first_i", Often), ("last_i", Often), ("note_valid_i", Often), ("begins_i", Drive::Active)]
        }

        // Warps come more rarely than they go, so that there is room on the stack; half of them go at once.
        "warp_stack" => vec![("push_valid_i", Shared(2))],
        "access_distributor" => vec![
            ("unit_i", Low(2)),
            ("source_valid_i", Drive::Index),
            ("result_valid_i", Shared(4)),
            ("fate_i", Low(1)),
            ("written_i", Often),
            ("room_i", Often),
            ("two_i", Often),
        ],

        // Accesses are served at random: an instruction waits for some time until all of its own are.
        "register_read_unit" => vec![("enter_valid_i", Shared(16))],

        // One kernel runs for many windows.
        "dynamic_execution" => vec![("configure_valid_i", Drive::Never)],

        // Blocks stay for some time, so that they are there when their threads have released.
        "release_unit" => vec![("block_ended_i", Rarely)],

        // As many registers as entries, and few writes, so that something is found at a tenth of the activity.
        "verify_cache" => vec![("register_i", Low(2)), ("written_valid_i", Rarely)],
        _ => Vec::new(),
    }
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
fn from_library(entry: CircuitEntry) -> Entry {
    let name = entry.name;
    if name == CapacityManager::NAME {
        return capacity_manager(entry.defaults);
    }
    let elaborate = move || entry.elaborate_with(&json!({})).map_err(|error| error.to_string());
    Entry { name, size: 1, drives: drives(name), elaborate: Box::new(elaborate) }
}

/// The capacity manager of the library, with warps that run regions: under inputs that know nothing of each other its counts
/// would say nothing.
fn capacity_manager(defaults: Value) -> Entry {
    let elaborate = move || {
        let manager = serde_json::from_value(defaults.clone()).map_err(|error| error.to_string())?;
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
