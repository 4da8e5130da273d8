//! A field of a record for each of several names, read from the struct that they are flattened into.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// Reads the fields with these names, in this order. A missing one is an error; others are left to the struct.
pub(super) fn read<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
    names: &[&'static str],
) -> Result<Vec<T>, D::Error> {
    from.deserialize_map(Fields { names, of: PhantomData })
}

struct Fields<'a, T> {
    names: &'a [&'static str],
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<'_, T> {
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
        let missing = |(found, name): (Option<T>, &&'static str)| found.ok_or_else(|| A::Error::missing_field(name));
        found.into_iter().zip(self.names).map(missing).collect()
    }
}
