//! A field of a record for each of several names, read from the struct that they are flattened into.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// Reads the fields with these names, in this order; others are left to the struct. If one of the first `needed` is missing, that
/// is an error; a later one then has its default.
pub(super) fn read<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
    names: &[&'static str],
    needed: usize,
) -> Result<Vec<T>, D::Error> {
    from.deserialize_map(Fields {
        names,
        needed,
        of: PhantomData,
    })
}

struct Fields<'a, T> {
    names: &'a [&'static str],
    needed: usize,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Fields<'_, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the fields {}", self.names.join(", "))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Vec<T>, A::Error> {
        let mut found: Vec<Option<T>> = self.names.iter().map(|_| None).collect();
        while let Some(name) = fields.next_key::<String>()? {
            match self.names.iter().position(|known| *known == name) {
                Some(index) => found[index] = Some(fields.next_value()?),
                None => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        let or_missing = |(place, found): (usize, Option<T>)| match found {
            Some(found) => Ok(found),
            None if place < self.needed => Err(A::Error::missing_field(self.names[place])),
            None => Ok(T::default()),
        };
        found.into_iter().enumerate().map(or_missing).collect()
    }
}
