//! The kernels that the thesis measures: each a row of its figures, and some or all launches of a workload here.

use super::of_chip;
use crate::figures::series::{Rows, ratio};
use crate::figures::sweep::{Point, Results, Run};

/// Which launches of a workload are a kernel's.
#[derive(Clone, Copy)]
enum Launches {
    All,
    /// Those of a kernel.
    Of(&'static str),
    /// Those of a kernel with which a front of blocks grows: the first half, and the longest.
    Growing(&'static str),
    /// Those with which it shrinks.
    Shrinking(&'static str),
}

/// A kernel.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// As in the thesis where its program has several, else as the workload.
    pub name: &'static str,
    workload: &'static str,
    launches: Launches,
}

const fn kernel(name: &'static str, workload: &'static str, launches: Launches) -> Kernel {
    Kernel { name, workload, launches }
}

/// Of workloads that have others beside, or several, those that the thesis measures (Tables 2.1, 2.2 and 3.3).
const KERNELS: &[Kernel] = &[
    kernel("b+tree-508", "b+tree-508", Launches::Of("find_range")),
    kernel("backprop", "backprop", Launches::Of("adjust_weights")),
    kernel("CONV1", "convolution", Launches::Of("along_rows")),
    kernel("CONV2", "convolution", Launches::Of("along_columns")),
    kernel("DCT1", "dct8x8", Launches::Of("forward")),
    kernel("DCT2", "dct8x8", Launches::Of("inverse")),
    kernel("DCT3", "dct8x8", Launches::Of("forward_short")),
    kernel("DCT4", "dct8x8", Launches::Of("inverse_short")),
    kernel("histogram", "histogram", Launches::Of("count")),
    kernel("lavaMD-100", "lavaMD-100", Launches::Of("forces")),
    kernel("MC1", "marching-cubes", Launches::Of("generate_1")),
    kernel("mri-q", "mri-q", Launches::Of("compute_q")),
    kernel("mummer", "mummer", Launches::Of("match")),
    kernel("NW1", "nw", Launches::Growing("diagonal")),
    kernel("NW2", "nw", Launches::Shrinking("diagonal")),
    kernel("NW1", "nw-32", Launches::Growing("diagonal")),
    kernel("NW2", "nw-32", Launches::Shrinking("diagonal")),
    kernel("SRAD1", "srad-tiles", Launches::Of("coefficients")),
    kernel("SRAD2", "srad-tiles", Launches::Of("diffuse")),
];

/// What is said of the rows of scratchpad sharing.
pub const NAMES: &str = "CONV1 and 2 are the kernels of convolution, NW1 and 2 the growing and the shrinking diagonals of nw, SRAD1 and 2 \
    the kernels of srad-tiles, DCT1 to 4 those of dct8x8, MC1 is that of marching-cubes.";

impl Kernel {
    /// Cycles of its launches, of which `launch_cycles` has all of the run.
    fn cycles(&self, run: &Run, launch_cycles: &[u64]) -> u64 {
        let launches = run.report.launch_kernels.iter().zip(launch_cycles);
        let of = |wanted: &str| -> Vec<u64> {
            launches.clone().filter(|(kernel, _)| *kernel == wanted).map(|(_, cycles)| *cycles).collect()
        };
        match self.launches {
            Launches::All => launch_cycles.iter().sum(),
            Launches::Of(kernel) => of(kernel).iter().sum(),
            Launches::Growing(kernel) => {
                let cycles = of(kernel);
                cycles[..cycles.len().div_ceil(2)].iter().sum()
            }
            Launches::Shrinking(kernel) => {
                let cycles = of(kernel);
                cycles[cycles.len().div_ceil(2)..].iter().sum()
            }
        }
    }

    /// The same of each SM that was simulated.
    fn cycles_of_sms(&self, run: &Run) -> Vec<u64> {
        match run.report.sms.as_slice() {
            [] => vec![self.cycles(run, &run.report.launch_cycles)],
            sms => sms.iter().map(|sm| self.cycles(run, &sm.launch_cycles)).collect(),
        }
    }

    /// Blocks that are resident in its launches, at most.
    fn resident(&self, run: &Run) -> Option<f64> {
        let is_own = |launched: &str| match self.launches {
            Launches::All => true,
            Launches::Of(kernel) | Launches::Growing(kernel) | Launches::Shrinking(kernel) => {
                launched == kernel
            }
        };
        let launches = run.report.residency.iter().filter(|launch| is_own(&launch.kernel));
        launches.map(|launch| launch.resident_blocks as f64).reduce(f64::max)
    }
}

/// Kernels, and the runs that they are in.
pub struct Kernels<'a> {
    results: &'a Results,
    /// Each with the position of its workload.
    rows: Vec<(usize, Kernel)>,
}

impl<'a> Kernels<'a> {
    /// Those of the workloads that were run.
    pub fn of(results: &'a Results) -> Kernels<'a> {
        let mut rows = Vec::new();
        for (position, workload) in results.workloads.iter().enumerate() {
            let own = KERNELS.iter().filter(|kernel| kernel.workload == workload.name);
            let before = rows.len();
            rows.extend(own.map(|kernel| (position, *kernel)));
            if rows.len() == before {
                rows.push((position, kernel(workload.name, workload.name, Launches::All)));
            }
        }
        Kernels { results, rows }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Each kernel with its run at a point.
    pub fn at(&self, point: &Point) -> impl Iterator<Item = (Kernel, &'a Run)> {
        let runs = self.results.of(point);
        self.rows.iter().map(move |(position, kernel)| (*kernel, &runs[*position]))
    }

    /// Instructions a cycle at a point, relative to another, of which the instructions are the same; of the chip, where several
    /// SMs are simulated.
    pub fn speedup(&self, point: &Point, base: &Point) -> Vec<Option<f64>> {
        let runs = self.at(point).zip(self.at(base));
        runs.map(|((kernel, run), (_, base))| {
            let (sms, of_base) = (kernel.cycles_of_sms(run), kernel.cycles_of_sms(base));
            assert_eq!(sms.len(), of_base.len(), "as many SMs at both points");
            let of_sms = sms.into_iter().zip(of_base);
            // An SM that the launches have no blocks for says nothing.
            let speedups: Vec<_> = of_sms.map(|(cycles, base)| ratio(base as f64, cycles as f64)).collect();
            of_chip(&speedups, run.config.chip.sms)
        })
        .collect()
    }

    /// Resident blocks at a point.
    pub fn resident(&self, point: &Point) -> Vec<Option<f64>> {
        self.at(point).map(|(kernel, run)| kernel.resident(run)).collect()
    }
}

impl Rows for Kernels<'_> {
    fn names(&self) -> Vec<&str> {
        self.rows.iter().map(|(_, kernel)| kernel.name).collect()
    }
}
