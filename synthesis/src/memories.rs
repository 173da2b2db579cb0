//! Memories beside gates: their rows, and how often they are used.

use crate::gates::{MemoryGate, Net};
use crate::sram::Memory;

/// How often a memory was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Reads.
    pub reads: u64,
    /// Writes of any lane.
    pub writes: u64,
}

/// A memory's rows and ports. Rows begin as 0.
pub struct MemoryState {
    rows: Vec<Vec<bool>>,
    reads: Vec<ReadPort>,
    writes: Vec<WritePort>,
    lane_bits: usize,
    uses: MemoryUse,
}

struct ReadPort {
    row: Vec<Net>,
    enable: Net,
    value: Vec<Net>,
    captured: Vec<bool>,
    /// Whether what is captured changed at the last edge.
    is_new: bool,
}

struct WritePort {
    row: Vec<Net>,
    enable: Net,
    /// Lanes that are written; all if empty.
    lanes: Vec<Net>,
    value: Vec<Net>,
}

impl MemoryState {
    /// A memory of a circuit.
    pub fn new(gate: &MemoryGate, memory: &Memory) -> MemoryState {
        let nets = |port: String| gate.pins.get(&port).cloned().unwrap_or_default();
        let enable =
            |port: String| gate.pins.get(&port).and_then(|nets| nets.first()).copied().unwrap_or_default();
        let reads = (0..memory.reads).map(|port| ReadPort {
            row: nets(format!("read{port}_row_i")),
            enable: enable(format!("read{port}_enable_i")),
            value: nets(format!("read{port}_value_o")),
            captured: vec![false; memory.bits as usize],
            is_new: false,
        });
        let writes = (0..memory.writes.len()).map(|port| WritePort {
            row: nets(format!("write{port}_row_i")),
            enable: enable(format!("write{port}_enable_i")),
            lanes: nets(format!("write{port}_lanes_i")),
            value: nets(format!("write{port}_value_i")),
        });
        MemoryState {
            rows: vec![vec![false; memory.bits as usize]; memory.rows as usize],
            reads: reads.collect(),
            writes: writes.collect(),
            lane_bits: (memory.bits / memory.lanes) as usize,
            uses: MemoryUse::default(),
        }
    }

    /// The clock edge: reads see the rows before the writes, of two writes to a row the later port wins. A row that
    /// there is not reads as 0 and is not written.
    pub fn edge(&mut self, values: &[bool]) {
        let is = |net: Net| values[net as usize];
        let number = |nets: &[Net]| nets.iter().rev().fold(0, |row, &net| row << 1 | usize::from(is(net)));
        for port in &mut self.reads {
            port.is_new = is(port.enable);
            if !port.is_new {
                continue;
            }
            match self.rows.get(number(&port.row)) {
                Some(row) => port.captured.copy_from_slice(row),
                None => port.captured.fill(false),
            }
            self.uses.reads += 1;
        }
        for port in self.writes.iter().filter(|port| is(port.enable)) {
            let writes = |lane: usize| port.lanes.get(lane).is_none_or(|&net| is(net));
            self.uses.writes += u64::from(port.lanes.is_empty() || port.lanes.iter().any(|&lane| is(lane)));
            let Some(row) = self.rows.get_mut(number(&port.row)) else { continue };
            for (bit, (stored, &net)) in row.iter_mut().zip(&port.value).enumerate() {
                if writes(bit / self.lane_bits) {
                    *stored = is(net);
                }
            }
        }
    }

    /// What ports show that captured a row at the last edge.
    pub fn shown(&self) -> impl Iterator<Item = (Net, bool)> + '_ {
        let new = self.reads.iter().filter(|port| port.is_new);
        new.flat_map(|port| port.value.iter().copied().zip(port.captured.iter().copied()))
    }

    /// How often it was used.
    pub fn uses(&self) -> &MemoryUse {
        &self.uses
    }

    /// Begins to count again.
    pub fn forget_uses(&mut self) {
        self.uses = MemoryUse::default();
    }
}
