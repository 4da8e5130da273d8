//! The console: the terminal app. It sees snapshots and sends commands; it knows nothing about how a run works. Of a record it makes the
//! snapshots itself (`past`).
//!
//! [`App`] is the state (messages in, intents out), `views` draws it, [`keys`] is the one table of keys, and [`open`]
//! connects a terminal and runs to them.

mod actions;
mod app;
pub mod ascii;
mod axis;
mod cast;
mod filter;
mod hint;
mod inputs;
pub mod keys;
mod knobs;
mod lanes;
mod mouse;
mod options;
mod orders;
mod palette;
mod past;
mod past_figures;
pub mod picture;
mod plot;
mod replay;
mod samples;
mod save;
mod score;
mod scrub;
mod session;
mod stuck;
mod terminal;
mod text;
mod theme;
mod ttls;
pub mod views;

pub use app::{App, Intent, Message, Saving, View};
pub use cast::Cast;
pub use knobs::{KnobKind, Turn};
pub use options::{ConsoleError, ConsoleOptions, Exit};
pub use session::{open, view};
pub use theme::ThemeName;
