//! Reading and playing a recording.

use std::io::{self, BufRead, Read};

use num_bigint::BigUint;
use warpfile_hdl::rtl::netlist::Direction;

use super::{CYCLES, MAGIC, RESET, RecordedPort, RecordingError, RecordingHeader, VERSION};
use crate::Engine;

/// Longest line of a header that is read, in bytes.
const LONGEST_LINE: u64 = 4096;
/// Widest port that is read, in bits.
const WIDEST: u32 = 1 << 20;
/// Most ports that are read.
const MOST_PORTS: usize = 1 << 16;

/// A recording being read from `R`, one cycle at a time.
pub struct Recording<R: BufRead> {
    input: R,
    header: RecordingHeader,
    /// Of every port, its first word among the values.
    offsets: Vec<usize>,
    /// Values of the present cycle.
    values: Vec<u64>,
    /// Cycles to come that are as the present one.
    unchanged: u64,
    cycle: u64,
    ended: bool,
}

impl<R: BufRead> Recording<R> {
    /// Reads the header.
    pub fn new(mut input: R) -> Result<Recording<R>, RecordingError> {
        let header = header(&mut input)?;
        let mut offsets = Vec::with_capacity(header.ports.len());
        let mut words = 0;
        for port in &header.ports {
            offsets.push(words);
            words += port.words();
        }
        let values = vec![0; words];
        Ok(Recording { input, header, offsets, values, unchanged: 0, cycle: 0, ended: false })
    }

    /// What was recorded.
    pub fn header(&self) -> &RecordingHeader {
        &self.header
    }

    /// Reads the next cycle; false at the end.
    pub fn next_cycle(&mut self) -> Result<bool, RecordingError> {
        if self.unchanged == 0 && !self.ended {
            match self.number()? {
                0 => {
                    self.unchanged = self.number()?;
                    self.ended = self.unchanged == 0;
                }
                changes => {
                    self.changes(changes)?;
                    self.unchanged = 1;
                }
            }
        }
        if self.ended {
            return Ok(false);
        }
        self.unchanged -= 1;
        self.cycle += 1;
        Ok(true)
    }

    /// Whether the circuit is under reset in the present cycle.
    pub fn is_reset(&self) -> bool {
        self.values[0] == 1
    }

    /// Value of a port in the present cycle, lowest word first; `port` is its index in [`RecordingHeader::ports`].
    pub fn words(&self, port: usize) -> &[u64] {
        &self.values[self.offsets[port]..][..self.header.ports[port].words()]
    }

    /// Value of a port in the present cycle.
    pub fn value(&self, port: usize) -> BigUint {
        let halves = self.words(port).iter().flat_map(|&word| [word as u32, (word >> 32) as u32]);
        BigUint::new(halves.collect())
    }

    /// Drives an engine of the recorded circuit through the cycles that are left, and shows it after each. How many they
    /// were.
    ///
    /// # Errors
    /// The engine is of another circuit, or the file ends early or is damaged.
    pub fn replay<E: Engine + ?Sized>(
        mut self,
        engine: &mut E,
        mut each: impl FnMut(&mut E),
    ) -> Result<u64, RecordingError> {
        let played = &engine.state().plan().circuit;
        if *played != self.header.circuit {
            let (recorded, played) = (self.header.circuit.clone(), played.clone());
            return Err(RecordingError::OtherCircuit { recorded, played });
        }
        let inputs = self.header.inputs().map(|(index, port)| Ok((index, engine.input(&port.name)?)));
        let inputs: Vec<_> = inputs.collect::<Result<_, RecordingError>>()?;
        let mut cycles = 0;
        while self.next_cycle()? {
            engine.set_reset(self.is_reset());
            for &(index, port) in &inputs {
                engine.set_words(port, self.words(index));
            }
            engine.step();
            each(engine);
            cycles += 1;
        }
        Ok(cycles)
    }

    fn changes(&mut self, count: u64) -> Result<(), RecordingError> {
        let mut next = 0u64;
        for _ in 0..count {
            let port = next.saturating_add(self.number()?);
            let index = usize::try_from(port).ok().filter(|&index| index < self.header.ports.len());
            let Some(index) = index else { return Err(self.damaged("a port that there is not")) };
            self.read_value(index)?;
            next = port + 1;
        }
        Ok(())
    }

    fn read_value(&mut self, port: usize) -> Result<(), RecordingError> {
        let (offset, words) = (self.offsets[port], self.header.ports[port].words());
        let (bytes, width) = (self.header.ports[port].bytes(), self.header.ports[port].width);
        for index in 0..words {
            let mut word = [0; 8];
            let here = (bytes - 8 * index).min(8);
            self.fill(&mut word[..here])?;
            self.values[offset + index] = u64::from_le_bytes(word);
        }
        let above = width % 64;
        if above != 0 && self.values[offset + words - 1] >> above != 0 {
            return Err(self.damaged("a value with more bits than its port"));
        }
        Ok(())
    }

    fn number(&mut self) -> Result<u64, RecordingError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.fill(&mut byte)?;
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(number);
            }
        }
        Err(self.damaged("a number of more than 64 bits"))
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), RecordingError> {
        self.input.read_exact(into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("the file ends here"),
            _ => RecordingError::Io(error),
        })
    }

    fn damaged(&self, problem: &'static str) -> RecordingError {
        RecordingError::Damaged { cycle: self.cycle, problem }
    }
}

fn header(input: &mut impl BufRead) -> Result<RecordingHeader, RecordingError> {
    let first = line(input)?;
    if first != format!("{MAGIC}{VERSION}") {
        return Err(RecordingError::NotARecording { found: first.chars().take(40).collect() });
    }
    let circuit = named(input, 2, "circuit ", "`circuit` and its name")?;
    let path = named(input, 3, "path ", "`path` and where the circuit is")?;
    let mut ports = Vec::new();
    loop {
        let text = line(input)?;
        if text == CYCLES && !ports.is_empty() {
            return Ok(RecordingHeader { circuit, path, ports });
        }
        let port = port(&text).filter(|port| ports.is_empty() == (port.name == RESET));
        match port.filter(|_| ports.len() < MOST_PORTS) {
            Some(port) => ports.push(port),
            None => {
                let accepted =
                    "`input` or `output`, bits and name of a port, rst_i first; `cycles` after the last";
                return Err(RecordingError::Header { line: 4 + ports.len(), found: text, accepted });
            }
        }
    }
}

fn named(
    input: &mut impl BufRead,
    number: usize,
    prefix: &str,
    accepted: &'static str,
) -> Result<String, RecordingError> {
    let text = line(input)?;
    match text.strip_prefix(prefix) {
        Some(name) => Ok(name.to_owned()),
        None => Err(RecordingError::Header { line: number, found: text, accepted }),
    }
}

fn port(text: &str) -> Option<RecordedPort> {
    let mut words = text.split(' ');
    let direction = match words.next()? {
        "input" => Direction::Input,
        "output" => Direction::Output,
        _ => return None,
    };
    let width = words.next()?.parse().ok().filter(|width| (1..=WIDEST).contains(width))?;
    let name = words.next().filter(|name| !name.is_empty())?.to_owned();
    words.next().is_none().then_some(RecordedPort { name, direction, width })
}

/// A line of the header; what is no text is shown as such.
fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
    Ok(String::from_utf8_lossy(bytes.strip_suffix(b"\n").unwrap_or(&bytes)).into_owned())
}
