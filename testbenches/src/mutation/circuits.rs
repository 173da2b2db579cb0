//! Which tests are the testbench of a circuit.

/// A circuit and its testbench.
#[derive(Clone, Copy, Debug)]
pub struct Tested {
    /// Name of the circuit.
    pub circuit: &'static str,
    /// Tests whose paths begin so, as `cargo test` lists them.
    pub tests: &'static [&'static str],
}

/// Tests whose names contain one of these compare texts and tools, in which a mutant is as good as any circuit.
pub const SKIPPED: [&str; 3] = ["verilog", "clean", "compiled"];

/// All circuits, in the order of the folders.
pub const CIRCUITS: [Tested; 35] = [
    tested("round_robin_arbiter", &["parts::arbiter::"]),
    tested("fifo", &["parts::fifo::"]),
    tested("register_bank", &["regfile::bank::"]),
    tested("main_register_file", &["regfile::main_register_file::"]),
    tested("operand_collectors", &["regfile::operand_collectors::", "regfile::banked_register_file::"]),
    tested("banked_register_file", &["regfile::banked_register_file::"]),
    tested("dual_issue_register_file", &["regfile::dual_issue_register_file::"]),
    tested("register_file_cache", &["rfc::register_file_cache::", "rfc::cached_register_file::"]),
    tested("source_allocator", &["rfc::source_allocator::"]),
    tested("cached_register_file", &["rfc::register_file_cache::", "rfc::cached_register_file::"]),
    tested("two_level_scheduler", &["rfc::two_level_scheduler::"]),
    tested("rename_table", &["rfv::rename_table::"]),
    tested("allocation_limiter", &["rfv::allocation_limiter::"]),
    tested("virtual_register_file", &["rfv::virtual_register_file::"]),
    tested("upper_register_files", &["rfh::register_file_hierarchy::"]),
    tested("register_file_hierarchy", &["rfh::register_file_hierarchy::"]),
    tested("pattern_matcher", &["regless::patterns::"]),
    tested("pattern_expander", &["regless::patterns::"]),
    tested("compressor", &["regless::compressor::"]),
    tested("l1_port", &["regless::l1_port::"]),
    tested("operand_staging_bank", &["regless::staging_bank::"]),
    tested("access_queue", &["regless::staging_unit::"]),
    tested("operand_staging_unit", &["regless::staging_unit::"]),
    tested("metadata_store", &["regless::metadata_store::"]),
    tested("warp_stack", &["regless::warp_stack::", "regless::capacity_manager::"]),
    tested("line_ledger", &["regless::capacity_manager::"]),
    tested("capacity_manager", &["regless::capacity_manager::"]),
    tested("register_read_unit", &["regless::register_read_unit::"]),
    tested("access_distributor", &["regless::access_distributor::"]),
    tested("regless_shard", &["regless::shard::"]),
    tested("power_state_decoder", &["greener::power_state_decoder::"]),
    tested("lookup_table", &["greener::lookup_table::"]),
    tested("wake_up_controller", &["greener::wake_up_controller::"]),
    tested("sleep_transistors", &["greener::sleep_transistors::"]),
    tested("register_power_unit", &["greener::register_power_unit::"]),
];

const fn tested(circuit: &'static str, tests: &'static [&'static str]) -> Tested {
    Tested { circuit, tests }
}
