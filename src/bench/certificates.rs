//! Certificates for nodes that speak TLS, signed by an authority that this process trusts.
//!
//! Our lock client trusts the authorities in the file that `SSL_CERT_FILE` names, and the environment can't be changed
//! safely once there are threads. So the program makes the files first, and then replaces itself with a new run of itself
//! that has the variable set.

use std::env;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use lockstorm_lab::{RunDir, TlsFiles};

/// Tells the second run the name of the directory with the files.
const DIRECTORY: &str = "LOCKSTORM_BENCH_CERTIFICATES";

const AUTHORITY: &str = "authority.pem";
const AUTHORITY_KEY: &str = "authority.key";
const NODE: &str = "node.pem";
const NODE_KEY: &str = "node.key";
const REQUEST: &str = "node.csr";
const EXTENSIONS: &str = "node.ext";

/// The days that the certificates are valid for; a bench is over sooner.
const DAYS: u32 = 2;

/// The certificate files. Their directory is removed when this is dropped, or cleaned up later like that of a lab.
#[derive(Debug)]
pub struct Certificates {
    dir: RunDir,
}

impl Certificates {
    /// Makes the files and then runs this program again, with its arguments, in the same process. So it returns
    /// successfully only in the second run. It must be called before anything is started or printed.
    ///
    /// # Errors
    /// Why there are no certificates, in one line: usually because the program `openssl` is missing.
    pub fn trusted() -> Result<Self, String> {
        if cfg!(not(feature = "tls")) {
            return Err("this build has no TLS: it needs the feature `tls`".to_owned());
        }
        let cannot = |error: io::Error| format!("cannot make certificates: {error}");
        if let Some(found) = Self::adopt().map_err(cannot)? {
            return Ok(found);
        }
        let dir = RunDir::create().map_err(cannot)?;
        make(dir.path())?;
        let mut arguments = env::args_os();
        let mut again = Command::new(env::current_exe().map_err(cannot)?);
        if let Some(name) = arguments.next() {
            again.arg0(name);
        }
        // If this succeeds, nothing is dropped, and the directory stays.
        let error = again
            .args(arguments)
            .env(DIRECTORY, dir.name())
            .env("SSL_CERT_FILE", dir.path().join(AUTHORITY))
            .env_remove("SSL_CERT_DIR")
            .exec();
        Err(format!("cannot run the bench again with SSL_CERT_FILE: {error}"))
    }

    /// The files that the first run made; `None` in the first run, or if somebody has cleaned them up since.
    fn adopt() -> io::Result<Option<Self>> {
        let Some(name) = env::var(DIRECTORY).ok() else {
            return Ok(None);
        };
        let dir = RunDir::adopt(&name)?;
        let is_trusted = |dir: &RunDir| {
            env::var_os("SSL_CERT_FILE").is_some_and(|file| file == dir.path().join(AUTHORITY).into_os_string())
        };
        Ok(dir.filter(is_trusted).map(|dir| Self { dir }))
    }

    /// Where the files are.
    pub fn files(&self) -> TlsFiles {
        let file = |name: &str| self.dir.path().join(name);
        TlsFiles {
            certificate: file(NODE),
            key: file(NODE_KEY),
            authority: file(AUTHORITY),
        }
    }
}

/// Makes an authority, and a certificate for 127.0.0.1 that it signs. The authority's key is removed.
fn make(dir: &Path) -> Result<(), String> {
    let write = fs::write(dir.join(EXTENSIONS), "subjectAltName=IP:127.0.0.1\n");
    write.map_err(|error| format!("cannot make certificates: {error}"))?;
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
        // If this fails, the file is removed with its directory.
        let _ = fs::remove_file(dir.join(file));
    }
    Ok(())
}

/// Runs openssl in this directory. No argument may contain a space.
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
                .unwrap_or("no message");
            let last: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
            Err(format!("openssl failed to make certificates: {last}"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err("its certificates need the program openssl, which is not installed".to_owned())
        }
        Err(error) => Err(format!("cannot run openssl: {error}")),
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
    fn an_error_has_the_message_of_openssl() {
        let place = tempfile::tempdir().unwrap();
        let why = openssl(place.path(), "x509 -in nothing.pem").unwrap_err();
        assert!(why.starts_with("openssl failed to make certificates: "), "{why}");
    }
}
