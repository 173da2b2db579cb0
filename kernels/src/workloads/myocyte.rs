//! The ventricular action potential of Luo & Rudy (1991) by Heun's method, cell by cell, in double precision.

use super::reference::{Inputs, Outputs};

/// Milliseconds.
const TIME_STEP: f64 = 0.01;

/// Membrane potential (mV); gates m, h and j of the sodium current, d and f of the slow inward current, x of the
/// potassium current; calcium in the cell (mM).
type State = [f64; 8];

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let cells = inputs.size("cells");
    let mut states = inputs.doubles("state");
    for (cell, stimulus) in inputs.doubles("stimulus").into_iter().enumerate() {
        let mut state: State = std::array::from_fn(|variable| states[variable * cells + cell]);
        for _ in 0..inputs.size("steps") {
            let first = derivative(&state, stimulus);
            let second = derivative(&moved(&state, &first, TIME_STEP), stimulus);
            let mean = std::array::from_fn(|variable| 0.5 * (first[variable] + second[variable]));
            state = moved(&state, &mean, TIME_STEP);
        }
        for (variable, value) in state.into_iter().enumerate() {
            states[variable * cells + cell] = value;
        }
    }
    Outputs::default().doubles("state", &states)
}

fn moved(state: &State, change: &State, time: f64) -> State {
    std::array::from_fn(|variable| state[variable] + time * change[variable])
}

/// Change a millisecond, with a current from outside (µA/cm²).
fn derivative(&[v, m, h, j, d, f, x, calcium]: &State, stimulus: f64) -> State {
    let sodium = 23.0 * m.powi(3) * h * j * (v - 54.4);
    let slow_inward = 0.09 * d * f * (v - (7.7 - 13.0287 * calcium.ln()));
    let current = sodium + slow_inward + potassium(v, x) + inward_rectifier(v) + plateau(v) + background(v);
    let [rates_h, rates_j] = inactivation(v);
    let rates_m = [0.32 * (v + 47.13) / (1.0 - (-0.1 * (v + 47.13)).exp()), 0.08 * (-v / 11.0).exp()];
    let rates_d = [
        0.095 * (-0.01 * (v - 5.0)).exp() / (1.0 + (-0.072 * (v - 5.0)).exp()),
        0.07 * (-0.017 * (v + 44.0)).exp() / (1.0 + (0.05 * (v + 44.0)).exp()),
    ];
    let rates_f = [
        0.012 * (-0.008 * (v + 28.0)).exp() / (1.0 + (0.15 * (v + 28.0)).exp()),
        0.0065 * (-0.02 * (v + 30.0)).exp() / (1.0 + (-0.2 * (v + 30.0)).exp()),
    ];
    let rates_x = [
        0.0005 * (0.083 * (v + 50.0)).exp() / (1.0 + (0.057 * (v + 50.0)).exp()),
        0.0013 * (-0.06 * (v + 20.0)).exp() / (1.0 + (-0.04 * (v + 20.0)).exp()),
    ];
    let relaxed = |gate: f64, [opening, closing]: [f64; 2]| opening * (1.0 - gate) - closing * gate;
    [
        stimulus - current,
        relaxed(m, rates_m),
        relaxed(h, rates_h),
        relaxed(j, rates_j),
        relaxed(d, rates_d),
        relaxed(f, rates_f),
        relaxed(x, rates_x),
        -1e-4 * slow_inward + 0.07 * (1e-4 - calcium),
    ]
}

/// Opening and closing rates of h and of j.
fn inactivation(v: f64) -> [[f64; 2]; 2] {
    if v >= -40.0 {
        return [
            [0.0, 1.0 / (0.13 * (1.0 + (-(v + 10.66) / 11.1).exp()))],
            [0.0, 0.3 * (-2.535e-7 * v).exp() / (1.0 + (-0.1 * (v + 32.0)).exp())],
        ];
    }
    let opening_j = (-1.2714e5 * (0.2444 * v).exp() - 3.474e-5 * (-0.04391 * v).exp()) * (v + 37.78)
        / (1.0 + (0.311 * (v + 79.23)).exp());
    [
        [0.135 * (-(80.0 + v) / 6.8).exp(), 3.56 * (0.079 * v).exp() + 3.1e5 * (0.35 * v).exp()],
        [opening_j, 0.1212 * (-0.01052 * v).exp() / (1.0 + (-0.1378 * (v + 40.14)).exp())],
    ]
}

/// Time-dependent potassium current; its driving force cancels against the inactivation's denominator.
fn potassium(v: f64, x: f64) -> f64 {
    0.282 * x * 2.837 * ((0.04 * (v + 77.0)).exp() - 1.0) / (0.04 * (v + 35.0)).exp()
}

fn inward_rectifier(v: f64) -> f64 {
    let above = v + 87.26;
    let opening = 1.02 / (1.0 + (0.2385 * (above - 59.215)).exp());
    let closing = (0.49124 * (0.08032 * (above + 5.476)).exp() + (0.06175 * (above - 594.31)).exp())
        / (1.0 + (-0.5143 * (above + 4.753)).exp());
    0.6047 * opening / (opening + closing) * above
}

fn plateau(v: f64) -> f64 {
    0.0183 * (v + 87.26) / (1.0 + ((7.488 - v) / 5.98).exp())
}

fn background(v: f64) -> f64 {
    0.03921 * (v + 59.87)
}
