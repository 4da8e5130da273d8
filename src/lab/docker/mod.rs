//! A Docker engine, through its API: what the containers of a lab need of it.
//!
//! Everything that is made carries labels that say whose it is, and only what carries them is ever removed.

mod changes;
mod container;
mod image;
mod labels;
pub(super) mod leftovers;
mod network;

use std::error::Error as _;
use std::io;
use std::path::Path;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use tokio::time::timeout;

pub(super) use self::changes::Change;
pub(super) use self::container::{Container, Life};
pub(super) use self::image::program_of;
pub(super) use self::labels::Labels;
pub(super) use self::network::Network;

/// How long the engine may take to say which version it is.
const HELLO: Duration = Duration::from_secs(10);
/// Where Docker listens if nothing else is said.
const SOCKET: &str = "/var/run/docker.sock";

/// A connection to an engine, whose API version was agreed upon.
#[derive(Debug, Clone)]
pub(super) struct Engine(Docker, String);

impl Engine {
    /// The engine at `DOCKER_HOST`, or at its usual socket.
    ///
    /// # Errors
    /// In words, with what to do.
    pub(super) async fn connect() -> Result<Self, String> {
        let place = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        Self::at(&place.unwrap_or_else(|| format!("unix://{SOCKET}"))).await
    }

    /// The engine at this address.
    async fn at(place: &str) -> Result<Self, String> {
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
    fn place(&self) -> &str {
        &self.1
    }

    /// Removes all containers and networks with these labels, even paused ones, and returns how many containers that were.
    ///
    /// # Errors
    /// In words. What could be removed is gone then.
    pub(super) async fn remove_all(&self, labels: &Labels) -> Result<usize, String> {
        let mut failed = None;
        let containers = container::all(self, labels).await?;
        let count = containers.len();
        for container in containers {
            if let Err(error) = container.remove(self).await {
                failed.get_or_insert(error);
            }
        }
        if let Err(error) = network::remove_all(self, labels).await {
            failed.get_or_insert(error);
        }
        failed.map_or(Ok(count), Err)
    }
}

/// Why what listens there can't be used.
fn unusable(place: &str, error: &Error) -> String {
    match io_kind(error) {
        Some(io::ErrorKind::PermissionDenied) => format!(
            "no permission to use the Docker engine at {place}: run as a user who has it (often the group `docker`; it is as good \
             as being root)"
        ),
        Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
            format!("no Docker engine answers at {place}: start Docker, or set DOCKER_HOST to its address")
        }
        _ => format!("what listens at {place} is not a Docker engine ({error}): set DOCKER_HOST to one"),
    }
}

/// The error of the operating system behind another one.
fn io_kind(error: &Error) -> Option<io::ErrorKind> {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        source = error.source();
    }
    error.source().and(None)
}

/// What the engine says of a failure, without the words of the library.
fn said(error: Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.trim().to_owned(),
        other => other.to_string(),
    }
}

/// Whether the engine has no such thing, or not any more.
fn is_missing(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}
