//! Kernels whose branches became guards and whose loops were unrolled do what they did before.

use proptest::prelude::*;
use warpfile_kernels::compile::restructure::restructure;
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::exec::{BlockExecution, Configuration, ExecOptions, Execution, Loaded, Memory};
use warpfile_kernels::ptx::ir::{Kernel, Module, Op};
use warpfile_kernels::ptx::parse;

const LANES: usize = 32;

/// A kernel over the buffers `%in` and `%out`; `%lane` is the thread's index times 256.
fn module(body: &str) -> Module {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n\
         .visible .entry k(.param .u64 input, .param .u64 output)\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b32 %t; .reg .b64 %in, %out, %lane;\n\
         mov.u32 %t, %tid.x; mul.wide.u32 %lane, %t, 256;\n\
         ld.param.u64 %in, [input]; add.u64 %in, %in, %lane;\n\
         ld.param.u64 %out, [output]; add.u64 %out, %out, %lane;\n{body}\nret;\n}}\n"
    );
    parse("restructuring.ptx", &text).unwrap()
}

/// What one warp leaves in 64 words a lane; `None` if it does not end soon.
fn run(module: &Module, schedule: Schedule, input: &[u8]) -> Option<Vec<u32>> {
    let options = CompileOptions { check_allocation: true, schedule, ..CompileOptions::default() };
    let compiled = compile(module, "k", &options).unwrap();
    let mut memory = Memory::new();
    let loaded = Loaded::new(module, &mut memory).unwrap();
    let output = memory.allocate("output", 256 * LANES as u64).unwrap();
    let given = memory.allocate("input", 256 * LANES as u64).unwrap();
    memory.write(given, input).unwrap();
    let parameters = [memory.address(given).to_le_bytes(), memory.address(output).to_le_bytes()];
    let configuration = Configuration {
        grid: [1, 1, 1],
        block: [LANES as u32, 1, 1],
        dynamic_shared_bytes: 0,
        parameters: parameters.concat(),
        options: ExecOptions { max_warp_instructions: 50_000, ..ExecOptions::default() },
    };
    let execution =
        Execution::new(&compiled.kernel, &compiled.reconvergence, &loaded, configuration).unwrap();
    BlockExecution::new(&execution, 0).run(&mut memory, &mut ()).ok()?;
    Some(memory.read(output))
}

/// The same memory after both, and after the order of the source.
fn same_results(module: &Module, input: &[u8]) -> Result<Option<Vec<u32>>, TestCaseError> {
    let before = run(module, Schedule::None, input);
    let after = run(module, Schedule::List, input);
    if before.is_some() {
        prop_assert_eq!(&before, &after);
    }
    Ok(before)
}

/// What a loop counts with.
#[derive(Clone, Copy, Debug)]
struct Count {
    ty: &'static str,
    compare: &'static str,
    step: i64,
    /// The comparison comes before the counter changes.
    before: bool,
    /// The branch leaves the loop instead of going on.
    leaves: bool,
}

impl Count {
    fn bits(self) -> u32 {
        self.ty[1..].parse().unwrap()
    }

    fn wrap(self, value: i64) -> i64 {
        if self.bits() == 64 { value } else { value & 0xffff_ffff }
    }

    /// Whether the loop goes on: from the meaning of the comparison.
    fn goes_on(self, value: i64, bound: i64) -> bool {
        let signed = |value: i64| if self.bits() == 64 { value } else { i64::from(value as i32) };
        let order = if self.ty.starts_with('s') {
            signed(value).cmp(&signed(bound))
        } else {
            (value as u64).cmp(&(bound as u64))
        };
        let holds = match self.compare {
            "eq" => order.is_eq(),
            "ne" => order.is_ne(),
            "lt" => order.is_lt(),
            "le" => order.is_le(),
            "gt" => order.is_gt(),
            _ => order.is_ge(),
        };
        holds != self.leaves
    }

