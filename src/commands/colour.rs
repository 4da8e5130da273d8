//! Whether there is colour.

use std::env;
use std::io::{IsTerminal, stdout};

use lockstorm::report::{Paint, is_dumb};

use crate::cli::{Color, Look};

/// Whether standard output is coloured.
pub fn wanted(color: Color) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => stdout().is_terminal() && !no_color() && !is_dumb(),
    }
}

/// How text is painted: with colours if standard output is coloured.
pub fn paint(look: Look) -> Paint {
    if wanted(look.color) { Paint::On } else { Paint::Off }
}

/// Whether the environment asks for no colour: <https://no-color.org>.
fn no_color() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
