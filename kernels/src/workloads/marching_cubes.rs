//! The triangles of all cells in double precision. Which they are is not looked up but made: on each face of a cell segments
//! cut inside corners off, and the segments of all faces make polygons.

use super::reference::{Inputs, Outputs};

/// What the function is on the surface.
const VALUE: f64 = -11.8;
/// The grid goes from here to as much above zero.
const LOW: f64 = -3.0;

/// The corners of each face, around it as seen from outside; corner x + 2 y + 4 z.
const FACES: [[usize; 4]; 6] =
    [[4, 6, 2, 0], [1, 3, 7, 5], [1, 5, 4, 0], [2, 6, 7, 3], [2, 3, 1, 0], [4, 5, 7, 6]];
/// The corners at the ends of each edge: four along x, four along y, four along z.
const EDGES: [[usize; 2]; 12] =
    [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let side = inputs.size("side");
    let cells = side.pow(3);
    let spacing = -2.0 * LOW / side as f64;
    let room = 4 * inputs.size("most");
    let (mut crossed, mut counts, mut listed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut positions, mut normals) = (Vec::new(), Vec::new());
    for cell in 0..cells {
        let corners: [[f64; 3]; 8] = std::array::from_fn(|corner| {
            let place = |axis: usize| cell / side.pow(axis as u32) % side + (corner >> axis & 1);
            std::array::from_fn(|axis| place(axis) as f64 * spacing + LOW)
        });
        let values = corners.map(function);
        let edges = triangles(values.map(|value| value < VALUE));
        for &edge in &edges {
            let [from, to] = EDGES[edge];
            let t = (VALUE - values[from]) / (values[to] - values[from]);
            let between = |a: f64, b: f64| a + t * (b - a);
            let ends = || corners[from].into_iter().zip(corners[to]);
            positions.extend(ends().map(|(a, b)| between(a, b)).chain([1.0]));
            normals.extend(ends().map(|(a, b)| between(slope(a), slope(b))).chain([0.0]));
        }
        crossed.push(i32::from(!edges.is_empty()));
        counts.push(edges.len() as i32);
        if !edges.is_empty() {
            listed.push(cell as i32);
        }
    }
    listed.resize(cells, 0);
    positions.resize(room, 0.0);
    normals.resize(room, 0.0);
    Outputs::default()
        .integers("crossed", &crossed)
        .integers("counts", &counts)
        .integers("cells", &listed)
        .doubles("positions_1", &positions)
        .doubles("normals_1", &normals)
        .doubles("positions_2", &positions)
        .doubles("normals_2", &normals)
}

fn function(at: [f64; 3]) -> f64 {
    at.iter().map(|x| x.powi(4) - 5.0 * x.powi(2)).sum()
}

/// Of the function along one axis.
fn slope(x: f64) -> f64 {
    4.0 * x.powi(3) - 10.0 * x
}

/// The edges on which the corners of the triangles lie of a cell of which these corners are inside.
fn triangles(inside: [bool; 8]) -> Vec<usize> {
    // The edge at which a segment ends that begins at this one: of each run of inside corners around a face.
    let mut next = [None; EDGES.len()];
    for face in FACES {
        let at = |i: usize| face[i % 4];
        for i in (0..4).filter(|&i| !inside[at(i)] && inside[at(i + 1)]) {
            let run = (i + 1..).take_while(|&j| inside[at(j)]).last().unwrap_or(i + 1);
            next[edge(at(i), at(i + 1))] = Some(edge(at(run), at(run + 1)));
        }
    }
    let mut corners = Vec::new();
    for first in 0..EDGES.len() {
        let mut polygon = Vec::new();
        let mut edge = first;
        while let Some(following) = next[edge].take() {
            polygon.push(edge);
            edge = following;
        }
        for pair in polygon.get(1..).unwrap_or_default().windows(2) {
            corners.extend([first, pair[0], pair[1]]);
        }
    }
    corners
}

/// The edge between two corners.
fn edge(a: usize, b: usize) -> usize {
    let ends = [a.min(b), a.max(b)];
    EDGES.iter().position(|edge| *edge == ends).expect("corners that are next to each other")
}

#[cfg(test)]
mod tests {
    use super::triangles;
    use crate::workloads;

    /// The lists in braces behind the name of an array of the source.
    fn rows(name: &str) -> Vec<Vec<usize>> {
        let source = workloads::by_name("marching-cubes").expect("known").source;
        let (_, table) = source.split_once(&format!("{name}[256]")).expect("an array");
        let (_, table) = table.split_once("= {").expect("values");
        let (table, _) = table.split_once("};").expect("an end");
        let numbers = |list: &str| list.split(',').filter_map(|number| number.trim().parse().ok()).collect();
        table.split('{').map(|list| numbers(list.trim_end().trim_end_matches("},"))).collect()
    }

    #[test]
    fn the_kernel_s_tables_are_the_polygons_of_all_256_cases() {
        let (table, counts) = (rows("triangles"), rows("corners"));
        for case in 0..256 {
            let made = triangles(std::array::from_fn(|corner| case >> corner & 1 == 1));
            assert_eq!(table[case + 1], made, "case {case}");
            assert_eq!(counts[0][case], made.len(), "case {case}");
        }
    }

    #[test]
    fn cases_have_five_triangles_at_most_and_their_opposites_have_corners_on_the_same_edges() {
        let of = |case: usize| {
            let mut edges = triangles(std::array::from_fn(|corner| case >> corner & 1 == 1));
            assert!(edges.len() <= 15 && edges.len().is_multiple_of(3), "case {case}");
            edges.sort_unstable();
            edges.dedup();
            edges
        };
        for case in 0..256 {
            assert_eq!(of(case), of(255 - case), "case {case}");
        }
    }
}
