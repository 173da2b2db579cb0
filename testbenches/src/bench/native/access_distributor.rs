//! Loop of the access distributor: 6 read units of 4 entries.

use super::noise::{Circuit, Event, Field, Fields, lanes, signature};
use crate::bench::Activity;

/// Banks of a shard.
const BANKS: usize = 8;
/// Ports for results.
const WRITES: usize = 3;
const ISSUES: usize = 2;
const SOURCES: usize = 3;
const RESULTS: usize = 4;
/// Accesses of an instruction.
const ACCESSES: usize = SOURCES + RESULTS;
const UNITS: u32 = 6;
const ENTRY_BITS: u32 = 2;

/// Instructions, and which of their accesses have not gone to their banks yet.
struct Distributor {
    active: Event,
    results: Event,
    /// A bit for each access, those of the first instruction lowest.
    left_over: u16,
    instructions: [Instruction; ISSUES],
}

#[derive(Clone, Copy, Default)]
struct Instruction {
    warp: u8,
    lanes: u32,
    /// Entry and unit of its read unit.
    place: u16,
    accesses: [Access; ACCESSES],
}

#[derive(Clone, Copy, Default)]
struct Access {
    valid: bool,
    register: u8,
    fate: u8,
    written: bool,
    /// The result whose line it reserves.
    result: Option<u8>,
}

#[derive(Clone, Copy)]
struct IssueFields {
    valid: Field,
    unit: Field,
    warp: Field,
    lanes: Field,
    /// Of each access whether it is valid, register, fate, and of results whether they are written.
    accesses: [[Field; 4]; ACCESSES],
}

struct DistributorFields {
    issues: [IssueFields; ISSUES],
    /// Room for one and for two, the next entries.
    units: [Field; 3],
    ready: [Field; BANKS],
    /// Warp and register of each result.
    writes: [[Field; 2]; WRITES],
    words: usize,
}

const FIELDS: DistributorFields = DistributorFields::new();
const WORDS: usize = FIELDS.words;

impl IssueFields {
    const fn next(fields: &mut Fields) -> IssueFields {
        let (valid, unit, warp, lanes) = (fields.next(8), fields.next(2), fields.next(4), fields.next(2));
        let mut accesses = [[valid; 4]; ACCESSES];
        let mut k = 0;
        while k < ACCESSES {
            accesses[k][0] = fields.next(if k < SOURCES { 1 } else { 8 });
            accesses[k][1] = fields.next(8);
            accesses[k][2] = fields.next(1);
            if k >= SOURCES {
                accesses[k][3] = fields.next(8);
            }
            k += 1;
        }
        IssueFields { valid, unit, warp, lanes, accesses }
    }
}

impl DistributorFields {
    const fn new() -> DistributorFields {
        let mut fields = Fields::NONE;
        let issues = [IssueFields::next(&mut fields), IssueFields::next(&mut fields)];
        let units = [fields.next(8), fields.next(8), fields.next(UNITS * ENTRY_BITS)];
        let mut ready = [units[0]; BANKS];
        let mut bank = 0;
        while bank < BANKS {
            ready[bank] = fields.next(8);
            bank += 1;
        }
        let mut writes = [[units[0]; 2]; WRITES];
        let mut write = 0;
        while write < WRITES {
            writes[write] = [fields.next(4), fields.next(8)];
            write += 1;
        }
        let words = writes[WRITES - 1][1].word + 1;
        DistributorFields { issues, units, ready, writes, words }
    }
}

/// Words that the lanes of each instruction come from, and those of the read units with room.
const LANE_DATA: [usize; ISSUES] = [0, 1];
const ROOM_DATA: [usize; 2] = [2, 3];

const OUTPUTS: ([[u32; 3]; ISSUES], [[u32; 9]; BANKS], [u32; WRITES]) = {
    let (first, used) = places([1, 3, 3], 0);
    let (second, used) = places([1, 3, 3], used);
    let mut banks = [[0; 9]; BANKS];
    let (mut bank, mut used) = (0, used);
    while bank < BANKS {
        (banks[bank], used) = places([1, 1, 1, 4, 8, 2, 32, 1, 9], used);
        bank += 1;
    }
    ([first, second], banks, places([1; WRITES], used).0)
};

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let distributor = Distributor {
        active: Event::active(activity),
        results: Event::shared(activity, 4),
        left_over: 0,
        instructions: [Instruction::default(); ISSUES],
    };
    signature(distributor, cycles)
}

impl Instruction {
    /// Accesses it makes, one bit each.
    #[inline(always)]
    fn pending(&self) -> u16 {
        self.accesses.iter().enumerate().fold(0, |bits, (k, access)| bits | u16::from(access.valid) << k)
    }

    #[inline(always)]
    fn writes(&self) -> u32 {
        let written = |access: &&Access| access.valid && access.written;
        self.accesses.iter().filter(written).count() as u32
    }
}

/// The last read of a register that is written as well reserves the line of the first such result.
#[inline(always)]
fn share(accesses: &mut [Access; ACCESSES]) {
    for k in SOURCES..ACCESSES {
        let result = accesses[k];
        let same = |source: &usize| accesses[*source].valid && accesses[*source].register == result.register;
        let Some(source) = (0..SOURCES).rev().find(same).filter(|_| result.valid) else { continue };
        if accesses[source].result.is_none() {
            accesses[source] = result;
            accesses[k].valid = false;
        }
    }
}

