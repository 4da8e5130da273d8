//! A narrow door for the fuzz targets, in no other build: what reads bytes that a node sends.

use crate::{node::reply::Reply, waiting::announcement};

/// The first reply in `bytes`, in words, and its length; none if it has not arrived completely, an error if it is none.
#[allow(clippy::result_unit_err)] // as little as the parser itself says
pub fn reply(bytes: &[u8]) -> Result<Option<(String, usize)>, ()> {
    let parsed = Reply::parse(bytes).map_err(|_| ())?;
    Ok(parsed.map(|(reply, length)| (format!("{reply:?}"), length)))
}

/// Reads a message of another app server.
///
/// # Panics
/// If what it is written as is read as something else.
pub fn announcement(text: &str) {
    if let Some(read) = announcement::read(text) {
        assert_eq!(announcement::read(&announcement::write(&read)), Some(read));
    }
}
