//! What the person at the terminal reads when a command fails, and the exit code.

use warpfile_engine::Violation;
use warpfile_kernels::launch::CheckError;
use warpfile_sim::sm::SimError;
use warpfile_verify::formal::Counterexample;
use warpfile_verify::lockstep::Difference;

use crate::compare::Exceeded;
use crate::sweep::{FailedRuns, LostShards};

/// The model computed something wrong.
const WRONG_RESULT: u8 = 1;
/// The input cannot be used.
const BAD_INPUT: u8 = 2;

/// The error and its causes as one message. A cause that the error already quotes is not repeated.
pub fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if message.ends_with(&cause) {
            continue;
        }
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(&cause);
    }
    printable(&message)
}

/// Text with its control characters but ends of lines and tabs written out: what an input holds does not control the
/// terminal.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            control if control.is_control() => shown.extend(control.escape_default()),
            other => shown.push(other),
        }
    }
    shown
}

/// 1 if the model is at fault, 2 if the input is.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    let differs = error.is::<Difference>() || error.is::<Counterexample>() || error.is::<Violation>();
    let missing_reset = matches!(error.downcast_ref(), Some(SimError::MissingReset { .. }));
    let failed_runs = error.is::<FailedRuns>() || error.is::<LostShards>() || error.is::<Exceeded>();
    if is_wrong_operand(error) || is_wrong_result(error) || differs || missing_reset || failed_runs {
        WRONG_RESULT
    } else {
        BAD_INPUT
    }
}

/// Whether a result is not as expected.
pub fn is_wrong_result(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(CheckError::Mismatch { .. }))
}

/// Whether the design delivered an operand that differs from the kernel's value.
pub fn is_wrong_operand(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(SimError::WrongOperand(_)))
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use warpfile_kernels::program::StreamError;
    use warpfile_sim::sm::{Compared, WrongOperand};

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let quoted = anyhow!("disk full").context("cannot write a.v: disk full");
        assert_eq!(message(&quoted), "cannot write a.v: disk full");
        let apart = anyhow!("disk full").context("cannot write a.v");
        assert_eq!(message(&apart), "cannot write a.v: disk full");
    }

    #[test]
    fn no_control_character_reaches_the_terminal() {
        let told = message(&anyhow!("a\0b\u{1b}[2Jc\rd\u{9b}e\u{7f}: é\n\tx"));
        assert_eq!(told, "a\\u{0}b\\u{1b}[2Jc\\rd\\u{9b}e\\u{7f}: é\n\tx");
    }

    #[test]
    fn a_wrong_operand_is_the_models_fault_and_a_bad_stream_the_inputs() {
        let wrong = SimError::WrongOperand(Box::new(WrongOperand {
            compared: Compared::Operand,
            cycle: 9,
            kernel: "k".to_owned(),
            block: 0,
            warp: 1,
            pc: 8,
            text: "add.s32".to_owned(),
            register: 2,
            lane: 3,
            expected: 4,
            found: 5,
        }));
        let wrong = anyhow::Error::new(wrong).context("w.vcd holds the waveform up to the failure");
        assert_eq!(exit_code(&wrong), WRONG_RESULT);
        assert_eq!(exit_code(&SimError::Stream(StreamError("k: truncated".to_owned())).into()), BAD_INPUT);
    }
}
