//! The shards of an SM in one circuit, beside the same shards and their port apart, under warps that run random regions.

use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regless::{L1Port, RegLessShard, RegLessSm};
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_random::Random;
use warpfile_testbenches::mutation::elaborate;

use super::memory_ref::Fill;
use super::shard::small;
use super::shard_driver::Driver;
use crate::library::clean;

const SHARDS: usize = 3;

/// What a request is made of, in the ports of a shard.
const REQUEST: [&str; 8] =
    ["valid", "kind", "compressed", "warp", "register", "line", "invalidates", "value"];

/// Shards and port apart, connected here; and the circuit of all of them.
struct Bench {
    shards: Vec<Driver>,
    port: Interpreter,
    whole: Interpreter,
    netlist: Netlist,
    random: Random,
    /// A load or store asks for the port.
    data: bool,
    /// Requests of each shard that have passed, then loads and stores.
    passed: [u64; SHARDS + 1],
    fills: u64,
}

impl Bench {
    fn new(shard: &RegLessShard, seed: u64) -> Bench {
        let geometry = shard.geometry;
        let port = L1Port {
            shards: SHARDS,
            warps: geometry.warps,
            register_bits: geometry.register_bits,
            osu_lines: geometry.lines,
            lanes: geometry.lanes,
        };
        let netlist = elaborate(&RegLessSm { shards: SHARDS, shard: shard.clone() }).unwrap();
        let engine = |netlist: &Netlist, seed| {
            Interpreter::new(netlist, &Options { seed, ..Options::checked() }).unwrap()
        };
        Bench {
            shards: (0..SHARDS as u64).map(|s| Driver::new(shard, true, seed + s)).collect(),
            port: engine(&elaborate(&port).unwrap(), seed),
            whole: engine(&netlist, seed + 100),
            netlist,
            random: Random(seed),
            data: false,
            passed: [0; SHARDS + 1],
            fills: 0,
        }
    }

    fn cycle(&mut self, cycle: u64) {
        self.shards.iter_mut().for_each(|shard| shard.offer(cycle));
        let takes = !self.random.chance(3);
        self.data |= self.random.chance(3);
        self.ask(takes);
        self.fill(cycle);
        self.port.step();
        for (s, shard) in self.shards.iter_mut().enumerate() {
            let passes = get(&self.port, &shard_port(s, "request_ready_o")) == 1;
            shard.step(cycle, passes);
            self.passed[s] += u64::from(passes);
        }
        let data_passes = get(&self.port, "data_ready_o") == 1;
        self.data &= !data_passes;
        self.passed[SHARDS] += u64::from(data_passes);
        self.drive_whole();
        self.whole.step();
        assert!(self.whole.violation().is_none(), "{:?} in cycle {cycle}", self.whole.violation());
        assert!(self.port.violation().is_none(), "{:?} in cycle {cycle}", self.port.violation());
        self.compare(cycle);
    }

    /// Brings the shards' requests and the data's to the port.
    fn ask(&mut self, takes: bool) {
        for (s, shard) in self.shards.iter_mut().enumerate() {
            shard.engine.foresee();
            for field in REQUEST {
                let asked = shard.engine.output(&format!("memory_request_{field}_o")).unwrap();
                let input = self.port.input(&shard_port(s, &format!("request_{field}_i"))).unwrap();
                self.port.set_big(input, &shard.engine.get_big(asked));
            }
        }
        set(&mut self.port, "data_valid_i", u64::from(self.data));
        set(&mut self.port, "request_ready_i", u64::from(takes));
    }

    /// Brings a line to a shard, of those that are due.
    fn fill(&mut self, cycle: u64) {
        let first = self.random.below(SHARDS as u32) as usize;
        let due = (0..SHARDS).map(|s| (s + first) % SHARDS).find_map(|s| {
            let fill = self.shards[s].memory.fill(cycle)?;
            Some((s, fill))
        });
        for (s, shard) in self.shards.iter_mut().enumerate() {
            shard.offer_fill(due.as_ref().filter(|(to, _)| *to == s).map(|(_, fill)| fill));
        }
        set(&mut self.port, "fill_valid_i", u64::from(due.is_some()));
        let Some((shard, Fill { tag: (warp, register, compressed), line, value, .. })) = due else { return };
        let register = usize::from(compressed) << 4 | register;
        set(&mut self.port, "fill_address_i", ((register * 4 + warp) * 4 + shard) as u64);
        set(&mut self.port, "fill_line_i", line);
        let input = self.port.input("fill_value_i").unwrap();
        self.port.set_lanes(input, &value);
        self.fills += 1;
    }

    /// Gives the whole circuit what its parts have been given.
    fn drive_whole(&mut self) {
        for (name, part, inner) in self.ports(Direction::Input) {
            let engine = part.map_or(&self.port, |s| &self.shards[s].engine);
            let value = engine.peek(&inner).unwrap();
            let input = self.whole.input(&name).unwrap();
            self.whole.set_big(input, &value);
        }
    }

    /// Compares every output with that of its part.
    fn compare(&self, cycle: u64) {
        for (name, part, inner) in self.ports(Direction::Output) {
            let engine = part.map_or(&self.port, |s| &self.shards[s].engine);
            let (found, expected) = (self.whole.output(&name).unwrap(), engine.output(&inner).unwrap());
            if self.whole.is_meaningful(found) {
                assert_eq!(self.whole.get_big(found), engine.get_big(expected), "{name} in cycle {cycle}");
            }
        }
    }

    /// Ports of the whole circuit; the shard they belong to, else they are the port's; their name there.
    fn ports(&self, direction: Direction) -> Vec<(String, Option<usize>, String)> {
        let top = &self.netlist.modules[self.netlist.top.index()];
        let of_part = |name: &str| {
            let shards = (0..SHARDS).find_map(|s| Some((s, name.strip_prefix(&shard_port(s, ""))?)));
            match shards {
                Some((s, inner)) => (name.to_owned(), Some(s), inner.to_owned()),
                None => (name.to_owned(), None, name.to_owned()),
            }
        };
        top.ports.iter().filter(|port| port.direction == direction).map(|port| of_part(&port.name)).collect()
    }
}

fn shard_port(shard: usize, name: &str) -> String {
    format!("shard{shard}_{name}")
}

fn get(engine: &Interpreter, name: &str) -> u64 {
    engine.get(engine.output(name).unwrap())
}

fn set(engine: &mut Interpreter, name: &str, value: u64) {
    let port = engine.input(name).unwrap();
    engine.set(port, value);
}

#[test]
fn the_shards_of_an_sm_are_as_shards_and_port_apart() {
    for shard in [small(3), RegLessShard { compressor_lines: 2, ..small(4) }] {
        let mut bench = Bench::new(&shard, 11);
        (0..2000).for_each(|cycle| bench.cycle(cycle));
        assert!(bench.passed.iter().all(|&passed| passed > 50), "{:?}", bench.passed);
        assert!(bench.fills > 50, "{}", bench.fills);
    }
}

#[test]
fn the_shards_of_an_sm_are_clean_for_the_three_tools() {
    let sm = RegLessSm { shards: 2, shard: small(3) };
    clean(&elaborate(&sm).unwrap());
}
