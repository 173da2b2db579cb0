//! Changes to texts: whole words and lines, where a fuzzer left to itself changes bytes.

use fastrand::Rng;

/// Words that are likely at the edge of something.
const EDGES: [&str; 14] = [
    "0",
    "1",
    "-1",
    "31",
    "32",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "1e300",
];
/// Most changes at a time.
const MOST: usize = 4;

/// `bytes` with a few words or lines replaced by others of its own, moved, doubled or left out; `None` if they are no
/// text or have no words.
pub fn change(bytes: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut rng = Rng::with_seed(u64::from(seed));
    let mut text = std::str::from_utf8(bytes).ok()?.to_owned();
    for _ in 0..rng.usize(1..=MOST) {
        text = if rng.bool() { change_words(&text, &mut rng)? } else { change_lines(&text, &mut rng)? };
    }
    Some(text.into_bytes())
}

fn change_words(text: &str, rng: &mut Rng) -> Option<String> {
    let mut words = words(text);
    let (place, other) = (rng.usize(0..words.len().max(1)), *rng.choice(&words)?);
    words[place] = match rng.usize(0..4) {
        0 => "",
        1 => *rng.choice(&EDGES)?,
        _ => other,
    };
    Some(words.concat())
}

fn change_lines(text: &str, rng: &mut Rng) -> Option<String> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (place, line) = (rng.usize(0..lines.len().max(1)), *rng.choice(&lines)?);
    match rng.usize(0..3) {
        0 => drop(lines.remove(place)),
        1 => lines.insert(place, line),
        _ => lines[place] = line,
    }
    Some(lines.concat())
}

/// Names, numbers, and each other character by itself; together they are the text.
fn words(text: &str) -> Vec<&str> {
    let is_of_a_word = |c: char| c.is_alphanumeric() || "_.%$".contains(c);
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if is_of_a_word(first) { rest.find(|c| !is_of_a_word(c)) } else { Some(first.len_utf8()) };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(word);
        rest = after;
    }
    words
}

/// Lets a fuzz target change words and lines in every second input, and bytes in the others.
#[macro_export]
macro_rules! change_text {
    () => {
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            let changed = if seed % 2 == 0 { $crate::text::change(&data[..size], seed / 2) } else { None };
            match changed {
                Some(changed) if changed.len() <= max_size => {
                    data[..changed.len()].copy_from_slice(&changed);
                    changed.len()
                }
                _ => libfuzzer_sys::fuzzer_mutate(data, size, max_size),
            }
        });
    };
}
