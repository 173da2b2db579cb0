//! From scheduled instructions to a function.

mod columns;
mod counters;
mod edge;
mod frame;
mod joins;
mod lanes;
mod marks;
mod members;
mod scalar;
mod slots;
mod small;
mod units;
mod values;
mod vectors;
mod wide;

use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, BlockArg, InstBuilder, Value, types};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::blueprint::Body;
use super::code::{Code, PARAMETERS, Target};
use super::graph::{Graph, InstId};
use super::kernels::{self, Kernel};
use super::parts::{PartId, Parts};
use super::ranges::Ranges;
use super::segments::{ROOT, SegmentId, Segments};
use crate::code_cache::CodeCache;
use crate::plan::Plan;
use crate::plan::inst::Inst;
use crate::{EngineError, InPort};
use frame::Frame;
pub use slots::{Reserved, Slots};
use vectors::Vectors;
pub use vectors::{has_lanes, is_in_vectors};

/// What code is made from, besides instructions in order.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    pub plan: &'a Arc<Plan>,
    pub parts: Option<&'a Parts>,
    /// Code of functions that were compiled before.
    pub kept: Option<&'a CodeCache>,
}

/// Compiles what runs cycles.
pub fn compile_cycles(recipe: Recipe, cycle: &Body) -> Result<Code, EngineError> {
    compile(recipe, cycle, None)?.finish(recipe.plan, recipe.kept)
}

/// Compiles what applies the edge that ends a `cycle` and works out the foreseen outputs.
pub fn compile_foresight(recipe: Recipe, foresight: &Body, cycle: &Body) -> Result<Code, EngineError> {
    compile(recipe, foresight, Some(&cycle.slots))?.finish(recipe.plan, recipe.kept)
}

/// Compiles a body, which runs cycles or, if it is given their slots, comes before one.
fn compile(recipe: Recipe, body: &Body, before: Option<&Slots>) -> Result<Target, EngineError> {
    let mut target = Target::new(&recipe.plan.circuit)?;
    let mut signature = target.signature();
    signature.params = vec![AbiParam::new(types::I64); PARAMETERS];
    let frontend = target.frontend_config();
    target.function().signature = signature;
    let mut context = FunctionBuilderContext::new();
    let outside = {
        let builder = FunctionBuilder::new(target.function(), &mut context);
        let graph = Graph::new(recipe.plan, body.readers);
        let subject = Subject::new(&graph, body, recipe, frontend);
        let mut emitter = Emitter::new(builder, subject);
        match before {
            None if emitter.parts.is_some() => emitter.emit_cycles_in_parts(),
            None => emitter.emit_cycles(),
            Some(slots_of_cycle) => emitter.emit_foresight(slots_of_cycle),
        }
        emitter.frame.finalize(frontend)
    };
    target.refers_to(outside.addresses, outside.tables);
    Ok(target)
}

/// What is emitted, and what is known of it.
#[derive(Clone)]
struct Subject<'a> {
    graph: &'a Graph<'a>,
    plan: &'a Plan,
    segments: &'a Segments,
    slots: &'a Slots,
    parts: Option<&'a Parts>,
    ranges: Rc<Ranges>,
    vectors: Rc<Vectors>,
    /// Whether several columns are compared: what one has loaded would then wait while others load.
    has_several_columns: bool,
    frontend: TargetFrontendConfig,
}

impl<'a> Subject<'a> {
    fn new(
        graph: &'a Graph<'a>,
        body: &'a Body,
        Recipe { parts, .. }: Recipe<'a>,
        frontend: TargetFrontendConfig,
    ) -> Subject<'a> {
        let columns = graph.plan.program.iter().filter(|inst| matches!(inst, Inst::Column { .. }));
        Subject {
            graph,
            plan: graph.plan,
            segments: &body.segments,
            slots: &body.slots,
            parts,
            ranges: Rc::new(Ranges::new(graph)),
            vectors: Rc::new(Vectors::new(graph, &body.segments)),
            has_several_columns: columns.count() > 1,
            frontend,
        }
    }
}

