//! Where a URL with a password may be written.

use std::env;

use super::super::reader::Reader;
use super::super::tree::{Origin, Value};
use super::super::value;

/// The name of an environment variable, and its text; none if it is missing. `instead` says where the text itself belongs: if
/// somebody wrote that here by mistake, the message must not repeat it.
pub(super) fn variable(value: &Value, instead: &str) -> Result<(String, String), String> {
    let name = value::text(value)?;
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("is not the name of an environment variable; {instead}"));
    }
    let text = env::var(&name).unwrap_or_default();
    Ok((name, text))
}

/// Who else can read the password that is written at `key`, and how to prevent that: `elsewhere` nobody can.
pub(super) fn exposed(reader: &Reader<'_>, key: &str, elsewhere: &str) -> Option<String> {
    let place = reader.key(key);
    match reader.origin(key) {
        Origin::Flag(_) => Some(format!(
            "{place}: everybody on this machine can see a command line, and there is a password in this one; {elsewhere}"
        )),
        Origin::Line(_) | Origin::File => reader.log.can_others_read().then(|| {
            format!(
                "{place}: others on this machine can read this file, and there is a password in it: chmod 600 it, or {elsewhere}"
            )
        }),
    }
}
