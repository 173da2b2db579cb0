//! What a warp executed, in few bytes: for each PTX instruction the lanes, the results and the addresses.
//!
//! Sources are not stored: whoever reads the records from the start knows every register. A row of values is
//! one value if all lanes agree, base and stride if it is a line in the lane number, otherwise the values of
//! the active lanes.

use std::sync::Arc;

use super::access::lanes_of;
use super::registers::Lanes;
use super::store::{Piece, Store};
use crate::program::{LANES, LaneMask};

/// The instruction is not the one after the last record's.
const JUMPS: u8 = 1;
/// The path is not the last record's.
const NEW_PATH: u8 = 2;
/// The guard switches lanes off.
const GUARDED: u8 = 4;

/// How a row of values is stored.
const UNIFORM: u8 = 0;
const LINEAR: u8 = 1;
const EACH: u8 = 2;

/// Which instruction, and the lanes that executed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) inst: u32,
    pub(super) path: LaneMask,
    pub(super) active: LaneMask,
}

/// Writes the records of one warp.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordWriter {
    pub(super) bytes: Vec<u8>,
    /// The last header written.
    written: Header,
}

/// Reads the records of one warp.
#[derive(Clone, Debug)]
pub(super) struct RecordReader {
    store: Arc<Store>,
    /// What is left to read after the piece at hand.
    pieces: std::vec::IntoIter<Piece>,
    piece: Arc<Vec<u8>>,
    /// Where reading goes on in the piece at hand.
    at: usize,
    /// The last header read.
    read: Header,
}

impl RecordWriter {
    /// Begins a record. What follows is written with the other functions, and read in the same order.
    pub(super) fn write_header(&mut self, header: Header) {
        let mut flags = 0;
        flags |= if header.inst == self.written.inst.wrapping_add(1) { 0 } else { JUMPS };
        flags |= if header.path == self.written.path { 0 } else { NEW_PATH };
        flags |= if header.active == header.path { 0 } else { GUARDED };
        self.bytes.push(flags);
        if flags & JUMPS != 0 {
            self.write_u32(header.inst);
        }
        if flags & NEW_PATH != 0 {
            self.write_u32(header.path);
        }
        if flags & GUARDED != 0 {
            self.write_u32(header.active);
        }
        self.written = header;
    }

    pub(super) fn write_u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes the values of the active lanes, `bytes` each (4 or 8).
    pub(super) fn write_lanes(&mut self, active: LaneMask, values: &Lanes, bytes: usize) {
        if active == 0 {
            return;
        }
        if let Some((base, stride)) = line(active, values) {
            self.bytes.push(if stride == 0 { UNIFORM } else { LINEAR });
            let parameters = if stride == 0 { &[base][..] } else { &[base, stride] };
            for parameter in parameters {
                self.bytes.extend_from_slice(&parameter.to_le_bytes());
            }
            return;
        }
        self.bytes.push(EACH);
        match bytes {
            4 => self.write_each::<4>(active, values),
            _ => self.write_each::<8>(active, values),
        }
    }

    /// Writes the values of the active lanes one after the other. A size that is known lets them be copied together.
    fn write_each<const BYTES: usize>(&mut self, active: LaneMask, values: &Lanes) {
        let mut row = [[0; BYTES]; LANES];
        let put = |(place, value): (&mut [u8; BYTES], &u64)| {
            place.copy_from_slice(&value.to_le_bytes()[..BYTES]);
        };
        if active == LaneMask::MAX {
            row.iter_mut().zip(values).for_each(put);
        } else {
            row.iter_mut().zip(lanes_of(active).map(|lane| &values[lane])).for_each(put);
        }
        self.bytes.extend_from_slice(row[..active.count_ones() as usize].as_flattened());
    }
}

impl RecordReader {
    /// From the first record of a warp.
    pub(super) fn new(store: Arc<Store>, pieces: Vec<Piece>) -> RecordReader {
        let (pieces, piece) = (pieces.into_iter(), Arc::default());
        RecordReader { store, pieces, piece, at: 0, read: Header::default() }
    }

    /// Reads the header of the next record; `None` after the last.
    ///
    /// # Errors
    /// If the records cannot be read back.
    pub(super) fn read_header(&mut self) -> Result<Option<Header>, String> {
        // A record is never parted: pieces end where records do.
        while self.at == self.piece.len() {
            let Some(next) = self.pieces.next() else { return Ok(None) };
            self.piece = self.store.read(&next)?;
            self.at = 0;
        }
        let flags = self.piece[self.at];
        self.at += 1;
        let mut header = Header { inst: self.read.inst.wrapping_add(1), ..self.read };
        if flags & JUMPS != 0 {
            header.inst = self.read_u32();
        }
        if flags & NEW_PATH != 0 {
            header.path = self.read_u32();
        }
        header.active = if flags & GUARDED != 0 { self.read_u32() } else { header.path };
        self.read = header;
        Ok(Some(header))
    }

