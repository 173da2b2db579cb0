//! Reference of the register cache: tags only, no timing. Written from Bailey et al., §III-A, and the circuit's contract.

/// A register with some of its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    pub register: usize,
    pub lanes: u32,
}

/// An operand that is looked up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    pub register: usize,
    pub last_read: bool,
    /// It is read elsewhere: only a last read is told.
    pub elsewhere: bool,
}

/// A line; free if no lane is held.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    pub register: Option<usize>,
    pub warp: usize,
    pub held: u32,
    /// Lanes of these that were copied, and not written since.
    pub clean: u32,
}

/// Place of a line: its set, and which of the set's two.
pub type Place = (usize, usize);

/// The lines of every set.
#[derive(Clone, Debug)]
pub struct CacheReference {
    liveness: bool,
    register_bits: u32,
    pub sets: Vec<[Line; 2]>,
    /// Which line of each set was used last.
    newest: Vec<usize>,
}

impl CacheReference {
    pub fn new(sets: usize, register_bits: usize, liveness: bool) -> CacheReference {
        CacheReference {
            liveness,
            register_bits: register_bits as u32,
            sets: vec![[Line::default(); 2]; sets],
            newest: vec![0; sets],
        }
    }

    /// The set of a register: its number with the bits in reverse, as a fraction of all numbers, of the sets.
    pub fn set_of(&self, register: usize) -> usize {
        let reversed = (0..self.register_bits).fold(0, |reversed, bit| reversed << 1 | register >> bit & 1);
        reversed * self.sets.len() / (1 << self.register_bits)
    }

    pub fn place(&self, register: usize) -> Option<Place> {
        let set = self.set_of(register);
        let line = self.sets[set].iter().position(|line| line.register == Some(register))?;
        Some((set, line))
    }

    pub fn line(&self, (set, line): Place) -> Line {
        self.sets[set][line]
    }

    /// The executing lanes of an operand that are here, and where.
    pub fn look_up(&self, register: usize, active: u32) -> Option<(Place, u32)> {
        let place = self.place(register)?;
        let lanes = self.line(place).held & active;
        (lanes != 0).then_some((place, lanes))
    }

    /// Notes the use of a line.
    pub fn touch(&mut self, (set, line): Place) {
        self.newest[set] = line;
    }

    /// A last read ends the executing lanes' copy.
    pub fn end(&mut self, source: Source, active: u32) {
        let Some((set, line)) = self.place(source.register) else { return };
        if self.liveness && source.last_read {
            self.sets[set][line].held &= !active;
        }
    }

    /// The line that a value goes to, if it may go to one: its register's, else a free one, else the one that was not used for
    /// longest; of those that are not `taken`.
    pub fn target(&self, register: usize, taken: impl Fn(Place) -> bool) -> Option<Place> {
        if let Some(place) = self.place(register) {
            return (!taken(place)).then_some(place);
        }
        let set = self.set_of(register);
        let oldest = 1 - self.newest[set];
        let is_free = |line: usize| self.sets[set][line].held == 0;
        let in_order = [0, 1].into_iter().filter(|&line| is_free(line)).chain([oldest, 1 - oldest]);
        in_order.map(|line| (set, line)).find(|&place| !taken(place))
    }

    /// What has to leave a line before it takes a register: nothing that was only copied.
    pub fn evicted(&self, place: Place, register: usize) -> Option<Lanes> {
        let Line { register: holder, held, clean, .. } = self.line(place);
        let lanes = held & !clean;
        let leaving = holder.filter(|&holder| holder != register && lanes != 0);
        leaving.map(|register| Lanes { register, lanes })
    }

    /// Writes a value to a line; one that is `copied` is in the main register file, too.
    pub fn write(&mut self, place: Place, warp: usize, value: Lanes, copied: bool) {
        let line = &mut self.sets[place.0][place.1];
        if line.register != Some(value.register) {
            *line = Line { register: Some(value.register), ..Line::default() };
        }
        line.warp = warp;
        line.held |= value.lanes;
        line.clean = if copied { line.clean | value.lanes } else { line.clean & !value.lanes };
        self.touch(place);
    }

    /// A register leaves its line.
    pub fn leave(&mut self, register: usize) {
        if let Some((set, line)) = self.place(register) {
            self.sets[set][line] = Line::default();
        }
    }

    /// Drops the lines of warps that have ended, one bit each.
    pub fn drop_warps(&mut self, ended: u64) {
        for line in self.sets.iter_mut().flatten() {
            if line.register.is_some() && ended >> line.warp & 1 == 1 {
                *line = Line::default();
            }
        }
    }

    /// Where a lane of a register is, if it is here.
    pub fn holder(&self, register: usize, lane: usize) -> Option<Place> {
        self.place(register).filter(|&place| self.line(place).held >> lane & 1 == 1)
    }
}
