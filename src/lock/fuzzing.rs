//! Access for the fuzz targets, compiled for them only: the parsers of bytes that a node sends.

use crate::node::reply::Reply;
use crate::waiting::announcement;

/// The first reply in `bytes`, as text, and its length; `None` if it is incomplete, an error if it is not a reply.
#[expect(clippy::result_unit_err, reason = "as little as the parser itself says")]
pub fn reply(bytes: &[u8]) -> Result<Option<(String, usize)>, ()> {
    let parsed = Reply::parse(bytes).map_err(|_| ())?;
    Ok(parsed.map(|(reply, length)| (format!("{reply:?}"), length)))
}

/// Reads a message of another app server.
///
/// # Panics
/// If the message, written again, is read as something else.
pub fn announcement(text: &str) {
    if let Some(read) = announcement::read(text) {
        assert_eq!(announcement::read(&announcement::write(&read)), Some(read));
    }
}
