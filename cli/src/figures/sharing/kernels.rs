//! The kernels that the thesis measures: each a row of its figures, and some or all launches of a workload here.

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
    /// The workload's; where the thesis has a name of its own for a kernel of it, with that behind it.
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
    kernel("convolution CONV1", "convolution", Launches::Of("along_rows")),
    kernel("convolution CONV2", "convolution", Launches::Of("along_columns")),
    kernel("dct8x8 DCT1", "dct8x8", Launches::Of("forward")),
    kernel("dct8x8 DCT2", "dct8x8", Launches::Of("inverse")),
    kernel("dct8x8-8320 DCT1", "dct8x8-8320", Launches::Of("forward")),
    kernel("dct8x8-8320 DCT2", "dct8x8-8320", Launches::Of("inverse")),
    kernel("dct8x8 DCT3", "dct8x8", Launches::Of("forward_short")),
    kernel("dct8x8 DCT4", "dct8x8", Launches::Of("inverse_short")),
    kernel("histogram", "histogram", Launches::Of("count")),
    kernel("lavaMD-100", "lavaMD-100", Launches::Of("forces")),
    kernel("marching-cubes MC1", "marching-cubes", Launches::Of("generate_1")),
    kernel("mri-q", "mri-q", Launches::Of("compute_q")),
    kernel("mummer", "mummer", Launches::Of("match")),
    kernel("nw NW1", "nw", Launches::Growing("diagonal")),
    kernel("nw NW2", "nw", Launches::Shrinking("diagonal")),
    kernel("nw-32 NW1", "nw-32", Launches::Growing("diagonal")),
    kernel("nw-32 NW2", "nw-32", Launches::Shrinking("diagonal")),
    kernel("srad-tiles SRAD1", "srad-tiles", Launches::Of("coefficients")),
    kernel("srad-tiles SRAD2", "srad-tiles", Launches::Of("diffuse")),
];

/// A kernel that the thesis measures with 48 and 64 KB of scratchpad only (Table 3.7).
const OF_LARGER: Kernel = kernel("marching-cubes MC2", "marching-cubes", Launches::Of("generate_2"));

/// What is said of the rows of scratchpad sharing.
pub const NAMES: &str = "Rows are kernels, of workloads of which the thesis has several with its name behind; NW1 are the diagonals of nw \
    that grow, NW2 those that shrink.";

/// A kernel's name as part of a number's key.
pub fn key_of(name: &str) -> String {
    name.replace(' ', ".")
}

impl Kernel {
    /// Cycles of its launches, of the slowest SM in each.
    fn cycles(&self, run: &Run) -> u64 {
        self.sum(run, &run.report.launch_cycles)
    }

    /// Threads of its launches.
    pub fn threads(&self, run: &Run) -> u64 {
        self.sum(run, &run.report.launch_threads)
    }

    /// Thread instructions of its launches.
    pub fn thread_instructions(&self, run: &Run) -> u64 {
        self.sum(run, &run.report.launch_thread_instructions)
    }

    /// The sum over its launches of what there is of each launch of a run.
    fn sum(&self, run: &Run, of_launches: &[u64]) -> u64 {
        let launches = run.report.launch_kernels.iter().zip(of_launches);
        let of = |wanted: &str| -> Vec<u64> {
            launches.clone().filter(|(kernel, _)| *kernel == wanted).map(|(_, value)| *value).collect()
        };
        match self.launches {
            Launches::All => of_launches.iter().sum(),
            Launches::Of(kernel) => of(kernel).iter().sum(),
            Launches::Growing(kernel) => {
                let values = of(kernel);
                values[..values.len().div_ceil(2)].iter().sum()
            }
            Launches::Shrinking(kernel) => {
                let values = of(kernel);
                values[values.len().div_ceil(2)..].iter().sum()
            }
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
        Kernels::among(KERNELS.iter(), results)
    }

    /// The same with what has to have more scratchpad.
    pub fn with_larger(results: &'a Results) -> Kernels<'a> {
        Kernels::among(KERNELS.iter().chain(std::iter::once(&OF_LARGER)), results)
    }

    fn among(known: impl Iterator<Item = &'static Kernel> + Clone, results: &'a Results) -> Kernels<'a> {
        let mut rows = Vec::new();
        for (position, workload) in results.workloads.iter().enumerate() {
            let own = known.clone().filter(|kernel| kernel.workload == workload.name);
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

    /// Instructions a cycle at a point, relative to another, of which the instructions are the same.
    pub fn speedup(&self, point: &Point, base: &Point) -> Vec<Option<f64>> {
        let runs = self.at(point).zip(self.at(base));
        let speedup = |((kernel, run), (_, base)): ((Kernel, &Run), (Kernel, &Run))| {
            ratio(kernel.cycles(base) as f64, kernel.cycles(run) as f64)
        };
        runs.map(speedup).collect()
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpfile_kernels::workloads;

    use super::*;

    #[test]
    fn every_kernel_is_launched_by_its_workload_and_has_a_name_of_its_own() {
        let known = || KERNELS.iter().chain(std::iter::once(&OF_LARGER));
        for kernel in known() {
            let file = workloads::by_name(kernel.workload).unwrap().launch_file().unwrap();
            let entries: Vec<&str> =
                file.launches().iter().filter_map(|launch| launch.entry.as_deref()).collect();
            let is_launched = match kernel.launches {
                Launches::All => true,
                Launches::Of(entry) | Launches::Growing(entry) | Launches::Shrinking(entry) => {
                    entries.contains(&entry)
                }
            };
            assert!(is_launched, "{}: {entries:?}", kernel.name);
            assert!(kernel.name.starts_with(kernel.workload), "{}", kernel.name);
        }
        let names: BTreeSet<&str> = known().map(|kernel| kernel.name).collect();
        assert_eq!(names.len(), KERNELS.len() + 1);
    }
}
