//! What the programs are made of, from their instruction streams alone, beside what the papers say of the originals.

use warpfile_kernels::program::{
    Flow, InstId, Instruction, LANES, LaneMask, Launches, MemoryAccess, Operation, Program, Space, Stream,
    StreamError, WarpInstruction,
};
use warpfile_kernels::workloads::Workload;

use super::chart::{Bars, Chart, Plot};
use super::report::{Cell, Content, Table};
use super::{Figure, Method};

/// The figure.
pub const FIGURES: &[Figure] = &[Figure {
    id: "programs",
    title: "What the programs are made of, beside the originals",
    source: "Jatala, Tables 2.1 and 2.2, beside all workloads",
    workloads: &[],
    method: Method::Programs(show),
    has_numbers: false,
    causes: &[],
}];

/// Bytes of what memory moves at once.
const SECTOR: u64 = 32;

/// A kernel over all of its launches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelProfile {
    /// Its name.
    pub name: String,
    /// Registers a thread.
    pub registers: u16,
    /// Threads of a block; of its largest launch.
    pub threads: u32,
    /// Bytes of scratchpad a block; of its largest launch.
    pub shared_bytes: u32,
    /// Warps.
    pub warps: u64,
    /// Warp instructions.
    pub instructions: u64,
    /// Lanes that executed them.
    pub lanes: u64,
    /// Branches.
    pub branches: u64,
    /// Branches at which lanes of a warp parted.
    pub parted: u64,
    /// Barriers.
    pub barriers: u64,
    /// Accesses to the scratchpad.
    pub shared_accesses: u64,
    /// Accesses to device memory and to a thread's own, atomics among them.
    pub global_accesses: u64,
    /// Bytes that lanes asked of it.
    pub global_bytes: u64,
    /// Sectors of [`SECTOR`] bytes that these lie in, each counted once an instruction.
    pub sectors: u64,
}

/// The kernels of all launches, in the order in which they come.
pub fn kernel_profiles(launches: &mut dyn Launches) -> Result<Vec<KernelProfile>, StreamError> {
    let mut profiles: Vec<KernelProfile> = Vec::new();
    while let Some(mut stream) = launches.next_launch()? {
        let name = &stream.program().name;
        let place = profiles.iter().position(|known| known.name == *name).unwrap_or(profiles.len());
        if place == profiles.len() {
            profiles.push(KernelProfile { name: name.clone(), ..KernelProfile::default() });
        }
        profiles[place].add_launch(stream.as_mut())?;
    }
    Ok(profiles)
}

impl KernelProfile {
    fn add_launch(&mut self, stream: &mut dyn Stream) -> Result<(), StreamError> {
        let launch = stream.launch().clone();
        self.registers = self.registers.max(stream.program().registers_per_thread);
        self.threads = self.threads.max(launch.threads_per_block());
        self.shared_bytes = self.shared_bytes.max(launch.shared_bytes);
        let joins = joins(stream.program());
        let mut executed = WarpInstruction::default();
        for block in 0..launch.blocks() {
            stream.start_block(block)?;
            for warp in 0..launch.warps_per_block() {
                self.warps += 1;
                let mut path = Path::default();
                while stream.next(block, warp, &mut executed)? {
                    let instruction = &stream.program().instructions[executed.inst.0 as usize];
                    let place = executed.inst.0 as usize;
                    let at = (executed.inst, joins[place]);
                    self.parted += u64::from(path.goes_on(at, instruction.operation, executed.active));
                    self.add(instruction, &executed);
                }
            }
            stream.finish_block(block);
        }
        Ok(())
    }

    fn add(&mut self, instruction: &Instruction, executed: &WarpInstruction) {
        self.instructions += 1;
        self.lanes += u64::from(executed.active.count_ones());
        if let Some(access) = instruction.operand {
            self.add_access(access, executed);
        }
        match instruction.operation {
            Operation::Branch => self.branches += 1,
            Operation::Barrier => self.barriers += 1,
            Operation::Load(access) | Operation::Store(access) | Operation::Atomic(access) => {
                self.add_access(access, executed);
            }
            Operation::Alu
            | Operation::Sfu
            | Operation::Double
            | Operation::Texture
            | Operation::Fence
            | Operation::Release
            | Operation::Exit => {}
        }
    }

    fn add_access(&mut self, access: MemoryAccess, executed: &WarpInstruction) {
        match access.space {
            Space::Shared => self.shared_accesses += 1,
            Space::Global | Space::Local | Space::Generic => {
                let bytes = u64::from(access.bytes);
                self.global_accesses += 1;
                self.global_bytes += bytes * u64::from(executed.active.count_ones());
                self.sectors += sectors(bytes, executed);
            }
            Space::Constant | Space::Parameter => {}
        }
    }
}

