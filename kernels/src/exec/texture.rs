//! Textures and surfaces of one and two dimensions.
//!
//! Source: CUDA C++ Programming Guide, "Texture Fetching" (filtering, addressing modes) and "Surface Memory"; PTX ISA, §9.7.10,
//! §9.7.11 (`tex`, `suld`, `sust`).

use super::access::{Memories, lanes_of};
use super::decode::{Operands, Result as Target};
use super::error::Trouble;
use super::integer::{mask, signed};
use super::memory::{BufferId, Memory};
use super::registers::{Lanes, Registers};
use crate::launch::{AddressMode, ElementType, Filter, Number, Object, ObjectKind, Reads};
use crate::program::{LANES, LaneMask};
use crate::ptx::ir::{Outside, Type};

/// Coordinates are counted up to here, in texels: beyond every texture, even if it is repeated.
const FAR: f64 = (1_u64 << 40) as f64;
/// Where handles begin: beyond every address.
const HANDLES: u64 = 0x7f40_0000_0000;

/// A texture or surface in device memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BoundObject {
    pub(super) buffer: BufferId,
    pub(super) object: Object,
}

/// The handle of the n-th object of a launch.
pub(super) fn handle(index: usize) -> u64 {
    HANDLES + index as u64
}

/// The texture that a buffer bound to a `.texref` is: what has been said of it, or words, one after the other.
pub(super) fn of_reference(
    &(buffer, ref object): &(BufferId, Option<Object>),
    bytes: usize,
    ty: Type,
) -> BoundObject {
    if let Some(object) = object {
        return BoundObject { buffer, object: object.clone() };
    }
    let element = match ty {
        Type::F32 => ElementType::F32,
        Type::S32 => ElementType::S32,
        _u32 => ElementType::U32,
    };
    let width = u32::try_from(bytes / 4).unwrap_or(u32::MAX).max(1);
    let object = Object { element, width, ..Object::texture(0, element, width, 1) };
    BoundObject { buffer, object }
}

/// The object of a handle.
pub(super) fn find(
    objects: &[BoundObject],
    handle: u64,
    lane: usize,
    kind: ObjectKind,
) -> Result<&BoundObject, Trouble> {
    let found = handle.checked_sub(HANDLES).and_then(|index| objects.get(usize::try_from(index).ok()?));
    found.filter(|found| found.object.kind == kind).ok_or_else(|| {
        let name = kind.name();
        let message =
            format!("{handle:#x} is no {name}; accepted: an argument {{ {name} = … }} of the launch file");
        Trouble { lane, message }
    })
}

/// Coordinates of a fetch.
#[derive(Clone, Copy)]
pub(super) struct Coordinates {
    /// `f32`, or `s32`.
    pub(super) ty: Type,
    /// 1 or 2.
    pub(super) dimensions: u8,
}

/// A fetch: the four components in the type of the result, and the address of the texel at the lower corner.
pub(super) fn fetch(
    memory: &Memory,
    bound: &BoundObject,
    ty: Type,
    coordinates: Coordinates,
    at: [u64; 2],
) -> ([u64; 4], u64) {
    let object = &bound.object;
    let image = Image { bytes: memory.bytes(bound.buffer), object };
    let extents = [object.width, object.height];
    // Of each direction the lower texel and the weight of the one after it.
    let mut texels = [(0_i64, 0.0_f64); 2];
    for axis in 0..usize::from(coordinates.dimensions) {
        texels[axis] = if coordinates.ty == Type::F32 {
            let given = f64::from(f32::from_bits(at[axis] as u32));
            let scaled = if object.normalized { given * f64::from(extents[axis]) } else { given };
            image.lower(scaled)
        } else {
            (signed(at[axis], 32), 0.0)
        };
    }
    let corner = [texels[0].0, texels[1].0];
    let address = memory.address(bound.buffer) + image.offset(corner).unwrap_or(0) as u64;
    let float = object.element == ElementType::F32 || object.reads == Reads::Normalized;
    if !float {
        return (image.integers(corner, ty), address);
    }
    let mut sums = [0.0; 4];
    for (step_y, weight_y) in weights(texels[1].1) {
        for (step_x, weight_x) in weights(texels[0].1) {
            let texel = image.floats([corner[0] + step_x, corner[1] + step_y]);
            for (sum, component) in sums.iter_mut().zip(texel) {
                *sum += weight_x * weight_y * component;
            }
        }
    }
    (sums.map(|sum| u64::from((sum as f32).to_bits())), address)
}

