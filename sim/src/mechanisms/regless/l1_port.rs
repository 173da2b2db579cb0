//! The L1 port of an SM: one request a cycle, of a shard or of the loads and stores, and lines back to the shards.

use warpfile_engine::{AnyEngine, Engine, EngineError, InPort, OutPort};
use warpfile_hdl::regless::{L1Port, RequestKind};
use warpfile_hdl::rtl::index_bits;
use warpfile_kernels::program::{LANES, LaneValues};

use super::KINDS;
use crate::mechanisms::circuit::{Group, copy_lanes, words};
use crate::sm::design::{FilledLine, Line, LinePort, LineRequest, Offer};

/// Outputs that are asked for before L1 has said whether it takes what they offer.
pub(super) const FORESEEN: [&str; 6] = [
    "request_valid_o",
    "request_kind_o",
    "request_address_o",
    "request_line_o",
    "request_invalidates_o",
    "request_value_o",
];

/// Name of the circuit in waveforms and recordings.
pub(super) const CIRCUIT: &str = "l1_port";

/// The port with its ports.
pub(super) struct L1PortCircuit {
    engine: AnyEngine,
    layout: AddressLayout,
    shards: Vec<ShardSide>,
    data_valid: InPort,
    request: L1Request,
    fill: L1Fill,
    /// Whether the loads and stores ask for the port.
    data: bool,
    /// The register that is written to L1.
    written: LaneValues,
}

impl L1PortCircuit {
    /// A port of the given shape. Errors name a port that is not there.
    pub fn new(engine: AnyEngine, shape: &L1Port) -> Result<L1PortCircuit, EngineError> {
        Ok(L1PortCircuit {
            layout: AddressLayout::new(shape),
            shards: (0..shape.shards)
                .map(|shard| ShardSide::resolve(&engine, shard))
                .collect::<Result<_, _>>()?,
            data_valid: engine.input("data_valid_i")?,
            request: L1Request::resolve(&engine)?,
            fill: L1Fill::resolve(&engine)?,
            engine,
            data: false,
            written: [0; LANES],
        })
    }
}

impl LinePort for L1PortCircuit {
    fn set_request(&mut self, shard: usize, request: Option<&LineRequest<'_>>) {
        let (engine, ports) = (self.engine.state_mut(), &self.shards[shard].request);
        engine.set(ports.valid, u64::from(request.is_some()));
        let Some(request) = request else { return };
        let (kind, line) = match *request {
            LineRequest::Fetch { line, invalidates, tag } => {
                engine.set(ports.invalidates, u64::from(invalidates));
                engine.set(ports.line, u64::from(tag));
                (RequestKind::Fetch, line)
            }
            LineRequest::Write { line, values } => {
                engine.set_words(ports.value, &words(values));
                (RequestKind::Write, line)
            }
            LineRequest::Invalidate { line } => (RequestKind::Invalidate, line),
            LineRequest::Drop { warp } => (RequestKind::Drop, Line { compressed: false, warp, register: 0 }),
        };
        engine.set(ports.kind, kind as u64);
        engine.set(ports.compressed, u64::from(line.compressed));
        engine.set(ports.warp, line.warp as u64);
        engine.set(ports.register, line.register as u64);
    }

    fn set_data(&mut self, asks: bool) {
        self.data = asks;
        self.engine.set(self.data_valid, u64::from(asks));
    }

    fn set_fill(&mut self, filled: Option<&FilledLine>) {
        let (engine, ports) = (self.engine.state_mut(), &self.fill);
        engine.set(ports.valid, u64::from(filled.is_some()));
        let Some(filled) = filled else { return };
        engine.set(ports.address, self.layout.address(filled.line));
        engine.set(ports.line, u64::from(filled.tag));
        engine.set_words(ports.value, &words(&filled.values));
    }

    fn offer(&mut self) -> Option<Offer<'_>> {
        self.engine.foresee();
        let (engine, ports) = (self.engine.state(), &self.request);
        if engine.get(ports.valid) == 0 {
            return self.data.then_some(Offer::Data);
        }
        let line = self.layout.line(engine.get(ports.address));
        Some(Offer::Line(match KINDS[engine.get(ports.kind) as usize] {
            RequestKind::Fetch => LineRequest::Fetch {
                line,
                invalidates: engine.get(ports.invalidates) == 1,
                tag: engine.get(ports.line) as u16,
            },
            RequestKind::Write => {
                copy_lanes(engine.get_words(ports.value), &mut self.written);
                LineRequest::Write { line, values: &self.written }
            }
            RequestKind::Invalidate => LineRequest::Invalidate { line },
            RequestKind::Drop => LineRequest::Drop { warp: line.warp },
        }))
    }

    fn end_cycle(&mut self, taken: bool) {
        self.engine.set(self.request.ready, u64::from(taken));
        self.engine.step();
    }

    fn passes(&self, shard: usize) -> bool {
        let ports = &self.shards[shard].request;
        self.engine.get(ports.ready) == 1
    }

    fn filled(&self, shard: usize) -> Option<FilledLine> {
        let (engine, ports) = (self.engine.state(), &self.shards[shard].fill);
        if engine.get(ports.valid) == 0 {
            return None;
        }
        let mut values = [0; LANES];
        copy_lanes(engine.get_words(ports.value), &mut values);
        let line = Line {
            compressed: engine.get(ports.compressed) == 1,
            warp: engine.get(ports.warp) as usize,
            register: engine.get(ports.register) as usize,
        };
        Some(FilledLine { line, tag: engine.get(ports.line) as u16, values })
    }

    fn circuit(&self) -> Option<(&'static str, &dyn Engine)> {
        Some((CIRCUIT, &self.engine))
    }
}

