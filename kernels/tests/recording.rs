//! Launches that are executed once and replayed: what is replayed is what is executed, wherever the records are kept and
//! whoever asks first.

use std::path::Path;
use std::sync::Arc;

use allocation_counter::measure;
use proptest::prelude::*;
use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::exec::{ExecOptions, PtxRun, Recording, Replayed};
use warpfile_kernels::launch::LaunchFile;
use warpfile_kernels::program::{Launches, Stream, WarpInstruction};
use warpfile_kernels::workloads::{self, Workload};

fn ptx_run(workload: &Workload) -> PtxRun {
    let module = warpfile_kernels::ptx::parse(workload.name, workload.ptx).unwrap();
    PtxRun::new(module, Arc::new(workload.launch_file().unwrap()), "tiny").unwrap()
}

/// What every warp of a block does, in the order of the warps.
fn block(stream: &mut dyn Stream, block: u64) -> Vec<WarpInstruction> {
    let mut all = Vec::new();
    stream.start_block(block).unwrap();
    for warp in 0..stream.launch().warps_per_block() {
        let mut instruction = WarpInstruction::default();
        while stream.next(block, warp, &mut instruction).unwrap() {
            all.push(instruction.clone());
        }
    }
    stream.finish_block(block);
    all
}

/// Compares the blocks that `wanted` names of each launch.
fn compare(executed: &mut dyn Launches, replayed: &mut dyn Launches, wanted: impl Fn(u64) -> bool) {
    while compare_launch(executed, replayed, &wanted) {}
}

/// Compares so many launches, if there are as many left.
fn compare_some(executed: &mut dyn Launches, replayed: &mut dyn Launches, launches: usize) {
    for _ in 0..launches {
        compare_launch(executed, replayed, &|_| true);
    }
}

/// Compares the blocks that `wanted` names of the next launch; `false` after the last.
fn compare_launch(
    executed: &mut dyn Launches,
    replayed: &mut dyn Launches,
    wanted: &dyn Fn(u64) -> bool,
) -> bool {
    if let Some(mut executed) = executed.next_launch().unwrap() {
        let mut replayed = replayed.next_launch().unwrap().expect("as many launches");
        assert_eq!((executed.program(), executed.launch()), (replayed.program(), replayed.launch()));
        for index in 0..executed.launch().blocks() {
            let expected = block(executed.as_mut(), index);
            if wanted(index) {
                assert_eq!(block(replayed.as_mut(), index), expected, "block {index}");
            }
        }
        return true;
    }
    assert!(replayed.next_launch().unwrap().is_none());
    false
}

#[test]
fn every_workload_is_replayed_as_it_is_executed() {
    for workload in workloads::all() {
        let recorded = workload.open("tiny").unwrap().record();
        // The second finds what the first has had executed; the third looks at every other block.
        compare(&mut ptx_run(workload), &mut recorded.replay(), |_| true);
        compare(&mut ptx_run(workload), &mut recorded.replay(), |_| true);
        compare(&mut ptx_run(workload), &mut recorded.replay(), |block| block % 2 == 1);
        // Kernels that work in place would be wrong if a block had been executed twice.
        recorded.check_results().unwrap_or_else(|error| panic!("{}: {error}", workload.name));
    }
}

#[test]
fn results_are_there_though_nobody_has_asked_for_a_block() {
    let recorded = workloads::by_name("nw").unwrap().open("tiny").unwrap().record();
    let report = recorded.check_results().unwrap();
    assert!(report.elements > 0);
    assert_eq!(recorded.check_results().unwrap(), report);
}

