//! The registers of one partition's warps, and the circuit that holds their power states.

use std::collections::VecDeque;

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::greener::{ENTERS, LEAVES, RegisterPowerUnit};
use warpfile_kernels::program::LaneMask;

use super::kernel::{Decoded, Operand, Registers};
use super::{MAX_REGISTERS, NUMBER_BITS, Power, RegisterRows};
use crate::sm::design::{RowAccess, RowAccessKind, RowStates, RowUse, WarpRows, WarpSlot};

/// What is wrong of a register that is read.
pub const NOT_ON_WHEN_READ: &str = "is read while its row is not ON";
/// What is wrong of a register that is written.
pub const NOT_ON_WHEN_WRITTEN: &str = "is written while its row is not ON";

/// A number that no register has: a thread has at most 255.
const NO_REGISTER: u16 = MAX_REGISTERS as u16 - 1;

/// Number of an instruction among those that a warp has decoded, modulo what the circuit tells apart.
pub type Number = u16;

/// A warp's place.
#[derive(Clone)]
pub struct Warp {
    pub rows: WarpRows,
    /// The next instruction and its number, if it has been decoded.
    pub head: Option<(u32, Number)>,
    next_number: Number,
    /// Number of the instruction issued last.
    last_issued: Number,
    /// Registers whose access has not been seen by the circuit yet.
    pub reading: Registers,
    /// Registers that are to be written.
    pub writing: Registers,
    /// Those of them that go to their rows, as is known at decode.
    writing_rows: Registers,
    /// Who reads each register, and who writes it: one instruction at a time.
    readers: [Number; MAX_REGISTERS],
    /// The instruction that reads each register.
    reading_insts: [u32; MAX_REGISTERS],
    writers: [Number; MAX_REGISTERS],
    /// Instructions that have been issued and are not done, in program order.
    in_flight: VecDeque<(u32, Number)>,
}

impl Default for Warp {
    fn default() -> Warp {
        Warp {
            rows: WarpRows::default(),
            head: None,
            next_number: 0,
            last_issued: 0,
            reading: Registers::default(),
            writing: Registers::default(),
            writing_rows: Registers::default(),
            readers: [0; MAX_REGISTERS],
            reading_insts: [0; MAX_REGISTERS],
            writers: [0; MAX_REGISTERS],
            in_flight: VecDeque::new(),
        }
    }
}

/// An access that the circuit is told of.
#[derive(Clone, Copy, Debug)]
struct Access {
    warp: WarpSlot,
    place: usize,
    operand: Operand,
    codes: u64,
    number: Number,
    /// It is a write; a read if not.
    writes: bool,
    /// The register's next access waits until the circuit knows of this one.
    is_late: bool,
}

impl Access {
    /// The row goes to SLEEP, unless it is asked for.
    const OF_NO_REGISTER: Access = Access {
        warp: 0,
        place: 0,
        operand: Operand { register: NO_REGISTER, code: None, changes: true, row_use: RowUse::FoundLater },
        codes: 0,
        number: 0,
        writes: false,
        is_late: false,
    };

    /// The circuit is told of it in this cycle or in the next, or need not know.
    fn is_no_longer_late(&mut self, warps: &mut [Warp]) {
        if std::mem::take(&mut self.is_late) {
            warps[self.warp].reading.remove(self.operand.register);
        }
    }
}

