//! Rows of a main register file that fall asleep at random and wake up when they are asked for, around a circuit in front.

use num_bigint::BigUint;
use warpfile_engine::{Engine, Interpreter};
use warpfile_hdl::regfile::Geometry;
use warpfile_testbenches::lockstep::Pins;

use crate::random::Random;

/// What the circuit asks for.
#[derive(Clone, Copy)]
pub struct Asks {
    /// Operands, and registers to be written.
    pub ports: [usize; 2],
    /// Path of the main register file, if every access to it is asked for, and its writers.
    pub file: Option<(&'static str, usize)>,
}

pub struct RowPower {
    geometry: Geometry,
    asks: Asks,
    random: Random,
    /// By register.
    on: Vec<bool>,
    /// The cycle in which each was last asked for to be read.
    asked: Vec<Option<u64>>,
    /// Lanes that were asked for since the oldest instruction was taken.
    read_lanes: Vec<u64>,
    cycle: u64,
    /// Cycles in which something was asked for that is off.
    pub waits: usize,
}

impl RowPower {
    pub fn new(geometry: Geometry, asks: Asks, seed: u64) -> RowPower {
        let registers = geometry.banks * geometry.rows;
        RowPower {
            geometry,
            asks,
            random: Random(seed),
            on: vec![false; registers],
            asked: vec![None; registers],
            read_lanes: vec![0; registers],
            cycle: 0,
            waits: 0,
        }
    }

    fn place(&self, register: usize) -> usize {
        register % self.geometry.banks * self.geometry.rows + register / self.geometry.banks
    }

    pub fn set(&self, pins: &mut Pins) {
        let mut on = BigUint::default();
        for register in (0..self.on.len()).filter(|&register| self.on[register]) {
            on.set_bit(self.place(register) as u64, true);
        }
        pins.set("rows_on_i", on);
    }

    /// Registers whose rows are off.
    pub fn off(&self) -> Vec<usize> {
        (0..self.on.len()).filter(|&register| !self.on[register]).collect()
    }

    /// Ends a cycle. `oldest`: when the oldest instruction was taken whose operands are not out; what it has asked for stays
    /// on.
    pub fn follow(&mut self, engine: &Interpreter, oldest: Option<u64>) {
        let get = |path: String| engine.get(engine.probe(&path).unwrap());
        let is_held = |asked: Option<u64>| asked.is_some_and(|at| oldest.is_some_and(|oldest| at >= oldest));
        let mut asked = vec![false; self.on.len()];
        let mut written_lanes = vec![0; self.on.len()];
        for (name, ports) in ["read", "write"].into_iter().zip(self.asks.ports) {
            for port in (0..ports).filter(|port| get(format!("rows_{name}{port}_valid_o")) == 1) {
                let register = get(format!("rows_{name}{port}_register_o")) as usize;
                let lanes = get(format!("rows_{name}{port}_lanes_o"));
                asked[register] = true;
                if name == "read" {
                    let before = if is_held(self.asked[register]) { self.read_lanes[register] } else { 0 };
                    self.read_lanes[register] = before | lanes;
                    self.asked[register] = Some(self.cycle);
                } else {
                    written_lanes[register] |= lanes;
                }
            }
        }
        if let Some((file, writers)) = self.asks.file {
            let reads = (0..self.geometry.banks).map(|bank| (format!("read{bank}"), "row", Some(bank)));
            let writes = (0..writers).map(|writer| (format!("write{writer}"), "register", None));
            for (port, place, bank) in reads.chain(writes) {
                let get = |field: &str| get(format!("{file}.{port}_{field}_i"));
                if get("valid") == 0 {
                    continue;
                }
                let place_or_register = get(place) as usize;
                let register =
                    bank.map_or(place_or_register, |bank| place_or_register * self.geometry.banks + bank);
                assert!(self.on[register], "cycle {}: {port} of {register}, which is off", self.cycle);
                let lanes = if bank.is_some() { &self.read_lanes } else { &written_lanes };
                let more = get("lanes") & !lanes[register];
                assert_eq!(more, 0, "cycle {}: lanes of {register} that {port} did not ask for", self.cycle);
            }
        }
        for (register, asked) in asked.into_iter().enumerate() {
            let is_held = is_held(self.asked[register]);
            self.waits += usize::from(asked && !self.on[register]);
            self.on[register] = match self.on[register] {
                true => asked || is_held || self.random.chance(70),
                false => asked && self.random.chance(50),
            };
        }
        self.cycle += 1;
    }
}
