//! Device memory: named buffers at distinct addresses.

use std::hint::black_box;

use super::launch::WINDOWS;
use crate::program::DEVICE_BYTES;

/// Alignment of every buffer, as real allocators give.
const ALIGNMENT: u64 = 256;
/// Unmapped bytes between buffers, so that an access beyond one never falls into the next.
const GAP: u64 = 4096;
/// Address of the first buffer.
const FIRST: u64 = 0x1000_0000;

/// A buffer: its position in [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

/// Device memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    buffers: Vec<Buffer>,
}

#[derive(Clone, Debug)]
struct Buffer {
    name: String,
    address: u64,
    bytes: Vec<u8>,
}

/// Why an operation on device memory failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// More memory than the device has.
    #[error("buffer `{name}` of {bytes} bytes does not fit; the device has {DEVICE_BYTES} bytes")]
    Full {
        /// Buffer that was to be allocated.
        name: String,
        /// Its size.
        bytes: u64,
    },
    /// The device has room, this machine has not.
    #[error("buffer `{name}`: this machine has no {bytes} bytes left")]
    OutOfMemory {
        /// Buffer that was to be allocated.
        name: String,
        /// Its size.
        bytes: u64,
    },
    /// An access by the host outside of a buffer.
    #[error("bytes {start} to {end} of buffer `{name}`, which has {size}")]
    OutOfRange {
        /// The buffer.
        name: String,
        /// First byte.
        start: u64,
        /// One beyond the last byte.
        end: u64,
        /// Size of the buffer.
        size: u64,
    },
}

/// A number as it lies in memory, little-endian.
pub trait Element: Copy {
    /// Bytes of one element.
    const BYTES: usize;
    /// Reads one element.
    fn load(bytes: &[u8]) -> Self;
    /// Writes one element.
    fn store(self, bytes: &mut [u8]);
}

