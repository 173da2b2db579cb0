//! From the text of a launch file to a [`LaunchFile`], every name checked.

use std::path::Path;
use std::sync::Arc;

use super::error::{LaunchError, suggest};
use super::expression::{Expression, Variables};
use super::object::{ObjectArgument, ObjectKind, SURFACE_KEYS, TEXTURE_KEYS};
use super::toml_value::{Source, Table, Value, parse};
use super::{
    Argument, Buffer, DEFAULT_SIZE, ElementType, Fill, LaunchFile, LaunchStep, Patch, ResultCheck, Scalar,
    Step, Tolerance,
};

/// Deepest nesting of loops.
const MAX_LOOPS: usize = 8;
const STEP_KINDS: [&str; 6] = ["grid", "for", "repeat_while", "fill", "swap", "copy"];

pub(super) fn launch_file(path: &Path, text: &str) -> Result<LaunchFile, LaunchError> {
    let source = Source::new(path, text);
    let document = parse(&source)?;
    let root = Table::root(&source, &document);
    root.accept(&["description", "ptx", "sizes", "buffers", "steps"])?;

    let optional_string = |key| root.get(key).map(|value: Value| value.string()).transpose();
    let sizes = sizes(&root)?;
    let variables = sizes.first().map(|(_, variables)| variables.clone()).unwrap_or_default();
    let buffers = buffers(&root, &variables)?;
    let steps = Steps { buffers: &buffers, depth: 0 }.parse(&root.need("steps")?, &variables)?;
    Ok(LaunchFile {
        path: path.to_path_buf(),
        description: optional_string("description")?.unwrap_or_default().to_string(),
        ptx: optional_string("ptx")?.map(Into::into),
        sizes,
        buffers,
        steps,
    })
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
            variables.insert(variable.to_string(), number.integer()?);
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

fn buffers(root: &Table, variables: &Variables) -> Result<Vec<Buffer>, LaunchError> {
    let Some(value) = root.get("buffers") else {
        return Ok(Vec::new());
    };
    value.table()?.entries().into_iter().map(|(name, value)| buffer(name, &value, variables)).collect()
}

fn buffer(name: &str, value: &Value, variables: &Variables) -> Result<Buffer, LaunchError> {
    let table = value.table()?;
    table.accept(&["type", "length", "fill", "patches", "symbol", "texture", "result"])?;
    let patches = match table.get("patches") {
        Some(patches) => {
            patches.array()?.iter().map(|item| patch(item, variables)).collect::<Result<_, _>>()?
        }
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
        ObjectArgument::parse(&keys, ObjectKind::Texture, (0, element), variables)
    });
    Ok(Buffer {
        origin: table.origin.clone(),
        name: name.to_string(),
        element,
        length: expression(&table.need("length")?, variables)?,
        fill: fill(&table.need("fill")?, variables)?,
        patches,
        symbol: table.get("symbol").map(|symbol| symbol.string().map(str::to_string)).transpose()?,
        texture: texture.transpose()?,
        result: table.get("result").map(|result| result_check(&result)).transpose()?,
    })
}

