//! Resident thread blocks, those that share in pairs, and which of a pair is the owner (§2.3, §2.4).
//!
//! Two blocks that share have neighbouring slots, 2 i and 2 i + 1. A pair has one owner, and all warps of that block carry the
//! Owner bit: the older block until it ends, or, where the unit has it so, until the other one takes a lock while the owner holds
//! none.

use crate::rtl::{In, Module, Ports, Signal, count_bits, index_bits};

/// Sizes of the tables.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub warps: usize,
    pub blocks: usize,
}

/// A block that becomes resident.
#[derive(Ports)]
#[params(Sizes)]
pub struct LaunchIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its slot.
    #[bits(index_bits(p.blocks))]
    pub block_i: In<'m>,
    /// The slot of the block that it shares with; the number of blocks if it shares with none.
    #[bits(count_bits(p.blocks))]
    pub partner_i: In<'m>,
    /// Its warps, one bit each.
    #[bits(p.warps)]
    pub warps_i: In<'m>,
}

/// The tables as the cycle begins.
pub struct Pairs<'m> {
    sizes: Sizes,
    /// Sharing mode of the SM, one bit a resource.
    pub sh_sm: Signal<'m>,
    /// For each block the one that it shares with; `blocks` for none.
    sh_tb: Signal<'m>,
    /// Warps of owner blocks.
    pub owner: Signal<'m>,
    /// Blocks that are resident.
    pub resident: Signal<'m>,
    /// The block of each warp.
    block: Signal<'m>,
    /// Warps of resident blocks.
    there: Signal<'m>,
}

impl<'m> Pairs<'m> {
    /// Pairs that share so many resources.
    pub fn new(m: &Module<'m>, sizes: Sizes, resources: usize) -> Pairs<'m> {
        let Sizes { warps, blocks } = sizes;
        Pairs {
            sizes,
            sh_sm: m.register("sh_sm", resources).reset(0),
            sh_tb: m.register("sh_tb", blocks * count_bits(blocks)).reset(0),
            owner: m.register("owner", warps).reset(0),
            resident: m.register("resident", blocks).reset(0),
            block: m.register("block", warps * index_bits(blocks)).reset(0),
            there: m.register("there", warps).reset(0),
        }
    }

    /// The block beside a block, if there is one.
    pub fn neighbour(&self, block: usize) -> Option<usize> {
        Some(block ^ 1).filter(|other| *other < self.sizes.blocks)
    }

    /// Warps of a block; none if it is not resident.
    pub fn warps_of(&self, m: &Module<'m>, block: usize) -> Signal<'m> {
        let bits = index_bits(self.sizes.blocks);
        let of_block = m.cat((0..self.sizes.warps).map(|warp| self.block.lane(warp, bits).eq(block)));
        of_block & self.there
    }

    /// Whether a block is resident and shares with its neighbour.
    pub fn shares(&self, block: usize) -> Signal<'m> {
        let partner = self.sh_tb.lane(block, count_bits(self.sizes.blocks));
        self.resident.bit(block) & partner.ne(self.sizes.blocks)
    }

    /// Whether a block is the owner of its pair.
    pub fn owns(&self, m: &Module<'m>, block: usize) -> Signal<'m> {
        (self.owner & self.warps_of(m, block)).any()
    }

    /// Warps of a set of blocks, one bit each.
    pub fn warps_of_all(&self, m: &Module<'m>, blocks: Signal<'m>) -> Signal<'m> {
        let Sizes { warps, blocks: count } = self.sizes;
        (0..count).fold(m.lit(warps, 0), |all, block| {
            all | (self.warps_of(m, block) & blocks.bit(block).replicate(warps))
        })
    }

    /// Blocks that some of a set of warps are of, one bit each.
    pub fn blocks_of(&self, m: &Module<'m>, warps: Signal<'m>) -> Signal<'m> {
        self.each(m, |block| (warps & self.warps_of(m, block)).any())
    }