    /// Turns of the loop, if not more than 40.
    fn turns(self, start: i64, bound: i64) -> Option<u32> {
        let (mut value, bound) = (self.wrap(start), self.wrap(bound));
        (1..=40).find(|_| {
            let next = self.wrap(value.wrapping_add(self.step));
            let asked = if self.before { value } else { next };
            value = next;
            !self.goes_on(asked, bound)
        })
    }

    /// Adds up what the input has at one word after the other, and counts turns. Start and bound are the lane's own, or given.
    fn kernel(self, given: Option<(i64, i64)>) -> Module {
        let Count { ty, compare, step, .. } = self;
        let (register, bits, bytes) = if self.bits() == 64 { ("%d", 64, 8) } else { ("%r", 32, 4) };
        let first = match given {
            Some((start, _)) => format!("mov.b{bits} {register}1, {};", self.literal(start)),
            None => format!("ld.global.b{bits} {register}1, [%in];"),
        };
        let bound = given.map_or(format!("{register}2"), |(_, bound)| self.literal(bound));
        let ask = format!("setp.{compare}.{ty} %p0, {register}1, {bound};");
        let add = format!("add.{ty} {register}1, {register}1, {};", self.literal(step));
        let turn = if self.before { [ask, add] } else { [add, ask] }.concat();
        let negated = if self.leaves { "!" } else { "" };
        module(&format!(
            "ld.global.b{bits} {register}2, [%in+{bytes}]; mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u64 %d3, %in;\n\
             {first}\n\
             LOOP: add.u64 %d4, %d3, 8; add.u64 %d3, %d3, 4; ld.global.u32 %r5, [%d4+8]; add.u32 %r3, %r3, %r5; add.u32 %r4, %r4, 1;\n\
             {turn}\n@{negated}%p0 bra LOOP;\n\
             st.global.v2.u32 [%out], {{%r3, %r4}}; st.global.b{bits} [%out+8], {register}1; st.global.u64 [%out+16], %d3;"
        ))
    }

    fn literal(self, value: i64) -> String {
        format!("{:#x}", self.wrap(value))
    }
}

/// Where counters begin: around 0 and around where the types wrap.
const STARTS: [i64; 8] =
    [0, 7, -5, i32::MAX as i64 - 9, i32::MIN as i64 + 9, u32::MAX as i64 - 9, i64::MAX - 9, i64::MIN + 9];

fn counts() -> Vec<Count> {
    let mut counts = Vec::new();
    for ty in ["s32", "u32", "s64", "u64"] {
        for compare in ["eq", "ne", "lt", "le", "gt", "ge"] {
            for step in [1, -1, 3, -4] {
                for (before, leaves) in [(false, false), (false, true), (true, false), (true, true)] {
                    counts.push(Count { ty, compare, step, before, leaves });
                }
            }
        }
    }
    counts
}

/// Loops that end soon, from each start: up to 14 turns forwards, and bounds that lie behind, or between two steps.
fn ends(count: Count) -> Vec<(i64, i64, u32)> {
    let bounds =
        |start: i64| (-3..=44).map(move |distance: i64| start.wrapping_add(distance * count.step.signum()));
    let pairs = STARTS.into_iter().flat_map(|start| bounds(start).map(move |bound| (start, bound)));
    pairs.filter_map(|(start, bound)| Some((start, bound, count.turns(start, bound)?))).collect()
}

