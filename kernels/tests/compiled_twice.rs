//! One program compiled without and with optimisation: two very different PTX files, one result.

use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::exec::{
    BlockExecution, BufferId, Configuration, ExecOptions, Execution, Loaded, Memory,
};
use warpfile_kernels::ptx::ir::Module;
use warpfile_kernels::ptx::parse;

const UNOPTIMISED: &str = include_str!("ptx/mixed-O0.ptx");
const OPTIMISED: &str = include_str!("ptx/mixed-O3.ptx");
const BUFFER_BYTES: u64 = 4096;

/// Memory with buffers of floats, doubles, small integers, 64-bit integers and bytes.
fn memory() -> (Memory, [BufferId; 5]) {
    let mut memory = Memory::new();
    let names = ["floats", "doubles", "integers", "longs", "bytes"];
    let buffers = names.map(|name| memory.allocate(name, BUFFER_BYTES).unwrap());
    let floats: Vec<f32> = (0..1024_u16).map(|n| f32::from(n % 97) * 0.37).collect();
    let doubles: Vec<f64> = (0..512).map(|n| f64::from(n) * 1.37).collect();
    let integers: Vec<u32> = (0..1024_u32).map(|n| n.wrapping_mul(2_654_435_761) % 51).collect();
    let longs: Vec<u64> = (0..512_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    memory.write(buffers[0], &floats).unwrap();
    memory.write(buffers[1], &doubles).unwrap();
    memory.write(buffers[2], &integers).unwrap();
    memory.write(buffers[3], &longs).unwrap();
    (memory, buffers)
}

/// Contents of all buffers after one block of 64 threads, and the warp instructions it took.
fn run(text: &str, entry: &str, parameters: &[u8]) -> (Vec<Vec<u8>>, u64) {
    let module: Module = parse("mixed.ptx", text).unwrap();
    let compiled = compile(&module, entry, &CompileOptions::default()).unwrap();
    let (mut memory, buffers) = memory();
    let loaded = Loaded::new(&module, &mut memory).unwrap();
    let configuration = Configuration {
        grid: [1; 3],
        block: [64, 1, 1],
        dynamic_shared_bytes: 0,
        parameters: parameters.to_vec(),
        options: ExecOptions { max_warp_instructions: 100_000, ..ExecOptions::default() },
    };
    let execution =
        Execution::new(&compiled.kernel, &compiled.reconvergence, &loaded, configuration).unwrap();
    let mut block = BlockExecution::new(&execution, 0);
    block.run(&mut memory, &mut ()).unwrap();
    (buffers.map(|buffer| memory.bytes(buffer).to_vec()).to_vec(), block.executed())
}

fn check(entry: &str, parameters: &[u8]) {
    let (plain, slow) = run(UNOPTIMISED, entry, parameters);
    let (optimised, fast) = run(OPTIMISED, entry, parameters);
    assert!(fast < slow, "{entry}: {fast} and {slow} instructions");
    let (untouched, buffers) = memory();
    assert!(plain != buffers.map(|buffer| untouched.bytes(buffer).to_vec()), "{entry} changes nothing");
    assert!(plain == optimised, "{entry}: results differ");
}

fn address(buffer: usize) -> [u8; 8] {
    let (memory, buffers) = memory();
    memory.address(buffers[buffer]).to_le_bytes()
}

#[test]
fn structures_and_vectors_by_value() {
    let mut parameters = address(0).to_vec();
    for item in 1..=10_u32 {
        parameters.extend(item.to_le_bytes());
    }
    parameters.resize(64, 0);
    for component in [1.0_f32, 2.5, 3.0, 4.0] {
        parameters.extend(component.to_le_bytes());
    }
    parameters.extend([1, 0]);
    parameters.extend(7_i16.to_le_bytes());
    check("by_value", &parameters);
}

#[test]
fn arithmetic_atomics_and_inline_ptx() {
    let parameters = [2, 3, 1, 0, 4].map(address).concat();
    check("arithmetic", &parameters);
}

#[test]
fn exchange_between_lanes_and_divergent_loops() {
    check("exchange", &address(2));
}
