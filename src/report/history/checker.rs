use std::io::BufRead;

use clap::ValueEnum;

use super::whole::Whole;
use super::{elle, knossos, porcupine};
use lockstorm_data::history::{HistoryError, Reader};

/// What judges histories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Checker {
    /// For each arm its operations on locks, as one JSON array.
    Porcupine,
    /// For each arm and key a file of EDN, for the model mutex.
    Knossos,
    /// For each arm its sales, as one JSON array for elle-cli's model list-append. Arms of payments have none.
    Elle,
}

/// The files that a checker reads, with their names. The whole history is in memory, since checkers want it sorted.
///
/// # Errors
/// Those of the reader, and an operation that its client can't have done.
pub fn export(reader: Reader<impl BufRead>, to: Checker) -> Result<Vec<(String, String)>, HistoryError> {
    let whole = Whole::read(reader)?;
    let file = |arm: &str, text| (format!("{}.json", plain(arm)), text);
    Ok(match to {
        Checker::Porcupine => whole
            .locks
            .iter()
            .map(|(arm, keys)| file(arm, porcupine::json(keys)))
            .collect(),
        Checker::Elle => whole
            .sales
            .iter()
            // What a balance was tells no order: it goes up and down.
            .filter(|(_, sales)| sales.iter().all(|sale| sale.written < sale.read))
            .map(|(arm, sales)| file(arm, elle::json(sales, whole.stock)))
            .collect(),
        Checker::Knossos => {
            let each = whole
                .locks
                .iter()
                .flat_map(|(arm, keys)| keys.iter().map(move |key| (arm, key)));
            each.map(|(arm, (key, uses))| (format!("{}.{}.edn", plain(arm), plain(key)), knossos::edn(uses)))
                .collect()
        }
    })
}

/// A text as a part of a file's name, different for each text.
fn plain(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        byte => format!("%{byte:02x}"),
    };
    text.bytes().map(byte).collect()
}
