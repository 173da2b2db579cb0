//! Lookup tables of a library: a figure by the load at an output and the transition time at an input.

/// A figure over two axes. An axis that the figure does not depend on has one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Loads, pF, increasing.
    pub loads_pf: Vec<f64>,
    /// Transition times, ns, increasing.
    pub transitions_ns: Vec<f64>,
    /// One row a load, one value a transition time, in the figure's own unit.
    pub values: Vec<Vec<f64>>,
}

impl Table {
    /// The figure for a load and a transition time: bilinear, outside of the points as at the nearest. Along the last
    /// segment a net with thousands of loads would take many times what it does once a layout has buffered it.
    pub fn at(&self, load_pf: f64, transition_ns: f64) -> f64 {
        let (row, row_share) = place(&self.loads_pf, load_pf);
        let (column, column_share) = place(&self.transitions_ns, transition_ns);
        let along = |row: usize| {
            let values = &self.values[row];
            between(values[column], values[(column + 1).min(values.len() - 1)], column_share)
        };
        between(along(row), along((row + 1).min(self.values.len() - 1)), row_share)
    }
}

fn between(from: f64, to: f64, share: f64) -> f64 {
    from + (to - from) * share
}

/// The point at or below `value` of which a segment begins, and how far along the segment `value` is.
fn place(axis: &[f64], value: f64) -> (usize, f64) {
    let Some(above) = axis.iter().position(|&point| point >= value) else {
        return (axis.len().saturating_sub(1), 0.0);
    };
    let Some(below) = above.checked_sub(1) else {
        return (0, 0.0);
    };
    (below, (value - axis[below]) / (axis[above] - axis[below]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            loads_pf: vec![1.0, 3.0],
            transitions_ns: vec![0.0, 10.0],
            values: vec![vec![5.0, 15.0], vec![9.0, 39.0]],
        }
    }

    #[test]
    fn points_are_met_and_what_is_between_them_is_bilinear() {
        assert_eq!(table().at(1.0, 0.0), 5.0);
        assert_eq!(table().at(3.0, 10.0), 39.0);
        assert_eq!(table().at(2.0, 5.0), (5.0 + 15.0 + 9.0 + 39.0) / 4.0);
    }

    #[test]
    fn outside_of_the_points_the_nearest_counts() {
        assert_eq!(table().at(5.0, 0.0), 9.0);
        assert_eq!(table().at(0.0, 0.0), 5.0);
        assert_eq!(table().at(1.0, 11.0), 15.0);
        assert_eq!(table().at(2.0, 11.0), 27.0);
    }

    #[test]
    fn a_figure_that_depends_on_one_axis_ignores_the_other() {
        let table =
            Table { loads_pf: vec![0.0], transitions_ns: vec![1.0, 2.0], values: vec![vec![4.0, 8.0]] };
        assert_eq!(table.at(7.0, 1.5), 6.0);
    }
}
