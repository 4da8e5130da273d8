//! The words of the scenario format. The words of an enum are its variants as serde spells them. Reading, writing,
//! suggestions and records all use this, so a new variant is a new word everywhere.

use std::fmt;

use serde::Serialize;
use strum::VariantArray;

/// An enum whose variants are words.
pub trait Words: Copy + Serialize + VariantArray {
    /// The word for this variant.
    fn word(self) -> String {
        Spelled(self).to_string()
    }

    /// The variant that `word` stands for.
    fn of_word(word: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|variant| variant.word() == word)
    }

    /// All words, in the order of the enum.
    fn words() -> Vec<String> {
        Self::VARIANTS.iter().map(|variant| variant.word()).collect()
    }
}

impl<T: Copy + Serialize + VariantArray> Words for T {}

/// serde writes a variant without data as its plain name.
struct Spelled<T>(T);

impl<T: Serialize> fmt::Display for Spelled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::spec::{Fence, Persistence};

    #[test]
    fn words_are_spelled_as_serde_spells_them() {
        assert_eq!(Persistence::words(), ["none", "rdb", "aof-everysec", "aof-always"]);
        assert_eq!(Fence::ReadWrite.word(), "read-write");
        assert_eq!(Fence::of_word("read-write"), Some(Fence::ReadWrite));
        assert_eq!(Fence::of_word("ReadWrite"), None);
    }
}
