//! Values of a warp register, lane by lane.

use num_bigint::BigUint;
use warpfile_testbenches::lockstep::Pins;

/// Lanes of a warp register; `None` where nobody can know the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpRegister(Vec<Option<u32>>);

impl WarpRegister {
    /// Nothing is known of it.
    pub fn unknown(lanes: usize) -> WarpRegister {
        WarpRegister(vec![None; lanes])
    }

    /// 0 in all lanes.
    pub fn zero(lanes: usize) -> WarpRegister {
        WarpRegister(vec![Some(0); lanes])
    }

    /// Replaces the lanes of `mask`.
    pub fn write(&mut self, mask: u32, values: &[u32]) {
        for (lane, (old, new)) in self.0.iter_mut().zip(values).enumerate() {
            if mask >> lane & 1 == 1 {
                *old = Some(*new);
            }
        }
    }

    /// Replaces the lanes of `mask` by those of another.
    pub fn copy(&mut self, mask: u32, from: &WarpRegister) {
        for (lane, (old, new)) in self.0.iter_mut().zip(&from.0).enumerate() {
            if mask >> lane & 1 == 1 {
                *old = *new;
            }
        }
    }

    /// What is known in the lanes of `mask`, and `otherwise` in the others.
    pub fn in_lanes(&self, mask: u32, otherwise: Option<u32>) -> WarpRegister {
        let lane =
            |(lane, value): (usize, &Option<u32>)| if mask >> lane & 1 == 1 { *value } else { otherwise };
        WarpRegister(self.0.iter().enumerate().map(lane).collect())
    }

    /// Says that `port` has this value, in the lanes where it is known.
    pub fn expect(&self, outputs: &mut Pins, port: &str) {
        let bits = |lane: fn(&Option<u32>) -> u32| pack(&self.0.iter().map(lane).collect::<Vec<_>>());
        outputs.set_known(
            port,
            bits(|lane| lane.unwrap_or_default()),
            bits(|lane| if lane.is_some() { u32::MAX } else { 0 }),
        );
    }
}

/// Lane `l` is bits 32 l … 32 l + 31.
pub fn pack(lanes: &[u32]) -> BigUint {
    BigUint::from_slice(lanes)
}
