//! Waveforms as fast signal traces, the format of GTKWave, which Surfer reads, too.
//!
//! A file is a header, the hierarchy of scopes and signals, the signals' widths, and sections. A section covers a stretch of
//! time: every value at its beginning, for each signal its changes one after the other, and the times that these refer to by
//! their number. Viewers read only the signals that they show, section by section. Here a section is written whenever the
//! changes that are held take [`SECTION_BYTES`], so that a long run takes no more memory than a short one.
//!
//! Source: the crates `fst-reader` and `fst-writer`, which follow GTKWave's `fstapi.c`. Numbers are big-endian; a *varint* has 7
//! bits a byte, lowest first, and the highest bit set in all bytes but the last.

use std::io::{self, Seek, SeekFrom, Write};
use std::mem;

use lz4_flex::block::compress;
use miniz_oxide::deflate::compress_to_vec_zlib;

use super::{Format, SignalNumber};

/// Bytes of changes, before they are compressed, at which a section ends.
const SECTION_BYTES: usize = 32 << 20;

/// Kinds of blocks. Each begins with its kind, a byte, and its length without that byte, eight.
const HEADER: u8 = 0;
const GEOMETRY: u8 = 3;
const HIERARCHY_LZ4: u8 = 6;
const SECTION: u8 = 8;

/// Kinds of entries in the hierarchy; a module is the scope 0, a direction 0 is none.
const WIRE: u8 = 16;
const SCOPE: u8 = 254;
const UP_SCOPE: u8 = 255;

/// That changes are compressed with LZ4.
const LZ4: u8 = b'4';
/// What takes less is not worth compressing: an LZ4 block has some bytes of its own.
const WORTH_COMPRESSING: usize = 32;
/// Of zlib, as what it compresses here are equal bytes mostly.
const ZLIB_LEVEL: u8 = 3;

/// A fast signal trace.
pub struct Fst<W: Write + Seek> {
    output: W,
    hierarchy: Hierarchy,
    signals: Vec<Signal>,
    /// Words of all signals as they are now, one after the other.
    values: Vec<u64>,
    /// The first time; `None` before it.
    start: Option<u64>,
    /// The last time.
    now: u64,
    section: Section,
    sections: u64,
    section_bytes: usize,
}

/// What has been declared.
#[derive(Default)]
struct Hierarchy {
    entries: Vec<u8>,
    scopes: u64,
    names: u64,
}

struct Signal {
    width: u32,
    /// Of its first word in `Fst::values`.
    offset: usize,
    /// In this section: each the steps from the time of the one before, and the value.
    changes: Vec<u8>,
    /// Number of the time of the last one.
    last: u64,
}

/// The section that is being made, but for the signals' changes.
#[derive(Default)]
struct Section {
    /// When it begins: the first time of the file, or the last of the section before.
    start: u64,
    /// Every value then, a digit a byte.
    frame: Vec<u8>,
    /// Steps from each of its times to the next, the first from 0. The start is none of them.
    times: Vec<u8>,
    time_count: u64,
    /// Bytes of all changes.
    bytes: usize,
}

impl<W: Write + Seek> Fst<W> {
    /// Writes to `output`, which is empty.
    pub fn new(output: W) -> Fst<W> {
        Fst::with_sections(output, SECTION_BYTES)
    }

    /// As `new`, with sections of so many bytes of changes.
    fn with_sections(output: W, section_bytes: usize) -> Fst<W> {
        Fst {
            output,
            hierarchy: Hierarchy::default(),
            signals: Vec::new(),
            values: Vec::new(),
            start: None,
            now: 0,
            section: Section::default(),
            sections: 0,
            section_bytes,
        }
    }

    /// Begins a section at the current time, with the current values.
    fn begin_section(&mut self) {
        let mut frame = Vec::new();
        for signal in &self.signals {
            let words = &self.values[signal.offset..];
            let digit = |bit: usize| b'0' + (words[bit / 64] >> (bit % 64) & 1) as u8;
            frame.extend((0..signal.width as usize).rev().map(digit));
        }
        self.section = Section { start: self.now, frame, ..Section::default() };
    }

