//! One instruction line.

use super::super::MAX_REGISTERS;
use super::super::registers::lanes;
use super::body::short;
use super::header::{Generation, Header};
use crate::program::{LANES, LaneMask, LaneValues, Predicate};

/// Registers that one list may name.
const MAX_LISTED: usize = 16;
/// Opcodes that move whole tensors and describe their addresses in a way of their own.
const TENSOR_COPIES: [&str; 7] = ["UTMALDG", "UTMASTG", "UTMAPF", "UTMAREDG", "UBLKCP", "UBLKPF", "UBLKRED"];

/// A register as a line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// A vector register R0 … R254.
    Vector(u16),
    /// A predicate P0 … P6.
    Predicate(Predicate),
    /// RZ, PT and the uniform registers: none of a thread's storage.
    None,
}

/// An instruction line taken apart. A buffer: filled again and again.
#[derive(Clone, Default)]
pub(super) struct Line {
    /// Line of the kernel's source, 0 if unknown.
    pub source_line: u32,
    pub pc: u32,
    pub mask: LaneMask,
    pub results: Vec<Listed>,
    pub opcode: String,
    pub sources: Vec<Listed>,
    /// Bytes a lane of the memory access, 0 without one.
    pub memory_bytes: u8,
    /// Address of every active lane, if there is a memory access.
    pub addresses: [u64; LANES],
    /// Whether values follow.
    pub has_values: bool,
    /// Value of each listed result after the instruction.
    pub result_values: Vec<LaneValues>,
    /// Value of each listed source before the instruction.
    pub source_values: Vec<LaneValues>,
}

/// The words of a line, each asked for by the name of its field.
struct Words<'a> {
    words: std::str::SplitAsciiWhitespace<'a>,
}

impl<'a> Words<'a> {
    fn word(&mut self, field: &str, accepted: &str) -> Result<&'a str, String> {
        self.words.next().ok_or_else(|| format!("the line ends before its {field}; {accepted} is accepted"))
    }

    fn parse<T>(
        &mut self,
        field: &str,
        accepted: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, String> {
        let word = self.word(field, accepted)?;
        parse(word).ok_or_else(|| format!("{field} `{}`; {accepted} is accepted", short(word)))
    }

    fn decimal(&mut self, field: &str) -> Result<u32, String> {
        self.parse(field, "a decimal number", |word| word.parse().ok())
    }

    fn hexadecimal(&mut self, field: &str) -> Result<u32, String> {
        self.parse(field, "a hexadecimal number of up to 32 bits", |word| {
            u32::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
        })
    }

    fn opcode(&mut self) -> Result<&'a str, String> {
        let accepted = "a SASS opcode of at most 64 characters";
        let word = self.word("opcode", accepted)?;
        if word.len() > 64 || !word.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Err(format!("opcode `{}`; {accepted} is accepted", short(word)));
        }
        Ok(word)
    }

    fn address(&mut self) -> Result<u64, String> {
        self.parse("address", "a hexadecimal number of up to 64 bits", |word| {
            u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
        })
    }

    fn difference(&mut self, field: &str) -> Result<i64, String> {
        self.parse(field, "a decimal number", |word| word.parse().ok())
    }
}

impl Line {
    /// Takes a line apart.
    ///
    /// # Errors
    /// Names the field, what it is and what is accepted.
    pub fn parse(&mut self, text: &str, header: &Header) -> Result<(), String> {
        let mut words = Words { words: text.split_ascii_whitespace() };
        if header.generation == Generation::First {
            for field in ["block x", "block y", "block z", "warp"] {
                words.decimal(field)?;
            }
        }
        self.source_line = if header.line_info { words.decimal("source line")? } else { 0 };
        self.pc = words.hexadecimal("PC")?;
        self.mask = words.hexadecimal("active mask")?;
        registers(&mut words, "results", header, &mut self.results)?;
        self.opcode.clear();
        self.opcode.push_str(words.opcode()?);
        registers(&mut words, "sources", header, &mut self.sources)?;
        self.has_values = false;
        if TENSOR_COPIES.iter().any(|copy| self.opcode.starts_with(copy)) {
            self.memory_bytes = 0;
            return Ok(());
        }
        self.memory(&mut words)?;
        self.rest(&mut words, header.generation)
    }

