//! Matches by looking strings up in the list of all short ones of the text: exact.

use std::collections::HashMap;

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let text = inputs.bytes("text");
    let strings = Strings::of(text, inputs.size("depth"));
    let (mut nodes, mut lengths) = (Vec::new(), Vec::new());
    for query in inputs.bytes("queries").chunks(inputs.size("length")) {
        for start in 0..query.len() {
            let (node, length) = strings.longest(text, &query[start..]);
            nodes.push(number(node));
            lengths.push(length as i32);
        }
    }
    Outputs::default().integers("nodes", &nodes).integers("lengths", &lengths)
}

/// Where a string is in the text.
#[derive(Default)]
struct Occurrences {
    count: usize,
    last: usize,
}

/// The strings of the text of up to so many characters.
struct Strings<'a> {
    occurrences: HashMap<&'a [u8], Occurrences>,
    most: usize,
}

impl<'a> Strings<'a> {
    fn of(text: &'a [u8], most: usize) -> Self {
        let mut occurrences: HashMap<&[u8], Occurrences> = HashMap::new();
        for start in 0..text.len() {
            for end in start + 1..=text.len().min(start + most) {
                let found = occurrences.entry(&text[start..end]).or_default();
                found.count += 1;
                found.last = start;
            }
        }
        Strings { occurrences, most }
    }

    /// The string that `query` begins with by which the text is searched, and how many characters agree: it has one
    /// occurrence, or the most characters, and what follows is compared with its last occurrence; or it is the longest
    /// that is in the text.
    fn longest<'q>(&self, text: &[u8], query: &'q [u8]) -> (&'q [u8], usize) {
        for length in 1..=query.len().min(self.most) {
            let Some(found) = self.occurrences.get(&query[..length]) else {
                return (&query[..length - 1], length - 1);
            };
            if found.count == 1 || length == self.most {
                let agree = query.iter().zip(&text[found.last..]).take_while(|(a, b)| a == b).count();
                return (&query[..length], agree);
            }
        }
        let whole = &query[..query.len().min(self.most)];
        (whole, whole.len())
    }
}

/// The number of a string: shorter ones come first, then by alphabet.
fn number(string: &[u8]) -> i32 {
    string.iter().fold(0, |number, &character| 4 * number + 1 + i32::from(character))
}
