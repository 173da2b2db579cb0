//! The L1 port of an SM: one request a cycle, of a shard or of the loads and stores, and lines back to the shards.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::regless::{L1Port, RequestKind};
use warpfile_hdl::rtl::index_bits;
use warpfile_kernels::program::{LANES, LaneValues};

use crate::mechanisms::circuit::{copy_lanes, words};
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
    ports: CircuitPorts<L1Port>,
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
            ports: engine.ports(shape)?,
            engine,
            data: false,
            written: [0; LANES],
        })
    }
}

impl LinePort for L1PortCircuit {
    fn set_request(&mut self, shard: usize, request: Option<&LineRequest<'_>>) {
        let (engine, ports) = (self.engine.state_mut(), &self.ports.shard[shard].request);
        engine.set(ports.valid_i, u64::from(request.is_some()));
        let Some(request) = request else { return };
        let (kind, line) = match *request {
            LineRequest::Fetch { line, invalidates, tag } => {
                engine.set(ports.invalidates_i, u64::from(invalidates));
                engine.set(ports.line_i, u64::from(tag));
                (RequestKind::Fetch, line)
            }
            LineRequest::Write { line, values } => {
                engine.set_words(ports.value_i, &words(values));
                (RequestKind::Write, line)
            }
            LineRequest::Invalidate { line } => (RequestKind::Invalidate, line),
            LineRequest::Drop { warp } => (RequestKind::Drop, Line { compressed: false, warp, register: 0 }),
        };
        engine.set(ports.kind_i, kind.code());
        engine.set(ports.compressed_i, u64::from(line.compressed));
        engine.set(ports.warp_i, line.warp as u64);
        engine.set(ports.register_i, line.register as u64);
    }

    fn set_data(&mut self, asks: bool) {
        self.data = asks;
        self.engine.set(self.ports.data_valid_i, u64::from(asks));
    }

    fn set_fill(&mut self, filled: Option<&FilledLine>) {
        let (engine, ports) = (self.engine.state_mut(), &self.ports.fill);
        engine.set(ports.valid_i, u64::from(filled.is_some()));
        let Some(filled) = filled else { return };
        engine.set(ports.address_i, self.layout.address(filled.line));
        engine.set(ports.line_i, u64::from(filled.tag));
        engine.set_words(ports.value_i, &words(&filled.values));
    }

    fn offer(&mut self) -> Option<Offer<'_>> {
        self.engine.foresee();
        let (engine, ports) = (self.engine.state(), &self.ports.request);
        if engine.get(ports.valid_o) == 0 {
            return self.data.then_some(Offer::Data);
        }
        let line = self.layout.line(engine.get(ports.address_o));
        Some(Offer::Line(match RequestKind::ALL[engine.get(ports.kind_o) as usize] {
            RequestKind::Fetch => LineRequest::Fetch {
                line,
                invalidates: engine.get(ports.invalidates_o) == 1,
                tag: engine.get(ports.line_o) as u16,
            },
            RequestKind::Write => {
                copy_lanes(engine.get_words(ports.value_o), &mut self.written);
                LineRequest::Write { line, values: &self.written }
            }
            RequestKind::Invalidate => LineRequest::Invalidate { line },
            RequestKind::Drop => LineRequest::Drop { warp: line.warp },
        }))
    }

    fn end_cycle(&mut self, taken: bool) {
        self.engine.set(self.ports.request.ready_i, u64::from(taken));
        self.engine.step();
    }

    fn passes(&self, shard: usize) -> bool {
        self.engine.get(self.ports.shard[shard].request.ready_o) == 1
    }

    fn filled(&self, shard: usize) -> Option<FilledLine> {
        let (engine, ports) = (self.engine.state(), &self.ports.shard[shard].fill);
        if engine.get(ports.valid_o) == 0 {
            return None;
        }
        let mut values = [0; LANES];
        copy_lanes(engine.get_words(ports.value_o), &mut values);
        let line = Line {
            compressed: engine.get(ports.compressed_o) == 1,
            warp: engine.get(ports.warp_o) as usize,
            register: engine.get(ports.register_o) as usize,
        };
        Some(FilledLine { line, tag: engine.get(ports.line_o) as u16, values })
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