    /// Writes the section that ends at the current time.
    fn write_section(&mut self) -> io::Result<()> {
        let Section { start, frame, times, time_count, bytes } = mem::take(&mut self.section);
        let mut block = Vec::new();
        for number in [start, self.now, bytes as u64] {
            push_u64(&mut block, number);
        }
        let packed_frame = compress_if_smaller(&frame);
        for number in [frame.len(), packed_frame.len(), self.signals.len()] {
            push_varint(&mut block, number as u64);
        }
        block.extend_from_slice(&packed_frame);
        let positions = push_changes(&mut block, &mut self.signals);
        block.extend_from_slice(&positions);
        push_u64(&mut block, positions.len() as u64);
        let packed_times = compress_if_smaller(&times);
        block.extend_from_slice(&packed_times);
        for number in [times.len() as u64, packed_times.len() as u64, time_count] {
            push_u64(&mut block, number);
        }
        self.sections += 1;
        write_block(&mut self.output, SECTION, &block)
    }

    /// The block that the file begins with; times and counts are known in the end only.
    fn header(&self) -> Vec<u8> {
        let mut block = Vec::with_capacity(HEADER_BYTES);
        push_u64(&mut block, self.start.unwrap_or(0));
        push_u64(&mut block, self.now);
        // By this number readers find out how the writer's machine orders bytes.
        block.extend_from_slice(&std::f64::consts::E.to_le_bytes());
        let memory = 0;
        let Hierarchy { scopes, names, .. } = self.hierarchy;
        for number in [memory, scopes, names, self.signals.len() as u64, self.sections] {
            push_u64(&mut block, number);
        }
        block.push(NANOSECONDS as u8);
        // By what it was written, and when: which would make two files of one run differ.
        block.extend_from_slice(b"warpfile");
        // The rest is 0: the kind of a Verilog simulation, times that are shown as they are.
        block.resize(HEADER_BYTES, 0);
        block
    }
}

/// Of the header, without kind and length.
const HEADER_BYTES: usize = 321;
/// Of a second, as a power of 10.
const NANOSECONDS: i8 = -9;

impl<W: Write + Seek> Format for Fst<W> {
    fn enter_scope(&mut self, name: &str) -> io::Result<()> {
        self.hierarchy.scopes += 1;
        self.hierarchy.entries.extend([SCOPE, 0]);
        self.hierarchy.entries.extend_from_slice(name.as_bytes());
        // The end of the name, and an empty one of what the scope is an instance of.
        self.hierarchy.entries.extend([0, 0]);
        Ok(())
    }

    fn leave_scope(&mut self) -> io::Result<()> {
        self.hierarchy.entries.push(UP_SCOPE);
        Ok(())
    }

    fn declare(&mut self, name: &str, width: u32, signal: SignalNumber) -> io::Result<()> {
        self.hierarchy.names += 1;
        let entries = &mut self.hierarchy.entries;
        entries.extend([WIRE, 0]);
        entries.extend_from_slice(name.as_bytes());
        entries.push(0);
        push_varint(entries, u64::from(width));
        if signal.index() < self.signals.len() {
            push_varint(entries, u64::from(signal.0) + 1);
            return Ok(());
        }
        push_varint(entries, 0);
        let offset = self.values.len();
        self.values.resize(offset + width.div_ceil(64) as usize, 0);
        self.signals.push(Signal { width, offset, changes: Vec::new(), last: 0 });
        Ok(())
    }

    fn end_declarations(&mut self) -> io::Result<()> {
        let header = self.header();
        write_block(&mut self.output, HEADER, &header)?;
        let entries = mem::take(&mut self.hierarchy.entries);
        let mut hierarchy = Vec::new();
        push_u64(&mut hierarchy, entries.len() as u64);
        hierarchy.extend(compress(&entries));
        write_block(&mut self.output, HIERARCHY_LZ4, &hierarchy)?;
        let mut widths = Vec::new();
        for signal in &self.signals {
            push_varint(&mut widths, u64::from(signal.width));
        }
        let mut geometry = Vec::new();
        push_u64(&mut geometry, widths.len() as u64);
        push_u64(&mut geometry, self.signals.len() as u64);
        geometry.extend(widths);
        write_block(&mut self.output, GEOMETRY, &geometry)
    }

    fn time(&mut self, nanoseconds: u64) -> io::Result<()> {
        if self.start.is_none() {
            self.start = Some(nanoseconds);
            self.now = nanoseconds;
            return Ok(());
        }
        if self.section.bytes >= self.section_bytes {
            self.write_section()?;
        }
        let is_first = self.section.time_count == 0;
        if is_first {
            self.begin_section();
        }
        let before = if is_first { 0 } else { self.now };
        let section = &mut self.section;
        push_varint(&mut section.times, nanoseconds - before);
        section.time_count += 1;
        self.now = nanoseconds;
        Ok(())
    }

