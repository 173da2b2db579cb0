//! Counters of a run: declared once beside their field, with a unit and how they add up.
//!
//! [`counters!`](macro@crate::counters) makes a struct of `u64` fields, so that the cycle loop counts with a plain `+= 1`, and everything else
//! from the declaration: adding up over the partitions of an SM and over SMs, JSON, and the rows of a report.
//! [`Counts`] holds the groups that the mechanisms of a stack declare, by name; the SM knows none of them.

use std::any::Any;
use std::fmt::Debug;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// What a counter is, beside its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Name of the field.
    pub name: &'static str,
    /// What it counts.
    pub doc: &'static str,
    /// Unit, in the plural.
    pub unit: &'static str,
    /// How it adds up over partitions and SMs.
    pub merge: Merge,
}

/// How a counter adds up over partitions and SMs. A mean is two sums, which [`Shown::Mean`] divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The sum.
    Sum,
    /// The largest.
    Maximum,
}

/// A field of a group of counters.
pub enum Field<'a> {
    /// A counter and its value.
    Count(Counter, u64),
    /// A group within the group.
    Group(&'static str, &'a dyn Counters),
}

/// A group of counters.
pub trait Counters: Any + Debug + Send + Sync {
    /// Its fields in the order of their declaration.
    fn fields(&self) -> Vec<Field<'_>>;

    /// Adds those of another part of the machine; nothing if `other` is a group of another type.
    fn add_group(&mut self, other: &dyn Counters);

    /// Sets a counter by its path within the group, as `lrf.reads`; false if there is none.
    fn set(&mut self, path: &str, value: u64) -> bool;

    /// A copy.
    fn boxed(&self) -> Box<dyn Counters>;

    /// As what it is.
    fn as_any(&self) -> &dyn Any;
}

impl dyn Counters {
    /// The value of a counter by its path within the group, as `lrf.reads`; `None` if there is none.
    pub fn value(&self, path: &str) -> Option<u64> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        self.fields().into_iter().find_map(|field| match (field, rest) {
            (Field::Count(counter, value), None) if counter.name == first => Some(value),
            (Field::Group(name, group), Some(rest)) if name == first => group.value(rest),
            (Field::Count(..) | Field::Group(..), _) => None,
        })
    }

    /// Every counter with its path within the group, in the order of declaration.
    pub fn leaves(&self) -> Vec<(String, Counter, u64)> {
        let mut leaves = Vec::new();
        for field in self.fields() {
            match field {
                Field::Count(counter, value) => leaves.push((counter.name.to_owned(), counter, value)),
                Field::Group(name, group) => leaves.extend(
                    group
                        .leaves()
                        .into_iter()
                        .map(|(path, counter, value)| (format!("{name}.{path}"), counter, value)),
                ),
            }
        }
        leaves
    }
}

impl Serialize for dyn Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for field in self.fields() {
            match field {
                Field::Count(counter, value) => map.serialize_entry(counter.name, &value)?,
                Field::Group(name, group) => map.serialize_entry(name, group)?,
            }
        }
        map.end()
    }
}

