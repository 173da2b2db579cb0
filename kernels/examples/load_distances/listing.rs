//! Listings of machine code as `nvdisasm` prints them, as far as distances need them.

/// A function of a listing.
pub struct Kernel {
    instructions: Vec<Instruction>,
}

/// An instruction, without its guard.
struct Instruction {
    /// Opcode and modifiers: `LDG`, `E`, `64`, `SYS`.
    opcode: Vec<String>,
    operands: Vec<String>,
}

/// The functions of a listing; a function is a section of text.
pub fn kernels(listing: &str) -> Vec<Kernel> {
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut is_text = false;
    for line in listing.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix(".section\t") {
            is_text = section.starts_with(".text.");
            if is_text {
                kernels.push(Kernel { instructions: Vec::new() });
            }
        } else if let Some(kernel) = kernels.last_mut().filter(|_| is_text) {
            kernel.instructions.extend(instruction(line));
        }
    }
    kernels
}

/// An instruction of a line such as `/*0080*/ @!P0 LDG.E.64.SYS R2, [R2] ;`.
fn instruction(line: &str) -> Option<Instruction> {
    let (_, text) = line.strip_prefix("/*")?.split_once("*/")?;
    let text = text.split(';').next()?.trim();
    let text = match text.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ')?.1.trim(),
        None => text,
    };
    let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
    Some(Instruction {
        opcode: opcode.split('.').map(str::to_owned).collect(),
        operands: operands.split(',').map(|operand| operand.trim().to_owned()).collect(),
    })
}

impl Kernel {
    /// For each load whose opcode begins with `opcode` and whose value is read further down: how many instructions further.
    pub fn distances(&self, opcode: &str) -> Vec<usize> {
        let loads = self.instructions.iter().enumerate().filter(|(_, load)| load.opcode[0] == opcode);
        loads
            .filter_map(|(place, load)| {
                let first = registers(&load.operands[0]).next()?;
                let loaded = first..first + load.words();
                let reads = |other: &Instruction| other.reads().any(|read| loaded.contains(&read));
                Some(1 + self.instructions[place + 1..].iter().position(reads)?)
            })
            .collect()
    }

    /// How many registers the names reach to.
    pub fn registers(&self) -> u16 {
        let operands = self.instructions.iter().flat_map(|instruction| &instruction.operands);
        operands.flat_map(|operand| registers(operand)).max().map_or(0, |last| last + 1)
    }
}

impl Instruction {
    /// Registers of a value in memory.
    fn words(&self) -> u16 {
        let has = |modifier| self.opcode.iter().any(|other| other == modifier);
        if has("128") {
            4
        } else if has("64") {
            2
        } else {
            1
        }
    }

    /// Whether nothing is written, so that the first operand is read as well.
    fn is_store(&self) -> bool {
        self.opcode[0].starts_with("ST") || self.opcode[0] == "RED"
    }

    /// The registers that are read.
    fn reads(&self) -> impl Iterator<Item = u16> {
        let words = match self.opcode[0].as_str() {
            "DADD" | "DMUL" | "DFMA" | "DSETP" | "DMNMX" => 2,
            _ if self.is_store() => self.words(),
            _ => 1,
        };
        let sources = &self.operands[usize::from(!self.is_store())..];
        sources.iter().flat_map(move |operand| {
            let words = if operand.contains(".64") { 2 } else { words };
            registers(operand).flat_map(move |first| first..first + words)
        })
    }
}

/// The general registers that an operand names: `R7` of `[R7.64+UR4]`.
fn registers(operand: &str) -> impl Iterator<Item = u16> {
    operand
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter_map(|word| word.strip_prefix('R')?.parse().ok())
}