impl Distributor {
    #[inline(always)]
    fn offered(&self, i: usize, noise: &[u64; WORDS], entry: u8, unit: u8) -> Instruction {
        let fields = &FIELDS.issues[i];
        let happens = |event: Event, at: Field| event.happens(noise[at.word], at.low);
        let access = |k: usize| {
            let [valid, register, fate, written] = fields.accesses[k];
            let (register, fate) = (register.of(noise) as u8, fate.of(noise) as u8);
            if k < SOURCES {
                return Access { valid: valid.of(noise) == 1, register, fate, written: false, result: None };
            }
            let (valid, written) = (happens(self.results, valid), happens(Event::OFTEN, written));
            Access { valid, register, fate, written, result: Some((k - SOURCES) as u8) }
        };
        let mut accesses = std::array::from_fn(access);
        share(&mut accesses);
        Instruction {
            warp: fields.warp.of(noise) as u8,
            lanes: lanes(noise[fields.lanes.word], fields.lanes.low, noise[LANE_DATA[i]]),
            place: u16::from(entry | unit << ENTRY_BITS),
            accesses,
        }
    }

    /// Sends each bank its oldest access, if the bank is ready; gives what the signature takes in of them.
    #[inline(always)]
    fn send(&mut self, noise: &[u64; WORDS]) -> u64 {
        let mut outputs = 0;
        let mut taken = 0;
        let (mut left, mut sent) = (self.left_over, 0_u8);
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            let instruction = &self.instructions[number / ACCESSES];
            let k = number % ACCESSES;
            let Access { register, fate, written, result, .. } = instruction.accesses[k];
            let bank = usize::from(instruction.warp.wrapping_add(register)) % BANKS;
            if sent >> bank & 1 == 1 {
                continue;
            }
            sent |= 1 << bank;
            let reads = k < SOURCES;
            let source = if reads { k as u64 } else { 0 };
            let operands = source | u64::from(result.unwrap_or(0)) << 2;
            let place = &OUTPUTS.1[bank];
            outputs ^= 1 << place[0]
                ^ u64::from(reads) << place[1]
                ^ u64::from(result.is_some()) << place[2]
                ^ u64::from(instruction.warp) << place[3]
                ^ u64::from(register) << place[4]
                ^ u64::from(fate) << place[5]
                ^ u64::from(if reads { instruction.lanes } else { 0 }) << place[6]
                ^ u64::from(written) << place[7]
                ^ (operands | u64::from(instruction.place) << 4) << place[8];
            let at = FIELDS.ready[bank];
            taken |= u16::from(Event::OFTEN.happens(noise[at.word], at.low)) << number;
        }
        self.left_over &= !taken;
        outputs
    }
}

impl Circuit<WORDS> for Distributor {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64 {
        let happens = |event: Event, at: Field| event.happens(noise[at.word], at.low);
        let mut outputs = 0;
        for (write, [warp, register]) in FIELDS.writes.iter().enumerate() {
            let (warp, register) = (warp.of(noise) as u8, register.of(noise) as u8);
            let reads = |number: usize| {
                let instruction = &self.instructions[number / ACCESSES];
                let k = number % ACCESSES;
                k < SOURCES
                    && self.left_over >> number & 1 == 1
                    && (instruction.warp, instruction.accesses[k].register) == (warp, register)
            };
            let blocked = self.left_over != 0 && (0..ISSUES * ACCESSES).any(reads);
            outputs ^= u64::from(blocked) << OUTPUTS.2[write];
        }
        let [one, two, next] = FIELDS.units;
        let room = |at: Field, data: usize| {
            if happens(Event::OFTEN, at) { u64::MAX } else { noise[data] >> (64 - UNITS) }
        };
        let (one, two, next) = (room(one, ROOM_DATA[0]), room(two, ROOM_DATA[1]), next.of(noise));
        let units: [usize; ISSUES] = std::array::from_fn(|i| FIELDS.issues[i].unit.of(noise));
        let valid: [bool; ISSUES] = std::array::from_fn(|i| happens(self.active, FIELDS.issues[i].valid));
        let idle = self.left_over == 0;
        let shared = valid[0] && units[0] == units[1];
        let first_ready = idle && one >> units[0] & 1 == 1;
        let room_behind = if shared { two } else { one } >> units[1] & 1 == 1;
        let ready = [first_ready, idle && room_behind && (first_ready || !valid[0])];
        for i in 0..ISSUES {
            let entry = (next >> (2 * units[i])) as u8;
            let entry = entry.wrapping_add(u8::from(i == 1 && shared)) & 3;
            let offered = self.offered(i, noise, entry, units[i] as u8);
            let [ready_at, accesses_at, writes_at] = OUTPUTS.0[i];
            let pending = offered.pending();
            outputs ^= u64::from(ready[i]) << ready_at
                ^ u64::from(pending.count_ones()) << accesses_at
                ^ u64::from(offered.writes()) << writes_at;
            if valid[i] && ready[i] {
                self.left_over |= pending << (ACCESSES * i);
                self.instructions[i] = offered;
            }
        }
        outputs ^ self.send(noise)
    }
}

/// Where outputs of these widths begin in the words of the signature.
const fn places<const N: usize>(widths: [u32; N], mut used: u32) -> ([u32; N], u32) {
    let mut places = [0; N];
    let mut k = 0;
    while k < N {
        if used % 64 + widths[k] > 64 {
            used = used.next_multiple_of(64);
        }
        places[k] = used % 64;
        used += widths[k];
        k += 1;
    }
    (places, used)
}
