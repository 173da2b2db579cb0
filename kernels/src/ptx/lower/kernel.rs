//! One kernel: walks the statements of the entry and of what it calls.

use std::collections::BTreeMap;

use super::super::ast::{Declaration, Function, RawInstruction, Statement, StatementKind, Storage};
use super::super::error::{Complaint, Reporter};
use super::super::ir::{
    Address, Guard, InstIndex, Instruction, Kernel, Op, Operand, Parameter, Place, Reg, Register, Symbol,
    SymbolId, Type,
};
use super::form::Form;
use super::left_out;
use super::module::ModuleScope;
use super::promote::promote;
use super::rules::rule;
use super::scope::{Frame, LabelId, Scope};
use crate::program::Space;

/// Instructions and labels of a kernel at most, after inlining.
const MAX_INSTRUCTIONS: usize = 1 << 20;
/// Bytes of shared or local memory at most; real machines have far less.
const MAX_WINDOW: u64 = 1 << 24;

/// An instruction, or a label in front of the next one.
pub(super) enum Item {
    /// Branch targets hold label numbers until [`resolve_labels`].
    Instruction(Instruction),
    Label(LabelId),
}

/// The instruction being lowered.
#[derive(Default)]
pub(super) struct Current<'a> {
    line: u32,
    text: String,
    opcode: &'a str,
    guard: Option<Guard>,
    /// A register that it has as more than one of its destinations.
    written_twice: Option<Reg>,
}

impl<'a> Current<'a> {
    /// The opcode, for rules that several opcodes share.
    pub(super) fn opcode(&self) -> &'a str {
        self.opcode
    }
}

/// A kernel under construction.
pub(super) struct Lowering<'a, 'm> {
    pub(super) module: &'m ModuleScope<'a>,
    pub(super) reporter: &'m mut Reporter,
    pub(super) registers: Vec<Register>,
    pub(super) symbols: Vec<Symbol>,
    /// Variables that pass values to and from inlined functions.
    pub(super) call_variables: Vec<SymbolId>,
    pub(super) items: Vec<Item>,
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) current: Current<'a>,
    module_symbols: BTreeMap<&'a str, SymbolId>,
    function_shared: BTreeMap<(&'a str, &'a str, u32), SymbolId>,
    labels: u32,
    inlined: u32,
    carry: Option<Reg>,
    shared_bytes: u64,
    local_bytes: u64,
}

/// Lowers an entry. `None` if something was wrong, which has then been reported.
pub(super) fn lower<'a>(
    module: &ModuleScope<'a>,
    function: &'a Function<'a>,
    reporter: &mut Reporter,
) -> Option<Kernel> {
    if let Some(errors) = &function.unreadable {
        reporter.add(errors);
    }
    let body = function.body.as_ref()?;
    let mut lowering = Lowering {
        module,
        reporter,
        registers: Vec::new(),
        symbols: Vec::new(),
        call_variables: Vec::new(),
        items: Vec::new(),
        frames: vec![Frame { function: function.name, scopes: vec![Scope::default()], end: None }],
        current: Current::default(),
        module_symbols: BTreeMap::new(),
        function_shared: BTreeMap::new(),
        labels: 0,
        inlined: 0,
        carry: None,
        shared_bytes: 0,
        local_bytes: 0,
    };
    let (parameters, parameter_bytes) = lowering.parameters(function);
    lowering.block(body);
    lowering.finish(function, parameters, parameter_bytes)
}

