//! Who may access scratchpad that two thread blocks share.

use serde::{Deserialize, Serialize};

use super::pairs::{LaunchIo, Pairs, Sizes};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, index_bits};

/// Resource access unit for scratchpad: holds back warps whose next access reaches the part that another block uses.
///
/// Two blocks share in neighbouring slots, 2 i and 2 i + 1. A block has so many bytes of its scratchpad for itself, and those
/// above together with its partner. Its first access there takes the lock of the pair, which it gives back when it ends or has
/// been released. The owner takes the lock whenever its partner does not hold it; the partner may take it while the owner
/// neither holds nor needs it, and then becomes owner. A released block has given the lock back for good.
///
/// The tables have the bits of §2.4.2: `sh_sm` 1, `sh_tb` T ⌈log₂(T + 1)⌉, `owner` W, `lock` ⌊T/2⌋ ⌈log₂ T⌉. Beside them, as in
/// the unit for registers: `lock_valid`, `resident`, `there`, `block`, `private`, and `released`.
///
/// Timing: as the unit for registers. A lock that is released in one cycle is free in the next.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §2.2.2, §2.4.2, Fig. 2.7; release:
/// §3.2.2.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ScratchpadAccessUnit {
    /// Warps, 1 to 128.
    pub warps: usize,
    /// Thread blocks, 2 to 32.
    pub blocks: usize,
    /// Bits of the number of a byte of a block's scratchpad, counted from 1, 1 to 20.
    pub byte_bits: usize,
}

/// Ports of a [`ScratchpadAccessUnit`].
#[derive(Ports)]
#[params(ScratchpadAccessUnit)]
pub struct ScratchpadAccessUnitIo<'m> {
    /// A kernel begins: no block is resident.
    pub configure_valid_i: In<'m>,
    /// Blocks share scratchpad.
    pub configure_share_i: In<'m>,
    /// Bytes that a sharing block has for itself.
    #[bits(p.byte_bits)]
    pub configure_private_i: In<'m>,
    /// A block becomes resident.
    #[with(Sizes { warps: p.warps, blocks: p.blocks })]
    pub launch: LaunchIo<'m>,
    /// For each warp the highest byte that a lane of its next instruction accesses, counted from 1; 0 if it accesses none.
    #[bits(p.warps * p.byte_bits)]
    pub byte_i: In<'m>,
    /// Warps that issue their next instruction, one bit each: none that is held.
    #[bits(p.warps)]
    pub issue_i: In<'m>,
    /// Blocks of which every thread has released the shared part, one bit each.
    #[bits(p.blocks)]
    pub release_i: In<'m>,
    /// Blocks that have ended, one bit each.
    #[bits(p.blocks)]
    pub block_ended_i: In<'m>,
    /// Warps that must not issue, one bit each.
    #[bits(p.warps)]
    pub held_o: Out<'m>,
    /// Warps of owner blocks, one bit each.
    #[bits(p.warps)]
    pub owner_o: Out<'m>,
    /// Blocks that share, one bit each.
    #[bits(p.blocks)]
    pub shared_o: Out<'m>,
    /// Blocks that hold the lock of their pair, one bit each.
    #[bits(p.blocks)]
    pub locked_o: Out<'m>,
}

impl Circuit for ScratchpadAccessUnit {
    type Io<'m> = ScratchpadAccessUnitIo<'m>;
    const NAME: &'static str = "scratchpad_access_unit";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=128)?;
        Self::check_range("blocks", self.blocks, 2..=32)?;
        Self::check_range("byte_bits", self.byte_bits, 1..=20)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ScratchpadAccessUnitIo<'m>) {
        let sizes = Sizes { warps: self.warps, blocks: self.blocks };
        let pairs = Pairs::new(m, sizes, 1);
        let [lock_bits, locks] = [index_bits(self.blocks), self.blocks / 2];
        let lock = m.register("lock", locks * lock_bits).reset(0);
        let lock_valid = m.register("lock_valid", locks).reset(0);
        let released = m.register("released", self.blocks).reset(0);
        let private = m.register("private", self.byte_bits).reset(0);
        m.when(io.configure_valid_i, || {
            pairs.sh_sm.set(io.configure_share_i);
            private.set(io.configure_private_i);
        });

        let holding = pairs.each(m, |block| match block / 2 < locks {
            true => lock_valid.bit(block / 2) & lock.lane(block / 2, lock_bits).eq(block),
            false => m.lit(1, 0),
        });
        let shared = pairs.each(m, |block| pairs.shares(block));
        let of_sharing = pairs.warps_of_all(m, shared);
        let above = m.cat((0..self.warps).map(|warp| io.byte_i.lane(warp, self.byte_bits).gt(private)));
        let needs = (above & of_sharing & pairs.sh_sm.replicate(self.warps)).named("needs");
        let asking = pairs.blocks_of(m, needs);
        let admitted = pairs.admitted(m, holding, asking).named("admitted");
        let held = needs & !pairs.warps_of_all(m, admitted);
        let taking = pairs.blocks_of(m, io.issue_i & needs);

        let left = holding & !io.release_i & !io.block_ended_i;
        let next = left | taking;
        lock_valid.set(m.cat((0..locks).map(|pair| next.lane(pair, 2).any())));
        lock.set(m.cat((0..locks).map(|pair| {
            let second =
                taking.bit(2 * pair + 1).mux(m.lit(lock_bits, 2 * pair + 1), lock.lane(pair, lock_bits));
            taking.bit(2 * pair).mux(m.lit(lock_bits, 2 * pair), second)
        })));
        let starts = io.launch.block_i.decode(self.blocks) & io.launch.valid_i.replicate(self.blocks);
        released.set((released | io.release_i) & !io.block_ended_i & !starts);
        pairs.set(m, pairs.owning_with(m, taking), io.block_ended_i, &io.launch);

        io.held_o.set(held);
        io.owner_o.set(pairs.owner);
        io.shared_o.set(shared);
        io.locked_o.set(holding);

        pairs.check(m, io.block_ended_i, &io.launch);
        let resident = pairs.warps();
        m.assumption(
            "a_kernel_begins_without_blocks",
            io.configure_valid_i.implies(!pairs.resident.any() & !io.launch.valid_i),
        );
        m.assumption("only_resident_warps_issue", !(io.issue_i & !resident).any());
        m.assumption("a_warp_that_is_held_does_not_issue", !(io.issue_i & held).any());
        m.assumption("only_resident_blocks_release", !(io.release_i & !pairs.resident).any());
        m.assumption(
            "a_block_that_ends_issues_nothing",
            !(pairs.blocks_of(m, io.issue_i) & io.block_ended_i).any(),
        );
        m.assumption("a_released_block_needs_no_lock", !(asking & (released | io.release_i)).any());

        let [mut apart, mut of_owner] = [m.lit(1, 1); 2];
        for block in 0..self.blocks {
            of_owner = of_owner & holding.bit(block).implies(pairs.owns(m, block));
            if let Some(other) = pairs.neighbour(block) {
                apart = apart & !(holding.bit(block) & holding.bit(other));
            }
        }
        m.invariant("the_shared_part_has_one_user", apart);
        m.invariant("only_an_owner_holds_the_lock", of_owner);
        m.invariant("a_lock_has_a_holder_that_shares", !(holding & !shared).any());
        m.invariant("a_released_block_never_holds_the_lock", !(holding & released).any());
        m.invariant("an_owner_is_never_held_back", !(held & pairs.owner).any());
        m.invariant("an_unshared_block_is_never_held_back", !(held & !of_sharing).any());
        m.invariant("private_accesses_never_wait", !(held & !needs).any());
    }
}
