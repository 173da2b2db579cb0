//! Containers as a fuzzer wants them: payloads unpacked, and no checksum to get past.
//!
//! An input is a list of records, kind (1 byte), bytes of the payload (3 bytes, little-endian), payload. [`assemble`] makes
//! the file of it that [`records_of`] takes apart, with each payload in a frame that is not compressed, so that a change of
//! the input is a change of the payload, and offsets stay where they are.

use std::collections::BTreeMap;

use ruzstd::decoding::FrameDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use twox_hash::XxHash64;

/// Magic and version.
const HEADER: &[u8] = b"WARPFILE\x01\0\0\0";
/// Bytes before a record's payload.
const HEAD_BYTES: usize = 17;
/// Bytes of the trailer.
const TRAILER_BYTES: usize = 32;
/// Kinds of records, as their documentation numbers them.
const DIRECTORY: u8 = 2;
const PAGE: u8 = 3;
const LAUNCH: u8 = 4;
const CONTENTS: u8 = 5;

fn checksum(head: &[u8], payload: &[u8]) -> u64 {
    XxHash64::oneshot(XxHash64::oneshot(0, head), payload)
}

/// The file that an input stands for.
pub fn assemble(mut input: &[u8]) -> Vec<u8> {
    let (mut file, mut last) = (HEADER.to_vec(), 0);
    while let [kind, a, b, c, rest @ ..] = input {
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        let (payload, rest) = rest.split_at(length.min(rest.len()));
        last = file.len() as u64;
        append(&mut file, *kind, payload);
        input = rest;
    }
    let mut trailer = last.to_le_bytes().to_vec();
    trailer.extend(((file.len() + TRAILER_BYTES) as u64).to_le_bytes());
    let sum = checksum(&trailer, &[]);
    trailer.extend(sum.to_le_bytes());
    trailer.extend(b"ELIFPRAW");
    file.extend(trailer);
    file
}

fn append(file: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    let stored = compress_to_vec(payload, CompressionLevel::Uncompressed);
    let mut head = vec![kind];
    head.extend((payload.len() as u32).to_le_bytes());
    head.extend((stored.len() as u32).to_le_bytes());
    let sum = checksum(&head, &stored);
    file.extend(head);
    file.extend(sum.to_le_bytes());
    file.extend(stored);
}

/// The input that stands for a file: its records, with offsets as they are in what [`assemble`] makes.
///
/// # Panics
/// If it is no container.
pub fn records_of(file: &[u8]) -> Vec<u8> {
    let mut records: Vec<(u8, Vec<u8>)> = Vec::new();
    // Where each record was, and where it will be.
    let mut moved = BTreeMap::new();
    let (mut at, mut assembled) = (HEADER.len(), HEADER.to_vec());
    while at < file.len() - TRAILER_BYTES {
        let number =
            |from: usize| u32::from_le_bytes(file[at + from..at + from + 4].try_into().expect("four bytes"));
        let (raw, stored) = (number(1) as usize, number(5) as usize);
        let mut payload = Vec::with_capacity(raw);
        let frame = &file[at + HEAD_BYTES..at + HEAD_BYTES + stored];
        FrameDecoder::new().decode_all_to_vec(frame, &mut payload).expect("a frame");
        moved.insert(at as u64, assembled.len() as u64);
        translate(file[at], &mut payload, &moved);
        append(&mut assembled, file[at], &payload);
        records.push((file[at], payload));
        at += HEAD_BYTES + stored;
    }
    let mut input = Vec::new();
    for (kind, payload) in records {
        input.push(kind);
        input.extend(&(payload.len() as u32).to_le_bytes()[..3]);
        input.extend(payload);
    }
    input
}

/// Replaces the offsets of a payload.
fn translate(kind: u8, payload: &mut Vec<u8>, moved: &BTreeMap<u64, u64>) {
    // A warp without instructions has no chunk: its offset is that of whatever comes next.
    let there = |offset: u64| moved.get(&offset).copied().unwrap_or(offset);
    let each = match kind {
        DIRECTORY => 16,
        PAGE | CONTENTS => 8,
        LAUNCH => {
            let mut launch: serde_json::Value = serde_json::from_slice(payload).expect("a launch");
            for page in launch["pages"].as_array_mut().expect("pages") {
                *page = there(page.as_u64().expect("an offset")).into();
            }
            *payload = serde_json::to_vec(&launch).expect("a launch");
            return;
        }
        _ => return,
    };
    for entry in payload.chunks_exact_mut(each) {
        let offset = there(u64::from_le_bytes(entry[..8].try_into().expect("eight bytes")));
        entry[..8].copy_from_slice(&offset.to_le_bytes());
    }
}