impl<'a> Lowering<'a, '_> {
    fn parameters(&mut self, function: &'a Function<'a>) -> (Vec<Parameter>, u32) {
        let mut parameters = Vec::new();
        let mut end = 0_u64;
        for declaration in &function.parameters {
            match self.parameter(declaration, end) {
                Ok(parameter) => {
                    end = u64::from(parameter.offset) + u64::from(parameter.bytes);
                    parameters.push(parameter);
                }
                Err(message) => self.reporter.report(declaration.line, &declaration.text, message),
            }
        }
        (parameters, end as u32)
    }

    fn parameter(&mut self, declaration: &'a Declaration<'a>, end: u64) -> Result<Parameter, Complaint> {
        if declaration.storage != Storage::Memory(Space::Parameter) {
            return Err("found another state space; accepted for parameters of an .entry: .param".to_owned());
        }
        let bytes = declaration.bytes.ok_or("the parameter has no size")?;
        let offset = end.next_multiple_of(u64::from(declaration.align));
        if offset + bytes > 32_764 {
            return Err("the parameters take more than 32764 bytes".to_owned());
        }
        let symbol = self.new_symbol(
            declaration.name,
            Space::Parameter,
            (bytes, declaration.align),
            Place::Offset(offset as u32),
        );
        self.declare_symbol(declaration.name, symbol)?;
        Ok(Parameter {
            name: declaration.name.to_owned(),
            ty: declaration.ty,
            align: declaration.align,
            bytes: bytes as u32,
            offset: offset as u32,
        })
    }

    /// Lowers the statements of a function into the innermost scope.
    pub(super) fn block(&mut self, statements: &'a [Statement<'a>]) {
        self.declare_labels(statements);
        for (index, statement) in statements.iter().enumerate() {
            if self.items.len() > MAX_INSTRUCTIONS {
                let message = format!(
                    "the kernel has more than {MAX_INSTRUCTIONS} instructions and labels after inlining"
                );
                self.reporter.report(statement.line, "", message);
                return;
            }
            self.statement(statement, &statements[index + 1..]);
        }
    }

    fn statement(&mut self, statement: &'a Statement<'a>, rest: &'a [Statement<'a>]) {
        let line = statement.line;
        match &statement.kind {
            StatementKind::Open => {
                self.frame().scopes.push(Scope::default());
                self.declare_labels(rest);
            }
            StatementKind::Close => {
                self.frame().scopes.pop();
            }
            StatementKind::Label(name) => {
                if let Some(label) = self.frame().label(name) {
                    self.items.push(Item::Label(label));
                }
            }
            StatementKind::BranchTargets(..) => {}
            StatementKind::Registers(ty, names) => {
                for &(name, count) in names {
                    if self.scope().is_some_and(|scope| !scope.declare_registers(name, *ty, count)) {
                        self.reporter.report(line, "", format!("`{name}` is declared twice"));
                    }
                }
            }
            StatementKind::Variable(declaration) => {
                if let Err(message) = self.variable(declaration) {
                    self.reporter.report(line, &declaration.text, message);
                }
            }
            StatementKind::Instruction(raw) => {
                if let Err(message) = self.instruction(line, raw) {
                    self.reporter.report(line, &raw.text, message);
                }
            }
        }
    }

    pub(super) fn frame(&mut self) -> &mut Frame<'a> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn scope(&mut self) -> Option<&mut Scope<'a>> {
        self.frame().innermost()
    }

    /// Declares the labels up to the brace that closes the innermost scope.
    fn declare_labels(&mut self, statements: &'a [Statement<'a>]) {
        let mut depth = 0_usize;
        for statement in statements {
            match &statement.kind {
                StatementKind::Open => depth += 1,
                StatementKind::Close if depth == 0 => return,
                StatementKind::Close => depth -= 1,
                StatementKind::Label(name) if depth == 0 => {
                    let label = self.new_label();
                    let twice = self.scope().is_some_and(|scope| scope.labels.insert(name, label).is_some());
                    if twice {
                        let message = format!("the label `{name}` is defined twice");
                        self.reporter.report(statement.line, "", message);
                    }
                }
                StatementKind::BranchTargets(name, labels) if depth == 0 => {
                    if let Some(scope) = self.scope() {
                        scope.tables.insert(name, labels);
                    }
                }
                StatementKind::Label(_)
                | StatementKind::BranchTargets(..)
                | StatementKind::Registers(..)
                | StatementKind::Variable(_)
                | StatementKind::Instruction(_) => {}
            }
        }
    }

    pub(super) fn new_label(&mut self) -> LabelId {
        self.labels += 1;
        LabelId(self.labels - 1)
    }

    /// Marks the beginning of an inlined function, for the names of its registers.
    pub(super) fn enter_inlined(&mut self) {
        self.inlined += 1;
    }

    pub(super) fn new_symbol(
        &mut self,
        name: &str,
        space: Space,
        (bytes, align): (u64, u32),
        place: Place,
    ) -> SymbolId {
        self.symbols.push(Symbol { name: name.to_owned(), space, bytes, align, place });
        SymbolId(self.symbols.len() as u32 - 1)
    }

    pub(super) fn declare_symbol(&mut self, name: &'a str, symbol: SymbolId) -> Result<(), Complaint> {
        if self.scope().is_some_and(|scope| scope.declare_symbol(name, symbol)) {
            Ok(())
        } else {
            Err(format!("`{name}` is declared twice"))
        }
    }

    /// A register that the source does not name, or its first use.
    pub(super) fn new_register(&mut self, name: &str, ty: Type) -> Reg {
        let name = match self.inlined {
            0 => name.to_owned(),
            inlined => format!("{name}@{inlined}"),
        };
        self.registers.push(Register { name, ty });
        Reg(self.registers.len() as u32 - 1)
    }

    /// The carry of `.cc`.
    pub(super) fn carry(&mut self) -> Reg {
        if let Some(carry) = self.carry {
            return carry;
        }
        self.registers.push(Register { name: "%carry".to_owned(), ty: Type::Pred });
        let carry = Reg(self.registers.len() as u32 - 1);
        self.carry = Some(carry);
        carry
    }

    fn variable(&mut self, declaration: &'a Declaration<'a>) -> Result<(), Complaint> {
        let name = declaration.name;
        if !declaration.initial.is_empty() {
            return Err("found an initialiser; accepted on variables in .global and .const at module scope"
                .to_owned());
        }
        let symbol = match declaration.storage {
            Storage::Memory(Space::Shared) => self.function_shared(declaration)?,
            Storage::Memory(Space::Local) => {
                let bytes = declaration.bytes.ok_or_else(|| format!("`{name}` has no size"))?;
                let place = self.local_place(bytes, declaration.align)?;
                self.new_symbol(name, Space::Local, (bytes, declaration.align), place)
            }
            Storage::Memory(Space::Parameter) => {
                let bytes = declaration.bytes.ok_or_else(|| format!("`{name}` has no size"))?;
                self.call_variable(name, bytes, declaration.align)?
            }
            Storage::Memory(_) | Storage::Register | Storage::Texture => {
                return Err("accepted within a function: .reg .shared .local .param".to_owned());
            }
        };
        self.declare_symbol(name, symbol)
    }

    /// A variable that passes a value to or from an inlined function.
    pub(super) fn call_variable(
        &mut self,
        name: &str,
        bytes: u64,
        align: u32,
    ) -> Result<SymbolId, Complaint> {
        let place = self.local_place(bytes, align)?;
        let symbol = self.new_symbol(name, Space::Local, (bytes, align), place);
        self.call_variables.push(symbol);
        Ok(symbol)
    }

    fn local_place(&mut self, bytes: u64, align: u32) -> Result<Place, Complaint> {
        let (place, end) = placed(self.local_bytes, bytes, align, "local")?;
        self.local_bytes = end;
        Ok(place)
    }

    /// A `.shared` variable of a function: one, however often the function is inlined.
    fn function_shared(&mut self, declaration: &'a Declaration<'a>) -> Result<SymbolId, Complaint> {
        let key = (self.frame().function, declaration.name, declaration.line);
        if let Some(&symbol) = self.function_shared.get(&key) {
            return Ok(symbol);
        }
        let symbol = self.shared_symbol(declaration)?;
        self.function_shared.insert(key, symbol);
        Ok(symbol)
    }

    fn shared_symbol(&mut self, declaration: &'a Declaration<'a>) -> Result<SymbolId, Complaint> {
        let (bytes, place) = match declaration.bytes {
            Some(bytes) if !declaration.external => {
                let (place, end) = placed(self.shared_bytes, bytes, declaration.align, "shared")?;
                self.shared_bytes = end;
                (bytes, place)
            }
            Some(_) | None => (0, Place::DynamicShared),
        };
        Ok(self.new_symbol(declaration.name, Space::Shared, (bytes, declaration.align), place))
    }

    /// The symbol of a module-scope variable.
    pub(super) fn module_symbol(&mut self, name: &'a str) -> Result<Option<SymbolId>, Complaint> {
        if let Some(&symbol) = self.module_symbols.get(name) {
            return Ok(Some(symbol));
        }
        let module = self.module;
        let found = if let Some((&name, &declaration)) = module.shared.get_key_value(name) {
            Some((name, self.shared_symbol(declaration)?))
        } else if let Some(id) = module.variable(name)? {
            let variable = &module.variables[id.index()];
            Some((
                name,
                self.new_symbol(name, variable.space, (variable.bytes, variable.align), Place::Module(id)),
            ))
        } else {
            None
        };
        if let Some((name, symbol)) = found {
            self.module_symbols.insert(name, symbol);
        }
        Ok(found.map(|(_, symbol)| symbol))
    }

    fn instruction(&mut self, line: u32, raw: &RawInstruction<'a>) -> Result<(), Complaint> {
        left_out::instruction(raw)?;
        let (rule, syntax) = rule(raw.opcode)?;
        self.current = Current { line, text: raw.text.clone(), opcode: raw.opcode, ..Current::default() };
        if let Some((name, negated)) = raw.guard {
            let register = self.register(name, Type::Pred)?;
            self.current.guard = Some(Guard { register, negated });
        }
        rule(self, Form::new(&raw.modifiers), &raw.operands)
            .and_then(|()| self.check_destinations())
            .map_err(|message| format!("{message}; `{}` is {syntax}", raw.opcode))
    }

    /// Which of two values a register would have afterwards, PTX does not say.
    fn check_destinations(&mut self) -> Result<(), Complaint> {
        let Some(register) = self.current.written_twice.take() else { return Ok(()) };
        let name = &self.registers[register.index()].name;
        Err(format!("found `{name}` as two of the destinations; accepted: registers that differ"))
    }

    /// Appends an instruction with the guard, line and text of the current one.
    pub(super) fn emit(
        &mut self,
        op: Op,
        dsts: Vec<Option<Reg>>,
        srcs: Vec<Operand>,
        address: Option<Address>,
    ) {
        let repeated = |(index, dst): (usize, &Option<Reg>)| dst.filter(|_| dsts[..index].contains(dst));
        self.current.written_twice =
            self.current.written_twice.or(dsts.iter().enumerate().find_map(repeated));
        self.items.push(Item::Instruction(Instruction {
            line: self.current.line,
            text: self.current.text.clone(),
            guard: self.current.guard,
            op,
            dsts,
            srcs,
            address,
        }));
    }

    /// The guard of the current instruction, taken away from it.
    pub(super) fn take_guard(&mut self) -> Option<Guard> {
        self.current.guard.take()
    }

    /// Appends a branch with a guard of its own.
    pub(super) fn emit_branch(&mut self, guard: Option<Guard>, target: LabelId) {
        self.current.guard = guard;
        let op = Op::Bra { uniform: false, target: InstIndex(target.0) };
        self.emit(op, Vec::new(), Vec::new(), None);
    }

    fn finish(
        mut self,
        function: &Function<'_>,
        parameters: Vec<Parameter>,
        parameter_bytes: u32,
    ) -> Option<Kernel> {
        if !self.reporter.is_clean() {
            return None;
        }
        self.local_bytes = promote(&mut self);
        let instructions = resolve_labels(self.items);
        Some(Kernel {
            name: function.name.to_owned(),
            line: function.line,
            parameters,
            parameter_bytes,
            address_bits: self.module.address_bits,
            registers: self.registers,
            symbols: self.symbols,
            instructions,
            shared_bytes: self.shared_bytes as u32,
            local_bytes: self.local_bytes as u32,
            max_threads: function.max_threads,
            max_registers: function.max_registers,
            min_blocks: function.min_blocks,
            required_block: function.required_block,
            rereads_special: false,
        })
    }

    /// The type of an address: its unsigned and its untyped form.
    pub(super) fn address_types(&self) -> [Type; 2] {
        if self.module.address_bits == 32 { [Type::U32, Type::B32] } else { [Type::U64, Type::B64] }
    }

    /// Whether a symbol is a texture.
    pub(super) fn is_texture(&self, symbol: SymbolId) -> bool {
        match self.symbols[symbol.index()].place {
            Place::Module(id) => self.module.variables[id.index()].texture,
            Place::Offset(_) | Place::DynamicShared => false,
        }
    }

    /// Bytes of local memory so far.
    pub(super) fn local_bytes(&self) -> u64 {
        self.local_bytes
    }
}

