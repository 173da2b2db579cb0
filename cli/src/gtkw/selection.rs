//! What is worth seeing first of each design.

use warpfile_hdl::regless::{Fate, Note, RequestKind};
use warpfile_sim::config::DesignName;

/// Signals that are shown together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Shown above them.
    pub title: &'static str,
    /// The circuit, from the scopes of the design on.
    pub scope: &'static str,
    /// Their names.
    pub signals: &'static [&'static str],
}

/// A port whose values have names.
#[derive(Clone, Copy, Debug)]
pub struct Enumeration {
    /// Names its translation file.
    pub name: &'static str,
    /// What the names of its signals contain.
    contains: &'static str,
    /// How they end, before `_i` or `_o`.
    ends: &'static str,
    values: &'static [(u64, &'static str)],
}

/// All enumerations of the circuits' ports.
pub const ENUMERATIONS: [Enumeration; 3] = [
    Enumeration {
        name: "request_kind",
        contains: "request",
        ends: "_kind",
        values: &[
            (RequestKind::Fetch as u64, "Fetch"),
            (RequestKind::Write as u64, "Write"),
            (RequestKind::Invalidate as u64, "Invalidate"),
            (RequestKind::Drop as u64, "Drop"),
        ],
    },
    Enumeration {
        name: "note",
        contains: "note",
        ends: "_kind",
        values: &[
            (Note::Preload as u64, "Preload"),
            (Note::InvalidatingPreload as u64, "InvalidatingPreload"),
            (Note::Invalidation as u64, "Invalidation"),
        ],
    },
    Enumeration {
        name: "fate",
        contains: "",
        ends: "_fate",
        values: &[(Fate::Keep as u64, "Keep"), (Fate::Evict as u64, "Evict"), (Fate::Erase as u64, "Erase")],
    },
];

impl Enumeration {
    /// Whether a signal of that path is of this enumeration.
    pub fn is_of(&self, path: &str) -> bool {
        let name = path.rsplit('.').next().unwrap_or(path);
        let plain = name.trim_end_matches("_i").trim_end_matches("_o");
        name.contains(self.contains) && plain.ends_with(self.ends)
    }

    /// Its translation file: a value as it is shown without, and its name.
    pub fn translation(&self) -> String {
        self.values.iter().map(|(value, name)| format!("{value:x} {name}\n")).collect()
    }
}

/// Groups of a design from top to bottom.
pub fn groups(design: DesignName) -> Vec<Group> {
    let of_design = match design {
        DesignName::Baseline | DesignName::TwoLevel => vec![ISSUE, OPERANDS, RESULT, FILL],
        DesignName::Rfc => vec![ISSUE, LOOKUP, CACHE_RESULT, SPILL, FLUSH, OPERANDS, FILL],
        DesignName::Regless => vec![REGIONS, METADATA, ISSUE0, STAGING, MEMORY, WRITES],
        DesignName::Rfv => vec![ISSUE0, RENAMING, RESULTS, OPERANDS0],
        DesignName::Rfh => vec![ISSUE0, UPPER, RESULTS, OPERANDS0],
    };
    [SCHEDULER].into_iter().chain(of_design).collect()
}

const SCHEDULER: Group = Group {
    title: "Scheduler",
    scope: "scheduler",
    signals: &[
        "issue_valid_o",
        "issue_warp_o",
        "suspend_valid_o",
        "suspend_warp_o",
        "activate_valid_o",
        "activate_warp_o",
    ],
};

const ISSUE: Group = Group {
    title: "Issue",
    scope: "register_file",
    signals: &[
        "issue_valid_i",
        "issue_ready_o",
        "issue_id_i",
        "issue_slot_i",
        "issue_source0_register_i",
        "issue_source1_register_i",
        "issue_source2_register_i",
    ],
};

const OPERANDS: Group = Group {
    title: "Operands",
    scope: "register_file",
    signals: &["dispatch_valid_o", "dispatch_id_o", "operands_valid_o", "operands_id_o"],
};

const RESULT: Group = Group {
    title: "Result",
    scope: "register_file",
    signals: &["result_valid_i", "result_ready_o", "result_register_i", "result_lanes_i"],
};

