//! A value for each variant of an enum, as one array: from the recorder to the record, where each is a field of the struct that
//! they are flattened into.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use strum::VariantArray;

/// An enum whose variants are fields of a record, named as they are.
pub trait FieldName: Copy + VariantArray + Into<&'static str> {
    /// How many fields records had from the beginning; one written before a later field was there lacks it.
    const IN_OLDEST_RECORDS: usize;

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
impl<'de, K: FieldName, V: Copy + Default + DeserializeOwned, const N: usize> Deserialize<'de> for Fields<K, V, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut written = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let mut fields = Self::default();
        for name in K::VARIANTS.iter().copied() {
            match written.remove(name.into()) {
                Some(value) => fields[name] = V::deserialize(value).map_err(D::Error::custom)?,
                None if name.place() < K::IN_OLDEST_RECORDS => return Err(D::Error::missing_field(name.into())),
                None => {}
            }
        }
        Ok(fields)
    }
}
