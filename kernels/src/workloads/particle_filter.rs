//! A particle filter (Gordon, Salmond & Smith 1993), particle by particle. Places are in double precision; weights
//! are whole numbers of few different values and exact.

use std::f64::consts::TAU;

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (particles, side) = (inputs.size("particles"), inputs.size("side") as i64);
    let (frame, disc) = (inputs.bytes("frame"), inputs.integers("disc"));
    let mut seeds: Vec<u32> = inputs.integers("seeds").iter().map(|&seed| seed as u32).collect();
    let (mut x, mut y) = (inputs.doubles("x"), inputs.doubles("y"));
    let (mut weights, mut cumulative) = (Vec::new(), Vec::new());
    for _ in 0..inputs.size("frames") {
        for particle in 0..particles {
            let seed = &mut seeds[particle];
            x[particle] += 1.0 + 2.0 * normal(seed);
            y[particle] += -0.5 + 1.5 * normal(seed);
        }
        let brightness = |px: i64, py: i64| {
            let inside = (0..side).contains(&px) && (0..side).contains(&py);
            if inside { i32::from(frame[(py * side + px) as usize]) } else { 0 }
        };
        weights = (0..particles)
            .map(|particle| {
                let place = [x[particle], y[particle]].map(|along| (along + 0.5).floor() as i64);
                let pixels = disc.chunks_exact(2).map(|offset| {
                    brightness(place[0] + i64::from(offset[0]), place[1] + i64::from(offset[1]))
                });
                let level = pixels.sum::<i32>() / (2 * disc.len() as i32);
                (16.0 * (f64::from(level) / 8.0).exp2()) as i32
            })
            .collect();
        cumulative = weights
            .iter()
            .scan(0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            })
            .collect();
        let step = cumulative[particles - 1] / particles as i32;
        let drawn: Vec<usize> = (0..particles)
            .map(|particle| step * particle as i32 + step / 2)
            .map(|wanted| cumulative.partition_point(|&sum| sum <= wanted).min(particles - 1))
            .collect();
        x = drawn.iter().map(|&particle| x[particle]).collect();
        y = drawn.iter().map(|&particle| y[particle]).collect();
    }
    let seeds: Vec<i32> = seeds.iter().map(|&seed| seed as i32).collect();
    Outputs::default()
        .doubles("x", &x)
        .doubles("y", &y)
        .integers("seeds", &seeds)
        .integers("weight", &weights)
        .integers("cumulative", &cumulative)
}

/// A number from the normal distribution (Box & Muller).
fn normal(seed: &mut u32) -> f64 {
    let (u, v) = (uniform(seed), uniform(seed));
    (-2.0 * u.ln()).sqrt() * (TAU * v).cos()
}

/// A number above 0 and up to 1 from a linear congruential generator.
fn uniform(seed: &mut u32) -> f64 {
    *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    f64::from((*seed >> 8) + 1) / f64::from(1_u32 << 24)
}
