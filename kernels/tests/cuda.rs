//! Runs kernels that a compiler made of CUDA, for tests that compare them with the same in Rust.

use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::exec::{
    BlockExecution, BufferId, Configuration, ExecError, ExecOptions, Execution, Loaded, Memory,
};
use warpfile_kernels::ptx::parse;

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// The address of a buffer with these contents.
    Buffer(Vec<u8>),
    /// A number, as it lies in memory.
    Value(Vec<u8>),
}

impl Argument {
    /// The address of a buffer of 32-bit numbers.
    pub(crate) fn words(words: &[u32]) -> Argument {
        Argument::Buffer(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }
}

/// 32-bit numbers as they lie in memory.
pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// What the buffers hold after one block, whatever the order of instructions.
pub(crate) fn run(text: &str, entry: &str, threads: u32, arguments: &[Argument]) -> Vec<Vec<u8>> {
    let [in_order, scheduled @ ..] =
        Schedule::ALL.map(|schedule| outcome(text, entry, threads, arguments, schedule).unwrap());
    for other in scheduled {
        assert_eq!(in_order, other, "{entry}: the order of instructions shows");
    }
    in_order
}

/// The same, or why the block does not come to its end.
pub(crate) fn outcome(
    text: &str,
    entry: &str,
    threads: u32,
    arguments: &[Argument],
    schedule: Schedule,
) -> Result<Vec<Vec<u8>>, ExecError> {
    let module = parse("cuda.ptx", text).unwrap();
    let compiled = compile(
        &module,
        entry,
        &CompileOptions { check_allocation: true, schedule, ..CompileOptions::default() },
    )
    .unwrap();
    let mut memory = Memory::new();
    let mut buffers: Vec<BufferId> = Vec::new();
    let mut parameters = Vec::new();
    for argument in arguments {
        let bytes = match argument {
            Argument::Buffer(contents) => {
                let buffer = memory.allocate("argument", contents.len() as u64).unwrap();
                memory.bytes_mut(buffer).copy_from_slice(contents);
                buffers.push(buffer);
                memory.address(buffer).to_le_bytes().to_vec()
            }
            Argument::Value(bytes) => bytes.clone(),
        };
        parameters.resize(parameters.len().next_multiple_of(bytes.len()), 0);
        parameters.extend(bytes);
    }
    let loaded = Loaded::new(&module, &mut memory).unwrap();
    let configuration = Configuration {
        grid: [1; 3],
        block: [threads, 1, 1],
        dynamic_shared_bytes: 0,
        parameters,
        options: ExecOptions { max_warp_instructions: 1_000_000, ..ExecOptions::default() },
    };
    let execution = Execution::new(&compiled.kernel, &compiled.reconvergence, &loaded, configuration)?;
    BlockExecution::new(&execution, 0).run(&mut memory, &mut ())?;
    Ok(buffers.into_iter().map(|buffer| memory.bytes(buffer).to_vec()).collect())
}