    fn change(&mut self, signal: SignalNumber, words: &[u64]) -> io::Result<()> {
        let signal = &mut self.signals[signal.index()];
        self.values[signal.offset..][..words.len()].copy_from_slice(words);
        // At the first time of the file values are only noted: they are those at the beginning of the first section.
        let Some(time) = self.section.time_count.checked_sub(1) else { return Ok(()) };
        let steps = time - mem::replace(&mut signal.last, time);
        let before = signal.changes.len();
        if signal.width == 1 {
            push_varint(&mut signal.changes, steps << 2 | (words[0] & 1) << 1);
        } else {
            // The lowest bit says that the value has ones and zeros only.
            push_varint(&mut signal.changes, steps << 1);
            push_bits(&mut signal.changes, words, signal.width as usize);
        }
        self.section.bytes += signal.changes.len() - before;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.start.is_none() {
            // Viewers take no file without a time; at this one nothing is known.
            let bits = self.signals.iter().map(|signal| signal.width as usize).sum();
            self.section =
                Section { frame: vec![b'x'; bits], times: vec![0], time_count: 1, ..Section::default() };
        }
        self.write_section()?;
        let header = self.header();
        let end = self.output.stream_position()?;
        self.output.seek(SeekFrom::Start(0))?;
        write_block(&mut self.output, HEADER, &header)?;
        self.output.seek(SeekFrom::Start(end))?;
        self.output.flush()
    }
}

/// The changes of all signals, which are taken. Where they are is returned as the file has it: for each signal that has any
/// twice the distance from the one before, plus 1; for several without, twice their number.
fn push_changes(block: &mut Vec<u8>, signals: &mut [Signal]) -> Vec<u8> {
    push_varint(block, signals.len() as u64);
    let mut previous = block.len();
    block.push(LZ4);
    let mut positions = Vec::new();
    let mut without = 0;
    for signal in signals {
        signal.last = 0;
        let changes = mem::take(&mut signal.changes);
        if changes.is_empty() {
            without += 1;
            continue;
        }
        if without > 0 {
            push_varint(&mut positions, mem::take(&mut without) << 1);
        }
        push_signed_varint(&mut positions, ((block.len() - previous) as i64) << 1 | 1);
        previous = block.len();
        let compressed = if changes.len() < WORTH_COMPRESSING { changes.clone() } else { compress(&changes) };
        if compressed.len() < changes.len() {
            push_varint(block, changes.len() as u64);
            block.extend(compressed);
        } else {
            push_varint(block, 0);
            block.extend(changes);
        }
    }
    if without > 0 {
        push_varint(&mut positions, without << 1);
    }
    positions
}

/// By zlib; as it is if that is no longer, which readers tell by the lengths.
fn compress_if_smaller(bytes: &[u8]) -> Vec<u8> {
    let compressed = compress_to_vec_zlib(bytes, ZLIB_LEVEL);
    if compressed.len() < bytes.len() { compressed } else { bytes.to_vec() }
}

fn write_block(output: &mut impl Write, kind: u8, content: &[u8]) -> io::Result<()> {
    let length = content.len() as u64 + 8;
    output.write_all(&[kind])?;
    output.write_all(&length.to_be_bytes())?;
    output.write_all(content)
}

fn push_u64(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_be_bytes());
}

fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// As a varint, the highest bit of the last byte's seven being the sign.
fn push_signed_varint(bytes: &mut Vec<u8>, mut number: i64) {
    while !(-64..64).contains(&number) {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8 & 0x7f);
}

