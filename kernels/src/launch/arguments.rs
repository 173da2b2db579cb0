//! Arguments of a launch, laid out as the kernel's parameters.

use super::error::{LaunchError, Origin};
use super::expression::Value;
use super::object::Object;
use super::sequence::{ArgumentValue, MemberValue, Planned};
use crate::ptx::ir::{Kernel, Parameter, Type, TypeKind};

/// What an argument refers to.
#[derive(Clone, Copy, Debug)]
pub enum Reference<'r> {
    /// A buffer, by its index.
    Buffer(usize),
    /// A texture or surface.
    Object(&'r Object),
}

/// Bytes of the kernel's parameter block. `address` gives the device address of a buffer, or the handle of a texture or
/// surface, or why there is none.
///
/// The number of arguments and the size of each must be as the kernel declares.
pub fn parameter_block(
    planned: &Planned,
    kernel: &Kernel,
    mut address: impl FnMut(Reference<'_>) -> Result<u64, String>,
) -> Result<Vec<u8>, LaunchError> {
    let (given, declared) = (planned.arguments.len(), kernel.parameters.len());
    if given != declared {
        return Err(planned.origin.error(format!(
            "{given} arguments for `{}`, which has {declared} parameters{}",
            kernel.name,
            listed(&kernel.parameters)
        )));
    }
    let pointer = kernel.address_bits as usize / 8;
    let mut block = vec![0; kernel.parameter_bytes as usize];
    for (index, (argument, parameter)) in planned.arguments.iter().zip(&kernel.parameters).enumerate() {
        let origin =
            Origin { key: format!("{}.arguments[{index}]", planned.origin.key), ..planned.origin.clone() };
        let wrong = |found: String| {
            origin.error(format!(
                "{found} for the parameter `{}`, which has {} bytes{}",
                parameter.name,
                parameter.bytes,
                listed(&kernel.parameters)
            ))
        };
        let bytes = match argument {
            ArgumentValue::Member(member) => {
                let bytes =
                    member_bytes(member, pointer, &mut address).map_err(|message| origin.error(message))?;
                if !fits(member, bytes.len(), parameter) {
                    return Err(wrong(describe(member)));
                }
                bytes
            }
            ArgumentValue::Number(value) => number_bytes(*value, parameter).map_err(wrong)?,
            ArgumentValue::Expression { text, .. } if may_be_address(parameter) => {
                return Err(wrong(format!(
                    "`{text}`, which names no buffer ({{ u64 = \"{text}\" }} passes a number),"
                )));
            }
            ArgumentValue::Expression { value, .. } => number_bytes(*value, parameter).map_err(wrong)?,
            ArgumentValue::Structure(members) => {
                let bytes = structure_bytes(members, pointer, &mut address)
                    .map_err(|message| origin.error(message))?;
                if bytes.len().next_multiple_of(parameter.align.max(1) as usize) != parameter.bytes as usize {
                    return Err(wrong(format!("a structure of {} bytes", bytes.len())));
                }
                bytes
            }
        };
        let offset = parameter.offset as usize;
        block[offset..offset + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(block)
}

/// Size and kind agree.
fn fits(member: &MemberValue, bytes: usize, parameter: &Parameter) -> bool {
    let is_float = parameter.ty.kind() == TypeKind::Float;
    let is_untyped = parameter.ty.kind() == TypeKind::Bits;
    bytes == parameter.bytes as usize
        && match member {
            MemberValue::Buffer { .. } | MemberValue::Object(_) => !is_float,
            MemberValue::Scalar(element, _) => is_untyped || element.is_float() == is_float,
        }
}

fn describe(member: &MemberValue) -> String {
    match member {
        MemberValue::Buffer { .. } => "a buffer's address".to_string(),
        MemberValue::Scalar(element, _) => format!("a number of type {}", element.name()),
        MemberValue::Object(object) => format!("the handle of a {}", object.kind.name()),
    }
}

/// A number in the type of a parameter. Compilers declare signed parameters as unsigned, so that all numbers are accepted
/// that the bits can stand for; a parameter without a kind is what the number is.
fn number_bytes(value: Value, parameter: &Parameter) -> Result<Vec<u8>, String> {
    if parameter.bytes * 8 != parameter.ty.bits() {
        return Err(format!("the number {value}"));
    }
    match (value, parameter.ty.kind()) {
        (Value::Integer(value), TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits) => {
            integer_bytes(value, parameter)
        }
        (Value::Real(value), TypeKind::Float | TypeKind::Bits) => real_bytes(value, parameter),
        (Value::Integer(value), TypeKind::Float) => real_bytes(value as f64, parameter),
        (Value::Real(_), TypeKind::Signed | TypeKind::Unsigned) => {
            Err(format!("the number {value}, which is no integer,"))
        }
        (Value::Integer(_) | Value::Real(_), TypeKind::Predicate) => Err(format!("the number {value}")),
    }
}

/// Whether an address of 64 bits would fit. PTX does not tell pointers from other integers; those of 32 bits are mostly no
/// pointers, whatever the module's addresses have.
fn may_be_address(parameter: &Parameter) -> bool {
    match parameter.ty.kind() {
        TypeKind::Bits | TypeKind::Unsigned | TypeKind::Signed => parameter.bytes * 8 == 64,
        TypeKind::Float | TypeKind::Predicate => false,
    }
}

fn integer_bytes(value: i64, parameter: &Parameter) -> Result<Vec<u8>, String> {
    let bits = parameter.ty.bits();
    let most = if parameter.ty.kind() == TypeKind::Signed { bits - 1 } else { bits };
    let (low, high) = (-(1_i128 << (bits - 1)), (1_i128 << most) - 1);
    if (low..=high).contains(&i128::from(value)) {
        return Ok(value.to_le_bytes()[..parameter.bytes as usize].to_vec());
    }
    Err(format!("the number {value}, not from {low} to {high},"))
}

fn real_bytes(value: f64, parameter: &Parameter) -> Result<Vec<u8>, String> {
    let single = value as f32;
    match parameter.ty {
        Type::F32 | Type::B32 if single.is_finite() => Ok(single.to_le_bytes().to_vec()),
        Type::F64 | Type::B64 => Ok(value.to_le_bytes().to_vec()),
        Type::F32 | Type::B32 => Err(format!("the number {value:?}, which f32 cannot hold,")),
        Type::Pred
        | Type::B8
        | Type::B16
        | Type::F16
        | Type::Bf16
        | Type::U16x2
        | Type::S16x2
        | Type::F16x2
        | Type::Bf16x2
        | Type::U8
        | Type::U16
        | Type::U32
        | Type::U64
        | Type::S8
        | Type::S16
        | Type::S32
        | Type::S64 => Err(format!("the real number {value:?}")),
    }
}

fn member_bytes(
    member: &MemberValue,
    pointer: usize,
    address: &mut impl FnMut(Reference<'_>) -> Result<u64, String>,
) -> Result<Vec<u8>, String> {
    Ok(match member {
        MemberValue::Buffer { buffer, offset } => {
            let place = address(Reference::Buffer(*buffer))?.wrapping_add(*offset);
            if pointer == 4 && u32::try_from(place).is_err() {
                return Err(format!(
                    "address {place:#x} for a kernel whose addresses have 32 bits; accepted: buffers of 3.6 GiB together"
                ));
            }
            place.to_le_bytes()[..pointer].to_vec()
        }
        MemberValue::Scalar(_, bytes) => bytes.clone(),
        MemberValue::Object(object) => address(Reference::Object(object))?.to_le_bytes().to_vec(),
    })
}

/// Members at multiples of their sizes, up to a multiple of the largest; pointers have `pointer` bytes.
pub(super) fn structure_bytes(
    members: &[MemberValue],
    pointer: usize,
    address: &mut impl FnMut(Reference<'_>) -> Result<u64, String>,
) -> Result<Vec<u8>, String> {
    let (mut bytes, mut align) = (Vec::new(), 1);
    for member in members {
        let member = member_bytes(member, pointer, address)?;
        align = align.max(member.len());
        bytes.resize(bytes.len().next_multiple_of(member.len().max(1)), 0);
        bytes.extend(member);
    }
    bytes.resize(bytes.len().next_multiple_of(align), 0);
    Ok(bytes)
}

/// ` (all parameters: a .u64 8 bytes, n .s32 4 bytes)`.
fn listed(parameters: &[Parameter]) -> String {
    let one = |parameter: &Parameter| {
        format!("{} {} {} bytes", parameter.name, parameter.ty.suffix(), parameter.bytes)
    };
    let each: Vec<String> = parameters.iter().map(one).collect();
    if each.is_empty() { String::new() } else { format!(" (all parameters: {})", each.join(", ")) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::launch::ElementType;
    use crate::ptx::ir::Type;

    fn kernel(sizes: &[(u32, u32, Type)]) -> Kernel {
        let mut offset = 0u32;
        let mut parameters = Vec::new();
        for (index, &(bytes, align, ty)) in sizes.iter().enumerate() {
            offset = offset.next_multiple_of(align);
            parameters.push(Parameter { name: format!("p{index}"), ty, align, bytes, offset });
            offset += bytes;
        }
        Kernel {
            name: "k".to_string(),
            line: 1,
            parameters,
            parameter_bytes: offset,
            address_bits: 64,
            registers: Vec::new(),
            symbols: Vec::new(),
            instructions: Vec::new(),
            shared_bytes: 0,
            local_bytes: 0,
            max_threads: None,
            max_registers: None,
            min_blocks: None,
            required_block: None,
            rereads_special: false,
        }
    }

    fn block(arguments: Vec<ArgumentValue>, kernel: &Kernel) -> Result<Vec<u8>, String> {
        let planned = Planned {
            origin: Origin::of_file(Path::new("l.toml")),
            entry: None,
            grid: [1; 3],
            block: [1; 3],
            dynamic_shared_bytes: 0,
            arguments,
        };
        let address = |reference: Reference<'_>| match reference {
            Reference::Buffer(buffer) => Ok(0x1000 + buffer as u64),
            Reference::Object(object) => Err(format!("a {}", object.kind.name())),
        };
        parameter_block(&planned, kernel, address).map_err(|error| error.message)
    }

    fn s32(value: i32) -> MemberValue {
        MemberValue::Scalar(ElementType::S32, value.to_le_bytes().to_vec())
    }

    fn buffer(buffer: usize, offset: u64) -> MemberValue {
        MemberValue::Buffer { buffer, offset }
    }

    fn members(members: Vec<MemberValue>, kernel: &Kernel) -> Result<Vec<u8>, String> {
        block(members.into_iter().map(ArgumentValue::Member).collect(), kernel)
    }

    #[test]
    fn arguments_lie_at_their_parameters_offsets() {
        let found =
            members(vec![s32(7), buffer(2, 0x10)], &kernel(&[(4, 4, Type::U32), (8, 8, Type::U64)])).unwrap();
        assert_eq!(found, [7, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x10, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn members_of_a_structure_are_aligned_to_their_size() {
        let members = vec![s32(1), buffer(0, 0), s32(2)];
        let found = block(vec![ArgumentValue::Structure(members)], &kernel(&[(24, 8, Type::B8)])).unwrap();
        assert_eq!(found, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn pointers_have_as_many_bytes_as_the_module_says() {
        let narrow = |sizes| Kernel { address_bits: 32, ..kernel(sizes) };
        let found = members(vec![buffer(2, 0x10), s32(7)], &narrow(&[(4, 4, Type::U32); 2])).unwrap();
        assert_eq!(found, [0x12, 0x10, 0, 0, 7, 0, 0, 0]);
        let pair = vec![buffer(0, 0), buffer(1, 0)];
        let found = block(vec![ArgumentValue::Structure(pair)], &narrow(&[(8, 4, Type::B8)])).unwrap();
        assert_eq!(found, [0, 0x10, 0, 0, 1, 0x10, 0, 0]);
        let beyond = members(vec![buffer(0, 1 << 32)], &narrow(&[(4, 4, Type::U32)])).unwrap_err();
        assert_eq!(
            beyond,
            "address 0x100001000 for a kernel whose addresses have 32 bits; accepted: buffers of 3.6 GiB together"
        );
    }

    #[test]
    fn a_wrong_number_or_type_of_arguments_names_the_parameters() {
        let kernel = kernel(&[(8, 8, Type::U64), (4, 4, Type::F32)]);
        let few = members(vec![s32(1)], &kernel).unwrap_err();
        assert_eq!(
            few,
            "1 arguments for `k`, which has 2 parameters (all parameters: p0 .u64 8 bytes, p1 .f32 4 bytes)"
        );
        let short = members(vec![s32(1), s32(1)], &kernel).unwrap_err();
        assert!(
            short.starts_with("a number of type s32 for the parameter `p0`, which has 8 bytes"),
            "{short}"
        );
        let integer = members(vec![buffer(0, 0), s32(1)], &kernel).unwrap_err();
        assert!(integer.starts_with("a number of type s32 for the parameter `p1`"), "{integer}");
    }

    fn number(value: Value, ty: Type) -> Result<Vec<u8>, String> {
        let bytes = ty.bits() / 8;
        block(vec![ArgumentValue::Number(value)], &kernel(&[(bytes, bytes, ty)]))
    }

    #[test]
    fn a_number_without_a_type_takes_that_of_the_parameter() {
        let (one, half) = (Value::Integer(1), Value::Real(0.5));
        assert_eq!(number(one, Type::F32), Ok(1.0_f32.to_le_bytes().to_vec()));
        assert_eq!(number(one, Type::B64), Ok(1_i64.to_le_bytes().to_vec()));
        assert_eq!(number(one, Type::U8), Ok(vec![1]));
        assert_eq!(number(half, Type::B32), Ok(0.5_f32.to_le_bytes().to_vec()));
        assert_eq!(number(half, Type::F64), Ok(0.5_f64.to_le_bytes().to_vec()));
        assert_eq!(number(Value::Integer(-1), Type::U32), Ok(vec![255; 4]));
        assert_eq!(number(Value::Integer(-1), Type::U64), Ok(vec![255; 8]));
        assert_eq!(number(Value::Integer(0xffff_ffff), Type::U32), Ok(vec![255; 4]));
    }

    #[test]
    fn an_expression_is_no_address() {
        let passed = |ty: Type| {
            let text = "inputs".to_string();
            let expression = ArgumentValue::Expression { text, value: Value::Integer(128) };
            block(vec![expression], &kernel(&[(ty.bits() / 8, ty.bits() / 8, ty)]))
        };
        assert_eq!(passed(Type::U32), Ok(128_u32.to_le_bytes().to_vec()));
        assert_eq!(passed(Type::F64), Ok(128_f64.to_le_bytes().to_vec()));
        let told = passed(Type::U64).unwrap_err();
        assert!(
            told.starts_with("`inputs`, which names no buffer ({ u64 = \"inputs\" } passes a number), for the parameter `p0`"),
            "{told}"
        );
    }

    #[test]
    fn a_number_that_does_not_fit_the_parameter_is_an_error() {
        for (value, ty, told) in [
            (Value::Integer(256), Type::U8, "the number 256, not from -128 to 255, for the parameter `p0`"),
            (Value::Integer(128), Type::S8, "the number 128, not from -128 to 127,"),
            (
                Value::Integer(1 << 32),
                Type::U32,
                "the number 4294967296, not from -2147483648 to 4294967295,",
            ),
            (Value::Real(0.5), Type::U32, "the number 0.5, which is no integer, for the parameter `p0`"),
            (Value::Real(2.0), Type::S64, "the number 2.0, which is no integer,"),
            (Value::Real(1e300), Type::F32, "the number 1e300, which f32 cannot hold,"),
            (Value::Real(0.5), Type::B16, "the real number 0.5"),
        ] {
            let found = number(value, ty).unwrap_err();
            assert!(found.starts_with(told), "{found}");
        }
        let structure = kernel(&[(24, 8, Type::B8)]);
        let found = block(vec![ArgumentValue::Number(Value::Integer(1))], &structure).unwrap_err();
        assert!(found.starts_with("the number 1 for the parameter `p0`, which has 24 bytes"), "{found}");
    }
}
