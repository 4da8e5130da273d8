//! Draws the progress bar on a terminal with escape sequences, through standard error and without ever waiting for it.

use std::io::{self, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::TermLike;

use lockstorm_base::output;

/// Collects the text of a drawing until it is complete.
#[derive(Debug, Default)]
pub(super) struct Pen {
    picture: Mutex<String>,
}

impl Pen {
    fn picture(&self) -> MutexGuard<'_, String> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[expect(clippy::unnecessary_wraps, reason = "what `TermLike` wants of each of its moves")]
    fn step(&self, n: usize, direction: char) -> io::Result<()> {
        if n > 0 {
            self.picture().push_str(&format!("\u{1b}[{n}{direction}"));
        }
        Ok(())
    }
}

impl TermLike for Pen {
    fn width(&self) -> u16 {
        // If a terminal can't report its width, assume the classic 80 columns.
        rustix::termios::tcgetwinsize(stderr()).map_or(80, |size| size.ws_col.max(1))
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.step(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.step(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.step(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.step(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)?;
        self.write_str("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.picture().push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        output::stderr().write(std::mem::take(&mut *self.picture()));
        Ok(())
    }
}
