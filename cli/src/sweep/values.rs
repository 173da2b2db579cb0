//! Values of one parameter, as on the command line: `2,4,6`, `4..8`, `fifo,lru`.

/// Most values that a list may have.
const MAX_VALUES: u64 = 100_000;
/// What a list of values may be.
const ACCEPTED: &str = "values separated by commas, as 2,4,6; A..B stands for whole numbers from A up to but without B, A..=B with B";

/// A parameter and the values that it has one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Name of the parameter.
    pub name: String,
    /// Its values, each once.
    pub values: Vec<String>,
}

/// `NAME=VALUES`.
pub fn axis(text: &str) -> Result<Axis, String> {
    match text.split_once('=') {
        Some((name, list)) if !name.trim().is_empty() => {
            Ok(Axis { name: name.trim().to_owned(), values: values(list)? })
        }
        Some(_) | None => {
            Err("accepted: name=values, as in rfc.entries=2,4,6 or rfc.entries=2..7".to_owned())
        }
    }
}

/// The values of a list, each once, in its order.
pub fn values(list: &str) -> Result<Vec<String>, String> {
    let mut values: Vec<String> = Vec::new();
    for part in list.split(',').map(str::trim) {
        for value in expanded(part).ok_or_else(|| format!("`{part}`: accepted: {ACCEPTED}"))? {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    Ok(values)
}

/// A value, or those of a range; `None` if it is neither.
fn expanded(part: &str) -> Option<Vec<String>> {
    let Some((first, last)) = part.split_once("..") else {
        return (!part.is_empty()).then(|| vec![part.to_owned()]);
    };
    let first: u64 = first.trim().parse().ok()?;
    let end: u64 = match last.strip_prefix('=') {
        Some(last) => last.trim().parse::<u64>().ok()?.checked_add(1)?,
        None => last.trim().parse().ok()?,
    };
    let is_accepted = first < end && end - first <= MAX_VALUES;
    is_accepted.then(|| (first..end).map(|value| value.to_string()).collect())
}

/// Seeds, each once.
#[derive(Clone, Debug)]
pub struct Seeds(pub Vec<u64>);

/// A list of seeds.
pub fn seeds(list: &str) -> Result<Seeds, String> {
    let accepted = |value: &str| format!("`{value}`: accepted: whole numbers, as 0,1 or 0..4");
    let seed = |value: String| value.parse().map_err(|_| accepted(&value));
    Ok(Seeds(values(list)?.into_iter().map(seed).collect::<Result<_, String>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_without_its_end_unless_it_says_so() {
        assert_eq!(values("4..8").expect("a range"), ["4", "5", "6", "7"]);
        assert_eq!(values("4..=8").expect("a range"), ["4", "5", "6", "7", "8"]);
        assert_eq!(values("fifo,lru").expect("words"), ["fifo", "lru"]);
        assert_eq!(values("1.5, 2, 2..4").expect("a mixture"), ["1.5", "2", "3"]);
    }

    #[test]
    fn what_is_no_list_is_refused_with_what_would_be() {
        for list in
            ["", "2,,4", "4..4", "8..4", "4..", "..4", "a..b", "0..1000000000", "0..=18446744073709551615"]
        {
            let error = values(list).expect_err(list);
            assert!(error.contains("A..=B with B"), "{list}: {error}");
        }
        assert!(axis("rfc.entries").is_err() && axis("=3").is_err());
        assert!(seeds("0,one").expect_err("a word").contains("`one`"));
    }
}