macro_rules! element {
    ($($ty:ty),*) => {$(
        impl Element for $ty {
            const BYTES: usize = size_of::<$ty>();

            fn load(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$ty>()];
                array.copy_from_slice(bytes);
                <$ty>::from_le_bytes(array)
            }

            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
element!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// So many zeros. They are asked for twice: to ask for what there is not ends the program, to reserve it does not, and only the
/// system gives zeros that take no memory until they are written.
fn zeros(bytes: u64) -> Option<Vec<u8>> {
    let bytes = usize::try_from(bytes).ok()?;
    let mut room = Vec::<u8>::new();
    room.try_reserve_exact(bytes).ok()?;
    // What nobody looks at would not be asked for.
    drop(black_box(room));
    Some(vec![0; bytes])
}

/// The address of a buffer behind `after`: not in the windows of other spaces, nor across them.
fn outside_of_windows(after: u64, bytes: u64) -> u64 {
    if after + bytes + GAP <= WINDOWS.start { after } else { after.max(WINDOWS.end) }
}

impl Memory {
    /// Empty memory.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Allocates a buffer of zeros, aligned to 256 bytes.
    ///
    /// # Errors
    /// If the device would hold more than 4 GiB, or this machine has not as much.
    pub fn allocate(&mut self, name: &str, bytes: u64) -> Result<BufferId, MemoryError> {
        let taken: u64 = self.buffers.iter().map(|buffer| buffer.bytes.len() as u64 + GAP).sum();
        if bytes > DEVICE_BYTES || taken + bytes > DEVICE_BYTES {
            return Err(MemoryError::Full { name: name.to_owned(), bytes });
        }
        let after = self
            .buffers
            .last()
            .map_or(FIRST, |last| (last.address + last.bytes.len() as u64 + GAP).next_multiple_of(ALIGNMENT));
        let after = outside_of_windows(after, bytes);
        let contents =
            zeros(bytes).ok_or_else(|| MemoryError::OutOfMemory { name: name.to_owned(), bytes })?;
        self.buffers.push(Buffer { name: name.to_owned(), address: after, bytes: contents });
        Ok(BufferId(self.buffers.len() as u32 - 1))
    }

    /// The buffer of that name.
    pub fn buffer(&self, name: &str) -> Option<BufferId> {
        self.buffers.iter().position(|buffer| buffer.name == name).map(|index| BufferId(index as u32))
    }

    /// Device address of a buffer.
    pub fn address(&self, buffer: BufferId) -> u64 {
        self.buffers[buffer.0 as usize].address
    }

    /// Name of a buffer.
    pub fn name(&self, buffer: BufferId) -> &str {
        &self.buffers[buffer.0 as usize].name
    }

    /// Contents of a buffer.
    pub fn bytes(&self, buffer: BufferId) -> &[u8] {
        &self.buffers[buffer.0 as usize].bytes
    }

    /// Contents of a buffer, to be changed by the host.
    pub fn bytes_mut(&mut self, buffer: BufferId) -> &mut [u8] {
        &mut self.buffers[buffer.0 as usize].bytes
    }

    /// All elements of a buffer; a rest smaller than an element is left out.
    pub fn read<T: Element>(&self, buffer: BufferId) -> Vec<T> {
        self.bytes(buffer).chunks_exact(T::BYTES).map(T::load).collect()
    }

    /// Writes elements from the start of a buffer.
    ///
    /// # Errors
    /// If they do not fit.
    pub fn write<T: Element>(&mut self, buffer: BufferId, elements: &[T]) -> Result<(), MemoryError> {
        let target = &mut self.buffers[buffer.0 as usize];
        let end = elements.len() * T::BYTES;
        if end > target.bytes.len() {
            return Err(MemoryError::OutOfRange {
                name: target.name.clone(),
                start: 0,
                end: end as u64,
                size: target.bytes.len() as u64,
            });
        }
        for (element, bytes) in elements.iter().zip(target.bytes.chunks_exact_mut(T::BYTES)) {
            element.store(bytes);
        }
        Ok(())
    }

    /// The bytes at a device address. `hint` is the buffer tried first and becomes the one found.
    pub(super) fn at(&mut self, address: u64, bytes: usize, hint: &mut usize) -> Option<&mut [u8]> {
        let fits = |buffer: &Buffer| {
            let offset = address.wrapping_sub(buffer.address);
            offset < buffer.bytes.len() as u64 && offset + bytes as u64 <= buffer.bytes.len() as u64
        };
        if !self.buffers.get(*hint).is_some_and(fits) {
            let beyond = self.buffers.partition_point(|buffer| buffer.address <= address);
            *hint = beyond.checked_sub(1)?;
            if !fits(&self.buffers[*hint]) {
                return None;
            }
        }
        let buffer = &mut self.buffers[*hint];
        let offset = (address - buffer.address) as usize;
        Some(&mut buffer.bytes[offset..offset + bytes])
    }

    /// The buffer nearest to an address, in words, for messages.
    pub(super) fn describe_nearest(&self, address: u64) -> String {
        let distance = |buffer: &Buffer| {
            let end = buffer.address + buffer.bytes.len() as u64;
            if address < buffer.address { buffer.address - address } else { address.saturating_sub(end) }
        };
        let Some(buffer) = self.buffers.iter().min_by_key(|buffer| distance(buffer)) else {
            return "no buffer is allocated".to_owned();
        };
        let end = buffer.address + buffer.bytes.len() as u64;
        let place = if address < buffer.address {
            format!("{} bytes before", buffer.address - address)
        } else if address < end {
            format!("across the end of, {} bytes from the start of", address - buffer.address)
        } else {
            format!("{} bytes after the end of", address - end)
        };
        format!("{place} buffer `{}` ({:#x}, {} bytes)", buffer.name, buffer.address, buffer.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_buffer_lies_in_a_window() {
        let last = WINDOWS.start - GAP;
        assert_eq!(outside_of_windows(last - 256, 256), last - 256);
        assert_eq!(outside_of_windows(last - 256, 512), WINDOWS.end);
        assert_eq!(outside_of_windows(WINDOWS.end + 256, 256), WINDOWS.end + 256);
        assert_eq!(outside_of_windows(FIRST, DEVICE_BYTES), WINDOWS.end);
    }
}