/// A value's bits from the highest on, eight a byte; the last byte ends in zeros.
fn push_bits(bytes: &mut Vec<u8>, words: &[u64], width: usize) {
    let mut end = width;
    while end >= 8 {
        end -= 8;
        let (word, shift) = (end / 64, end % 64);
        let low = words[word] >> shift;
        let above = if shift > 56 { words.get(word + 1).map_or(0, |next| next << (64 - shift)) } else { 0 };
        bytes.push((low | above) as u8);
    }
    if end > 0 {
        bytes.push((words[0] as u8) << (8 - end));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const WIDTHS: [u32; 9] = [1, 2, 7, 8, 9, 63, 64, 65, 200];

    /// Values that have nothing above the width, none of them twice in a row.
    fn value(width: u32, step: u64) -> Vec<u64> {
        let mut words: Vec<u64> = (1..=u64::from(width.div_ceil(64)))
            .map(|word| (step * word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        // The lowest bit tells steps apart that follow each other.
        words[0] = words[0] & !1 | step & 1;
        if let (Some(last), 1..) = (words.last_mut(), width % 64) {
            *last &= (1 << (width % 64)) - 1;
        }
        words
    }

    fn digits(words: &[u64], width: u32) -> String {
        let digit = |bit: usize| if words[bit / 64] >> (bit % 64) & 1 == 1 { '1' } else { '0' };
        (0..width as usize).rev().map(digit).collect()
    }

    /// Times and values of a signal.
    type Changes = Vec<(u64, String)>;

    /// Signals that change every second, third, fourth … time: what each is to be read as, the file, and its sections.
    fn written(section_bytes: usize) -> (Vec<Changes>, Vec<u8>, u64) {
        let mut file = Cursor::new(Vec::new());
        let mut fst = Fst::with_sections(&mut file, section_bytes);
        fst.enter_scope("top").expect("memory");
        for (number, width) in (0..).zip(WIDTHS) {
            fst.declare(&format!("of{width}"), width, SignalNumber(number)).expect("memory");
        }
        fst.leave_scope().expect("memory");
        fst.end_declarations().expect("memory");
        let mut expected = vec![Vec::new(); WIDTHS.len()];
        for step in 0..1000 {
            let time = 50 + 5 * step;
            fst.time(time).expect("memory");
            for (number, width) in (0..).zip(WIDTHS) {
                let period = u64::from(number) + 2;
                if step % period == 0 {
                    let words = value(width, step / period);
                    fst.change(SignalNumber(number), &words).expect("memory");
                    expected[number as usize].push((time, digits(&words, width)));
                }
            }
        }
        fst.finish().expect("memory");
        let sections = fst.sections;
        (expected, file.into_inner(), sections)
    }

    #[test]
    fn every_change_is_read_again_from_one_section_and_from_many() {
        for (section_bytes, at_least) in [(usize::MAX, 1), (700, 10), (1, 700)] {
            let (expected, file, sections) = written(section_bytes);
            assert!(sections >= at_least, "{sections}");
            let mut waves = wellen::simple::read_from_reader(Cursor::new(file)).expect("a waveform");
            let hierarchy = waves.hierarchy();
            let signals: Vec<_> = hierarchy.all_vars().map(|var| hierarchy[var].signal_ref()).collect();
            waves.load_signals(&signals);
            let times = waves.time_table();
            for (signal, expected) in signals.iter().zip(&expected) {
                let changes = waves.get_signal(*signal).expect("loaded").iter_changes();
                let changes: Vec<_> =
                    changes.map(|(time, value)| (times[time as usize], value.to_string())).collect();
                assert_eq!(&changes, expected);
            }
        }
    }

    #[test]
    fn a_section_ends_when_it_holds_enough() {
        let (_, file, sections) = written(700);
        let (_, whole, _) = written(usize::MAX);
        // Nothing but the changes of a section, of at most 700 bytes and a time more, is held.
        assert!(sections as usize > whole.len() / 1000 && file.len() > whole.len());
    }

    #[test]
    fn numbers_have_seven_bits_a_byte() {
        let varint = |number| {
            let mut bytes = Vec::new();
            push_varint(&mut bytes, number);
            bytes
        };
        assert_eq!((varint(0), varint(127), varint(300)), (vec![0], vec![127], vec![0xac, 2]));
        let signed = |number| {
            let mut bytes = Vec::new();
            push_signed_varint(&mut bytes, number);
            bytes
        };
        assert_eq!(
            (signed(19), signed(63), signed(64), signed(-1)),
            (vec![19], vec![63], vec![0xc0, 0], vec![127])
        );
    }

    #[test]
    fn bits_begin_with_the_highest() {
        let mut bytes = Vec::new();
        push_bits(&mut bytes, &[0b10_1100_0011], 10);
        assert_eq!(bytes, [0b1011_0000, 0b1100_0000]);
        bytes.clear();
        push_bits(&mut bytes, &[0xff00_0000_0000_0000, 1], 65);
        assert_eq!(bytes, [0xff, 0x80, 0, 0, 0, 0, 0, 0, 0]);
    }
}