/// Sectors that the lanes of an access touch, each once.
fn sectors(bytes: u64, executed: &WarpInstruction) -> u64 {
    let lanes = (0..LANES).filter(|lane| executed.active >> lane & 1 == 1);
    let touched = lanes.flat_map(|lane| {
        let address = executed.addresses[lane];
        address / SECTOR..=(address + bytes.max(1) - 1) / SECTOR
    });
    let mut touched: Vec<u64> = touched.collect();
    touched.sort_unstable();
    touched.dedup();
    touched.len() as u64
}

/// Instructions that a warp executes one behind the other, and the lanes that are there. A guard switches lanes off, so it is
/// known only at their end which these are.
#[derive(Default)]
struct Path {
    lanes: LaneMask,
    last: Option<InstId>,
    /// Lanes of the branch that led here.
    branch: Option<LaneMask>,
}

impl Path {
    /// The next instruction that the warp executes, and whether that ends a path behind a branch at which lanes parted. Others
    /// may join those of the path at an instruction that `joins`.
    fn goes_on(&mut self, (inst, joins): (InstId, bool), operation: Operation, active: LaneMask) -> bool {
        let mut parted = false;
        if joins || self.last.is_none_or(|last| last.0 + 1 != inst.0) {
            // Behind a branch, or with lanes that have waited elsewhere or here.
            if self.last.is_some() {
                parted = self.ends(None);
            }
            self.lanes = 0;
        }
        self.lanes |= active;
        self.last = Some(inst);
        match operation {
            Operation::Branch => parted |= self.ends(Some(self.lanes)),
            Operation::Exit => parted |= self.ends(None),
            _ => {}
        }
        parted
    }

    /// Ends it; some of the lanes of the branch before are not here if they parted. `branch` is the one that it ends with.
    fn ends(&mut self, branch: Option<LaneMask>) -> bool {
        self.last = None;
        let before = std::mem::replace(&mut self.branch, branch);
        before.is_some_and(|before| self.lanes != before && self.lanes & !before == 0)
    }
}

/// For each instruction whether control comes to it from elsewhere than the one before.
fn joins(program: &Program) -> Vec<bool> {
    let mut joins = vec![false; program.instructions.len()];
    let flow = program.control.iter().flat_map(|control| control.flow.iter().enumerate());
    for (position, flow) in flow {
        let Flow::To { targets, .. } = flow else { continue };
        targets.iter().filter(|target| **target != position + 1).for_each(|target| joins[*target] = true);
    }
    joins
}

/// What a paper says of a kernel that one of ours stands for.
struct Original {
    workload: &'static str,
    kernel: &'static str,
    threads: u64,
    registers: Option<u64>,
    shared_bytes: Option<u64>,
}

const fn by_registers(
    workload: &'static str,
    kernel: &'static str,
    threads: u64,
    registers: u64,
) -> Original {
    Original { workload, kernel, threads, registers: Some(registers), shared_bytes: None }
}

const fn by_scratchpad(workload: &'static str, kernel: &'static str, threads: u64, bytes: u64) -> Original {
    Original { workload, kernel, threads, registers: None, shared_bytes: Some(bytes) }
}

/// Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, Tables 2.1 (registers as in GPGPU-Sim's
/// PTXPlus) and 2.2.
const ORIGINALS: &[Original] = &[
    by_registers("backprop", "adjust_weights", 256, 24),
    by_registers("b+tree", "find_range", 508, 24),
    by_registers("hotspot", "hotspot", 256, 36),
    by_registers("lib", "portfolio", 192, 36),
    by_registers("mummer", "match", 256, 28),
    by_registers("mri-q", "compute_q", 256, 24),
    by_registers("sgemm", "sgemm", 128, 48),
    by_registers("stencil", "stencil", 512, 28),
    by_scratchpad("convolution", "along_rows", 64, 2560),
    by_scratchpad("convolution", "along_columns", 128, 5184),
    by_scratchpad("lavaMD", "forces", 128, 7200),
    by_scratchpad("nw", "diagonal", 16, 2180),
    by_scratchpad("srad", "coefficients", 256, 6144),
    by_scratchpad("srad", "diffuse", 256, 5120),
];