/// A group of counters by its name.
pub type Group = (&'static str, Box<dyn Counters>);

/// A counter that is there on one side only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("counter `{0}`")]
pub struct UnknownCounter(pub String);

/// The groups of counters that the mechanisms of a stack declare, by name, in the order in which they were added.
#[derive(Debug, Default)]
pub struct Counts {
    groups: Vec<Group>,
}

impl Counts {
    /// Adds a group to the one of its name, or as a new one.
    pub fn add(&mut self, name: &'static str, group: &dyn Counters) {
        match self.groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => sum.add_group(group),
            None => self.groups.push((name, group.boxed())),
        }
    }

    /// Adds every group of another part of the machine.
    pub fn add_all(&mut self, other: &Counts) {
        for (name, group) in &other.groups {
            self.add(name, group.as_ref());
        }
    }

    /// A group; zeros if nothing has declared it.
    pub fn get<C: Counters + Clone + Default>(&self, name: &str) -> C {
        let found = self.groups.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, group)| group.as_any().downcast_ref::<C>().cloned()).unwrap_or_default()
    }

    /// The value of a counter by group and path, as `mrf.reads`; `None` if nothing has declared it.
    pub fn value(&self, path: &str) -> Option<u64> {
        let (name, rest) = path.split_once('.')?;
        self.groups.iter().find(|(known, _)| *known == name)?.1.value(rest)
    }

    /// The counters that [`leaves`](Counts::leaves) has given, paths and values in their order, from `groups`, which hold
    /// zeros.
    ///
    /// # Errors
    /// A path that no group has, or one of a group that is not given.
    pub fn from_leaves(leaves: &[(String, u64)], groups: &[Group]) -> Result<Counts, UnknownCounter> {
        let mut counts = Counts::default();
        for (path, value) in leaves {
            let unknown = || UnknownCounter(path.clone());
            let (name, inner) = path.split_once('.').ok_or_else(unknown)?;
            if counts.groups.iter().all(|(known, _)| *known != name) {
                let (name, zeros) = groups.iter().find(|(known, _)| *known == name).ok_or_else(unknown)?;
                counts.groups.push((name, zeros.boxed()));
            }
            let group = counts.groups.iter_mut().find(|(known, _)| *known == name);
            if !group.is_some_and(|(_, group)| group.set(inner, *value)) {
                return Err(unknown());
            }
        }
        let restored = counts.leaves();
        let first_other = restored.iter().zip(leaves).find(|((path, ..), (given, _))| path != given);
        match first_other.map(|((path, ..), _)| path).or(restored.get(leaves.len()).map(|(path, ..)| path)) {
            Some(path) => Err(UnknownCounter(path.clone())),
            None => Ok(counts),
        }
    }

    /// The groups with their names.
    pub fn groups(&self) -> impl Iterator<Item = (&'static str, &dyn Counters)> {
        self.groups.iter().map(|(name, group)| (*name, group.as_ref()))
    }

    /// Every counter with its path, as `mrf.reads`.
    pub fn leaves(&self) -> Vec<(String, Counter, u64)> {
        let of_group = |(name, group): (&str, &dyn Counters)| {
            let name = name.to_owned();
            group
                .leaves()
                .into_iter()
                .map(move |(path, counter, value)| (format!("{name}.{path}"), counter, value))
        };
        self.groups().flat_map(of_group).collect()
    }
}

impl Clone for Counts {
    fn clone(&self) -> Counts {
        Counts { groups: self.groups.iter().map(|(name, group)| (*name, group.boxed())).collect() }
    }
}

impl PartialEq for Counts {
    fn eq(&self, other: &Counts) -> bool {
        self.leaves() == other.leaves()
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.groups())
    }
}

/// A row of the report that a mechanism asks for. Rows of the same label are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What stands before the numbers.
    pub label: &'static str,
    /// The numbers.
    pub shown: Shown,
}

/// What a row shows, of counters by path (`mrf.reads`; `operands.…` are those of the SM). A design without one of the
/// counters shows none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A counter.
    Count(&'static str),
    /// The first over the second.
    Mean(&'static str, &'static str),
    /// What the first is less than the second, per cent of the second.
    PercentLess(&'static str, &'static str),
}

