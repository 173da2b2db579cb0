//! Module scope: variables with their initial contents, and functions by name.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ast::{Declaration, File, Function, Initial, Number, Storage};
use super::super::error::{Complaint, Reporter};
use super::super::ir::{Relocation, Type, Variable, VariableId};
use super::operand::immediate;
use crate::program::{DEVICE_BYTES, Space};

/// Bytes of an initialiser at most.
const MAX_INITIAL: u64 = 1 << 28;

/// Bytes of variables in `.const` at most (CUDA C++ Programming Guide, technical specifications).
const MAX_CONSTANT: u64 = 64 << 10;

/// What is declared at module scope.
pub(super) struct ModuleScope<'a> {
    /// Bits of an address.
    pub(super) address_bits: u32,
    /// Variables in `.global` and `.const`, and textures.
    pub(super) variables: Vec<Variable>,
    /// Bytes of those in `.const`.
    constant_bytes: u64,
    /// Bytes of those in `.global`.
    global_bytes: u64,
    /// Where each of them is in `variables`.
    pub(super) ids: BTreeMap<&'a str, VariableId>,
    /// `.extern` variables without a definition in the file: an error only where one is used, because clang
    /// declares `threadIdx` and the like this way in unoptimised code and never refers to them.
    pub(super) externals: BTreeSet<&'a str>,
    /// Functions, with a body or without.
    declared_functions: BTreeSet<&'a str>,
    /// Variables that hold addresses of functions, as tables of virtual functions do: an error only where one is used.
    function_pointers: BTreeSet<&'a str>,
    /// Variables in `.shared`: every kernel that uses one has its own copy.
    pub(super) shared: BTreeMap<&'a str, &'a Declaration<'a>>,
    /// Functions that have a body, or would if it could be read.
    pub(super) functions: BTreeMap<&'a str, &'a Function<'a>>,
}

impl<'a> ModuleScope<'a> {
    pub(super) fn new(file: &'a File<'a>, reporter: &mut Reporter) -> Self {
        let mut scope = ModuleScope {
            address_bits: file.address_bits,
            variables: Vec::new(),
            constant_bytes: 0,
            global_bytes: 0,
            ids: BTreeMap::new(),
            externals: BTreeSet::new(),
            declared_functions: file.functions.iter().map(|function| function.name).collect(),
            function_pointers: BTreeSet::new(),
            shared: BTreeMap::new(),
            functions: BTreeMap::new(),
        };
        let defined = |function: &&Function<'_>| function.body.is_some() || function.unreadable.is_some();
        for function in file.functions.iter().filter(defined) {
            if scope.functions.insert(function.name, function).is_some() {
                let message = format!("the function `{}` is defined twice", function.name);
                reporter.report(function.line, "", message);
            }
        }
        let mut in_memory = Vec::new();
        for declaration in &file.variables {
            if let Err(message) = scope.declare(declaration, &mut in_memory) {
                reporter.report(declaration.line, &declaration.text, message);
            }
        }
        for (id, declaration) in in_memory {
            if let Err(message) = scope.initialise(id, declaration) {
                reporter.report(declaration.line, &declaration.text, message);
            }
        }
        scope
    }

