//! What a reference computes from and what it hands back.

use std::collections::BTreeMap;

use crate::launch::{HostMemory, LaunchError, Sequence, Value, Variables};

/// References have no device, and no workload of theirs has an address in a buffer.
struct NoDevice;

impl HostMemory for NoDevice {
    fn read(&self, _buffer: usize) -> Result<&[u8], String> {
        Err("a reference has no device".to_owned())
    }

    fn write(&mut self, _buffer: usize, _bytes: &[u8]) -> Result<(), String> {
        Err("a reference has no device".to_owned())
    }

    fn address(&self, _buffer: usize) -> u64 {
        0
    }
}

/// The variables of a size, and the first contents of the buffers.
pub(super) struct Inputs {
    variables: Variables,
    buffers: BTreeMap<String, Vec<u8>>,
}

impl Inputs {
    pub(super) fn of(sequence: &Sequence) -> Result<Self, LaunchError> {
        let file = sequence.file();
        let mut buffers = BTreeMap::new();
        for (index, buffer) in file.buffers.iter().enumerate() {
            buffers.insert(buffer.name.clone(), sequence.contents(index, &NoDevice)?);
        }
        Ok(Inputs { variables: sequence.variables().clone(), buffers })
    }

    /// A variable of the size.
    pub(super) fn size(&self, name: &str) -> usize {
        let value =
            self.variables.get(name).unwrap_or_else(|| panic!("the launch file has no variable {name}"));
        match *value {
            Value::Integer(value) => usize::try_from(value).expect("sizes are not negative"),
            Value::Real(value) => panic!("the size {name} is {value}"),
        }
    }

    /// A buffer of f32.
    pub(super) fn floats(&self, name: &str) -> Vec<f32> {
        self.words(name).map(f32::from_bits).collect()
    }

    /// A buffer of f32, as f64 for a reference in double precision.
    pub(super) fn doubles(&self, name: &str) -> Vec<f64> {
        self.words(name).map(|bits| f64::from(f32::from_bits(bits))).collect()
    }

    /// A buffer of f64.
    pub(super) fn wide(&self, name: &str) -> Vec<f64> {
        let (values, _rest) = self.bytes(name).as_chunks();
        values.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
    }

    /// A buffer of s32.
    pub(super) fn integers(&self, name: &str) -> Vec<i32> {
        self.words(name).map(|bits| bits as i32).collect()
    }

    /// A buffer of s16.
    pub(super) fn shorts(&self, name: &str) -> Vec<i16> {
        let (values, _rest) = self.bytes(name).as_chunks();
        values.iter().map(|&bytes| i16::from_le_bytes(bytes)).collect()
    }

    /// A buffer of u8.
    pub(super) fn bytes(&self, name: &str) -> &[u8] {
        self.buffers.get(name).unwrap_or_else(|| panic!("the launch file has no buffer {name}"))
    }

    fn words(&self, name: &str) -> impl Iterator<Item = u32> {
        self.bytes(name).chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }
}

/// Expected contents of the result buffers.
#[derive(Default)]
pub(super) struct Outputs(pub(super) BTreeMap<String, Vec<u8>>);

impl Outputs {
    pub(super) fn floats(mut self, name: &str, values: &[f32]) -> Self {
        self.0.insert(name.to_string(), values.iter().flat_map(|value| value.to_le_bytes()).collect());
        self
    }

    /// A buffer of f64.
    pub(super) fn wide(mut self, name: &str, values: &[f64]) -> Self {
        self.0.insert(name.to_string(), values.iter().flat_map(|value| value.to_le_bytes()).collect());
        self
    }

    /// A buffer of f32, from a reference in double precision.
    pub(super) fn doubles(self, name: &str, values: &[f64]) -> Self {
        let rounded: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        self.floats(name, &rounded)
    }

    /// A buffer of s16; values beyond it lose their upper halves, as in a store.
    pub(super) fn shorts(mut self, name: &str, values: &[i32]) -> Self {
        self.0.insert(
            name.to_string(),
            values.iter().flat_map(|&value| (value as i16).to_le_bytes()).collect(),
        );
        self
    }

    /// A buffer of u8.
    pub(super) fn bytes(mut self, name: &str, values: &[u8]) -> Self {
        self.0.insert(name.to_string(), values.to_vec());
        self
    }

    pub(super) fn integers(mut self, name: &str, values: &[i32]) -> Self {
        self.0.insert(name.to_string(), values.iter().flat_map(|value| value.to_le_bytes()).collect());
        self
    }
}
