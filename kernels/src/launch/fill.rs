//! What buffers hold at first.
//!
//! Random values come from SplitMix64 (Steele, Lea & Flood 2014), so a seed gives the same data everywhere.

use std::path::Path;

use super::arguments::{Reference, structure_bytes};
use super::error::{LaunchError, Origin};
use super::expression::{Value, Variables};
use super::host::Host;
use super::{Buffer, ElementType, Fill, LaunchFile, MAX_BUFFER_BYTES, Member, Scalar};

impl LaunchFile {
    /// Elements of every buffer for a size; an error if they are too large together.
    pub fn buffer_lengths(&self, variables: &Variables) -> Result<Vec<usize>, LaunchError> {
        let mut total = 0;
        let mut lengths = Vec::new();
        for buffer in &self.buffers {
            let length = buffer.length.evaluate_within(variables, 1, MAX_BUFFER_BYTES as i64)? as u64;
            total += length * buffer.element.bytes() as u64;
            if total > MAX_BUFFER_BYTES {
                return Err(buffer.origin.error(format!(
                    "with `{}` the buffers have {total} bytes together; at most {MAX_BUFFER_BYTES} are accepted",
                    buffer.name
                )));
            }
            lengths.push(length as usize);
        }
        Ok(lengths)
    }
}

/// The first contents of a buffer of `length` elements, little-endian.
pub(super) fn contents(buffer: &Buffer, length: usize, host: Host<'_>) -> Result<Vec<u8>, LaunchError> {
    let context = Context { element: buffer.element, host };
    let variables = host.variables;
    let mut bytes = context.elements(&buffer.fill, length, &buffer.origin)?;
    for patch in &buffer.patches {
        let last_index = length as i64 - 1;
        let first = patch.first.evaluate_within(variables, 0, last_index)?;
        let every = patch.every.evaluate_within(variables, 1, length as i64)?;
        let count = patch.count.evaluate_within(variables, 0, (last_index - first) / every + 1)?;
        let own = context.elements(&patch.fill, count as usize, &patch.origin)?;
        let size = buffer.element.bytes();
        for (index, element) in own.chunks_exact(size).enumerate() {
            let at = (first as usize + index * every as usize) * size;
            bytes[at..at + size].copy_from_slice(element);
        }
    }
    Ok(bytes)
}

struct Context<'a> {
    element: ElementType,
    host: Host<'a>,
}

