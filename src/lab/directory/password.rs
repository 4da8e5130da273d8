//! The password of all nodes of a lab. It is made for this lab, and the servers get it in a file that only this user can
//! read.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rand::TryRng;
use rand::rngs::SysRng;

use crate::error::LabError;
use lockstorm_base::input;

/// The file in the run directory. Servers read it as their configuration file at each start.
const FILE: &str = "nodes.conf";
/// The largest such file that is read, in MB.
const LARGEST: u64 = 1;
/// The start of the line with a node's own password.
const OWN: &str = "requirepass ";

/// The password, and its file.
#[derive(Clone)]
pub(crate) struct Password {
    text: String,
    pub file: PathBuf,
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the password.
        f.debug_struct("Password")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl Password {
    /// Makes a random password and writes its file.
    pub(crate) fn create(run_dir: &Path) -> Result<Self, LabError> {
        let file = run_dir.join(FILE);
        let text = draw().map_err(LabError::cannot_create(&file))?;
        create_file(&file, format!("{OWN}{text}\nmasterauth {text}\n"))?;
        Ok(Self { text, file })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Creates a file that only this user can read.
pub(crate) fn create_file(path: &Path, content: impl AsRef<[u8]>) -> Result<(), LabError> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(content.as_ref()))
        .map_err(LabError::cannot_create(path))
}

/// The password in a run directory; `None` if its nodes require none.
pub(crate) fn read(run_dir: &Path) -> io::Result<Option<String>> {
    match input::open_own(&run_dir.join(FILE)).and_then(|file| input::whole(&file, LARGEST)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => Ok(String::from_utf8_lossy(&text?)
            .lines()
            .find_map(|line| line.strip_prefix(OWN))
            .map(ToOwned::to_owned)),
    }
}

/// 256 bits from the system's random generator, in hexadecimal.
fn draw() -> io::Result<String> {
    let mut bytes = [0; 32];
    SysRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_and_new_each_time_and_not_shown() {
        let (one, two) = (draw().unwrap(), draw().unwrap());
        assert!(one.len() == 64 && one != two);
        let password = Password {
            text: one.clone(),
            file: FILE.into(),
        };
        assert!(!format!("{password:?}").contains(&one));
    }
}
