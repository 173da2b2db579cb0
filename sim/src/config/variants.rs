//! The names of an enumeration's variants, from the list that its `Deserialize` is derived with.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};

/// Names of the variants of an enumeration that derives `Deserialize`, in the order of their declaration; none if `E` is no
/// such enumeration.
pub fn variants<E: DeserializeOwned>() -> &'static [&'static str] {
    match E::deserialize(AsksForVariants) {
        Err(Answer(variants)) => variants,
        Ok(_) => &[],
    }
}

/// Reads nothing: an enumeration says which variants it knows when it asks for one of them.
struct AsksForVariants;

/// The variants, in the place of an error.
#[derive(Debug)]
struct Answer(&'static [&'static str]);

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "variants: {}", self.0.join(", "))
    }
}

impl std::error::Error for Answer {}

impl Error for Answer {
    fn custom<T: fmt::Display>(_: T) -> Answer {
        Answer(&[])
    }
}

impl<'de> Deserializer<'de> for AsksForVariants {
    type Error = Answer;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Answer> {
        Err(Answer(variants))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Answer> {
        Err(Answer(&[]))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::variants;

    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[allow(dead_code)]
    enum Choice {
        First,
        #[serde(rename = "2nd")]
        Second,
        OneMore,
    }

    #[test]
    fn variants_have_the_names_that_are_read() {
        assert_eq!(variants::<Choice>(), ["first", "2nd", "one-more"]);
        assert_eq!(variants::<Option<Choice>>(), [""; 0]);
        assert_eq!(variants::<u64>(), [""; 0]);
    }
}
