//! Metadata instructions, which take issue slots (§5.4).
//!
//! An instruction of 64 bits has 54 for metadata. Bank usage takes 24 of them (three for each bank), an operand's
//! fate two bits, so that nine instructions of three operands fill one; that leaves ten bits each for the three
//! preloads or invalidations beside the bank usage, and room for five where there is none.

/// Bits of a metadata instruction beside its opcode.
const BITS: usize = 54;
/// Preloads and invalidations in the instruction that opens a region.
const ENTRIES_OF_FIRST: usize = 3;
/// Bits of a preload or invalidation: what is left beside the bank usage, for [`ENTRIES_OF_FIRST`].
const ENTRY_BITS: usize = 10;
/// Preloads and invalidations in each further instruction.
const ENTRIES_OF_OTHERS: usize = BITS / ENTRY_BITS;
/// Instructions whose fates one metadata instruction holds.
const FATES: usize = 9;
/// The compact form: one instruction for all, with at most so many preloads and invalidations …
const COMPACT_ENTRIES: usize = 2;
/// … and the fates of at most so many instructions.
const COMPACT_FATES: usize = 4;

/// Metadata instructions before each instruction of a region of `length` with so many preloads and invalidations.
pub fn before_each(length: usize, entries: usize) -> impl Iterator<Item = u16> {
    let compact = length <= COMPACT_FATES && entries <= COMPACT_ENTRIES;
    let opening =
        if compact { 0 } else { 1 + entries.saturating_sub(ENTRIES_OF_FIRST).div_ceil(ENTRIES_OF_OTHERS) };
    (0..length).map(move |position| {
        let fates = usize::from(position.is_multiple_of(FATES));
        (fates + if position == 0 { opening } else { 0 }) as u16
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(length: usize, entries: usize) -> u16 {
        before_each(length, entries).sum()
    }

    #[test]
    fn a_short_region_with_few_preloads_takes_one_instruction() {
        assert_eq!(total(4, 2), 1);
        assert_eq!(total(1, 0), 1);
    }

    #[test]
    fn a_fifth_instruction_or_a_third_preload_takes_the_full_form() {
        assert_eq!(total(5, 2), 2);
        assert_eq!(total(4, 3), 2);
    }

    #[test]
    fn preloads_beyond_three_take_an_instruction_for_each_five() {
        assert_eq!([3, 4, 8, 9].map(|entries| total(6, entries)), [2, 3, 3, 4]);
    }

    #[test]
    fn fates_come_before_the_nine_instructions_that_they_tell_of() {
        let before: Vec<u16> = before_each(19, 0).collect();
        let nonzero: Vec<usize> = (0..19).filter(|&position| before[position] > 0).collect();
        assert_eq!(nonzero, [0, 9, 18]);
        assert_eq!(before[0], 2, "the opening instruction as well");
    }
}