impl Context<'_> {
    fn elements(&self, fill: &Fill, count: usize, origin: &Origin) -> Result<Vec<u8>, LaunchError> {
        match fill {
            Fill::Zeros => Ok(vec![0; count * self.element.bytes()]),
            Fill::Constant(value) => {
                let mut one = Vec::new();
                value.push(self.element, &self.host, &mut one)?;
                Ok(one.repeat(count))
            }
            Fill::Iota { start, step } => self.iota(start, step, count, origin),
            Fill::Random { seed, low, high } => self.random(*seed, low, high, count, origin),
            Fill::Cumulative { seed, low, high } => self.cumulative(*seed, low, high, count, origin),
            Fill::Values(values) => self.values(values, count, origin),
            Fill::Structures(structures) => self.structures(structures, count, origin),
            Fill::File(file) => read_elements(&self.host.folder().join(file), self.element, count, origin),
        }
    }

    fn iota(
        &self,
        start: &Scalar,
        step: &Scalar,
        count: usize,
        origin: &Origin,
    ) -> Result<Vec<u8>, LaunchError> {
        let mut bytes = Vec::with_capacity(count * self.element.bytes());
        if self.element.is_float() {
            let (start, step) = (start.real(self.host.variables)?, step.real(self.host.variables)?);
            for index in 0..count {
                self.element
                    .push_float(start + step * index as f64, &mut bytes)
                    .map_err(|m| origin.error(m))?;
            }
        } else {
            let step = step.integer(self.host.variables)?;
            // Addresses go on by elements of the buffer that they point to, as pointers do in C.
            let (start, unit) = match start {
                Scalar::Address(address) => {
                    self.check_holds_addresses(origin)?;
                    (self.host.address(address)? as i64, self.host.element_bytes(address) as i64)
                }
                Scalar::Expression(_) | Scalar::Real(..) => (start.integer(self.host.variables)?, 1),
            };
            for index in 0..count as i64 {
                let value = step.checked_mul(unit).and_then(|step| step.checked_mul(index));
                let value = value.and_then(|offset| start.checked_add(offset));
                let value = value.ok_or_else(|| origin.error("the iota does not fit 64 bits"))?;
                self.element.push_integer(value, &mut bytes).map_err(|m| origin.error(m))?;
            }
        }
        Ok(bytes)
    }

    fn random(
        &self,
        seed: u64,
        low: &Scalar,
        high: &Scalar,
        count: usize,
        origin: &Origin,
    ) -> Result<Vec<u8>, LaunchError> {
        let mut random = SplitMix64(seed);
        let mut bytes = Vec::with_capacity(count * self.element.bytes());
        if self.element.is_float() {
            let (low, high) = (low.real(self.host.variables)?, high.real(self.host.variables)?);
            if low > high {
                return Err(origin.error(format!("low is {low}, more than high, {high}")));
            }
            for _ in 0..count {
                self.element.push_float(random.real(low, high), &mut bytes).map_err(|m| origin.error(m))?;
            }
        } else {
            let (low, high) = self.integer_range(low, high, origin)?;
            for _ in 0..count {
                self.element
                    .push_integer(random.integer(low, high), &mut bytes)
                    .map_err(|m| origin.error(m))?;
            }
        }
        Ok(bytes)
    }

    fn cumulative(
        &self,
        seed: u64,
        low: &Scalar,
        high: &Scalar,
        count: usize,
        origin: &Origin,
    ) -> Result<Vec<u8>, LaunchError> {
        let mut random = SplitMix64(seed);
        let (low, high) = self.integer_range(low, high, origin)?;
        let mut bytes = Vec::with_capacity(count * self.element.bytes());
        let mut sum = 0i64;
        for _ in 0..count {
            self.element.push_integer(sum, &mut bytes).map_err(|m| origin.error(m))?;
            let next = sum.checked_add(random.integer(low, high));
            sum = next.ok_or_else(|| origin.error("the running sum does not fit 64 bits"))?;
        }
        Ok(bytes)
    }

    fn integer_range(&self, low: &Scalar, high: &Scalar, origin: &Origin) -> Result<(i64, i64), LaunchError> {
        let (low, high) = (low.integer(self.host.variables)?, high.integer(self.host.variables)?);
        if low > high {
            return Err(origin.error(format!("low is {low}, more than high, {high}")));
        }
        Ok((low, high))
    }

    fn structures(
        &self,
        structures: &[Vec<Member>],
        count: usize,
        origin: &Origin,
    ) -> Result<Vec<u8>, LaunchError> {
        if self.element.bytes() != 1 {
            let name = self.element.name();
            return Err(
                origin.error(format!("structures in a buffer of type {name}; u8 and s8 are accepted"))
            );
        }
        let mut bytes = Vec::new();
        for members in structures {
            let members = members.iter().map(|member| self.host.member(member));
            let members = members.collect::<Result<Vec<_>, _>>()?;
            let structure =
                structure_bytes(
                    &members,
                    self.host.memory.pointer_bytes(),
                    &mut |reference| match reference {
                        Reference::Buffer(buffer) => Ok(self.host.memory.address(buffer)),
                        Reference::Object(object) => Err(format!(
                            "the handle of a {} in a buffer; accepted: as an argument",
                            object.kind.name()
                        )),
                    },
                );
            bytes.extend(structure.map_err(|message| origin.error(message))?);
        }
        if bytes.len() != count {
            let (found, number) = (bytes.len(), structures.len());
            return Err(
                origin.error(format!("{number} structures of {found} bytes together for {count} bytes"))
            );
        }
        Ok(bytes)
    }

    fn check_holds_addresses(&self, origin: &Origin) -> Result<(), LaunchError> {
        check_holds_addresses(self.element, &self.host).map_err(|message| origin.error(message))
    }

    fn values(&self, values: &[Scalar], count: usize, origin: &Origin) -> Result<Vec<u8>, LaunchError> {
        if values.len() != count {
            return Err(origin.error(format!("{} values for {count} elements", values.len())));
        }
        let mut bytes = Vec::with_capacity(count * self.element.bytes());
        for value in values {
            value.push(self.element, &self.host, &mut bytes)?;
        }
        Ok(bytes)
    }
}

