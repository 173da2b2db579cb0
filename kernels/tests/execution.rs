//! Control flow, barriers, memories and calls of the executor, and what it says when a kernel goes wrong.

use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::exec::{
    BlockExecution, Configuration, ExecError, ExecOptions, Execution, Loaded, Memory,
};
use warpfile_kernels::ptx::parse;

const REGISTERS: &str =
    ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .f32 %f<8>; .reg .b64 %rd<16>;";

/// What a test runs: a body that leaves a thread's result in `%r1`, and the launch around it.
struct Case<'a> {
    module: &'a str,
    /// Between the parameters and the body.
    directives: &'a str,
    tolerate_out_of_bounds: bool,
    body: &'a str,
    block: u32,
    blocks: u32,
    dynamic_shared_bytes: u32,
}

impl<'a> Case<'a> {
    fn new(body: &'a str) -> Case<'a> {
        Case {
            module: "",
            directives: "",
            tolerate_out_of_bounds: false,
            body,
            block: 32,
            blocks: 1,
            dynamic_shared_bytes: 0,
        }
    }

    /// One `u32` a thread. `%rd0` is the address of a buffer of 64 zero words, `%r0` the thread in its block.
    fn run(&self) -> Result<(Vec<u32>, Vec<u32>), ExecError> {
        let text = format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n{}\n\
             .visible .entry k(.param .u64 results, .param .u64 scratch) {}\n{{\n{REGISTERS}\n\
             .reg .b64 %base, %index; .reg .b32 %cta;\n\
             ld.param.u64 %base, [results]; ld.param.u64 %rd0, [scratch]; mov.u32 %r0, %tid.x;\n\
             mov.u32 %cta, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %cta, %cta, %r2, %r0;\n\
             mul.wide.u32 %index, %cta, 4; add.u64 %base, %base, %index; mov.u32 %r1, 0;\n\
             {}\n\
             STORE: st.global.u32 [%base], %r1;\nret;\n}}\n",
            self.module, self.directives, self.body
        );
        let module = parse("execution.ptx", &text).unwrap();
        let compiled = compile(&module, "k", &CompileOptions::default()).unwrap();
        let mut memory = Memory::new();
        let loaded = Loaded::new(&module, &mut memory)?;
        let results = memory.allocate("results", u64::from(4 * self.block * self.blocks))?;
        let scratch = memory.allocate("scratch", 256)?;
        let parameters = [memory.address(results).to_le_bytes(), memory.address(scratch).to_le_bytes()];
        let configuration = Configuration {
            grid: [self.blocks, 1, 1],
            block: [self.block, 1, 1],
            dynamic_shared_bytes: self.dynamic_shared_bytes,
            parameters: parameters.concat(),
            options: ExecOptions {
                max_warp_instructions: 10_000,
                tolerate_out_of_bounds: self.tolerate_out_of_bounds,
                ..ExecOptions::default()
            },
        };
        let execution = Execution::new(&compiled.kernel, &compiled.reconvergence, &loaded, configuration)?;
        for block in 0..execution.launch().blocks() {
            BlockExecution::new(&execution, block).run(&mut memory, &mut ())?;
        }
        Ok((memory.read(results), memory.read(scratch)))
    }

    fn results(&self) -> Vec<u32> {
        self.run().unwrap().0
    }

    fn message(&self) -> String {
        self.run().unwrap_err().to_string()
    }
}

fn results(body: &str) -> Vec<u32> {
    Case::new(body).results()
}

#[test]
fn lanes_that_part_meet_again_after_the_diamond() {
    let found = results(
        "and.b32 %r3, %r0, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra EVEN;\n\
         mov.u32 %r4, 100; bra.uni JOIN;\nEVEN: mov.u32 %r4, 200;\n\
         JOIN: activemask.b32 %r5; popc.b32 %r5, %r5; add.u32 %r1, %r4, %r5;",
    );
    assert!((0..32).all(|lane| found[lane] == if lane & 1 == 0 { 232 } else { 132 }), "{found:?}");
}

