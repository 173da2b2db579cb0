//! Who may access registers that two warps share.

use serde::{Deserialize, Serialize};

use super::pairs::{LaunchIo, Pairs, Sizes};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// Resource access unit for registers: holds back warps whose next instruction needs registers that their partner uses.
///
/// Two blocks share in neighbouring slots, 2 i and 2 i + 1, and so do their warps: warps 2 j and 2 j + 1, one of each block. A
/// warp has registers of its own up to a number, and those above together with its partner. It accesses them with the lock of
/// the pair, which it takes with the first instruction that needs it and gives back when it has ended. Only the owner block's
/// warps take locks; while they hold none and none of them needs one, also the other block's, which then becomes owner. With
/// `warp_locks` a warp of the other block takes its lock as well once its partner has ended, and its block does not become the
/// owner by that. So the owner never waits for its partner, and no barrier can close a circle (Fig. 2.8).
///
/// The tables have the bits of §2.4.1: `sh_sm` 1, `sh_tb` T ⌈log₂(T + 1)⌉, `owner` and `sh_warp` W each, `lock`
/// ⌊W/2⌋ ⌈log₂ W⌉. Beside them, because the thesis's lock cannot say that it is free, which warp is of which block is the SM's
/// own knowledge, and the boundary is the kernel's: `lock_valid`, `resident`, `there`, `block`, `private`; and `ended`, one bit a
/// warp, with `warp_locks`.
///
/// Timing: who is held follows from the tables and the needs of the same cycle; a lock taken in one cycle is held from the
/// next. Of two blocks that ask in one cycle, the owner is admitted.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §2.2.1, §2.2.3, §2.4.1, Fig. 2.5.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterAccessUnit {
    /// Warps, 2 to 128, an even number.
    pub warps: usize,
    /// Thread blocks, 2 to 32.
    pub blocks: usize,
    /// Bits of the number of a register, counted from 1, 1 to 12.
    pub register_bits: usize,
    /// Whether a warp waits for its partner only (§2.2.1, §2.5.1.6), not for all warps of the partner's block with locks (§2.2.3).
    pub warp_locks: bool,
}

/// Ports of a [`RegisterAccessUnit`].
#[derive(Ports)]
#[params(RegisterAccessUnit)]
pub struct RegisterAccessUnitIo<'m> {
    /// A kernel begins: no block is resident.
    pub configure_valid_i: In<'m>,
    /// Blocks share registers.
    pub configure_share_i: In<'m>,
    /// Registers that a sharing warp has for itself.
    #[bits(p.register_bits)]
    pub configure_private_i: In<'m>,
    /// A block becomes resident.
    #[with(Sizes { warps: p.warps, blocks: p.blocks })]
    pub launch: LaunchIo<'m>,
    /// For each warp the highest register of its next instruction, sources and destinations, counted from 1; 0 if it has none.
    #[bits(p.warps * p.register_bits)]
    pub register_i: In<'m>,
    /// Warps that issue their next instruction, one bit each: none that is held.
    #[bits(p.warps)]
    pub issue_i: In<'m>,
    /// Warps that end, one bit each: nothing of them is in flight any more.
    #[bits(p.warps)]
    pub ended_i: In<'m>,
    /// Blocks that have ended, one bit each.
    #[bits(p.blocks)]
    pub block_ended_i: In<'m>,
    /// Warps that must not issue, one bit each.
    #[bits(p.warps)]
    pub held_o: Out<'m>,
    /// Warps of owner blocks, one bit each.
    #[bits(p.warps)]
    pub owner_o: Out<'m>,
    /// Warps of blocks that share, one bit each.
    #[bits(p.warps)]
    pub shared_o: Out<'m>,
    /// Warps that hold the lock of their pair, one bit each.
    #[bits(p.warps)]
    pub locked_o: Out<'m>,
}