#[test]
fn what_another_sm_left_in_memory_is_seen_though_its_blocks_are_never_asked_for() {
    // Launches of nw read what all blocks of the launch before have written.
    let workload = workloads::by_name("nw").unwrap();
    let recorded = workload.open("tiny").unwrap().record();
    compare(&mut ptx_run(workload), &mut recorded.replay(), |block| block % 3 == 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn so_it_is_wherever_the_records_are_kept(bytes in 0..200_000usize, which in 0..3usize) {
        let workload = workloads::by_name(["hotspot", "bfs", "lud"][which]).unwrap();
        let recording = Arc::new(Recording::with_memory(ptx_run(workload), bytes));
        for _ in 0..2 {
            compare(&mut ptx_run(workload), &mut recording.replay(), |_| true);
        }
        prop_assert!(bytes > 1000 || recording.spilled_bytes() > 0);
    }

    #[test]
    fn so_it_is_when_blocks_are_forgotten_behind_the_last_reader(
        bytes in prop_oneof![0..2000usize, 0..200_000usize],
        which in 0..4usize,
        readers in 1..4usize,
        turns in prop::collection::vec((0..3usize, 1..40usize), 1..40),
    ) {
        let workload = workloads::by_name(["hotspot", "bfs", "lud", "nw"][which]).unwrap();
        let recording = Arc::new(Recording::with_memory(ptx_run(workload), bytes).for_readers(readers));
        let replayed = (0..readers).map(|_| recording.replay());
        let mut all: Vec<(PtxRun, Replayed)> = replayed.map(|replayed| (ptx_run(workload), replayed)).collect();
        // Some get ahead of others, by whole launches.
        for (reader, launches) in turns {
            let (executed, replayed) = &mut all[reader % readers];
            compare_some(executed, replayed, launches);
        }
        for (mut executed, mut replayed) in all {
            compare(&mut executed, &mut replayed, |_| true);
        }
        prop_assert_eq!(recording.spilled_bytes(), 0);
    }
}

#[test]
fn several_threads_replay_at_a_time() {
    let workload = workloads::by_name("srad").unwrap();
    let recording = Arc::new(Recording::with_memory(ptx_run(workload), 10_000));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| compare(&mut ptx_run(workload), &mut recording.replay(), |_| true));
        }
    });
}

#[test]
fn every_reader_is_told_what_has_failed_and_nobody_goes_on_behind_it() {
    let ptx = workloads::by_name("vectoradd").unwrap().ptx;
    let module = warpfile_kernels::ptx::parse("add.ptx", ptx).unwrap();
    let launch_file = r#"
        [buffers]
        a = { type = "f32", length = 3, fill = "zeros" }
        [[steps]]
        grid = 2
        block = 32
        arguments = ["a", "a", "a", { s32 = 64 }]
    "#;
    let file = LaunchFile::parse(Path::new("add.toml"), launch_file).unwrap();
    let run = PtxRun::new(module, Arc::new(file), "default").unwrap();
    let recording = Arc::new(Recording::new(run));
    let failure = || {
        let mut replayed = recording.replay();
        let mut stream = replayed.next_launch().unwrap().expect("one launch");
        stream.start_block(0).unwrap_err().to_string()
    };
    let first = failure();
    assert!(first.contains("end of buffer `a`"), "{first}");
    assert_eq!(failure(), first);
    assert_eq!(recording.at_end(|_| ()).unwrap_err().to_string(), first);
}

#[test]
fn blocks_are_started_in_order_and_asked_for_while_they_run() {
    let workload = workloads::by_name("hotspot").unwrap();
    let recording = Arc::new(Recording::new(ptx_run(workload)));
    let mut replayed = recording.replay();
    let mut stream = replayed.next_launch().unwrap().expect("a launch");
    let mut instruction = WarpInstruction::default();
    assert!(stream.next(0, 0, &mut instruction).unwrap_err().to_string().contains("has not been started"));
    stream.start_block(1).unwrap();
    assert!(stream.start_block(1).unwrap_err().to_string().contains("increasing numbers"));
    assert!(stream.next(1, 0, &mut instruction).unwrap());
    stream.finish_block(1);
    assert!(stream.next(1, 0, &mut instruction).unwrap_err().to_string().contains("has not been started"));
}

/// Two warps that go through a loop so many times, with values that no two lanes share.
fn looping(times: u32) -> PtxRun {
    blocks_looping(1, times)
}

/// So many blocks of the same.
fn blocks_looping(blocks: u32, times: u32) -> PtxRun {
    let ptx = "
        .version 7.0
        .target sm_50
        .address_size 64
        .visible .entry k(.param .u32 times)
        {
            .reg .pred %p<2>;
            .reg .b32 %r<4>;
            ld.param.u32 %r1, [times];
            mov.u32 %r2, %tid.x;
        again:
            mad.lo.u32 %r2, %r2, %r2, 12345;
            xor.b32 %r2, %r2, %r1;
            sub.u32 %r1, %r1, 1;
            setp.ne.u32 %p1, %r1, 0;
            @%p1 bra again;
            ret;
        }";
    let launch = format!("[[steps]]\ngrid = {blocks}\nblock = 64\narguments = [{{ u32 = {times} }}]\n");
    let module = warpfile_kernels::ptx::parse("loop.ptx", ptx).unwrap();
    let file = LaunchFile::parse(Path::new("loop.toml"), &launch).unwrap();
    let mut run = PtxRun::new(module, Arc::new(file), "default").unwrap();
    run.set_options(CompileOptions::as_written());
    run
}

