//! The LIBOR market model (Brace, Gatarek, Musiela) in double precision, a path after the other.

use super::reference::{Inputs, Outputs};

const DELTA: f64 = 0.25;
const INITIAL_RATE: f64 = 0.051;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let [paths, count, steps] = ["paths", "rates", "steps"].map(|name| inputs.size(name));
    let (normals, volatility) = (inputs.doubles("normals"), inputs.doubles("volatility"));
    let options: Vec<(usize, f64)> = inputs
        .integers("maturities")
        .into_iter()
        .map(|maturity| maturity as usize)
        .zip(inputs.doubles("swap_rates"))
        .collect();
    let values: Vec<f64> = (0..paths)
        .map(|path| {
            let shocks: Vec<f64> = (0..steps).map(|step| normals[step * paths + path]).collect();
            portfolio(&evolved(&shocks, &volatility, count), steps, &options)
        })
        .collect();
    Outputs::default().doubles("values", &values)
}

/// Forward rates after a normal shock a step, each settled at the step of its own number.
fn evolved(shocks: &[f64], volatility: &[f64], count: usize) -> Vec<f64> {
    let mut rates = vec![INITIAL_RATE; count];
    for (step, shock) in shocks.iter().enumerate() {
        let mut drift = 0.0;
        for (rate, lambda) in rates[step + 1..].iter_mut().zip(volatility) {
            drift += DELTA * lambda * *rate / (1.0 + DELTA * *rate);
            *rate *= (lambda * (drift * DELTA + DELTA.sqrt() * shock - 0.5 * lambda * DELTA)).exp();
        }
    }
    rates
}

/// What holds of the payer swaptions pays, discounted to today: 100 for each unit that a swap from `start` on is
/// below par.
fn portfolio(rates: &[f64], start: usize, options: &[(usize, f64)]) -> f64 {
    let (settled, alive) = rates.split_at(start);
    let bond = |length: usize| alive[..length].iter().map(|rate| 1.0 / (1.0 + DELTA * rate)).product::<f64>();
    let payoff = |&(maturity, swap_rate): &(usize, f64)| {
        let annuity: f64 = (1..=maturity).map(|length| DELTA * bond(length)).sum();
        (1.0 - bond(maturity) - swap_rate * annuity).max(0.0)
    };
    let discount: f64 = settled.iter().map(|rate| 1.0 / (1.0 + DELTA * rate)).product();
    100.0 * discount * options.iter().map(payoff).sum::<f64>()
}
