//! The compressor on the engine between requests and memory, followed by its reference.

use num_bigint::BigUint;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regless::{Compressor, RequestKind};
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_testbenches::lockstep::Pins;
use warpfile_testbenches::mutation::elaborate;
use warpfile_testbenches::testbench::Stimulus;

use super::compressor_ref::CompressorReference;
use super::memory::{Fill, Memory, Place, Request};

pub struct Bench {
    pub netlist: Netlist,
    engine: Interpreter,
    pub reference: CompressorReference,
    pub memory: Memory,
    /// A request that memory has been offered and has not taken.
    offered: Option<Request>,
    /// What the circuit was given.
    pub stimuli: Vec<Stimulus>,
    pub counts: Counts,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: usize,
    pub lines_written: usize,
    pub lines_fetched: usize,
    pub hits: usize,
    pub misses: usize,
}

/// What a cycle showed.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    pub taken: bool,
    /// The request offered to memory.
    pub request: Option<Request>,
    /// The line for the operand staging unit.
    pub fill: Option<Fill>,
}

impl Bench {
    pub fn new(parameters: &Compressor, memory: Memory, seed: u64) -> Bench {
        let netlist = elaborate(parameters).unwrap();
        let engine = Interpreter::new(&netlist, &Options { seed, ..Options::checked() }).unwrap();
        let reference = CompressorReference::new(parameters);
        let (offered, stimuli, counts) = (None, Vec::new(), Counts::default());
        Bench { netlist, engine, reference, memory, offered, stimuli, counts }
    }

    /// A cycle in which `offer` is offered; everything that happens is compared with the reference.
    pub fn step(&mut self, offer: Option<&Request>) -> Outputs {
        let (ready, fill) = self.memory.cycle();
        self.drive(offer, ready, fill.as_ref());
        self.engine.step();
        assert_eq!(self.engine.violation(), None);

        let taken = offer.filter(|_| self.is_set("osu_request_ready_o"));
        if let Some(request) = taken {
            self.reference.take(request);
        }
        let request = self.is_set("memory_request_valid_o").then(|| self.memory_request());
        if let Some(request) = &request {
            self.check_request(request, ready);
        }
        let outputs = Outputs { taken: taken.is_some(), request, fill: self.osu_fill() };
        self.check_fill(outputs.fill.as_ref(), fill.filter(|fill| !fill.place.0));
        self.check_events();
        outputs
    }

    fn drive(&mut self, offer: Option<&Request>, ready: bool, fill: Option<&Fill>) {
        let mut pins = Pins::default();
        if let Some(request) = offer {
            let (_, register, warp) = request.place;
            pins.set("osu_request_valid_i", 1u8);
            pins.set("osu_request_kind_i", request.kind as u8);
            pins.set("osu_request_warp_i", warp);
            pins.set("osu_request_register_i", register);
            pins.set("osu_request_line_i", request.line);
            pins.set("osu_request_invalidates_i", u8::from(request.invalidates));
            pins.set("osu_request_value_i", request.value.clone());
        }
        pins.set("memory_request_ready_i", u8::from(ready));
        // A kind without a line says nothing.
        pins.set("memory_fill_compressed_i", 1u8);
        if let Some(Fill { place: (compressed, register, warp), line, value }) = fill {
            pins.set("memory_fill_valid_i", 1u8);
            pins.set("memory_fill_compressed_i", u8::from(*compressed));
            pins.set("memory_fill_warp_i", *warp);
            pins.set("memory_fill_register_i", *register);
            pins.set("memory_fill_line_i", *line);
            pins.set("memory_fill_value_i", value.clone());
        }
        let ports = self.netlist.modules[self.netlist.top.index()].ports.iter();
        let inputs = ports.filter(|port| port.direction == Direction::Input).map(|port| {
            let value = pins.get(&port.name).cloned().unwrap_or_default();
            self.engine.set_big(self.engine.input(&port.name).unwrap(), &value);
            value
        });
        self.stimuli.push(Stimulus { reset: false, inputs: inputs.collect() });
    }

    /// Memory sees the requests that pass in their order, and those for lines in theirs; one that it does not take
    /// stays as it is.
    fn check_request(&mut self, request: &Request, ready: bool) {
        if let Some(offered) = &self.offered {
            assert_eq!(offered, request, "a request that was not taken has changed");
        }
        self.offered = (!ready).then(|| request.clone());
        if !ready {
            return;
        }
        let expected = &mut self.reference.expected;
        let next = if request.place.0 { expected.of_lines.pop_front() } else { expected.passed.pop_front() };
        assert_eq!(next.as_ref(), Some(request));
        self.memory.take(request);
        let counts = &mut self.counts;
        match (request.place.0, request.kind) {
            (true, RequestKind::Write) => counts.lines_written += 1,
            (true, _) => counts.lines_fetched += 1,
            (false, _) => counts.passed += 1,
        }
    }

    /// A line that is not compressed passes in its cycle; otherwise the next register is answered.
    fn check_fill(&mut self, found: Option<&Fill>, passes: Option<Fill>) {
        match (found, passes) {
            (found, Some(passes)) => assert_eq!(found, Some(&passes)),
            (Some(found), None) => {
                let next = self.reference.expected.answers.pop_front();
                assert_eq!(next.as_ref(), Some(found));
            }
            (None, None) => {}
        }
    }

    /// Registers are read in their order, and what is said of their lines is true.
    fn check_events(&mut self) {
        let (hit, miss) = (self.is_set("hit_o"), self.is_set("miss_o"));
        if hit || miss {
            let fetched = self.reference.expected.reads.pop_front().expect("a register that is asked for");
            assert_eq!((hit, miss), (!fetched, fetched));
        }
        self.counts.hits += usize::from(hit);
        self.counts.misses += usize::from(miss);
    }

    fn memory_request(&self) -> Request {
        let get = |name: &str| self.get(&format!("memory_request_{name}_o"));
        let kind = match get("kind") {
            0 => RequestKind::Fetch,
            1 => RequestKind::Write,
            2 => RequestKind::Invalidate,
            _ => RequestKind::Drop,
        };
        let value = match kind {
            RequestKind::Write => self.get_big("memory_request_value_o"),
            RequestKind::Fetch | RequestKind::Invalidate | RequestKind::Drop => BigUint::ZERO,
        };
        let place = (get("compressed") == 1, get("register") as usize, get("warp") as usize);
        Request { kind, place, line: get("line") as usize, invalidates: get("invalidates") == 1, value }
    }

    fn osu_fill(&self) -> Option<Fill> {
        let get = |name: &str| self.get(&format!("osu_fill_{name}_o")) as usize;
        self.is_set("osu_fill_valid_o").then(|| {
            let place: Place = (false, get("register"), get("warp"));
            Fill { place, line: get("line"), value: self.get_big("osu_fill_value_o") }
        })
    }

    fn is_set(&self, output: &str) -> bool {
        self.get(output) == 1
    }

    fn get(&self, output: &str) -> u64 {
        self.engine.get(self.engine.output(output).unwrap())
    }

    fn get_big(&self, output: &str) -> BigUint {
        self.engine.get_big(self.engine.output(output).unwrap())
    }
}