    fn declare(
        &mut self,
        declaration: &'a Declaration<'a>,
        in_memory: &mut Vec<(VariableId, &'a Declaration<'a>)>,
    ) -> Result<(), Complaint> {
        let name = declaration.name;
        if self.shared.contains_key(name) || (self.ids.contains_key(name) && !declaration.external) {
            return Err(format!("`{name}` is declared twice"));
        }
        let space = match declaration.storage {
            Storage::Memory(Space::Shared) => {
                self.shared.insert(name, declaration);
                return Ok(());
            }
            Storage::Memory(space) => space,
            Storage::Texture => Space::Global,
            Storage::Register => return Err("a register is declared at module scope".to_owned()),
        };
        if declaration.external {
            self.externals.insert(name);
            return Ok(());
        }
        let bytes = declaration
            .bytes
            .ok_or_else(|| format!("`{name}` has no size; accepted: a size or an initialiser"))?;
        let (taken, state_space, most) = match space {
            Space::Constant => (&mut self.constant_bytes, ".const", MAX_CONSTANT),
            _ => (&mut self.global_bytes, ".global", DEVICE_BYTES),
        };
        *taken = taken.next_multiple_of(u64::from(declaration.align)).saturating_add(bytes);
        if *taken > most {
            return Err(format!(
                "the variables in {state_space} take {taken} bytes with `{name}`; accepted: at most {most}"
            ));
        }
        let id = VariableId(self.variables.len() as u32);
        self.variables.push(Variable {
            name: name.to_owned(),
            space,
            align: declaration.align,
            bytes,
            initial: Vec::new(),
            relocations: Vec::new(),
            texture: declaration.storage == Storage::Texture,
        });
        self.ids.insert(name, id);
        in_memory.push((id, declaration));
        Ok(())
    }

    /// The variable of that name in `.global` or `.const`, or texture.
    pub(super) fn variable(&self, name: &str) -> Result<Option<VariableId>, Complaint> {
        let found = self.ids.get(name).copied();
        if self.function_pointers.contains(name) {
            return Err(format!(
                "`{name}` holds pointers to functions, which are not supported; accepted: addresses of variables"
            ));
        }
        if found.is_none() && self.externals.contains(name) {
            return Err(format!(
                "`{name}` is external; accepted: variables defined in the same file, and .extern .shared"
            ));
        }
        Ok(found)
    }

    fn initialise(&mut self, id: VariableId, declaration: &Declaration<'a>) -> Result<(), Complaint> {
        let width = u64::from(declaration.ty.bytes());
        let mut initial = Vec::new();
        let mut relocations = Vec::new();
        let size = self.variables[id.index()].bytes;
        for element in &declaration.initial {
            let position = initial.len() as u64;
            match element {
                Initial::Number(number) => {
                    let bits = initial_bits(*number, declaration.ty)?;
                    initial.extend_from_slice(&bits.to_le_bytes()[..width as usize]);
                }
                Initial::Zeros(count) => {
                    let end = count.saturating_mul(width).saturating_add(position);
                    if end > size.min(MAX_INITIAL) {
                        return Err(too_long(size));
                    }
                    initial.resize(end as usize, 0);
                }
                Initial::Symbol { name, .. } if self.declared_functions.contains(name) => {
                    self.function_pointers.insert(declaration.name);
                    return Ok(());
                }
                Initial::Symbol { name, addend, generic } => {
                    if !matches!(width, 4 | 8) {
                        return Err(format!(
                            "an address is stored in {}; accepted: 32 and 64-bit types",
                            declaration.ty
                        ));
                    }
                    let target = self.variable(name)?.ok_or_else(|| {
                        format!("`{name}` is not declared; accepted: variables in .global and .const")
                    })?;
                    relocations.push(Relocation {
                        position,
                        bytes: width as u8,
                        target,
                        addend: *addend,
                        generic: *generic,
                    });
                    initial.resize((position + width) as usize, 0);
                }
            }
            if initial.len() as u64 > size.min(MAX_INITIAL) {
                return Err(too_long(size));
            }
        }
        self.variables[id.index()].initial = initial;
        self.variables[id.index()].relocations = relocations;
        Ok(())
    }
}

fn too_long(size: u64) -> Complaint {
    format!(
        "the initialiser is longer than the variable; accepted: at most {size} bytes, and 256 MiB in any case"
    )
}

/// The bits of an element; an integer may also initialise a floating-point variable by value.
fn initial_bits(number: Number, ty: Type) -> Result<u64, Complaint> {
    match number {
        Number::Int(value) if matches!(ty, Type::F32 | Type::F64) => {
            immediate(Number::Double(value as f64), ty)
        }
        Number::Int(_) | Number::Single(_) | Number::Double(_) => immediate(number, ty),
    }
}