/// Bytes that executing and replaying takes at most, and the instructions of the first warp.
fn memory_of(mut launches: impl Launches) -> (u64, u64) {
    let mut instructions = 0;
    let info = measure(|| {
        let mut stream = launches.next_launch().unwrap().expect("a launch");
        stream.start_block(0).unwrap();
        let mut instruction = WarpInstruction::default();
        while stream.next(0, 0, &mut instruction).unwrap() {
            instructions += 1;
        }
    });
    (info.bytes_max, instructions)
}

#[test]
fn memory_does_not_grow_with_how_long_a_block_runs() {
    let recorded = |times| memory_of(Arc::new(Recording::with_memory(looping(times), 1 << 20)).replay());
    let (short, long) = (recorded(20_000), recorded(200_000));
    assert!(long.1 > 500_000 && long.1 > 9 * short.1, "{short:?} {long:?}");
    assert!(long.0 < short.0 + (64 << 10), "{short:?} {long:?}");
    let streamed = memory_of(looping(200_000));
    assert_eq!(streamed.1, long.1);
    assert!(streamed.0 < 18 << 20, "{streamed:?}");
}

/// Bytes that executing and replaying takes at most, with readers that lead the one behind them by so many blocks.
fn memory_of_blocks(blocks: u32, recording: Recording, readers: usize, lead: u64) -> u64 {
    let recording = Arc::new(recording);
    let mut replayed: Vec<Replayed> = (0..readers).map(|_| recording.replay()).collect();
    let info = measure(|| {
        let mut streams: Vec<_> =
            replayed.iter_mut().map(|replayed| replayed.next_launch().unwrap().expect("a launch")).collect();
        for step in 0..u64::from(blocks) + lead * (readers as u64 - 1) {
            for (reader, stream) in streams.iter_mut().enumerate() {
                let behind = lead * reader as u64;
                if (behind..u64::from(blocks) + behind).contains(&step) {
                    assert!(block(stream.as_mut(), step - behind).len() > 10);
                }
            }
        }
    });
    info.bytes_max
}

#[test]
fn memory_does_not_grow_with_how_many_blocks_run() {
    let recording = |blocks| Recording::with_memory(blocks_looping(blocks, 2), 1 << 17);
    for readers in 1..3 {
        let forgotten = |blocks| memory_of_blocks(blocks, recording(blocks).for_readers(readers), readers, 3);
        let (few, many) = (forgotten(1000), forgotten(10_000));
        assert!(many < few + (4 << 10), "{readers} readers: {few} {many}");
    }
    // A reader that is all blocks ahead, and any number of readers: what is kept goes to the file.
    let ahead = |blocks| memory_of_blocks(blocks, recording(blocks).for_readers(2), 2, blocks.into());
    let kept = |blocks| memory_of_blocks(blocks, recording(blocks), 1, 0);
    for of in [&ahead as &dyn Fn(u32) -> u64, &kept] {
        let (few, many) = (of(1000), of(10_000));
        assert!(few > 1 << 16, "the memory is used: {few}");
        assert!(many < few + (64 << 10), "{few} {many}");
    }
}

#[test]
fn a_recording_has_as_many_readers_as_was_said() {
    let recording = Arc::new(Recording::new(looping(2)).for_readers(1));
    drop(recording.replay());
    assert!(std::panic::catch_unwind(|| recording.replay()).is_err());
}

#[test]
fn a_grid_of_more_blocks_than_may_be_is_refused_before_the_first_of_them() {
    let grid = |blocks: u32, most: u64| {
        let mut run = blocks_looping(blocks, 1);
        run.set_exec_options(ExecOptions { max_blocks: most, ..ExecOptions::default() });
        run.next_launch().map(|launch| launch.is_some()).map_err(|error| error.to_string())
    };
    assert_eq!(grid(12, 12), Ok(true));
    let refused = grid(13, 12).unwrap_err();
    for part in ["loop.toml:", "13 blocks", "at most 12", "exec.max_blocks"] {
        assert!(refused.contains(part), "{refused}");
    }
}