/// Declares a group of counters: a struct with a `u64` for each `sum` or `maximum` in its unit, and other groups.
///
/// ```
/// warpfile_sim::counters! {
///     /// Registers that a mechanism renames.
///     pub struct Renaming {
///         /// Registers renamed.
///         renamed: sum("registers"),
///         /// Most in use.
///         most: maximum("registers"),
///     }
/// }
/// let mut both = Renaming { renamed: 3, most: 5 };
/// warpfile_sim::counters::Counters::add_group(&mut both, &Renaming { renamed: 1, most: 2 });
/// assert_eq!(both, Renaming { renamed: 4, most: 5 });
/// ```
#[macro_export]
macro_rules! counters {
    (
        $(#[doc = $group_doc:literal])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])* $field:ident: $kind:ident($what:tt), )*
        }
    ) => {
        $(#[doc = $group_doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $( $(#[doc = $doc])* pub $field: $crate::counters!(@type $kind $what), )*
        }

        impl $name {
            /// Adds those of another part of the machine.
            pub fn add(&mut self, other: &$name) {
                $( $crate::counters!(@add $kind, self.$field, other.$field); )*
            }
        }

        impl $crate::counters::Counters for $name {
            fn fields(&self) -> Vec<$crate::counters::Field<'_>> {
                vec![ $( $crate::counters!(@field $kind $what, $field, concat!($($doc),*).trim(), self.$field), )* ]
            }

            fn add_group(&mut self, other: &dyn $crate::counters::Counters) {
                if let Some(other) = other.as_any().downcast_ref::<$name>() {
                    self.add(other);
                }
            }

            fn set(&mut self, path: &str, value: u64) -> bool {
                let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
                $(
                    if first == stringify!($field) {
                        return $crate::counters!(@set $kind, self.$field, rest, value);
                    }
                )*
                false
            }

            fn boxed(&self) -> Box<dyn $crate::counters::Counters> {
                Box::new(*self)
            }

            fn as_any(&self) -> &dyn std::any::Any {
                self
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let group: &dyn $crate::counters::Counters = self;
                serde::Serialize::serialize(group, serializer)
            }
        }
    };
    (@type group $group:tt) => { $group };
    (@type $kind:ident $unit:tt) => { u64 };
    (@add sum, $sum:expr, $other:expr) => { $sum += $other };
    (@add maximum, $sum:expr, $other:expr) => { $sum = $sum.max($other) };
    (@add group, $sum:expr, $other:expr) => { $sum.add(&$other) };
    (@set group, $group:expr, $rest:expr, $value:expr) => {
        $rest.is_some_and(|rest| $crate::counters::Counters::set(&mut $group, rest, $value))
    };
    (@set $kind:ident, $count:expr, $rest:expr, $value:expr) => {{
        let is_count = $rest.is_none();
        if is_count {
            $count = $value;
        }
        is_count
    }};
    (@field group $group:tt, $field:ident, $doc:expr, $value:expr) => {
        $crate::counters::Field::Group(stringify!($field), &$value)
    };
    (@field $kind:ident $unit:tt, $field:ident, $doc:expr, $value:expr) => {
        $crate::counters::Field::Count(
            $crate::counters::Counter {
                name: stringify!($field),
                doc: $doc,
                unit: $unit,
                merge: $crate::counters!(@merge $kind),
            },
            $value,
        )
    };
    (@merge sum) => { $crate::counters::Merge::Sum };
    (@merge maximum) => { $crate::counters::Merge::Maximum };
}

#[cfg(test)]
mod tests {
    use super::*;

    counters! {
        /// Of a port.
        pub struct Port {
            /// Uses.
            uses: sum("cycles"),
        }
    }

    counters! {
        /// Of a table.
        pub struct Table {
            /// Its read port.
            read: group(Port),
            /// Rows in use at once, at most.
            most: maximum("rows"),
        }
    }

    fn table(uses: u64, most: u64) -> Table {
        Table { read: Port { uses }, most }
    }

    #[test]
    fn each_counter_adds_up_as_declared() {
        let mut counts = Counts::default();
        for group in [table(3, 5), table(4, 2)] {
            counts.add("table", &group);
        }
        assert_eq!(counts.get::<Table>("table"), table(7, 5));
        let mut twice = counts.clone();
        twice.add_all(&counts);
        assert_eq!(twice.get::<Table>("table"), table(14, 5));
    }

    #[test]
    fn a_counter_is_found_by_its_path() {
        let mut counts = Counts::default();
        counts.add("table", &table(3, 5));
        assert_eq!((counts.value("table.read.uses"), counts.value("table.most")), (Some(3), Some(5)));
        assert_eq!((counts.value("table.read"), counts.value("other.most")), (None, None));
        let leaves: Vec<String> = counts.leaves().into_iter().map(|(path, ..)| path).collect();
        assert_eq!(leaves, ["table.read.uses", "table.most"]);
    }

    #[test]
    fn counters_are_read_again_as_they_were() {
        let mut counts = Counts::default();
        counts.add("other", &Port { uses: 9 });
        counts.add("table", &table(3, 5));
        let groups: [Group; 2] =
            [("table", Box::new(Table::default())), ("other", Box::new(Port::default()))];
        let leaves: Vec<(String, u64)> =
            counts.leaves().into_iter().map(|(path, _, value)| (path, value)).collect();
        let read = Counts::from_leaves(&leaves, &groups).expect("all known");
        assert_eq!((&read, read.get::<Table>("table")), (&counts, table(3, 5)));
        let refused = |leaves: &[(String, u64)]| Counts::from_leaves(leaves, &groups).expect_err("refused").0;
        for path in ["table.read", "table.read.uses.more", "table.least", "chair.most", "most"] {
            assert_eq!(refused(&[(path.to_owned(), 1)]), path);
        }
        assert_eq!(refused(&leaves[..2]), "table.most");
        assert_eq!(refused(&[leaves[0].clone(), leaves[2].clone()]), "table.read.uses");
    }

    #[test]
    fn a_group_that_nothing_has_declared_is_zero() {
        assert_eq!(Counts::default().get::<Table>("table"), Table::default());
    }
}
