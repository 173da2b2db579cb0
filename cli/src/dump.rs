//! `run --dump`: buffers as they are after the last launch, raw or in NumPy's format.

use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, bail};
use warpfile_kernels::launch::ElementType;
use warpfile_kernels::workloads::BufferContents;

use crate::files::Output;
use crate::input::{Input, Source};

/// Bytes of which the data in a .npy file starts at a multiple.
const NPY_ALIGNMENT: usize = 64;

/// A buffer that is to be written to a file, `NAME=FILE`.
#[derive(Clone)]
pub struct Dump {
    buffer: String,
    path: PathBuf,
}

impl FromStr for Dump {
    type Err = String;

    fn from_str(text: &str) -> Result<Dump, String> {
        match text.split_once('=') {
            Some((buffer, path)) if !buffer.is_empty() && !path.is_empty() => {
                Ok(Dump { buffer: buffer.to_owned(), path: path.into() })
            }
            Some(_) | None => Err("accepted: NAME=FILE, as in sum=sum.npy".to_owned()),
        }
    }
}

/// The files of the buffers, started before the run, so that one that cannot be written is found out at once.
pub struct Dumps(Vec<(String, Output)>);

impl Dumps {
    /// Of the only kernel. Buffers that it does not have are refused, and two that share a file.
    pub fn create(dumps: &[Dump], inputs: &[Input], source: &Source<'_>) -> anyhow::Result<Dumps> {
        let Some(first) = dumps.first() else { return Ok(Dumps(Vec::new())) };
        let option = |dump: &Dump| format!("--dump {}={}", dump.buffer, dump.path.display());
        if inputs.len() > 1 {
            bail!("{}: accepted: one kernel; given: {}", option(first), inputs.len());
        }
        let Ok(workload) = source.workload()? else {
            bail!("{}: a trace has no buffers; accepted: a workload, PTX or a launch file", option(first));
        };
        let mut files = Vec::new();
        for (index, dump) in dumps.iter().enumerate() {
            workload.check_buffer(&dump.buffer).with_context(|| option(dump))?;
            if dumps[..index].iter().any(|other| other.path == dump.path) {
                bail!("{}: another --dump has this file; accepted: a file for each", option(dump));
            }
            files.push((dump.buffer.clone(), Output::create(&dump.path)?));
        }
        Ok(Dumps(files))
    }

    /// Writes what the buffers hold after the last launch, and gives the names of the files.
    pub fn publish(self, source: &Source<'_>) -> anyhow::Result<Vec<String>> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let Ok(workload) = source.workload()? else { return Ok(Vec::new()) };
        let mut complete = Vec::new();
        for (buffer, mut file) in self.0 {
            let BufferContents { element, bytes } = workload.buffer(&buffer)?;
            let is_npy = file.path().extension().is_some_and(|extension| extension == "npy");
            let header = if is_npy { npy_header(element, bytes.len() / element.bytes()) } else { Vec::new() };
            let written = file.file().write_all(&header).and_then(|()| file.file().write_all(&bytes));
            written.with_context(|| format!("cannot write {}", file.path().display()))?;
            complete.push(file);
        }
        let names = complete.iter().map(|file| file.path().display().to_string()).collect();
        complete.into_iter().try_for_each(Output::publish)?;
        Ok(names)
    }
}

/// The header of a .npy file of version 1.0 with one axis (NumPy Enhancement Proposal 1, `numpy.lib.format`).
fn npy_header(element: ElementType, elements: usize) -> Vec<u8> {
    let order = if element.bytes() == 1 { '|' } else { '<' };
    let kind = match element {
        ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => 'u',
        ElementType::S8 | ElementType::S16 | ElementType::S32 | ElementType::S64 => 'i',
        ElementType::F32 | ElementType::F64 => 'f',
    };
    let bytes = element.bytes();
    let mut text =
        format!("{{'descr': '{order}{kind}{bytes}', 'fortran_order': False, 'shape': ({elements},), }}");
    const PREFIX: &[u8] = b"\x93NUMPY\x01\x00";
    let start = PREFIX.len() + size_of::<u16>();
    let padded = (start + text.len() + 1).next_multiple_of(NPY_ALIGNMENT) - start;
    text = format!("{text:<width$}\n", width = padded - 1);
    [PREFIX, &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `numpy.save` writes it (NumPy 1.26).
    #[test]
    fn the_header_is_numpys() {
        let header = npy_header(ElementType::F32, 3);
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
        assert_eq!(&header[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(header.len(), 128);
        let written = std::str::from_utf8(&header[10..]).expect("text");
        assert_eq!(written, format!("{text:<117}\n"));
        let bytes = npy_header(ElementType::S8, 1 << 30);
        assert!(bytes.len().is_multiple_of(64) && bytes.windows(6).any(|part| part == b"'|i1',"));
    }
}
