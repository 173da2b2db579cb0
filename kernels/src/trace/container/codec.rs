//! How the instructions of a chunk are coded.
//!
//! Per instruction: position (difference to the one after the previous, zigzag), active mask (0 as before, 1 all
//! lanes, 2 and four bytes), sources, results, and of memory accesses and operands in memory the addresses. A source is one byte 0 if its
//! values and defined lanes are what the warp last wrote, else 1, the defined lanes and the values. Values of the
//! active lanes: 0 and the value they share; 1, the first and the difference from lane to lane; 2 and four bytes a
//! lane. Addresses likewise, under 2 as differences from active lane to active lane. Numbers without a size are
//! LEB128, signed ones zigzag.
//!
//! Only active lanes are stored: on reading, the others are 0, and not defined.

use super::super::registers::{WarpRegisters, lanes};
use crate::program::{InstId, Instruction, LANES, LaneMask, LaneValues, Program, WarpInstruction};

/// What coder and decoder know of a warp at the same point of its stream.
#[derive(Default)]
pub(super) struct WarpState {
    following: i64,
    mask: LaneMask,
    pub registers: WarpRegisters,
}

/// Appends one instruction.
///
/// # Errors
/// The instruction is not one of the program's.
pub(super) fn encode(
    program: &Program,
    state: &mut WarpState,
    warp_instruction: &WarpInstruction,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let position = warp_instruction.inst.0;
    let instruction = instruction_at(program, i64::from(position))?;
    let active = warp_instruction.active;
    put_signed(out, i64::from(position) - state.following);
    state.following = i64::from(position) + 1;
    put_mask(out, state, active);
    for (slot, source) in instruction.sources.iter().enumerate() {
        let values = &warp_instruction.sources[slot];
        let defined = warp_instruction.defined[slot] & active;
        let (last, last_defined) = state.registers.read(source.register);
        let as_written =
            last_defined & active == defined && lanes(active).all(|lane| values[lane] == last[lane]);
        out.push(u8::from(!as_written));
        if !as_written {
            put_unsigned(out, u64::from(defined));
            put_values(out, active, values);
        }
    }
    for (slot, result) in instruction.results.iter().enumerate() {
        let values = &warp_instruction.results[slot];
        put_values(out, active, values);
        state.registers.write(result.register, active, values);
    }
    if instruction.has_addresses() {
        put_addresses(out, active, &warp_instruction.addresses);
    }
    Ok(())
}

/// Reads one instruction from the front of `input`.
///
/// # Errors
/// The bytes are not what [`encode`] writes for this program.
pub(super) fn decode(
    program: &Program,
    state: &mut WarpState,
    input: &mut &[u8],
    into: &mut WarpInstruction,
) -> Result<(), String> {
    let position = state.following.saturating_add(take_signed(input)?);
    let instruction = instruction_at(program, position)?;
    state.following = position + 1;
    let active = take_mask(input, state)?;
    into.inst = InstId(position as u32);
    into.active = active;
    for (slot, source) in instruction.sources.iter().enumerate() {
        match take_byte(input)? {
            0 => {
                let (values, defined) = state.registers.read(source.register);
                into.defined[slot] = defined & active;
                into.sources[slot] = [0; LANES];
                for lane in lanes(active) {
                    into.sources[slot][lane] = values[lane];
                }
            }
            1 => {
                into.defined[slot] = take_lane_mask(take_unsigned(input)?, active)?;
                into.sources[slot] = take_values(input, active)?;
            }
            tag => return Err(format!("source tag {tag}; 0 or 1 expected")),
        }
    }
    for (slot, result) in instruction.results.iter().enumerate() {
        into.results[slot] = take_values(input, active)?;
        state.registers.write(result.register, active, &into.results[slot]);
    }
    if instruction.has_addresses() {
        into.addresses = take_addresses(input, active)?;
    }
    Ok(())
}

fn instruction_at(program: &Program, position: i64) -> Result<&Instruction, String> {
    usize::try_from(position).ok().and_then(|at| program.instructions.get(at)).ok_or_else(|| {
        let count = program.instructions.len();
        format!("instruction {position} of kernel `{}`, which has {count}", program.name)
    })
}

fn put_mask(out: &mut Vec<u8>, state: &mut WarpState, mask: LaneMask) {
    if mask == state.mask {
        out.push(0);
    } else if mask == LaneMask::MAX {
        out.push(1);
    } else {
        out.push(2);
        out.extend(mask.to_le_bytes());
    }
    state.mask = mask;
}

fn take_mask(input: &mut &[u8], state: &mut WarpState) -> Result<LaneMask, String> {
    state.mask = match take_byte(input)? {
        0 => state.mask,
        1 => LaneMask::MAX,
        2 => u32::from_le_bytes(take_bytes(input)?),
        tag => return Err(format!("mask tag {tag}; 0 to 2 expected")),
    };
    Ok(state.mask)
}

fn take_lane_mask(number: u64, active: LaneMask) -> Result<LaneMask, String> {
    LaneMask::try_from(number)
        .ok()
        .filter(|mask| mask & !active == 0)
        .ok_or_else(|| format!("defined lanes {number:x} of active lanes {active:08x}"))
}

/// How the values of the active lanes relate.
enum Shape {
    Uniform,
    Strided(i64),
    Irregular,
}

