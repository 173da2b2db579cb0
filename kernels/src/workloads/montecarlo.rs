//! Quantiles of the normal distribution by inverting it, and the statistics of the payoffs, in double precision.

use super::blackscholes::normal;
use super::reference::{Inputs, Outputs};

const RISK_FREE: f64 = 0.06;
const VOLATILITY: f64 = 0.1;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let paths = inputs.size("paths");
    let samples: Vec<f64> = (1..=paths).map(|i| quantile(i as f64 / (paths + 1) as f64)).collect();
    let [spot, strike, years] = ["spot", "strike", "years"].map(|name| inputs.doubles(name));
    let (mut expected, mut deviation) = (Vec::new(), Vec::new());
    for ((&spot, &strike), &years) in spot.iter().zip(&strike).zip(&years) {
        let drift = (RISK_FREE - 0.5 * VOLATILITY * VOLATILITY) * years;
        let spread = VOLATILITY * years.sqrt();
        let payoff = |sample: &f64| (spot * (drift + spread * sample).exp() - strike).max(0.0);
        let payoffs: Vec<f64> = samples.iter().map(payoff).collect();
        let mean = payoffs.iter().sum::<f64>() / paths as f64;
        let variance = payoffs.iter().map(|payoff| (payoff - mean).powi(2)).sum::<f64>() / paths as f64;
        let discount = (-RISK_FREE * years).exp();
        expected.push(discount * mean);
        deviation.push(discount * variance.sqrt());
    }
    Outputs::default()
        .doubles("samples", &samples)
        .doubles("expected", &expected)
        .doubles("deviation", &deviation)
}

/// Where the distribution function is `probability`, by bisection.
fn quantile(probability: f64) -> f64 {
    const FAR: f64 = 6.0;
    let (mut low, mut high) = (-FAR, FAR);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if normal(middle) < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}
