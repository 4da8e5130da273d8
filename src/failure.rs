//! Why the program ends without having done what it was asked to do.

use std::fmt::Display;
use std::process::ExitCode;

use crate::exit_code;
use lockstorm_base::output::stderr;
use lockstorm_data::model::printable;

/// A message for the user, one mistake per line, with its exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// Something went wrong: exit code 1.
    pub fn error(message: impl Display) -> Self {
        Self {
            code: exit_code::ERROR,
            message: message.to_string(),
        }
    }

    /// The user asked for something impossible, and nothing was started: exit code 2.
    pub fn usage(message: impl Display) -> Self {
        Self {
            code: exit_code::USAGE,
            message: message.to_string(),
        }
    }

    /// The same with one more line, about what to do instead; not of a request that is to be mended.
    #[must_use]
    pub fn or_else(self, line: &str) -> Self {
        if self.code == exit_code::USAGE {
            return self;
        }
        let message = format!("{}\n{line}", self.message);
        Self { message, ..self }
    }

    /// What it says.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Prints it on standard error.
    pub fn report(&self) -> ExitCode {
        for line in self.message.lines() {
            tell(line);
        }
        ExitCode::from(self.code)
    }
}

/// Prints a warning for each of these lines.
pub fn warn(lines: impl IntoIterator<Item = impl Display>) {
    for line in lines {
        tell(&format!("warning: {line}"));
    }
}

/// Prints one line on standard error, without waiting until somebody reads it.
pub fn tell(line: &str) {
    stderr().write(format!("lockstorm: {}\n", printable(line)));
}
