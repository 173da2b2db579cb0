//! Reference of the L1 port: turns and addresses. Written from §5.2.3 and the contract, not from the circuit.

use num_bigint::BigUint;
use proptest::prelude::*;
use warpfile_hdl::regless::L1Port;
use warpfile_hdl::rtl::index_bits;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

const PORT: L1Port = L1Port { shards: 3, warps: 4, register_bits: 3, osu_lines: 6, lanes: 2 };

/// A request or a line as it travels.
#[derive(Clone, Debug)]
struct Line {
    shard: usize,
    compressed: bool,
    warp: usize,
    register: usize,
    line: usize,
    value: u64,
}

#[derive(Clone, Debug)]
struct Request {
    line: Line,
    kind: u8,
    invalidates: bool,
}

#[derive(Clone, Debug)]
struct Cycle {
    /// What a shard asks for from now on if it asks for nothing.
    requests: Vec<Option<Request>>,
    data: bool,
    ready: bool,
    fill: Option<Line>,
}

/// Who asks for the port: the shards in order, then the data.
#[derive(Clone, Default)]
struct Turns {
    asking: Vec<Option<Request>>,
    data: bool,
    /// Who had the port last.
    last: Option<usize>,
    /// Who has been offered to L1 and not taken.
    offered: Option<usize>,
}

/// Lines of one space.
fn space() -> usize {
    (index_range(PORT.shards) * index_range(PORT.warps)) << PORT.register_bits
}

/// Numbers that an index of `n` has bits for.
fn index_range(n: usize) -> usize {
    1 << index_bits(n)
}

/// All warps' R0, then all warps' R1; compressed lines behind the registers. Warps of the SM are dealt to the shards
/// in turn.
fn address(line: &Line) -> usize {
    let warp_of_sm = line.warp * index_range(PORT.shards) + line.shard;
    let within = line.register * index_range(PORT.warps) * index_range(PORT.shards) + warp_of_sm;
    if line.compressed { space() + within } else { within }
}

impl Turns {
    fn after(&self, cycle: &Cycle) -> Turns {
        let mut next = self.clone();
        next.asking.resize(PORT.shards, None);
        for (asking, new) in next.asking.iter_mut().zip(&cycle.requests) {
            *asking = asking.take().or(new.clone());
        }
        next.data |= cycle.data;
        next
    }

    fn asks(&self, who: usize) -> bool {
        if who == PORT.shards { self.data } else { self.asking[who].is_some() }
    }

    /// Who has the port: whoever has been offered, else the first behind the last one.
    fn granted(&self) -> Option<usize> {
        let all = PORT.shards + 1;
        let first = self.last.map_or(0, |last| last + 1);
        let mut in_turn = (0..all).map(|i| (first + i) % all);
        self.offered.or_else(|| in_turn.find(|&who| self.asks(who)))
    }
}

