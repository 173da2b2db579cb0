//! What an instruction says of a register that it has accessed.

use serde::{Deserialize, Serialize};

use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, index_bits};

use super::{ON, PowerState, STATE_BITS};

/// Power-state decoder: the state that an instruction's codes say for one of its registers.
///
/// A register takes one of the codes, or none: then it goes to SLEEP. A code that is no state keeps the register ON, which
/// is safe.
///
/// Timing: in the same cycle.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §4.2.2 and Fig. 4.5, label 1.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct PowerStateDecoder {
    /// Codes of an instruction, 1 to 8; the thesis has three.
    pub codes: usize,
}

/// Ports of a [`PowerStateDecoder`].
#[derive(Ports)]
#[params(PowerStateDecoder)]
pub struct PowerStateDecoderIo<'m> {
    /// The instruction's codes, [`PowerState`] each; the destination's lowest.
    #[bits(p.codes.saturating_mul(STATE_BITS))]
    pub codes_i: In<'m>,
    /// The register has a code.
    pub has_code_i: In<'m>,
    /// Which one.
    #[bits(index_bits(p.codes))]
    pub code_i: In<'m>,
    /// The state: [`PowerState`].
    #[bits(STATE_BITS)]
    pub state_o: Out<'m>,
}

impl Circuit for PowerStateDecoder {
    type Io<'m> = PowerStateDecoderIo<'m>;
    const NAME: &'static str = "power_state_decoder";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("codes", self.codes, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &PowerStateDecoderIo<'m>) {
        let code = io.codes_i.lane_select(io.code_i, STATE_BITS);
        let coded = code.gt(ON).mux(m.lit(STATE_BITS, ON), code);
        let state = io.has_code_i.mux(coded, m.lit(STATE_BITS, PowerState::Sleep as u64));
        io.state_o.set(state);
        m.invariant("the_state_is_off_sleep_or_on", state.le(ON));
        m.invariant(
            "a_register_without_a_code_sleeps",
            (!io.has_code_i).implies(state.eq(PowerState::Sleep as u64)),
        );
    }
}
