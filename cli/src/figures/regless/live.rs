//! Fig. 5: live registers along a kernel, its low points, and where regions begin.

use warpfile_kernels::workloads::Workload;

use super::regions::{KernelRegions, WorkloadRegions};
use crate::figures::chart::{Chart, Line, LineStyle, Plot};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::statistics::mean;

/// Fig. 5.
pub fn figure_5(workloads: &[&'static Workload], regions: &[WorkloadRegions]) -> Content {
    let named = workloads.iter().zip(regions);
    let kernels: Vec<Course> = named
        .flat_map(|(workload, found)| found.kernels.iter().map(|kernel| Course::new(workload, kernel)))
        .collect();
    Content {
        claims: vec![claim(&kernels)],
        tables: vec![summary(&kernels), low_point_table(&kernels)],
        notes: vec![
            "Live registers are counted before each instruction, for the warp. A low point is an instruction, or a run \
             of them, before which fewer registers are live than before its neighbours on both sides. Instructions \
             are numbered in the order of the code; regions never cross basic blocks."
                .to_owned(),
        ],
        charts: kernels.iter().map(chart).collect(),
    }
}

/// Live registers along a kernel.
struct Course<'a> {
    /// `particle_filter: sum`.
    name: String,
    kernel: &'a KernelRegions,
    /// Runs of instructions: first, and the one after the last.
    low: Vec<(usize, usize)>,
    /// First instructions of regions.
    begins: Vec<usize>,
}

impl<'a> Course<'a> {
    fn new(workload: &Workload, kernel: &'a KernelRegions) -> Course<'a> {
        let regions = kernel.regions.regions.iter();
        Course {
            name: format!("{}: {}", workload.name, kernel.program.name),
            kernel,
            low: low_points(&kernel.live),
            begins: regions.map(|region| region.instructions.start as usize).collect(),
        }
    }

    /// Regions that begin at a low point.
    fn begin_low(&self) -> usize {
        self.begins.iter().filter(|&&begin| self.is_low(begin)).count()
    }

    fn is_low(&self, instruction: usize) -> bool {
        self.low.iter().any(|&(first, end)| (first..end).contains(&instruction))
    }

    /// Instructions of all low points.
    fn low_instructions(&self) -> usize {
        self.low.iter().map(|(first, end)| end - first).sum()
    }

    fn live(&self, instruction: usize) -> f64 {
        self.kernel.live[instruction] as f64
    }

    fn instructions(&self) -> std::ops::Range<usize> {
        0..self.kernel.live.len()
    }
}

/// Where fewer registers are live than on both sides: runs of equal counts, as first and the one after the last.
fn low_points(live: &[usize]) -> Vec<(usize, usize)> {
    let mut low = Vec::new();
    let mut first = 0;
    for run in live.chunk_by(|one, next| one == next) {
        let end = first + run.len();
        let falls = first > 0 && live[first - 1] > run[0];
        let rises = end < live.len() && live[end] > run[0];
        if falls && rises {
            low.push((first, end));
        }
        first = end;
    }
    low
}

fn claim(kernels: &[Course<'_>]) -> Claim {
    let sum = |value: &dyn Fn(&Course<'_>) -> usize| kernels.iter().map(value).sum::<usize>();
    let everywhere = kernels.iter().flat_map(|course| course.instructions().map(|at| course.live(at)));
    let at_begins = kernels.iter().flat_map(|course| course.begins.iter().map(|&at| course.live(at)));
    let instructions = sum(&|course| course.kernel.live.len());
    let low = sum(&|course| course.low_instructions());
    Claim::new(
        "§4.1",
        "points with few live registers form natural seams for region boundaries",
        format!(
            "{:.1} registers are live where regions begin, {:.1} before the mean instruction; {} of {} regions begin \
             at a low point, where {low} of {instructions} instructions are",
            mean(at_begins).unwrap_or(0.0),
            mean(everywhere).unwrap_or(0.0),
            sum(&|course| course.begin_low()),
            sum(&|course| course.begins.len()),
        ),
    )
}

fn summary(kernels: &[Course<'_>]) -> Table {
    let mut table = Table::new("live_registers", "Live registers along each kernel")
        .column("kernel", "kernel")
        .column("instructions", "instructions")
        .real("live_mean", "live, mean", 1)
        .column("live_highest", "highest")
        .column("low_points", "low points")
        .column("regions", "regions")
        .real("live_where_regions_begin_mean", "live where regions begin, mean", 1)
        .column("regions_at_low_points", "regions that begin at a low point");
    for course in kernels {
        let highest = course.kernel.live.iter().max().copied().unwrap_or(0);
        table.row(vec![
            course.name.clone().into(),
            integer(course.kernel.live.len()),
            mean(course.instructions().map(|at| course.live(at))).into(),
            integer(highest),
            integer(course.low.len()),
            integer(course.begins.len()),
            mean(course.begins.iter().map(|&at| course.live(at))).into(),
            integer(course.begin_low()),
        ]);
    }
    table
}

fn low_point_table(kernels: &[Course<'_>]) -> Table {
    let mut table = Table::new("low_points", "Low points")
        .column("kernel", "kernel")
        .column("first_instruction", "first instruction")
        .column("last_instruction", "last")
        .column("live", "live registers")
        .column("regions_begin", "regions that begin here");
    for course in kernels {
        for &(first, end) in &course.low {
            let begins = course.begins.iter().filter(|begin| (first..end).contains(begin)).count();
            table.row(vec![
                course.name.clone().into(),
                integer(first),
                integer(end - 1),
                integer(course.kernel.live[first]),
                integer(begins),
            ]);
        }
    }
    table
}

fn integer(number: usize) -> Cell {
    (number as u64).into()
}

fn chart(course: &Course<'_>) -> Chart {
    let at = |instructions: &mut dyn Iterator<Item = usize>| -> Vec<(f64, f64)> {
        instructions.map(|at| (at as f64, course.live(at))).collect()
    };
    let line = |name: &str, style, points| Line { name: name.to_owned(), points, style };
    Chart {
        title: course.name.clone(),
        x_label: "instruction".to_owned(),
        y_label: "live registers".to_owned(),
        plot: Plot::Lines(vec![
            line("live registers", LineStyle::Thin, at(&mut course.instructions())),
            line(
                "low points",
                LineStyle::Marks,
                at(&mut course.low.iter().flat_map(|&(first, end)| first..end)),
            ),
            line(
                "regions begin",
                LineStyle::Marks,
                course.begins.iter().map(|&begin| (begin as f64, 0.0)).collect(),
            ),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::low_points;

    #[test]
    fn a_low_point_lies_below_both_of_its_sides() {
        assert_eq!(low_points(&[0, 1, 3, 2, 2, 4, 1, 0]), [(3, 5)]);
        assert_eq!(low_points(&[5, 4, 5, 1, 2]), [(1, 2), (3, 4)]);
    }

    #[test]
    fn begin_and_end_of_a_kernel_are_no_low_points() {
        assert_eq!(low_points(&[0, 1, 2, 1, 0]), []);
        assert_eq!(low_points(&[2, 2, 2]), []);
        assert_eq!(low_points(&[]), []);
    }
}
