//! Loads, stores and atomics of one warp.

use super::convert::extend;
use super::copies::Copies;
use super::decode::{Operands, Result as Target};
use super::error::Trouble;
use super::float;
use super::integer::{self, mask};
use super::launch::{Loaded, resolve_generic};
use super::memory::Memory;
use super::outside::Outside;
use super::print::Printed;
use super::registers::{Lanes, Registers};
use super::texture::{self, Coordinates};
use crate::launch::ObjectKind;
use crate::program::{LANES, LaneMask, Space};
use crate::ptx::ir::{AtomicOp, Type, TypeKind, VariableId};

/// Where the memory system sees local memory: above all buffers.
const LOCAL_MEMORY: u64 = 0x7f10_0000_0000;

/// Every memory that a warp can reach.
pub(super) struct Memories<'m> {
    pub(super) global: &'m mut Memory,
    pub(super) shared: &'m mut [u8],
    /// Local memory of the warp's lanes, one after the other.
    pub(super) local: &'m mut [u8],
    /// Bytes of local memory a lane.
    pub(super) local_bytes: usize,
    pub(super) parameters: &'m [u8],
    pub(super) loaded: &'m Loaded,
    /// Buffer of the last global access.
    pub(super) hint: &'m mut usize,
    /// Accesses outside of every buffer, where they are tolerated.
    pub(super) outside: Option<Outside>,
    /// Copies to shared memory that the warp has under way.
    pub(super) copies: &'m mut Copies,
    /// What the block has printed.
    pub(super) printed: &'m mut Printed,
}

/// Bytes that may be changed, or only read, or are in no buffer.
enum Bytes<'m> {
    Writable(&'m mut [u8]),
    ReadOnly(&'m [u8]),
    Outside,
}

impl Memories<'_> {
    /// The bytes of one lane's access.
    #[inline]
    fn at(&mut self, space: Space, address: u64, bytes: usize, lane: usize) -> Result<Bytes<'_>, Trouble> {
        let (space, address) = match space {
            Space::Generic => resolve_generic(address),
            other => (other, address),
        };
        if matches!(space, Space::Global | Space::Generic) {
            // Looked up twice: a borrow that is returned cannot be given up for the message.
            if self.global.at(address, bytes, self.hint).is_none() {
                let describe = || {
                    let nearest = self.global.describe_nearest(address);
                    Trouble {
                        lane,
                        message: format!("{bytes} bytes at global address {address:#x}, {nearest}"),
                    }
                };
                let Some(outside) = &mut self.outside else { return Err(describe()) };
                outside.note(describe);
                return Ok(Bytes::Outside);
            }
            let found = self.global.at(address, bytes, self.hint).unwrap_or_default();
            return Ok(Bytes::Writable(found));
        }
        let (name, size) = self.extent(space);
        if address > size as u64 || address + bytes as u64 > size as u64 {
            let message = format!("{bytes} bytes at {name} address {address:#x}; accepted: below {size:#x}");
            return Err(Trouble { lane, message });
        }
        let range = address as usize..address as usize + bytes;
        Ok(match space {
            Space::Shared => Bytes::Writable(&mut self.shared[range]),
            Space::Local => Bytes::Writable(&mut self.local[lane * self.local_bytes..][range]),
            Space::Constant => Bytes::ReadOnly(&self.loaded.constants[range]),
            Space::Parameter | Space::Global | Space::Generic => Bytes::ReadOnly(&self.parameters[range]),
        })
    }

    /// A value of up to 8 bytes.
    pub(super) fn read(
        &mut self,
        space: Space,
        address: u64,
        bytes: usize,
        lane: usize,
    ) -> Result<u64, Trouble> {
        Ok(match self.at(space, address, bytes, lane)? {
            Bytes::Writable(bytes) => load_bytes(bytes),
            Bytes::ReadOnly(bytes) => load_bytes(bytes),
            Bytes::Outside => 0,
        })
    }

    fn extent(&self, space: Space) -> (&'static str, usize) {
        match space {
            Space::Global | Space::Generic => ("global", 0),
            Space::Shared => ("shared", self.shared.len()),
            Space::Local => ("local", self.local_bytes),
            Space::Constant => ("constant", self.loaded.constants.len()),
            Space::Parameter => ("parameter", self.parameters.len()),
        }
    }
}

fn check_alignment(address: u64, bytes: usize, lane: usize) -> Result<(), Trouble> {
    if address.is_multiple_of(bytes as u64) {
        return Ok(());
    }
    let message = format!("{bytes} bytes at address {address:#x}; accepted: multiples of {bytes}");
    Err(Trouble { lane, message })
}

