//! Writing a recording.

use std::io::{self, Write};

use warpfile_hdl::rtl::netlist::Direction;

use super::{CYCLES, MAGIC, RESET, RecordedPort, RecordingError, RecordingHeader, VERSION};
use crate::{Engine, EngineError, OutPort};

/// Writes the ports of one circuit to `W`, cycle by cycle.
pub struct PortRecorder<W: Write> {
    output: W,
    ports: Vec<RecordedPort>,
    values: Vec<OutPort>,
    /// Cycles that may still be recorded.
    cycles_left: u64,
    /// Values of the cycle before, all ports one after the other.
    last: Vec<u64>,
    /// Of every port, whether it changed in this cycle.
    changed: Vec<bool>,
    /// Cycles without a change that are not written yet.
    unchanged: u64,
    /// One cycle, coded.
    buffer: Vec<u8>,
}

impl<W: Write> PortRecorder<W> {
    /// Writes the header. `path` leads from the engine's outermost circuit to the one recorded (empty for the
    /// outermost); the engine must observe it ([`Observe::Scopes`](crate::Observe::Scopes)) unless it is the outermost.
    /// `name` is the path that the header gives. At most `cycles` are recorded.
    pub fn new(
        engine: &dyn Engine,
        path: &str,
        name: &str,
        cycles: u64,
        mut output: W,
    ) -> Result<PortRecorder<W>, RecordingError> {
        let plan = engine.state().plan();
        let scope = plan.scopes.iter().find(|scope| scope.path == path).ok_or_else(|| {
            let paths = plan.scopes.iter().map(|scope| scope.path.as_str());
            EngineError::unknown("circuit", path, &plan.circuit, paths.filter(|path| !path.is_empty()))
        })?;
        let reset = RecordedPort { name: RESET.to_owned(), direction: Direction::Input, width: 1 };
        let mut ports = vec![reset];
        let mut values = Vec::new();
        for port in &scope.ports {
            let path = if path.is_empty() { port.name.clone() } else { format!("{path}.{}", port.name) };
            values.push(engine.probe(&path)?);
            let (name, direction, width) = (port.name.clone(), port.direction, port.width);
            ports.push(RecordedPort { name, direction, width });
        }
        let header = RecordingHeader { circuit: scope.module.clone(), path: name.to_owned(), ports };
        output.write_all(text(&header).as_bytes())?;
        let words = header.ports.iter().map(RecordedPort::words).sum();
        let bytes: usize = header.ports.iter().map(RecordedPort::bytes).sum();
        Ok(PortRecorder {
            output,
            values,
            cycles_left: cycles,
            last: vec![0; words],
            changed: vec![false; header.ports.len()],
            unchanged: 0,
            buffer: Vec::with_capacity(bytes + 10 * (header.ports.len() + 1)),
            ports: header.ports,
        })
    }

    /// Writes the cycle just stepped.
    pub fn record(&mut self, engine: &dyn Engine) -> io::Result<()> {
        if self.cycles_left == 0 {
            return Ok(());
        }
        self.cycles_left -= 1;
        let changes = self.take(engine);
        if changes == 0 {
            self.unchanged += 1;
            return Ok(());
        }
        self.buffer.clear();
        if self.unchanged > 0 {
            put_number(&mut self.buffer, 0);
            put_number(&mut self.buffer, self.unchanged);
            self.unchanged = 0;
        }
        put_number(&mut self.buffer, changes);
        let (mut offset, mut skipped) = (0, 0);
        for (port, &changed) in self.ports.iter().zip(&self.changed) {
            if changed {
                put_number(&mut self.buffer, skipped);
                put_value(&mut self.buffer, &self.last[offset..], port.bytes());
                skipped = 0;
            } else {
                skipped += 1;
            }
            offset += port.words();
        }
        self.output.write_all(&self.buffer)
    }

    /// Ends the recording and flushes it.
    pub fn finish(mut self) -> io::Result<()> {
        self.buffer.clear();
        if self.unchanged > 0 {
            put_number(&mut self.buffer, 0);
            put_number(&mut self.buffer, self.unchanged);
        }
        self.buffer.extend([0, 0]);
        self.output.write_all(&self.buffer)?;
        self.output.flush()
    }

    /// Takes over the values of the cycle; how many ports changed.
    fn take(&mut self, engine: &dyn Engine) -> u64 {
        let reset = [u64::from(engine.state().is_reset())];
        let words =
            std::iter::once(&reset[..]).chain(self.values.iter().map(|&value| engine.get_words(value)));
        let (mut offset, mut changes) = (0, 0);
        for (changed, words) in self.changed.iter_mut().zip(words) {
            let before = &mut self.last[offset..][..words.len()];
            *changed = before != words;
            if *changed {
                before.copy_from_slice(words);
                changes += 1;
            }
            offset += words.len();
        }
        changes
    }
}

/// The lines before the cycles.
fn text(header: &RecordingHeader) -> String {
    let mut text = format!("{MAGIC}{VERSION}\ncircuit {}\npath {}\n", header.circuit, header.path);
    for port in &header.ports {
        let direction = match port.direction {
            Direction::Input => "input",
            Direction::Output => "output",
        };
        text += &format!("{direction} {} {}\n", port.width, port.name);
    }
    text + CYCLES + "\n"
}

fn put_number(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn put_value(into: &mut Vec<u8>, words: &[u64], bytes: usize) {
    into.extend((0..bytes).map(|byte| (words[byte / 8] >> (8 * (byte % 8))) as u8));
}
