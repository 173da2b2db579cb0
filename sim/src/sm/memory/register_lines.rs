//! Where register lines lie in memory.
//!
//! All warps' registers of one number lie side by side, then those of the next, so that warps that run the same code at the
//! same time use different sets (Kloosterman et al., MICRO 2017, §5.2.3); or each warp's registers lie side by side.
//! Compressed lines lie in a space of their own behind them, likewise (§5.3).

use warpfile_kernels::program::LANES;

use super::super::design::{LINE_REGISTERS, Line};
use crate::config::{Config, LineLayout};

/// Bytes of a register line.
pub(super) const LINE_BYTES: u64 = 4 * LANES as u64;
/// Where register lines begin in memory: beyond what kernels address. Of addresses in a trace, which may be anything, the bits
/// below count.
pub(super) const FIRST_LINE: u64 = 1 << 56;

/// The addresses of register lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisterLines {
    warps: usize,
    layout: LineLayout,
}

impl RegisterLines {
    pub fn new(config: &Config) -> RegisterLines {
        RegisterLines { warps: config.sm.warps as usize, layout: config.memory.line_layout }
    }

    /// Lines of all warps in both spaces.
    pub fn count(&self) -> usize {
        2 * LINE_REGISTERS * self.warps
    }

    /// Where a line is.
    pub fn address(&self, Line { compressed, warp, register }: Line) -> u64 {
        let space = if compressed { self.count() / 2 } else { 0 };
        let number = match self.layout {
            LineLayout::ByRegister => register * self.warps + warp,
            LineLayout::ByWarp => warp * LINE_REGISTERS + register,
        };
        FIRST_LINE + (space + number) as u64 * LINE_BYTES
    }
}

/// Whether an address is that of a register line.
pub(super) fn is_register_line(address: u64) -> bool {
    address >= FIRST_LINE
}

/// Number of the register line at an address.
pub(super) fn line_number(address: u64) -> usize {
    ((address - FIRST_LINE) / LINE_BYTES) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset;

    #[test]
    fn every_line_has_a_place_of_its_own_in_either_layout() {
        for layout in [LineLayout::ByRegister, LineLayout::ByWarp] {
            let mut config = preset("gtx980").expect("complete");
            config.sm.warps = 3;
            config.memory.line_layout = layout;
            let lines = RegisterLines::new(&config);
            let mut seen = vec![false; lines.count()];
            for compressed in [false, true] {
                for (warp, register) in (0..3).flat_map(|w| (0..LINE_REGISTERS).map(move |r| (w, r))) {
                    let address = lines.address(Line { compressed, warp, register });
                    assert!(is_register_line(address));
                    assert!(!std::mem::replace(&mut seen[line_number(address)], true));
                }
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
    }
}
