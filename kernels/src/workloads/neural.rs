//! The network as a chain of layers, image by image, in double precision: a neuron is the activation of a bias and of
//! the products of its weights with the values that it is connected to.

use super::reference::{Inputs, Outputs};

const SIDE: usize = 29;
const WINDOW: usize = 5;
const STRIDE: usize = 2;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let images = inputs.size("images");
    let strip = inputs.doubles("pixels");
    let [first, second, third, fourth] =
        ["first_weights", "second_weights", "third_weights", "fourth_weights"]
            .map(|name| inputs.doubles(name));
    let mut results = [const { Vec::new() }; 4];
    for image in 0..images {
        let rows = strip.chunks(SIDE * images).map(|row| row[image * SIDE..][..SIDE].to_vec());
        let mut maps = vec![Map(rows.collect())];
        for (weights, result) in [&first, &second].into_iter().zip(&mut results) {
            maps = features(&maps, weights);
            result.extend(maps.iter().flat_map(|map| map.0.concat()));
        }
        let mut neurons: Vec<f64> = maps.iter().flat_map(|map| map.0.concat()).collect();
        for (weights, result) in [&third, &fourth].into_iter().zip(&mut results[2..]) {
            neurons = connected(&neurons, weights);
            result.extend(&neurons);
        }
    }
    let names = ["first", "second", "third", "scores"];
    names
        .iter()
        .zip(&results)
        .fold(Outputs::default(), |outputs, (name, values)| outputs.doubles(name, values))
}

/// Rows of a square image or feature map.
struct Map(Vec<Vec<f64>>);

impl Map {
    /// The window whose corner is there, row by row.
    fn window(&self, x: usize, y: usize) -> impl Iterator<Item = f64> {
        self.0[y..y + WINDOW].iter().flat_map(move |row| row[x..x + WINDOW].iter().copied())
    }
}

fn activation(x: f64) -> f64 {
    1.7159 * (2.0 / 3.0 * x).tanh()
}

/// The maps that have a bias and a window of weights for every map of the layer before.
fn features(before: &[Map], weights: &[f64]) -> Vec<Map> {
    let side = (before[0].0.len() - WINDOW) / STRIDE + 1;
    let map = |weights: &[f64]| {
        let at = |x: usize, y: usize| {
            let values = before.iter().flat_map(|map| map.window(STRIDE * x, STRIDE * y));
            neuron(values, weights)
        };
        Map((0..side).map(|y| (0..side).map(|x| at(x, y)).collect()).collect())
    };
    weights.chunks(1 + WINDOW * WINDOW * before.len()).map(map).collect()
}

/// Neurons that are connected to all of the layer before.
fn connected(before: &[f64], weights: &[f64]) -> Vec<f64> {
    weights.chunks(1 + before.len()).map(|weights| neuron(before.iter().copied(), weights)).collect()
}

fn neuron(values: impl Iterator<Item = f64>, weights: &[f64]) -> f64 {
    let (bias, weights) = weights.split_first().expect("a neuron has a bias");
    activation(bias + values.zip(weights).map(|(value, weight)| value * weight).sum::<f64>())
}
