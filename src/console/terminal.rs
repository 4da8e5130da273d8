//! The terminal in raw mode on its alternate screen, and back again on every way out.

use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};

use nix::sys::signal::{Signal, raise};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};

use crate::output::{stderr, stdout};

/// Whether the terminal is ours now.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The thread that draws: when it panics the console is over.
static DRAWING: Mutex<Option<ThreadId>> = Mutex::new(None);
/// What other threads said in a panic while the terminal was ours: shown when it is given back.
static OVERHEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The terminal; dropping it restores it. Nobody waits for it while it is slow: what is drawn goes out in the background.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Ink>>,
    lost: bool,
}

impl Screen {
    /// Takes the terminal.
    pub fn open() -> io::Result<Self> {
        set_panic_hook();
        *DRAWING.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        let opened = take().and_then(|()| Terminal::new(CrosstermBackend::new(Ink::default())));
        match opened {
            Ok(terminal) => Ok(Self { terminal, lost: false }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Whether it has shown all that was drawn. Until then there is no use in drawing more.
    #[expect(clippy::unused_self, reason = "only who has the terminal may ask")]
    pub fn is_ready(&self) -> bool {
        stdout().waiting() == 0
    }

    /// Whether it has gone: its window was closed, its connection was lost.
    pub fn is_lost(&self) -> bool {
        self.lost || stdout().end().is_some()
    }

    /// Draws a picture. A terminal that can't be drawn on is lost.
    pub fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) {
        if !self.is_lost() {
            self.lost = self.terminal.draw(picture).is_err();
        }
    }

    /// Gives the terminal back and stops this process, as whoever sent SIGTSTP wants.
    pub fn suspend() {
        restore();
        // Our own process, by a signal that exists.
        let _ = raise(Signal::SIGSTOP);
    }

    /// Takes the terminal anew when this process goes on: others may have used it.
    pub fn resume(&mut self) {
        // The modes that it has now are the shell's.
        let _ = disable_raw_mode();
        // A new one draws all of the picture. To clear the old one would ask the terminal where its cursor is, and wait.
        match take().and_then(|()| Terminal::new(CrosstermBackend::new(Ink::default()))) {
            Ok(terminal) => self.terminal = terminal,
            Err(_) => self.lost = true,
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Collects what is drawn, and gives it to standard output picture by picture. It knows no errors: a terminal that has gone
/// must not make ratatui's own `Drop` print to a standard error that has gone with it, which would be a panic.
#[derive(Debug, Default)]
struct Ink(Vec<u8>);

impl Write for Ink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        stdout().write(std::mem::take(&mut self.0));
        Ok(())
    }
}

fn take() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    // A variable, because the macro names it more than once.
    let mut ink = Ink::default();
    execute!(ink, EnterAlternateScreen, Clear(ClearType::All), SetTitle("lockstorm"))
}

/// Gives the terminal back, once.
fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // The terminal may be gone (a hang-up), or nobody reads what it shows: there is nobody left to tell then.
    let mut ink = Ink::default();
    let _ = execute!(ink, LeaveAlternateScreen, Show);
    let _ = stdout().settle();
    let _ = disable_raw_mode();
    let overheard = std::mem::take(&mut *OVERHEARD.lock().unwrap_or_else(PoisonError::into_inner));
    for text in overheard {
        stderr().write(text + "\n");
    }
}

/// A panic of the drawing thread restores the terminal before it is reported; one of another thread (the run lives on)
/// is kept until the terminal is given back, because its words would be lost in the picture.
fn set_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let earlier = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let drawing = *DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
            if !TAKEN.load(Ordering::SeqCst) {
                earlier(info);
            } else if drawing == Some(thread::current().id()) {
                restore();
                earlier(info);
            } else {
                OVERHEARD
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(info.to_string());
            }
        }));
    });
}
