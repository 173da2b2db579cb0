//! Compressors of several shards, and the data, at one L1 port: every shard gets its own registers back.

use num_bigint::BigUint;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_gen::Style;
use warpfile_hdl::regless::{
    Compressor, L1FillIo, L1Port, L1RequestIo, MemoryWidths, OsuFillIo, OsuRequestIo, RequestKind,
};
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_hdl::rtl::{Circuit, Documented, In, Module, Out, Ports, index_bits};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Pins;
use warpfile_testbenches::mutation::elaborate;
use warpfile_testbenches::testbench::Stimulus;
use warpfile_testbenches::witness::verilog_equals_engines;

use super::memory::{Fill, Memory, Pace, Request};
use super::osu::{Mix, Osu};
use crate::random::Random;

const SHARDS: usize = 3;
/// Four compressed lines a shard for 64 registers of 2 warps.
const COMPRESSOR: Compressor =
    Compressor { warps: 2, register_bits: 6, osu_lines: 6, lanes: 14, lines: 4, queue: 3 };
/// Cycles within which everything must end.
const PATIENCE: usize = 10_000;

/// Memory side: what shards have between their operand staging units and L1.
///
/// Timing: that of its parts.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct MemorySide {}

#[derive(Ports)]
#[params(MemorySide)]
struct MemorySideIo<'m> {
    #[repeat(SHARDS)]
    #[with(widths())]
    shard: Vec<SideIo<'m>>,
    data_valid_i: In<'m>,
    data_ready_o: Out<'m>,
    #[with(port())]
    request: L1RequestIo<'m>,
    #[with(port())]
    fill: L1FillIo<'m>,
}

#[derive(Ports)]
#[params(MemoryWidths)]
struct SideIo<'m> {
    request: OsuRequestIo<'m>,
    fill: OsuFillIo<'m>,
}

fn widths() -> MemoryWidths {
    let Compressor { warps, register_bits, osu_lines, lanes, .. } = COMPRESSOR;
    MemoryWidths { warps, register_bits, osu_lines, lanes }
}

fn port() -> L1Port {
    let Compressor { warps, register_bits, osu_lines, lanes, .. } = COMPRESSOR;
    L1Port { shards: SHARDS, warps, register_bits, osu_lines, lanes }
}

impl Circuit for MemorySide {
    type Io<'m> = MemorySideIo<'m>;
    const NAME: &'static str = "memory_side";

