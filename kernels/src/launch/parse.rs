//! From the text of a launch file to a [`LaunchFile`], every name checked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{LaunchError, suggest};
use super::expression::{self, Expression, Variables};
use super::object::{ObjectArgument, ObjectKind, SURFACE_KEYS, TEXTURE_KEYS};
use super::toml_value::{Source, Table, Value, parse};
use super::{
    Address, Argument, Buffer, DEFAULT_SIZE, ElementType, Fill, LaunchFile, LaunchStep, MAX_PTX_FILES,
    Member, Patch, ResultCheck, Scalar, Step, Symbol, Tolerance,
};

/// Deepest nesting of loops.
const MAX_LOOPS: usize = 8;
const STEP_KINDS: [&str; 8] = ["grid", "let", "for", "while", "repeat_while", "fill", "swap", "copy"];

pub(super) fn launch_file(path: &Path, text: &str) -> Result<LaunchFile, LaunchError> {
    let source = Source::new(path, text);
    let document = parse(&source)?;
    let root = Table::root(&source, &document);
    root.accept(&["description", "ptx", "sizes", "buffers", "steps"])?;

    let sizes = sizes(&root)?;
    let variables = sizes.first().map(|(_, variables)| variables.clone()).unwrap_or_default();
    let names = buffer_names(&root)?;
    let scope = Scope { variables, assigned: BTreeSet::new(), buffers: &names };
    let buffers = buffers(&root, &scope)?;
    let steps = Steps { buffers: &buffers, depth: 0 }.parse(&root.need("steps")?, &scope)?;
    Ok(LaunchFile {
        path: path.to_path_buf(),
        description: match root.get("description") {
            Some(description) => description.string()?.to_string(),
            None => String::new(),
        },
        ptx: root.get("ptx").map(|ptx| ptx_files(&ptx)).transpose()?.unwrap_or_default(),
        sizes,
        buffers,
        steps,
    })
}

/// The names that an expression may use where it stands.
#[derive(Clone)]
struct Scope<'a> {
    /// With some value each.
    variables: Variables,
    /// Those that `let` has made, and may give another value.
    assigned: BTreeSet<String>,
    /// Buffers, in the order of the file.
    buffers: &'a [&'a str],
}

impl Scope<'_> {
    /// The variable has some value from here on.
    fn define(&mut self, variable: &str) {
        self.variables.insert(variable.to_string(), expression::Value::Integer(0));
    }

    fn buffer(&self, value: &Value, name: &str) -> Result<usize, LaunchError> {
        self.buffers.iter().position(|&buffer| buffer == name).ok_or_else(|| {
            let near = suggest(name, self.buffers.iter().copied());
            value.origin.error(format!("no buffer `{name}`{near}"))
        })
    }
}

/// The sizes and their variables; one without variables if there are none.
fn sizes(root: &Table) -> Result<Vec<(String, Variables)>, LaunchError> {
    let Some(value) = root.get("sizes") else {
        return Ok(vec![(DEFAULT_SIZE.to_string(), Variables::new())]);
    };
    let mut sizes: Vec<(String, Variables)> = Vec::new();
    for (name, size) in value.table()?.entries() {
        let mut variables = Variables::new();
        for (variable, number) in size.table()?.entries() {
            check_variable_name(variable, &number)?;
            variables.insert(variable.to_string(), expression::Value::Integer(number.integer()?));
        }
        if let Some((first, known)) = sizes.first()
            && !known.keys().eq(variables.keys())
        {
            let list = |v: &Variables| v.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(size.origin.error(format!(
                "it has the variables {}; the size `{first}` has {}: all sizes need the same",
                list(&variables),
                list(known)
            )));
        }
        sizes.push((name.to_string(), variables));
    }
    if sizes.is_empty() {
        return Err(value.origin.error("it names no size; leave it out, or name at least one"));
    }
    Ok(sizes)
}

fn check_variable_name(name: &str, value: &Value) -> Result<(), LaunchError> {
    let mut characters = name.chars();
    let starts_well = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if starts_well && characters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(value
        .origin
        .error(format!("`{name}` is no name for a variable: letters, digits and `_` are accepted")))
}

