//! A value for each variant of an enum, as one array: from the recorder to the record, where each is a field of the struct that
//! they are flattened into.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Map;
use strum::VariantArray;

/// An enum whose variants are fields of a record, named as they are.
pub trait FieldName: Copy + VariantArray + Into<&'static str> {
    /// Its place among the variants.
    fn place(self) -> usize;
}

/// A value for each variant of `K`. In a record each is a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields<K, V, const N: usize> {
    pub(super) values: [V; N],
    names: PhantomData<K>,
}

impl<K, V: Copy + Default, const N: usize> Default for Fields<K, V, N> {
    fn default() -> Self {
        Self {
            values: [V::default(); N],
            names: PhantomData,
        }
    }
}

impl<K: FieldName, V, const N: usize> Index<K> for Fields<K, V, N> {
    type Output = V;

    fn index(&self, name: K) -> &V {
        &self.values[name.place()]
    }
}

impl<K: FieldName, V, const N: usize> IndexMut<K> for Fields<K, V, N> {
    fn index_mut(&mut self, name: K) -> &mut V {
        &mut self.values[name.place()]
    }
}

impl<K, const N: usize> Fields<K, u64, N> {
    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        for (sum, n) in self.values.iter_mut().zip(other.values) {
            *sum += n;
        }
    }
}

/// These values; all others have their default.
impl<K: FieldName, V: Copy + Default, const N: usize, const SOME: usize> From<[(K, V); SOME]> for Fields<K, V, N> {
    fn from(some: [(K, V); SOME]) -> Self {
        let mut fields = Self::default();
        for (name, value) in some {
            fields[name] = value;
        }
        fields
    }
}

impl<K: FieldName, V: Serialize, const N: usize> Serialize for Fields<K, V, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = K::VARIANTS.iter().map(|name| (*name).into());
        serializer.collect_map(names.zip::<&[V; N]>(&self.values))
    }
}

/// Other fields are left to the struct.
impl<'de, K: FieldName, V: Default + Deserialize<'de>, const N: usize> Deserialize<'de> for Fields<K, V, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = deserializer.deserialize_map(Written::<K, V, N>(PhantomData))?;
        match K::VARIANTS.iter().find(|name| written[name.place()].is_none()) {
            Some(missing) => Err(D::Error::missing_field((*missing).into())),
            None => Ok(Self {
                values: written.map(Option::unwrap_or_default),
                names: PhantomData,
            }),
        }
    }
}

/// One property for each name.
fn schema_of<K: FieldName, V: JsonSchema>(generator: &mut SchemaGenerator, required: bool) -> Schema {
    let names = || K::VARIANTS.iter().map(|name| -> &'static str { (*name).into() });
    let value = generator.subschema_for::<V>();
    json_schema!({
        "type": "object",
        "properties": names().map(|name| (name.to_owned(), value.clone().into())).collect::<Map<_, _>>(),
        "required": names().filter(|_| required).collect::<Vec<_>>(),
    })
}

impl<K: FieldName, V: JsonSchema, const N: usize> JsonSchema for Fields<K, V, N> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("FieldsOf{}", V::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema_of::<K, V>(generator, true)
    }
}

/// The schema of fields that are left out if they have their default.
pub(super) struct Sparse<T>(PhantomData<T>);

impl<K: FieldName, V: JsonSchema, const N: usize> JsonSchema for Sparse<Fields<K, V, N>> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("SomeFieldsOf{}", V::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema_of::<K, V>(generator, false)
    }
}

/// Only those that are not the default, where there are many: `#[serde(flatten, with = "sparse")]`.
pub(super) mod sparse {
    use super::{Deserialize, Deserializer, FieldName, Fields, PhantomData, Serialize, Serializer, Written};

    pub fn serialize<K: FieldName, V: Default + PartialEq + Serialize, const N: usize, S: Serializer>(
        fields: &Fields<K, V, N>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let fields = K::VARIANTS.iter().zip(&fields.values);
        let some = fields.filter(|(_, value)| **value != V::default());
        serializer.collect_map(some.map(|(name, value)| ((*name).into(), value)))
    }

    pub fn deserialize<'de, K: FieldName, V: Default + Deserialize<'de>, const N: usize, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Fields<K, V, N>, D::Error> {
        let written = deserializer.deserialize_map(Written::<K, V, N>(PhantomData))?;
        Ok(Fields {
            values: written.map(Option::unwrap_or_default),
            names: PhantomData,
        })
    }
}

/// Reads the fields that are there.
struct Written<K, V, const N: usize>(PhantomData<(K, V)>);

impl<'de, K: FieldName, V: Deserialize<'de>, const N: usize> Visitor<'de> for Written<K, V, N> {
    type Value = [Option<V>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut written = [const { None }; N];
        while let Some(Named(name)) = map.next_key::<Named<K>>()? {
            match name {
                Some(name) => written[name.place()] = Some(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(written)
    }
}

/// The variant with the name of a field; `None` if it is another field.
struct Named<K>(Option<K>);

impl<'de, K: FieldName> Deserialize<'de> for Named<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name<K>(PhantomData<K>);
        impl<K: FieldName> Visitor<'_> for Name<K> {
            type Value = Named<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a field")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Named<K>, E> {
                let named = |name: &&K| Into::<&str>::into(**name) == text;
                Ok(Named(K::VARIANTS.iter().find(named).copied()))
            }
        }
        deserializer.deserialize_identifier(Name(PhantomData))
    }
}