    fn build<'m>(&self, m: &Module<'m>, io: &MemorySideIo<'m>) {
        let port = m.instance("l1_port", port());
        for (s, (side, shard)) in io.shard.iter().zip(&port.shard).enumerate() {
            let compressor = m.instance(format!("compressor{s}"), COMPRESSOR);
            let (asked, taken) = (&side.request, &compressor.osu_request);
            taken.valid_i.set(asked.valid_i);
            asked.ready_o.set(taken.ready_o);
            taken.kind_i.set(asked.kind_i);
            taken.warp_i.set(asked.warp_i);
            taken.register_i.set(asked.register_i);
            taken.line_i.set(asked.line_i);
            taken.invalidates_i.set(asked.invalidates_i);
            taken.value_i.set(asked.value_i);

            let (made, passed) = (&compressor.memory_request, &shard.request);
            passed.valid_i.set(made.valid_o);
            made.ready_i.set(passed.ready_o);
            passed.kind_i.set(made.kind_o);
            passed.compressed_i.set(made.compressed_o);
            passed.warp_i.set(made.warp_o);
            passed.register_i.set(made.register_o);
            passed.line_i.set(made.line_o);
            passed.invalidates_i.set(made.invalidates_o);
            passed.value_i.set(made.value_o);

            let (comes, back) = (&compressor.memory_fill, &shard.fill);
            comes.valid_i.set(back.valid_o);
            comes.compressed_i.set(back.compressed_o);
            comes.warp_i.set(back.warp_o);
            comes.register_i.set(back.register_o);
            comes.line_i.set(back.line_o);
            comes.value_i.set(back.value_o);

            let (answer, given) = (&compressor.osu_fill, &side.fill);
            given.valid_o.set(answer.valid_o);
            given.warp_o.set(answer.warp_o).valid_when(given.valid_o);
            given.register_o.set(answer.register_o).valid_when(given.valid_o);
            given.line_o.set(answer.line_o).valid_when(given.valid_o);
            given.value_o.set(answer.value_o).valid_when(given.valid_o);
            compressor.hit_o.ignore();
            compressor.miss_o.ignore();
        }
        port.data_valid_i.set(io.data_valid_i);
        io.data_ready_o.set(port.data_ready_o);
        let (offered, asked) = (&port.request, &io.request);
        asked.valid_o.set(offered.valid_o);
        offered.ready_i.set(asked.ready_i);
        asked.kind_o.set(offered.kind_o).valid_when(asked.valid_o);
        asked.address_o.set(offered.address_o).valid_when(asked.valid_o);
        asked.line_o.set(offered.line_o).valid_when(asked.valid_o);
        asked.invalidates_o.set(offered.invalidates_o).valid_when(asked.valid_o);
        let writes = asked.kind_o.eq(RequestKind::Write);
        asked.value_o.set(offered.value_o).valid_when(asked.valid_o & writes);
        port.fill.valid_i.set(io.fill.valid_i);
        port.fill.address_i.set(io.fill.address_i);
        port.fill.line_i.set(io.fill.line_i);
        port.fill.value_i.set(io.fill.value_i);
    }
}

struct Bench {
    netlist: Netlist,
    engine: Interpreter,
    random: Random,
    memory: Memory,
    osus: Vec<Osu>,
    /// A load or store waits for the port.
    data: bool,
    data_passed: usize,
    stimuli: Vec<Stimulus>,
}

impl Bench {
    fn new(seed: u64, mix: Mix, pace: Pace) -> Bench {
        let netlist = elaborate(&MemorySide {}).unwrap();
        Bench {
            engine: Interpreter::new(&netlist, &Options { seed, ..Options::checked() }).unwrap(),
            netlist,
            random: Random(!seed),
            memory: Memory::new(seed ^ 1, pace),
            osus: (0..SHARDS as u64).map(|s| Osu::new(seed ^ s << 32, mix, &COMPRESSOR)).collect(),
            data: false,
            data_passed: 0,
            stimuli: Vec::new(),
        }
    }

    fn step(&mut self) {
        self.data |= self.random.chance(30);
        let (ready, fill) = self.memory.cycle();
        self.drive(ready, fill.as_ref());
        self.engine.step();
        assert_eq!(self.engine.violation(), None);

        let data = self.get("data_ready_o") == 1;
        if self.get("request_valid_o") == 1 && ready {
            assert!(!data, "one request a cycle");
            self.memory.take(&self.l1_request());
        }
        self.data &= !data;
        self.data_passed += usize::from(data);
        for s in 0..SHARDS {
            if self.osus[s].offer.is_some() && self.get(&format!("shard{s}_request_ready_o")) == 1 {
                self.osus[s].taken();
            }
            if let Some(fill) = self.fill_of(s) {
                self.osus[s].filled(&fill);
            }
        }
    }

