//! Which signals of a waveform are worth seeing first, and the words for values of enumerations.
//!
//! A mechanism lists the groups of its circuits; of a group, the signals that a waveform has are shown.

/// Signals that are shown together.
#[derive(Clone, Copy, Debug)]
pub struct WaveGroup {
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
    pub contains: &'static str,
    /// How they end, before `_i` or `_o`.
    pub ends: &'static str,
    /// Each value with its name.
    pub values: &'static [(u64, &'static str)],
}

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

/// Arrays of which it is worth knowing how full they are: registers of one bit a row.
#[derive(Clone, Copy, Debug)]
pub struct Occupancy {
    /// What a full row is.
    pub title: &'static str,
    /// How the names of the instances begin that have such registers: `bank` of `bank0`, `bank1`, …
    pub instance: &'static str,
    /// How the registers' names begin, and how they end.
    pub register: (&'static str, &'static str),
    /// Whether a row is full where its bit is 0.
    pub counts_zeros: bool,
}

impl Occupancy {
    /// Whether a register of an instance is among them.
    pub fn is_of(&self, instance: &str, register: &str) -> bool {
        let (begins, ends) = self.register;
        instance.starts_with(self.instance) && register.starts_with(begins) && register.ends_with(ends)
    }
}

/// Decisions of a scheduler's circuit.
pub const SCHEDULER: WaveGroup = WaveGroup {
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

/// What a storage is given at issue; the first of several ports.
pub const ISSUE: WaveGroup = WaveGroup {
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

/// What a storage delivers; the first of several ports.
pub const OPERANDS: WaveGroup = WaveGroup {
    title: "Operands",
    scope: "register_file",
    signals: &[
        "dispatch_valid_o",
        "dispatch_id_o",
        "operands_valid_o",
        "operands_id_o",
        "dispatch0_valid_o",
        "dispatch0_id_o",
        "operands0_valid_o",
        "operands0_id_o",
    ],
};

/// Results of short operations; the first of several ports.
pub const RESULT: WaveGroup = WaveGroup {
    title: "Result",
    scope: "register_file",
    signals: &[
        "result_valid_i",
        "result_ready_o",
        "result_register_i",
        "result_lanes_i",
        "result0_valid_i",
        "result0_ready_o",
        "result0_register_i",
        "result0_lanes_i",
    ],
};

/// Results of long operations.
pub const FILL: WaveGroup = WaveGroup {
    title: "Result of a long operation",
    scope: "register_file",
    signals: &["fill_valid_i", "fill_ready_o", "fill_register_i"],
};
