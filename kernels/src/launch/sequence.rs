//! Walks through the steps of a launch file, one launch at a time.

use std::sync::Arc;

use super::error::{LaunchError, Origin};
use super::expression::Variables;
use super::object::Object;
use super::{
    Argument, ElementType, Expression, LaunchFile, LaunchStep, MAX_BLOCK_THREADS, MAX_DYNAMIC_SHARED_BYTES,
    MAX_STEPS, Step, contents,
};

/// Device memory as the host sees it between launches. Buffers are numbered as in the launch file.
pub trait HostMemory {
    /// Reads a whole buffer.
    fn read(&self, buffer: usize) -> Result<Vec<u8>, String>;

    /// Writes a whole buffer.
    fn write(&mut self, buffer: usize, bytes: &[u8]) -> Result<(), String>;
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
    /// The address of a buffer, by its number in memory.
    Buffer(usize),
    /// Type and little-endian bytes of a number.
    Scalar(ElementType, Vec<u8>),
    /// The handle of a texture or surface, whose buffer is its number in memory.
    Object(Box<Object>),
    /// Members of a structure passed by value.
    Structure(Vec<ArgumentValue>),
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
        Step::Launch(_) | Step::Fill { .. } | Step::Swap { .. } | Step::Copy { .. } => 1,
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
    While { origin: Origin, buffer: usize, done: i64, at_most: i64 },
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
            Step::Launch(launch) => return self.plan(&launch).map(Some),
            Step::For { variable, from, to, by, body } => {
                let value = from.evaluate(&self.variables)?;
                let last = to;
                let to = last.evaluate(&self.variables)?;
                let step = by.evaluate_within(&self.variables, 1, i64::MAX)?;
                if value < to {
                    // Its bounds may depend on a loop around it, of which only this time is known.
                    self.check_room(&last.origin, repetitions(value, to, step), &body)?;
                    self.variables.insert(variable.clone(), value);
                    self.enter(body, Repeat::For { variable, value, to, by: step });
                }
            }
            Step::RepeatWhile { origin, buffer, at_most, body } => {
                let at_most = at_most.evaluate_within(&self.variables, 1, MAX_STEPS as i64)?;
                self.enter(body, Repeat::While { origin, buffer, done: 0, at_most });
            }
            Step::Fill { buffer } => self.fill(buffer, memory)?,
            Step::Swap { origin, buffers: [left, right] } => {
                self.check_alike(&origin, left, right)?;
                self.bound.swap(left, right);
            }
            Step::Copy { origin, from, to } => {
                self.check_alike(&origin, from, to)?;
                let bytes = memory.read(self.bound[from]).map_err(|message| origin.error(message))?;
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

    fn end_of_frame(&mut self, memory: &dyn HostMemory) -> Result<(), LaunchError> {
        let bound = &self.bound;
        let Some(frame) = self.frames.last_mut() else {
            return Ok(());
        };
        let again = match &mut frame.repeat {
            Repeat::Once => false,
            Repeat::For { variable, value, to, by } => {
                let next = value.checked_add(*by).filter(|next| next < to);
                match next {
                    Some(next) => {
                        *value = next;
                        self.variables.insert(variable.clone(), next);
                    }
                    None => {
                        self.variables.remove(variable);
                    }
                }
                next.is_some()
            }
            Repeat::While { origin, buffer, done, at_most } => {
                *done += 1;
                let bytes = memory.read(bound[*buffer]).map_err(|message| origin.error(message))?;
                let again = bytes.iter().any(|&byte| byte != 0);
                if again && *done == *at_most {
                    let name = &self.file.buffers[*buffer].name;
                    return Err(origin.error(format!(
                        "`{name}` is still not zero after {at_most} repetitions, the most that `at_most` allows"
                    )));
                }
                again
            }
        };
        if again {
            frame.next = 0;
        } else {
            self.frames.pop();
        }
        Ok(())
    }

    fn fill(&self, buffer: usize, memory: &mut dyn HostMemory) -> Result<(), LaunchError> {
        let declared = &self.file.buffers[buffer];
        let bytes = contents(declared, self.lengths[buffer], self.file.folder(), &self.variables)?;
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

    fn plan(&self, step: &LaunchStep) -> Result<Planned, LaunchError> {
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
                .map(|argument| self.argument(argument))
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

    fn argument(&self, argument: &Argument) -> Result<ArgumentValue, LaunchError> {
        match argument {
            Argument::Buffer(buffer) => Ok(ArgumentValue::Buffer(self.bound[*buffer])),
            Argument::Scalar(element, scalar) => {
                let mut bytes = Vec::new();
                scalar.push(*element, &self.variables, &mut bytes)?;
                Ok(ArgumentValue::Scalar(*element, bytes))
            }
            Argument::Object(object) => {
                let object = object.with_buffer(|buffer| self.bound[buffer]).evaluate(&self.variables)?;
                Ok(ArgumentValue::Object(Box::new(object)))
            }
            Argument::Structure(members) => {
                let members = members.iter().map(|member| self.argument(member));
                members.collect::<Result<_, _>>().map(ArgumentValue::Structure)
            }
        }
    }
}