    pub(super) fn read_u32(&mut self) -> u32 {
        word(&self.read_bytes::<4>()) as u32
    }

    fn read_u64(&mut self) -> u64 {
        word(&self.read_bytes::<8>())
    }

    fn read_bytes<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&self.piece[self.at..self.at + BYTES]);
        self.at += BYTES;
        bytes
    }

    /// Reads what [`RecordWriter::write_lanes`] wrote, into the active lanes.
    pub(super) fn read_lanes(&mut self, active: LaneMask, values: &mut Lanes, bytes: usize) {
        if active == 0 {
            return;
        }
        let kind = self.piece[self.at];
        self.at += 1;
        if kind == EACH {
            return match bytes {
                4 => self.read_each::<4>(active, values),
                _ => self.read_each::<8>(active, values),
            };
        }
        let base = self.read_u64();
        let stride = if kind == LINEAR { self.read_u64() } else { 0 };
        if active == LaneMask::MAX {
            // A sum, not a product: 64-bit products have no vector instruction everywhere.
            let mut on_line = base;
            for value in values {
                *value = on_line;
                on_line = on_line.wrapping_add(stride);
            }
        } else {
            for lane in lanes_of(active) {
                values[lane] = base.wrapping_add(stride.wrapping_mul(lane as u64));
            }
        }
    }

    /// Reads values of the active lanes that were written one after the other.
    fn read_each<const BYTES: usize>(&mut self, active: LaneMask, values: &mut Lanes) {
        let bytes = active.count_ones() as usize * BYTES;
        let stored = self.piece[self.at..self.at + bytes].as_chunks().0;
        self.at += bytes;
        if active == LaneMask::MAX {
            values.iter_mut().zip(stored).for_each(|(value, stored)| *value = word::<BYTES>(stored));
        } else {
            lanes_of(active).zip(stored).for_each(|(lane, stored)| values[lane] = word::<BYTES>(stored));
        }
    }
}

/// A value of at most 8 bytes.
fn word<const BYTES: usize>(stored: &[u8; BYTES]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..BYTES].copy_from_slice(stored);
    u64::from_le_bytes(bytes)
}

/// Base and stride if the active values are a line in the lane number.
fn line(active: LaneMask, values: &Lanes) -> Option<(u64, u64)> {
    let first = active.trailing_zeros() as usize;
    let others = active & !(1 << first);
    if others == 0 {
        return Some((values[first], 0));
    }
    let second = others.trailing_zeros() as usize;
    let rise = values[second].wrapping_sub(values[first]) as i64;
    let run = (second - first) as i64;
    if rise % run != 0 {
        return None;
    }
    let stride = (rise / run) as u64;
    let base = values[first].wrapping_sub(stride.wrapping_mul(first as u64));
    // All lanes, without a branch: this is asked for every value that is recorded.
    let (mut off_line, mut on_line) = (0, base);
    for (lane, &value) in values.iter().enumerate() {
        off_line |= u32::from(value != on_line) << lane;
        on_line = on_line.wrapping_add(stride);
    }
    (off_line & active == 0).then_some((base, stride))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::{Header, RecordReader, RecordWriter, Store};
    use crate::program::LANES;

    proptest! {
        #[test]
        fn values_are_read_as_they_were_written(
            records in prop::collection::vec(
                (any::<u32>(), any::<u32>(), prop::array::uniform32(any::<u64>()), 0_u64..3, any::<bool>()),
                1..20,
            ),
            piece in 1..2000_usize,
        ) {
            let mut stored = RecordWriter::default();
            let store = Arc::new(Store::new(0));
            let (mut expected, mut pieces) = (Vec::new(), Vec::new());
            for (path, guard, mut values, shape, wide) in records {
                let header = Header { inst: path % 7, path, active: path & guard };
                for (lane, value) in values.iter_mut().enumerate().filter(|_| shape < 2) {
                    *value = 5 + shape * 12 * lane as u64;
                }
                let bytes = if wide { 8 } else { 4 };
                if !wide {
                    values = values.map(|value| value & 0xffff_ffff);
                }
                stored.write_header(header);
                stored.write_lanes(header.active, &values, bytes);
                expected.push((header, values, bytes));
                if stored.bytes.len() >= piece {
                    pieces.push(store.keep(std::mem::take(&mut stored.bytes)).unwrap());
                }
            }
            pieces.push(store.keep(stored.bytes).unwrap());
            let mut stored = RecordReader::new(store, pieces);
            for (header, values, bytes) in expected {
                prop_assert_eq!(stored.read_header(), Ok(Some(header)));
                let mut found = [0; LANES];
                stored.read_lanes(header.active, &mut found, bytes);
                for lane in 0..LANES {
                    let expected = if header.active >> lane & 1 == 1 { values[lane] } else { 0 };
                    prop_assert_eq!(found[lane], expected);
                }
            }
            prop_assert_eq!(stored.read_header(), Ok(None));
        }
    }
}
