//! Loop of the main register file: 4 banks of 256 rows, 2 writers.

use super::noise::{Circuit, Event, field, lanes, signature};
use super::row::Row;
use crate::bench::Activity;

const BANKS: usize = 4;

struct RegisterFile {
    active: Event,
    /// Register `r` lies in bank `r mod 4`, row `r / 4`.
    registers: Vec<Row>,
    /// For each bank what the last read gives.
    read: [Row; BANKS],
    /// Its sum, rotated as the signature wants it.
    sums: [u64; BANKS],
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let registers = vec![Row::ZERO; BANKS * 256];
    let (read, sums) = ([Row::ZERO; BANKS], [0; BANKS]);
    signature(RegisterFile { active: Event::active(activity), registers, read, sums }, cycles)
}

impl RegisterFile {
    #[inline(always)]
    fn read(&mut self, bank: usize, valid: bool, row: usize, lanes: u32) {
        if valid {
            self.read[bank].capture(lanes, &self.registers[row * BANKS + bank]);
            self.sums[bank] = self.read[bank].sum().rotate_left(7 * bank as u32);
        }
    }
}

impl Circuit<2> for RegisterFile {
    #[inline(always)]
    fn cycle(&mut self, &[a, b]: &[u64; 2]) -> u64 {
        let active = self.active;
        let writes = [active.happens(b, 10), active.happens(b, 30)];
        let registers = [field(b, 18, 10), field(b, 38, 10)];
        let conflict = writes[0] && registers[0] % BANKS == registers[1] % BANKS;
        let outputs = self.sums.iter().fold(1 | u64::from(!conflict) << 1, |all, sum| all ^ sum);
        self.read(0, active.happens(a, 0), field(a, 8, 8), lanes(a, 16, a));
        self.read(1, active.happens(a, 18), field(a, 26, 8), lanes(a, 34, b));
        self.read(2, active.happens(a, 36), field(a, 44, 8), lanes(a, 52, a));
        self.read(3, active.happens(a, 54), field(b, 0, 8), lanes(b, 8, b));
        let value = Row::repeated(b);
        if writes[0] {
            self.registers[registers[0]].write(lanes(b, 28, a), &value);
        }
        if writes[1] && !conflict {
            self.registers[registers[1]].write(lanes(b, 48, a), &value);
        }
        outputs
    }
}