/// Emits the function of one plan.
struct Emitter<'a, 'f> {
    subject: Subject<'a>,
    /// The part whose instructions are being emitted; none at the edge.
    here: Option<PartId>,
    frame: Frame<'f>,
    /// What a call passes besides the arena.
    inputs: Value,
    ports: Value,
    registers: Value,
    cycles: Value,
    edge_is_due: Value,
    /// Loads so far, those of wide values counted twice.
    loaded: u32,
    /// By instruction, how many of these wait in registers for its result to be worked out.
    held: Vec<u32>,
    /// Whether registers are carried from cycle to cycle.
    carries: bool,
}

impl<'a> Deref for Emitter<'a, '_> {
    type Target = Subject<'a>;

    fn deref(&self) -> &Subject<'a> {
        &self.subject
    }
}

/// Most registers carried from cycle to cycle.
const MOST_CARRIED: usize = 12;

/// Loads that may wait in registers for one result, those of wide values counted twice. The code generator works a value
/// out where it is first stored or branched on, but loads where it is asked to: a sum of many words would hold all of
/// them until then.
const LOADS_HELD: u32 = 12;

/// Most instructions of a plan whose comparisons do without the processor's flags: an instruction that takes a bit from
/// these waits for what its register held before. They take an instruction more.
const WITHOUT_FLAGS: usize = 100;

/// Most words of an input that are taken without asking whether they have changed.
const TAKEN_WITHOUT_ASKING: u32 = 2;

/// Instructions of a plan that make long code.
const LONG: usize = 1000;

impl<'a, 'f> Emitter<'a, 'f> {
    fn new(mut builder: FunctionBuilder<'f>, subject: Subject<'a>) -> Emitter<'a, 'f> {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let parameters: [Value; PARAMETERS] = std::array::from_fn(|index| builder.block_params(entry)[index]);
        let [arena, inputs, ports, registers, cycles, edge_is_due] = parameters;
        let frame = Frame::new(builder, subject.plan, arena, vec![inputs, ports, registers]);
        let held = vec![0; subject.plan.program.len()];
        Emitter {
            subject,
            here: None,
            frame,
            inputs,
            ports,
            registers,
            cycles,
            edge_is_due,
            loaded: 0,
            held,
            carries: false,
        }
    }

    /// The loop over cycles: settling, counting, edge. The edge of the last cycle is left to the next call, as
    /// everything is to be read as it was in the cycle; what it needs goes to the arena. The edge is therefore
    /// emitted twice: from the arena, and from what the cycle has in registers.
    fn emit_cycles(&mut self) {
        let b = &mut self.frame.builder;
        let [first_edge, input, settle, edge, end] = [(); 5].map(|()| b.create_block());
        let [to_settle, left] = [settle, edge].map(|block| b.append_block_param(block, types::I64));
        let carried = self.carried();
        self.carries = !carried.is_empty();
        let b = &mut self.frame.builder;
        let values: Vec<Value> = carried.iter().map(|_| b.append_block_param(settle, types::I64)).collect();
        b.ins().brif(self.edge_is_due, first_edge, &[], input, &[]);

        b.switch_to_block(first_edge);
        self.frame.enter();
        self.emit_edge();
        self.frame.leave();
        self.ins().jump(input, &[]);

        self.frame.builder.switch_to_block(input);
        self.take_inputs();
        let at_first: Vec<Value> = carried.iter().map(|&q| self.new_word(q)).collect();
        self.jump(settle, self.cycles, &at_first);

        self.frame.builder.switch_to_block(settle);
        self.frame.begin_settling();
        for (&q, &value) in carried.iter().zip(&values) {
            self.frame.know_word(q, value);
        }
        self.settle();
        if self.plan.counts_when_compiled() {
            self.count();
        }
        let after = self.ins().iadd_imm_s(to_settle, -1);
        self.ins().brif(after, edge, &[BlockArg::Value(after)], end, &[]);

        self.frame.builder.switch_to_block(edge);
        self.frame.enter();
        self.emit_edge();
        let next: Vec<Value> = carried.iter().map(|&q| self.new_word(q)).collect();
        self.frame.leave();
        self.jump(settle, left, &next);

        self.frame.builder.switch_to_block(end);
        self.frame.enter();
        self.keep_pending();
        self.frame.leave();
        self.ins().return_(&[]);
    }

