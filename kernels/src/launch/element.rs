//! Types of buffer elements and scalar arguments, and their little-endian form.

/// The type of a buffer's elements or of a scalar argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 8 bits.
    S8,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 16 bits.
    S16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    S32,
    /// Unsigned, 64 bits; values above the signed range are not written in launch files.
    U64,
    /// Signed, 64 bits.
    S64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl ElementType {
    /// Every type, with its name in launch files (the names of PTX).
    pub const NAMES: [(&'static str, ElementType); 10] = [
        ("u8", ElementType::U8),
        ("s8", ElementType::S8),
        ("u16", ElementType::U16),
        ("s16", ElementType::S16),
        ("u32", ElementType::U32),
        ("s32", ElementType::S32),
        ("u64", ElementType::U64),
        ("s64", ElementType::S64),
        ("f32", ElementType::F32),
        ("f64", ElementType::F64),
    ];

    /// The type of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|&&(known, _)| known == name).map(|&(_, element)| element)
    }

    /// Its name in launch files.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::U8 => "u8",
            ElementType::S8 => "s8",
            ElementType::U16 => "u16",
            ElementType::S16 => "s16",
            ElementType::U32 => "u32",
            ElementType::S32 => "s32",
            ElementType::U64 => "u64",
            ElementType::S64 => "s64",
            ElementType::F32 => "f32",
            ElementType::F64 => "f64",
        }
    }

    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            ElementType::U8 | ElementType::S8 => 1,
            ElementType::U16 | ElementType::S16 => 2,
            ElementType::U32 | ElementType::S32 | ElementType::F32 => 4,
            ElementType::U64 | ElementType::S64 | ElementType::F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, ElementType::F32 | ElementType::F64)
    }

    /// Appends an integer in this type (rounded, if it is a floating-point type); an error if it does not fit.
    pub fn push_integer(self, value: i64, into: &mut Vec<u8>) -> Result<(), String> {
        let fits = match self {
            ElementType::U8 => u8::try_from(value).map(|v| into.push(v)).is_ok(),
            ElementType::S8 => i8::try_from(value).map(|v| into.extend(v.to_le_bytes())).is_ok(),
            ElementType::U16 => u16::try_from(value).map(|v| into.extend(v.to_le_bytes())).is_ok(),
            ElementType::S16 => i16::try_from(value).map(|v| into.extend(v.to_le_bytes())).is_ok(),
            ElementType::U32 => u32::try_from(value).map(|v| into.extend(v.to_le_bytes())).is_ok(),
            ElementType::S32 => i32::try_from(value).map(|v| into.extend(v.to_le_bytes())).is_ok(),
            ElementType::U64 => u64::try_from(value).map(|v| into.extend(v.to_le_bytes())).is_ok(),
            ElementType::S64 => {
                into.extend(value.to_le_bytes());
                true
            }
            ElementType::F32 | ElementType::F64 => return self.push_float(value as f64, into),
        };
        if fits { Ok(()) } else { Err(format!("{value} does not fit {}", self.name())) }
    }

    /// Appends a real number in this type, rounded; an error for an integer type.
    pub fn push_float(self, value: f64, into: &mut Vec<u8>) -> Result<(), String> {
        match self {
            ElementType::F32 => into.extend((value as f32).to_le_bytes()),
            ElementType::F64 => into.extend(value.to_le_bytes()),
            ElementType::U8
            | ElementType::S8
            | ElementType::U16
            | ElementType::S16
            | ElementType::U32
            | ElementType::S32
            | ElementType::U64
            | ElementType::S64 => return Err(format!("{value} is not an integer, as {} needs", self.name())),
        }
        Ok(())
    }

    /// Reads one element, for comparison and messages. `bytes` holds exactly one element.
    pub fn read(self, bytes: &[u8]) -> Number {
        let integer = |signed: bool| {
            let mut wide = [if signed && bytes[bytes.len() - 1] >= 0x80 { 0xff } else { 0 }; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            wide
        };
        match self {
            ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => {
                Number::Integer(i128::from(u64::from_le_bytes(integer(false))))
            }
            ElementType::S8 | ElementType::S16 | ElementType::S32 | ElementType::S64 => {
                Number::Integer(i128::from(i64::from_le_bytes(integer(true))))
            }
            ElementType::F32 => {
                let bits = u64::from_le_bytes(integer(false)) as u32;
                Number::Float(f64::from(f32::from_bits(bits)))
            }
            ElementType::F64 => Number::Float(f64::from_le_bytes(integer(false))),
        }
    }
}

/// An element's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of an integer type.
    Integer(i128),
    /// Of a floating-point type.
    Float(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Integer(value) => write!(f, "{value}"),
            Number::Float(value) => write!(f, "{value:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_integer_that_fits_reads_back_as_itself(value in any::<i64>(), shift in 0u32..64) {
            let value = value >> shift;
            for (_, element) in ElementType::NAMES {
                let mut bytes = Vec::new();
                if element.is_float() || element.push_integer(value, &mut bytes).is_err() {
                    continue;
                }
                prop_assert_eq!(bytes.len(), element.bytes());
                prop_assert_eq!(element.read(&bytes), Number::Integer(i128::from(value)));
            }
        }
    }

    #[test]
    fn a_value_out_of_range_is_an_error() {
        assert_eq!(ElementType::U8.push_integer(256, &mut Vec::new()), Err("256 does not fit u8".into()));
        assert!(ElementType::S32.push_float(0.5, &mut Vec::new()).unwrap_err().contains("not an integer"));
    }
}
