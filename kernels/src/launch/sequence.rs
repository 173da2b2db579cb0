//! Walks through the steps of a launch file, one launch at a time.

use std::sync::Arc;

use super::error::{LaunchError, Origin, suggest};
use super::expression::{Value, Variables};
use super::fill::contents;
use super::host::{DeviceReader, Host};
use super::object::Object;
use super::{
    Argument, ElementType, Expression, LaunchFile, LaunchStep, MAX_BLOCK_THREADS, MAX_DYNAMIC_SHARED_BYTES,
    MAX_READ_ELEMENTS, MAX_STEPS, Scalar, Step,
};

/// Device memory as the host sees it between launches. Buffers are numbered as in the launch file.
pub trait HostMemory {
    /// A whole buffer.
    fn read(&self, buffer: usize) -> Result<&[u8], String>;

    /// Writes a whole buffer.
    fn write(&mut self, buffer: usize, bytes: &[u8]) -> Result<(), String>;

    /// Device address of a buffer.
    fn address(&self, buffer: usize) -> u64;

    /// Bytes of a pointer in a structure that a buffer holds.
    fn pointer_bytes(&self) -> usize {
        8
    }
}

/// A launch with all its expressions evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The step it comes from.
    pub origin: Origin,
    /// The kernel's name, if given.
    pub entry: Option<String>,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory a block.
    pub dynamic_shared_bytes: u32,
    /// Arguments in the order of the kernel's parameters.
    pub arguments: Vec<ArgumentValue>,
}

/// An argument's value.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    /// An address, a number with its type, or a handle.
    Member(MemberValue),
    /// A number of the type that the kernel declares.
    Number(Value),
    /// The same as an expression gives it.
    Expression {
        /// The expression as written.
        text: String,
        /// What it gives.
        value: Value,
    },
    /// Members of a structure passed by value.
    Structure(Vec<MemberValue>),
}

/// The value of an address, of a number with its type, or of a handle.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberValue {
    /// An address: a buffer by its number in memory, and bytes from its start.
    Buffer {
        /// The buffer.
        buffer: usize,
        /// Bytes.
        offset: u64,
    },
    /// Type and little-endian bytes of a number.
    Scalar(ElementType, Vec<u8>),
    /// The handle of a texture or surface, whose buffer is its number in memory.
    Object(Box<Object>),
}

/// The steps of a launch file for one size: where we are, and which name stands for which buffer.
#[derive(Clone, Debug)]
pub struct Sequence {
    file: Arc<LaunchFile>,
    variables: Variables,
    lengths: Vec<usize>,
    /// Buffer in memory that each name of the launch file stands for.
    bound: Vec<usize>,
    frames: Vec<Frame>,
    steps: u64,
    /// Elements of buffers that expressions may still read.
    elements_left: u64,
}

/// Refuses steps of which it is plain that they are too many, before the first of them.
fn check_announced(steps: &[Step], variables: &Variables) -> Result<(), LaunchError> {
    for step in steps {
        let all = announced(std::slice::from_ref(step), variables);
        if let Step::For { to, .. } = step
            && all > MAX_STEPS
        {
            return Err(too_many(&to.origin, all));
        }
    }
    Ok(())
}

/// The steps that a list announces at least: a loop whose bounds are known counts as often as it is repeated, any other one
/// as its own step.
fn announced(steps: &[Step], variables: &Variables) -> u64 {
    let of_step = |step: &Step| match step {
        Step::For { from, to, by, body, .. } => {
            let bounds = [from, to, by].map(|bound| bound.evaluate(variables));
            let [Ok(from), Ok(to), Ok(by @ 1..)] = bounds else { return 1 };
            repetitions(from, to, by).saturating_mul(announced(body, variables).saturating_add(1))
        }
        Step::RepeatWhile { body, .. } => announced(body, variables).saturating_add(1),
        Step::While { .. } => 1,
        Step::Launch(_) | Step::Let { .. } | Step::Fill { .. } | Step::Swap { .. } | Step::Copy { .. } => 1,
    };
    steps.iter().map(of_step).fold(0, u64::saturating_add)
}

