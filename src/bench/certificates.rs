//! Certificates for nodes that speak TLS, of an authority that this process trusts.
//!
//! A lock client of ours trusts whom `SSL_CERT_FILE` names, and an environment can't be changed soundly once there are
//! threads. So the program makes the files first, and then runs itself again, as the same process, with that variable set.

use std::env;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::lab::{RunDir, TlsFiles};

/// Tells the program, when it runs again, the name of the directory that the files are in.
const TOLD: &str = "LOCKSTORM_BENCH_CERTIFICATES";

const AUTHORITY: &str = "authority.pem";
const AUTHORITY_KEY: &str = "authority.key";
const NODE: &str = "node.pem";
const NODE_KEY: &str = "node.key";
const REQUEST: &str = "node.csr";
const EXTENSIONS: &str = "node.ext";

/// For how long they hold; a bench is over sooner.
const DAYS: u32 = 2;

/// The files, in a directory that goes when this is dropped, or is cleaned up as that of a lab is. They hold for two days.
#[derive(Debug)]
pub struct Certificates {
    dir: RunDir,
}

impl Certificates {
    /// Makes the files and runs this program again, with its arguments, as the process that it is; so returns only in
    /// the program that runs again. To be called before anything is started or said.
    ///
    /// # Errors
    /// Why there are none, in a line: usually since the program `openssl` is missing.
    pub fn trusted() -> Result<Self, String> {
        if cfg!(not(feature = "tls")) {
            return Err("this build has no TLS, which takes the feature `tls`".to_owned());
        }
        let cannot = |error: io::Error| format!("no certificates could be made: {error}");
        if let Some(found) = Self::told().map_err(cannot)? {
            return Ok(found);
        }
        let dir = RunDir::create().map_err(cannot)?;
        make(dir.path())?;
        let mut arguments = env::args_os();
        let mut again = Command::new(env::current_exe().map_err(cannot)?);
        if let Some(name) = arguments.next() {
            again.arg0(name);
        }
        // Nothing is dropped if it succeeds: the directory stays.
        let error = again
            .args(arguments)
            .env(TOLD, dir.name())
            .env("SSL_CERT_FILE", dir.path().join(AUTHORITY))
            .env_remove("SSL_CERT_DIR")
            .exec();
        Err(format!("the bench could not be run again with SSL_CERT_FILE: {error}"))
    }

    /// Those that this process made before it ran this program again; none if it did not, or somebody cleaned them up in
    /// between.
    fn told() -> io::Result<Option<Self>> {
        let Some(name) = env::var(TOLD).ok() else {
            return Ok(None);
        };
        let dir = RunDir::adopt(&name)?;
        let is_trusted = |dir: &RunDir| {
            env::var_os("SSL_CERT_FILE").is_some_and(|file| file == dir.path().join(AUTHORITY).into_os_string())
        };
        Ok(dir.filter(is_trusted).map(|dir| Self { dir }))
    }

    /// Where the files are.
    #[must_use]
    pub fn files(&self) -> TlsFiles {
        let file = |name: &str| self.dir.path().join(name);
        TlsFiles {
            certificate: file(NODE),
            key: file(NODE_KEY),
            authority: file(AUTHORITY),
        }
    }
}

/// Makes an authority and a certificate of its own for 127.0.0.1. The authority's key does not stay.
fn make(dir: &Path) -> Result<(), String> {
    let write = fs::write(dir.join(EXTENSIONS), "subjectAltName=IP:127.0.0.1\n");
    write.map_err(|error| format!("no certificates could be made: {error}"))?;
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout";
    for arguments in [
        format!("req -x509 {key} {AUTHORITY_KEY} -subj /CN=lockstorm -days {DAYS} -out {AUTHORITY}"),
        format!("req {key} {NODE_KEY} -subj /CN=node -out {REQUEST}"),
        format!(
            "x509 -req -in {REQUEST} -CA {AUTHORITY} -CAkey {AUTHORITY_KEY} -set_serial 1 -days {DAYS} -extfile {EXTENSIONS} \
             -out {NODE}"
        ),
    ] {
        openssl(dir, &arguments)?;
    }
    for file in [AUTHORITY_KEY, REQUEST, EXTENSIONS] {
        // It goes with its directory then.
        let _ = fs::remove_file(dir.join(file));
    }
    Ok(())
}

/// Runs it in this directory. No argument has a space in it.
fn openssl(dir: &Path, arguments: &str) -> Result<(), String> {
    let run = Command::new("openssl")
        .args(arguments.split(' '))
        .current_dir(dir)
        .stdin(Stdio::null())
        .output();
    match run {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let last = said
                .lines()
                .rfind(|line| !line.trim().is_empty())
                .unwrap_or("no reason");
            let last: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
            Err(format!("openssl made no certificates: {last}"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err("its certificates are made by the program openssl, which is not installed".to_owned())
        }
        Err(error) => Err(format!("openssl can't be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_files_are_left_than_the_nodes_need() {
        let place = tempfile::tempdir().unwrap();
        make(place.path()).unwrap();
        let files = fs::read_dir(place.path()).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [AUTHORITY, NODE_KEY, NODE]);
    }

    #[test]
    fn what_openssl_says_is_told() {
        let place = tempfile::tempdir().unwrap();
        let why = openssl(place.path(), "x509 -in nothing.pem").unwrap_err();
        assert!(why.starts_with("openssl made no certificates: "), "{why}");
    }
}
