//! k-means clustering (Lloyd's algorithm), in double precision.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (features, clusters) = (inputs.size("features"), inputs.size("clusters"));
    let features_of_points = inputs.doubles("by_point");
    let points: Vec<&[f64]> = features_of_points.chunks_exact(features).collect();
    let mut centres = inputs.doubles("moved");
    let mut membership = Vec::new();
    for _ in 0..inputs.size("iterations") {
        membership = points.iter().map(|point| nearest(point, &centres[..clusters * features])).collect();
        for (cluster, centre) in centres.chunks_exact_mut(features).take(clusters).enumerate() {
            let members: Vec<&[f64]> = points
                .iter()
                .zip(&membership)
                .filter(|&(_, &own)| own == cluster as i32)
                .map(|(&point, _)| point)
                .collect();
            if !members.is_empty() {
                for (feature, mean) in centre.iter_mut().enumerate() {
                    *mean = members.iter().map(|point| point[feature]).sum::<f64>() / members.len() as f64;
                }
            }
        }
    }
    Outputs::default().integers("membership", &membership).doubles("moved", &centres)
}

fn nearest(point: &[f64], centres: &[f64]) -> i32 {
    let distance = |centre: &[f64]| point.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let distances = centres.chunks_exact(point.len()).map(distance).enumerate();
    let (cluster, _) = distances.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are clusters");
    cluster as i32
}
