//! Puts the terminal into raw mode on its alternate screen, and back again on every way out.

use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};

use nix::sys::signal::{Signal, raise};
use ratatui::backend::{CrosstermBackend, TestBackend};
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::DisableMouseCapture;
use ratatui::crossterm::execute;
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Size;
use ratatui::{Frame, Terminal};

use super::cast::Cast;
use super::picture::svg;
use lockstorm_base::output::{stderr, stdout};

/// Lets the terminal report buttons and the wheel, and not each movement as crossterm's own command does. (xterm's modes 1000 and 1006.)
const BUTTONS: &str = "\u{1b}[?1000h\u{1b}[?1006h";

/// Whether we have taken the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The thread that draws: if it panics, the console is over.
static DRAWING: Mutex<Option<ThreadId>> = Mutex::new(None);
/// Panic messages of other threads, which are printed once the terminal is restored.
static OVERHEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The terminal. Dropping this restores it. Frames are written in the background, so a slow terminal delays nobody.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Ink>>,
    lost: bool,
    cast: Option<Arc<Cast>>,
}

impl Screen {
    /// Takes over the terminal, and records it if there is a cast.
    pub fn open(cast: Option<Arc<Cast>>) -> io::Result<Self> {
        set_panic_hook();
        *DRAWING.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        let opened = take().and_then(|()| Terminal::new(CrosstermBackend::new(Ink::of(cast.as_ref()))));
        match opened {
            Ok(terminal) => Ok(Self {
                terminal,
                lost: false,
                cast,
            }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Whether it has shown everything that was drawn. Until then there is no point in drawing more.
    #[expect(clippy::unused_self, reason = "only who has the terminal may ask")]
    pub fn is_ready(&self) -> bool {
        stdout().waiting() == 0
    }

    /// Whether it is gone: its window was closed, or its connection was lost.
    pub fn is_lost(&self) -> bool {
        self.lost || stdout().end().is_some()
    }

    /// Draws a frame. If that fails, the terminal counts as lost.
    pub fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) {
        if let (Some(cast), Ok(size)) = (&self.cast, self.terminal.size()) {
            cast.size(size.width, size.height);
        }
        if !self.is_lost() {
            self.lost = self.terminal.draw(picture).is_err();
        }
    }

    /// What would be drawn, as a picture.
    pub fn picture(&self, picture: impl FnOnce(&mut Frame<'_>)) -> String {
        let size = self.terminal.size().unwrap_or(Size::new(120, 36));
        // Drawing into memory can't fail.
        let Ok(mut paper) = Terminal::new(TestBackend::new(size.width, size.height));
        let Ok(drawn) = paper.draw(picture);
        svg(drawn.buffer)
    }

    /// Restores the terminal and stops this process, as the sender of SIGTSTP wants.
    pub fn suspend() {
        restore();
        // The signal exists, and we may send it to ourselves.
        let _ = raise(Signal::SIGSTOP);
    }

    /// Takes over the terminal again when this process goes on: others may have used it.
    pub fn resume(&mut self) {
        // Its present modes are the shell's.
        let _ = disable_raw_mode();
        // A new terminal object redraws everything. Clearing the old one would ask the terminal for its cursor position,
        // and wait.
        match take().and_then(|()| Terminal::new(CrosstermBackend::new(Ink::of(self.cast.as_ref())))) {
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

/// Collects what is drawn, and passes it to standard output frame by frame. It never returns an error: if the terminal is
/// gone, ratatui's `Drop` would print that to a standard error that is gone too, and panic.
#[derive(Debug, Default)]
struct Ink {
    bytes: Vec<u8>,
    cast: Option<Arc<Cast>>,
}

impl Ink {
    fn of(cast: Option<&Arc<Cast>>) -> Self {
        Self {
            bytes: Vec::new(),
            cast: cast.cloned(),
        }
    }
}

impl Write for Ink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        if let Some(cast) = &self.cast {
            cast.shown(&bytes);
        }
        stdout().write(bytes);
        Ok(())
    }
}

fn take() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    // A variable, because the macro evaluates its argument more than once.
    let mut ink = Ink::default();
    execute!(
        ink,
        EnterAlternateScreen,
        Clear(ClearType::All),
        SetTitle("lockstorm"),
        Print(BUTTONS)
    )
}

/// Restores the terminal, once.
fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // The terminal may be gone, or nobody may be reading what it shows. Then there is nobody to tell.
    let mut ink = Ink::default();
    let _ = execute!(ink, DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = stdout().settle();
    let _ = disable_raw_mode();
    let overheard = std::mem::take(&mut *OVERHEARD.lock().unwrap_or_else(PoisonError::into_inner));
    for text in overheard {
        stderr().write(text + "\n");
    }
}

/// Lets a panic of the drawing thread restore the terminal before it is reported. The message of another thread's panic
/// (the run goes on) is kept until the terminal is restored, because it would garble the screen.
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
