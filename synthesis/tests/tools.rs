//! What the tests share: the default library and a place where mapped modules are kept between runs.

use std::path::Path;

use serde_json::Value;
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::{Direction, Netlist, Port};
use warpfile_synthesis::liberty::{DEFAULT_PATH, Library};
use warpfile_synthesis::sram::{Outlined, outline};
use warpfile_synthesis::yosys::{Cache, Mapped, map};

/// The default library.
pub fn osu018() -> Library {
    Library::read(Path::new(DEFAULT_PATH)).expect("scripts/test installs it")
}

/// A circuit of the library.
pub fn circuit(name: &str, overrides: Value) -> Netlist {
    let library = library();
    let entry = library.iter().find(|entry| entry.name == name).expect("a circuit of the library");
    entry.elaborate_with(&overrides).expect("parameters that are accepted")
}

/// A circuit, its memories taken out, mapped onto the default library.
pub fn mapped(netlist: &Netlist) -> (Outlined, Mapped) {
    let outlined = outline(netlist);
    let cache = Cache::at(Path::new(env!("CARGO_TARGET_TMPDIR")).join("mapped"));
    let mapped = map(&outlined, Path::new(DEFAULT_PATH), &cache).expect("Yosys maps every circuit");
    (outlined, mapped)
}

/// The input ports of a circuit, in their order.
pub fn inputs(netlist: &Netlist) -> impl Iterator<Item = &Port> {
    netlist.top().ports.iter().filter(|port| port.direction == Direction::Input)
}

/// Random words for the input ports of so many cycles, of which `quiet` in 8 repeat the one before. The same in every run.
pub fn stimulus(netlist: &Netlist, cycles: u64, quiet: u64) -> Vec<Vec<Vec<u64>>> {
    let mut random = Random::default();
    let mut values: Vec<Vec<u64>> =
        inputs(netlist).map(|port| vec![0; port.width.div_ceil(64) as usize]).collect();
    let cycle = |_| {
        if random.next() % 8 >= quiet {
            values = inputs(netlist).map(|port| random.words(port.width)).collect();
        }
        values.clone()
    };
    (0..cycles).map(cycle).collect()
}

/// Numbers that are the same in every run (xorshift).
pub struct Random(u64);

impl Default for Random {
    fn default() -> Random {
        Random(0x9e37_79b9_7f4a_7c15)
    }
}

impl Random {
    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A value of so many bits, lowest word first.
    pub fn words(&mut self, bits: u32) -> Vec<u64> {
        (0..bits.div_ceil(64)).map(|word| self.next() >> (64 - (bits - 64 * word).min(64))).collect()
    }
}
