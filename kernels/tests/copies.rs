//! Copies to shared memory that are waited for: what is there before and after.

use warpfile_kernels::compile::schedule::Schedule;

use crate::cuda::{Argument, outcome, run, words};

#[test]
fn a_cuda_program_copies_a_tile_while_it_sums_up_another() {
    const TILES: usize = 5;
    let tiles: Vec<u32> = (0..64 * 4 * TILES as u32).map(|n| n.wrapping_mul(2_654_435_761) >> 20).collect();
    let arguments = [
        Argument::words(&tiles),
        Argument::words(&[0; 64]),
        Argument::Value((TILES as u32).to_le_bytes().to_vec()),
    ];
    let found = run(include_str!("ptx/stages.ptx"), "stages", 64, &arguments);
    for (thread, &found) in words(&found[1]).iter().enumerate() {
        let neighbour = (thread + 1) % 64;
        let expected: u32 = (0..TILES)
            .flat_map(|tile| (0..4).map(move |k| (tile, k)))
            .map(|(tile, k)| tiles[4 * (64 * tile + neighbour) + k] * (k as u32 + 1))
            .sum();
        assert_eq!(found, expected, "thread {thread}");
    }
}

/// A body between loads of 32 bytes of a buffer and the store of 32 bytes of shared memory, which hold 0xffffffff at first.
/// `%from` and `%to` are both addresses.
fn kernel(body: &str) -> String {
    let ones =
        (0..8).map(|word| format!("st.shared.u32 [%to+{}], 0xffffffff; ", 4 * word)).collect::<String>();
    let back = (0..8)
        .map(|word| {
            format!("ld.shared.u32 %r0, [%to+{0}]; st.global.u32 [%from+{1}], %r0; ", 4 * word, 32 + 4 * word)
        })
        .collect::<String>();
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 area[2048];\n\
         .entry k(.param .u64 buffer)\n{{\n.reg .b64 %from, %t; .reg .b32 %to, %r<8>; .reg .pred %p<4>;\n\
         ld.param.u64 %from, [buffer]; mov.u32 %r7, %tid.x; mul.wide.u32 %t, %r7, 64; add.u64 %from, %from, %t;\n\
         mov.u32 %to, area; mad.lo.u32 %to, %r7, 32, %to;\n{ones}\n{body}\n{back}\nret;\n}}\n"
    )
}

/// What is in shared memory afterwards, of two threads whose buffers hold 1, 2, … 8 and 101, … 108.
fn shared(body: &str) -> [Vec<u32>; 2] {
    let contents: Vec<u32> =
        [1, 101].into_iter().flat_map(|first| (first..first + 8).chain([0; 8])).collect();
    let found = words(&run(&kernel(body), "k", 2, &[Argument::words(&contents)])[0]);
    [found[8..16].to_vec(), found[24..32].to_vec()]
}

const OLD: u32 = u32::MAX;

#[test]
fn what_was_there_stays_until_the_thread_waits() {
    let copies = "cp.async.ca.shared.global [%to], [%from], 4; cp.async.cg.shared::cta.global.L2::128B [%to+16], [%from+16], 16;";
    let before = [OLD; 8];
    let after = [1, OLD, OLD, OLD, 5, 6, 7, 8];
    assert_eq!(shared(copies)[0], before, "no wait");
    assert_eq!(shared(&format!("{copies} cp.async.wait_group 0;"))[0], before, "no group");
    assert_eq!(shared(&format!("{copies} cp.async.wait_all;"))[0], after);
    assert_eq!(shared(&format!("{copies} cp.async.commit_group; cp.async.wait_group 0;"))[0], after);
    assert_eq!(
        shared(&format!("{copies} cp.async.commit_group; cp.async.wait_group 1;"))[0],
        before,
        "one may be left"
    );
}

#[test]
fn the_latest_groups_may_be_under_way() {
    let groups: String = (0..3)
        .map(|group| {
            format!("cp.async.ca.shared.global [%to+{0}], [%from+{0}], 8; cp.async.commit_group; ", 8 * group)
        })
        .collect();
    assert_eq!(shared(&format!("{groups} cp.async.wait_group 2;"))[0], [1, 2, OLD, OLD, OLD, OLD, OLD, OLD]);
    assert_eq!(shared(&format!("{groups} cp.async.wait_group 1;"))[0], [1, 2, 3, 4, OLD, OLD, OLD, OLD]);
}

#[test]
fn each_thread_has_groups_of_its_own() {
    // Only the second thread has committed an empty group after the copy.
    let body = "cp.async.ca.shared.global [%to], [%from], 8; cp.async.commit_group; setp.eq.u32 %p1, %r7, 1;\n\
                @%p1 cp.async.commit_group; cp.async.wait_group 1;";
    let [first, second] = shared(body);
    assert_eq!((first[0], second[0]), (OLD, 101));
}

#[test]
fn bytes_beyond_the_source_are_zero_and_are_not_read() {
    let body = "mov.u32 %r1, 4; cp.async.ca.shared.global [%to], [%from+28], 4, 4;\n\
                cp.async.ca.shared.global [%to+8], [%from+8], 8, %r1; cp.async.cg.shared.global [%to+16], [%from+16], 16, 0;\n\
                cp.async.wait_all;";
    assert_eq!(shared(body)[0], [8, OLD, 3, 0, 0, 0, 0, 0]);
    // The last bytes of the buffer, of which 4 are there.
    let at_end = "cp.async.cg.shared.global [%to], [%from+112], 16, 4; cp.async.wait_all;";
    let contents = Argument::words(&(0..29).collect::<Vec<u32>>());
    let found = outcome(&kernel(at_end), "k", 1, std::slice::from_ref(&contents), Schedule::None).unwrap();
    assert_eq!(words(&found[0])[8..12], [28, 0, 0, 0]);
    let beyond = at_end.replace("16, 4", "16, 8");
    let error = outcome(&kernel(&beyond), "k", 1, &[contents], Schedule::None).unwrap_err().to_string();
    assert!(error.contains("8 bytes at global address "), "{error}");
}

#[test]
fn copies_that_cannot_be_made_say_so_where_they_are_issued() {
    for (body, told) in [
        ("cp.async.ca.shared.global [%to], [%from+4], 8;", "8 bytes at address 0x1000"),
        (
            "cp.async.ca.shared.global [%to+4], [%from], 16;",
            "16 bytes at address 0x4; accepted: multiples of 16",
        ),
        (
            "cp.async.ca.shared.global [%to+4096], [%from], 16;",
            "16 bytes at shared address 0x1000; accepted: below 0x800",
        ),
        (
            "cp.async.ca.shared.global [%to], [%from], 4, 5;",
            "5 bytes are read of a copy of 4; accepted: at most 4",
        ),
    ] {
        let contents = Argument::words(&[0; 32]);
        let error = outcome(&kernel(body), "k", 1, &[contents], Schedule::None).unwrap_err().to_string();
        assert!(error.contains(told), "{body}: {error}");
    }
}