/// Reads exactly `count` raw little-endian elements.
pub(super) fn read_elements(
    path: &Path,
    element: ElementType,
    count: usize,
    origin: &Origin,
) -> Result<Vec<u8>, LaunchError> {
    let failed = |error: std::io::Error| origin.error(format!("{} cannot be read: {error}", path.display()));
    let found = std::fs::metadata(path).map_err(failed)?.len();
    let wanted = (count * element.bytes()) as u64;
    if found != wanted {
        return Err(origin.error(format!(
            "{} has {found} bytes; {count} elements of {} are {wanted}",
            path.display(),
            element.name()
        )));
    }
    std::fs::read(path).map_err(failed)
}

/// That an element is an integer of as many bytes as an address of the modules.
fn check_holds_addresses(element: ElementType, host: &Host<'_>) -> Result<(), String> {
    let pointer = host.memory.pointer_bytes();
    if !element.is_float() && element.bytes() == pointer {
        return Ok(());
    }
    Err(format!("an address, of {pointer} bytes, as {}; u{} is accepted", element.name(), 8 * pointer))
}

impl Scalar {
    /// Its value as an integer.
    fn integer(&self, variables: &Variables) -> Result<i64, LaunchError> {
        match self {
            Scalar::Expression(expression) => expression.evaluate(variables),
            Scalar::Real(origin, value) => Err(origin.error(format!("{value} where an integer is expected"))),
            Scalar::Address(address) => Err(address.origin.error("an address where an integer is expected")),
        }
    }

    /// Its value as a real number.
    fn real(&self, variables: &Variables) -> Result<f64, LaunchError> {
        match self {
            Scalar::Expression(expression) => expression.value(variables).map(Value::real),
            Scalar::Real(_, value) => Ok(*value),
            Scalar::Address(address) => Err(address.origin.error("an address where a number is expected")),
        }
    }

    /// Appends it in little-endian form.
    pub(super) fn push(
        &self,
        element: ElementType,
        host: &Host<'_>,
        into: &mut Vec<u8>,
    ) -> Result<(), LaunchError> {
        let (origin, pushed) = match self {
            Scalar::Expression(expression) => {
                let pushed = match expression.value(host.variables)? {
                    Value::Integer(value) => element.push_integer(value, into),
                    Value::Real(value) => element.push_float(value, into),
                };
                (&expression.origin, pushed)
            }
            Scalar::Real(origin, value) => (origin, element.push_float(*value, into)),
            Scalar::Address(address) => {
                let value = host.address(address)?;
                let held = check_holds_addresses(element, host);
                (&address.origin, held.and_then(|()| element.push_integer(value as i64, into)))
            }
        };
        pushed.map_err(|message| origin.error(message))
    }
}

/// The SplitMix64 generator.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `low..=high`.
    fn integer(&mut self, low: i64, high: i64) -> i64 {
        let span = (i128::from(high) - i128::from(low) + 1) as u128;
        let offset = (u128::from(self.next()) * span) >> 64;
        (i128::from(low) + offset as i128) as i64
    }

    /// Uniform from `low` to `high`, 53 bits of it random.
    fn real(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        low + (high - low) * unit
    }
}
