//! A register file that takes two instructions a cycle, driven by hand.

use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regfile::Geometry;
use warpfile_hdl::rtl::Circuit;
use warpfile_testbenches::mutation::elaborate;

/// Eight banks of four rows.
pub const EIGHT_BANKS: Geometry = Geometry { banks: 8, rows: 4, ..Geometry::GEBHART_2011 };

/// The circuit, all of whose units are ready.
pub struct TwoPorts {
    engine: Interpreter,
}

impl TwoPorts {
    pub fn new(circuit: &impl Circuit) -> TwoPorts {
        let engine = Interpreter::new(&elaborate(circuit).unwrap(), &Options::checked()).unwrap();
        let mut bench = TwoPorts { engine };
        bench.set("unit_ready_i", 0b111);
        bench
    }

    pub fn set(&mut self, port: &str, value: u64) {
        self.engine.set(self.engine.input(port).unwrap(), value);
    }

    pub fn get(&self, port: &str) -> u64 {
        self.engine.get(self.engine.output(port).unwrap())
    }

    /// Offers an instruction that reads one register in the cycle to come.
    pub fn issue(&mut self, port: usize, id: u64, unit: u64, register: u64) {
        for (name, value) in
            [("valid", 1), ("id", id), ("unit", unit), ("active", 0xffff_ffff), ("source0_valid", 1)]
        {
            self.set(&format!("issue{port}_{name}_i"), value);
        }
        self.set(&format!("issue{port}_source0_register_i"), register);
    }

    /// Runs a cycle and ends the offers; the instructions dispatched, by port.
    pub fn step(&mut self) -> [Option<u64>; 2] {
        self.engine.step();
        self.set("issue0_valid_i", 0);
        self.set("issue1_valid_i", 0);
        [0, 1].map(|port| {
            let dispatched = self.get(&format!("dispatch{port}_valid_o")) == 1;
            dispatched.then(|| self.get(&format!("dispatch{port}_id_o")))
        })
    }

    /// Whether an instruction would have been taken on each port in the cycle just run.
    pub fn ready(&self) -> [bool; 2] {
        [0, 1].map(|port| self.get(&format!("issue{port}_ready_o")) == 1)
    }
}
