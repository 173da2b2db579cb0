//! The rename table of the loops: 512 names, 8 banks of 32 rows, 16 warps.

/// Names.
pub(super) const NAMES: usize = 512;
/// Bits of a name.
pub(super) const NAME_BITS: u32 = 9;
/// Banks; register `r` lies in bank `r mod 8`.
pub(super) const BANKS: usize = 8;
/// Registers.
pub(super) const REGISTERS: usize = 256;
/// Bits of a warp.
pub(super) const WARP_BITS: u32 = 4;
/// Instructions a cycle.
pub(super) const WAYS: usize = 2;
/// Registers that an instruction reads.
pub(super) const SOURCES: usize = 3;
/// Registers that an instruction writes.
pub(super) const RESULTS: usize = 4;
/// Registers written a cycle.
pub(super) const WRITERS: usize = 3;
/// Words of a set of names.
const SET: usize = NAMES / 64;

/// Which name has which register.
pub(super) struct Renaming {
    /// Register and warp of each name.
    register_of: [u8; NAMES],
    warp_of: [u8; NAMES],
    mapped: [u64; SET],
    dying: [u64; SET],
    used: [u32; BANKS],
    /// Registers that have a name.
    pub count: u64,
}

/// Names that results have got or kept in a cycle.
pub(super) struct Given {
    /// Names that have got a register, with it and the warp.
    new: [(u16, u8, u8); WAYS * RESULTS],
    /// How many have.
    pub count: usize,
    /// Names that had one and are written.
    kept: [u64; SET],
    /// Banks that have given one.
    busy: u8,
}

impl Given {
    pub const NONE: Given = Given { new: [(0, 0, 0); WAYS * RESULTS], count: 0, kept: [0; SET], busy: 0 };
}

impl Renaming {
    pub const EMPTY: Renaming = Renaming {
        register_of: [0; NAMES],
        warp_of: [0; NAMES],
        mapped: [0; SET],
        dying: [0; SET],
        used: [0; BANKS],
        count: 0,
    };

    #[inline(always)]
    fn is_mapped(&self, name: usize) -> bool {
        self.mapped[name / 64] >> (name % 64) & 1 == 1
    }

    /// The register of a name, if it has one.
    #[inline(always)]
    pub fn look_up(&self, name: usize) -> Option<u8> {
        self.is_mapped(name).then_some(self.register_of[name])
    }

    /// Gives registers to the results of an instruction of `warp` if it `may` have some; whether each has one then.
    #[inline(always)]
    pub fn allocate(
        &self,
        results: impl Iterator<Item = usize>,
        warp: usize,
        may: bool,
        given: &mut Given,
    ) -> bool {
        let mut ready = true;
        for name in results {
            if self.is_mapped(name) {
                given.kept[name / 64] |= 1 << (name % 64);
                continue;
            }
            if given.new[..given.count].iter().any(|(new, ..)| usize::from(*new) == name) {
                continue;
            }
            let free = (0..BANKS).map(|step| (name + step) % BANKS);
            let bank =
                free.into_iter().find(|&bank| self.used[bank] != u32::MAX && given.busy >> bank & 1 == 0);
            match bank.filter(|_| may) {
                Some(bank) => {
                    given.busy |= 1 << bank;
                    let register = (self.used[bank].trailing_ones() << 3) as u8 | bank as u8;
                    given.new[given.count] = (name as u16, register, warp as u8);
                    given.count += 1;
                }
                None => ready = false,
            }
        }
        ready
    }

    /// The two lowest dead names that no result keeps.
    #[inline(always)]
    pub fn freed(&self, given: &Given) -> [Option<usize>; 2] {
        let kept = |name: &usize| given.kept[name / 64] >> (name % 64) & 1 == 1;
        self.lowest_dying().map(|name| name.filter(|name| !kept(name)))
    }

    /// The warp of a name.
    #[inline(always)]
    pub fn warp(&self, name: usize) -> usize {
        usize::from(self.warp_of[name])
    }

    #[inline(always)]
    fn lowest_dying(&self) -> [Option<usize>; 2] {
        let mut found = [None; 2];
        let mut count = 0;
        for (word, &names) in self.dying.iter().enumerate() {
            let mut names = names;
            while names != 0 && count < 2 {
                found[count] = Some(64 * word + names.trailing_zeros() as usize);
                names &= names - 1;
                count += 1;
            }
        }
        found
    }

    /// The names of `dead`, the same in each word, and those of `dying` die; those `freed` lose their register.
    #[inline(always)]
    pub fn update<const DYING: usize>(
        &mut self,
        dead: u64,
        dying: [Option<usize>; DYING],
        freed: [Option<usize>; 2],
        given: &Given,
    ) {
        for name in dying.into_iter().flatten() {
            self.dying[name / 64] |= self.mapped[name / 64] & 1 << (name % 64);
        }
        for (word, dying) in self.dying.iter_mut().enumerate() {
            *dying = (*dying | (dead & self.mapped[word])) & !given.kept[word];
        }
        for name in freed.into_iter().flatten() {
            self.dying[name / 64] &= !(1 << (name % 64));
            self.mapped[name / 64] &= !(1 << (name % 64));
            let register = self.register_of[name];
            self.used[usize::from(register) % BANKS] &= !(1 << (register >> 3));
            self.count -= 1;
        }
        for &(name, register, warp) in &given.new[..given.count] {
            let name = usize::from(name);
            self.register_of[name] = register;
            self.warp_of[name] = warp;
            self.mapped[name / 64] |= 1 << (name % 64);
            self.used[usize::from(register) % BANKS] |= 1 << (register >> 3);
        }
        self.count += given.count as u64;
    }
}
