//! The first pass over a kernel's trace: its static program, rebuilt from what was observed.
//!
//! Each thread's path gives the edges of the control flow graph: from every instruction that a lane executes to the
//! next one that it executes. An instruction that a guard switches off for a lane is thus bypassed by that lane,
//! which is what liveness needs. One whose active mask is 0 is linked to its neighbours in the warp instead. What a
//! warp as a whole went through is kept beside that, as the control flow of the program, and where a lane came that had
//! waited while its warp went back.
//!
//! Kills need two witnesses: the register is not live behind the read in that graph, and no lane was ever seen to
//! read the value again. A definition is soft if it was ever seen with fewer lanes than the warp still had.

use super::super::registers::lanes;
use super::super::report::KillClaims;
use super::super::{TraceError, TraceReport};
use super::body::{BodyScanner, Event};
use super::expand::expand;
use super::header::Header;
use super::line::{Line, Listed};
use super::text::{LineCursor, TextFile};
use crate::compile::cfg::{Cfg, Flow};
use crate::compile::function::{Access, Definition, Function};
use crate::compile::liveness::{Liveness, last_reads};
use crate::compile::suspension::{idle, suspends};
use crate::program::{ControlFlow, Instruction, LANES, LaneMask, LanesSeen, Launch, Operation, Program};
use std::collections::{BTreeSet, HashMap};

/// Distinct instructions accepted in a kernel: what bounds the memory of the static program.
const MAX_INSTRUCTIONS: usize = 1 << 17;
/// Ways from one instruction to the next accepted, for each distinct instruction on average, and beyond that: what
/// bounds the graph and the time of the dataflow on it.
const MAX_EDGES_EACH: usize = 4;
const MAX_EDGES_MORE: usize = 1 << 12;
/// Bytes read at a time.
const STEP: usize = 64 << 10;
/// No instruction yet.
const NONE: u32 = u32::MAX;

/// A line's static part and the machine instructions it stands for.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pc: u32,
    opcode: String,
    results: Vec<Listed>,
    sources: Vec<Listed>,
    /// Its machine instructions in the program.
    pub first: u32,
    pub parts: u32,
}

impl Template {
    fn matches(&self, line: &Line) -> bool {
        self.opcode == line.opcode && self.results == line.results && self.sources == line.sources
    }
}

/// What the first pass finds.
pub(super) struct Survey {
    pub program: Program,
    /// Templates in program order.
    templates: Vec<Template>,
}

impl Survey {
    /// The template of a line, if the first pass met it.
    pub fn template_of(&self, line: &Line) -> Option<&Template> {
        let first = self.templates.partition_point(|template| template.pc < line.pc);
        self.templates[first..]
            .iter()
            .take_while(|template| template.pc == line.pc)
            .find(|template| template.matches(line))
    }
}

/// Reads a kernel's trace from the end of its header to its end.
///
/// # Errors
/// A line that is not of the format, or more distinct instructions than are accepted.
pub(super) fn survey(
    file: &mut TextFile,
    start: &LineCursor,
    header: &Header,
    report: &mut TraceReport,
) -> Result<Survey, TraceError> {
    let mut observer = Observer::default();
    let mut scanner = BodyScanner::new(start.fork(STEP), &header.launch);
    let mut line = Line::default();
    let mut warps_with_instructions = 0u64;
    loop {
        match scanner.next(file)? {
            Event::Block(_) => {}
            Event::Warp { warp, instructions } => {
                warps_with_instructions += u64::from(instructions > 0);
                let mut path = WarpPath::new(&header.launch, warp);
                while let Some(text) = scanner.instruction(file)? {
                    let parsed = line.parse(text, header);
                    (parsed.and_then(|()| observer.observe(&line, header, &mut path, report)))
                        .map_err(|problem| file.error(scanner.cursor.line(), problem))?;
                }
                observer.end_warp(&path);
            }
            Event::BlockEnd => {}
            Event::End => break,
        }
    }
    if scanner.lacks_end() {
        report.warn(format!("kernel `{}`: the last `#END_TB` is missing, behind a whole block", header.name));
    }
    let warps = header.launch.blocks() * header.launch.warps_per_block() as u64;
    if warps_with_instructions < warps {
        report.warn(format!(
            "kernel `{}`: {} of {warps} warps have no instructions",
            header.name,
            warps - warps_with_instructions
        ));
    }
    Ok(observer.finish(header, report))
}