    fn memory(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        self.memory_bytes = words.parse("memory width", "0 to 255 bytes", |word| word.parse().ok())?;
        if self.memory_bytes == 0 {
            return Ok(());
        }
        self.addresses = [0; LANES];
        match words.decimal("address mode")? {
            0 => {
                for lane in lanes(self.mask) {
                    self.addresses[lane] = words.address()?;
                }
            }
            1 => {
                let base = words.address()?;
                let stride = words.difference("stride")?;
                for (step, lane) in lanes(self.contiguous_mask()?).enumerate() {
                    self.addresses[lane] = base.wrapping_add((stride as u64).wrapping_mul(step as u64));
                }
            }
            2 => {
                let mut address = words.address()?;
                for (step, lane) in lanes(self.mask).enumerate() {
                    if step > 0 {
                        let difference = words.difference("address difference")?;
                        address = address.wrapping_add(difference as u64);
                    }
                    self.addresses[lane] = address;
                }
            }
            other => return Err(format!("address mode `{other}`; 0, 1 or 2 is accepted")),
        }
        Ok(())
    }

    fn contiguous_mask(&self) -> Result<LaneMask, String> {
        let run = self.mask.checked_shr(self.mask.trailing_zeros()).unwrap_or(0);
        match run & run.wrapping_add(1) {
            0 => Ok(self.mask),
            _gap => Err(format!(
                "address mode `1` with active mask {:08x}; one run of lanes is accepted",
                self.mask
            )),
        }
    }

    /// What follows the addresses: immediates and values.
    fn rest(&mut self, words: &mut Words<'_>, generation: Generation) -> Result<(), String> {
        let immediate = |word: &str| word.parse::<i128>().is_ok() || word.parse::<f64>().is_ok();
        match generation {
            Generation::First | Generation::Third | Generation::Fourth => {}
            Generation::Fifth => {
                words.parse("immediate", "a number", |word| immediate(word).then_some(()))?;
                match words.words.next() {
                    None => return Ok(()),
                    Some(word) if immediate(word) => {}
                    Some(word) => {
                        return Err(format!("second immediate `{}`; a number is accepted", short(word)));
                    }
                }
            }
            Generation::Sixth => {
                for field in ["first immediate", "second immediate"] {
                    words.parse(field, "a number", |word| immediate(word).then_some(()))?;
                }
                self.values(words)?;
            }
        }
        match words.words.next() {
            None => Ok(()),
            Some(word) => Err(format!("`{}` after the last field", short(word))),
        }
    }

    fn values(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let accepted = "`Val` or `NoVal`";
        self.has_values = words.parse("value marker", accepted, |word| match word {
            "Val" => Some(true),
            "NoVal" => Some(false),
            _other => None,
        })?;
        if !self.has_values {
            return Ok(());
        }
        let lists = [
            (self.results.len(), &mut self.result_values, "result value"),
            (self.sources.len(), &mut self.source_values, "source value"),
        ];
        for (count, values, field) in lists {
            values.clear();
            for _ in 0..count {
                values.push(lane_values(words, field)?);
            }
        }
        Ok(())
    }
}

fn lane_values(words: &mut Words<'_>, field: &str) -> Result<LaneValues, String> {
    match words.decimal("count of values")? {
        1 => Ok([words.hexadecimal(field)?; LANES]),
        32 => {
            let mut values = [0; LANES];
            for value in &mut values {
                *value = words.hexadecimal(field)?;
            }
            Ok(values)
        }
        other => Err(format!("count of values `{other}`; 1 or 32 is accepted")),
    }
}

fn registers(
    words: &mut Words<'_>,
    what: &str,
    header: &Header,
    into: &mut Vec<Listed>,
) -> Result<(), String> {
    into.clear();
    let count = words.decimal(&format!("number of {what}"))?;
    if count as usize > MAX_LISTED {
        return Err(format!("number of {what} `{count}`; 0 to {MAX_LISTED} is accepted"));
    }
    for _ in 0..count {
        into.push(words.parse("register", "R0 to R255, P, UR or UP and a number", |word| {
            if header.complete_registers { own_register(word) } else { register(word) }
        })?);
    }
    Ok(())
}

fn register(word: &str) -> Option<Listed> {
    let split = word.find(|character: char| character.is_ascii_digit())?;
    let number: u16 = word[split..].parse().ok().filter(|&number| number <= 255)?;
    match &word[..split] {
        "R" if number < 255 => Some(Listed::Vector(number)),
        "P" if number < 7 => Some(Listed::Predicate(Predicate(number))),
        "R" | "P" | "UR" | "UP" => Some(Listed::None),
        _other => None,
    }
}

/// A register as our writer names it: any number, and none that stands for a constant.
fn own_register(word: &str) -> Option<Listed> {
    let number = |digits: &str| digits.parse().ok().filter(|&number| number < MAX_REGISTERS);
    match word.strip_prefix('P') {
        Some(digits) => number(digits).map(|number| Listed::Predicate(Predicate(number))),
        None => word.strip_prefix('R').and_then(number).map(Listed::Vector),
    }
}