fn patch(value: &Value, variables: &Variables) -> Result<Patch, LaunchError> {
    let table = value.table()?;
    table.accept(&["first", "every", "count", "fill"])?;
    let or_one = |key| match table.get(key) {
        Some(value) => expression(&value, variables),
        None => Ok(Expression::number(table.origin.clone(), 1)),
    };
    Ok(Patch {
        origin: table.origin.clone(),
        first: expression(&table.need("first")?, variables)?,
        every: or_one("every")?,
        count: or_one("count")?,
        fill: fill(&table.need("fill")?, variables)?,
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

fn fill(value: &Value, variables: &Variables) -> Result<Fill, LaunchError> {
    const EXPECTED: &str =
        "\"zeros\" or a table with one of the keys constant, iota, random, cumulative, values, file";
    if let Some(text) = value.as_string() {
        return if text == "zeros" { Ok(Fill::Zeros) } else { Err(value.expected(EXPECTED)) };
    }
    let table = value.as_table().ok_or_else(|| value.expected(EXPECTED))?;
    let entries = table.entries();
    let [(kind, inner)] = entries.as_slice() else {
        return Err(table.origin.error(format!("{} keys; {EXPECTED} is expected", entries.len())));
    };
    Ok(match *kind {
        "constant" => Fill::Constant(scalar(inner, variables)?),
        "iota" => {
            let table = inner.table()?;
            table.accept(&["start", "step"])?;
            let start = scalar(&table.need("start")?, variables)?;
            Fill::Iota { start, step: scalar(&table.need("step")?, variables)? }
        }
        "random" => {
            let (seed, low, high) = range(inner, variables)?;
            Fill::Random { seed, low, high }
        }
        "cumulative" => {
            let (seed, low, high) = range(inner, variables)?;
            Fill::Cumulative { seed, low, high }
        }
        "values" => {
            Fill::Values(inner.array()?.iter().map(|item| scalar(item, variables)).collect::<Result<_, _>>()?)
        }
        "file" => Fill::File(inner.string()?.into()),
        other => {
            let near = suggest(other, ["constant", "iota", "random", "cumulative", "values", "file"]);
            return Err(inner.origin.error(format!("unknown key{near}")));
        }
    })
}

fn range(value: &Value, variables: &Variables) -> Result<(u64, Scalar, Scalar), LaunchError> {
    let table = value.table()?;
    table.accept(&["seed", "low", "high"])?;
    let seed = table.need("seed")?;
    let number =
        u64::try_from(seed.integer()?).map_err(|_| seed.expected("an integer that is not negative"))?;
    Ok((number, scalar(&table.need("low")?, variables)?, scalar(&table.need("high")?, variables)?))
}

fn scalar(value: &Value, variables: &Variables) -> Result<Scalar, LaunchError> {
    match value.as_real()? {
        Some(number) => Ok(Scalar::Real(value.origin.clone(), number)),
        None => Ok(Scalar::Integer(expression(value, variables)?)),
    }
}

fn expression(value: &Value, variables: &Variables) -> Result<Expression, LaunchError> {
    let expression = value.expression()?;
    expression.check_variables(variables)?;
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
    fn parse(self, value: &Value, variables: &Variables) -> Result<Arc<[Step]>, LaunchError> {
        value.array()?.iter().map(|item| self.step(&item.table()?, variables)).collect()
    }

    fn step(self, table: &Table, variables: &Variables) -> Result<Step, LaunchError> {
        let kinds: Vec<&str> = STEP_KINDS.into_iter().filter(|kind| table.has(kind)).collect();
        let [kind] = kinds.as_slice() else {
            let found = if kinds.is_empty() { "none".to_string() } else { kinds.join(", ") };
            return Err(table.origin.error(format!(
                "a step has exactly one of the keys {} (a launch has grid); this has {found}",
                STEP_KINDS.join(", ")
            )));
        };
        match *kind {
            "grid" => self.launch(table, variables).map(|launch| Step::Launch(Box::new(launch))),
            "for" => self.for_loop(table, variables),
            "repeat_while" => self.repeat_while(table, variables),
            "fill" => {
                table.accept(&["fill"])?;
                Ok(Step::Fill { buffer: self.buffer(&table.need("fill")?)? })
            }
            "swap" => self.swap(table),
            "copy" => self.copy(table),
            other => Err(table.origin.error(format!("no step `{other}`"))),
        }
    }

    fn launch(self, table: &Table, variables: &Variables) -> Result<LaunchStep, LaunchError> {
        table.accept(&["entry", "grid", "block", "shared", "arguments"])?;
        let arguments = match table.get("arguments") {
            Some(arguments) => arguments
                .array()?
                .iter()
                .map(|item| self.argument(item, variables))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(LaunchStep {
            origin: table.origin.clone(),
            entry: table.get("entry").map(|entry| entry.string().map(str::to_string)).transpose()?,
            grid: shape(&table.need("grid")?, variables)?,
            block: shape(&table.need("block")?, variables)?,
            dynamic_shared_bytes: match table.get("shared") {
                Some(bytes) => expression(&bytes, variables)?,
                None => Expression::number(table.origin.clone(), 0),
            },
            arguments,
        })
    }

    fn argument(self, value: &Value, variables: &Variables) -> Result<Argument, LaunchError> {
        const EXPECTED: &str = "the name of a buffer, a typed number such as { s32 = 5 }, a texture, a surface, or an array of members";
        if value.as_string().is_some() {
            return self.buffer(value).map(Argument::Buffer);
        }
        if let Some(members) = value.as_array() {
            let member = |item: &Value| match item.as_array() {
                Some(_) => Err(item.expected("a member that is no structure itself")),
                None => self.argument(item, variables),
            };
            return members.iter().map(member).collect::<Result<_, _>>().map(Argument::Structure);
        }
        let table = value.as_table().ok_or_else(|| value.expected(EXPECTED))?;
        let kinds = [(ObjectKind::Texture, TEXTURE_KEYS.as_slice()), (ObjectKind::Surface, &SURFACE_KEYS)];
        for (kind, keys) in kinds {
            if let Some(buffer) = table.get(kind.name()) {
                table.accept(&[&[kind.name()], keys].concat())?;
                let buffer = self.buffer(&buffer)?;
                let of = (buffer, self.buffers[buffer].element);
                let object = ObjectArgument::parse(&table, kind, of, variables)?;
                return Ok(Argument::Object(Box::new(object)));
            }
        }
        let entries = table.entries();
        let [(name, number)] = entries.as_slice() else {
            return Err(table.origin.error(format!("{} keys where {EXPECTED} is expected", entries.len())));
        };
        let element = named_type(name, number)?;
        let scalar = scalar(number, variables)?;
        if let Scalar::Real(..) = scalar
            && !element.is_float()
        {
            return Err(number.expected(&format!("an integer, as {name} needs,")));
        }
        Ok(Argument::Scalar(element, scalar))
    }

    fn for_loop(self, table: &Table, variables: &Variables) -> Result<Step, LaunchError> {
        table.accept(&["for", "from", "to", "by", "body"])?;
        let name = table.need("for")?;
        let variable = name.string()?.to_string();
        check_variable_name(&variable, &name)?;
        if variables.contains_key(&variable) {
            return Err(name
                .origin
                .error(format!("the variable `{variable}` has a value already; use another name")));
        }
        let or = |key, default| match table.get(key) {
            Some(value) => expression(&value, variables),
            None => Ok(Expression::number(table.origin.clone(), default)),
        };
        let mut inside = variables.clone();
        inside.insert(variable.clone(), 0);
        Ok(Step::For {
            from: or("from", 0)?,
            to: expression(&table.need("to")?, variables)?,
            by: or("by", 1)?,
            body: self.body(table, &inside)?,
            variable,
        })
    }

    fn repeat_while(self, table: &Table, variables: &Variables) -> Result<Step, LaunchError> {
        table.accept(&["repeat_while", "at_most", "body"])?;
        Ok(Step::RepeatWhile {
            origin: table.origin.clone(),
            buffer: self.buffer(&table.need("repeat_while")?)?,
            at_most: expression(&table.need("at_most")?, variables)?,
            body: self.body(table, variables)?,
        })
    }

    fn body(self, table: &Table, variables: &Variables) -> Result<Arc<[Step]>, LaunchError> {
        let body = table.need("body")?;
        if self.depth == MAX_LOOPS {
            return Err(body.origin.error(format!("loops are nested more than {MAX_LOOPS} deep")));
        }
        Steps { depth: self.depth + 1, ..self }.parse(&body, variables)
    }

    fn swap(self, table: &Table) -> Result<Step, LaunchError> {
        table.accept(&["swap"])?;
        let value = table.need("swap")?;
        let names = value.array()?;
        let [left, right] = names.as_slice() else {
            return Err(value.origin.error(format!("{} names where two buffers are expected", names.len())));
        };
        let buffers = [self.buffer(left)?, self.buffer(right)?];
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

    fn copy(self, table: &Table) -> Result<Step, LaunchError> {
        table.accept(&["copy", "to"])?;
        let from = self.buffer(&table.need("copy")?)?;
        Ok(Step::Copy { origin: table.origin.clone(), from, to: self.buffer(&table.need("to")?)? })
    }

    fn buffer(self, value: &Value) -> Result<usize, LaunchError> {
        let name = value.string()?;
        self.buffers.iter().position(|buffer| buffer.name == name).ok_or_else(|| {
            let near = suggest(name, self.buffers.iter().map(|buffer| buffer.name.as_str()));
            value.origin.error(format!("no buffer `{name}`{near}"))
        })
    }
}

/// One to three extents: a number, or an array of numbers; the rest is 1.
fn shape(value: &Value, variables: &Variables) -> Result<[Expression; 3], LaunchError> {
    let one = Expression::number(value.origin.clone(), 1);
    let mut shape = [one.clone(), one.clone(), one];
    match value.as_array() {
        None => shape[0] = expression(value, variables)?,
        Some(items) if (1..=3).contains(&items.len()) => {
            for (extent, item) in shape.iter_mut().zip(&items) {
                *extent = expression(item, variables)?;
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