/// What is known of the warp being read.
struct WarpPath {
    /// Lanes that the block has.
    threads: LaneMask,
    /// Lanes that have not exited.
    alive: LaneMask,
    /// The template each lane executed last.
    last: [u32; LANES],
    /// How often the warp has begun or gone back in the program, and how often it had when each lane executed its last.
    turns: u64,
    turns_at_last: [u64; LANES],
    /// The template the warp met last.
    previous: u32,
    previous_mask: LaneMask,
    /// For each register the operand that read its value last, lane by lane.
    readers: Vec<[u32; LANES]>,
}

impl WarpPath {
    fn new(launch: &Launch, warp: usize) -> WarpPath {
        let threads = launch.threads_per_block() as usize;
        let first = warp * LANES;
        let alive = match threads.saturating_sub(first) {
            LANES.. => LaneMask::MAX,
            count => (1 << count) - 1,
        };
        WarpPath {
            threads: alive,
            alive,
            last: [NONE; LANES],
            turns: 0,
            turns_at_last: [0; LANES],
            previous: NONE,
            previous_mask: 0,
            readers: Vec::new(),
        }
    }

    fn readers_of(&mut self, register: u16) -> &mut [u32; LANES] {
        let row = usize::from(register);
        if row >= self.readers.len() {
            self.readers.resize(row + 1, [NONE; LANES]);
        }
        &mut self.readers[row]
    }
}

/// What was seen of one template.
struct Observed {
    template: Template,
    instructions: Vec<Instruction>,
    successors: BTreeSet<u32>,
    /// What the warp went on with, whichever lanes that were.
    warp_successors: BTreeSet<u32>,
    /// A lane's path ended here.
    ends: bool,
    /// The warp came here as its first or from behind, or a lane for which it had done so since the lane's last instruction.
    breaks: bool,
    /// Met with fewer lanes than the warp had.
    partial: bool,
    /// Number of the first register operand of its machine instructions.
    first_operand: usize,
}

#[derive(Default)]
struct Observer {
    observed: Vec<Observed>,
    edges: usize,
    warp_edges: usize,
    /// Looked up only, never walked through.
    by_pc: HashMap<u32, Vec<u32>>,
    /// For each register operand whether a lane read the value again.
    read_again: Vec<bool>,
}

impl Observer {
    fn observe(
        &mut self,
        line: &Line,
        header: &Header,
        path: &mut WarpPath,
        report: &mut TraceReport,
    ) -> Result<(), String> {
        let template = self.template(line, header, report)?;
        if line.mask & !path.alive != 0 {
            let whose = if line.mask & !path.threads != 0 { "beyond the block" } else { "that have exited" };
            report.warn(format!("kernel `{}`: instructions of lanes {whose}", header.name));
        }
        self.link(template, line.mask, path)?;
        self.read_and_write(template, line.mask, path);
        let observed = &mut self.observed[template as usize];
        observed.partial |= line.mask & path.alive != path.alive;
        let exits = observed.instructions.iter().any(|part| part.operation == Operation::Exit);
        if exits {
            path.alive &= !line.mask;
        }
        Ok(())
    }

    /// The number of a line's template, which is made if it is new.
    fn template(&mut self, line: &Line, header: &Header, report: &mut TraceReport) -> Result<u32, String> {
        let known = self.by_pc.get(&line.pc).and_then(|candidates| {
            let matches = |&&number: &&u32| self.observed[number as usize].template.matches(line);
            candidates.iter().find(matches)
        });
        if let Some(&number) = known {
            return Ok(number);
        }
        if self.observed.len() == MAX_INSTRUCTIONS {
            return Err(format!("more than {MAX_INSTRUCTIONS} distinct instructions"));
        }
        let (instructions, opcode) = expand(line, header.sm, header.complete_registers);
        if !opcode.known {
            report.warn(format!("unknown opcode `{}`: treated as arithmetic", line.opcode));
        }
        if opcode.operation.accesses_memory() && line.memory_bytes == 0 && !line.opcode.starts_with("LDC") {
            report.warn(format!("`{}` without addresses: address 0 is used", line.opcode));
        }
        let number = self.observed.len() as u32;
        let operands: usize = instructions.iter().map(|part| part.sources.len()).sum();
        self.observed.push(Observed {
            template: Template {
                pc: line.pc,
                opcode: line.opcode.clone(),
                results: line.results.clone(),
                sources: line.sources.clone(),
                first: 0,
                parts: instructions.len() as u32,
            },
            instructions,
            successors: BTreeSet::new(),
            warp_successors: BTreeSet::new(),
            ends: false,
            breaks: false,
            partial: false,
            first_operand: self.read_again.len(),
        });
        self.read_again.resize(self.read_again.len() + operands, false);
        self.by_pc.entry(line.pc).or_default().push(number);
        Ok(number)
    }

