//! What the host knows between launches: where buffers are, and what they hold.

use std::path::Path;

use super::element::Number;
use super::error::LaunchError;
use super::expression::{Buffers, Reduction, Value};
use super::sequence::{HostMemory, MemberValue};
use super::{Address, Buffer, LaunchFile, MAX_READ_ELEMENTS, Member, Variables};

/// Variables, and where buffers are.
#[derive(Clone, Copy)]
pub(super) struct Host<'a> {
    pub(super) file: &'a LaunchFile,
    /// Elements of each buffer.
    pub(super) lengths: &'a [usize],
    /// The buffer in memory that each name stands for.
    pub(super) bound: &'a [usize],
    pub(super) variables: &'a Variables,
    pub(super) memory: &'a dyn HostMemory,
}

impl Host<'_> {
    /// Where relative paths start.
    pub(super) fn folder(&self) -> &Path {
        self.file.folder()
    }

    /// The buffer in memory that an address is of, and bytes from its start.
    pub(super) fn locate(&self, address: &Address) -> Result<(usize, u64), LaunchError> {
        let Buffer { name, element, .. } = &self.file.buffers[address.buffer];
        let (offset, length) = (address.offset.evaluate(self.variables)?, self.lengths[address.buffer]);
        match u64::try_from(offset).ok().filter(|&offset| offset <= length as u64) {
            Some(offset) => Ok((self.bound[address.buffer], offset * element.bytes() as u64)),
            None => Err(address.origin.error(format!(
                "element {offset} of `{name}`, which has {length}; 0 to {length} is accepted"
            ))),
        }
    }

    /// The device address of a buffer's element.
    pub(super) fn address(&self, address: &Address) -> Result<u64, LaunchError> {
        let (buffer, offset) = self.locate(address)?;
        Ok(self.memory.address(buffer).wrapping_add(offset))
    }

    /// Bytes of an element that an address points to.
    pub(super) fn element_bytes(&self, address: &Address) -> usize {
        self.file.buffers[address.buffer].element.bytes()
    }

    /// A member's value.
    pub(super) fn member(&self, member: &Member) -> Result<MemberValue, LaunchError> {
        match member {
            Member::Address(address) => {
                let (buffer, offset) = self.locate(address)?;
                Ok(MemberValue::Buffer { buffer, offset })
            }
            Member::Scalar(element, scalar) => {
                let mut bytes = Vec::new();
                scalar.push(*element, self, &mut bytes)?;
                Ok(MemberValue::Scalar(*element, bytes))
            }
            Member::Object(object) => {
                let object = object.with_buffer(|buffer| self.bound[buffer]).evaluate(self.variables)?;
                Ok(MemberValue::Object(Box::new(object)))
            }
        }
    }
}

/// Reads buffers between launches, so many elements at most.
pub(super) struct DeviceReader<'a> {
    pub(super) file: &'a LaunchFile,
    pub(super) bound: &'a [usize],
    pub(super) memory: &'a dyn HostMemory,
    pub(super) elements_left: &'a mut u64,
}

impl DeviceReader<'_> {
    fn buffer(&self, name: &str) -> Result<(&Buffer, &[u8]), String> {
        let index = self.file.buffers.iter().position(|buffer| buffer.name == name);
        let index = index.ok_or_else(|| format!("no buffer `{name}`"))?;
        Ok((&self.file.buffers[index], self.memory.read(self.bound[index])?))
    }

    fn take(&mut self, elements: u64) -> Result<(), String> {
        let left = self.elements_left.checked_sub(elements);
        *self.elements_left = left.ok_or_else(|| {
            format!("more than the {MAX_READ_ELEMENTS} elements that `let` and `while` of one run may read")
        })?;
        Ok(())
    }
}

impl Buffers for DeviceReader<'_> {
    fn element(&mut self, name: &str, index: i64) -> Result<Value, String> {
        let (buffer, contents) = self.buffer(name)?;
        let size = buffer.element.bytes();
        let length = contents.len() / size;
        let at = usize::try_from(index).ok().filter(|&index| index < length);
        let at = at.ok_or_else(|| format!("element {index} of `{name}`, which has {length}"))?;
        let value = value(buffer.element.read(&contents[at * size..(at + 1) * size]), name)?;
        self.take(1)?;
        Ok(value)
    }

    fn reduce(&mut self, reduction: Reduction, name: &str) -> Result<Value, String> {
        let (buffer, contents) = self.buffer(name)?;
        let elements = contents.len() / buffer.element.bytes();
        self.take(elements as u64)?;
        let (buffer, contents) = self.buffer(name)?;
        let elements = contents.chunks_exact(buffer.element.bytes()).map(|bytes| buffer.element.read(bytes));
        let reduced = elements.reduce(|left, right| combine(reduction, left, right));
        value(reduced.ok_or_else(|| format!("`{name}` is empty"))?, name)
    }
}

