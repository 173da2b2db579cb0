//! From noise to the inputs of a circuit.

use std::fmt;

use warpfile_hdl::rtl::netlist::{Direction, Module as Elaborated, Port};
use warpfile_hdl::rtl::{Module, Signal};

use super::drive::{Activity, Drive, OFTEN, RARELY};

/// Bits of a noise word.
const WORD: u32 = 64;
/// Seed of the first noise word; the others are multiples of it.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bits of a word that [`Drive::FewValues`] keeps.
const FEW_VALUES: u64 = 0x0000_0003_0000_0003;

/// What every input of a circuit is made of.
pub(super) struct Stimulus {
    /// Noise words.
    pub words: usize,
    /// The inputs, in the order of the ports.
    pub inputs: Vec<Input>,
}

/// An input, and what it is made of.
pub(super) struct Input {
    pub name: String,
    pub width: u32,
    pub value: Value,
}

/// What an input is made of.
pub(super) enum Value {
    Event(Event),
    /// Data where the event happens, else 0.
    Where(Event, Data),
    /// All ones where the event happens, else data.
    Unless(Event, Data),
    /// A field, zeros above.
    Field(Field),
    /// A field, if any, and above it another input.
    Below(Option<Field>, usize),
    /// All ones where the field is not 0, else data.
    Lanes(Field, Data),
    Data(Data),
    /// Data under [`FEW_VALUES`].
    FewValues(Data),
}

/// Bits of a noise word that nothing else uses.
#[derive(Clone, Copy)]
pub(super) struct Field {
    word: usize,
    low: u32,
    bits: u32,
}

/// Happens where the field is at least `least`.
pub(super) struct Event {
    field: Field,
    least: u64,
}

/// A noise word, cut or repeated.
pub(super) struct Data {
    word: usize,
}

impl Stimulus {
    /// What the inputs of `circuit` are made of, each by its drive.
    pub fn new(circuit: &Elaborated, activity: Activity, drive: impl Fn(&Port) -> Drive) -> Stimulus {
        let inputs: Vec<&Port> =
            circuit.ports.iter().filter(|port| port.direction == Direction::Input).collect();
        // Another input to stand below; one that itself stands below another is none.
        let position = |input: &str, other: &str| {
            let of_group = input.split_once('_').map(|(group, _)| format!("{group}_{other}"));
            let named = |port: &Port| port.name == other || Some(&port.name) == of_group.as_ref();
            inputs.iter().position(|port| named(port) && !matches!(drive(port), Drive::Below(..)))
        };
        let mut draws = Draws { activity, position: &position, used: 0, data: 0 };
        let mut inputs: Vec<Input> = inputs.iter().map(|port| draws.input(port, drive(port))).collect();
        let words = draws.used.div_ceil(WORD).max(1) as usize;
        inputs.iter_mut().for_each(|input| input.value.wrap(words));
        Stimulus { words, inputs }
    }

    /// Describes the noise; gives the inputs in order.
    pub fn build<'m>(&self, m: &Module<'m>) -> Vec<Signal<'m>> {
        let noise: Vec<Signal<'m>> = (0..self.words).map(|k| noise_word(m, k)).collect();
        self.inputs.iter().map(|input| input.signal(&noise, &self.inputs)).collect()
    }
}

/// A register that runs through the xorshift generator.
fn noise_word<'m>(m: &Module<'m>, k: usize) -> Signal<'m> {
    let noise = m.register(format!("noise{k}"), 64).reset(SEED.wrapping_mul(k as u64 + 1));
    let left = |x: Signal<'m>, by: usize| m.lit(by, 0).concat(x.low(64 - by));
    let right = |x: Signal<'m>, by: usize| x.high(64 - by).zext(64);
    let a = noise ^ left(noise, 13);
    let b = a ^ right(a, 7);
    noise.set(b ^ left(b, 17));
    noise
}

/// What has been drawn so far.
struct Draws<'a> {
    activity: Activity,
    /// Where the other input stands that an input can stand below.
    position: &'a dyn Fn(&str, &str) -> Option<usize>,
    /// Bits of noise used by fields, or skipped.
    used: u32,
    /// Draws of data.
    data: usize,
}

