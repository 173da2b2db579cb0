//! Averages over workloads, and the categories they are averaged by.

use warpfile_kernels::workloads::Workload;

/// Categories, after Table 1 of Gebhart et al. where a workload has a counterpart there.
pub const CATEGORIES: [&str; 4] = ["HPC", "simulation", "image processing", "other"];

/// The category of a workload: dense linear algebra is the paper's HPC; physics, finance and path finding its
/// simulation; workloads without a counterpart in its Table 1 are "other".
pub fn category(workload: &str) -> &'static str {
    match workload {
        "vectoradd" | "scalarprod" | "sgemm" | "lud" | "gaussian" => CATEGORIES[0],
        "hotspot" | "pathfinder" | "stencil" | "blackscholes" | "lavaMD" | "myocyte"
        | "hotspot-registers" => CATEGORIES[1],
        "srad" | "mri-q" | "dwt2d" | "heartwall" => CATEGORIES[2],
        _other => CATEGORIES[3],
    }
}

/// Workloads that are averaged together.
pub struct Group {
    /// The category, or "all".
    pub name: &'static str,
    /// Positions of its workloads.
    pub members: Vec<usize>,
}

/// The categories that have workloads, then all of them.
pub fn groups(workloads: &[&'static Workload]) -> Vec<Group> {
    let members = |name: &str| {
        let chosen = workloads.iter().enumerate().filter(|(_, workload)| category(workload.name) == name);
        chosen.map(|(position, _)| position).collect::<Vec<_>>()
    };
    let mut groups: Vec<Group> =
        CATEGORIES.iter().map(|name| Group { name, members: members(name) }).collect();
    groups.retain(|group| !group.members.is_empty());
    groups.push(Group { name: "all", members: (0..workloads.len()).collect() });
    groups
}

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Geometric mean of positive values; `None` of nothing.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    mean(values.into_iter().map(f64::ln)).map(f64::exp)
}

/// Standard deviation of the whole population; `None` of nothing.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = self::mean(values.iter().copied())?;
    self::mean(values.iter().map(|value| (value - mean).powi(2))).map(f64::sqrt)
}

/// Lowest and highest; `None` of nothing.
pub fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

#[cfg(test)]
mod tests {
    use super::{category, deviation, geometric_mean, mean, range};
    use warpfile_kernels::workloads;

    #[test]
    fn averages_are_those_of_the_textbook() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(values), Some(5.0));
        assert_eq!(deviation(&values), Some(2.0));
        assert_eq!(range(values), Some((2.0, 9.0)));
        assert_eq!((mean([]), deviation(&[]), range([])), (None, None, None));
        assert!(geometric_mean([0.5, 4.0, 4.0]).is_some_and(|mean| (mean - 2.0).abs() < 1e-12));
        assert_eq!(geometric_mean([]), None);
    }

    #[test]
    fn only_workloads_without_a_counterpart_in_table_1_are_other() {
        let others: Vec<_> = workloads::common()
            .iter()
            .map(|workload| workload.name)
            .filter(|name| category(name) == "other")
            .collect();
        assert_eq!(
            others,
            [
                "backprop",
                "bfs",
                "nw",
                "nn",
                "kmeans",
                "streamcluster",
                "hybridsort",
                "particle_filter",
                "b+tree"
            ]
        );
    }
}
