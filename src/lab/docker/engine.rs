//! The connection to an engine, and what it says of failures.

use std::io;
use std::path::Path;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use tokio::time::timeout;
use url::Url;

use crate::directory::report::Unasked;

/// How long the engine may take to say which version it is.
const HELLO: Duration = Duration::from_secs(10);
/// Where Docker listens if nothing else is said.
const SOCKET: &str = "/var/run/docker.sock";

/// A connection to an engine, whose API version was agreed upon.
#[derive(Debug, Clone)]
pub(crate) struct Engine(pub(super) Docker, String);

impl Engine {
    /// The engine at `DOCKER_HOST`, or at its usual socket.
    ///
    /// # Errors
    /// In words, with what to do.
    pub(crate) async fn connect() -> Result<Self, String> {
        let place = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        Self::at(&place.unwrap_or_else(|| format!("unix://{SOCKET}"))).await
    }

    /// The engine at `DOCKER_HOST`, or at its usual socket, for those who only want to know what is there; `None` if nothing says
    /// that there is an engine.
    ///
    /// # Errors
    /// There is one that was not asked.
    pub(super) async fn usual() -> Result<Option<Self>, Unasked> {
        let is_named = std::env::var_os("DOCKER_HOST").is_some_and(|host| !host.is_empty());
        match access(SOCKET, AccessFlags::R_OK | AccessFlags::W_OK) {
            Err(Errno::ENOENT) if !is_named => Ok(None),
            Err(Errno::EACCES) if !is_named => Err(Unasked::NotAllowed),
            _ => Self::connect().await.map(Some).map_err(Unasked::Silent),
        }
    }

    /// The engine at this address. What is wrong with an address that is none is not told with its text, which may contain a
    /// password.
    pub(super) async fn at(place: &str) -> Result<Self, String> {
        let place = &address(place).ok_or(
            "DOCKER_HOST can't be used as the address of a Docker engine: set it to unix:///PATH or tcp://HOST:PORT",
        )?;
        let path = place.strip_prefix("unix://");
        if let Some(path) = path
            && !Path::new(path).exists()
        {
            return Err(format!(
                "there is no Docker engine at {path}: start Docker, or set DOCKER_HOST to its address"
            ));
        }
        let docker = Docker::connect_with_host(place).map_err(|error| {
            format!(
                "{place} can't be used as a Docker engine ({error}): set DOCKER_HOST to unix:///PATH or tcp://HOST:PORT"
            )
        })?;
        match timeout(HELLO, docker.negotiate_version()).await {
            Ok(Ok(docker)) => Ok(Self(docker, place.to_owned())),
            Ok(Err(error)) => Err(unusable(place, &error)),
            Err(_) => Err(format!(
                "what listens at {place} has not answered like a Docker engine within {HELLO:?}: set DOCKER_HOST to one"
            )),
        }
    }

    /// Where it is.
    pub(super) fn place(&self) -> &str {
        &self.1
    }
}

/// The address without a user and a password, for which no engine asks; `None` if it is not one that can be used.
fn address(text: &str) -> Option<String> {
    match text.split_once("://")? {
        ("unix", path) => (path.starts_with('/') && !path.contains('?')).then(|| text.to_owned()),
        ("tcp" | "http", _) => {
            let url = Url::parse(text).ok()?;
            let is_bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
            let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
            is_bare.then_some(format!("{}://{}{port}", url.scheme(), url.host_str()?))
        }
        _ => None,
    }
}

/// Why what listens there can't be used.
fn unusable(place: &str, error: &Error) -> String {
    match io_kind(error) {
        Some(io::ErrorKind::PermissionDenied) => format!(
            "no permission to use the Docker engine at {place}: run as a user who has it (often one of the group `docker`; in the stack of \
             docker/compose.yaml set DOCKER_GID to the group of the socket); it is as good as being root"
        ),
        Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
            format!("no Docker engine answers at {place}: start Docker, or set DOCKER_HOST to its address")
        }
        _ => format!("what listens at {place} is not a Docker engine ({error}): set DOCKER_HOST to one"),
    }
}

/// The error of the operating system behind another one.
fn io_kind(error: &Error) -> Option<io::ErrorKind> {
    let sources = std::iter::successors(Some::<&dyn std::error::Error>(error), |error| error.source());
    let mut io = sources.filter_map(|error| error.downcast_ref::<io::Error>());
    io.next().map(io::Error::kind)
}

/// What the engine says of a failure, without the words of the library.
pub(super) fn said(error: Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.trim().to_owned(),
        other => other.to_string(),
    }
}

/// Whether the engine has no such thing, or not any more.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_used_and_shown_without_what_may_be_a_password() {
        for same in [
            "unix:///var/run/docker.sock",
            "unix:///run/user@1000/docker.sock",
            "tcp://127.0.0.1:2375",
            "tcp://engine.example:2375",
            "tcp://[::1]:2375",
            "tcp://engine.example",
            "http://127.0.0.1:2375",
        ] {
            assert_eq!(address(same).as_deref(), Some(same));
        }
        for login in ["me:s3cret", "s3cret", ":s3cret", "me:a@s3cret", "me:%2Fs3cret"] {
            let shown = address(&format!("tcp://{login}@127.0.0.1:2375"));
            assert_eq!(shown.as_deref(), Some("tcp://127.0.0.1:2375"), "{login}");
        }
        for none in [
            "",
            "nonsense",
            "me:s3cret@127.0.0.1",
            "tcp://me:s3cret",
            "tcp://me:s3/cret@127.0.0.1",
            "tcp://me:1/s3cret@127.0.0.1",
            "tcp://127.0.0.1?s3cret",
            "tcp://127.0.0.1#s3cret",
            "unix://me:s3cret@/var/run/docker.sock",
            "unix:///var/run/docker.sock?s3cret",
            "ssh://me:s3cret@127.0.0.1",
            "https://127.0.0.1:2376",
        ] {
            assert_eq!(address(none), None, "{none}");
        }
    }
}