    /// Edge, inputs, and no more than the foreseen outputs need. The edge finds pointers where a cycle has kept them.
    fn emit_foresight(&mut self, slots_of_cycle: &'a Slots) {
        let b = &mut self.frame.builder;
        let [edge, input] = [(); 2].map(|()| b.create_block());
        b.ins().brif(self.edge_is_due, edge, &[], input, &[]);

        b.switch_to_block(edge);
        self.frame.enter();
        let slots = std::mem::replace(&mut self.subject.slots, slots_of_cycle);
        self.emit_edge();
        self.subject.slots = slots;
        self.frame.leave();
        self.ins().jump(input, &[]);

        self.frame.builder.switch_to_block(input);
        self.take_inputs();
        self.frame.begin_settling();
        self.settle();
        self.frame.enter();
        self.keep_pending();
        self.frame.leave();
        self.ins().return_(&[]);
    }

    /// The loop over cycles in parts: edge, inputs, settling, counting. All results are in the arena, so that the edge is
    /// the same before the first cycle as between two.
    fn emit_cycles_in_parts(&mut self) {
        let b = &mut self.frame.builder;
        let [edge, input, settle, end] = [(); 4].map(|()| b.create_block());
        let [to_edge, to_settle] = [edge, settle].map(|block| b.append_block_param(block, types::I64));
        b.ins().brif(self.edge_is_due, edge, &[BlockArg::Value(self.cycles)], input, &[]);

        b.switch_to_block(edge);
        self.frame.enter();
        self.emit_edge();
        self.frame.leave();
        let is_first = self.frame.builder.ins().icmp(IntCC::Equal, to_edge, self.cycles);
        self.ins().brif(is_first, input, &[], settle, &[BlockArg::Value(to_edge)]);

        self.frame.builder.switch_to_block(input);
        self.take_inputs();
        self.jump(settle, self.cycles, &[]);

        self.frame.builder.switch_to_block(settle);
        self.frame.begin_settling();
        self.settle();
        if self.plan.counts_when_compiled() {
            self.count();
        }
        let after = self.ins().iadd_imm_s(to_settle, -1);
        self.ins().brif(after, edge, &[BlockArg::Value(after)], end, &[]);

        self.frame.builder.switch_to_block(end);
        self.ins().return_(&[]);
    }

    fn jump(&mut self, to: Block, first: Value, rest: &[Value]) {
        let arguments: Vec<BlockArg> =
            [first].iter().chain(rest).map(|&value| BlockArg::Value(value)).collect();
        self.ins().jump(to, &arguments);
    }

    /// A register's value after the edge.
    fn new_word(&mut self, q: u32) -> Value {
        let known = self.frame.known_here(q);
        known.unwrap_or_else(|| {
            let at = self.frame.place(q);
            self.frame.load(at)
        })
    }

    /// Registers that stay in machine registers from one cycle to the next, if all of them find room there: in a
    /// small circuit a cycle takes as long as what it waits for, and that is what the cycle before has just stored.
    fn carried(&self) -> Vec<u32> {
        let narrow = self.plan.registers.iter().filter(|edge| edge.n == 1 && edge.next != edge.q);
        let carried: Vec<u32> = narrow.map(|edge| edge.q).collect();
        if carried.len() <= MOST_CARRIED { carried } else { Vec::new() }
    }

    /// Takes inputs that have changed. Port by port: two narrow inputs in one load would wait until the stores that have just
    /// set them are done.
    fn take_inputs(&mut self) {
        let from = frame::Pointer { base: self.inputs, offset: 0 };
        let mut ports: Vec<InPort> = self.plan.in_ports().collect();
        ports.sort_by_key(|port| port.offset);
        for ports in ports.chunk_by(|one, other| one.offset / 64 == other.offset / 64) {
            let at = from.words(self.plan.inputs.len() as u32 + ports[0].offset / 64);
            let changed = self.frame.load(at);
            self.frame.open(changed, true);
            for port in ports {
                self.take_input(*port, from.words(port.offset), changed);
            }
            let none = self.frame.constant(0);
            self.frame.store(at, none);
            self.frame.close();
        }
    }