/// Where space, register, warp and shard are in an address (§5.2.3).
struct AddressLayout {
    shards: usize,
    shard_bits: usize,
    warp_bits: usize,
    register_bits: usize,
}

impl AddressLayout {
    fn new(shape: &L1Port) -> AddressLayout {
        AddressLayout {
            shards: shape.shards,
            shard_bits: index_bits(shape.shards),
            warp_bits: index_bits(shape.warps),
            register_bits: shape.register_bits,
        }
    }

    /// The line of an address.
    fn line(&self, address: u64) -> Line {
        let field = |low: usize, bits: usize| address as usize >> low & ((1 << bits) - 1);
        let of_shard = field(self.shard_bits, self.warp_bits);
        Line {
            compressed: field(self.shard_bits + self.warp_bits + self.register_bits, 1) == 1,
            warp: of_shard * self.shards + field(0, self.shard_bits),
            register: field(self.shard_bits + self.warp_bits, self.register_bits),
        }
    }

    /// The address of a line.
    fn address(&self, line: Line) -> u64 {
        let (warp, shard) = (line.warp / self.shards, line.warp % self.shards);
        let register = usize::from(line.compressed) << self.register_bits | line.register;
        ((register << self.warp_bits | warp) << self.shard_bits | shard) as u64
    }
}

/// What a shard asks for.
struct ShardRequest {
    valid: InPort,
    ready: OutPort,
    kind: InPort,
    compressed: InPort,
    warp: InPort,
    register: InPort,
    line: InPort,
    invalidates: InPort,
    value: InPort,
}

/// A line for a shard.
struct ShardFill {
    valid: OutPort,
    compressed: OutPort,
    warp: OutPort,
    register: OutPort,
    line: OutPort,
    value: OutPort,
}

/// What the port sees of a shard.
struct ShardSide {
    request: ShardRequest,
    fill: ShardFill,
}

impl ShardSide {
    fn resolve(engine: &dyn Engine, shard: usize) -> Result<ShardSide, EngineError> {
        let request = Group::new(engine, &format!("shard{shard}_request"));
        let fill = Group::new(engine, &format!("shard{shard}_fill"));
        Ok(ShardSide {
            request: ShardRequest {
                valid: request.input("valid_i")?,
                ready: request.output("ready_o")?,
                kind: request.input("kind_i")?,
                compressed: request.input("compressed_i")?,
                warp: request.input("warp_i")?,
                register: request.input("register_i")?,
                line: request.input("line_i")?,
                invalidates: request.input("invalidates_i")?,
                value: request.input("value_i")?,
            },
            fill: ShardFill {
                valid: fill.output("valid_o")?,
                compressed: fill.output("compressed_o")?,
                warp: fill.output("warp_o")?,
                register: fill.output("register_o")?,
                line: fill.output("line_o")?,
                value: fill.output("value_o")?,
            },
        })
    }
}

/// What L1 is offered.
struct L1Request {
    valid: OutPort,
    ready: InPort,
    kind: OutPort,
    address: OutPort,
    line: OutPort,
    invalidates: OutPort,
    value: OutPort,
}

impl L1Request {
    fn resolve(engine: &dyn Engine) -> Result<L1Request, EngineError> {
        let request = Group::new(engine, "request");
        Ok(L1Request {
            valid: request.output("valid_o")?,
            ready: request.input("ready_i")?,
            kind: request.output("kind_o")?,
            address: request.output("address_o")?,
            line: request.output("line_o")?,
            invalidates: request.output("invalidates_o")?,
            value: request.output("value_o")?,
        })
    }
}

/// A line from L1.
struct L1Fill {
    valid: InPort,
    address: InPort,
    line: InPort,
    value: InPort,
}

impl L1Fill {
    fn resolve(engine: &dyn Engine) -> Result<L1Fill, EngineError> {
        let fill = Group::new(engine, "fill");
        Ok(L1Fill {
            valid: fill.input("valid_i")?,
            address: fill.input("address_i")?,
            line: fill.input("line_i")?,
            value: fill.input("value_i")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again_by_its_address() {
        for shards in 1..=5 {
            let shape = L1Port { shards, warps: 8, register_bits: 4, osu_lines: 16, lanes: LANES };
            let layout = AddressLayout::new(&shape);
            for warp in 0..8 * shards {
                for (compressed, register) in [(false, 0), (false, 15), (true, 7)] {
                    let line = Line { compressed, warp, register };
                    let address = layout.address(line);
                    assert!(address >> shape.address_bits() == 0);
                    assert_eq!(layout.line(address), line);
                }
            }
        }
    }
}
