//! Lines of staging banks that fall asleep at random and wake up when they are asked for, around a circuit.

use warpfile_hdl::regless::ShardGeometry;
use warpfile_random::Random;

pub struct LinePower {
    geometry: ShardGeometry,
    random: Random,
    /// For each bank the lines that are on, one bit each.
    on: Vec<u64>,
    /// Cycles in which a bank asked for a line that is not on.
    pub waits: usize,
}

impl LinePower {
    pub fn new(geometry: ShardGeometry, seed: u64) -> LinePower {
        LinePower { geometry, random: Random(seed), on: vec![0; geometry.banks], waits: 0 }
    }

    /// What the circuit is told: ports and their values.
    pub fn inputs(&self) -> Vec<(String, u64)> {
        let port = |(bank, on): (usize, &u64)| (format!("power_bank{bank}_on_i"), *on);
        self.on.iter().enumerate().map(port).collect()
    }

    pub fn is_on(&self, bank: usize, line: u64) -> bool {
        self.on[bank] >> line & 1 == 1
    }

    /// Ends a cycle; `get` gives an output by its name.
    pub fn follow(&mut self, get: impl Fn(&str) -> u64) {
        if get("power_filled_valid_o") == 1 {
            let register = get("power_filled_warp_o") + get("power_filled_register_o");
            let bank = register as usize % self.geometry.banks;
            let line = get("power_filled_line_o");
            assert!(self.is_on(bank, line), "line {line} of bank {bank} is filled and not on");
        }
        for bank in 0..self.geometry.banks {
            let get = |output: &str| get(&format!("power_bank{bank}_{output}_o"));
            if get("read_valid") == 1 && get("read_lanes") != 0 {
                let line = get("read_line");
                assert!(self.is_on(bank, line), "line {line} of bank {bank} is read and not on");
            }
            let (asked, freed) = (get("request"), get("freed"));
            assert_eq!(asked & freed, 0, "lines of bank {bank} are free and asked for");
            self.waits += usize::from(asked & !self.on[bank] != 0);
            let (stays, wakes) = (self.random.number(), self.random.number());
            self.on[bank] = (self.on[bank] & (asked | stays) & !freed) | (asked & wakes);
        }
    }
}
