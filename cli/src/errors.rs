//! What the person at the terminal reads when a command fails, and the exit code.

use warpfile_kernels::launch::CheckError;
use warpfile_sim::sm::SimError;

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
    message
}

/// 1 if the model is at fault, 2 if the input is.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    let wrong_result = matches!(error.downcast_ref(), Some(CheckError::Mismatch { .. }));
    if is_wrong_operand(error) || wrong_result { WRONG_RESULT } else { BAD_INPUT }
}

/// Whether the design delivered an operand that differs from the kernel's value.
pub fn is_wrong_operand(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(SimError::WrongOperand(_)))
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let quoted = anyhow!("disk full").context("cannot write a.v: disk full");
        assert_eq!(message(&quoted), "cannot write a.v: disk full");
        let apart = anyhow!("disk full").context("cannot write a.v");
        assert_eq!(message(&apart), "cannot write a.v: disk full");
    }
}
