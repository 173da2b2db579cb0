//! `printf` of device code: the format with its arguments, as text.
//!
//! A call passes the generic addresses of the format and of a buffer in which the arguments lie one after the other, each
//! aligned to its size: integers of 4 bytes (8 with `ll` and `j`, as many as a pointer with `l`, `z`, `t`), doubles, pointers.
//!
//! Source: CUDA C++ Programming Guide, §10.37 (formatted output); C17, §7.21.6.1.

use super::access::Memories;
use super::error::Trouble;
use crate::program::Space;

/// Bytes that are kept of what a run prints, as much as CUDA's buffer has if nothing else is said.
pub(super) const MAX_PRINTED: usize = 1 << 20;
/// Bytes of a format, or of a string that is printed, at most.
const MAX_STRING: usize = 1 << 16;
/// Characters that a conversion is padded to, or digits it has, at most.
const MAX_WIDTH: usize = 4096;

/// What kernels have printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The first [`MAX_PRINTED`] bytes, in whole calls.
    pub text: Vec<u8>,
    /// Calls of `printf` of which nothing is kept.
    pub dropped: u64,
    /// Bytes that may be kept.
    room: usize,
}

impl Default for Printed {
    fn default() -> Self {
        Printed { text: Vec::new(), dropped: 0, room: MAX_PRINTED }
    }
}

impl Printed {
    /// Nothing yet, with the room that is left.
    pub(super) fn next(&self) -> Printed {
        let room = if self.dropped > 0 { 0 } else { self.room - self.text.len() };
        Printed { room, ..Printed::default() }
    }

    fn push(&mut self, text: &[u8]) {
        if self.dropped > 0 || self.text.len() + text.len() > self.room {
            self.dropped += 1;
        } else {
            self.text.extend_from_slice(text);
        }
    }

    /// Adds what was printed into the room that was left.
    pub(super) fn append(&mut self, next: &Printed) {
        self.text.extend_from_slice(&next.text);
        self.dropped += next.dropped;
    }
}

/// One call, in one lane, of code whose pointers have so many bytes. Gives what `printf` returns: the number of arguments, −1
/// without a format.
pub(super) fn print(
    memories: &mut Memories<'_>,
    lane: usize,
    pointer: usize,
    [format, arguments]: [u64; 2],
) -> Result<u64, Trouble> {
    if format == 0 {
        return Ok(0xffff_ffff);
    }
    let format = string(memories, lane, format)?;
    let mut call = Call { memories, lane, pointer, at: arguments, taken: 0 };
    let mut text = Vec::new();
    let mut rest = format.as_slice();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            text.push(first);
            continue;
        }
        let conversion = call.conversion(&mut rest)?;
        call.convert(&conversion, &mut text)?;
    }
    let taken = call.taken;
    memories.printed.push(&text);
    Ok(taken)
}

/// The string that ends with a zero byte at a generic address.
pub(super) fn string(memories: &mut Memories<'_>, lane: usize, address: u64) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    loop {
        match memories.read(Space::Generic, address.wrapping_add(bytes.len() as u64), 1, lane)? {
            0 => return Ok(bytes),
            byte => bytes.push(byte as u8),
        }
        if bytes.len() > MAX_STRING {
            let message =
                format!("a string of more than {MAX_STRING} bytes at {address:#x}; accepted: shorter ones");
            return Err(Trouble { lane, message });
        }
    }
}

/// `%[flags][width][.precision][length]kind`
#[derive(Clone, Debug, Default)]
struct Conversion {
    left: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of an integer argument's value.
    bytes: usize,
    kind: u8,
}

/// A call whose arguments are being taken.
struct Call<'c, 'm> {
    memories: &'c mut Memories<'m>,
    lane: usize,
    /// Bytes of a pointer.
    pointer: usize,
    /// Where the next argument is, before alignment.
    at: u64,
    taken: u64,
}

impl Call<'_, '_> {
    fn wrong(&self, message: String) -> Trouble {
        Trouble { lane: self.lane, message }
    }

    fn argument(&mut self, bytes: usize) -> Result<u64, Trouble> {
        // Beyond the last address there is nothing, and reading there says so.
        let address = self.at.checked_next_multiple_of(bytes as u64).unwrap_or(u64::MAX);
        self.at = address.saturating_add(bytes as u64);
        self.taken += 1;
        self.memories.read(Space::Generic, address, bytes, self.lane)
    }

