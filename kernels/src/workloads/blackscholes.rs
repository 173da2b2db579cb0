//! Black-Scholes prices in double precision. The put price comes from put-call parity.

use super::reference::{Inputs, Outputs};

const RISK_FREE: f64 = 0.02;
const VOLATILITY: f64 = 0.3;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (price, strike, years) = (inputs.doubles("price"), inputs.doubles("strike"), inputs.doubles("years"));
    let mut call = Vec::with_capacity(price.len());
    let mut put = Vec::with_capacity(price.len());
    for ((&price, &strike), &years) in price.iter().zip(&strike).zip(&years) {
        let spread = VOLATILITY * years.sqrt();
        let drift = (RISK_FREE + 0.5 * VOLATILITY * VOLATILITY) * years;
        let d1 = ((price / strike).ln() + drift) / spread;
        let discounted = strike * (-RISK_FREE * years).exp();
        let value = price * normal(d1) - discounted * normal(d1 - spread);
        call.push(value);
        put.push(value + discounted - price);
    }
    Outputs::default().doubles("call", &call).doubles("put", &put)
}

/// Distribution function of the normal distribution by its Taylor series about 0 (its asymptotic value where
/// the series would cancel).
pub(super) fn normal(d: f64) -> f64 {
    const FAR: f64 = 6.0;
    if d.abs() > FAR {
        return if d > 0.0 { 1.0 } else { 0.0 };
    }
    // density(d) * (d + d^3/3 + d^5/15 + …), all terms of one sign.
    let mut term = d;
    let mut sum = d;
    let mut odd = 1.0;
    while term.abs() > 1e-17 * sum.abs() {
        odd += 2.0;
        term *= d * d / odd;
        sum += term;
    }
    0.5 + sum * (-0.5 * d * d).exp() / (2.0 * std::f64::consts::PI).sqrt()
}