    /// Adds the edges to a template.
    fn link(&mut self, template: u32, mask: LaneMask, path: &mut WarpPath) -> Result<(), String> {
        let goes_on = path.previous != NONE && self.is_behind(template, path.previous);
        path.turns += u64::from(!goes_on);
        self.observed[template as usize].breaks |= !goes_on;
        if path.previous != NONE {
            let successors = &mut self.observed[path.previous as usize].warp_successors;
            self.warp_edges += usize::from(successors.insert(template));
            self.check_edges(self.warp_edges)?;
        }
        if path.previous != NONE && (mask == 0 || path.previous_mask == 0) {
            self.add_edge(path.previous, template)?;
        }
        let mut linked = NONE;
        for lane in lanes(mask) {
            let from = std::mem::replace(&mut path.last[lane], template);
            let turns = std::mem::replace(&mut path.turns_at_last[lane], path.turns);
            self.observed[template as usize].breaks |= turns != path.turns;
            if from != NONE && from != linked {
                self.add_edge(from, template)?;
                linked = from;
            }
        }
        path.previous = template;
        path.previous_mask = mask;
        Ok(())
    }

    /// Whether a template is behind another one in the program. Those of one address are in the order in which they were met.
    fn is_behind(&self, template: u32, other: u32) -> bool {
        let place = |number: u32| (self.observed[number as usize].template.pc, number);
        place(template) > place(other)
    }

    fn add_edge(&mut self, from: u32, to: u32) -> Result<(), String> {
        self.edges += usize::from(self.observed[from as usize].successors.insert(to));
        self.check_edges(self.edges)
    }

    fn check_edges(&self, edges: usize) -> Result<(), String> {
        let most = MAX_EDGES_EACH * self.observed.len() + MAX_EDGES_MORE;
        if edges > most {
            let instructions = self.observed.len();
            return Err(format!(
                "more than {most} ways from one to the next of {instructions} distinct instructions"
            ));
        }
        Ok(())
    }

    /// Follows each value from operand to operand.
    fn read_and_write(&mut self, template: u32, mask: LaneMask, path: &mut WarpPath) {
        let observed = &self.observed[template as usize];
        let mut operand = observed.first_operand;
        for part in &observed.instructions {
            for source in &part.sources {
                let readers = path.readers_of(source.register.0);
                for lane in lanes(mask) {
                    let before = std::mem::replace(&mut readers[lane], operand as u32);
                    if before != NONE {
                        self.read_again[before as usize] = true;
                    }
                }
                operand += 1;
            }
            for result in &part.results {
                let readers = path.readers_of(result.register.0);
                for lane in lanes(mask) {
                    readers[lane] = NONE;
                }
            }
        }
    }

    fn end_warp(&mut self, path: &WarpPath) {
        for last in path.last.iter().chain([&path.previous]).filter(|&&last| last != NONE) {
            self.observed[*last as usize].ends = true;
        }
    }

    /// Puts the program in order and annotates it.
    fn finish(mut self, header: &Header, report: &mut TraceReport) -> Survey {
        let mut order: Vec<u32> = (0..self.observed.len() as u32).collect();
        order.sort_by_key(|&number| (self.observed[number as usize].template.pc, number));
        let mut next = 0;
        for &number in &order {
            let template = &mut self.observed[number as usize].template;
            template.first = next;
            next += template.parts;
        }
        let mut program = self.program(&order, header);
        let seen = LanesSeen {
            flow: self.flow(&order, |observed| &observed.successors),
            breaks: self.of_first_parts(&order, |observed| observed.breaks),
        };
        program.control = Some(ControlFlow {
            flow: self.flow(&order, |observed| &observed.warp_successors),
            may_diverge: seen.flow.iter().map(diverges).collect(),
            switches: Vec::new(),
            seen: Some(seen),
        });
        if !program.instructions.is_empty() {
            report_claims(&mut report.kills, self.annotate(&order, &mut program));
        }
        let templates = order.iter().map(|&number| self.observed[number as usize].template.clone()).collect();
        Survey { program, templates }
    }