    /// Takes a conversion from the front of a format, behind its `%`.
    fn conversion(&mut self, rest: &mut &[u8]) -> Result<Conversion, Trouble> {
        let whole = *rest;
        let mut found = Conversion { bytes: 4, ..Conversion::default() };
        while let Some(flag) = take(rest, b"-+ #0") {
            match flag {
                b'-' => found.left = true,
                b'+' => found.plus = true,
                b' ' => found.blank = true,
                b'#' => found.alternate = true,
                _zero => found.zeros = true,
            }
        }
        if let Some(width) = self.number(rest)? {
            found.left |= width < 0;
            found.width = self.bounded(width.unsigned_abs())?;
        }
        if take(rest, b".").is_some() {
            // A negative precision is as if there were none.
            found.precision = match self.number(rest)?.unwrap_or(0) {
                precision @ 0.. => Some(self.bounded(precision.unsigned_abs())?),
                _negative => None,
            };
        }
        while let Some(length) = take(rest, b"hljzt") {
            found.bytes = match (length, found.bytes) {
                (b'h', 2) => 1,
                (b'h', _) => 2,
                (b'j', _) => 8,
                (b'l', _) if whole[..whole.len() - rest.len()].ends_with(b"ll") => 8,
                (_, _) => self.pointer,
            };
        }
        found.kind = take(rest, b"diouxXcsp%fFeEgGaA").ok_or_else(|| {
            let end = (whole.len() - rest.len() + 1).min(whole.len());
            let shown = String::from_utf8_lossy(&whole[..end]);
            self.wrong(format!(
                "the format has `%{shown}`; accepted: %d %i %u %o %x %X %c %s %p %f %e %g %a %%"
            ))
        })?;
        Ok(found)
    }

    /// A width or precision: digits, or `*` for an argument.
    fn number(&mut self, rest: &mut &[u8]) -> Result<Option<i64>, Trouble> {
        if take(rest, b"*").is_some() {
            return Ok(Some(i64::from(self.argument(4)? as u32 as i32)));
        }
        let mut number = None;
        while let Some(digit) = take(rest, b"0123456789") {
            let before: i64 = number.unwrap_or(0);
            number = Some(before.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
        }
        Ok(number)
    }

    fn bounded(&self, number: u64) -> Result<usize, Trouble> {
        let found = usize::try_from(number).ok().filter(|&number| number <= MAX_WIDTH);
        found.ok_or_else(|| {
            self.wrong(format!("the format has the width {number}; accepted: at most {MAX_WIDTH}"))
        })
    }

    fn convert(&mut self, conversion: &Conversion, text: &mut Vec<u8>) -> Result<(), Trouble> {
        let padded = match conversion.kind {
            b'%' => b"%".to_vec(),
            b'c' => conversion.padded(&[self.argument(4)? as u8]),
            b's' => {
                let address = self.argument(self.pointer)?;
                let mut string = string(self.memories, self.lane, address)?;
                string.truncate(conversion.precision.unwrap_or(usize::MAX));
                conversion.padded(&string)
            }
            b'p' => conversion.padded(format!("{:#x}", self.argument(self.pointer)?).as_bytes()),
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' => {
                let value = self.argument(if conversion.bytes == 8 { 8 } else { 4 })?;
                conversion.integer(value)
            }
            _float => conversion.float(f64::from_bits(self.argument(8)?)),
        };
        text.extend_from_slice(&padded);
        Ok(())
    }
}

/// Takes the first byte if it is one of these.
fn take(rest: &mut &[u8], accepted: &[u8]) -> Option<u8> {
    let (&first, behind) = rest.split_first().filter(|(first, _)| accepted.contains(first))?;
    *rest = behind;
    Some(first)
}

impl Conversion {
    fn padded(&self, text: &[u8]) -> Vec<u8> {
        let blanks = vec![b' '; self.width.saturating_sub(text.len())];
        if self.left { [text, &blanks].concat() } else { [&blanks, text].concat() }
    }