/// A warp, its register, and what is wrong of the access to its row.
pub type WrongRow = (WarpSlot, u16, &'static str);

/// One scheduler's part.
pub struct Partition {
    engine: AnyEngine,
    ports: CircuitPorts<RegisterPowerUnit>,
    /// Where each register of the file is among the rows.
    places: Vec<usize>,
    /// The warp, and its register, that each register of the file is.
    owners: Vec<Option<(WarpSlot, u16)>>,
    /// The operand storage allocates rows to registers, and says of each what it is for: no warp has rows of its own.
    allocates: bool,
    /// Several registers may have one row, which is asked for as long as an instruction needs it: no register waits for the read
    /// of another instruction.
    shares: bool,
    has_lookup: bool,
    pub warps: Vec<Warp>,
    /// Lanes of each row whose value is lost.
    lost: Vec<LaneMask>,
    /// Rows that have lost their values since the cycle before, one bit each.
    newly_off: Vec<u64>,
    /// Registers that the operand storage is reading for instructions, and their lanes: what it has found out.
    fetches: Vec<(WarpSlot, u16, LaneMask)>,
    /// Registers that it has written in this cycle, their places and their lanes: what it has found out.
    stores: Vec<(WarpSlot, u16, usize, LaneMask)>,
    /// Rows that have nothing to keep any more: in SLEEP, and their registers have been read for the last time above them, or
    /// no register's.
    dead: Vec<usize>,
    /// Accesses of this cycle, as many as the circuit takes; those behind them wait.
    accesses: VecDeque<Access>,
    entering: VecDeque<(WarpSlot, Number, u32)>,
    leaving: VecDeque<(WarpSlot, Number)>,
    ended: u64,
    /// One bit a row: states in this cycle, and what is asked of them.
    on: Vec<u64>,
    sleep: Vec<u64>,
    off: Vec<u64>,
    request: Vec<u64>,
    free: Vec<u64>,
    /// One bit a row: on their way up in the cycle before.
    waking: Vec<u64>,
    /// The circuit has been stepped, and what it says is of the cycle before.
    is_stale: bool,
    pub counted: Power,
}

fn has(set: &[u64], place: usize) -> bool {
    set[place / 64] >> (place % 64) & 1 == 1
}

fn insert(set: &mut [u64], place: usize) {
    set[place / 64] |= 1 << (place % 64);
}

fn ones(words: impl Iterator<Item = u64>) -> u64 {
    words.map(|word| u64::from(word.count_ones())).sum()
}

impl Partition {
    /// A circuit with its ports. `rows`: where registers lie.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(
        engine: AnyEngine,
        circuit: &RegisterPowerUnit,
        rows: RegisterRows,
    ) -> Result<Partition, EngineError> {
        let words = vec![0; circuit.file.rows_of_all().div_ceil(u64::BITS as usize)];
        Ok(Partition {
            ports: engine.ports(circuit)?,
            engine,
            places: (0..circuit.file.rows_of_all()).map(|register| circuit.file.place(register)).collect(),
            owners: vec![None; circuit.file.rows_of_all()],
            allocates: rows != RegisterRows::Fixed,
            shares: rows == RegisterRows::Shared,
            has_lookup: circuit.entries > 0,
            warps: vec![Warp::default(); circuit.warps],
            lost: vec![LaneMask::MAX; circuit.file.rows_of_all()],
            newly_off: words.clone(),
            fetches: Vec::new(),
            stores: Vec::new(),
            dead: Vec::new(),
            waking: words.clone(),
            accesses: VecDeque::new(),
            entering: VecDeque::new(),
            leaving: VecDeque::new(),
            ended: 0,
            on: words.clone(),
            sleep: words.clone(),
            off: words.clone(),
            request: words.clone(),
            free: words,
            is_stale: true,
            counted: Power::default(),
        })
    }

    /// The row of a warp's register.
    fn place(&self, warp: WarpSlot, register: u16) -> usize {
        self.places[self.warps[warp].rows.row(u32::from(register)) as usize]
    }

    /// Whether a row is ON, and not on its way OFF because its warp has ended.
    fn is_on(&self, place: usize) -> bool {
        has(&self.on, place) && !has(&self.free, place)
    }

    /// States of the cycle that begins. Called before anything else of a cycle asks for them.
    pub fn begin_cycle(&mut self) {
        if !std::mem::replace(&mut self.is_stale, false) {
            return;
        }
        self.engine.foresee();
        let state = self.engine.state();
        let [on, sleep, off] =
            [self.ports.on_o, self.ports.sleep_o, self.ports.off_o].map(|port| state.get_words(port));
        let counted = &mut self.counted;
        for word in 0..on.len() {
            let was = [self.on[word], self.sleep[word], self.off[word]];
            let count = |rows: u64| u64::from(rows.count_ones());
            counted.sleep_to_on += count(was[1] & on[word]);
            counted.off_to_on += count(was[2] & on[word]);
            counted.on_to_sleep += count(was[0] & sleep[word]);
            counted.on_to_off += count(was[0] & off[word]);
            counted.sleep_to_off += count(was[1] & off[word]);
            let mut new = off[word] & !was[2];
            self.newly_off[word] = new;
            while new != 0 {
                self.lost[word * 64 + new.trailing_zeros() as usize] = LaneMask::MAX;
                new &= new - 1;
            }
        }
        self.on.copy_from_slice(on);
        self.sleep.copy_from_slice(sleep);
        self.off.copy_from_slice(off);
    }

    /// Rows that are ON in this cycle, and that have lost their values with it.
    pub fn rows(&mut self) -> RowStates<'_> {
        self.begin_cycle();
        RowStates { on: &self.on, lost: &self.newly_off }
    }

    /// How many rows a warp of so many registers has for itself.
    fn rows_of_warp(&self, registers: u16) -> u16 {
        if self.allocates { 0 } else { registers }
    }

    pub fn start_warp(&mut self, warp: WarpSlot, rows: WarpRows, registers: u16) {
        for register in 0..self.rows_of_warp(registers) {
            self.owners[rows.row(u32::from(register)) as usize] = Some((warp, register));
        }
        let mut in_flight = std::mem::take(&mut self.warps[warp].in_flight);
        in_flight.clear();
        self.warps[warp] = Warp { rows, in_flight, ..Warp::default() };
    }

    /// Its rows go OFF. What the circuit has not been told of it is of no use any more.
    pub fn end_warp(&mut self, warp: WarpSlot, registers: u16) {
        self.begin_cycle();
        for register in 0..self.rows_of_warp(registers) {
            let place = self.place(warp, register);
            insert(&mut self.free, place);
            self.owners[self.warps[warp].rows.row(u32::from(register)) as usize] = None;
        }
        self.fetches.retain(|(fetching, ..)| *fetching != warp);
        let shares = self.shares;
        self.accesses.retain(|access| shares || access.warp != warp);
        self.entering.retain(|(entering, ..)| *entering != warp);
        self.leaving.retain(|(leaving, _)| *leaving != warp);
        self.ended |= 1 << warp;
        self.warps[warp].head = None;
    }

    pub fn decode(&mut self, warp: WarpSlot, inst: u32) {
        let state = &mut self.warps[warp];
        let number = state.next_number;
        state.next_number = (number + 1) % (1 << NUMBER_BITS);
        state.head = Some((inst, number));
        if self.has_lookup {
            self.entering.push_back((warp, number, inst));
        }
    }

    /// Whether a warp's next instruction must wait; asks for its rows if no access of an earlier one is to come.
    pub fn must_wait(&mut self, warp: WarpSlot, instructions: &[Decoded]) -> bool {
        self.begin_cycle();
        let Some((inst, _)) = self.warps[warp].head else { return false };
        let decoded = &instructions[inst as usize];
        if self.warps[warp].writing.meets(&decoded.set) {
            // The scoreboard holds it.
            return false;
        }
        if self.warps[warp].reading.meets(&decoded.set) {
            self.counted.read_waits += 1;
            return true;
        }
        let mut waits = false;
        for &register in &decoded.rows {
            let place = self.place(warp, register);
            insert(&mut self.request, place);
            waits |= !self.is_on(place);
        }
        self.counted.wake_waits += u64::from(waits);
        waits
    }

    /// What a warp's next instruction waits for, in words.
    pub fn waits_for(&self, warp: WarpSlot, instructions: &[Decoded]) -> Option<String> {
        let (inst, _) = self.warps[warp].head?;
        let decoded = &instructions[inst as usize];
        let in_set = |set: &Registers| decoded.registers.iter().find(|register| set.contains(**register));
        if let Some(register) = in_set(&self.warps[warp].reading) {
            return Some(format!("R{register} to be read"));
        }
        let is_down = |register: &&u16| !self.is_on(self.place(warp, **register));
        decoded.rows.iter().find(is_down).map(|register| format!("the row of R{register} to wake up"))
    }

    /// An instruction has been picked. Gives the register whose row is not ON, if there is one.
    pub fn issue(&mut self, warp: WarpSlot, inst: u32, decoded: &Decoded) -> Option<u16> {
        let state = &mut self.warps[warp];
        let number = state.head.take().map_or(0, |(_, number)| number);
        for source in &decoded.sources {
            if !self.shares {
                state.reading.insert(source.register);
            }
            state.reading_insts[usize::from(source.register)] = inst;
            state.readers[usize::from(source.register)] = number;
        }
        state.last_issued = number;
        for result in &decoded.results {
            state.writing.insert(result.register);
            if result.row_use == RowUse::Row {
                state.writing_rows.insert(result.register);
            }
            state.writers[usize::from(result.register)] = number;
        }
        state.in_flight.push_back((inst, number));
        decoded.rows.iter().copied().find(|&register| !self.is_on(self.place(warp, register)))
    }

    /// What the operand storage has found out that it accesses in its rows: these are asked for. Gives the warp, the register
    /// and what was wrong of an access to a row that is not ON, if there is one.
    pub fn access_rows(&mut self, rows: &[RowAccess], instructions: &[Decoded]) -> Option<WrongRow> {
        self.begin_cycle();
        let mut wrong = None;
        for &RowAccess { row, of, lanes, kind } in rows {
            let place = self.places[row as usize];
            let owner = if self.allocates { of } else { self.owners[row as usize] };
            match (kind, owner) {
                (RowAccessKind::Freed, _) => {
                    // Of what the line's last register has been accessed for nothing is left to say.
                    let warps = &mut self.warps;
                    self.accesses.retain_mut(|access| {
                        let stays = access.place != place;
                        if !stays {
                            access.is_no_longer_late(warps);
                        }
                        stays
                    });
                    self.dead.push(place);
                }
                (RowAccessKind::AskedFor, _) if self.allocates || owner.is_some() => {
                    insert(&mut self.request, place);
                }
                (RowAccessKind::Read, None) if has(&self.on, place) => {
                    self.accesses.push_back(Access { place, ..Access::OF_NO_REGISTER });
                }
                // What leaves a cache for a warp that has just ended is of no use any more.
                (_, None) | (RowAccessKind::AskedFor, _) => {}
                (RowAccessKind::Reads, Some((warp, register))) => {
                    insert(&mut self.request, place);
                    let is_it =
                        |fetch: &&mut (WarpSlot, u16, LaneMask)| (fetch.0, fetch.1) == (warp, register);
                    match self.fetches.iter_mut().find(is_it) {
                        Some(fetch) => fetch.2 = lanes,
                        None => self.fetches.push((warp, register, lanes)),
                    }
                }
                (RowAccessKind::Read, Some((warp, register))) => {
                    let is_on = self.read_line((warp, register), place, lanes, instructions);
                    if !is_on {
                        wrong = Some((warp, register, NOT_ON_WHEN_READ));
                    }
                }
                (RowAccessKind::Written, Some((warp, register))) => {
                    if lanes != 0 && !has(&self.on, place) {
                        wrong = Some((warp, register, NOT_ON_WHEN_WRITTEN));
                    }
                    self.dead.retain(|dead| *dead != place);
                    self.lost[place] &= !lanes;
                    self.stores.push((warp, register, place, lanes));
                }
            }
        }
        wrong
    }

    /// An instruction has read its register's line. Gives whether it could.
    fn read_line(
        &mut self,
        (warp, register): (WarpSlot, u16),
        place: usize,
        lanes: LaneMask,
        instructions: &[Decoded],
    ) -> bool {
        let inst = self.warps[warp].reading_insts[usize::from(register)];
        let decoded = &instructions[inst as usize];
        let source = decoded.sources.iter().find(|source| source.register == register);
        if let Some(&operand) = source {
            self.tell(warp, decoded, operand, place, (false, lanes));
        }
        lanes == 0 || has(&self.on, place)
    }

    /// Where an operand is accessed in its row, and in which of the lanes that execute; `None` if nothing says where.
    fn accessed_row(
        &mut self,
        warp: WarpSlot,
        operand: Operand,
        writes: bool,
        executing: LaneMask,
    ) -> Option<(usize, LaneMask)> {
        let register = operand.register;
        let found = match operand.row_use {
            RowUse::FoundLater if executing != 0 && writes => {
                let is_it = |store: &(WarpSlot, u16, usize, LaneMask)| (store.0, store.1) == (warp, register);
                let store = self.stores.iter().position(is_it).map(|store| self.stores.swap_remove(store));
                store.map(|(.., place, lanes)| (place, lanes))
            }
            _ => None,
        };
        if self.allocates || found.is_some() {
            return found;
        }
        let lanes = match operand.row_use {
            RowUse::Row => executing,
            RowUse::FoundLater if executing != 0 && !writes => {
                let is_it = |fetch: &(WarpSlot, u16, LaneMask)| (fetch.0, fetch.1) == (warp, register);
                let fetch = self.fetches.iter().position(is_it);
                fetch.map_or(0, |fetch| self.fetches.swap_remove(fetch).2)
            }
            RowUse::Above | RowUse::FoundLater => 0,
        };
        Some((self.place(warp, register), lanes))
    }

    /// Registers that the storage has written for no instruction have left a level before the main register file, or have come
    /// to a line: the row keeps their values, in SLEEP, unless an instruction that is under way needs it.
    fn follow_stores(&mut self) {
        while let Some((warp, register, place, _)) = self.stores.pop() {
            let state = &self.warps[warp];
            let is_needed = state.reading.contains(register) || state.writing_rows.contains(register);
            if is_needed || self.accesses.len() >= self.ports.access.len() {
                continue;
            }
            let operand = Operand { register, code: None, changes: true, row_use: RowUse::FoundLater };
            let number = self.warps[warp].last_issued;
            let access = Access { warp, place, operand, codes: 0, number, writes: true, is_late: false };
            self.accesses.push_back(access);
        }
    }

    /// A register has been read or written in this cycle, or would have been if a lane had executed. Gives whether it could be,
    /// and the lanes whose value its row has lost of those that were accessed there.
    pub fn access(
        &mut self,
        warp: WarpSlot,
        decoded: &Decoded,
        operand: Operand,
        writes: bool,
        lanes: LaneMask,
    ) -> (bool, LaneMask) {
        self.begin_cycle();
        let Some((place, lanes)) = self.accessed_row(warp, operand, writes, lanes) else {
            if writes {
                self.warps[warp].writing.remove(operand.register);
            }
            // A result is in a line, and the storage says in which.
            return (!writes || lanes == 0, 0);
        };
        self.tell(warp, decoded, operand, place, (writes, lanes));
        if writes {
            self.warps[warp].writing.remove(operand.register);
            self.warps[warp].writing_rows.remove(operand.register);
        }
        let lost = self.lost[place] & lanes;
        if writes {
            self.lost[place] &= !lanes;
        }
        (lanes == 0 || has(&self.on, place), lost)
    }

    /// The circuit is told of an access in these lanes of a row, a write or a read.
    fn tell(
        &mut self,
        warp: WarpSlot,
        decoded: &Decoded,
        operand: Operand,
        place: usize,
        (writes, lanes): (bool, LaneMask),
    ) {
        let register = operand.register;
        let numbers = if writes { &self.warps[warp].writers } else { &self.warps[warp].readers };
        let number = numbers[usize::from(register)];
        let codes = decoded.codes;
        // Of one that no lane makes, the circuit is told only what becomes of the row.
        let is_told = lanes != 0 || operand.changes && has(&self.on, place);
        if !is_told && operand.is_off_behind(decoded.codes) && has(&self.sleep, place) {
            self.dead.push(place);
        }
        let is_late = is_told && !self.shares && self.accesses.len() >= self.ports.access.len();
        if is_told {
            let writes = writes && lanes != 0;
            self.accesses.push_back(Access { warp, place, operand, codes, number, writes, is_late });
        }
        // Until the circuit knows of the access, the register's next one waits.
        match is_late {
            true => self.warps[warp].reading.insert(register),
            false if !writes => self.warps[warp].reading.remove(register),
            false => {}
        }
    }

    /// Nothing of an instruction is left to do.
    pub fn retire(&mut self, warp: WarpSlot, inst: u32) {
        let in_flight = &mut self.warps[warp].in_flight;
        // Those of one instruction are done in program order.
        let Some(index) = in_flight.iter().position(|(issued, _)| *issued == inst) else { return };
        let (_, number) = in_flight.remove(index).unwrap_or_default();
        if !self.has_lookup {
            return;
        }
        let waiting =
            self.entering.iter().position(|(other, entering, _)| (*other, *entering) == (warp, number));
        match waiting.and_then(|waiting| self.entering.remove(waiting)) {
            Some(_) => self.counted.not_entered += 1,
            None => self.leaving.push_back((warp, number)),
        }
    }

    /// Ends the cycle: what has happened goes into the circuit.
    pub fn end_cycle(&mut self, instructions: &[Decoded]) {
        self.begin_cycle();
        self.follow_stores();
        let (request, waking, free) = (&self.request, &self.waking, &mut self.free);
        self.dead.retain(|&place| {
            // Asked for again: a younger instruction needs the row. One that is on its way up is asked for as well, but for a
            // line that has become free while it was woken to be written back: that goes OFF when it is ON.
            let (is_asked_for, is_waking) = (has(request, place), has(waking, place));
            if !is_asked_for && !is_waking {
                insert(free, place);
            }
            self.allocates && is_waking && !is_asked_for
        });
        for (request, free) in self.request.iter_mut().zip(&self.free) {
            *request &= !free;
        }
        let taken = self.set_accesses();
        let entered = self.set_lookup(instructions);
        let engine = self.engine.state_mut();
        engine.set_words(self.ports.request_i, &self.request);
        engine.set_words(self.ports.free_i, &self.free);
        for &port in &self.ports.ended_i {
            engine.set(port, self.ended);
        }
        self.engine.step();
        self.is_stale = true;
        self.count(entered);
        let in_time = taken + self.ports.access.len();
        self.accesses.iter_mut().take(in_time).for_each(|access| access.is_no_longer_late(&mut self.warps));
        self.accesses.drain(..taken);
        self.request.fill(0);
        self.free.fill(0);
        self.ended = 0;
    }

    fn set_accesses(&mut self) -> usize {
        let engine = self.engine.state_mut();
        for (index, ports) in self.ports.access.iter().enumerate() {
            // Of what has gone down while an access of it waited there is nothing to change.
            let access = self.accesses.get(index).filter(|access| has(&self.on, access.place));
            engine.set(ports.valid_i, u64::from(access.is_some()));
            let Some(access) = access else { continue };
            engine.set(ports.writes_i, u64::from(access.writes));
            engine.set(ports.changes_i, u64::from(access.operand.changes));
            engine.set(ports.row_i, access.place as u64);
            for by in &ports.by {
                engine.set(by.warp_i, access.warp as u64);
                engine.set(by.register_i, u64::from(access.operand.register));
                engine.set(by.number_i, u64::from(access.number));
            }
            engine.set(ports.codes_i, access.codes);
            engine.set(ports.has_code_i, u64::from(access.operand.code.is_some()));
            engine.set(ports.code_i, u64::from(access.operand.code.unwrap_or(0)));
        }
        self.accesses.len().min(self.ports.access.len())
    }

    /// Gives how many instructions are offered to the lookup table.
    fn set_lookup(&mut self, instructions: &[Decoded]) -> usize {
        if !self.has_lookup {
            return 0;
        }
        let engine = self.engine.state_mut();
        // One of a warp that takes the place of another enters when that one's have left.
        let offered = if self.ended == 0 { self.entering.len().min(ENTERS) } else { 0 };
        for (index, ports) in self.ports.enter.iter().enumerate() {
            let entering = self.entering.get(index).filter(|_| index < offered);
            engine.set(ports.valid_i, u64::from(entering.is_some()));
            let Some(&(warp, number, inst)) = entering else { continue };
            let registers = &instructions[inst as usize].registers;
            let packed =
                registers.iter().rev().fold(0, |packed: u64, &register| packed << 8 | u64::from(register));
            engine.set(ports.warp_i, warp as u64);
            engine.set(ports.number_i, u64::from(number));
            engine.set(ports.used_i, (1 << registers.len()) - 1);
            engine.set(ports.registers_i, packed);
        }
        for (index, ports) in self.ports.leave.iter().enumerate() {
            let leaving = self.leaving.get(index);
            engine.set(ports.valid_i, u64::from(leaving.is_some()));
            let Some(&(warp, number)) = leaving else { continue };
            engine.set(ports.warp_i, warp as u64);
            engine.set(ports.number_i, u64::from(number));
        }
        self.entering.drain(..offered);
        self.leaving.drain(..self.leaving.len().min(LEAVES));
        offered
    }

    /// Counts states in this cycle, and what changes with it.
    fn count(&mut self, entered: usize) {
        let state = self.engine.state();
        let waking = state.get_words(self.ports.waking_o);
        let (on, sleep, off) = (
            state.get_words(self.ports.on_o),
            state.get_words(self.ports.sleep_o),
            state.get_words(self.ports.off_o),
        );
        self.waking.copy_from_slice(waking);
        let words = 0..on.len();
        let counted = &mut self.counted;
        counted.on += ones(words.clone().map(|word| on[word] | waking[word]));
        counted.sleep += ones(words.clone().map(|word| sleep[word] & !waking[word]));
        counted.off += ones(words.map(|word| off[word] & !waking[word]));
        for ports in self.ports.access.iter().take(self.accesses.len()) {
            counted.kept_on += state.get(ports.kept_o);
        }
        for ports in self.ports.enter.iter().take(entered) {
            counted.not_entered += 1 - state.get(ports.entered_o);
        }
    }

    /// The circuit.
    pub fn circuit(&self) -> &dyn Engine {
        &self.engine
    }
}