#[test]
fn a_loop_left_lane_by_lane_counts_each_lane_alone() {
    let found = results(
        "mov.u32 %r1, 0;\nLOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r0; @%p1 bra LOOP;\n\
         activemask.b32 %r3; setp.ne.u32 %p2, %r3, -1; @%p2 mov.u32 %r1, 999;",
    );
    assert!((0..32).all(|lane| found[lane] == (lane as u32).max(1)), "{found:?}");
}

#[test]
fn nested_branches_with_a_break_out_of_two_loops() {
    let found = results(
        "mov.u32 %r1, 0; mov.u32 %r3, 0;\n\
         OUTER: mov.u32 %r4, 0;\n\
         INNER: add.u32 %r1, %r1, 1; setp.ge.u32 %p1, %r1, %r0; @%p1 bra DONE;\n\
         add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 3; @%p2 bra INNER;\n\
         add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 4; @%p3 bra OUTER;\n\
         DONE: activemask.b32 %r5; popc.b32 %r5, %r5; mad.lo.u32 %r1, %r5, 100, %r1;",
    );
    assert!((0..32).all(|lane| found[lane] == 3200 + (lane as u32).clamp(1, 12)), "{found:?}");
}

#[test]
fn lanes_that_exit_early_leave_the_others_running() {
    let found = results(
        "setp.ge.u32 %p1, %r0, 20; @%p1 exit; setp.lt.u32 %p2, %r0, 5; @%p2 bra LEAVE;\n\
         activemask.b32 %r1; bra STORE;\nLEAVE: ret;",
    );
    assert!(
        (0..32).all(|lane| found[lane] == if (5..20).contains(&lane) { 0x000f_ffe0 } else { 0 }),
        "{found:?}"
    );
}

#[test]
fn an_indexed_branch_sends_each_lane_to_its_target() {
    let found = results(
        "and.b32 %r3, %r0, 3; TABLE: .branchtargets A, B, A, C;\nbrx.idx %r3, TABLE;\n\
         A: mov.u32 %r1, 1; bra JOIN;\nB: mov.u32 %r1, 2; bra JOIN;\nC: mov.u32 %r1, 3;\n\
         JOIN: activemask.b32 %r4; setp.ne.u32 %p1, %r4, -1; @%p1 mov.u32 %r1, 9;",
    );
    assert_eq!(found[..8], [1, 2, 1, 3, 1, 2, 1, 3]);
}

#[test]
fn a_guard_switches_lanes_off() {
    let found = results("mov.u32 %r1, 7; setp.gt.u32 %p1, %r0, 3; @!%p1 mov.u32 %r1, 8;");
    assert_eq!(found[..6], [8, 8, 8, 8, 7, 7]);
}

#[test]
fn a_barrier_makes_other_warps_values_visible() {
    let body = "{ .shared .u32 cells[96]; .reg .b64 %s; mov.u64 %s, cells; mul.wide.u32 %rd1, %r0, 4;\n\
                add.u64 %s, %s, %rd1; st.shared.u32 [%s], %r0; bar.sync 0;\n\
                mov.u32 %r3, 95; sub.u32 %r3, %r3, %r0; mul.wide.u32 %rd1, %r3, 4; mov.u64 %s, cells;\n\
                add.u64 %s, %s, %rd1; ld.shared.u32 %r1, [%s]; }";
    let found = Case { block: 96, ..Case::new(body) }.results();
    assert!((0..96).all(|thread| found[thread] == 95 - thread as u32), "{found:?}");
}

#[test]
fn a_barrier_does_not_wait_for_warps_that_have_ended() {
    let found =
        Case { block: 96, ..Case::new("setp.lt.u32 %p1, %r0, 32; @%p1 ret; bar.sync 1; mov.u32 %r1, 5;") }
            .results();
    assert_eq!((found[0], found[40], found[95]), (0, 5, 5));
}

