//! The terminal in raw mode on its alternate screen, and back again on every way out.

use std::io::{self, Stdout, Write, stdout};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};

/// Whether the terminal is ours now.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The thread that draws: when it panics the console is over.
static DRAWING: Mutex<Option<ThreadId>> = Mutex::new(None);
/// What other threads said in a panic while the terminal was ours: shown when it is given back.
static OVERHEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The terminal; dropping it restores it.
#[derive(Debug)]
pub(super) struct Screen {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal.
    pub fn open() -> io::Result<Self> {
        set_panic_hook();
        *DRAWING.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        TAKEN.store(true, Ordering::SeqCst);
        let opened = enable_raw_mode()
            .and_then(|()| execute!(stdout(), EnterAlternateScreen, SetTitle("lockstorm")))
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        match opened {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, once.
fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // The terminal may be gone (a hang-up): there is nobody left to tell then.
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let overheard = std::mem::take(&mut *OVERHEARD.lock().unwrap_or_else(PoisonError::into_inner));
    for text in overheard {
        let _ = writeln!(io::stderr(), "{text}");
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