fn placed(end: u64, bytes: u64, align: u32, space: &str) -> Result<(Place, u64), Complaint> {
    let offset = end.next_multiple_of(u64::from(align));
    if bytes > MAX_WINDOW || offset + bytes > MAX_WINDOW {
        return Err(format!("the kernel's {space} variables take more than {MAX_WINDOW} bytes"));
    }
    Ok((Place::Offset(offset as u32), offset + bytes))
}

/// Labels to positions. An exit is added where control would fall off the end.
fn resolve_labels(items: Vec<Item>) -> Vec<Instruction> {
    let mut positions = BTreeMap::new();
    let mut instructions: Vec<Instruction> = Vec::new();
    for item in items {
        match item {
            Item::Label(label) => {
                positions.insert(label.0, InstIndex(instructions.len() as u32));
            }
            Item::Instruction(instruction) => instructions.push(instruction),
        }
    }
    let end = InstIndex(instructions.len() as u32);
    let label_at_end = positions.values().any(|&position| position == end);
    if label_at_end || instructions.last().is_none_or(Instruction::falls_through) {
        instructions.push(Instruction {
            line: instructions.last().map_or(0, |last| last.line),
            text: String::new(),
            guard: None,
            op: Op::Exit,
            dsts: Vec::new(),
            srcs: Vec::new(),
            address: None,
        });
    }
    // Every label used has been checked to be defined in the scope it is used from.
    let resolve = |target: &mut InstIndex| *target = positions.get(&target.0).copied().unwrap_or(end);
    for instruction in &mut instructions {
        if let Op::Bra { target, .. } = &mut instruction.op {
            resolve(target);
        } else if let Op::Brx { targets, .. } = &mut instruction.op {
            targets.iter_mut().for_each(resolve);
        }
    }
    instructions
}