impl Circuit for RegisterAccessUnit {
    type Io<'m> = RegisterAccessUnitIo<'m>;
    const NAME: &'static str = "register_access_unit";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 2..=128)?;
        Self::check(self.warps.is_multiple_of(2), "warps", self.warps, "an even number")?;
        Self::check_range("blocks", self.blocks, 2..=32)?;
        Self::check_range("register_bits", self.register_bits, 1..=12)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterAccessUnitIo<'m>) {
        let sizes = Sizes { warps: self.warps, blocks: self.blocks };
        let pairs = Pairs::new(m, sizes, 1);
        let sh_warp = m.register("sh_warp", self.warps).reset(0);
        let locks = Locks::new(m, self.warps);
        let private = m.register("private", self.register_bits).reset(0);
        m.when(io.configure_valid_i, || {
            pairs.sh_sm.set(io.configure_share_i);
            private.set(io.configure_private_i);
        });

        let above =
            m.cat((0..self.warps).map(|warp| io.register_i.lane(warp, self.register_bits).gt(private)));
        let needs = (above & sh_warp & pairs.sh_sm.replicate(self.warps)).named("needs");
        let holders = locks.holders(m);
        let holding = pairs.blocks_of(m, holders);
        let admitted = pairs.admitted(m, holding, pairs.blocks_of(m, needs)).named("admitted");
        let of_admitted = pairs.warps_of_all(m, admitted);
        let starting = io.launch.warps_i & io.launch.valid_i.replicate(self.warps);
        let ended = self.warp_locks.then(|| m.register("ended", self.warps).reset(0));
        if let Some(ended) = ended {
            ended.set((ended | io.ended_i) & !starting);
        }
        let left_alone = ended.map_or(m.lit(self.warps, 0), |ended| swap(m, ended));
        let held = needs & !of_admitted & !left_alone;
        let taking = io.issue_i & needs & !holders;
        locks.set(m, taking, io.ended_i);

        // Without locks of single warps whoever takes one is of a block that may.
        let of_blocks = if self.warp_locks { taking & of_admitted } else { taking };
        let takers = pairs.blocks_of(m, of_blocks);
        pairs.set(m, pairs.owning_with(m, takers), io.block_ended_i, &io.launch);
        let ending = pairs.warps_of_all(m, io.block_ended_i);
        let shares = io.launch.partner_i.ne(self.blocks).replicate(self.warps);
        sh_warp.set((sh_warp & !ending & !starting) | (starting & shares));

        io.held_o.set(held);
        io.owner_o.set(pairs.owner);
        io.shared_o.set(sh_warp);
        io.locked_o.set(holders);

        pairs.check(m, io.block_ended_i, &io.launch);
        self.check_locks(m, io, &pairs, &Needs { sh_warp, needs, held, holders, holding, ending, ended });
    }
}

/// What the promises and invariants are about.
struct Needs<'m> {
    sh_warp: Signal<'m>,
    needs: Signal<'m>,
    held: Signal<'m>,
    holders: Signal<'m>,
    holding: Signal<'m>,
    /// Warps of blocks that end in this cycle.
    ending: Signal<'m>,
    /// Warps that have ended, where the unit knows of them.
    ended: Option<Signal<'m>>,
}