#[test]
fn a_producer_arrives_and_a_consumer_waits_at_a_counted_barrier() {
    let body = "{ .shared .u32 cell; setp.ge.u32 %p1, %r0, 32; @%p1 bra CONSUME;\n\
                st.shared.u32 [cell], 77; bar.arrive 2, 64; mov.u32 %r1, 0; bra STORE;\n\
                CONSUME: bar.sync 2, 64; ld.shared.u32 %r1, [cell]; }";
    let found = Case { block: 64, ..Case::new(body) }.results();
    assert_eq!((found[0], found[63]), (0, 77));
}

#[test]
fn a_barrier_reduces_over_the_block() {
    let body = "setp.lt.u32 %p1, %r0, 40; bar.red.popc.u32 %r3, 0, %p1; bar.red.or.pred %p2, 0, !%p1;\n\
                bar.red.and.pred %p3, 0, %p1; selp.u32 %r4, 100, 0, %p2; selp.u32 %r5, 1000, 0, %p3;\n\
                add.u32 %r1, %r3, %r4; add.u32 %r1, %r1, %r5;";
    let found = Case { block: 64, ..Case::new(body) }.results();
    assert!(found.iter().all(|&value| value == 140), "{found:?}");
}

#[test]
fn atomics_return_old_values_in_lane_order() {
    let (found, scratch) = Case {
        blocks: 2,
        ..Case::new(
            "atom.global.add.u32 %r1, [%rd0], 2; red.global.max.s32 [%rd0+4], %r0; red.global.inc.u32 [%rd0+8], 9;\n\
             atom.global.cas.b32 %r3, [%rd0+12], 0, %r0; cvt.rn.f32.u32 %f1, %r0; red.global.add.f32 [%rd0+16], %f1;",
        )
    }
    .run()
    .unwrap();
    assert!((0..64).all(|thread| found[thread] == 2 * thread as u32), "{found:?}");
    assert_eq!(scratch[..5], [128, 31, 64 % 10, 1, (2.0_f32 * 496.0).to_bits()]);
}

#[test]
fn a_called_function_returns_per_lane_and_only_where_it_is_called() {
    let module = ".func (.param .b32 out) clamp(.param .b32 in)\n{ .reg .pred %q; .reg .b32 %v;\n\
                  ld.param.u32 %v, [in]; setp.lt.u32 %q, %v, 10; @%q bra SMALL;\n\
                  st.param.b32 [out], 10; ret;\nSMALL: st.param.b32 [out], %v; ret; }\n";
    let body = "mov.u32 %r1, 500; and.b32 %r3, %r0, 1; setp.eq.u32 %p1, %r3, 0; @!%p1 bra SKIP;\n\
                { .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call.uni (b), clamp, (a);\n\
                ld.param.b32 %r1, [b]; }\nSKIP:";
    let found = Case { module, ..Case::new(body) }.results();
    let expected = |lane: u32| if lane & 1 == 0 { lane.min(10) } else { 500 };
    assert!((0..32).all(|lane| found[lane as usize] == expected(lane)), "{found:?}");
}

#[test]
fn a_structure_passed_by_value_and_indexed_lies_in_local_memory() {
    let module = ".func (.param .b32 out) pick(.param .align 4 .b8 items[8], .param .b32 which)\n\
                  { .reg .b64 %a, %o; .reg .b32 %v; mov.b64 %a, items; ld.param.u32 %v, [which];\n\
                  mul.wide.u32 %o, %v, 4; add.u64 %a, %a, %o; ld.param.u32 %v, [%a]; st.param.b32 [out], %v; ret; }\n";
    let body = "{ .param .align 4 .b8 s[8]; .param .b32 w; .param .b32 r; add.u32 %r3, %r0, 50;\n\
                st.param.b32 [s], %r0; st.param.b32 [s+4], %r3; and.b32 %r4, %r0, 1; st.param.b32 [w], %r4;\n\
                call (r), pick, (s, w); ld.param.b32 %r1, [r]; }";
    let found = Case { module, ..Case::new(body) }.results();
    assert!((0..32).all(|lane| found[lane as usize] == lane + 50 * (lane % 2)), "{found:?}");
}

