//! The URL of a lock node that is not ours. Its password is kept apart, and only those who connect ever see it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lockstorm_lock::NodeAddress;

/// The URL of a server: `redis://user:password@host:6379/0`, or `rediss://` for TLS. Its password is left out wherever this is
/// printed, written or serialized. A record is only read: whether this machine could reach the server does not matter there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NodeUrl {
    shown: String,
    /// The complete URL, if it has a password, or what may be meant as one.
    #[serde(skip)]
    secret: Option<String>,
}

impl NodeUrl {
    /// The complete URL with its password, for those who connect.
    pub fn reveal(&self) -> &str {
        self.secret.as_deref().unwrap_or(&self.shown)
    }

    /// Its host and port.
    pub fn server(&self) -> &str {
        let rest = self
            .shown
            .split_once("://")
            .map_or(self.shown.as_str(), |(_, rest)| rest);
        let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
        rest.split('/').next().unwrap_or(rest)
    }

    /// Whether it contains a password, or what may be meant as one.
    pub const fn has_password(&self) -> bool {
        self.secret.is_some()
    }
}

impl FromStr for NodeUrl {
    type Err = String;

    /// For TLS this reads the authorities that the machine trusts. The error contains nothing of the text.
    fn from_str(text: &str) -> Result<Self, String> {
        // As it is written, since special characters of a user are written as %XX.
        let (scheme, rest) = text.split_once("://").unwrap_or(("redis", text));
        if !["redis", "rediss"].contains(&scheme.to_ascii_lowercase().as_str()) {
            let why =
                "it begins neither with redis:// nor with rediss://; write it like redis://user:password@host:6379/0";
            return Err(why.to_owned());
        }
        // Not the text itself: a piece of a password may look like a URL of its own.
        let address = NodeAddress::parse(text).map_err(|error| error.why)?;
        let login = rest.split(['/', '?']).next().and_then(|login| login.rsplit_once('@'));
        // What stands alone before the @ may be meant as a password.
        let user = login.and_then(|(login, _)| login.split_once(':'));
        let user = user.filter(|(user, password)| !user.is_empty() && !password.is_empty());
        let user = user.map(|(user, _)| format!("{user}@"));
        let host = match address.host() {
            ip if ip.contains(':') => format!("[{ip}]"),
            name => name.to_owned(),
        };
        let database = match address.database() {
            0 => String::new(),
            number => format!("/{number}"),
        };
        let (user, port) = (user.unwrap_or_default(), address.port());
        let shown = format!("{}://{user}{host}:{port}{database}", scheme.to_ascii_lowercase());
        Ok(Self {
            secret: login.map(|_| text.to_owned()),
            shown,
        })
    }
}

impl fmt::Display for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shown, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password_and_revealed_with_it() {
        for (text, shown) in [
            ("redis://me:s3cret@h", "redis://me@h:6379"),
            ("redis://:s3cret@h:7000/3", "redis://h:7000/3"),
            ("REDIS://m%40e:s3%63ret@[::1]:7000/0", "redis://m%40e@[::1]:7000"),
            ("redis://me:s3@cret@h", "redis://me@h:6379"),
            ("redis://me:s3cret@h?protocol=3", "redis://me@h:6379"),
            ("redis://s3cret@h", "redis://h:6379"),
            ("redis://s3cret:@h/1", "redis://h:6379/1"),
        ] {
            let url: NodeUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown, "{text}");
            assert_eq!(format!("{url:?}"), format!("{shown:?}"));
            assert_eq!(serde_json::to_string(&url).unwrap(), format!("\"{shown}\""));
            assert!(url.has_password() && url.reveal() == text, "{text}");
            assert!(
                shown.contains(url.server()) && !url.server().contains(['@', '/']),
                "{text}"
            );
            let read: NodeUrl = serde_json::from_str(&format!("\"{shown}\"")).unwrap();
            assert_eq!((read.reveal(), read.has_password()), (shown, false));
            let again: NodeUrl = shown.parse().unwrap();
            assert_eq!(again.server(), url.server());
        }
        for wrong in [
            "redis://me:s3cret@h:port",
            "s3cret",
            "http://me:s3cret@h",
            "redis://:s3cret@h/x#",
        ] {
            let error = wrong.parse::<NodeUrl>().unwrap_err();
            assert!(!error.contains("s3cret"), "{error}");
            assert!(error.matches("write it like").count() < 2, "{error}");
        }
    }
}
