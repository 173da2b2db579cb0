//! The operand oracle: every operand a design delivers is compared with the kernel's value, lane by lane.

use warpfile_kernels::program::{LANES, LaneMask, LaneValues, WarpInstruction};

/// Compares operands and counts them.
#[derive(Default)]
pub(super) struct Oracle {
    /// Operands with at least one lane compared.
    pub operands: u64,
    /// Lanes compared.
    pub lanes: u64,
    /// Results compared: those of instructions that a design answers instead of executing them.
    pub results: u64,
}

/// A lane of an operand that is not as the kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// Index of the source, or of the result.
    pub index: usize,
    pub lane: usize,
    pub expected: u32,
    pub found: u32,
}

impl Oracle {
    /// Compares the first `sources` operands of an instruction in the lanes that execute and whose value is
    /// known. Gives the first mismatch.
    pub fn check(
        &mut self,
        instruction: &WarpInstruction,
        sources: usize,
        found: &[LaneValues],
    ) -> Result<(), Mismatch> {
        for (source, found) in found.iter().enumerate().take(sources) {
            let compared = instruction.active & instruction.defined[source];
            let expected = &instruction.sources[source];
            let wrong = differing_lanes(expected, found) & compared;
            if wrong != 0 {
                let lane = wrong.trailing_zeros() as usize;
                return Err(Mismatch { index: source, lane, expected: expected[lane], found: found[lane] });
            }
            self.operands += u64::from(compared != 0);
            self.lanes += u64::from(compared.count_ones());
        }
        Ok(())
    }

    /// Compares the first `results` results that a design answers an instruction with, in the lanes that execute. Gives the
    /// first mismatch.
    pub fn check_results(
        &mut self,
        instruction: &WarpInstruction,
        results: usize,
        found: &[LaneValues],
    ) -> Result<(), Mismatch> {
        for (index, (expected, found)) in instruction.results.iter().zip(found).enumerate().take(results) {
            let wrong = differing_lanes(expected, found) & instruction.active;
            if wrong != 0 {
                let lane = wrong.trailing_zeros() as usize;
                return Err(Mismatch { index, lane, expected: expected[lane], found: found[lane] });
            }
            self.results += u64::from(instruction.active != 0);
        }
        Ok(())
    }
}

/// Lanes in which two registers differ.
pub(super) fn differing_lanes(a: &LaneValues, b: &LaneValues) -> LaneMask {
    let mut differing = 0;
    for lane in 0..LANES {
        differing |= u32::from(a[lane] != b[lane]) << lane;
    }
    differing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction() -> WarpInstruction {
        let mut instruction = WarpInstruction { active: 0xff, ..Default::default() };
        instruction.defined = [!0, 0xf0, !0];
        instruction.sources = [[7; LANES], [8; LANES], [9; LANES]];
        instruction
    }

    #[test]
    fn only_active_lanes_with_a_known_value_are_compared() {
        let mut found = [[7; LANES], [8; LANES]];
        found[0][8] = 0;
        found[1][0] = 0;
        let mut oracle = Oracle::default();
        assert_eq!(oracle.check(&instruction(), 2, &found), Ok(()));
        assert_eq!((oracle.operands, oracle.lanes), (2, 12));
    }

    #[test]
    fn one_wrong_bit_is_found() {
        let mut found = [[7; LANES], [8; LANES]];
        found[1][5] = 8 ^ 0x8000_0000;
        let mismatch = Oracle::default().check(&instruction(), 2, &found).expect_err("lane 5");
        assert_eq!(mismatch, Mismatch { index: 1, lane: 5, expected: 8, found: 0x8000_0008 });
    }
}