    /// Digits behind a sign or prefix, padded with zeros between the two if the flag says so.
    fn numeric(&self, prefix: &str, digits: &str, zeros: bool) -> Vec<u8> {
        let missing = self.width.saturating_sub(prefix.len() + digits.len());
        let between = if zeros && self.zeros && !self.left { "0".repeat(missing) } else { String::new() };
        self.padded(format!("{prefix}{between}{digits}").as_bytes())
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.blank) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    fn integer(&self, value: u64) -> Vec<u8> {
        let unused = 64 - 8 * self.bytes as u32;
        let unsigned = value << unused >> unused;
        let signed = (value << unused) as i64 >> unused;
        let (prefix, digits) = match self.kind {
            b'd' | b'i' => (self.sign(signed < 0), signed.unsigned_abs().to_string()),
            b'o' if self.alternate && unsigned != 0 => ("", format!("0{unsigned:o}")),
            b'o' => ("", format!("{unsigned:o}")),
            b'x' => (if self.alternate && unsigned != 0 { "0x" } else { "" }, format!("{unsigned:x}")),
            b'X' => (if self.alternate && unsigned != 0 { "0X" } else { "" }, format!("{unsigned:X}")),
            _u => ("", unsigned.to_string()),
        };
        match self.precision {
            None => self.numeric(prefix, &digits, true),
            // No digits at all for 0 with precision 0.
            Some(0) if unsigned == 0 => self.numeric(prefix, "", false),
            Some(least) => {
                let zeros = "0".repeat(least.saturating_sub(digits.len()));
                self.numeric(prefix, &(zeros + &digits), false)
            }
        }
    }

    fn float(&self, value: f64) -> Vec<u8> {
        let prefix = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        let upper = self.kind.is_ascii_uppercase();
        let cased = |text: String| if upper { text.to_ascii_uppercase() } else { text };
        if !magnitude.is_finite() {
            let name = if magnitude.is_nan() { "nan" } else { "inf" };
            return self.numeric(prefix, &cased(name.to_owned()), false);
        }
        let precision = self.precision.unwrap_or(6);
        let digits = match self.kind.to_ascii_lowercase() {
            b'f' => self.fixed(magnitude, precision),
            b'e' => self.scientific(magnitude, precision),
            b'g' => self.shorter(magnitude, precision.max(1)),
            _a => {
                return self.numeric(
                    &format!("{prefix}{}", cased("0x".to_owned())),
                    &cased(self.hexadecimal(magnitude)),
                    true,
                );
            }
        };
        self.numeric(prefix, &cased(digits), true)
    }

    fn fixed(&self, value: f64, precision: usize) -> String {
        format!("{value:.precision$}{}", if self.alternate && precision == 0 { "." } else { "" })
    }

    fn scientific(&self, value: f64, precision: usize) -> String {
        let (digits, exponent) = parts(value, precision);
        let point = if self.alternate && precision == 0 { "." } else { "" };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}{point}e{sign}{:02}", exponent.unsigned_abs())
    }

    /// `%g`: fixed or scientific, whichever C17 asks for, without zeros at the end.
    fn shorter(&self, value: f64, precision: usize) -> String {
        let (_, exponent) = parts(value, precision - 1);
        let text = if exponent < -4 || exponent >= precision as i32 {
            self.scientific(value, precision - 1)
        } else {
            self.fixed(value, (precision as i32 - 1 - exponent) as usize)
        };
        let (number, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
        if self.alternate || !number.contains('.') {
            return text;
        }
        number.trim_end_matches('0').trim_end_matches('.').to_owned() + exponent
    }

    /// `%a` without its `0x`.
    fn hexadecimal(&self, value: f64) -> String {
        const FRACTION: u32 = 52;
        let (bits, fraction) = (value.to_bits(), value.to_bits() & ((1 << FRACTION) - 1));
        let (mut leading, exponent) = match bits >> FRACTION {
            0 if fraction == 0 => (0, 0),
            0 => (0, -1022),
            normal => (1, normal as i64 - 1023),
        };
        let mut digits = format!("{fraction:013x}");
        match self.precision.filter(|&precision| precision < digits.len()) {
            Some(precision) => {
                let dropped = FRACTION - 4 * precision as u32;
                let half = 1_u64 << (dropped - 1);
                let (kept, rest) =
                    (leading << (FRACTION - dropped) | fraction >> dropped, fraction & (2 * half - 1));
                let kept = kept + u64::from(rest > half || rest == half && kept % 2 == 1);
                leading = kept >> (FRACTION - dropped);
                digits = format!("{:0precision$x}", kept & ((1 << (FRACTION - dropped)) - 1));
                digits.truncate(precision);
            }
            None => match self.precision {
                Some(precision) => digits += &"0".repeat(precision - digits.len()),
                None => digits.truncate(digits.trim_end_matches('0').len()),
            },
        }
        let point = if digits.is_empty() && !self.alternate { "" } else { "." };
        format!("{leading}{point}{digits}p{exponent:+}")
    }
}

/// The digits of a value in scientific notation, so many behind the point, and its decimal exponent.
fn parts(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}
