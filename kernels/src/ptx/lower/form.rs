//! The opcode with its modifiers, taken apart one by one; what is left over at the end is an error.

use super::super::error::Complaint;
use super::super::ir::{FloatMode, Rounding, Type, TypeKind};
use super::super::parse::type_named;

/// Rounding of floating-point results.
pub(super) const ROUNDINGS: [(&str, Rounding); 4] =
    [("rn", Rounding::Nearest), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)];

/// 16, 32 and 64-bit integers.
pub(super) const INTEGERS: [Type; 6] = [Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64];
/// What packed 16-bit instructions compute with.
pub(super) const PACKED_INTEGERS: [Type; 2] = [Type::U16x2, Type::S16x2];
/// Single and double precision.
pub(super) const FLOATS: [Type; 2] = [Type::F32, Type::F64];

/// Half precision and the upper half of single precision, alone and in pairs.
pub(super) const HALVES: [Type; 4] = [Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2];
/// What has `.ftz`, and `.sat`.
const WITH_FTZ: [Type; 3] = [Type::F16, Type::F16x2, Type::F32];

/// Modifiers of one instruction that have not been used yet.
pub(super) struct Form<'a> {
    modifiers: Vec<&'a str>,
    types: Vec<Type>,
}

impl<'a> Form<'a> {
    pub(super) fn new(modifiers: &[&'a str]) -> Self {
        Form {
            modifiers: modifiers.iter().copied().filter(|word| type_named(word).is_none()).collect(),
            types: modifiers.iter().copied().filter_map(type_named).collect(),
        }
    }

    /// Uses a modifier if it is there.
    pub(super) fn flag(&mut self, word: &str) -> bool {
        let position = self.modifiers.iter().position(|&modifier| modifier == word);
        if let Some(position) = position {
            self.modifiers.remove(position);
        }
        position.is_some()
    }

    /// Uses whichever of several modifiers are there.
    pub(super) fn ignore(&mut self, words: &[&str]) {
        self.modifiers.retain(|modifier| !words.contains(modifier));
    }

    /// Uses all modifiers that begin like that.
    pub(super) fn ignore_prefixed(&mut self, prefix: &str) {
        self.modifiers.retain(|modifier| !modifier.starts_with(prefix));
    }

    /// Uses one of several modifiers, if there is one.
    pub(super) fn choose<T: Clone>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        choices.iter().find(|(word, _)| self.flag(word)).map(|(_, value)| value.clone())
    }

    /// Uses one of several modifiers that must be there.
    pub(super) fn require<T: Copy>(&mut self, choices: &[(&str, T)]) -> Result<T, Complaint> {
        self.choose(choices).ok_or_else(|| {
            let words: Vec<String> = choices.iter().map(|(word, _)| format!(".{word}")).collect();
            format!("a modifier is missing; accepted: {}", words.join(" "))
        })
    }

    /// Uses the first type.
    pub(super) fn ty(&mut self, allowed: &[Type]) -> Result<Type, Complaint> {
        let accepted = || {
            let names: Vec<&str> = allowed.iter().map(|ty| ty.suffix()).collect();
            names.join(" ")
        };
        if self.types.is_empty() {
            return Err(format!("a type is missing; accepted: {}", accepted()));
        }
        let ty = self.types.remove(0);
        if allowed.contains(&ty) {
            Ok(ty)
        } else {
            Err(format!("found the type {ty}; accepted: {}", accepted()))
        }
    }

    /// Whether the first type is a floating-point type.
    pub(super) fn is_float(&self) -> bool {
        self.types.first().is_some_and(|ty| ty.kind() == TypeKind::Float)
    }

    /// Rounding, `.ftz` and `.sat` of floating-point arithmetic on `ty`.
    pub(super) fn float_mode(&mut self, ty: Type) -> Result<FloatMode, Complaint> {
        let rounding = self.choose(&ROUNDINGS).unwrap_or(Rounding::Nearest);
        if HALVES.contains(&ty) && rounding != Rounding::Nearest {
            return Err(format!("found a rounding modifier for {ty}; accepted: .rn"));
        }
        let saturate = WITH_FTZ.contains(&ty) && self.flag("sat");
        Ok(FloatMode { rounding, ftz: self.ftz(ty)?, saturate, relu: false })
    }

    /// `.ftz`, which only half and single precision have.
    pub(super) fn ftz(&mut self, ty: Type) -> Result<bool, Complaint> {
        let ftz = self.flag("ftz");
        if ftz && !WITH_FTZ.contains(&ty) {
            return Err(format!("found .ftz for {ty}; accepted for: .f16 .f16x2 .f32"));
        }
        Ok(ftz)
    }

    /// That every modifier has been used.
    pub(super) fn finish(self) -> Result<(), Complaint> {
        if let Some(modifier) = self.modifiers.first() {
            return Err(format!("found the modifier .{modifier}"));
        }
        if let Some(ty) = self.types.first() {
            return Err(format!("found the further type {ty}"));
        }
        Ok(())
    }
}
