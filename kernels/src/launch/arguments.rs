//! Arguments of a launch, laid out as the kernel's parameters.

use super::error::{LaunchError, Origin};
use super::object::Object;
use super::sequence::{ArgumentValue, Planned};
use crate::ptx::ir::{Kernel, Parameter, TypeKind};

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
    let mut block = vec![0; kernel.parameter_bytes as usize];
    for (index, (argument, parameter)) in planned.arguments.iter().zip(&kernel.parameters).enumerate() {
        let origin =
            Origin { key: format!("{}.arguments[{index}]", planned.origin.key), ..planned.origin.clone() };
        let bytes = bytes_of(argument, &mut address).map_err(|message| origin.error(message))?;
        if !fits(argument, &bytes, parameter) {
            return Err(origin.error(format!(
                "{} for the parameter `{}`, which has {} bytes{}",
                describe(argument, &bytes),
                parameter.name,
                parameter.bytes,
                listed(&kernel.parameters)
            )));
        }
        let offset = parameter.offset as usize;
        block[offset..offset + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(block)
}

/// Size and kind agree. A structure may end in padding that is not written as a member.
fn fits(argument: &ArgumentValue, bytes: &[u8], parameter: &Parameter) -> bool {
    let declared = parameter.bytes as usize;
    let is_float = parameter.ty.kind() == TypeKind::Float;
    let is_untyped = parameter.ty.kind() == TypeKind::Bits;
    match argument {
        ArgumentValue::Buffer(_) | ArgumentValue::Object(_) => bytes.len() == declared && !is_float,
        ArgumentValue::Scalar(element, _) => {
            bytes.len() == declared && (is_untyped || element.is_float() == is_float)
        }
        ArgumentValue::Structure(_) => {
            bytes.len().next_multiple_of(parameter.align.max(1) as usize) == declared
        }
    }
}

fn describe(argument: &ArgumentValue, bytes: &[u8]) -> String {
    match argument {
        ArgumentValue::Buffer(_) => "a buffer's address".to_string(),
        ArgumentValue::Object(object) => format!("the handle of a {}", object.kind.name()),
        ArgumentValue::Scalar(element, _) => format!("a number of type {}", element.name()),
        ArgumentValue::Structure(_) => format!("a structure of {} bytes", bytes.len()),
    }
}

fn bytes_of(
    argument: &ArgumentValue,
    address: &mut impl FnMut(Reference<'_>) -> Result<u64, String>,
) -> Result<Vec<u8>, String> {
    Ok(match argument {
        ArgumentValue::Buffer(buffer) => address(Reference::Buffer(*buffer))?.to_le_bytes().to_vec(),
        ArgumentValue::Object(object) => address(Reference::Object(object))?.to_le_bytes().to_vec(),
        ArgumentValue::Scalar(_, bytes) => bytes.clone(),
        ArgumentValue::Structure(members) => {
            let mut bytes = Vec::new();
            for member in members {
                let member = bytes_of(member, address)?;
                bytes.resize(bytes.len().next_multiple_of(member.len().max(1)), 0);
                bytes.extend(member);
            }
            bytes
        }
    })
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
            registers: Vec::new(),
            symbols: Vec::new(),
            instructions: Vec::new(),
            shared_bytes: 0,
            local_bytes: 0,
            max_threads: None,
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

    fn s32(value: i32) -> ArgumentValue {
        ArgumentValue::Scalar(ElementType::S32, value.to_le_bytes().to_vec())
    }

    #[test]
    fn arguments_lie_at_their_parameters_offsets() {
        let found =
            block(vec![s32(7), ArgumentValue::Buffer(2)], &kernel(&[(4, 4, Type::U32), (8, 8, Type::U64)]))
                .unwrap();
        assert_eq!(found, [7, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x10, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn members_of_a_structure_are_aligned_to_their_size() {
        let members = vec![s32(1), ArgumentValue::Buffer(0), s32(2)];
        let found = block(vec![ArgumentValue::Structure(members)], &kernel(&[(24, 8, Type::B8)])).unwrap();
        assert_eq!(found, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_wrong_number_or_type_of_arguments_names_the_parameters() {
        let kernel = kernel(&[(8, 8, Type::U64), (4, 4, Type::F32)]);
        let few = block(vec![s32(1)], &kernel).unwrap_err();
        assert_eq!(
            few,
            "1 arguments for `k`, which has 2 parameters (all parameters: p0 .u64 8 bytes, p1 .f32 4 bytes)"
        );
        let short = block(vec![s32(1), s32(1)], &kernel).unwrap_err();
        assert!(
            short.starts_with("a number of type s32 for the parameter `p0`, which has 8 bytes"),
            "{short}"
        );
        let integer = block(vec![ArgumentValue::Buffer(0), s32(1)], &kernel).unwrap_err();
        assert!(integer.starts_with("a number of type s32 for the parameter `p1`"), "{integer}");
    }
}
