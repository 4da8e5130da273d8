//! The console: the terminal app. It sees snapshots and sends commands; it knows nothing about how a run works.
//!
//! [`App`] is the state (messages in, intents out), `views` draws it, [`keys`] is the one table of keys, and [`open`]
//! connects a terminal and runs to them.

mod actions;
mod app;
pub mod ascii;
mod axis;
mod hint;
mod inputs;
pub mod keys;
mod knobs;
mod orders;
mod plot;
mod samples;
mod save;
mod score;
mod session;
mod stuck;
mod terminal;
mod text;
mod theme;
mod ttls;
pub mod views;

use std::path::PathBuf;

pub use app::{App, Intent, Message, Saving, View};
pub use knobs::{KnobKind, Turn};
pub use session::open;
pub use theme::ThemeName;

use crate::run::{Record, Stop};

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
