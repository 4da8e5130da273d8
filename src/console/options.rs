//! How the console looks, and how it ends.

use std::path::PathBuf;
use std::sync::Arc;

use super::cast::Cast;
use super::theme::ThemeName;
use lockstorm_base::Stop;
use lockstorm_run::Record;

/// How the console looks, and where it saves.
#[derive(Debug, Clone, Default)]
pub struct ConsoleOptions {
    /// The theme to start with.
    pub theme: ThemeName,
    /// Whether to use colours.
    pub colours: bool,
    /// Whether to draw with ASCII characters only.
    pub ascii: bool,
    /// Whether a scenario is told about before it starts.
    pub briefing: bool,
    /// The directory that the save key writes to.
    pub save_dir: PathBuf,
    /// What the terminal shows is recorded there.
    pub cast: Option<Arc<Cast>>,
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