/// How often a loop from `from` to below `to` is repeated.
fn repetitions(from: i64, to: i64, by: i64) -> u64 {
    let distance = i128::from(to) - i128::from(from);
    if distance <= 0 { 0 } else { u64::try_from(distance).unwrap_or(u64::MAX).div_ceil(by as u64) }
}

fn too_many(origin: &Origin, announced: u64) -> LaunchError {
    origin.error(format!("the loop has {announced} steps or more; a run of at most {MAX_STEPS} is accepted"))
}

/// A list of steps that is being gone through.
#[derive(Clone, Debug)]
struct Frame {
    steps: Arc<[Step]>,
    next: usize,
    repeat: Repeat,
}

/// What happens at the end of a list of steps.
#[derive(Clone, Debug)]
enum Repeat {
    Once,
    For { variable: String, value: i64, to: i64, by: i64 },
    WhileBuffer { origin: Origin, buffer: usize, done: i64, at_most: i64 },
    While { condition: Expression, done: i64, at_most: i64 },
}

impl Sequence {
    /// The start of a launch file's steps.
    pub fn new(file: Arc<LaunchFile>, size: &str) -> Result<Self, LaunchError> {
        let variables = file.size(size)?.clone();
        let lengths = file.buffer_lengths(&variables)?;
        check_announced(&file.steps, &variables)?;
        let root = Frame { steps: file.steps.clone(), next: 0, repeat: Repeat::Once };
        Ok(Sequence {
            bound: (0..lengths.len()).collect(),
            file,
            variables,
            lengths,
            frames: vec![root],
            steps: 0,
            elements_left: MAX_READ_ELEMENTS,
        })
    }

    /// The launch file.
    pub fn file(&self) -> &LaunchFile {
        &self.file
    }

    /// Variables of the size.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Elements of every buffer.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The buffer of that name; an unknown one is an error that lists the near ones.
    pub fn buffer(&self, name: &str) -> Result<usize, LaunchError> {
        let names = || self.file.buffers.iter().map(|buffer| buffer.name.as_str());
        names().position(|known| known == name).ok_or_else(|| {
            let near = suggest(name, names());
            Origin::of_file(&self.file.path).error(format!("no buffer `{name}`{near}"))
        })
    }

    /// The buffer in memory that a name of the launch file stands for now.
    pub fn bound(&self, buffer: usize) -> usize {
        self.bound[buffer]
    }

    /// Gives every buffer its first contents.
    pub fn fill_all(&self, memory: &mut dyn HostMemory) -> Result<(), LaunchError> {
        (0..self.lengths.len()).try_for_each(|buffer| self.fill(buffer, memory))
    }

