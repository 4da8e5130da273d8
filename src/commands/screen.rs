//! The terminal that the console is shown on, and the recording of it.

use std::io::{IsTerminal, stdin, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockstorm::console::{Cast, ConsoleOptions, ascii};
use lockstorm::report::is_dumb;
use lockstorm_base::output::{Stream, begin};

use super::colour;
use crate::cli::{Look, Screen};
use crate::failure::Failure;

/// Whether there is a terminal for the console. One that can't move its cursor is none.
pub fn can_show() -> bool {
    stdin().is_terminal() && stdout().is_terminal() && !is_dumb()
}

/// How the console is to look. A recording of it has begun.
pub fn options(screen: &Screen, look: Look) -> Result<ConsoleOptions, Failure> {
    Ok(ConsoleOptions {
        theme: screen.theme.unwrap_or_default(),
        colours: colour::wanted(look.color),
        ascii: look.ascii || ascii::wanted(true),
        briefing: false,
        save_dir: PathBuf::from("."),
        cast: screen.cast.as_deref().map(begin_cast).transpose()?,
    })
}

/// Begins a recording of the terminal. Nobody waits for its disk.
fn begin_cast(path: &Path) -> Result<Arc<Cast>, Failure> {
    let cannot = |error| Failure::usage(format!("cannot write the cast to {}: {error}", path.display()));
    Ok(Arc::new(Cast::new(Stream::unbounded(begin(path).map_err(cannot)?))))
}

/// Waits until the recording is written.
pub fn settle(cast: Option<Arc<Cast>>) -> Result<(), Failure> {
    match cast.and_then(|cast| cast.settle().err()) {
        Some(error) => Err(Failure::error(format!("the cast is cut off: {error}"))),
        None => Ok(()),
    }
}
