//! A pseudo-terminal with a program in it: what it shows, and whether the program has left it as it was.

use std::io::{Read, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use portable_pty::{Child, CommandBuilder, PtyPair, PtySize, native_pty_system};
use vt100::Parser;

/// Columns and rows.
pub type Size = (u16, u16);

/// The states of the reader: it reads, it does not read, it reads what is there and ends, it ends.
const ON: u8 = 0;
const STILL: u8 = 1;
const LAST: u8 = 2;
const OFF: u8 = 3;

pub struct Terminal {
    /// `None` after a hang-up.
    pair: Option<PtyPair>,
    keyboard: Option<Box<dyn Write + Send>>,
    reading: Arc<AtomicU8>,
    reader: Option<JoinHandle<()>>,
    parser: Arc<Mutex<Parser>>,
    written: Arc<Mutex<Vec<u8>>>,
    modes: String,
}

impl Terminal {
    /// Starts a program with its arguments in a terminal of this kind and size, in a directory and with one for its labs.
    pub fn start(
        words: &[&str],
        term: &str,
        size: Size,
        dir: &Path,
        labs: &Path,
    ) -> (Self, Box<dyn Child + Send + Sync>) {
        let pair = native_pty_system().openpty(pty_size(size)).expect("a pseudo-terminal");
        let modes = modes(&pair);
        let parser = Arc::new(Mutex::new(Parser::new(size.1, size.0, 0)));
        let mut output = pair.master.try_clone_reader().expect("a terminal can be read");
        let written = Arc::new(Mutex::new(Vec::new()));
        let reading = Arc::new(AtomicU8::new(ON));
        let reader = {
            let (screen, bytes, reading) = (Arc::clone(&parser), Arc::clone(&written), Arc::clone(&reading));
            let master = pair.master.as_raw_fd().expect("a terminal of this system");
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                loop {
                    match reading.load(Ordering::SeqCst) {
                        OFF => return,
                        ON | LAST if has_something(master) => {}
                        LAST => return,
                        _ => {
                            thread::sleep(Duration::from_millis(2));
                            continue;
                        }
                    }
                    let Ok(n @ 1..) = output.read(&mut buffer) else { return };
                    lock(&bytes).extend_from_slice(&buffer[..n]);
                    lock(&screen).process(&buffer[..n]);
                }
            })
        };
        let mut command = CommandBuilder::new(words[0]);
        command.args(&words[1..]);
        command.cwd(dir);
        command.env("TMPDIR", labs);
        command.env("TERM", term);
        command.env_remove("NO_COLOR");
        let child = pair.slave.spawn_command(command).expect("the program starts");
        let keyboard = pair.master.take_writer().expect("a terminal can be typed on");
        let terminal = Self {
            pair: Some(pair),
            keyboard: Some(keyboard),
            reading,
            reader: Some(reader),
            parser,
            written,
            modes,
        };
        (terminal, child)
    }

    /// Presses keys. A program that has ended reads none, and a terminal that is gone has none.
    pub fn press(&mut self, keys: &str) {
        if let Some(keyboard) = &mut self.keyboard {
            keyboard.write_all(keys.as_bytes()).expect("the terminal is open");
        }
    }

    pub fn resize(&self, size: Size) {
        lock(&self.parser).screen_mut().set_size(size.1, size.0);
        let pair = self.pair.as_ref().expect("a terminal that is there");
        pair.master.resize(pty_size(size)).expect("any size will do");
    }

    /// Closes the terminal, like a user who closes its window.
    pub fn hang_up(&mut self) {
        self.end_reading(OFF);
        self.keyboard = None;
        self.pair = None;
    }

    /// Reads nothing more from the terminal, which stays open.
    pub fn stop_reading(&self) {
        self.reading.store(STILL, Ordering::SeqCst);
    }

    /// Reads what its last program has left in it.
    pub fn read_the_rest(&mut self) {
        self.end_reading(LAST);
    }

    fn end_reading(&mut self, how: u8) {
        self.reading.store(how, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("a reader does not panic");
        }
    }

    /// What it shows now.
    pub fn contents(&self) -> String {
        lock(&self.parser).screen().contents()
    }

    /// Everything that was written to it.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&lock(&self.written)).into_owned()
    }

    /// Whether it shows its alternate screen.
    pub fn has_alternate_screen(&self) -> bool {
        lock(&self.parser).screen().alternate_screen()
    }

    /// Whether it is in another mode than at the start.
    pub fn is_raw(&self) -> bool {
        self.pair.as_ref().is_some_and(|pair| modes(pair) != self.modes)
    }

    /// What a program has left otherwise than it was.
    pub fn faults(&self) -> Vec<&'static str> {
        let hides = lock(&self.parser).screen().hide_cursor();
        let all = [
            (self.has_alternate_screen(), "the alternate screen is on"),
            (hides, "the cursor is hidden"),
            (self.is_raw(), "the terminal is still raw"),
            (self.pair.is_none(), "the terminal is gone"),
        ];
        all.into_iter()
            .filter_map(|(is_so, fault)| is_so.then_some(fault))
            .collect()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.hang_up();
    }
}

/// Whether this descriptor of the terminal has something to read, or never will.
fn has_something(master: i32) -> bool {
    // SAFETY: the reader, which is the only caller, owns a copy of the terminal, and closing this one waits for the
    // reader.
    let master = unsafe { BorrowedFd::borrow_raw(master) };
    let mut fds = [PollFd::new(master, PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::from(20_u8)).is_ok_and(|ready| ready > 0)
}

/// The modes of a terminal as text: their type belongs to an indirect dependency.
fn modes(pair: &PtyPair) -> String {
    format!("{:?}", pair.master.get_termios())
}

const fn pty_size((cols, rows): Size) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