/// The shape of what `difference(from, to)` tells of any two active lanes; at least one is active.
fn shape(active: LaneMask, difference: impl Fn(usize, usize) -> i64) -> Shape {
    let first = active.trailing_zeros() as usize;
    let mut rest = lanes(active).skip(1);
    let Some(second) = rest.next() else { return Shape::Uniform };
    let (across, distance) = (difference(first, second), (second - first) as i64);
    if across % distance != 0 {
        return Shape::Irregular;
    }
    let stride = across / distance;
    let strided = |lane: usize| stride.checked_mul((lane - first) as i64) == Some(difference(first, lane));
    match rest.all(strided) {
        true if stride == 0 => Shape::Uniform,
        true => Shape::Strided(stride),
        false => Shape::Irregular,
    }
}

fn put_values(out: &mut Vec<u8>, active: LaneMask, values: &LaneValues) {
    if active == 0 {
        return;
    }
    let first = u64::from(values[active.trailing_zeros() as usize]);
    let difference = |from: usize, to: usize| i64::from(values[to]) - i64::from(values[from]);
    match shape(active, difference) {
        Shape::Uniform => {
            out.push(0);
            put_unsigned(out, first);
        }
        Shape::Strided(stride) => {
            out.push(1);
            put_unsigned(out, first);
            put_signed(out, stride);
        }
        Shape::Irregular => {
            out.push(2);
            for lane in lanes(active) {
                out.extend(values[lane].to_le_bytes());
            }
        }
    }
}

fn take_values(input: &mut &[u8], active: LaneMask) -> Result<LaneValues, String> {
    let mut values = [0; LANES];
    if active == 0 {
        return Ok(values);
    }
    let first_lane = active.trailing_zeros() as usize;
    let tag = take_byte(input)?;
    match tag {
        0 | 1 => {
            let first = take_unsigned(input)? as u32;
            let stride = if tag == 0 { 0 } else { take_signed(input)? as u32 };
            for lane in lanes(active) {
                let distance = (lane - first_lane) as u32;
                values[lane] = first.wrapping_add(stride.wrapping_mul(distance));
            }
        }
        2 => {
            for lane in lanes(active) {
                values[lane] = u32::from_le_bytes(take_bytes(input)?);
            }
        }
        _unknown => return Err(format!("value tag {tag}; 0 to 2 expected")),
    }
    Ok(values)
}

fn put_addresses(out: &mut Vec<u8>, active: LaneMask, addresses: &[u64; LANES]) {
    if active == 0 {
        return;
    }
    let first = addresses[active.trailing_zeros() as usize];
    let difference = |from: usize, to: usize| addresses[to].wrapping_sub(addresses[from]) as i64;
    match shape(active, difference) {
        Shape::Uniform => {
            out.push(0);
            put_unsigned(out, first);
        }
        Shape::Strided(stride) => {
            out.push(1);
            put_unsigned(out, first);
            put_signed(out, stride);
        }
        Shape::Irregular => {
            out.push(2);
            put_unsigned(out, first);
            let mut previous = first;
            for lane in lanes(active).skip(1) {
                put_signed(out, addresses[lane].wrapping_sub(previous) as i64);
                previous = addresses[lane];
            }
        }
    }
}

fn take_addresses(input: &mut &[u8], active: LaneMask) -> Result<[u64; LANES], String> {
    let mut addresses = [0; LANES];
    if active == 0 {
        return Ok(addresses);
    }
    let first_lane = active.trailing_zeros() as usize;
    let tag = take_byte(input)?;
    let first = take_unsigned(input)?;
    match tag {
        0 | 1 => {
            let stride = if tag == 0 { 0 } else { take_signed(input)? as u64 };
            for lane in lanes(active) {
                let distance = (lane - first_lane) as u64;
                addresses[lane] = first.wrapping_add(stride.wrapping_mul(distance));
            }
        }
        2 => {
            let mut address = first;
            addresses[first_lane] = address;
            for lane in lanes(active).skip(1) {
                address = address.wrapping_add(take_signed(input)? as u64);
                addresses[lane] = address;
            }
        }
        _unknown => return Err(format!("address tag {tag}; 0 to 2 expected")),
    }
    Ok(addresses)
}

/// Appends a number, seven bits a byte, lowest first.
pub(super) fn put_unsigned(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number written by [`put_unsigned`].
pub(super) fn take_unsigned(input: &mut &[u8]) -> Result<u64, String> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(input)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("a number of more than 64 bits".to_string())
}

fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_unsigned(out, (number << 1 ^ number >> 63) as u64);
}

fn take_signed(input: &mut &[u8]) -> Result<i64, String> {
    let zigzag = take_unsigned(input)?;
    Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
}

fn take_byte(input: &mut &[u8]) -> Result<u8, String> {
    take_bytes::<1>(input).map(|[byte]| byte)
}

fn take_bytes<const N: usize>(input: &mut &[u8]) -> Result<[u8; N], String> {
    let (bytes, rest) = input.split_first_chunk::<N>().ok_or("ends in an instruction")?;
    *input = rest;
    Ok(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::synthetic::some_program;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_that_were_never_encoded_decode_to_an_error_or_to_instructions_of_the_program(
            seed in any::<u64>(), bytes in prop::collection::vec(prop_oneof![0..4u8, any::<u8>()], 0..300),
        ) {
            let program = some_program(seed);
            let (mut state, mut into) = (WarpState::default(), WarpInstruction::default());
            let mut input = bytes.as_slice();
            while decode(&program, &mut state, &mut input, &mut into).is_ok() {
                prop_assert!((into.inst.0 as usize) < program.instructions.len());
                prop_assert!(into.defined.iter().zip(&program.instructions[into.inst.0 as usize].sources)
                    .all(|(defined, _)| defined & !into.active == 0));
            }
        }
    }
}
