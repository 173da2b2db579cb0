//! Groups of virtual registers that lie side by side, in registers aligned to the group's size.
//!
//! A group has 1, 2 or 4 slots. Several virtual registers share a slot if they never interfere (coalesced
//! copies); a slot may be empty.

use super::interference::Interference;
use crate::compile::function::Function;
use crate::compile::lower::MachineCode;
use crate::compile::optimise::resolve::VReg;
use crate::program::Operation;

/// Slots of the largest group: a 128-bit vector.
const LARGEST: usize = 4;

/// One group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Slots: 1, 2 or 4; also the alignment.
    pub size: usize,
    /// Its virtual registers with their slots; empty once merged into another group.
    pub members: Vec<(VReg, usize)>,
}

/// All groups, and the group and slot of each virtual register.
#[derive(Clone, Debug)]
pub struct Groups {
    groups: Vec<Group>,
    place: Vec<Option<(usize, usize)>>,
}

impl Groups {
    /// The words of each 64-bit value in a pair; everything else alone.
    pub fn of_values(code: &MachineCode) -> Groups {
        let mut mentioned = vec![false; code.registers as usize];
        for op in &code.ops {
            for (register, _) in op.sources.iter().chain(&op.results) {
                mentioned[register.index()] = true;
            }
        }
        let mut groups = Groups { groups: Vec::new(), place: vec![None; mentioned.len()] };
        let mut register = 0;
        while register < mentioned.len() {
            let is_low_word = register < code.first_temporary as usize && register.is_multiple_of(2);
            let is_pair = is_low_word && mentioned[register] && mentioned[register + 1];
            let size = if is_pair { 2 } else { 1 };
            if mentioned[register] {
                let members = (0..size).map(|slot| (VReg((register + slot) as u32), slot)).collect();
                groups.add(Group { size, members });
            }
            register += size;
        }
        groups
    }

    fn add(&mut self, group: Group) {
        for &(register, slot) in &group.members {
            self.place[register.index()] = Some((self.groups.len(), slot));
        }
        self.groups.push(group);
    }

    /// All groups; merged ones have no members.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Group and slot of a virtual register; `None` if no instruction mentions it.
    pub fn place(&self, register: VReg) -> Option<(usize, usize)> {
        self.place[register.index()]
    }

    /// Puts the registers that one vector access loads side by side, those that one stores, and those of a fragment of a
    /// matrix product, where they are free to move.
    pub fn add_vectors(&mut self, code: &MachineCode, interference: &Interference) {
        for op in &code.ops {
            let is_vector = matches!(op.operation, Operation::Load(_) | Operation::Texture);
            if is_vector && matches!(op.results.len(), 2 | 4) {
                let registers: Vec<VReg> = op.results.iter().map(|&(register, _)| register).collect();
                self.join(&registers, interference);
            }
        }
        for fragment in &code.fragments {
            self.join(fragment, interference);
        }
    }

    /// Makes one group in which `registers[n]` has slot `n`; does nothing if they are bound otherwise.
    fn join(&mut self, registers: &[VReg], interference: &Interference) {
        let Some((first, _)) = self.place(registers[0]) else { return };
        let size = self.groups[first].size.max(registers.len());
        // The groups that become one, and what is added to their slots.
        let mut parts: Vec<(usize, usize)> = vec![(first, 0)];
        for (slot, &register) in registers.iter().enumerate() {
            let Some((group, at)) = self.place(register) else { return };
            if let Some(&(_, shift)) = parts.iter().find(|&&(part, _)| part == group) {
                if at + shift != slot {
                    return;
                }
                continue;
            }
            let Some(shift) = slot.checked_sub(at).filter(|&shift| self.fits(group, shift, size)) else {
                return;
            };
            if parts.iter().any(|&part| self.clash(part, (group, shift), interference)) {
                return;
            }
            parts.push((group, shift));
        }
        self.groups[first].size = size;
        for &(group, shift) in &parts[1..] {
            self.put(first, group, shift);
        }
    }

    /// Gives both sides of copies one register, where they do not interfere: inner loops first.
    pub fn coalesce_copies(&mut self, code: &MachineCode, function: &Function, interference: &Interference) {
        let weight = loop_depths(function);
        let mut copies: Vec<usize> =
            (0..code.ops.len()).filter(|&position| code.ops[position].copy).collect();
        copies.sort_by_key(|&position| (std::cmp::Reverse(weight[position]), position));
        for position in copies {
            let (from, to) = (code.ops[position].sources[0].0, code.ops[position].results[0].0);
            let (Some((a, a_slot)), Some((b, b_slot))) = (self.place(from), self.place(to)) else { continue };
            if a == b {
                continue;
            }
            if self.groups[a].size >= self.groups[b].size {
                self.merge(a, b, a_slot as isize - b_slot as isize, interference);
            } else {
                self.merge(b, a, b_slot as isize - a_slot as isize, interference);
            }
        }
    }

    /// Moves the members of `from` into `into`, their slots shifted, if that fits.
    fn merge(&mut self, into: usize, from: usize, shift: isize, interference: &Interference) {
        let Ok(shift) = usize::try_from(shift) else { return };
        if self.fits(from, shift, self.groups[into].size)
            && !self.clash((into, 0), (from, shift), interference)
        {
            self.put(into, from, shift);
        }
    }

    /// Whether a group, its slots shifted, has a place among so many.
    fn fits(&self, group: usize, shift: usize, size: usize) -> bool {
        let part = self.groups[group].size;
        shift.is_multiple_of(part) && shift + part <= size && size <= LARGEST
    }

    /// Whether two groups, each with its slots shifted, have members of one slot that interfere. Takes time in proportion
    /// to the smaller: a chain of copies may be as long as the kernel.
    fn clash(&self, a: (usize, usize), b: (usize, usize), interference: &Interference) -> bool {
        let members = |(group, _): (usize, usize)| &self.groups[group].members;
        let (few, many) = if members(a).len() <= members(b).len() { (a, b) } else { (b, a) };
        members(few).iter().any(|&(register, slot)| {
            interference.neighbours(register.0).iter().any(|&other| {
                self.place(VReg(other))
                    .is_some_and(|(group, at)| group == many.0 && at + many.1 == slot + few.1)
            })
        })
    }

    /// Moves the members of `from` into `into`, their slots shifted.
    fn put(&mut self, into: usize, from: usize, shift: usize) {
        for (register, slot) in std::mem::take(&mut self.groups[from].members) {
            self.place[register.index()] = Some((into, slot + shift));
            self.groups[into].members.push((register, slot + shift));
        }
    }
}

/// For each instruction, roughly how often it runs: the number of loops around it.
///
/// A loop is taken to span from the target of a backward edge to its source in program order.
fn loop_depths(function: &Function) -> Vec<usize> {
    // How many loops begin before an instruction, less those that end.
    let mut change = vec![0_isize; function.instructions.len() + 1];
    for from in function.cfg.block_ids() {
        for &to in &function.cfg.block(from).successors {
            if to <= from {
                change[function.cfg.block(to).instructions.start] += 1;
                change[function.cfg.block(from).instructions.end] -= 1;
            }
        }
    }
    let depths = change.iter().scan(0, |depth, change| {
        *depth += change;
        Some(*depth as usize)
    });
    depths.take(function.instructions.len()).collect()
}
