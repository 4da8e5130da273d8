//! The URL of a database. Its password is kept apart, and only the store ever sees it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use url::Url;

/// Parameters of a PostgreSQL URL that the driver knows and anybody may see. Other parameters mean nothing to the driver
/// and may be secret, so they are left out.
const PUBLIC: &[&str] = &[
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];
const PASSWORD: &str = "password";

/// `sqlite`, or the URL of a PostgreSQL database. Its password is left out wherever this is printed, written or
/// serialized.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct DatabaseUrl {
    shown: String,
    /// The complete URL, if it has a password.
    #[serde(skip)]
    secret: Option<String>,
    /// Whether it had parameters that the driver does not know.
    #[serde(skip)]
    unknown: bool,
}

impl DatabaseUrl {
    /// The embedded database.
    pub fn sqlite() -> Self {
        Self {
            shown: "sqlite".to_owned(),
            secret: None,
            unknown: false,
        }
    }

    /// Whether it is the embedded database, a file for each arm.
    pub fn is_sqlite(&self) -> bool {
        self.shown == "sqlite"
    }

    /// The complete URL with its password, for the driver only.
    pub fn reveal(&self) -> &str {
        self.secret.as_deref().unwrap_or(&self.shown)
    }

    /// Whether it contains a password.
    pub const fn has_password(&self) -> bool {
        self.secret.is_some()
    }

    /// Whether it had parameters that the driver does not know; they are left out.
    pub const fn has_unknown(&self) -> bool {
        self.unknown
    }
}

impl FromStr for DatabaseUrl {
    type Err = String;

    /// The error never contains a password, wherever it is written.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "sqlite" {
            return Ok(Self::sqlite());
        }
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            let named = without_secrets(text).filter(|named| named.ends_with('…'));
            let named = named.map_or_else(|| "that".to_owned(), |named| format!("\"{named}\""));
            return Err(format!(
                "{named} is not a database; \"sqlite\" or a URL like \"postgres://user@host/name\""
            ));
        }
        let cure = "write special characters of names and passwords as %XX, for example %40 for @";
        let mut full = Url::parse(text).map_err(|error| format!("cannot be read: {error}; {cure}"))?;
        let behind = [Some(full.path()), full.query()];
        if full.fragment().is_some() || behind.into_iter().flatten().any(|part| part.contains('@')) {
            return Err(format!("has an @ or a # after its host; {cure}"));
        }
        let pairs: Vec<(String, String)> = full.query_pairs().into_owned().collect();
        let is_public = |(key, _): &&(String, String)| PUBLIC.contains(&key.as_str()) || key.starts_with("options[");
        let public: Vec<_> = pairs.iter().filter(is_public).collect();
        let known: Vec<_> = pairs
            .iter()
            .filter(|pair| is_public(pair) || pair.0 == PASSWORD)
            .collect();
        let mut shown = full.clone();
        if known.len() < pairs.len() {
            set_query(&mut full, &known);
        }
        if public.len() < pairs.len() {
            set_query(&mut shown, &public);
        }
        // This can't fail: a URL with a password has a host.
        let _ = shown.set_password(None);
        let (full, shown) = (String::from(full), String::from(shown));
        Ok(Self {
            secret: (full != shown).then_some(full),
            shown,
            unknown: known.len() < pairs.len(),
        })
    }
}

fn set_query(url: &mut Url, pairs: &[&(String, String)]) {
    url.set_query(None);
    if !pairs.is_empty() {
        url.query_pairs_mut()
            .extend_pairs(pairs.iter().map(|(key, value)| (key, value)));
    }
}

/// The part of a text that may be shown if it looks like a URL: `postgres://…`; `None` if it does not.
pub(super) fn without_secrets(text: &str) -> Option<String> {
    let (before, after) = text.split_once("://")?;
    if after.starts_with('…') {
        return None;
    }
    Some(format!("{before}://…"))
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shown, f)
    }
}

impl<'de> Deserialize<'de> for DatabaseUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> DatabaseUrl {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_url_is_shown_without_its_password_and_revealed_with_it() {
        for (text, shown) in [
            ("postgres://me:s3cret@h/db", "postgres://me@h/db"),
            (
                "postgres://me:s3%63ret@h:5433/db?sslmode=require",
                "postgres://me@h:5433/db?sslmode=require",
            ),
            ("postgresql://me@h/db?password=s3cret", "postgresql://me@h/db"),
            (
                "postgres://me@h/db?pass%77ord=s3cret&user=you",
                "postgres://me@h/db?user=you",
            ),
            (
                "postgres://me:s3cret@h?password=s3cret&sslmode=disable",
                "postgres://me@h?sslmode=disable",
            ),
            ("postgres://me:s3@cret@h/db", "postgres://me@h/db"),
        ] {
            let url = url(text);
            assert_eq!(url.to_string(), shown, "{text}");
            assert_eq!(format!("{url:?}"), format!("{shown:?}"));
            assert_eq!(serde_json::to_string(&url).unwrap(), format!("\"{shown}\""));
            assert!(url.has_password() && url.reveal() != shown, "{text}");
        }
        for text in [
            "sqlite",
            "postgres://me@localhost/test",
            "postgres:///db?host=/run/pg",
            "postgres://h",
        ] {
            let url = url(text);
            assert_eq!(
                (url.to_string().as_str(), url.reveal(), url.has_password()),
                (text, text, false)
            );
        }
    }

    #[test]
    fn parameters_that_the_driver_does_not_know_never_reach_it() {
        let url = url("postgres://me@h/db?sslpassword=s3cret&connect_timeout=10&sslmode=disable&passwd=s3cret");
        assert_eq!(url.to_string(), "postgres://me@h/db?sslmode=disable");
        assert_eq!(url.reveal(), url.to_string());
    }
}