/// The address in every lane of a mask.
///
/// Addresses of global and generic memory have as many bits as the module says, those within a window 32, whatever the
/// register has: a base that is negative as a 32-bit number and an offset that makes up for it are an address.
pub(super) fn addresses(registers: &Registers, operands: &Operands, space: Space, lanes: LaneMask) -> Lanes {
    let base = &registers.rows[operands.base as usize];
    let within = match space {
        Space::Global | Space::Generic => operands.address_mask,
        Space::Shared | Space::Local | Space::Constant | Space::Parameter => mask(32),
    };
    let mut out = [0; LANES];
    for lane in 0..LANES {
        if lanes >> lane & 1 == 1 {
            out[lane] = base[lane].wrapping_add_signed(operands.offset) & within;
        }
    }
    out
}

/// Lanes of a mask, in ascending order.
#[inline]
pub(super) fn lanes_of(mut lanes: LaneMask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (lanes != 0).then_some(lanes.trailing_zeros() as usize);
        lanes &= lanes.wrapping_sub(1);
        lane
    })
}

#[inline(always)]
fn load_bytes(bytes: &[u8]) -> u64 {
    let mut array = [0; 8];
    array[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(array)
}

/// A load, scalar or vector.
pub(super) fn load(
    registers: &mut Registers,
    memories: &mut Memories<'_>,
    operands: &Operands,
    space: Space,
    ty: Type,
    lanes: LaneMask,
    addresses: &Lanes,
) -> Result<(), Trouble> {
    let size = ty.bytes() as usize;
    let total = size * usize::from(operands.result_count);
    let mut values = [[0; LANES]; 4];
    for lane in lanes_of(lanes) {
        check_alignment(addresses[lane], total, lane)?;
        let bytes = match memories.at(space, addresses[lane], total, lane)? {
            Bytes::Writable(bytes) => &*bytes,
            Bytes::ReadOnly(bytes) => bytes,
            // Its values are zero from the start.
            Bytes::Outside => continue,
        };
        for (values, bytes) in values.iter_mut().zip(bytes.chunks_exact(size)) {
            values[lane] = load_bytes(bytes);
        }
    }
    for (result, values) in operands.results.iter().zip(&values) {
        if let Some(Target::Row { row, bits }) = *result {
            let extended = integer::map1(values, |value| extend(value, ty, bits));
            registers.write(row, lanes, &extended);
        }
    }
    Ok(())
}

/// A store, scalar or vector.
pub(super) fn store(
    registers: &Registers,
    memories: &mut Memories<'_>,
    operands: &Operands,
    space: Space,
    ty: Type,
    lanes: LaneMask,
    addresses: &Lanes,
) -> Result<(), Trouble> {
    let size = ty.bytes() as usize;
    let total = size * usize::from(operands.source_count);
    for lane in lanes_of(lanes) {
        check_alignment(addresses[lane], total, lane)?;
        let bytes = match memories.at(space, addresses[lane], total, lane)? {
            Bytes::Writable(bytes) => bytes,
            Bytes::ReadOnly(_) => return Err(read_only(addresses[lane], lane)),
            Bytes::Outside => continue,
        };
        for (&row, bytes) in operands.sources.iter().zip(bytes.chunks_exact_mut(size)) {
            let value = registers.rows[row as usize][lane];
            bytes.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
    Ok(())
}

fn read_only(address: u64, lane: usize) -> Trouble {
    Trouble {
        lane,
        message: format!("a write to read-only memory at {address:#x}; accepted: global, shared, local"),
    }
}

/// The beginning of a copy to shared memory, whose address is source 0; source 1 says how many bytes are read.
pub(super) fn copy_async(
    registers: &Registers,
    memories: &mut Memories<'_>,
    operands: &Operands,
    (bytes, offset): (u8, i64),
    lanes: LaneMask,
    addresses: &Lanes,
) -> Result<(), Trouble> {
    let size = usize::from(bytes);
    let [to, count] = [0, 1].map(|source| &registers.rows[operands.sources[source] as usize]);
    for lane in lanes_of(lanes) {
        let to = to[lane].wrapping_add_signed(offset) & mask(32);
        let count = count[lane] & mask(32);
        check_alignment(addresses[lane], size, lane)?;
        check_alignment(to, size, lane)?;
        if count > size as u64 {
            let message = format!("{count} bytes are read of a copy of {size}; accepted: at most {size}");
            return Err(Trouble { lane, message });
        }
        let mut copied = vec![0; size];
        if count > 0 {
            let found = match memories.at(Space::Global, addresses[lane], count as usize, lane)? {
                Bytes::Writable(bytes) => &*bytes,
                Bytes::ReadOnly(bytes) => bytes,
                Bytes::Outside => &[],
            };
            copied[..found.len()].copy_from_slice(found);
        }
        memories.at(Space::Shared, to, size, lane)?;
        memories.copies.begin(lane, to as usize, copied, memories.shared);
    }
    Ok(())
}

/// An atomic, lane by lane in ascending order.
pub(super) fn atomic(
    registers: &mut Registers,
    memories: &mut Memories<'_>,
    operands: &Operands,
    (space, ty, op): (Space, Type, AtomicOp),
    lanes: LaneMask,
    addresses: &Lanes,
) -> Result<(), Trouble> {
    let size = ty.bytes() as usize;
    let mut olds = [0; LANES];
    for lane in lanes_of(lanes) {
        let address = addresses[lane];
        check_alignment(address, size, lane)?;
        let a = registers.rows[operands.sources[0] as usize][lane] & mask(ty.bits());
        let b = registers.rows[operands.sources[1] as usize][lane] & mask(ty.bits());
        let bytes = match memories.at(space, address, size, lane)? {
            Bytes::Writable(bytes) => bytes,
            Bytes::ReadOnly(_) => return Err(read_only(address, lane)),
            // The old value is zero from the start.
            Bytes::Outside => continue,
        };
        let old = load_bytes(bytes);
        olds[lane] = old;
        let new = if ty.kind() == TypeKind::Float {
            // Global memory flushes subnormals of single precision, shared memory does not.
            let global = space == Space::Global
                || space == Space::Generic && resolve_generic(address).0 == Space::Global;
            float::atomic_add(ty, global && ty == Type::F32, old, a)
        } else {
            integer::atomic(op, ty, old, a, b)
        };
        bytes.copy_from_slice(&new.to_le_bytes()[..size]);
    }
    if let Some(Target::Row { row, .. }) = operands.results[0] {
        registers.write(row, lanes, &olds);
    }
    Ok(())
}

/// A texture fetch, of the texture bound to a variable or of those whose handles are given.
pub(super) fn texture(
    registers: &mut Registers,
    memories: &mut Memories<'_>,
    operands: &Operands,
    (ty, coordinates): (Type, Coordinates),
    lanes: LaneMask,
    variable: Option<(VariableId, &str)>,
) -> Result<Lanes, Trouble> {
    let handles = addresses(registers, operands, Space::Global, lanes);
    let mut corners = [0; LANES];
    let mut values = [[0; LANES]; 4];
    let of_variable = match variable.filter(|_| lanes != 0) {
        Some((variable, name)) => {
            let bound = memories.loaded.textures[variable.index()].as_ref().ok_or_else(|| {
                let message =
                    format!("no buffer is bound to the texture `{name}`; accepted: a binding in the launch");
                Trouble { lane: lanes.trailing_zeros() as usize, message }
            })?;
            let bytes = memories.global.bytes(bound.0).len();
            Some(texture::of_reference(bound, bytes, ty))
        }
        None => None,
    };
    for lane in lanes_of(lanes) {
        let bound = match &of_variable {
            Some(bound) => bound,
            None => texture::find(&memories.loaded.objects, handles[lane], lane, ObjectKind::Texture)?,
        };
        let at = [0, 1].map(|axis| registers.rows[operands.sources[axis] as usize][lane]);
        let (components, corner) = texture::fetch(memories.global, bound, ty, coordinates, at);
        corners[lane] = corner;
        for (values, component) in values.iter_mut().zip(components) {
            values[lane] = component;
        }
    }
    for (result, values) in operands.results.iter().zip(&values) {
        if let Some(Target::Row { row, .. }) = *result {
            registers.write(row, lanes, values);
        }
    }
    Ok(corners)
}

/// The address that the memory system sees: generic addresses resolved to their space, local memory
/// interleaved by lane in words of 4 bytes, each warp in a region of its own.
pub(super) fn physical(space: Space, address: u64, lane: usize, warp: u64, local_bytes: u64) -> u64 {
    let (space, address) = match space {
        Space::Generic => resolve_generic(address),
        other => (other, address),
    };
    if space != Space::Local {
        return address;
    }
    let words = local_bytes.div_ceil(4);
    let word = warp * words * LANES as u64 + address / 4 * LANES as u64 + lane as u64;
    LOCAL_MEMORY + word * 4 + address % 4
}
