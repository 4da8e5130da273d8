//! Finds a server program and asks it for its version.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::error::LabError;
use crate::server::containers::Containers;
use crate::server::programs::on_path;
use crate::server::version::{Flavour, OLDEST, Version};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The programs that are searched for; the first one found is used.
pub(crate) const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];
/// How long `--version` may take.
const VERSION_TIMEOUT: Duration = Duration::from_secs(3);
/// How many bytes are read of what `--version` prints.
const MOST_OUTPUT: u64 = 4096;

/// A server program that the lab can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerBinary {
    /// Its absolute path. Links are not resolved: Debian's `redis-server` is a link to a program that checks the name it
    /// is called by.
    pub path: PathBuf,
    /// The project it comes from.
    pub flavour: Flavour,
    /// Its version.
    pub version: Version,
    /// The containers that it is in, if nodes are containers; `path` is then the program's name there.
    pub containers: Option<Containers>,
}

impl fmt::Display for ServerBinary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flavour, self.version)?;
        match &self.containers {
            Some(containers) => write!(f, " of {containers}"),
            None => Ok(()),
        }
    }
}

impl ServerBinary {
    /// Finds the server to use: `explicit` if given (a path, or the name of a program on PATH), otherwise `redis-server`
    /// or `valkey-server`, on PATH and in the usual directories.
    ///
    /// # Errors
    /// [`LabError::NoServer`] names the command that installs one; other errors say that the program is too old, or not a
    /// server.
    pub fn find(explicit: Option<&Path>) -> Result<Self, LabError> {
        if let Some(path) = explicit {
            let named = path
                .to_str()
                .filter(|name| !name.contains('/') && !path.exists())
                .and_then(on_path);
            return Self::probe(&named.unwrap_or_else(|| path.to_owned()));
        }
        let mut candidates = PROGRAMS.into_iter().filter_map(on_path).map(|path| Self::probe(&path));
        let first = candidates.next().ok_or(LabError::NoServer)?;
        // A broken or old redis-server must not hide a good valkey-server.
        first.or_else(|error| candidates.find_map(Result::ok).ok_or(error))
    }

    /// Whether it is in containers that somebody else has made.
    pub(crate) const fn is_found(&self) -> bool {
        matches!(self.containers, Some(Containers::In(_)))
    }

    fn probe(path: &Path) -> Result<Self, LabError> {
        let not = |why: String| LabError::Other(format!("{} is not a redis-server: {why}", path.display()));
        let absolute = std::path::absolute(path).map_err(|error| not(error.to_string()))?;
        let output = version_output(&absolute).map_err(|error| not(error.to_string()))?;
        let (flavour, version) = parse(&output).ok_or_else(|| {
            let first = output.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let clean: String = first.chars().filter(|c| !c.is_control()).take(60).collect();
            if clean.is_empty() {
                not("it prints nothing for --version".to_owned())
            } else {
                not(format!("for --version it prints \"{clean}\""))
            }
        })?;
        let found = Self {
            path: absolute,
            flavour,
            version,
            containers: None,
        };
        match version < OLDEST {
            true => {
                Err(found
                    .too_old("6.2 is the oldest that works: install a newer one, or name one with --server-bin PATH"))
            }
            false => Ok(found),
        }
    }

    /// That it is too old, for this reason.
    pub(crate) fn too_old(&self, why: &str) -> LabError {
        let (path, version) = (self.path.display(), self.version);
        LabError::Other(format!("{path} has version {version}, but {why}"))
    }
}

/// What the program prints for `--version`. It may be any program, so its time and its output are limited.
pub(crate) fn version_output(path: &Path) -> io::Result<String> {
    let mut child = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let (send, receive) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut output = Vec::new();
            let read = stdout.take(MOST_OUTPUT).read_to_end(&mut output);
            // After VERSION_TIMEOUT nobody listens any more.
            let _ = send.send(read.map(|_| String::from_utf8_lossy(&output).into_owned()));
        });
    }
    let output = receive.recv_timeout(VERSION_TIMEOUT);
    // The whole group, to kill a script's children too. Usually all of it has ended by itself.
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
    child.wait()?;
    output.unwrap_or_else(|_| {
        Err(io::Error::other(format!(
            "--version did not answer within {VERSION_TIMEOUT:?}"
        )))
    })
}

pub(crate) fn parse(output: &str) -> Option<(Flavour, Version)> {
    output.lines().find_map(|line| {
        let (flavour, rest) = [
            ("Redis server v=", Flavour::Redis),
            ("Valkey server v=", Flavour::Valkey),
        ]
        .into_iter()
        .find_map(|(start, flavour)| Some((flavour, line.strip_prefix(start)?)))?;
        Some((flavour, Version::parse(rest.split_whitespace().next()?)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_lines() {
        let redis = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=8fa5b5bda8ed9a3b\n";
        assert_eq!(parse(redis), Some((Flavour::Redis, Version(7, 0, 15))));
        assert_eq!(
            parse("Valkey server v=8.1.0-rc1 sha=0:1 bits=64"),
            Some((Flavour::Valkey, Version(8, 1, 0)))
        );
        assert_eq!(
            parse("WARNING: noise\nRedis server v=6.2 x"),
            Some((Flavour::Redis, Version(6, 2, 0)))
        );
        for other in [
            "",
            "redis-cli 7.0.15",
            "Redis server v=",
            "Redis server v=x.y.z",
            "Redis server v=7",
            "\u{fffd}\0",
        ] {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(Version(10, 0, 0) > Version(6, 2, 0));
        assert!(Version(6, 0, 16) < OLDEST);
    }
}