fn buffer_names<'a>(root: &Table<'a>) -> Result<Vec<&'a str>, LaunchError> {
    match root.get("buffers") {
        Some(value) => Ok(value.table()?.entries().into_iter().map(|(name, _)| name).collect()),
        None => Ok(Vec::new()),
    }
}

fn buffers(root: &Table, scope: &Scope) -> Result<Vec<Buffer>, LaunchError> {
    let Some(value) = root.get("buffers") else {
        return Ok(Vec::new());
    };
    value.table()?.entries().into_iter().map(|(name, value)| buffer(name, &value, scope)).collect()
}

fn buffer(name: &str, value: &Value, scope: &Scope) -> Result<Buffer, LaunchError> {
    let table = value.table()?;
    table.accept(&["type", "length", "fill", "patches", "symbol", "texture", "result"])?;
    let patches = match table.get("patches") {
        Some(patches) => patches.array()?.iter().map(|item| patch(item, scope)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let element = element_type(&table.need("type")?)?;
    let texture = table.get("texture").map(|texture| {
        let keys = texture.table()?;
        keys.accept(&TEXTURE_KEYS)?;
        if !table.has("symbol") {
            return Err(texture.origin.error("a texture that has no `symbol`; accepted: that of a .texref"));
        }
        // Which buffer it is, is known when it is bound.
        ObjectArgument::parse(&keys, ObjectKind::Texture, (0, element), &scope.variables)
    });
    Ok(Buffer {
        origin: table.origin.clone(),
        name: name.to_string(),
        element,
        length: expression(&table.need("length")?, scope)?,
        fill: fill(&table.need("fill")?, scope)?,
        patches,
        symbol: table.get("symbol").map(|value| symbol(&value)).transpose()?,
        texture: texture.transpose()?,
        result: table.get("result").map(|result| result_check(&result)).transpose()?,
    })
}

/// A name, or `{ name = "x", ptx = "a.ptx" }`.
fn symbol(value: &Value) -> Result<Symbol, LaunchError> {
    if let Some(name) = value.as_string() {
        return Ok(Symbol { name: name.to_string(), ptx: None });
    }
    let table =
        value.as_table().ok_or_else(|| value.expected("a name or { name = \"x\", ptx = \"a.ptx\" }"))?;
    table.accept(&["name", "ptx"])?;
    let ptx = table.get("ptx").map(|ptx| ptx.string().map(Into::into)).transpose()?;
    Ok(Symbol { name: table.need("name")?.string()?.to_string(), ptx })
}

/// A PTX file, or a list of them.
fn ptx_files(value: &Value) -> Result<Vec<PathBuf>, LaunchError> {
    if let Some(one) = value.as_string() {
        return Ok(vec![one.into()]);
    }
    let files = value.as_array().ok_or_else(|| value.expected("the name of a file, or an array of them"))?;
    if !(1..=MAX_PTX_FILES).contains(&files.len()) {
        let found = files.len();
        return Err(value.origin.error(format!("{found} PTX files; 1 to {MAX_PTX_FILES} are accepted")));
    }
    files.iter().map(|file| file.string().map(Into::into)).collect()
}

fn patch(value: &Value, scope: &Scope) -> Result<Patch, LaunchError> {
    let table = value.table()?;
    table.accept(&["first", "every", "count", "fill"])?;
    let or_one = |key| match table.get(key) {
        Some(value) => expression(&value, scope),
        None => Ok(Expression::number(table.origin.clone(), 1)),
    };
    Ok(Patch {
        origin: table.origin.clone(),
        first: expression(&table.need("first")?, scope)?,
        every: or_one("every")?,
        count: or_one("count")?,
        fill: fill(&table.need("fill")?, scope)?,
    })
}

fn element_type(value: &Value) -> Result<ElementType, LaunchError> {
    named_type(value.string()?, value)
}

fn named_type(name: &str, value: &Value) -> Result<ElementType, LaunchError> {
    ElementType::by_name(name).ok_or_else(|| {
        let near = suggest(name, ElementType::NAMES.map(|(known, _)| known));
        value.origin.error(format!("no type `{name}`{near}"))
    })
}

fn fill(value: &Value, scope: &Scope) -> Result<Fill, LaunchError> {
    const EXPECTED: &str = "\"zeros\" or a table with one of the keys constant, iota, random, cumulative, values, structures, file";
    if let Some(text) = value.as_string() {
        return if text == "zeros" { Ok(Fill::Zeros) } else { Err(value.expected(EXPECTED)) };
    }
    let table = value.as_table().ok_or_else(|| value.expected(EXPECTED))?;
    let entries = table.entries();
    let [(kind, inner)] = entries.as_slice() else {
        return Err(table.origin.error(format!("{} keys; {EXPECTED} is expected", entries.len())));
    };
    Ok(match *kind {
        "constant" => Fill::Constant(scalar(inner, scope)?),
        "iota" => {
            let table = inner.table()?;
            table.accept(&["start", "step"])?;
            let start = scalar(&table.need("start")?, scope)?;
            Fill::Iota { start, step: scalar(&table.need("step")?, scope)? }
        }
        "random" => {
            let (seed, low, high) = range(inner, scope)?;
            Fill::Random { seed, low, high }
        }
        "cumulative" => {
            let (seed, low, high) = range(inner, scope)?;
            Fill::Cumulative { seed, low, high }
        }
        "values" => {
            Fill::Values(inner.array()?.iter().map(|item| scalar(item, scope)).collect::<Result<_, _>>()?)
        }
        "structures" => {
            let members = |structure: &Value| {
                structure.array()?.iter().map(|item| member(item, scope)).collect::<Result<Vec<_>, _>>()
            };
            Fill::Structures(inner.array()?.iter().map(members).collect::<Result<_, _>>()?)
        }
        "file" => Fill::File(inner.string()?.into()),
        other => {
            let near =
                suggest(other, ["constant", "iota", "random", "cumulative", "values", "structures", "file"]);
            return Err(inner.origin.error(format!("unknown key{near}")));
        }
    })
}

fn range(value: &Value, scope: &Scope) -> Result<(u64, Scalar, Scalar), LaunchError> {
    let table = value.table()?;
    table.accept(&["seed", "low", "high"])?;
    let seed = table.need("seed")?;
    let number =
        u64::try_from(seed.integer()?).map_err(|_| seed.expected("an integer that is not negative"))?;
    Ok((number, scalar(&table.need("low")?, scope)?, scalar(&table.need("high")?, scope)?))
}

fn scalar(value: &Value, scope: &Scope) -> Result<Scalar, LaunchError> {
    if let Some(table) = value.as_table() {
        return address(&table, scope).map(Scalar::Address);
    }
    match value.as_real()? {
        Some(number) => Ok(Scalar::Real(value.origin.clone(), number)),
        None => Ok(Scalar::Expression(expression(value, scope)?)),
    }
}

/// `{ address = "buffer", offset = 16 }`.
fn address(table: &Table, scope: &Scope) -> Result<Address, LaunchError> {
    table.accept(&["address", "offset"])?;
    let name = table.need("address")?;
    let offset = match table.get("offset") {
        Some(offset) => expression(&offset, scope)?,
        None => Expression::number(table.origin.clone(), 0),
    };
    Ok(Address { origin: name.origin.clone(), buffer: scope.buffer(&name, name.string()?)?, offset })
}

/// An address or a typed number.
fn member(value: &Value, scope: &Scope) -> Result<Member, LaunchError> {
    const EXPECTED: &str =
        "the name of a buffer, a typed number such as { s32 = 5 }, or { address = \"buffer\", offset = 16 }";
    if let Some(text) = value.as_string() {
        return match text_argument(value, text, scope)? {
            Scalar::Address(address) => Ok(Member::Address(address)),
            Scalar::Expression(_) | Scalar::Real(..) => Err(value.expected(EXPECTED)),
        };
    }
    let table = value.as_table().ok_or_else(|| value.expected(EXPECTED))?;
    if table.has("address") {
        return address(&table, scope).map(Member::Address);
    }
    let entries = table.entries();
    let [(name, number)] = entries.as_slice() else {
        return Err(table.origin.error(format!("{} keys where {EXPECTED} is expected", entries.len())));
    };
    let element = named_type(name, number)?;
    let scalar = scalar(number, scope)?;
    if let Scalar::Real(..) = scalar
        && !element.is_float()
    {
        return Err(number.expected(&format!("an integer, as {name} needs,")));
    }
    Ok(Member::Scalar(element, scalar))
}

/// What a string stands for: a buffer, `buffer + offset`, or an expression.
fn text_argument(value: &Value, text: &str, scope: &Scope) -> Result<Scalar, LaunchError> {
    let is_buffer = |name: &str| scope.buffers.contains(&name);
    let address = |buffer: &str, offset| {
        Ok(Scalar::Address(Address {
            origin: value.origin.clone(),
            buffer: scope.buffer(value, buffer)?,
            offset,
        }))
    };
    if is_buffer(text) {
        return address(text, Expression::number(value.origin.clone(), 0));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !scope.variables.contains_key(text) && text.chars().all(is_name) && !text.starts_with(char::is_numeric)
    {
        let known = scope.buffers.iter().copied().chain(scope.variables.keys().map(String::as_str));
        return Err(value.origin.error(format!("no buffer `{text}`{}", suggest(text, known))));
    }
    let expression = Expression::parse(value.origin.clone(), text)?;
    match expression.offset_from(|name| is_buffer(name) && !scope.variables.contains_key(name)) {
        Ok((buffer, offset)) => {
            offset.check(&scope.variables, None)?;
            address(&buffer, offset)
        }
        Err(expression) => {
            expression.check(&scope.variables, None)?;
            Ok(Scalar::Expression(expression))
        }
    }
}

fn expression(value: &Value, scope: &Scope) -> Result<Expression, LaunchError> {
    let expression = value.expression()?;
    expression.check(&scope.variables, None)?;
    Ok(expression)
}

fn result_check(value: &Value) -> Result<ResultCheck, LaunchError> {
    const EXPECTED: &str = "\"exact\" or a table with the keys absolute, relative, file";
    if let Some(text) = value.as_string() {
        let exact = ResultCheck { tolerance: Tolerance::EXACT, expected: None };
        return if text == "exact" { Ok(exact) } else { Err(value.expected(EXPECTED)) };
    }
    let table = value.as_table().ok_or_else(|| value.expected(EXPECTED))?;
    table.accept(&["absolute", "relative", "file"])?;
    let bound = |key| match table.get(key) {
        Some(number) => match number.as_real()? {
            Some(bound) if bound >= 0.0 => Ok(bound),
            Some(_) | None => Err(number.expected("a real number that is not negative, such as 1e-5,")),
        },
        None => Ok(0.0),
    };
    Ok(ResultCheck {
        tolerance: Tolerance { absolute: bound("absolute")?, relative: bound("relative")? },
        expected: table.get("file").map(|file| file.string().map(Into::into)).transpose()?,
    })
}

/// Parses steps; knows the buffers and how many loops are around.
#[derive(Clone, Copy)]
struct Steps<'a> {
    buffers: &'a [Buffer],
    depth: usize,
}

impl Steps<'_> {
    fn parse(self, value: &Value, scope: &Scope) -> Result<Arc<[Step]>, LaunchError> {
        let mut scope = scope.clone();
        let mut steps = Vec::new();
        for item in value.array()? {
            let step = self.step(&item.table()?, &scope)?;
            if let Step::Let { values } = &step {
                for (name, _) in values {
                    scope.define(name);
                    scope.assigned.insert(name.clone());
                }
            }
            steps.push(step);
        }
        Ok(steps.into())
    }

    fn step(self, table: &Table, scope: &Scope) -> Result<Step, LaunchError> {
        let kinds: Vec<&str> = STEP_KINDS.into_iter().filter(|kind| table.has(kind)).collect();
        let [kind] = kinds.as_slice() else {
            let found = if kinds.is_empty() { "none".to_string() } else { kinds.join(", ") };
            return Err(table.origin.error(format!(
                "a step has exactly one of the keys {} (a launch has grid); this has {found}",
                STEP_KINDS.join(", ")
            )));
        };
        match *kind {
            "grid" => self.launch(table, scope).map(|launch| Step::Launch(Box::new(launch))),
            "let" => self.assignment(table, scope),
            "for" => self.for_loop(table, scope),
            "while" => self.while_loop(table, scope),
            "repeat_while" => self.repeat_while(table, scope),
            "fill" => {
                table.accept(&["fill"])?;
                Ok(Step::Fill { buffer: buffer_named(&table.need("fill")?, scope)? })
            }
            "swap" => self.swap(table, scope),
            "copy" => copy(table, scope),
            other => Err(table.origin.error(format!("no step `{other}`"))),
        }
    }

    fn launch(self, table: &Table, scope: &Scope) -> Result<LaunchStep, LaunchError> {
        table.accept(&["entry", "grid", "block", "shared", "arguments"])?;
        let arguments = match table.get("arguments") {
            Some(arguments) => {
                arguments.array()?.iter().map(|item| self.argument(item, scope)).collect::<Result<_, _>>()?
            }
            None => Vec::new(),
        };
        Ok(LaunchStep {
            origin: table.origin.clone(),
            entry: table.get("entry").map(|entry| entry.string().map(str::to_string)).transpose()?,
            grid: shape(&table.need("grid")?, scope)?,
            block: shape(&table.need("block")?, scope)?,
            dynamic_shared_bytes: match table.get("shared") {
                Some(bytes) => expression(&bytes, scope)?,
                None => Expression::number(table.origin.clone(), 0),
            },
            arguments,
        })
    }

    fn argument(self, value: &Value, scope: &Scope) -> Result<Argument, LaunchError> {
        if let Some(text) = value.as_string() {
            return Ok(match text_argument(value, text, scope)? {
                Scalar::Address(address) => Argument::Member(Member::Address(address)),
                Scalar::Expression(expression) => Argument::Expression(expression),
                number @ Scalar::Real(..) => Argument::Number(number),
            });
        }
        if let Some(members) = value.as_array() {
            let members = members.iter().map(|item| self.member(item, scope));
            return members.collect::<Result<_, _>>().map(Argument::Structure);
        }
        if value.as_table().is_some() {
            return self.member(value, scope).map(Argument::Member);
        }
        if value.is_number() {
            return scalar(value, scope).map(Argument::Number);
        }
        Err(value.expected(
            "a number, the name of a buffer, a typed number such as { s32 = 5 }, a texture, a surface, or an array of members",
        ))
    }

    /// What may be an argument and a member of one.
    fn member(self, value: &Value, scope: &Scope) -> Result<Member, LaunchError> {
        let kinds = [(ObjectKind::Texture, TEXTURE_KEYS.as_slice()), (ObjectKind::Surface, &SURFACE_KEYS)];
        if let Some(table) = value.as_table() {
            for (kind, keys) in kinds {
                if let Some(buffer) = table.get(kind.name()) {
                    table.accept(&[&[kind.name()], keys].concat())?;
                    let buffer = buffer_named(&buffer, scope)?;
                    let of = (buffer, self.buffers[buffer].element);
                    let object = ObjectArgument::parse(&table, kind, of, &scope.variables)?;
                    return Ok(Member::Object(Box::new(object)));
                }
            }
        }
        member(value, scope)
    }

    fn assignment(self, table: &Table, scope: &Scope) -> Result<Step, LaunchError> {
        table.accept(&["let"])?;
        let mut scope = scope.clone();
        let mut values = Vec::new();
        for (name, value) in table.need("let")?.table()?.entries() {
            check_variable_name(name, &value)?;
            if scope.variables.contains_key(name) && !scope.assigned.contains(name) {
                return Err(value
                    .origin
                    .error(format!("the variable `{name}` is of the size or a loop; use another name")));
            }
            let expression = value.real_expression()?;
            expression.check(&scope.variables, Some(scope.buffers))?;
            values.push((name.to_string(), expression));
            scope.define(name);
            scope.assigned.insert(name.to_string());
        }
        if values.is_empty() {
            return Err(table
                .origin
                .error("`let` without a variable; { name = \"expression\" } is accepted"));
        }
        Ok(Step::Let { values })
    }

    fn while_loop(self, table: &Table, scope: &Scope) -> Result<Step, LaunchError> {
        table.accept(&["while", "at_most", "body"])?;
        let condition = table.need("while")?.expression()?;
        condition.check(&scope.variables, Some(scope.buffers))?;
        Ok(Step::While {
            condition,
            at_most: expression(&table.need("at_most")?, scope)?,
            body: self.body(table, scope)?,
        })
    }

    fn for_loop(self, table: &Table, scope: &Scope) -> Result<Step, LaunchError> {
        table.accept(&["for", "from", "to", "by", "body"])?;
        let name = table.need("for")?;
        let variable = name.string()?.to_string();
        check_variable_name(&variable, &name)?;
        if scope.variables.contains_key(&variable) {
            return Err(name
                .origin
                .error(format!("the variable `{variable}` has a value already; use another name")));
        }
        let or = |key, default| match table.get(key) {
            Some(value) => expression(&value, scope),
            None => Ok(Expression::number(table.origin.clone(), default)),
        };
        let mut inside = scope.clone();
        inside.define(&variable);
        Ok(Step::For {
            from: or("from", 0)?,
            to: expression(&table.need("to")?, scope)?,
            by: or("by", 1)?,
            body: self.body(table, &inside)?,
            variable,
        })
    }

    fn repeat_while(self, table: &Table, scope: &Scope) -> Result<Step, LaunchError> {
        table.accept(&["repeat_while", "at_most", "body"])?;
        Ok(Step::RepeatWhile {
            origin: table.origin.clone(),
            buffer: buffer_named(&table.need("repeat_while")?, scope)?,
            at_most: expression(&table.need("at_most")?, scope)?,
            body: self.body(table, scope)?,
        })
    }

    fn body(self, table: &Table, scope: &Scope) -> Result<Arc<[Step]>, LaunchError> {
        let body = table.need("body")?;
        if self.depth == MAX_LOOPS {
            return Err(body.origin.error(format!("loops are nested more than {MAX_LOOPS} deep")));
        }
        Steps { depth: self.depth + 1, ..self }.parse(&body, scope)
    }

    fn swap(self, table: &Table, scope: &Scope) -> Result<Step, LaunchError> {
        table.accept(&["swap"])?;
        let value = table.need("swap")?;
        let names = value.array()?;
        let [left, right] = names.as_slice() else {
            return Err(value.origin.error(format!("{} names where two buffers are expected", names.len())));
        };
        let buffers = [buffer_named(left, scope)?, buffer_named(right, scope)?];
        if let Some(fixed) =
            buffers.iter().map(|&index| &self.buffers[index]).find(|buffer| buffer.symbol.is_some())
        {
            return Err(value.origin.error(format!(
                "`{}` is a variable of the PTX file and keeps its place; copy instead of swapping",
                fixed.name
            )));
        }
        Ok(Step::Swap { origin: table.origin.clone(), buffers })
    }
}

fn copy(table: &Table, scope: &Scope) -> Result<Step, LaunchError> {
    table.accept(&["copy", "to"])?;
    let from = buffer_named(&table.need("copy")?, scope)?;
    Ok(Step::Copy { origin: table.origin.clone(), from, to: buffer_named(&table.need("to")?, scope)? })
}

fn buffer_named(value: &Value, scope: &Scope) -> Result<usize, LaunchError> {
    scope.buffer(value, value.string()?)
}

/// One to three extents: a number, or an array of numbers; the rest is 1.
fn shape(value: &Value, scope: &Scope) -> Result<[Expression; 3], LaunchError> {
    let one = Expression::number(value.origin.clone(), 1);
    let mut shape = [one.clone(), one.clone(), one];
    match value.as_array() {
        None => shape[0] = expression(value, scope)?,
        Some(items) if (1..=3).contains(&items.len()) => {
            for (extent, item) in shape.iter_mut().zip(&items) {
                *extent = expression(item, scope)?;
            }
        }
        Some(items) => {
            return Err(value
                .origin
                .error(format!("{} extents; one to three (x, y, z) are accepted", items.len())));
        }
    }
    Ok(shape)
}
