//! `[database]`.

use std::env;

use super::super::database_url::DatabaseUrl;
use super::super::forms::service_time;
use super::super::reader::Reader;
use super::super::spec::{DatabaseSpec, ServiceTime};
use super::super::tree::Origin;
use super::super::value;

pub(super) fn read(mut reader: Reader<'_>) -> DatabaseSpec {
    let (url, url_env) = database_url(&mut reader);
    let read = service_time::read(&mut reader, "read", value::duration);
    let pool = reader.listed_whole("pool");
    reader.finish();
    DatabaseSpec {
        url,
        url_env,
        read: read.unwrap_or(ServiceTime::ZERO),
        pool,
    }
}

/// The URL, and the environment variable that it comes from, if any.
fn database_url(reader: &mut Reader<'_>) -> (DatabaseUrl, Option<String>) {
    let url = reader.get("url", |value| value::text(value)?.parse::<DatabaseUrl>());
    let from_env = reader.get("url_env", |value| {
        let name = value::text(value)?;
        // If somebody wrote the URL itself here by mistake, the message must not repeat it.
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(
                "is not the name of an environment variable; the URL itself belongs to database.url".to_owned(),
            );
        }
        match env::var(&name) {
            Ok(url) if !url.is_empty() => match url.parse::<DatabaseUrl>() {
                Ok(url) => Ok((url, name)),
                Err(why) => Err(format!("the URL in the environment variable {name}: {why}")),
            },
            _ => Err(format!(
                "the environment variable {name} is missing or empty; it must hold the database's URL"
            )),
        }
    });
    if reader.has("url") && reader.has("url_env") {
        reader.complain(
            "url_env",
            "contradicts url: the URL comes from one of them; leave the other out",
        );
    }
    if let Some((url, name)) = from_env {
        return (url, Some(name));
    }
    let mut url = url.unwrap_or_else(DatabaseUrl::sqlite);
    match reader.origin("url") {
        Origin::Flag(_) => url.expose(format!(
            "database.url: everybody on this machine can see a command line, and there is a password in this one; {ELSEWHERE}"
        )),
        Origin::Line(_) | Origin::File if reader.log.can_others_read() => url.expose(format!(
            "database.url: others on this machine can read this file, and there is a password in it: chmod 600 it, or {ELSEWHERE}"
        )),
        _ => {}
    }
    (url, None)
}

/// The places where nobody else can read a password.
const ELSEWHERE: &str = "leave it out and give it by PGPASSWORD or ~/.pgpass, or the whole URL by database.url_env";