impl Draws<'_> {
    fn input(&mut self, port: &Port, drive: Drive) -> Input {
        let rate = match drive {
            Drive::Often => OFTEN,
            Drive::Rarely => RARELY,
            Drive::Never => 0,
            Drive::Shared(sharers) => self.activity.rate() / sharers,
            Drive::Active
            | Drive::Index
            | Drive::Low(_)
            | Drive::Below(..)
            | Drive::Lanes
            | Drive::Data
            | Drive::FewValues => self.activity.rate(),
        };
        let value = match drive {
            Drive::Active | Drive::Often | Drive::Rarely if port.width == 1 => Value::Event(self.event(rate)),
            Drive::Never | Drive::Shared(_) => Value::Event(self.event(rate)),
            Drive::Often => Value::Unless(self.event(rate), self.data()),
            Drive::Active | Drive::Rarely => Value::Where(self.event(rate), self.data()),
            Drive::Index => Value::Field(self.field(port.width.min(WORD))),
            Drive::Low(bits) => Value::Field(self.field(bits.min(port.width))),
            Drive::Below(bits, other) => match (self.position)(&port.name, other) {
                Some(above) => Value::Below((bits > 0).then(|| self.field(bits.min(port.width))), above),
                None => Value::Field(self.field(bits.clamp(1, port.width))),
            },
            Drive::Lanes => Value::Lanes(self.field(2), self.data()),
            Drive::Data => Value::Data(self.data()),
            Drive::FewValues => Value::FewValues(self.data()),
        };
        Input { name: port.name.clone(), width: port.width, value }
    }

    fn field(&mut self, bits: u32) -> Field {
        if self.used % WORD + bits > WORD {
            self.used = self.used.next_multiple_of(WORD);
        }
        let field = Field { word: (self.used / WORD) as usize, low: self.used % WORD, bits };
        self.used += bits;
        field
    }

    fn event(&mut self, rate: u64) -> Event {
        Event { field: self.field(8), least: 256 - rate }
    }

    /// The word is wrapped when the number of words is known.
    fn data(&mut self) -> Data {
        self.data += 1;
        Data { word: self.data - 1 }
    }
}

impl Value {
    /// Data counts words beyond the last from the first again.
    fn wrap(&mut self, words: usize) {
        match self {
            Value::Where(_, data)
            | Value::Unless(_, data)
            | Value::Lanes(_, data)
            | Value::Data(data)
            | Value::FewValues(data) => data.word %= words,
            Value::Event(_) | Value::Field(_) | Value::Below(..) => {}
        }
    }
}

impl Input {
    fn signal<'m>(&self, noise: &[Signal<'m>], inputs: &[Input]) -> Signal<'m> {
        let width = self.width as usize;
        let everywhere = |bit: Signal<'m>| bit.replicate(width);
        match &self.value {
            Value::Event(event) => event.signal(noise),
            Value::Where(event, data) => data.signal(noise, width) & everywhere(event.signal(noise)),
            Value::Unless(event, data) => data.signal(noise, width) | everywhere(event.signal(noise)),
            Value::Field(field) => field.signal(noise).zext(width),
            Value::Below(field, above) => {
                let above = inputs[*above].signal(noise, inputs);
                let whole = field.map_or(above, |field| field.signal(noise).concat(above));
                if whole.width() < width { whole.zext(width) } else { whole.low(width) }
            }
            Value::Lanes(field, data) => data.signal(noise, width) | everywhere(field.signal(noise).any()),
            Value::Data(data) => data.signal(noise, width),
            Value::FewValues(data) => repeated(noise[data.word] & FEW_VALUES, width),
        }
    }
}

impl Field {
    fn signal<'m>(self, noise: &[Signal<'m>]) -> Signal<'m> {
        noise[self.word].slice(self.low as usize, self.bits as usize)
    }
}

impl Event {
    fn signal<'m>(&self, noise: &[Signal<'m>]) -> Signal<'m> {
        let field = self.field.signal(noise);
        // At rate 0 no value of the field is enough.
        if self.least >> field.width() > 0 {
            field.zext(field.width() + 1).ge(self.least)
        } else {
            field.ge(self.least)
        }
    }
}

impl Data {
    fn signal<'m>(&self, noise: &[Signal<'m>], width: usize) -> Signal<'m> {
        repeated(noise[self.word], width)
    }
}

/// The high bits of a word, or the word repeated.
fn repeated(word: Signal<'_>, width: usize) -> Signal<'_> {
    match width <= 64 {
        true => word.high(width),
        false => word.replicate(width.div_ceil(64)).low(width),
    }
}

impl fmt::Display for Stimulus {
    /// A line an input.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for input in &self.inputs {
            let Input { name, width, value } = input;
            let high = |data: &Data| match width {
                0..=64 => format!("noise{}[63:{}]", data.word, 64 - width),
                65.. => format!("noise{} repeated", data.word),
            };
            write!(f, "{name} ({width}) = ")?;
            match value {
                Value::Event(event) => writeln!(f, "{event}"),
                Value::Where(event, data) => writeln!(f, "{event} ? {} : 0", high(data)),
                Value::Unless(event, data) => writeln!(f, "{event} ? all ones : {}", high(data)),
                Value::Field(field) => writeln!(f, "{field}"),
                Value::Below(Some(field), above) => {
                    writeln!(f, "{field}, above it {}", self.inputs[*above].name)
                }
                Value::Below(None, above) => writeln!(f, "{}", self.inputs[*above].name),
                Value::Lanes(field, data) => writeln!(f, "{field} != 0 ? all ones : {}", high(data)),
                Value::Data(data) => writeln!(f, "{}", high(data)),
                Value::FewValues(data) => writeln!(f, "{} under {FEW_VALUES:#x}", high(data)),
            }?;
        }
        Ok(())
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "noise{}[{}:{}]", self.word, self.low + self.bits - 1, self.low)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} >= {})", self.field, self.least)
    }
}
