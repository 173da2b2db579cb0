//! Work compiled for the vectors that the machine has.

/// Work to be compiled more than once.
pub trait VectorWork {
    /// What comes of it.
    type Result;

    /// Does it. To be compiled for the vectors it has to be `#[inline(always)]`, and so has what it calls.
    fn run(self) -> Self::Result;
}

/// Does the work with vectors of 256 bits where the machine has them.
#[expect(unsafe_code, reason = "calls a function that not every machine can run")]
pub fn with_long_vectors<W: VectorWork>(work: W) -> W::Result {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the machine has all that the function is compiled for.
        return unsafe { run_with_long_vectors(work) };
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_with_long_vectors<W: VectorWork>(work: W) -> W::Result {
    work.run()
}