    fn program(&self, order: &[u32], header: &Header) -> Program {
        let instructions: Vec<Instruction> = (order.iter())
            .flat_map(|&number| self.observed[number as usize].instructions.iter().cloned())
            .collect();
        let registers = instructions.iter().flat_map(|part| {
            let sources = part.sources.iter().map(|source| source.register.0);
            sources.chain(part.results.iter().map(|result| result.register.0))
        });
        let used = registers.max().map_or(0, |highest| highest + 1);
        // Other tracers' counts contain registers that are reserved or fill up a unit of allocation.
        let allocated = header.registers.filter(|_| header.complete_registers).unwrap_or(0);
        Program {
            name: header.name.clone(),
            registers_per_thread: used.max(allocated),
            instructions,
            shared_bytes: header.launch.shared_bytes,
            control: None,
            spills: crate::program::Spills::default(),
            computations: Vec::new(),
        }
    }

    /// Marks soft definitions, last reads, suspensions and what is idle before them; returns the kills.
    fn annotate(&self, order: &[u32], program: &mut Program) -> KillClaims {
        let function = self.function(order, program);
        let last = last_reads(&function, &Liveness::per_thread(&function));
        let suspends = suspends(&function);
        let idle = idle(&function, &suspends);
        let mut kills = KillClaims::default();
        for &number in order {
            let observed = &self.observed[number as usize];
            let mut operand = observed.first_operand;
            let first = observed.template.first as usize;
            for position in first..first + observed.template.parts as usize {
                let instruction = &mut program.instructions[position];
                instruction.suspends = suspends[position];
                for (slot, source) in instruction.sources.iter_mut().enumerate() {
                    let possible = !self.read_again[operand];
                    source.last_read = possible && last[position][slot];
                    source.idle_until_suspension = idle.uses[position][slot];
                    kills.operands += 1;
                    kills.possible += u64::from(possible);
                    kills.claimed += u64::from(source.last_read);
                    operand += 1;
                }
                for (slot, result) in instruction.results.iter_mut().enumerate() {
                    result.soft = observed.partial;
                    result.idle_until_suspension = idle.definitions[position][slot];
                }
            }
        }
        kills
    }

    /// The program for dataflow, with the observed control flow of the lanes.
    fn function(&self, order: &[u32], program: &Program) -> Function {
        let flow = self.flow(order, |observed| &observed.successors);
        let instructions = program.instructions.iter().map(access).collect();
        let cfg = Cfg::new(&flow).expect("every target is the first part of a template");
        Function { cfg, instructions, registers: usize::from(program.registers_per_thread) }
    }

    /// What holds of the first machine instruction of each template.
    fn of_first_parts(&self, order: &[u32], holds: impl Fn(&Observed) -> bool) -> Vec<bool> {
        let mut of_each = Vec::new();
        for &number in order {
            let observed = &self.observed[number as usize];
            of_each.push(holds(observed));
            of_each.resize(of_each.len() + observed.template.parts as usize - 1, false);
        }
        of_each
    }

    /// Where control was seen to go after each instruction of the program.
    fn flow(&self, order: &[u32], successors: impl Fn(&Observed) -> &BTreeSet<u32>) -> Vec<Flow> {
        let mut flow = Vec::new();
        for &number in order {
            let observed = &self.observed[number as usize];
            flow.resize(flow.len() + observed.template.parts as usize - 1, Flow::Next);
            let targets: Vec<usize> = (successors(observed).iter())
                .map(|&to| self.observed[to as usize].template.first as usize)
                .collect();
            flow.push(match targets.as_slice() {
                [target] if *target == flow.len() + 1 && !observed.ends => Flow::Next,
                _several => Flow::To { targets, exits: observed.ends },
            });
        }
        flow
    }
}

/// Whether lanes were seen to go more than one way.
fn diverges(flow: &Flow) -> bool {
    match flow {
        Flow::Next => false,
        Flow::To { targets, exits } => targets.len() + usize::from(*exits) > 1,
    }
}

fn access(instruction: &Instruction) -> Access {
    Access {
        uses: instruction.sources.iter().map(|source| u32::from(source.register.0)).collect(),
        definitions: (instruction.results.iter())
            .map(|result| Definition { register: u32::from(result.register.0), guarded: false })
            .collect(),
        // Soft definitions are observed, so nothing here asks which branches diverge.
        may_diverge: false,
        long_latency: instruction.operation.has_long_latency(),
        barrier: instruction.operation == Operation::Barrier,
    }
}

fn report_claims(total: &mut KillClaims, kernel: KillClaims) {
    total.claimed += kernel.claimed;
    total.possible += kernel.possible;
    total.operands += kernel.operands;
}
