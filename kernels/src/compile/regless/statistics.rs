//! Numbers about regions (Figs. 5 and 19, Table 2).

use serde::Serialize;

use super::regions::{Region, Regions};
use crate::compile::graph::{GraphError, Graphs};
use crate::compile::lifetime::Lifetimes;
use crate::compile::soft;
use crate::program::Program;

/// Mean and standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Mean; 0 of nothing.
    pub mean: f64,
    /// Standard deviation of the whole population.
    pub deviation: f64,
}

impl Spread {
    /// Of values, each counted as often as its weight says.
    pub fn of(values: impl Iterator<Item = (f64, u64)> + Clone) -> Spread {
        let total: u64 = values.clone().map(|(_, weight)| weight).sum();
        if total == 0 {
            return Spread::default();
        }
        let mean_of = |value: &dyn Fn(f64) -> f64| {
            values.clone().map(|(number, weight)| value(number) * weight as f64).sum::<f64>() / total as f64
        };
        let mean = mean_of(&|number| number);
        Spread { mean, deviation: mean_of(&|number| (number - mean).powi(2)).sqrt() }
    }
}

/// What the regions of a kernel are like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RegionStatistics {
    /// How many were counted.
    pub regions: u64,
    /// Instructions a region, metadata left out (Table 2).
    pub instructions: Spread,
    /// Preloads a region (Fig. 19).
    pub preloads: Spread,
    /// Most lines that a region holds at once (Fig. 19, "concurrent live registers").
    pub live: Spread,
    /// Cache invalidations a region.
    pub invalidations: Spread,
    /// Metadata instructions a region.
    pub metadata: Spread,
}

impl RegionStatistics {
    /// Of the regions as they stand in the program, each counted once.
    pub fn of_code(regions: &Regions) -> RegionStatistics {
        RegionStatistics::weighted(&[(regions, &vec![1; regions.regions.len()])])
    }

    /// Of the regions of kernels as they were run: beside each kernel's regions how often each of them was.
    pub fn weighted(kernels: &[(&Regions, &[u64])]) -> RegionStatistics {
        let spread = |value: &dyn Fn(&Regions, &Region) -> usize| {
            Spread::of(kernels.iter().flat_map(|&(regions, runs)| {
                let of_one = move |(region, &runs)| (value(regions, region) as f64, runs);
                regions.regions.iter().zip(runs).map(of_one)
            }))
        };
        let metadata = |regions: &Regions, region: &Region| {
            let range = region.instructions.start as usize..region.instructions.end as usize;
            regions.marks[range].iter().map(|marks| usize::from(marks.metadata_before)).sum()
        };
        RegionStatistics {
            regions: kernels.iter().flat_map(|(_, runs)| *runs).sum(),
            instructions: spread(&|_, region| region.instructions.len()),
            preloads: spread(&|_, region| region.preloads.len()),
            live: spread(&|_, region| usize::from(region.live)),
            invalidations: spread(&|_, region| region.cache_invalidations.len()),
            metadata: spread(&metadata),
        }
    }
}

/// For each instruction how many registers are live before it, for the warp (Fig. 5).
///
/// # Errors
/// The program's control flow is not known, or leaves the program.
pub fn live_registers(program: &Program) -> Result<Vec<usize>, GraphError> {
    if program.instructions.is_empty() {
        return Ok(Vec::new());
    }
    let graphs = Graphs::of(program)?;
    let lifetimes = Lifetimes::new(&graphs.warps, &soft::as_marked(program));
    let live = |position| lifetimes.live_before(position).common_with(lifetimes.written_before(position));
    Ok((0..program.instructions.len()).map(live).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_as_often_as_its_weight() {
        let spread = Spread::of([(1.0, 3), (5.0, 1)].into_iter());
        assert_eq!(spread, Spread { mean: 2.0, deviation: 3.0_f64.sqrt() });
        assert_eq!(Spread::of([(7.0, 0)].into_iter()), Spread::default());
    }
}