    /// Takes an input if its bit of `changed` is set, or if that costs no more than to ask.
    fn take_input(&mut self, port: InPort, from: frame::Pointer, changed: Value) {
        let place = self.plan.inputs.start + port.offset;
        let (to, words) = (self.frame.place(place), port.width.div_ceil(64));
        let readers = self.readers_of_source(place);
        if readers.is_empty() && words <= TAKEN_WITHOUT_ASKING {
            return self.frame.copy(to, from, words);
        }
        let bit = self.ins().band_imm_u(changed, 1 << (port.offset % 64));
        self.frame.open(bit, true);
        self.frame.copy(to, from, words);
        self.mark_always(readers);
        self.frame.close();
    }

    /// Emits all instructions.
    fn settle(&mut self) {
        match self.parts {
            Some(parts) => self.settle_parts(parts),
            None => self.settle_in_order(&self.segments.order),
        }
    }

    /// Emits instructions, opening and closing segments on the way.
    fn settle_in_order(&mut self, order: &[(InstId, SegmentId)]) {
        let mut open: Vec<SegmentId> = Vec::new();
        for &(id, segment) in order {
            let mut path = self.segments.path(segment);
            path.retain(|&segment| !self.is_of_trigger(segment));
            let common = open.iter().zip(&path).take_while(|(open, segment)| open == segment).count();
            open.drain(common..).rev().for_each(|_| self.frame.close());
            for &segment in &path[common..] {
                self.open(segment);
                open.push(segment);
            }
            self.emit_inst(id);
        }
        open.drain(..).rev().for_each(|_| self.frame.close());
    }

    /// Whether a segment is what runs where a part's trigger is set.
    fn is_of_trigger(&self, segment: SegmentId) -> bool {
        let condition = self.segments.list[segment].condition;
        condition.is_some_and(|condition| self.parts.is_some_and(|parts| parts.is_trigger(condition.place)))
    }

    /// Begins a segment: what runs under a condition.
    fn open(&mut self, segment: SegmentId) {
        debug_assert_ne!(segment, ROOT);
        let Some(condition) = self.segments.list[segment].condition else { return };
        let word = self.condition(condition.place);
        self.frame.open(word, condition.holds);
    }

    fn emit_inst(&mut self, id: usize) {
        let inst = self.plan.program[id];
        let before = self.loaded;
        self.emit_operation(id, inst);
        if inst.result_words(self.plan) > 1 {
            return;
        }
        let mut held = self.loaded - before;
        inst.visit_operands(self.plan, &mut |(place, _)| {
            let of_operand = self.graph.producer(place).map_or(0, |operand| self.held[operand]);
            // Where much is used twice again and again, the sum has no bound.
            held = held.saturating_add(of_operand);
        });
        if self.frame.is_conditional() || held <= LOADS_HELD && !self.waits_in_memory(id) {
            self.held[id] = held;
        } else {
            self.set_aside(id);
        }
    }

    /// Whether a result is put into the arena until the edge asks for it. In long code it would wait in memory in any
    /// case, and be fetched from there once more wherever the way through the code forks.
    fn waits_in_memory(&self, id: usize) -> bool {
        self.segments.kept[id] && self.is_long()
    }

    /// Whether the code will hardly fit into the processor's cache: then its length is its speed.
    pub fn is_long(&self) -> bool {
        self.plan.program.len() >= LONG
    }

    /// Whether comparisons do without the processor's flags.
    pub fn is_without_flags(&self) -> bool {
        self.plan.program.len() <= WITHOUT_FLAGS
    }

    fn emit_operation(&mut self, id: usize, inst: Inst) {
        if self.emit_in_vectors(id, inst) || self.emit_scalar(id, inst) || self.emit_wide(id, inst) {
            return;
        }
        self.interpret(id, inst);
    }

    /// Has the instruction executed natively, on operands in the arena.
    fn interpret(&mut self, id: usize, inst: Inst) {
        let mut operands = Vec::new();
        inst.visit_operands(self.plan, &mut |(place, _)| operands.push(place));
        operands.into_iter().for_each(|place| self.materialise(place));
        let plan = self.frame.address(self.plan);
        let number = self.frame.constant(id as u64);
        let arena = self.frame.arena;
        self.frame.call_kernel(kernels::interpret as Kernel, &[plan, number, arena]);
        self.define_in_memory(id);
    }
}
