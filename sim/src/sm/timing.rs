//! Latency and initiation interval of arithmetic, one entry for each class of it.

use warpfile_kernels::program::{Arithmetic, LANES, Number, Step};

use crate::config::{Config, Initiation, Latency};

/// Position in the table of timings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimingClass(u8);

/// Kinds of arithmetic.
const STEPS: usize = 5;
/// Integers, single and double precision.
const NUMBERS: usize = 3;

impl TimingClass {
    /// Special functions.
    pub const SFU: TimingClass = TimingClass((NUMBERS * STEPS) as u8);
    /// Number of classes.
    const COUNT: usize = NUMBERS * STEPS + 1;

    /// The class of arithmetic that is no special function.
    pub fn of(Arithmetic { number, step }: Arithmetic) -> TimingClass {
        let number = match number {
            Number::Integer => 0,
            Number::Single => 1,
            Number::Double => 2,
        };
        let step = match step {
            Step::Add => 0,
            Step::Select => 1,
            Step::Multiply => 2,
            Step::MultiplyAdd => 3,
            Step::Other => 4,
        };
        TimingClass((number * STEPS + step) as u8)
    }
}

/// How long a unit works on an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Timing {
    /// Cycles from pick to the earliest pick of a dependent instruction.
    pub latency: u64,
    /// Cycles from its start to that of the unit's next.
    pub initiation: u64,
}

/// The timings of a configuration.
pub(super) struct Timings([Timing; TimingClass::COUNT]);

impl Timings {
    pub fn new(config: &Config) -> Timings {
        let (l, i, throughput) = (&config.latency, &config.initiation, &config.throughput);
        let by_lanes = |interval, lanes| or(interval, (LANES as u64).div_ceil(lanes));
        let timing = |latency, initiation| Timing { latency, initiation };
        let alu = timing(l.alu, by_lanes(i.alu, throughput.alu_lanes));
        let double = timing(l.double, by_lanes(i.double, throughput.double_lanes));
        let mut table = [Timing::default(); TimingClass::COUNT];
        let rows = [(integers(l, i), alu), (singles(l, i), alu), (doubles(l, i), double)];
        for (number, (own, other)) in rows.into_iter().enumerate() {
            for (step, own) in own.into_iter().enumerate() {
                let filled = timing(or(own.latency, other.latency), or(own.initiation, other.initiation));
                table[number * STEPS + step] = filled;
            }
            table[number * STEPS + STEPS - 1] = other;
        }
        let sfu = timing(l.sfu, by_lanes(i.sfu, throughput.sfu_lanes));
        table[usize::from(TimingClass::SFU.0)] = sfu;
        Timings(table)
    }

    pub fn of(&self, class: TimingClass) -> Timing {
        self.0[usize::from(class.0)]
    }
}

fn or(value: u64, otherwise: u64) -> u64 {
    if value == 0 { otherwise } else { value }
}

/// As given, in the order of the classes; 0 where nothing is.
fn integers(l: &Latency, i: &Initiation) -> [Timing; STEPS - 1] {
    [
        Timing { latency: l.int_add, initiation: i.int_add },
        Timing { latency: l.int_max, initiation: i.int_max },
        Timing { latency: l.int_mul, initiation: i.int_mul },
        Timing { latency: l.int_mad, initiation: i.int_mad },
    ]
}

fn singles(l: &Latency, i: &Initiation) -> [Timing; STEPS - 1] {
    [
        Timing { latency: l.fp_add, initiation: i.fp_add },
        Timing { latency: l.fp_max, initiation: i.fp_max },
        Timing { latency: l.fp_mul, initiation: i.fp_mul },
        Timing { latency: l.fp_mad, initiation: i.fp_mad },
    ]
}

fn doubles(l: &Latency, i: &Initiation) -> [Timing; STEPS - 1] {
    [
        Timing { latency: l.dp_add, initiation: i.dp_add },
        Timing { latency: l.dp_max, initiation: i.dp_max },
        Timing { latency: l.dp_mul, initiation: i.dp_mul },
        Timing { latency: l.dp_mad, initiation: i.dp_mad },
    ]
}