impl RegisterAccessUnit {
    fn check_locks<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterAccessUnitIo<'m>,
        pairs: &Pairs<'m>,
        of: &Needs<'m>,
    ) {
        let resident = pairs.warps();
        m.assumption(
            "a_kernel_begins_without_blocks",
            io.configure_valid_i.implies(!pairs.resident.any() & !io.launch.valid_i),
        );
        m.assumption("only_resident_warps_issue_and_end", !((io.issue_i | io.ended_i) & !resident).any());
        m.assumption("a_warp_that_is_held_does_not_issue", !(io.issue_i & of.held).any());
        m.assumption("a_warp_that_has_ended_issues_nothing", !(io.issue_i & io.ended_i).any());
        let unfinished = of.ending & (io.issue_i | (of.holders & !io.ended_i));
        m.assumption("a_block_ends_after_its_warps", !unfinished.any());
        let swapped = swap(m, io.launch.warps_i);
        let other = (0..self.blocks).fold(m.lit(self.warps, 0), |all, block| {
            all | (pairs.warps_of(m, block) & io.launch.partner_i.eq(block).replicate(self.warps))
        });
        let shares = io.launch.valid_i & io.launch.partner_i.ne(self.blocks);
        let beside = !(swapped & io.launch.warps_i).any() & !(swapped & resident & !other).any();
        m.assumption("warps_that_share_are_neighbours", shares.implies(beside));
        m.assumption("a_free_warp_is_beside_its_partner_or_none", self.neighbours_of_launched(m, io, pairs));

        let mut apart = m.lit(1, 1);
        let mut whole = m.lit(1, 1);
        for block in 0..self.blocks {
            let own = pairs.warps_of(m, block);
            whole = whole & (of.sh_warp & own).eq(pairs.shares(block).replicate(self.warps) & own);
            if let Some(other) = pairs.neighbour(block) {
                apart = apart & !(of.holding.bit(block) & of.holding.bit(other));
            }
        }
        let of_others = of.holders & !pairs.owner;
        match of.ended {
            None => {
                m.invariant("of_a_pair_of_blocks_one_holds_locks", apart);
                m.invariant("only_an_owner_holds_locks", !of_others.any());
            }
            Some(ended) => {
                m.assumption(
                    "a_warp_that_has_ended_stays_so",
                    !(ended & (io.issue_i | io.ended_i | of.needs)).any(),
                );
                let left_alone = swap(m, ended);
                m.invariant(
                    "beside_an_owner_a_lock_is_of_an_ended_partner",
                    !(of_others & !left_alone).any(),
                );
                m.invariant("a_warp_that_has_ended_holds_nothing", !(of.holders & ended).any());
            }
        }
        m.invariant("the_warps_of_a_block_share_as_it_does", whole);
        m.invariant("a_lock_has_a_holder_that_shares", !(of.holders & !of.sh_warp).any());
        m.invariant("an_owner_is_never_held_back", !(of.held & pairs.owner).any());
        m.invariant("an_unshared_block_is_never_held_back", !(of.held & !of.sh_warp).any());
        m.invariant("private_accesses_never_wait", !(of.held & !of.needs).any());
        let both = of.holders & swap(m, of.holders);
        m.invariant("shared_registers_have_one_user", !both.any());
    }

    /// A warp that shares is launched beside a free warp slot or beside a warp of the partner; one that does not share not
    /// beside a warp that does.
    fn neighbours_of_launched<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterAccessUnitIo<'m>,
        pairs: &Pairs<'m>,
    ) -> Signal<'m> {
        let sharing = pairs.warps_of_all(m, pairs.each(m, |block| pairs.shares(block)));
        let alone = io.launch.valid_i & io.launch.partner_i.eq(self.blocks);
        alone.implies(!(swap(m, io.launch.warps_i) & sharing).any())
    }
}

/// Each warp's bit at its neighbour.
fn swap<'m>(m: &Module<'m>, warps: Signal<'m>) -> Signal<'m> {
    m.cat((0..warps.width()).map(|warp| warps.bit(warp ^ 1)))
}

/// The lock of each pair of warps.
struct Locks<'m> {
    warps: usize,
    /// Number of the warp that holds it.
    lock: Signal<'m>,
    /// Somebody holds it.
    valid: Signal<'m>,
}

impl<'m> Locks<'m> {
    fn new(m: &Module<'m>, warps: usize) -> Locks<'m> {
        Locks {
            warps,
            lock: m.register("lock", warps / 2 * index_bits(warps)).reset(0),
            valid: m.register("lock_valid", warps / 2).reset(0),
        }
    }

    /// Warps that hold a lock.
    fn holders(&self, m: &Module<'m>) -> Signal<'m> {
        let holder = |warp: usize| self.lock.lane(warp / 2, index_bits(self.warps));
        m.cat((0..self.warps).map(|warp| self.valid.bit(warp / 2) & holder(warp).eq(warp)))
    }

    /// Ends the cycle: `taking` take their locks, those of `ended` are free.
    fn set(&self, m: &Module<'m>, taking: Signal<'m>, ended: Signal<'m>) {
        let bits = index_bits(self.warps);
        let left = self.holders(m) & !ended;
        let valid = (0..self.warps / 2).map(|pair| (left | taking).lane(pair, 2).any());
        let lock = (0..self.warps / 2).map(|pair| {
            let second = taking.bit(2 * pair + 1).mux(m.lit(bits, 2 * pair + 1), self.lock.lane(pair, bits));
            taking.bit(2 * pair).mux(m.lit(bits, 2 * pair), second)
        });
        self.valid.set(m.cat(valid));
        self.lock.set(m.cat(lock));
    }
}
