//! How the console looks, and how it ends.

use std::path::PathBuf;

use super::ascii;
use super::theme::ThemeName;
use lockstorm_base::Stop;
use lockstorm_run::Record;

/// How the console looks, and where it saves.
#[derive(Debug, Clone)]
pub struct ConsoleOptions {
    /// The theme to start with.
    pub theme: ThemeName,
    /// Whether to use colours. The default follows `NO_COLOR`.
    pub colours: bool,
    /// Whether to draw with ASCII characters only. The default follows the locale and `TERM`.
    pub ascii: bool,
    /// The directory that the save key writes to.
    pub save_dir: PathBuf,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            theme: ThemeName::default(),
            colours: !no_colour,
            ascii: ascii::wanted(),
            save_dir: PathBuf::from("."),
        }
    }
}

/// The result of the console when it closes.
#[derive(Debug, Default)]
pub struct Exit {
    /// The record of the last run that made one.
    pub record: Option<Record>,
    /// The signal that ended the console, or Ctrl-C.
    pub stop: Option<Stop>,
    /// Why the last run made no record.
    pub failure: Option<String>,
}

/// Why the console could not go on. The terminal has been restored by then.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// The terminal can't be set up or drawn on.
    #[error("the terminal can't be used: {0}")]
    Terminal(#[source] std::io::Error),
    /// A thread of the console did not start.
    #[error("the console can't listen to {what}: {source}")]
    Listen {
        /// What it can't listen to.
        what: &'static str,
        /// The reason.
        source: std::io::Error,
    },
}
