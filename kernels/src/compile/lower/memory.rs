//! Memory accesses. A 64-bit address is read as two registers in global and generic space, one of 32 bits as one; offsets
//! in the windows of other spaces fit the low word.

use super::emit::{Emitter, Input, Output, Predicates};
use crate::program::{MemoryAccess, Operation, Space};
use crate::ptx::ir::{Base, Type, TypeKind};

/// A load of one or more elements.
pub fn load(emitter: &mut Emitter, space: Space, ty: Type) {
    let inputs = address(emitter, space);
    let operation = Operation::Load(access(emitter.instruction.dsts.len(), space, ty));
    let outputs = results(emitter, ty);
    emitter.emit(operation, "", &inputs, &outputs, Predicates::default());
    extend(emitter, ty);
}

/// A store of one or more elements.
pub fn store(emitter: &mut Emitter, space: Space, ty: Type) {
    let mut inputs = data(emitter, ty);
    inputs.extend(address(emitter, space));
    let operation = Operation::Store(access(emitter.instruction.srcs.len(), space, ty));
    emitter.emit(operation, "", &inputs, &[], Predicates::default());
}

/// A read-modify-write, with or without a result.
pub fn atomic(emitter: &mut Emitter, space: Space, ty: Type) {
    let mut inputs = data(emitter, ty);
    inputs.extend(address(emitter, space));
    let outputs = if emitter.result_web(0).is_some() { results(emitter, ty) } else { Vec::new() };
    emitter.emit(Operation::Atomic(access(1, space, ty)), "", &inputs, &outputs, Predicates::default());
}

/// A copy from global to shared memory: a load that writes no register, and reads both addresses.
pub fn copy_async(emitter: &mut Emitter, bytes: u8) {
    let mut inputs = address(emitter, Space::Global);
    inputs.extend((0..emitter.instruction.srcs.len()).map(|index| emitter.source(index, 0)));
    let operation = Operation::Load(MemoryAccess { space: Space::Global, bytes });
    emitter.emit(operation, "", &inputs, &[], Predicates::default());
}

/// A load of matrices: one address a lane, one register a matrix.
pub fn load_matrix(emitter: &mut Emitter, space: Space) {
    let inputs = address(emitter, space);
    let operation = Operation::Load(access(emitter.instruction.dsts.len(), space, Type::B32));
    let outputs = results(emitter, Type::B32);
    emitter.emit(operation, "", &inputs, &outputs, Predicates::default());
}

/// A texture fetch, or a load from a surface: reads coordinates and handle, up to four results.
pub fn texture(emitter: &mut Emitter, ty: Type) {
    let mut inputs: Vec<Input> =
        (0..emitter.instruction.srcs.len()).map(|index| emitter.source(index, 0)).collect();
    inputs.extend(address(emitter, Space::Global));
    let outputs = results(emitter, ty);
    emitter.emit(Operation::Texture, "", &inputs, &outputs, Predicates::default());
    extend(emitter, ty);
}

/// A store to a surface: reads the data, the coordinates and the handle.
pub fn surface_store(emitter: &mut Emitter, ty: Type, coordinates: usize) {
    let elements = emitter.instruction.srcs.len() - coordinates;
    let words = ty.words() as u8;
    let of_element = |index: usize| (0..words).map(move |word| (index, word));
    let mut inputs: Vec<Input> = (coordinates..coordinates + elements)
        .flat_map(of_element)
        .chain((0..coordinates).map(|index| (index, 0)))
        .map(|(index, word)| emitter.source(index, word))
        .collect();
    inputs.extend(address(emitter, Space::Global));
    let operation = Operation::Store(access(elements, Space::Global, ty));
    emitter.emit(operation, "", &inputs, &[], Predicates::default());
}

fn access(elements: usize, space: Space, ty: Type) -> MemoryAccess {
    MemoryAccess { space, bytes: (elements.max(1) as u32 * ty.bytes()).min(u32::from(u8::MAX)) as u8 }
}

fn address(emitter: &Emitter, space: Space) -> Vec<Input> {
    let Some(Base::Reg(register)) = emitter.instruction.address.map(|address| address.base) else {
        return Vec::new();
    };
    match space {
        Space::Global | Space::Generic => {
            (0..emitter.words_of(register)).map(|word| emitter.register(register, word)).collect()
        }
        Space::Shared | Space::Local | Space::Constant | Space::Parameter => {
            vec![emitter.register(register, 0)]
        }
    }
}

fn data(emitter: &Emitter, ty: Type) -> Vec<Input> {
    let words = ty.words() as u8;
    (0..emitter.instruction.srcs.len())
        .flat_map(|index| (0..words).map(move |word| (index, word)))
        .map(|(index, word)| emitter.source(index, word))
        .collect()
}

/// The registers that the elements arrive in.
fn results(emitter: &mut Emitter, ty: Type) -> Vec<Output> {
    let mut outputs = Vec::new();
    for index in 0..emitter.instruction.dsts.len() {
        if emitter.result_web(index).is_some() {
            outputs.extend((0..ty.words() as u8).map(|word| emitter.result(index, word)));
        }
    }
    outputs
}

/// A register wider than the element: the high word is its sign, or 0.
fn extend(emitter: &mut Emitter, ty: Type) {
    for index in 0..emitter.instruction.dsts.len() {
        if emitter.result_type(index).is_some_and(|register| register.words() > ty.words()) {
            let inputs: &[Input] =
                if ty.kind() == TypeKind::Signed { &[emitter.result_input(index, 0)] } else { &[] };
            let output = emitter.result(index, 1);
            emitter.alu(":extend", inputs, output);
        }
    }
}