const FILL: Group = Group {
    title: "Result of a long operation",
    scope: "register_file",
    signals: &["fill_valid_i", "fill_ready_o", "fill_register_i"],
};

const LOOKUP: Group = Group {
    title: "Lookup in the cache",
    scope: "register_file.cache",
    signals: &[
        "lookup_valid_i",
        "lookup_slot_i",
        "lookup_source0_register_i",
        "lookup_source0_lanes_o",
        "lookup_source1_register_i",
        "lookup_source1_lanes_o",
    ],
};

const CACHE_RESULT: Group = Group {
    title: "Result into the cache",
    scope: "register_file.cache",
    signals: &["result_valid_i", "result_ready_o", "result_slot_i", "result_register_i", "result_lanes_i"],
};

const SPILL: Group = Group {
    title: "Spill to the main register file",
    scope: "register_file.cache",
    signals: &["spill_valid_o", "spill_ready_i", "spill_register_o", "spill_lanes_o"],
};

const FLUSH: Group = Group {
    title: "Flush of a slot",
    scope: "register_file.cache",
    signals: &["flush_valid_i", "flush_slot_i", "slot_busy_o"],
};

const REGIONS: Group = Group {
    title: "Regions",
    scope: "register_file",
    signals: &["waiting_i", "inactive_o", "active_o", "exit_valid_i", "exit_warp_i"],
};

const METADATA: Group = Group {
    title: "Metadata",
    scope: "register_file",
    signals: &[
        "metadata_valid_i",
        "metadata_ready_o",
        "metadata_warp_i",
        "metadata_note0_valid_i",
        "metadata_note0_kind_i",
        "metadata_note0_register_i",
    ],
};

const ISSUE0: Group = Group {
    title: "Issue",
    scope: "register_file",
    signals: &[
        "issue0_valid_i",
        "issue0_ready_o",
        "issue0_warp_i",
        "issue0_slot_i",
        "issue0_id_i",
        "issue0_source0_register_i",
        "issue0_source0_fate_i",
        "issue0_result0_register_i",
    ],
};

const STAGING: Group = Group {
    title: "Staging",
    scope: "register_file",
    signals: &["tag_access_o", "preload_hit_o", "preload_unwritten_o", "preload_fetched_o"],
};

const MEMORY: Group = Group {
    title: "Memory",
    scope: "register_file",
    signals: &[
        "memory_request_valid_o",
        "memory_request_ready_i",
        "memory_request_kind_o",
        "memory_request_warp_o",
        "memory_request_register_o",
        "memory_fill_valid_i",
        "memory_fill_warp_i",
        "memory_fill_register_i",
    ],
};

const WRITES: Group = Group {
    title: "Result",
    scope: "register_file",
    signals: &[
        "write0_valid_i",
        "write0_ready_o",
        "write0_warp_i",
        "write0_register_i",
        "write0_line_i",
        "write0_fate_i",
    ],
};

const RENAMING: Group = Group {
    title: "Renaming",
    scope: "register_file.renaming",
    signals: &[
        "issue0_source0_name_i",
        "issue0_source0_mapped_o",
        "issue0_source0_register_o",
        "issue0_allocated_o",
        "freed0_valid_o",
        "used_o",
    ],
};

const UPPER: Group = Group {
    title: "Upper levels",
    scope: "register_file.upper",
    signals: &[
        "issue0_taken_i",
        "issue0_slot_i",
        "issue0_source0_valid_i",
        "issue0_source0_entry_i",
        "issue0_copy_valid_i",
        "issue0_copy_entry_i",
        "result0_valid_i",
        "result0_slot_i",
        "result0_entry_i",
    ],
};

const RESULTS: Group = Group {
    title: "Result",
    scope: "register_file",
    signals: &["result0_valid_i", "result0_ready_o", "result0_register_i", "result0_lanes_i"],
};

const OPERANDS0: Group = Group {
    title: "Operands",
    scope: "register_file",
    signals: &["dispatch0_valid_o", "dispatch0_id_o", "operands0_valid_o", "operands0_id_o"],
};
