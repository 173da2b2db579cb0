//! How many lines of a bank each warp may hold, and how many it holds.

use super::{LINES, WARPS};

pub(super) struct Ledger {
    allowed: [u8; WARPS],
    held: [u8; WARPS],
    /// Warps whose region has made its last access.
    settled: u16,
    /// Lines left for regions that begin.
    pub left: u8,
}

impl Ledger {
    pub const NEW: Ledger = Ledger { allowed: [0; WARPS], held: [0; WARPS], settled: 0, left: LINES as u8 };

    #[inline(always)]
    pub fn may_hold(&self, warp: usize) -> bool {
        self.allowed[warp] != self.held[warp]
    }

    /// Warps that may hold a line more, one bit each.
    #[inline(always)]
    pub fn holders(&self) -> u16 {
        let lanes = self.allowed.iter().zip(&self.held).enumerate();
        lanes.fold(0, |bits, (warp, (allowed, held))| bits | u16::from(allowed != held) << warp)
    }

    /// A region begins.
    #[inline(always)]
    pub fn allow(&mut self, warp: usize, lines: u8) {
        self.allowed[warp] = lines;
        self.settled &= !(1 << warp);
        self.left -= lines;
    }

    #[inline(always)]
    pub fn hold(&mut self, warp: usize) {
        self.held[warp] += 1;
    }

    /// A result was written: the warp holds a line less.
    #[inline(always)]
    pub fn written(&mut self, warp: usize) {
        self.held[warp] -= 1;
        if self.settled >> warp & 1 == 1 {
            self.allowed[warp] -= 1;
            self.left += 1;
        }
    }

    /// The region has made its last access: what it does not hold is given back.
    #[inline(always)]
    pub fn settle(&mut self, warp: usize) {
        self.left += self.allowed[warp] - self.held[warp];
        self.allowed[warp] = self.held[warp];
        self.settled |= 1 << warp;
    }
}