    /// For each block something that is asked of it, one bit each.
    pub fn each(&self, m: &Module<'m>, asked: impl Fn(usize) -> Signal<'m>) -> Signal<'m> {
        m.cat((0..self.sizes.blocks).map(asked))
    }

    /// Blocks that may take a lock, one bit each: owners; the other block of a pair if the owner holds none and no warp of it
    /// asks. `holding`, `asking`: blocks with a lock, and with a warp that needs one.
    pub fn admitted(&self, m: &Module<'m>, holding: Signal<'m>, asking: Signal<'m>) -> Signal<'m> {
        self.each(m, |block| match self.neighbour(block) {
            Some(other) => self.owns(m, block) | (!holding.bit(other) & !asking.bit(other)),
            None => m.lit(1, 1),
        })
    }

    /// Warps of resident blocks.
    pub fn warps(&self) -> Signal<'m> {
        self.there
    }

    /// Owner blocks, one bit each.
    pub fn owning(&self, m: &Module<'m>) -> Signal<'m> {
        self.each(m, |block| self.owns(m, block))
    }

    /// Owner blocks once `taking` have taken a lock, one bit each.
    pub fn owning_with(&self, m: &Module<'m>, taking: Signal<'m>) -> Signal<'m> {
        let taking = self.each(m, |block| taking.bit(block) & self.shares(block));
        self.each(m, |block| {
            let keeps = self.owns(m, block);
            taking.bit(block) | self.neighbour(block).map_or(keeps, |other| keeps & !taking.bit(other))
        })
    }

    /// Ends the cycle: `owning`, owner blocks with the locks that are taken in it; `ended` end; then one is launched. Gives the
    /// warps of owner blocks in the next cycle.
    pub fn set(
        &self,
        m: &Module<'m>,
        owning: Signal<'m>,
        ended: Signal<'m>,
        launch: &LaunchIo<'m>,
    ) -> Signal<'m> {
        let Sizes { warps, blocks } = self.sizes;
        let left = self.each(m, |block| {
            let inherits = self
                .neighbour(block)
                .map_or(m.lit(1, 0), |other| owning.bit(other) & ended.bit(other) & self.shares(block));
            (owning.bit(block) | inherits) & !ended.bit(block)
        });
        let owner = self.warps_of_all(m, left);

        let shares = launch.valid_i & launch.partner_i.ne(blocks);
        let other_owns = left & launch.partner_i.decode(blocks);
        let owns = shares & !other_owns.any();
        let starting = launch.warps_i & launch.valid_i.replicate(warps);
        let next_owner = (owner & !starting) | (starting & owns.replicate(warps));
        self.owner.set(next_owner);
        self.there.set((self.there & !self.warps_of_all(m, ended)) | starting);
        let starts = launch.block_i.decode(blocks) & launch.valid_i.replicate(blocks);
        self.resident.set((self.resident & !ended) | starts);
        let partner_bits = count_bits(blocks);
        let of_launched = starts.spread(partner_bits);
        self.sh_tb.set((self.sh_tb & !of_launched) | (launch.partner_i.replicate(blocks) & of_launched));
        let block_bits = index_bits(blocks);
        let of_starting = starting.spread(block_bits);
        self.block.set((self.block & !of_starting) | (launch.block_i.replicate(warps) & of_starting));
        next_owner
    }

    /// What is promised of launches and ends, and what follows for owners.
    pub fn check(&self, m: &Module<'m>, ended: Signal<'m>, launch: &LaunchIo<'m>) {
        let Sizes { blocks, .. } = self.sizes;
        let all = self.there;
        let at = launch.block_i.decode(blocks);
        let neighbours = self.each(m, |block| match self.neighbour(block) {
            Some(other) => launch.partner_i.eq(other),
            None => m.lit(1, 0),
        });
        let none = launch.partner_i.eq(blocks);
        let is_new =
            at.any() & !(at & self.resident).any() & launch.warps_i.any() & !(launch.warps_i & all).any();
        m.assumption("a_block_is_launched_into_a_free_slot", launch.valid_i.implies(is_new));
        m.assumption(
            "a_block_shares_with_its_neighbour",
            launch.valid_i.implies(none | (at & neighbours).any()),
        );
        let agree = (0..blocks).filter_map(|block| self.neighbour(block).map(|other| (block, other)));
        let agree = agree.fold(m.lit(1, 1), |agree, (block, other)| {
            let both = launch.valid_i & at.bit(block) & self.resident.bit(other);
            agree & both.implies(none.eq(!self.shares(other)))
        });
        m.assumption("both_blocks_of_a_pair_share", agree);
        m.assumption("a_block_that_ends_is_resident", !(ended & !self.resident).any());

        let [mut one, mut at_most, mut whole, mut free] = [m.lit(1, 1); 4];
        for block in 0..blocks {
            let (own, owns) = (self.warps_of(m, block), self.owns(m, block));
            whole = whole & ((self.owner & own).eq(own) | !owns);
            free = free & (self.shares(block) | !owns);
            if let Some(other) = self.neighbour(block).filter(|other| *other > block) {
                let shared = self.shares(block) | self.shares(other);
                one = one & shared.implies(owns | self.owns(m, other));
                at_most = at_most & !(owns & self.owns(m, other));
            }
        }
        m.invariant("a_pair_has_an_owner", one);
        m.invariant("a_pair_has_one_owner", at_most);
        m.invariant("all_warps_of_the_owner_carry_the_bit", whole);
        m.invariant("an_unshared_block_owns_nothing", free);
        m.invariant("only_resident_warps_own", !(self.owner & !all).any());
        let of_resident = self.each(m, |block| self.warps_of(m, block).any());
        m.invariant("a_resident_block_has_warps", of_resident.eq(self.resident));
    }
}