/// The two texels of a direction and their weights; only the first if the second has none.
fn weights(upper: f64) -> impl Iterator<Item = (i64, f64)> {
    [(0, 1.0 - upper), (1, upper)].into_iter().filter(|&(_, weight)| weight != 0.0)
}

/// A texture's texels.
struct Image<'i> {
    bytes: &'i [u8],
    object: &'i Object,
}

impl Image<'_> {
    /// The texel of a coordinate counted in texels, and, filtered linearly, the weight of the next: 8 bits of fraction.
    fn lower(&self, coordinate: f64) -> (i64, f64) {
        // What is no number is in no texel; the first stands for it. What is too far to be counted is as far as can be.
        let coordinate = if coordinate.is_nan() { 0.0 } else { coordinate.clamp(-FAR, FAR) };
        match self.object.filter {
            Filter::Point => (coordinate.floor() as i64, 0.0),
            Filter::Linear => {
                let steps = ((coordinate - 0.5) * 256.0).round_ties_even();
                let lower = (steps / 256.0).floor();
                (lower as i64, steps / 256.0 - lower)
            }
        }
    }

    /// Where a texel begins; `None` if it is part of the border.
    fn offset(&self, at: [i64; 2]) -> Option<usize> {
        let object = self.object;
        let mut inside = [0; 2];
        for (axis, extent) in [object.width, object.height].into_iter().enumerate() {
            let (extent, index) = (i64::from(extent), at[axis]);
            // Only normalised coordinates repeat.
            let mode = match object.address[axis] {
                AddressMode::Wrap | AddressMode::Mirror if !object.normalized => AddressMode::Clamp,
                mode => mode,
            };
            inside[axis] = match mode {
                AddressMode::Clamp => index.clamp(0, extent - 1),
                AddressMode::Wrap => index.rem_euclid(extent),
                AddressMode::Mirror => {
                    let of_two = index.rem_euclid(2 * extent);
                    of_two.min(2 * extent - 1 - of_two)
                }
                AddressMode::Border if (0..extent).contains(&index) => index,
                AddressMode::Border => return None,
            };
        }
        Some((inside[1] as usize * object.width as usize + inside[0] as usize) * object.texel_bytes())
    }

    fn components(&self, at: [i64; 2]) -> [Option<Number>; 4] {
        let size = self.object.element.bytes();
        let start = self.offset(at);
        std::array::from_fn(|component| {
            let in_texture = component < usize::from(self.object.channels);
            let bytes = start
                .map(|start| start + component * size)
                .and_then(|start| self.bytes.get(start..start + size));
            in_texture.then(|| bytes.map_or(Number::Integer(0), |bytes| self.object.element.read(bytes)))
        })
    }

    /// Components as floating-point numbers: those that are not there are 0, 0 and 1.
    fn floats(&self, at: [i64; 2]) -> [f64; 4] {
        let found = self.components(at);
        std::array::from_fn(|component| match found[component] {
            None => f64::from(u8::from(component == 3)),
            Some(Number::Float(value)) => value,
            Some(Number::Integer(value)) => match self.object.element {
                ElementType::U8 => value as f64 / 255.0,
                ElementType::S8 => (value as f64 / 127.0).max(-1.0),
                ElementType::U16 => value as f64 / 65535.0,
                ElementType::S16 => (value as f64 / 32767.0).max(-1.0),
                ElementType::U32
                | ElementType::S32
                | ElementType::U64
                | ElementType::S64
                | ElementType::F32
                | ElementType::F64 => value as f64,
            },
        })
    }

    /// Components as integers, or their bits.
    fn integers(&self, at: [i64; 2], ty: Type) -> [u64; 4] {
        let found = self.components(at);
        let one = if ty == Type::F32 { u64::from(1.0_f32.to_bits()) } else { 1 };
        std::array::from_fn(|component| match found[component] {
            None => {
                if component == 3 {
                    one
                } else {
                    0
                }
            }
            Some(Number::Integer(value)) => value as u64 & mask(32),
            Some(Number::Float(value)) => u64::from((value as f32).to_bits()),
        })
    }
}

