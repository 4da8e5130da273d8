use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A worker of an app server, written `s1w3`: who holds a lock, and in the ledger who bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct Holder {
    /// The number of the app server, from 1.
    pub server: usize,
    /// The number of the worker there, from 0.
    pub worker: usize,
}

/// A text that is no holder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a worker of an app server, such as s1w3")]
pub struct NotAHolder(String);

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}w{}", self.server, self.worker)
    }
}

impl FromStr for Holder {
    type Err = NotAHolder;

    fn from_str(text: &str) -> Result<Self, NotAHolder> {
        let parts = text.strip_prefix('s').and_then(|rest| rest.split_once('w'));
        let numbers = parts.and_then(|(server, worker)| Some((server.parse().ok()?, worker.parse().ok()?)));
        let (server, worker) = numbers.ok_or_else(|| NotAHolder(text.to_owned()))?;
        Ok(Self { server, worker })
    }
}

impl From<Holder> for String {
    fn from(holder: Holder) -> Self {
        holder.to_string()
    }
}

impl TryFrom<String> for Holder {
    type Error = NotAHolder;

    fn try_from(text: String) -> Result<Self, NotAHolder> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_written_as_in_the_ledger() {
        let holder = Holder { server: 2, worker: 13 };
        assert_eq!(serde_json::to_string(&holder).unwrap(), r#""s2w13""#);
        assert_eq!("s2w13".parse(), Ok(holder));
        for text in ["", "s1", "w1", "s1w", "sw1", "s1w-1"] {
            assert!(text.parse::<Holder>().is_err(), "{text}");
        }
    }
}
