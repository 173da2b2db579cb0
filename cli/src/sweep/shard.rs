//! A part of a plan.

/// The `index`-th of `count` parts, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which.
    pub index: usize,
    /// Of how many.
    pub count: usize,
}

/// `I/N`.
pub fn shard(text: &str) -> Result<Shard, String> {
    let parts =
        text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
    let shard = parts.map(|(index, count)| Shard { index, count });
    shard
        .filter(|shard| (1..=shard.count).contains(&shard.index))
        .ok_or_else(|| "accepted: I/N with whole numbers, I from 1 to N, as 2/8".to_owned())
}

impl Shard {
    /// Its part of what is in order: a stretch, so that neighbours stay together. All parts are about as long.
    pub fn of<T>(self, all: &[T]) -> &[T] {
        // No product of a length and a number of parts overflows 128 bits.
        let bound = |index: usize| (all.len() as u128 * index as u128 / self.count as u128) as usize;
        &all[bound(self.index - 1)..bound(self.index)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_in_one_shard_and_none_is_longer_by_more_than_one() {
        let all: Vec<usize> = (0..23).collect();
        for count in [1, 2, 7, 23, 40, usize::MAX] {
            let few = count.min(50);
            let shards = (1..=few).map(|index| Shard { index, count }.of(&all));
            let lengths: Vec<usize> = shards.clone().map(<[usize]>::len).collect();
            assert!(lengths.iter().max() <= lengths.iter().min().map(|least| least + 1).as_ref());
            if few == count {
                assert_eq!(shards.flatten().copied().collect::<Vec<_>>(), all);
            }
        }
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        assert_eq!(shard("2/8"), Ok(Shard { index: 2, count: 8 }));
        for text in ["", "2", "0/8", "9/8", "1/0", "a/b", "1/2/3", "-1/2"] {
            assert!(shard(text).is_err(), "{text}");
        }
    }
}
