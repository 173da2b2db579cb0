//! Prices of calls in the model of Cox, Ross and Rubinstein: the expectation over all paths' ends, in double precision.

use super::reference::{Inputs, Outputs};

const RISK_FREE: f64 = 0.02;
const VOLATILITY: f64 = 0.3;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let steps = inputs.size("steps");
    let (spot, strike, years) = (inputs.doubles("spot"), inputs.doubles("strike"), inputs.doubles("years"));
    let options = spot.iter().zip(&strike).zip(&years);
    let prices: Vec<f64> =
        options.map(|((&spot, &strike), &years)| price(spot, strike, years, steps)).collect();
    Outputs::default().doubles("prices", &prices)
}

fn price(spot: f64, strike: f64, years: f64, steps: usize) -> f64 {
    let n = steps as f64;
    let step = VOLATILITY * (years / n).sqrt();
    let up = ((RISK_FREE * years / n).exp() - (-step).exp()) / (step.exp() - (-step).exp());
    // Logarithm of the number of paths with so many steps up.
    let mut paths = 0.0;
    let mut expected = 0.0;
    for ups in 0..=steps {
        let k = ups as f64;
        let probability = (paths + k * up.ln() + (n - k) * (1.0 - up).ln()).exp();
        expected += probability * (spot * (step * (2.0 * k - n)).exp() - strike).max(0.0);
        paths += ((n - k) / (k + 1.0)).ln();
    }
    (-RISK_FREE * years).exp() * expected
}