fn input(count: Count, lanes: &[(i64, i64, u32)]) -> Vec<u8> {
    let mut input: Vec<u8> =
        (0..LANES * 64).flat_map(|word| (word as u32).wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    for (lane, &(start, bound, _)) in lanes.iter().enumerate() {
        let bytes = count.bits() as usize / 8;
        for (place, value) in [start, bound].into_iter().enumerate() {
            let at = lane * 256 + place * bytes;
            input[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
    }
    input
}

/// Every comparison, from all sides, with counters that wrap: each lane of a warp turns as often as its own start and bound say.
#[test]
fn an_unrolled_loop_turns_as_often_as_before() {
    let mut unrolled = 0;
    for count in counts() {
        let module = count.kernel(None);
        unrolled += usize::from(branches(&restructure(&module.kernels[0])) > branches(&module.kernels[0]));
        let mut ends = ends(count);
        // Lanes of a warp turn different numbers of times.
        ends.sort_by_key(|&(start, bound, turns)| (bound.wrapping_sub(start) as u64 % 17, turns));
        for lanes in ends.chunks(LANES).filter(|lanes| lanes.len() == LANES) {
            let found = same_results(&module, &input(count, lanes)).unwrap().expect("all lanes end soon");
            for (lane, (_, _, turns)) in lanes.iter().enumerate() {
                assert_eq!(found[lane * 64 + 1], *turns, "{count:?}, lane {lane}: {:?}", lanes[lane]);
            }
        }
    }
    // For each type and form of the loop: `!=` with four steps, four other comparisons with the two that lead to the bound.
    assert_eq!(unrolled, 4 * 4 * (4 + 4 * 2));
}

fn branches(kernel: &Kernel) -> usize {
    kernel.instructions.iter().filter(|instruction| matches!(instruction.op, Op::Bra { .. })).count()
}

/// Of a loop that turns a known number of times nothing is left but its turns.
#[test]
fn a_loop_of_few_known_turns_is_gone() {
    let mut gone = 0;
    for count in counts().into_iter().step_by(7) {
        for (start, bound, turns) in ends(count).into_iter().step_by(23) {
            let module = count.kernel(Some((start, bound)));
            let found = same_results(&module, &input(count, &[])).unwrap().expect("it ends soon");
            assert_eq!(found[1], turns, "{count:?} from {start} to {bound}");
            gone += usize::from(branches(&restructure(&module.kernels[0])) == 0);
        }
    }
    assert!(gone > 100, "{gone}");
}

#[test]
fn loops_that_follow_each_other_are_unrolled_in_any_order_of_the_text() {
    let body = |name: &str, out: &str| {
        format!(
            "{name}: add.u32 %r3, %r3, %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r2;\n\
             @%p0 bra {name};\nadd.u32 %r2, %r2, 9;\nbra.uni {out};\n"
        )
    };
    let direct = |name: &str, out: &str| body(name, out).replace("add.u32 %r2, %r2, 9;\n", "");
    let loops = [("A", "B"), ("B", "C"), ("C", "END")];
    for (order, body) in [[0, 1, 2], [2, 1, 0], [1, 2, 0]]
        .iter()
        .flat_map(|order| [&body as &dyn Fn(&str, &str) -> String, &direct].map(|body| (order, body)))
    {
        let text: String = order.iter().map(|&index| body(loops[index].0, loops[index].1)).collect();
        let module = module(&format!(
            "mov.u32 %r1, 0; mov.u32 %r3, 0; add.u32 %r2, %t, 1; bra.uni A;\n{text}END: st.global.u32 [%out], %r3;"
        ));
        assert!(branches(&restructure(&module.kernels[0])) > branches(&module.kernels[0]), "{text}");
        let found = same_results(&module, &[]).unwrap().unwrap();
        assert!(found.iter().step_by(64).all(|&sum| sum > 0 || found[0] == sum), "{found:?}");
    }
}

/// Statements over `%r0` to `%r4`; the ends of sides are numbered from `label` on.
#[derive(Clone, Debug)]
enum Statement {
    Plain(String),
    If { condition: String, then: Vec<Statement>, otherwise: Vec<Statement> },
    Loop { turns: u32, body: Vec<Statement> },
}

fn statements() -> impl Strategy<Value = Vec<Statement>> {
    let r = || 0..5_u32;
    let plain = prop_oneof![
        (r(), r(), r()).prop_map(|(d, a, b)| format!("add.u32 %r{d}, %r{a}, %r{b};")),
        (r(), r()).prop_map(|(d, a)| format!("mul.lo.u32 %r{d}, %r{a}, 3;")),
        (r(), 0..32_u32).prop_map(|(d, word)| format!("ld.global.u32 %r{d}, [%in+{}];", 4 * word)),
        (r(), 0..32_u32).prop_map(|(a, word)| format!("st.global.u32 [%out+{}], %r{a};", 4 * word)),
        (r(), 0..32_u32).prop_map(|(d, word)| format!("ld.global.u32 %r{d}, [%out+{}];", 4 * word)),
        (r(), r(), 0..2_u32).prop_map(|(d, a, p)| format!("@%p{p} sub.u32 %r{d}, %r{a}, %t;")),
        (r(), 0..32_u32, 0..2_u32)
            .prop_map(|(a, word, p)| format!("@!%p{p} st.global.u32 [%out+{}], %r{a};", 4 * word)),
        (r(), 0..2_u32, 0..90_u32).prop_map(|(a, p, bound)| format!("setp.gt.u32 %p{p}, %r{a}, {bound};")),
        (r(), 0..32_u32).prop_map(|(a, word)| format!("red.global.add.u32 [%out+{}], %r{a};", 4 * word)),
        (r(), r()).prop_map(|(d, a)| format!("shfl.sync.bfly.b32 %r{d}, %r{a}, 1, 31, -1;")),
    ];
    let leaf = plain.prop_map(Statement::Plain);
    let tree = leaf.prop_recursive(4, 40, 6, |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..6);
        let condition = (0..5_u32, 0..32_u32, 0..3_u32).prop_map(|(register, bit, kind)| match kind {
            0 => format!("and.b32 %r5, %t, {}; setp.eq.u32 %p3, %r5, 0;", 1 << (bit % 5)),
            1 => format!("setp.lt.u32 %p3, %r{register}, {bit};"),
            _ => format!("setp.ge.u32 %p3, %t, {bit};"),
        });
        prop_oneof![
            (condition, body(), body()).prop_map(|(condition, then, otherwise)| Statement::If {
                condition,
                then,
                otherwise
            }),
            (1..9_u32, body()).prop_map(|(turns, body)| Statement::Loop { turns, body }),
        ]
    });
    prop::collection::vec(tree, 1..8)
}

/// As PTX. `%p4` and up hold the conditions of the loops around, one register a depth.
fn text(statements: &[Statement], depth: usize, label: &mut u32) -> String {
    let mut all = String::new();
    for statement in statements {
        *label += 1;
        let here = *label;
        all += &match statement {
            // Lanes that are elsewhere would be waited for.
            Statement::Plain(line) if depth > 0 && line.starts_with("shfl") => String::new(),
            Statement::Plain(line) => line.clone() + "\n",
            Statement::If { condition, then, otherwise } => {
                let then = text(then, depth + 1, label);
                let otherwise = text(otherwise, depth + 1, label);
                format!(
                    "{condition}\n@%p3 bra ELSE{here};\n{then}bra.uni END{here};\nELSE{here}:\n{otherwise}END{here}:\n"
                )
            }
            Statement::Loop { turns, body } => {
                let body = text(body, depth + 1, label);
                let (counter, condition) = (format!("%d{}", depth + 3), format!("%p{}", depth + 4));
                format!(
                    "mov.u64 {counter}, 0;\nLOOP{here}:\n{body}add.u64 {counter}, {counter}, 1;\n\
                     setp.lt.u64 {condition}, {counter}, {turns};\n@{condition} bra LOOP{here};\n"
                )
            }
        };
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Nested branches and loops, with registers that are written on one side, on both, and read after.
    #[test]
    fn kernels_without_short_branches_and_loops_leave_the_same_memory(statements in statements()) {
        let body = text(&statements, 0, &mut 0);
        let first = "mov.u32 %r0, %t; ld.global.u32 %r1, [%in+4]; mov.u32 %r2, 5; mov.u32 %r3, 0; not.b32 %r4, %t;\n\
                     setp.lt.u32 %p0, %t, 9; setp.eq.u32 %p1, %r1, 3; setp.eq.u32 %p2, %r1, %r1;";
        let last = "st.global.v4.u32 [%out+128], {%r0, %r1, %r2, %r3}; st.global.u32 [%out+144], %r4;";
        let module = module(&format!("{first}\n{body}\n{last}"));
        let input: Vec<u8> = (0..LANES * 64).flat_map(|word| (word as u32 % 97).to_le_bytes()).collect();
        same_results(&module, &input)?;
    }
}
