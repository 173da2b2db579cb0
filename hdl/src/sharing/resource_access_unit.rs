//! Who may access registers and scratchpad that two thread blocks share, both at once.

use serde::{Deserialize, Serialize};

use super::pairs::{LaunchIo, Pairs, Sizes};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal};

/// Resource access unit for registers and scratchpad: holds back warps whose next instruction needs registers that their
/// partner may use, or reaches bytes that the other block may.
///
/// Two blocks share in neighbouring slots, 2 i and 2 i + 1. A pair has one owner for both resources, the older block, until that
/// block has ended: only its warps access what is shared. The one exception is scratchpad that every thread of the owner has
/// released: it is the partner's until the partner releases it as well or ends, and no later block's before. So nobody waits for
/// a block that waits, whatever each of them needs of either resource.
///
/// An owner that stays until its block has ended needs no locks: of the tables of §2.4 these are left, `sh_sm` 2 bits, one a
/// resource, `sh_tb` T ⌈log₂(T + 1)⌉, and `owner` W. Beside them `released` T, and as in the other units `resident`, `there`,
/// `block` and the boundaries, `private_registers` and `private_bytes`.
///
/// Timing: who is held follows from the tables and the needs of the same cycle. What is released, and who is the owner, shows
/// in the next.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §6.1, which leaves it to future
/// work; tables: §2.4; release: §3.2.2.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ResourceAccessUnit {
    /// Warps, 1 to 128.
    pub warps: usize,
    /// Thread blocks, 2 to 32.
    pub blocks: usize,
    /// Bits of the number of a register, counted from 1, 1 to 12.
    pub register_bits: usize,
    /// Bits of the number of a byte of a block's scratchpad, counted from 1, 1 to 20.
    pub byte_bits: usize,
}

/// Ports of a [`ResourceAccessUnit`].
#[derive(Ports)]
#[params(ResourceAccessUnit)]
pub struct ResourceAccessUnitIo<'m> {
    /// A kernel begins: no block is resident.
    pub configure_valid_i: In<'m>,
    /// Blocks share registers.
    pub configure_share_registers_i: In<'m>,
    /// Registers that a sharing warp has for itself.
    #[bits(p.register_bits)]
    pub configure_private_registers_i: In<'m>,
    /// Blocks share scratchpad.
    pub configure_share_scratchpad_i: In<'m>,
    /// Bytes that a sharing block has for itself.
    #[bits(p.byte_bits)]
    pub configure_private_bytes_i: In<'m>,
    /// A block becomes resident.
    #[with(Sizes { warps: p.warps, blocks: p.blocks })]
    pub launch: LaunchIo<'m>,
    /// For each warp the highest register of its next instruction, sources and destinations, counted from 1; 0 if it has none.
    #[bits(p.warps * p.register_bits)]
    pub register_i: In<'m>,
    /// For each warp the highest byte that a lane of its next instruction accesses, counted from 1; 0 if it accesses none.
    #[bits(p.warps * p.byte_bits)]
    pub byte_i: In<'m>,
    /// Blocks of which every thread has released the shared scratchpad, one bit each.
    #[bits(p.blocks)]
    pub release_i: In<'m>,
    /// Blocks that have ended, one bit each: nothing of them is in flight.
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
    /// Sharing blocks that may access shared scratchpad, one bit each: of a pair one at most.
    #[bits(p.blocks)]
    pub scratchpad_o: Out<'m>,
}

