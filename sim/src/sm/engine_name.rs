//! The engines that can run a design's circuits.

/// Which engine runs the circuits. Reports do not depend on it, only the time they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineName {
    /// The reference: executes a circuit's operations one by one.
    Interpreter,
    /// Machine code.
    #[default]
    Compiled,
}

impl EngineName {
    /// Every engine.
    pub const ALL: [EngineName; 2] = [EngineName::Interpreter, EngineName::Compiled];

    /// As written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            EngineName::Interpreter => "interpreter",
            EngineName::Compiled => "compiled",
        }
    }
}
