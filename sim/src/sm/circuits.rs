//! The circuits of a design: by name when a run begins, in the same order after each cycle.

use warpfile_engine::Engine;

use super::design::{Design, Layer, LinePort, PartitionDesign, name_in_partition, name_of_scheduler};

/// With their names: those of a partition after `partition0_` … if there are several.
pub(super) fn named<'d>(design: &'d Design<'_>) -> Vec<(String, &'d dyn Engine)> {
    let count = design.partitions.len();
    let of_partitions = design.partitions.iter().enumerate().flat_map(|(index, partition)| {
        of_partition(partition).map(move |(name, circuit)| (name_in_partition(index, count, name), circuit))
    });
    of_partitions.chain(shared(design.line_port.as_deref(), &design.layers)).collect()
}

/// Without them.
pub(super) fn all<'d>(
    partitions: impl Iterator<Item = &'d PartitionDesign<'d>>,
    line_port: Option<&'d (dyn LinePort + 'd)>,
    layers: &'d [Box<dyn Layer + 'd>],
) -> impl Iterator<Item = &'d dyn Engine> {
    let of_partitions = partitions.flat_map(of_partition).map(|(_, circuit)| circuit);
    of_partitions.chain(shared(line_port, layers).map(|(_, circuit)| circuit))
}

fn shared<'d>(
    line_port: Option<&'d (dyn LinePort + 'd)>,
    layers: &'d [Box<dyn Layer + 'd>],
) -> impl Iterator<Item = (String, &'d dyn Engine)> {
    let of_port = line_port.and_then(LinePort::circuit).map(|(name, circuit)| (name.to_owned(), circuit));
    of_port.into_iter().chain(layers.iter().flat_map(|layer| layer.circuits()))
}

fn of_partition<'d>(
    partition: &'d PartitionDesign<'_>,
) -> impl Iterator<Item = (&'static str, &'d dyn Engine)> {
    let storage = partition.storage.circuit().map(|circuit| ("register_file", circuit));
    let count = partition.schedulers.len();
    let schedulers = partition.schedulers.iter().enumerate().filter_map(move |(number, scheduler)| {
        let name = name_of_scheduler(["scheduler", "scheduler0", "scheduler1"], count, number);
        Some((name, scheduler.circuit()?))
    });
    storage.into_iter().chain(partition.storage.circuits_in_front()).chain(schedulers)
}