fn show(workloads: &[&'static Workload], profiles: &[Vec<KernelProfile>]) -> Content {
    let mut resources =
        Table::new("resources", "What a thread and a block take, and what they took in the original")
            .column("workload", "workload")
            .column("kernel", "kernel")
            .column("registers", "registers a thread")
            .column("registers_original", "original")
            .column("threads", "threads a block")
            .column("threads_original", "original")
            .column("scratchpad_bytes", "scratchpad a block, bytes")
            .column("scratchpad_bytes_original", "original")
            .column("warps", "warps")
            .real("instructions_a_warp", "instructions a warp", 0);
    let mut rates = Table::new("rates", "What warps execute")
        .column("workload", "workload")
        .column("kernel", "kernel")
        .real("share_percent", "of the workload's instructions, %", 1)
        .real("lanes_percent", "lanes that execute, %", 1)
        .real("branches", "branches per 100 instructions", 1)
        .real("parted_percent", "of them lanes part, %", 1)
        .real("barriers", "barriers per 1000", 1)
        .real("scratchpad", "scratchpad accesses per 100", 1)
        .real("memory", "memory accesses per 100", 1)
        .real("bytes", "bytes asked for an instruction", 1)
        .real("bytes_moved", "bytes in sectors", 1);
    for (workload, kernels) in workloads.iter().zip(profiles) {
        let all: u64 = kernels.iter().map(|kernel| kernel.instructions).sum();
        for kernel in kernels {
            resources.row(resource_cells(workload.name, kernel));
            rates.row(rate_cells(workload.name, kernel, all));
        }
    }
    let notes = [
        "Originals: Jatala, PhD thesis, 2018, Tables 2.1 (PTXPlus, which has ptxas's registers) and 2.2; what they do not give \
         is left out.",
        "Lanes that execute are those of 32: warps that are not full, lanes on another path and lanes that a guard switches \
         off do not. Lanes part at a branch if some take it and others do not. Memory is device memory and a thread's own, \
         registers that were kept out among it; a sector has 32 bytes and counts once an access.",
    ];
    Content {
        tables: vec![resources, rates],
        notes: notes.map(str::to_owned).to_vec(),
        charts: vec![lanes(workloads, profiles), registers(workloads, profiles)],
        ..Content::default()
    }
}

/// Lanes that execute, a bar for each workload.
fn lanes(workloads: &[&'static Workload], profiles: &[Vec<KernelProfile>]) -> Chart {
    let of_all = |kernels: &Vec<KernelProfile>| {
        let sum = |of: fn(&KernelProfile) -> u64| kernels.iter().map(of).sum::<u64>();
        ratio(sum(|kernel| kernel.lanes), sum(|kernel| kernel.instructions), 100.0 / LANES as f64)
    };
    bars(
        "lanes that execute",
        "%",
        workloads.iter().map(|workload| workload.name.to_owned()).collect(),
        vec![Bars::new("all kernels", profiles.iter().map(of_all).collect())],
    )
}

/// Registers a thread beside the original's, where a paper gives them.
fn registers(workloads: &[&'static Workload], profiles: &[Vec<KernelProfile>]) -> Chart {
    let with_registers = |original: &&'static Original| original.registers.is_some();
    let ours = |original: &'static Original| {
        let place = workloads.iter().position(|workload| workload.name == original.workload)?;
        let kernel = profiles[place].iter().find(|kernel| kernel.name == original.kernel)?;
        Some((original, f64::from(kernel.registers)))
    };
    let pairs: Vec<(&'static Original, f64)> =
        ORIGINALS.iter().filter(with_registers).filter_map(ours).collect();
    let here = pairs.iter().map(|&(_, registers)| Some(registers)).collect();
    let original =
        pairs.iter().map(|(original, _)| original.registers.map(|registers| registers as f64)).collect();
    bars(
        "registers a thread",
        "registers",
        pairs.iter().map(|(original, _)| original.workload.to_owned()).collect(),
        vec![Bars::new("here", here), Bars::new("original, PTXPlus", original)],
    )
}

fn bars(title: &str, y_label: &str, groups: Vec<String>, series: Vec<Bars>) -> Chart {
    Chart {
        title: title.to_owned(),
        x_label: String::new(),
        y_label: y_label.to_owned(),
        plot: Plot::Bars { groups, series, stacked: false },
    }
}

fn resource_cells(workload: &str, kernel: &KernelProfile) -> Vec<Cell> {
    let original = ORIGINALS.iter().find(|known| known.workload == workload && known.kernel == kernel.name);
    let of_original =
        |of: fn(&Original) -> Option<u64>| original.and_then(of).map_or(Cell::Missing, Cell::Integer);
    vec![
        workload.into(),
        kernel.name.as_str().into(),
        u64::from(kernel.registers).into(),
        of_original(|original| original.registers),
        u64::from(kernel.threads).into(),
        of_original(|original| Some(original.threads)),
        u64::from(kernel.shared_bytes).into(),
        of_original(|original| original.shared_bytes),
        kernel.warps.into(),
        ratio(kernel.instructions, kernel.warps, 1.0).into(),
    ]
}

fn rate_cells(workload: &str, kernel: &KernelProfile, all: u64) -> Vec<Cell> {
    let of = |count: u64, by: f64| Cell::from(ratio(count, kernel.instructions, by));
    vec![
        workload.into(),
        kernel.name.as_str().into(),
        ratio(kernel.instructions, all, 100.0).into(),
        of(kernel.lanes, 100.0 / LANES as f64),
        of(kernel.branches, 100.0),
        ratio(kernel.parted, kernel.branches, 100.0).into(),
        of(kernel.barriers, 1000.0),
        of(kernel.shared_accesses, 100.0),
        of(kernel.global_accesses, 100.0),
        of(kernel.global_bytes, 1.0),
        of(kernel.sectors * SECTOR, 1.0),
    ]
}

/// A count for `by` of another; none of nothing.
fn ratio(count: u64, of: u64, by: f64) -> Option<f64> {
    (of > 0).then(|| count as f64 / of as f64 * by)
}

#[cfg(test)]
mod tests {
    use warpfile_kernels::program::{InstId, Operation};
    use warpfile_kernels::workloads;

    use super::super::svg::{self, Sheet};
    use super::{ORIGINALS, Path, kernel_profiles, show};

    #[test]
    fn lanes_part_at_a_branch_that_some_take() {
        let mut path = Path::default();
        let mut parted = 0;
        for (inst, operation, active) in [
            (0, Operation::Alu, 0xff),
            (1, Operation::Branch, 0xff),
            // Half of them, two of these switched off by a guard.
            (2, Operation::Alu, 0x03),
            (3, Operation::Branch, 0x0f),
            // The others, and all together again.
            (5, Operation::Alu, 0xf0),
            (6, Operation::Branch, 0xf0),
            (8, Operation::Alu, 0xff),
            (9, Operation::Branch, 0xff),
            // One lane by itself, without a branch behind it.
            (10, Operation::Alu, 0x01),
            (11, Operation::Alu, 0xff),
            (12, Operation::Branch, 0xff),
            (0, Operation::Alu, 0x0f),
            (1, Operation::Exit, 0xff),
        ] {
            let joins = [5, 8, 11].contains(&inst);
            parted += u64::from(path.goes_on((InstId(inst), joins), operation, active));
        }
        assert_eq!(parted, 2);
    }

    #[test]
    fn every_original_is_one_of_our_kernels() {
        for original in ORIGINALS {
            let mut opened =
                workloads::by_name(original.workload).expect("known").open("tiny").expect("there");
            let kernels = kernel_profiles(&mut opened).expect("executed");
            let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            assert!(names.contains(&original.kernel), "{}: {names:?}", original.workload);
        }
    }

    /// A row for each kernel, and charts that can be drawn, also of no original.
    #[test]
    fn the_figure_has_every_kernel() {
        for (names, kernels) in [(&["nn"][..], 1), (&["hotspot", "mri-q"], 3)] {
            let workloads: Vec<_> =
                names.iter().map(|name| workloads::by_name(name).expect("known")).collect();
            let profile = |workload: &&'static workloads::Workload| {
                kernel_profiles(&mut workload.open("tiny").expect("there")).expect("executed")
            };
            let profiles: Vec<_> = workloads.iter().map(profile).collect();
            let content = show(&workloads, &profiles);
            for table in &content.tables {
                let rows = table.to_markdown().lines().count() - 2;
                assert_eq!(rows, kernels, "{names:?}");
            }
            assert!(svg::draw(Sheet::screen("programs"), &content.charts).contains("<svg"), "{names:?}");
        }
    }

    #[test]
    fn a_vector_sum_is_counted() {
        let mut opened = workloads::by_name("vectoradd").expect("known").open("tiny").expect("there");
        let kernels = kernel_profiles(&mut opened).expect("executed");
        let [sum] = &kernels[..] else { panic!("{kernels:?}") };
        // Two loads and a store of four bytes a thread.
        assert_eq!(sum.global_bytes % 12, 0);
        assert_eq!((sum.barriers, sum.shared_accesses, sum.parted), (0, 0, 0));
        assert_eq!(
            sum.sectors * 32,
            sum.global_bytes.next_multiple_of(32),
            "neighbours are neighbours in memory"
        );
    }
}
