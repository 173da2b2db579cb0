//! What code can be made like, where nothing that is counted says which is faster.

/// What is better tried out than worked out.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Loads that may wait in registers for one result, those of wide values counted twice. The code generator works a
    /// value out where it is first stored or branched on, but loads where it is asked to: a sum of many words would hold
    /// all of them until then.
    pub loads_held: u32,
    /// Most instructions of a plan whose comparisons do without the processor's flags: an instruction that takes a bit
    /// from these waits for what its register held before. They take an instruction more.
    pub without_flags: usize,
}

/// The first is the best where nothing has been tried.
pub const TUNINGS: [Tuning; 2] =
    [Tuning { loads_held: 12, without_flags: 100 }, Tuning { loads_held: 24, without_flags: 1000 }];
