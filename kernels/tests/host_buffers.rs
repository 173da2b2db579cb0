//! Host memory without a device behind it.

use warpfile_kernels::launch::HostMemory;

/// Buffers as plain bytes.
#[derive(Default)]
pub struct HostBuffers(pub Vec<Vec<u8>>);

impl HostMemory for HostBuffers {
    fn read(&self, buffer: usize) -> Result<&[u8], String> {
        self.0.get(buffer).map(Vec::as_slice).ok_or_else(|| format!("no buffer {buffer}"))
    }

    /// As if each had a megabyte.
    fn address(&self, buffer: usize) -> u64 {
        (buffer as u64 + 1) << 20
    }

    fn write(&mut self, buffer: usize, bytes: &[u8]) -> Result<(), String> {
        if self.0.len() <= buffer {
            self.0.resize(buffer + 1, Vec::new());
        }
        self.0[buffer] = bytes.to_vec();
        Ok(())
    }
}
