//! `[database]`.

use super::super::database_url::DatabaseUrl;
use super::super::forms::read_service_time;
use super::super::reader::Reader;
use super::super::spec::{DatabaseSpec, ServiceTime};
use super::super::tree::Value;
use super::super::value;
use super::secret;

/// The places where nobody else can read a password.
const ELSEWHERE: &str = "leave it out and give it by PGPASSWORD or ~/.pgpass, or the whole URL by database.url_env";

pub(super) fn read(mut reader: Reader<'_>) -> DatabaseSpec {
    let url = reader.get("url", |value| value::text(value)?.parse::<DatabaseUrl>());
    let from_env = reader.get("url_env", of_variable);
    if reader.has("url") && reader.has("url_env") {
        let why = "contradicts url: the URL comes from one of them; leave the other out";
        reader.complain("url_env", why);
    }
    let (url, url_env, exposed) = match from_env {
        Some((url, name)) => (url, Some(name), None),
        None => {
            let url = url.unwrap_or_else(DatabaseUrl::sqlite);
            let exposed = secret::exposed(&reader, "url", ELSEWHERE).filter(|_| url.has_password());
            (url, None, exposed)
        }
    };
    let read = read_service_time(&mut reader, "read", value::duration);
    let pool = reader.listed_whole("pool");
    reader.finish();
    DatabaseSpec {
        url,
        url_env,
        exposed,
        read: read.unwrap_or(ServiceTime::ZERO),
        pool,
    }
}

fn of_variable(value: &Value) -> Result<(DatabaseUrl, String), String> {
    let (name, url) = secret::variable(value, "the URL itself belongs to database.url")?;
    match url.parse() {
        _ if url.is_empty() => Err(format!(
            "the environment variable {name} is missing or empty; it must hold the database's URL"
        )),
        Ok(url) => Ok((url, name)),
        Err(why) => Err(format!("the URL in the environment variable {name}: {why}")),
    }
}