/// The offset in a surface of an access to byte `x` of row `y`; `None` if it is outside and does nothing.
fn surface_offset(
    object: &Object,
    bytes: usize,
    [x, y]: [i64; 2],
    outside: Outside,
    lane: usize,
) -> Result<Option<usize>, Trouble> {
    let row = i64::from(object.width) * object.texel_bytes() as i64;
    let (width, height, size) = (row, i64::from(object.height), bytes as i64);
    if x.rem_euclid(size) != 0 {
        let message =
            format!("{bytes} bytes at byte {x} of a row of a surface; accepted: multiples of {bytes}");
        return Err(Trouble { lane, message });
    }
    let is_inside = (0..=width - size).contains(&x) && (0..height).contains(&y);
    let (x, y) = match outside {
        Outside::Clamp if width >= size => (x.clamp(0, (width - size) / size * size), y.clamp(0, height - 1)),
        _ if is_inside => (x, y),
        Outside::Zero => return Ok(None),
        Outside::Trap | Outside::Clamp => {
            let message = format!(
                "{bytes} bytes at byte {x} of row {y} of a surface; accepted: rows 0 to {} of {width} bytes",
                height - 1
            );
            return Err(Trouble { lane, message });
        }
    };
    Ok(Some((y * row + x) as usize))
}

/// Loads from a surface, or stores to it (`loads`): up to four elements a lane. Gives the addresses.
pub(super) fn surface(
    registers: &mut Registers,
    memories: &mut Memories<'_>,
    operands: &Operands,
    (ty, dimensions, outside, loads): (Type, u8, Outside, bool),
    lanes: LaneMask,
    handles: &Lanes,
) -> Result<Lanes, Trouble> {
    let size = ty.bytes() as usize;
    let first = usize::from(dimensions);
    let count =
        if loads { usize::from(operands.result_count) } else { usize::from(operands.source_count) - first };
    let mut addresses = [0; LANES];
    let mut loaded = [[0; LANES]; 4];
    for lane in lanes_of(lanes) {
        let coordinate = |axis: usize| signed(registers.rows[operands.sources[axis] as usize][lane], 32);
        let at = [coordinate(0), if dimensions == 2 { coordinate(1) } else { 0 }];
        let bound = find(&memories.loaded.objects, handles[lane], lane, ObjectKind::Surface)?;
        let offset = surface_offset(&bound.object, size * count, at, outside, lane)?;
        addresses[lane] = memories.global.address(bound.buffer) + offset.unwrap_or(0) as u64;
        let Some(offset) = offset else { continue };
        let bytes = &mut memories.global.bytes_mut(bound.buffer)[offset..][..size * count];
        for (element, bytes) in bytes.chunks_exact_mut(size).enumerate() {
            if loads {
                let mut value = [0; 8];
                value[..size].copy_from_slice(bytes);
                loaded[element][lane] = u64::from_le_bytes(value);
            } else {
                let value = registers.rows[operands.sources[first + element] as usize][lane];
                bytes.copy_from_slice(&value.to_le_bytes()[..size]);
            }
        }
    }
    for (result, values) in operands.results.iter().zip(&loaded) {
        if let Some(Target::Row { row, .. }) = *result {
            registers.write(row, lanes, values);
        }
    }
    Ok(addresses)
}
