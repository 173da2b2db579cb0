//! Which bits of which signals a module reads, so that the others can be declared unused.

use std::collections::BTreeMap;

/// Signals in order of declaration, with the bits of each that are read.
#[derive(Default)]
pub(crate) struct Usage {
    signals: Vec<Signal>,
    index: BTreeMap<String, usize>,
}

struct Signal {
    name: String,
    read: Vec<bool>,
}

impl Usage {
    /// Starts to watch a signal.
    pub(crate) fn declare(&mut self, name: &str, width: u32) {
        self.index.insert(name.to_string(), self.signals.len());
        self.signals.push(Signal { name: name.to_string(), read: vec![false; width as usize] });
    }

    /// Marks bits as read; a name that is not watched is none of our business.
    pub(crate) fn read(&mut self, name: &str, low: u32, width: u32) {
        if let Some(&i) = self.index.get(name) {
            self.signals[i].read[low as usize..(low + width) as usize].fill(true);
        }
    }

    /// The unread parts as Verilog text, in order of declaration.
    pub(crate) fn unread(&self) -> Vec<String> {
        self.signals.iter().flat_map(Signal::unread).collect()
    }
}

impl Signal {
    fn unread(&self) -> Vec<String> {
        if self.read.iter().all(|&r| !r) {
            return vec![self.name.clone()];
        }
        let mut parts = Vec::new();
        let mut low = 0;
        for run in self.read.chunk_by(|a, b| a == b) {
            let high = low + run.len() - 1;
            match (run[0], high == low) {
                (true, _) => {}
                (false, true) => parts.push(format!("{}[{low}]", self.name)),
                (false, false) => parts.push(format!("{}[{high}:{low}]", self.name)),
            }
            low = high + 1;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_bits_come_out_as_runs() {
        let mut usage = Usage::default();
        usage.declare("a", 8);
        usage.declare("b", 1);
        usage.declare("c", 2);
        usage.read("a", 1, 3);
        usage.read("a", 5, 1);
        usage.read("c", 0, 2);
        assert_eq!(usage.unread(), ["a[0]", "a[4]", "a[7:6]", "b"]);
    }
}
