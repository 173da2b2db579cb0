//! Matrix products of a warp, and matrices loaded by one.
//!
//! Of the registers of a fragment the first has rows 0 to 7 and the second rows 8 to 15; the third and fourth have the same
//! rows of the other half of the columns. A lane has elements that are neighbours: of row `lane / 4` of `a`, of column
//! `lane / 4` of `b`.
//!
//! Products and sums of floating point are made in double precision, in the order of `k`, and rounded once at the end: the
//! ISA asks for single precision at least, and says nothing of the order.
//!
//! Source: PTX ISA, §9.7.14.5 (fragments of `mma.m16n8k8`, `.m16n8k16`, `.m16n8k32`), §9.7.14.5.15 (`ldmatrix`).

use super::access::Memories;
use super::error::Trouble;
use super::float::as_double;
use super::integer::{clamp, mask, number};
use super::registers::Lanes;
use super::softfloat::{self, DOUBLE, format_of};
use crate::program::{LANES, LaneMask, Space};
use crate::ptx::ir::{Rounding, Type, TypeKind};

/// Rows of `a` and of the result.
const ROWS: usize = 16;
/// Columns of `b` and of the result.
const COLUMNS: usize = 8;
/// Bytes of a row of eight elements of 16 bits.
const ROW_BYTES: usize = 16;

/// Types and shape of a product.
#[derive(Clone, Copy)]
pub(super) struct Product {
    /// Columns of `a`.
    pub(super) k: usize,
    pub(super) a: Type,
    pub(super) b: Type,
    pub(super) c: Type,
    pub(super) d: Type,
    pub(super) saturate: bool,
}

/// An element of a fragment: its register, its place there counted in elements, its row and its column.
struct Place {
    register: usize,
    at: usize,
    row: usize,
    column: usize,
}

/// That the whole warp takes part.
pub(super) fn check_lanes(active: LaneMask) -> Result<(), Trouble> {
    if active == LaneMask::MAX {
        return Ok(());
    }
    let (lane, lanes) = (active.trailing_zeros() as usize, active.count_ones());
    Err(Trouble { lane, message: format!("{lanes} lanes take part; accepted: all 32 of a warp") })
}

/// Where the elements of `a` are: `width` bits each, `k` columns.
fn places_of_a(width: usize, k: usize, lane: usize) -> impl Iterator<Item = Place> {
    let in_register = 32 / width;
    let registers = ROWS * k * width / (32 * LANES);
    (0..registers * in_register).map(move |element| {
        let (register, at) = (element / in_register, element % in_register);
        let row = lane / 4 + 8 * (register % 2);
        Place { register, at, row, column: lane % 4 * in_register + at + 4 * in_register * (register / 2) }
    })
}

/// Where the elements of `b` are.
fn places_of_b(width: usize, k: usize, lane: usize) -> impl Iterator<Item = Place> {
    let in_register = 32 / width;
    let registers = k * COLUMNS * width / (32 * LANES);
    (0..registers * in_register).map(move |element| {
        let (register, at) = (element / in_register, element % in_register);
        let row = lane % 4 * in_register + at + 4 * in_register * register;
        Place { register, at, row, column: lane / 4 }
    })
}

/// Where the elements of `c` and of the result are.
fn places_of_c(width: usize, lane: usize) -> impl Iterator<Item = Place> {
    let in_register = 32 / width;
    (0..4).map(move |element| Place {
        register: element / in_register,
        at: element % in_register,
        row: lane / 4 + 8 * (element / 2),
        column: lane % 4 * 2 + element % 2,
    })
}

fn element(registers: &[&Lanes], lane: usize, width: usize, place: &Place) -> u64 {
    registers[place.register][lane] >> (place.at * width) & mask(width as u32)
}

/// `a × b + c`: the registers of the result.
pub(super) fn multiply(product: Product, sources: &[&Lanes]) -> [Lanes; 4] {
    let Product { k, a, b, c, d, saturate } = product;
    let [a_width, b_width, c_width, d_width] = [a, b, c, d].map(|ty| ty.bits() as usize);
    let (of_a, rest) = sources.split_at(ROWS * k * a_width / (32 * LANES));
    let (of_b, of_c) = rest.split_at(k * COLUMNS * b_width / (32 * LANES));
    let mut left = vec![[0; ROWS]; k];
    let mut right = vec![[0; COLUMNS]; k];
    for lane in 0..LANES {
        for place in places_of_a(a_width, k, lane) {
            left[place.column][place.row] = element(of_a, lane, a_width, &place);
        }
        for place in places_of_b(b_width, k, lane) {
            right[place.row][place.column] = element(of_b, lane, b_width, &place);
        }
    }
    let mut registers = [[0; 4]; LANES];
    for (lane, registers) in registers.iter_mut().enumerate() {
        for (of_c_place, place) in places_of_c(c_width, lane).zip(places_of_c(d_width, lane)) {
            let addend = element(of_c, lane, c_width, &of_c_place);
            let factors = (0..k).map(|at| (left[at][place.row], right[at][place.column]));
            let sum = if a.kind() == TypeKind::Float {
                let sum =
                    factors.fold(as_double(c, addend), |sum, (x, y)| sum + as_double(a, x) * as_double(b, y));
                softfloat::convert(DOUBLE, format_of(d), Rounding::Nearest, sum.to_bits())
            } else {
                let sum = factors.fold(number(addend, c), |sum, (x, y)| sum + number(x, a) * number(y, b));
                if saturate { clamp(sum, d) } else { sum as u64 & mask(32) }
            };
            registers[place.register] |= sum << (place.at * d_width);
        }
    }
    std::array::from_fn(|register| registers.map(|of_lane| of_lane[register]))
}

/// The address of the row that each lane stands for: lanes beyond the rows that are read repeat them.
pub(super) fn row_addresses(addresses: &Lanes, matrices: usize) -> Lanes {
    std::array::from_fn(|lane| addresses[lane % (8 * matrices)])
}

/// The registers of matrices whose rows are at these addresses.
pub(super) fn load(
    memories: &mut Memories<'_>,
    rows: &Lanes,
    matrices: usize,
    (space, transposed): (Space, bool),
) -> Result<[Lanes; 4], Trouble> {
    let mut out = [[0; LANES]; 4];
    for (matrix, out) in out.iter_mut().enumerate().take(matrices) {
        let mut elements = [[0_u64; 8]; 8];
        for (row, elements) in elements.iter_mut().enumerate() {
            let lane = 8 * matrix + row;
            if !rows[lane].is_multiple_of(ROW_BYTES as u64) {
                let message =
                    format!("a row at address {:#x}; accepted: multiples of {ROW_BYTES}", rows[lane]);
                return Err(Trouble { lane, message });
            }
            for (column, element) in elements.iter_mut().enumerate() {
                *element = memories.read(space, rows[lane] + 2 * column as u64, 2, lane)?;
            }
        }
        for (lane, out) in out.iter_mut().enumerate() {
            let (of_four, pair) = (lane / 4, lane % 4 * 2);
            let [low, high] = if transposed {
                [elements[pair][of_four], elements[pair + 1][of_four]]
            } else {
                [elements[of_four][pair], elements[of_four][pair + 1]]
            };
            *out = low | high << 16;
        }
    }
    Ok(out)
}