/// Two elements of one buffer as one. No sum of as many 64-bit integers as a buffer has leaves 128 bits.
fn combine(reduction: Reduction, left: Number, right: Number) -> Number {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => Number::Integer(match reduction {
            Reduction::Sum => left + right,
            Reduction::Min => left.min(right),
            Reduction::Max => left.max(right),
        }),
        (Number::Float(left), Number::Float(right)) => Number::Float(match reduction {
            Reduction::Sum => left + right,
            // What is no number is not passed over.
            Reduction::Min | Reduction::Max if left.is_nan() || right.is_nan() => f64::NAN,
            Reduction::Min => left.min(right),
            Reduction::Max => left.max(right),
        }),
        // A buffer has elements of one type.
        (Number::Integer(_), Number::Float(_)) | (Number::Float(_), Number::Integer(_)) => {
            Number::Float(f64::NAN)
        }
    }
}

fn value(number: Number, buffer: &str) -> Result<Value, String> {
    match number {
        Number::Integer(integer) => i64::try_from(integer)
            .map(Value::Integer)
            .map_err(|_| format!("`{buffer}` gives {integer}, which does not fit 64 bits")),
        Number::Float(real) if real.is_finite() => Ok(Value::Real(real)),
        Number::Float(real) => Err(format!("`{buffer}` gives {real:?}, which is not finite")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(Vec<u8>);

    impl HostMemory for One {
        fn read(&self, _buffer: usize) -> Result<&[u8], String> {
            Ok(&self.0)
        }

        fn write(&mut self, _buffer: usize, _bytes: &[u8]) -> Result<(), String> {
            Err("only read".to_owned())
        }

        fn address(&self, _buffer: usize) -> u64 {
            0
        }
    }

    /// Reads a buffer `x` of that type with that contents.
    fn read<T>(
        ty: &str,
        contents: &[u8],
        left: &mut u64,
        look: impl FnOnce(&mut DeviceReader<'_>) -> T,
    ) -> T {
        let text = format!(
            "[buffers]\nx = {{ type = '{ty}', length = 2, fill = 'zeros' }}\n[[steps]]\nfill = 'x'\n"
        );
        let file = LaunchFile::parse(Path::new("l.toml"), &text).unwrap();
        let memory = One(contents.to_vec());
        look(&mut DeviceReader { file: &file, bound: &[0], memory: &memory, elements_left: left })
    }

    #[test]
    fn so_many_elements_are_read_and_no_more() {
        let mut left = 5;
        read("u16", &[1, 0, 2, 0], &mut left, |reader| {
            assert_eq!(reader.reduce(Reduction::Sum, "x"), Ok(Value::Integer(3)));
            assert_eq!(reader.element("x", 1), Ok(Value::Integer(2)));
            assert_eq!(reader.reduce(Reduction::Max, "x"), Ok(Value::Integer(2)));
            assert!(reader.element("x", 0).unwrap_err().starts_with("more than the"));
        });
        assert_eq!(left, 0);
    }

    #[test]
    fn what_no_variable_can_hold_is_an_error() {
        let all = |ty, contents: &[u8]| {
            read(ty, contents, &mut 100, |reader| {
                [Reduction::Sum, Reduction::Min, Reduction::Max]
                    .map(|reduction| reader.reduce(reduction, "x"))
            })
        };
        let nan = all("f32", &[1.0_f32, f32::NAN].map(f32::to_le_bytes).concat());
        assert!(nan.into_iter().all(|result| result.is_err_and(|message| message.contains("NaN"))));
        let large = all("u64", &[u64::MAX, 1].map(u64::to_le_bytes).concat());
        assert!(large[0].is_err() && large[1] == Ok(Value::Integer(1)) && large[2].is_err(), "{large:?}");
    }
}
