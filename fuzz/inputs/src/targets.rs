//! What the fuzz targets do with an input: a function each, that panics where something of ours is wrong. `fuzz/` makes
//! programs of them that libFuzzer drives; the tests of this crate, which are run with all others, call them with the seeds.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use warpfile_engine::recording::Recording;
use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, Compiled, compile};
use warpfile_kernels::exec::{BlockExecution, Configuration, ExecOptions, Execution, Loaded, Memory};
use warpfile_kernels::launch::{HostMemory, LaunchFile, Sequence};
use warpfile_kernels::ptx::ir::Module;
use warpfile_kernels::{ptx, trace};
use warpfile_sim::config::{Config, apply_file, preset};

use crate::container::assemble;
use crate::{in_file, read_to_end};

/// A target: `false` for an input that is not worth keeping.
pub type Target = fn(&[u8]) -> bool;

/// All targets, by name.
pub const TARGETS: [(&str, Target); 7] = [
    ("ptx", ptx),
    ("launch_file", launch_file),
    ("accelsim", accelsim),
    ("kernelslist", kernelslist),
    ("container", container),
    ("config", config),
    ("recording", recording),
];

/// A PTX file: parsed, compiled, and a block of every kernel executed for a while.
pub fn ptx(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Ok(module) = ptx::parse("k.ptx", text) else { return true };
    for (kernel, isa) in module.kernels.iter().flat_map(|kernel| Isa::ALL.map(|isa| (kernel, isa))) {
        let compiled = Schedule::ALL.map(|schedule| {
            let options =
                CompileOptions { check_allocation: true, schedule, isa, ..CompileOptions::default() };
            compile(&module, &kernel.name, &options)
        });
        // An order that breaks a dependence, or an allocation that does not hold, is an error of ours.
        assert_eq!(compiled[0].is_ok(), compiled[1].is_ok(), "{:?}", compiled.map(Result::err));
        for compiled in compiled.into_iter().flatten() {
            execute(&module, &compiled);
        }
    }
    true
}

/// Executes a block for a while.
fn execute(module: &Module, compiled: &Compiled) {
    let kernel = &compiled.kernel;
    let mut memory = Memory::new();
    let Ok(loaded) = Loaded::new(module, &mut memory) else { return };
    let configuration = Configuration {
        grid: [1; 3],
        block: [40, 1, 1],
        dynamic_shared_bytes: 64,
        parameters: vec![0; kernel.parameter_bytes as usize],
        options: ExecOptions { max_warp_instructions: 10_000, ..ExecOptions::default() },
    };
    if let Ok(execution) = Execution::new(kernel, &compiled.reconvergence, &loaded, configuration) {
        let _ = BlockExecution::new(&execution, 0).run(&mut memory, &mut ());
    }
}

/// Steps of a launch file that are looked at: a small file may announce very many.
const MOST_STEPS: usize = 1000;
/// Bytes of its buffers that are filled.
const MOST_BYTES: usize = 1 << 24;

struct Buffers(Vec<Vec<u8>>);

impl HostMemory for Buffers {
    fn read(&self, buffer: usize) -> Result<&[u8], String> {
        Ok(&self.0[buffer])
    }

    fn address(&self, buffer: usize) -> u64 {
        buffer as u64 * MOST_BYTES as u64
    }

    fn write(&mut self, buffer: usize, bytes: &[u8]) -> Result<(), String> {
        assert_eq!(self.0[buffer].len(), bytes.len(), "a buffer keeps its length");
        self.0[buffer].copy_from_slice(bytes);
        Ok(())
    }
}

/// A launch file with what each of its steps does to memory.
pub fn launch_file(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    // Files that it names are not there.
    let Ok(file) = LaunchFile::parse(Path::new("/nowhere/launch.toml"), text) else { return true };
    let file = Arc::new(file);
    for size in ["tiny", "default"] {
        let Ok(mut sequence) = Sequence::new(file.clone(), size) else { continue };
        let bytes = |(length, elements): (&usize, u64)| length.saturating_mul(elements as usize);
        let elements = file.buffers.iter().map(|buffer| u64::from(buffer.element.bytes() as u32));
        let bytes: Vec<usize> = sequence.lengths().iter().zip(elements).map(bytes).collect();
        if bytes.iter().fold(0, |all: usize, &more| all.saturating_add(more)) > MOST_BYTES {
            continue;
        }
        let mut memory = Buffers(bytes.into_iter().map(|bytes| vec![0; bytes]).collect());
        if sequence.fill_all(&mut memory).is_err() {
            continue;
        }
        for _ in 0..MOST_STEPS {
            if !matches!(sequence.next(&mut memory), Ok(Some(_))) {
                break;
            }
        }
    }
    true
}

/// The trace of a kernel as Accel-Sim writes it.
pub fn accelsim(data: &[u8]) -> bool {
    in_file("kernel-1.traceg", data, read_trace);
    true
}

/// The trace beside a list.
const KERNEL: &[u8] = include_bytes!("../../../kernels/tests/data/accelsim/v3/kernel-1.traceg");

/// The list of an Accel-Sim trace, beside the trace of one kernel.
pub fn kernelslist(data: &[u8]) -> bool {
    in_file("kernelslist.g", data, |path| {
        std::fs::write(path.with_file_name("kernel-1.traceg"), KERNEL).expect("room for a trace");
        read_trace(path);
    });
    true
}

/// A container (`.wft`) whose checksums are right, whatever its records hold.
pub fn container(data: &[u8]) -> bool {
    in_file("t.wft", &assemble(data), read_trace);
    true
}

fn read_trace(path: &Path) {
    if let Ok(mut trace) = trace::open(path) {
        let _ = read_to_end(&mut trace);
    }
}

static PRESET: LazyLock<Config> = LazyLock::new(|| preset("gebhart2011").expect("complete"));

/// A configuration file, laid over a preset and by itself.
pub fn config(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let mut over = PRESET.clone();
    if apply_file(&mut over, "c.toml", text).is_ok() && over.validate().is_ok() {
        // What is accepted can be written and read back.
        let again =
            Config::from_toml(PRESET.registry(), "again.toml", &over.to_toml()).expect("what we wrote");
        assert_eq!(again.to_toml(), over.to_toml());
    }
    let _ = Config::from_toml(PRESET.registry(), "c.toml", text);
    true
}

/// Cycles of a recording that are looked at: a cycle in which nothing changes takes no room.
const MOST_CYCLES: usize = 10_000;

/// A recording of a circuit's ports.
pub fn recording(data: &[u8]) -> bool {
    if let Ok(mut recording) = Recording::new(data) {
        for _ in 0..MOST_CYCLES {
            if !matches!(recording.next_cycle(), Ok(true)) {
                break;
            }
        }
    }
    true
}