/// PTX ISA 6.4.1: the address is computed in the width of the space's addresses.
#[test]
fn a_negative_base_and_an_offset_are_an_address_of_shared_and_local_memory() {
    let body = "{ .shared .u32 cells[64]; .local .u32 own[4]; .reg .b32 %s, %l;\n\
                mov.u32 %s, cells; shl.b32 %r3, %r0, 2; add.u32 %s, %s, %r3; sub.u32 %s, %s, 4096;\n\
                st.shared.u32 [%s+4096], %r0; ld.shared.u32 %r4, [%s+4096];\n\
                mov.u32 %l, own; sub.u32 %l, %l, 8; st.local.u32 [%l+12], 100; ld.local.u32 %r5, [own+4];\n\
                atom.shared.add.u32 %r6, [%s+4096], 1000; ld.shared.u32 %r7, [%s+4096];\n\
                add.u32 %r1, %r4, %r5; add.u32 %r1, %r1, %r6; add.u32 %r1, %r1, %r7; }";
    let found = results(body);
    assert!((0..32).all(|lane| found[lane] == 3 * lane as u32 + 1100), "{found:?}");
}

#[test]
fn out_of_bounds_loads_give_zero_and_stores_are_dropped_if_that_is_tolerated() {
    let body = "shl.b32 %r3, %r0, 3; cvt.u64.u32 %rd1, %r3; add.u64 %rd1, %rd0, %rd1; mov.u32 %r4, 5;\n\
                st.global.v2.u32 [%rd1+64], {%r4, %r4}; ld.global.u32 %r5, [%rd1+64];\n\
                mov.u32 %r6, 9; ld.u32 %r6, [%rd1-256]; atom.global.add.u32 %r7, [%rd1+64], 1;\n\
                add.u32 %r1, %r5, %r6; mad.lo.u32 %r1, %r7, 10, %r1;";
    let (found, scratch) = Case { tolerate_out_of_bounds: true, ..Case::new(body) }.run().unwrap();
    // 256 bytes, 8 a lane from byte 64 on: 24 lanes are inside.
    assert!((0..32).all(|lane| found[lane] == if lane < 24 { 55 } else { 0 }), "{found:?}");
    assert!((16..64).all(|word| scratch[word] == if word % 2 == 0 { 6 } else { 5 }), "{scratch:?}");
    assert!(Case::new(body).message().contains("8 bytes at global address"));
}

#[test]
fn what_is_tolerated_does_not_hide_misaligned_accesses_or_other_memories() {
    let tolerant = |body| Case { tolerate_out_of_bounds: true, ..Case::new(body) }.message();
    assert!(tolerant("ld.global.u32 %r1, [%rd0+2];").contains("accepted: multiples of 4"));
    let shared = tolerant("{ .shared .u32 x; ld.shared.u32 %r1, [x+4]; }");
    assert!(shared.contains("4 bytes at shared address 0x4"), "{shared}");
}

#[test]
fn a_base_that_stays_negative_is_out_of_bounds() {
    let message =
        Case::new("{ .shared .u32 x; .reg .b32 %s; mov.u32 %s, -8; ld.shared.u32 %r1, [%s+4]; }").message();
    assert!(message.contains("4 bytes at shared address 0xfffffffc; accepted: below 0x4"), "{message}");
}

#[test]
fn a_block_is_as_large_as_the_kernel_says() {
    let threads = |directives, block| Case { directives, block, ..Case::new("mov.u32 %r1, 1;") };
    assert_eq!(threads(".maxntid 8, 6, 1", 48).results().len(), 48);
    assert_eq!(threads(".reqntid 48", 48).results().len(), 48);
    assert_eq!(
        threads(".maxntid 8, 6, 1", 49).message(),
        "kernel `k`: a block of [49, 1, 1] threads; accepted: 1 to 48, the .maxntid of the kernel on line 5"
    );
    for (required, shape) in [(".reqntid 48", "[48, 1, 1]"), (".reqntid 32, 2", "[32, 2, 1]")] {
        let message = threads(required, 64).message();
        let told = format!(
            "kernel `k`: a block of [64, 1, 1] threads; accepted: {shape}, the .reqntid of the kernel on line 5"
        );
        assert_eq!(message, told);
    }
}