impl Reference for Turns {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        let now = self.after(cycle);
        for (s, request) in now.asking.iter().enumerate() {
            let Some(Request { line, kind, invalidates }) = request else { continue };
            let mut set = |name: &str, value: u64| inputs.set(&format!("shard{s}_request_{name}_i"), value);
            set("valid", 1);
            set("kind", u64::from(*kind));
            set("compressed", u64::from(line.compressed));
            set("warp", line.warp as u64);
            set("register", line.register as u64);
            set("line", line.line as u64);
            set("invalidates", u64::from(*invalidates));
            set("value", line.value);
        }
        inputs.set("data_valid_i", u8::from(now.data));
        inputs.set("request_ready_i", u8::from(cycle.ready));
        if let Some(fill) = &cycle.fill {
            inputs.set("fill_valid_i", 1u8);
            inputs.set("fill_address_i", address(fill));
            inputs.set("fill_line_i", fill.line);
            inputs.set("fill_value_i", fill.value);
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        *self = self.after(cycle);
        let granted = self.granted();
        for s in 0..PORT.shards {
            outputs.set(&format!("shard{s}_request_ready_o"), u8::from(granted == Some(s) && cycle.ready));
            let fill = cycle.fill.as_ref().filter(|fill| fill.shard == s);
            outputs.set(&format!("shard{s}_fill_valid_o"), u8::from(fill.is_some()));
            if let Some(fill) = fill {
                let mut set = |name: &str, value: u64| outputs.set(&format!("shard{s}_fill_{name}_o"), value);
                set("compressed", u64::from(fill.compressed));
                set("warp", fill.warp as u64);
                set("register", fill.register as u64);
                set("line", fill.line as u64);
                set("value", fill.value);
            }
        }
        outputs.set("data_ready_o", u8::from(granted == Some(PORT.shards) && cycle.ready));
        let request = granted.and_then(|who| self.asking.get(who).cloned().flatten());
        outputs.set("request_valid_o", u8::from(request.is_some()));
        if let Some(Request { line, kind, invalidates }) = request {
            outputs.set("request_kind_o", kind);
            outputs.set("request_address_o", address(&line));
            outputs.set("request_line_o", line.line);
            outputs.set("request_invalidates_o", u8::from(invalidates));
            outputs.set("request_value_o", BigUint::from(line.value));
        }
        self.offered = granted.filter(|_| !cycle.ready);
        if let Some(who) = granted.filter(|_| cycle.ready) {
            self.last = Some(who);
            match self.asking.get_mut(who) {
                Some(request) => *request = None,
                None => self.data = false,
            }
        }
    }
}

fn line() -> impl Strategy<Value = Line> {
    let place = (0..PORT.shards, any::<bool>(), 0..PORT.warps, 0..1usize << PORT.register_bits);
    (place, 0..PORT.osu_lines, any::<u64>()).prop_map(|((shard, compressed, warp, register), line, value)| {
        Line { shard, compressed, warp, register, line, value }
    })
}

fn cycle() -> impl Strategy<Value = Cycle> {
    let request = (line(), 0u8..4, any::<bool>()).prop_map(|(line, kind, invalidates)| Request {
        line,
        kind,
        invalidates,
    });
    let requests = prop::collection::vec(prop::option::of(request), PORT.shards);
    (requests, any::<bool>(), prop::bool::weighted(0.7), prop::option::of(line())).prop_map(
        |(mut requests, data, ready, fill)| {
            for (s, request) in requests.iter_mut().enumerate() {
                if let Some(request) = request {
                    request.line.shard = s;
                }
            }
            Cycle { requests, data, ready, fill }
        },
    )
}

fn check(how: Lockstep, cycles: &[Cycle]) -> Result<(), TestCaseError> {
    let turns = Turns { asking: vec![None; PORT.shards], ..Turns::default() };
    let result = how.run(&elaborate(&PORT).unwrap(), &turns, cycles);
    result.map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(32))]
    #[test]
    fn every_request_passes_in_its_turn_under_its_address(cycles in prop::collection::vec(cycle(), 1..80)) {
        check(Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(3))]
    #[test]
    fn the_verilog_of_the_port_does_the_same(cycles in prop::collection::vec(cycle(), 40..60)) {
        check(Lockstep::with_verilog(), &cycles)?;
    }
}

#[test]
fn no_two_lines_have_one_address() {
    let mut seen = std::collections::BTreeSet::new();
    for shard in 0..PORT.shards {
        for (compressed, warp) in [false, true].into_iter().flat_map(|c| (0..PORT.warps).map(move |w| (c, w)))
        {
            for register in 0..1 << PORT.register_bits {
                let line = Line { shard, compressed, warp, register, line: 0, value: 0 };
                assert!(seen.insert(address(&line)), "{line:?}");
            }
        }
    }
    assert!(seen.last().is_some_and(|&last| last < 1 << PORT.address_bits()));
}