    fn drive(&mut self, ready: bool, fill: Option<&Fill>) {
        let mut pins = Pins::default();
        for (s, osu) in self.osus.iter().enumerate() {
            let Some(request) = &osu.offer else { continue };
            let (_, register, warp) = request.place;
            let mut set = |name: &str, value: BigUint| pins.set(&format!("shard{s}_request_{name}_i"), value);
            set("valid", 1u8.into());
            set("kind", (request.kind as u8).into());
            set("warp", warp.into());
            set("register", register.into());
            set("line", request.line.into());
            set("invalidates", u8::from(request.invalidates).into());
            set("value", request.value.clone());
        }
        pins.set("data_valid_i", u8::from(self.data));
        pins.set("request_ready_i", u8::from(ready));
        if let Some(Fill { place: (compressed, register, warp_of_sm), line, value }) = fill {
            let space = usize::from(*compressed) << (port().address_bits() - 1);
            let place = (register * COMPRESSOR.warps) << index_bits(SHARDS);
            pins.set("fill_valid_i", 1u8);
            pins.set("fill_address_i", space + place + warp_of_sm);
            pins.set("fill_line_i", *line);
            pins.set("fill_value_i", value.clone());
        }
        let ports = self.netlist.modules[self.netlist.top.index()].ports.iter();
        let inputs = ports.filter(|port| port.direction == Direction::Input).map(|port| {
            let value = pins.get(&port.name).cloned().unwrap_or_default();
            self.engine.set_big(self.engine.input(&port.name).unwrap(), &value);
            value
        });
        self.stimuli.push(Stimulus { reset: false, inputs: inputs.collect() });
    }

    /// The request to L1; its warp is that of the SM.
    fn l1_request(&self) -> Request {
        let get = |name: &str| self.get(&format!("request_{name}_o")) as usize;
        let kind = match get("kind") {
            0 => RequestKind::Fetch,
            1 => RequestKind::Write,
            2 => RequestKind::Invalidate,
            _ => RequestKind::Drop,
        };
        let address = get("address");
        let warps_of_sm = COMPRESSOR.warps << index_bits(SHARDS);
        let register = address / warps_of_sm % (1 << COMPRESSOR.register_bits);
        let compressed = address >> (port().address_bits() - 1) == 1;
        let value = self.engine.get_big(self.engine.output("request_value_o").unwrap());
        let place = (compressed, register, address % warps_of_sm);
        Request { kind, place, line: get("line"), invalidates: get("invalidates") == 1, value }
    }

    fn fill_of(&self, s: usize) -> Option<Fill> {
        let output = |name: &str| format!("shard{s}_fill_{name}_o");
        let get = |name: &str| self.get(&output(name)) as usize;
        (get("valid") == 1).then(|| {
            let value = self.engine.get_big(self.engine.output(&output("value")).unwrap());
            Fill { place: (false, get("register"), get("warp")), line: get("line"), value }
        })
    }

    fn get(&self, output: &str) -> u64 {
        self.engine.get(self.engine.output(output).unwrap())
    }

    fn is_done(&self) -> bool {
        self.osus.iter().all(|osu| osu.is_idle() && osu.copies().is_empty())
    }
}

/// Random requests of all shards, then everything that has a copy is fetched.
fn run(seed: u64, mix: Mix, pace: Pace, cycles: usize) -> Bench {
    let mut bench = Bench::new(seed, mix, pace);
    for cycle in 0..cycles + PATIENCE {
        let think = if cycle < cycles { Osu::think } else { Osu::fetch_everything };
        bench.osus.iter_mut().for_each(think);
        bench.step();
        if cycle >= cycles && bench.is_done() {
            break;
        }
    }
    assert!(bench.is_done(), "what was asked for has not come");
    bench
}

proptest! {
    #![proptest_config(config(8))]
    #[test]
    fn every_shard_gets_back_what_it_wrote_last(
        seed in any::<u64>(), compressible in prop::sample::select(vec![20usize, 90]), ready in 30usize..100,
    ) {
        let mix = Mix { busy: 60, compressible, registers: 24 };
        let bench = run(seed, mix, Pace { ready, latency: 25 }, 500);
        prop_assert!(bench.data_passed > 20);
    }
}

#[test]
fn the_engines_and_the_verilog_of_all_shards_do_the_same() {
    let mix = Mix { busy: 80, compressible: 70, registers: 24 };
    let bench = run(11, mix, Pace { ready: 80, latency: 8 }, 150);
    verilog_equals_engines(&bench.netlist, Style::default(), 11, &bench.stimuli).unwrap();
}