#[test]
fn generic_addresses_reach_every_space() {
    let module = ".const .u32 answer = 42; .global .u32 counter = 7; .global .u64 link = generic(answer);\n\
                  .extern .shared .align 4 .b8 pool[];\n";
    let body = "{ .local .u32 own[2]; mov.u64 %rd1, own; cvta.local.u64 %rd1, %rd1; st.u32 [%rd1+4], %r0;\n\
                ld.local.u32 %r3, [own+4]; mov.u64 %rd2, pool; cvta.shared.u64 %rd2, %rd2; st.u32 [%rd2+8], 1000;\n\
                ld.shared.u32 %r4, [pool+8]; ld.global.u64 %rd3, [link]; ld.u32 %r5, [%rd3]; ld.global.u32 %r6, [counter];\n\
                isspacep.shared %p1, %rd2; isspacep.local %p2, %rd2; selp.u32 %r7, 10000, 0, %p1;\n\
                @%p2 mov.u32 %r7, 0; cvta.to.shared.u64 %rd4, %rd2; ld.shared.u32 %r8, [%rd4+8];\n\
                add.u32 %r1, %r3, %r4; add.u32 %r1, %r1, %r5; add.u32 %r1, %r1, %r6; add.u32 %r1, %r1, %r7;\n\
                add.u32 %r1, %r1, %r8; }";
    let found = Case { module, dynamic_shared_bytes: 64, ..Case::new(body) }.results();
    assert!((0..32).all(|lane| found[lane as usize] == lane + 12049), "{found:?}");
}

#[test]
fn vectors_and_narrow_types_keep_their_bytes_and_signs() {
    let found = results(
        "mov.u32 %r3, 0x80ff7f01; mul.wide.u32 %rd1, %r0, 8; and.b64 %rd1, %rd1, 0xf8; add.u64 %rd1, %rd0, %rd1;\n\
         and.b64 %rd1, %rd1, -16; st.global.v2.u32 [%rd1], {%r3, %r3}; ld.global.s8 %r4, [%rd1+3];\n\
         ld.global.v4.u8 {%h1, _, %h2, _}, [%rd1+4]; cvt.u32.u16 %r5, %h2; add.s32 %r1, %r4, %r5;",
    );
    assert!(found.iter().all(|&value| value == (-128_i32 + 0xff) as u32), "{found:?}");
}

#[test]
fn special_registers_describe_the_launch() {
    let case = Case {
        block: 48,
        blocks: 3,
        ..Case::new(
            "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %warpid; mov.u32 %r5, %laneid; mov.u32 %r6, %nctaid.x;\n\
             mad.lo.u32 %r1, %r3, 100, %r4; mad.lo.u32 %r1, %r1, 100, %r5; mad.lo.u32 %r1, %r1, 10, %r6;",
        )
    };
    let found = case.results();
    assert_eq!((found[0], found[47], found[48 * 2 + 33]), (3, 1153, 201_013));
}

#[test]
fn kernels_that_go_wrong_say_who_did_what_where() {
    let messages = [
        Case::new("st.global.u32 [%rd0+256], %r0;").message(),
        Case::new("mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1; ld.global.u64 %rd2, [%rd1+250];")
            .message(),
        Case { blocks: 2, ..Case::new("mov.u64 %rd1, 16; ld.u32 %r1, [%rd1];") }.message(),
        Case::new("{ .shared .u32 x[4]; mul.wide.u32 %rd1, %r0, 4; ld.shared.u32 %r1, [%rd1]; }").message(),
        Case::new("LOOP: setp.ge.u32 %p1, %r0, 0; @%p1 bra LOOP;").message(),
        Case::new("setp.eq.u32 %p1, %r0, 7; @%p1 trap;").message(),
        Case::new("bar.sync 16;").message(),
        Case { block: 64, ..Case::new("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1; @!%p1 bar.sync 2;") }
            .message(),
        Case { block: 2048, ..Case::new("") }.message(),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