impl Circuit for ResourceAccessUnit {
    type Io<'m> = ResourceAccessUnitIo<'m>;
    const NAME: &'static str = "resource_access_unit";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=128)?;
        Self::check_range("blocks", self.blocks, 2..=32)?;
        Self::check_range("register_bits", self.register_bits, 1..=12)?;
        Self::check_range("byte_bits", self.byte_bits, 1..=20)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ResourceAccessUnitIo<'m>) {
        let pairs = Pairs::new(m, Sizes { warps: self.warps, blocks: self.blocks }, 2);
        let private_registers = m.register("private_registers", self.register_bits).reset(0);
        let private_bytes = m.register("private_bytes", self.byte_bits).reset(0);
        let released = m.register("released", self.blocks).reset(0);
        m.when(io.configure_valid_i, || {
            pairs.sh_sm.set(io.configure_share_registers_i.concat(io.configure_share_scratchpad_i));
            private_registers.set(io.configure_private_registers_i);
            private_bytes.set(io.configure_private_bytes_i);
        });

        let shared = pairs.each(m, |block| pairs.shares(block));
        let of_sharing = pairs.warps_of_all(m, shared);
        let beyond = |numbers: Signal<'m>, bits: usize, private: Signal<'m>| {
            m.cat((0..self.warps).map(|warp| numbers.lane(warp, bits).gt(private))) & of_sharing
        };
        let registers = beyond(io.register_i, self.register_bits, private_registers);
        let needs_registers = (registers & pairs.sh_sm.bit(0).replicate(self.warps)).named("needs_registers");
        let bytes = beyond(io.byte_i, self.byte_bits, private_bytes);
        let needs_bytes = (bytes & pairs.sh_sm.bit(1).replicate(self.warps)).named("needs_bytes");

        let may_access = pairs.each(m, |block| {
            let is_left = pairs.neighbour(block).map_or(m.lit(1, 0), |other| released.bit(other));
            shared.bit(block) & !released.bit(block) & (pairs.owns(m, block) | is_left)
        });
        let held_registers = needs_registers & !pairs.owner;
        let held_bytes = needs_bytes & !pairs.warps_of_all(m, may_access);
        let held = held_registers | held_bytes;

        let starts = io.launch.block_i.decode(self.blocks) & io.launch.valid_i.replicate(self.blocks);
        released.set((released | io.release_i) & !io.block_ended_i & !starts);
        let next_owner = pairs.set(m, pairs.owning(m), io.block_ended_i, &io.launch);

        io.held_o.set(held);
        io.owner_o.set(pairs.owner);
        io.shared_o.set(shared);
        io.scratchpad_o.set(may_access);

        pairs.check(m, io.block_ended_i, &io.launch);
        m.assumption(
            "a_kernel_begins_without_blocks",
            io.configure_valid_i.implies(!pairs.resident.any() & !io.launch.valid_i),
        );
        m.assumption("only_resident_blocks_release", !(io.release_i & !pairs.resident).any());
        let over = released | io.release_i;
        m.assumption("a_released_block_needs_no_scratchpad", !(pairs.blocks_of(m, needs_bytes) & over).any());

        let used = pairs.blocks_of(m, needs_registers & !held_registers);
        let [mut registers_apart, mut bytes_apart] = [m.lit(1, 1); 2];
        for block in 0..self.blocks {
            if let Some(other) = pairs.neighbour(block) {
                registers_apart = registers_apart & !(used.bit(block) & used.bit(other));
                bytes_apart = bytes_apart & !(may_access.bit(block) & may_access.bit(other));
            }
        }
        m.invariant("shared_registers_have_one_user", registers_apart);
        let ending = pairs.warps_of_all(m, io.block_ended_i);
        m.invariant("an_owner_stays_until_it_has_ended", !(pairs.owner & !next_owner & !ending).any());
        m.invariant("the_shared_part_has_one_user", bytes_apart);
        m.invariant("a_released_block_never_accesses_the_shared_part", !(may_access & released).any());
        m.invariant("only_resident_blocks_have_released", !(released & !pairs.resident).any());
        m.invariant("an_owner_is_never_held_back", !(held & pairs.owner).any());
        m.invariant("an_unshared_block_is_never_held_back", !(held & !of_sharing).any());
        m.invariant("private_accesses_never_wait", !(held & !needs_registers & !needs_bytes).any());
    }
}