    /// Goes on to the next launch; `None` after the last. Reads `memory` where a loop depends on a buffer.
    pub fn next(&mut self, memory: &mut dyn HostMemory) -> Result<Option<Planned>, LaunchError> {
        while let Some(frame) = self.frames.last_mut() {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                let origin = Origin::of_file(&self.file.path);
                return Err(origin.error(format!("a run of more than {MAX_STEPS} steps")));
            }
            let Some(step) = frame.steps.get(frame.next).cloned() else {
                self.end_of_frame(memory)?;
                continue;
            };
            frame.next += 1;
            if let Some(planned) = self.step(step, memory)? {
                return Ok(Some(planned));
            }
        }
        Ok(None)
    }

    fn step(&mut self, step: Step, memory: &mut dyn HostMemory) -> Result<Option<Planned>, LaunchError> {
        match step {
            Step::Launch(launch) => return self.plan(&launch, memory).map(Some),
            Step::For { variable, from, to, by, body } => {
                let value = from.evaluate(&self.variables)?;
                let last = to;
                let to = last.evaluate(&self.variables)?;
                let step = by.evaluate_within(&self.variables, 1, i64::MAX)?;
                if value < to {
                    // Its bounds may depend on a loop around it, of which only this time is known.
                    self.check_room(&last.origin, repetitions(value, to, step), &body)?;
                    self.variables.insert(variable.clone(), Value::Integer(value));
                    self.enter(body, Repeat::For { variable, value, to, by: step });
                }
            }
            Step::RepeatWhile { origin, buffer, at_most, body } => {
                let at_most = at_most.evaluate_within(&self.variables, 1, MAX_STEPS as i64)?;
                self.enter(body, Repeat::WhileBuffer { origin, buffer, done: 0, at_most });
            }
            Step::While { condition, at_most, body } => {
                let at_most = at_most.evaluate_within(&self.variables, 1, MAX_STEPS as i64)?;
                if self.value(&condition, memory)?.holds() {
                    self.enter(body, Repeat::While { condition, done: 0, at_most });
                }
            }
            Step::Let { values } => {
                for (variable, expression) in values {
                    let value = self.value(&expression, memory)?;
                    self.variables.insert(variable, value);
                }
            }
            Step::Fill { buffer } => self.fill(buffer, memory)?,
            Step::Swap { origin, buffers: [left, right] } => {
                self.check_alike(&origin, left, right)?;
                self.bound.swap(left, right);
            }
            Step::Copy { origin, from, to } => {
                self.check_alike(&origin, from, to)?;
                let bytes = memory.read(self.bound[from]).map_err(|message| origin.error(message))?.to_vec();
                memory.write(self.bound[to], &bytes).map_err(|message| origin.error(message))?;
            }
        }
        Ok(None)
    }

    /// Refuses a loop that has more steps than are left.
    fn check_room(&self, origin: &Origin, repetitions: u64, body: &[Step]) -> Result<(), LaunchError> {
        let announced = repetitions.saturating_mul(announced(body, &self.variables).saturating_add(1));
        if self.steps.saturating_add(announced) > MAX_STEPS {
            return Err(too_many(origin, announced));
        }
        Ok(())
    }

    fn enter(&mut self, steps: Arc<[Step]>, repeat: Repeat) {
        self.frames.push(Frame { steps, next: 0, repeat });
    }

    /// Begins the steps of a frame again, or leaves it.
    fn end_of_frame(&mut self, memory: &dyn HostMemory) -> Result<(), LaunchError> {
        let Some(mut frame) = self.frames.pop() else {
            return Ok(());
        };
        let again = match &mut frame.repeat {
            Repeat::Once => false,
            Repeat::For { variable, value, to, by } => {
                let next = value.checked_add(*by).filter(|next| next < to);
                match next {
                    Some(next) => {
                        *value = next;
                        self.variables.insert(variable.clone(), Value::Integer(next));
                    }
                    None => {
                        self.variables.remove(variable);
                    }
                }
                next.is_some()
            }
            Repeat::WhileBuffer { origin, buffer, done, at_most } => {
                *done += 1;
                let bytes = memory.read(self.bound[*buffer]).map_err(|message| origin.error(message))?;
                let again = bytes.iter().any(|&byte| byte != 0);
                if again && *done == *at_most {
                    let name = &self.file.buffers[*buffer].name;
                    return Err(origin.error(format!(
                        "`{name}` is still not zero after {at_most} repetitions, the most that `at_most` allows"
                    )));
                }
                again
            }
            Repeat::While { condition, done, at_most } => {
                *done += 1;
                let again = self.value(condition, memory)?.holds();
                if again && *done == *at_most {
                    return Err(condition.origin.error(format!(
                        "`{}` still holds after {at_most} repetitions, the most that `at_most` allows",
                        condition.text
                    )));
                }
                again
            }
        };
        if again {
            self.frames.push(Frame { next: 0, ..frame });
        }
        Ok(())
    }

    /// The value of an expression that may read buffers.
    fn value(&mut self, expression: &Expression, memory: &dyn HostMemory) -> Result<Value, LaunchError> {
        let Sequence { file, bound, variables, elements_left, .. } = self;
        expression.value_over(variables, &mut DeviceReader { file, bound, memory, elements_left })
    }

    fn host<'a>(&'a self, memory: &'a dyn HostMemory) -> Host<'a> {
        let Sequence { file, lengths, bound, variables, .. } = self;
        Host { file, lengths, bound, variables, memory }
    }

    /// The first contents of a buffer, by its number in the launch file.
    pub fn contents(&self, buffer: usize, memory: &dyn HostMemory) -> Result<Vec<u8>, LaunchError> {
        contents(&self.file.buffers[buffer], self.lengths[buffer], self.host(memory))
    }

    fn fill(&self, buffer: usize, memory: &mut dyn HostMemory) -> Result<(), LaunchError> {
        let declared = &self.file.buffers[buffer];
        let bytes = self.contents(buffer, memory)?;
        memory.write(self.bound[buffer], &bytes).map_err(|message| declared.origin.error(message))
    }

    fn check_alike(&self, origin: &Origin, left: usize, right: usize) -> Result<(), LaunchError> {
        let describe = |index: usize| {
            let buffer = &self.file.buffers[index];
            format!("`{}` has {} elements of {}", buffer.name, self.lengths[index], buffer.element.name())
        };
        let same_type = self.file.buffers[left].element == self.file.buffers[right].element;
        if same_type && self.lengths[left] == self.lengths[right] {
            return Ok(());
        }
        Err(origin.error(format!("{}, {}: they must be alike", describe(left), describe(right))))
    }

    fn plan(&self, step: &LaunchStep, memory: &dyn HostMemory) -> Result<Planned, LaunchError> {
        let grid = self.shape(&step.grid, [i64::from(i32::MAX), 65_535, 65_535])?;
        let block = self.shape(&step.block, [MAX_BLOCK_THREADS, MAX_BLOCK_THREADS, 64])?;
        let threads: i64 = block.iter().map(|&extent| i64::from(extent)).product();
        if threads > MAX_BLOCK_THREADS {
            return Err(step.block[0]
                .origin
                .error(format!("a block of {threads} threads; at most {MAX_BLOCK_THREADS} are accepted")));
        }
        let shared =
            step.dynamic_shared_bytes.evaluate_within(&self.variables, 0, MAX_DYNAMIC_SHARED_BYTES)?;
        Ok(Planned {
            origin: step.origin.clone(),
            entry: step.entry.clone(),
            grid,
            block,
            dynamic_shared_bytes: shared as u32,
            arguments: step
                .arguments
                .iter()
                .map(|argument| argument_value(argument, &self.host(memory)))
                .collect::<Result<_, _>>()?,
        })
    }

    fn shape(&self, extents: &[Expression; 3], most: [i64; 3]) -> Result<[u32; 3], LaunchError> {
        let mut shape = [1; 3];
        for ((extent, expression), most) in shape.iter_mut().zip(extents).zip(most) {
            *extent = expression.evaluate_within(&self.variables, 1, most)? as u32;
        }
        Ok(shape)
    }
}

fn argument_value(argument: &Argument, host: &Host<'_>) -> Result<ArgumentValue, LaunchError> {
    match argument {
        Argument::Member(member) => host.member(member).map(ArgumentValue::Member),
        Argument::Number(Scalar::Expression(expression)) => {
            expression.value(host.variables).map(ArgumentValue::Number)
        }
        Argument::Expression(expression) => Ok(ArgumentValue::Expression {
            text: expression.text.clone(),
            value: expression.value(host.variables)?,
        }),
        Argument::Number(Scalar::Real(_, value)) => Ok(ArgumentValue::Number(Value::Real(*value))),
        Argument::Number(Scalar::Address(address)) => {
            let (buffer, offset) = host.locate(address)?;
            Ok(ArgumentValue::Member(MemberValue::Buffer { buffer, offset }))
        }
        Argument::Structure(members) => {
            let members = members.iter().map(|member| host.member(member));
            members.collect::<Result<_, _>>().map(ArgumentValue::Structure)
        }
    }
}
