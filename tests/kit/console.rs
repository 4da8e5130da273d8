//! The console of the real binary in a pseudo-terminal of its own.

use std::cell::RefCell;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, PtyPair, PtySize, native_pty_system};
use tempfile::TempDir;
use vt100::Parser;

use super::lab::process_state;
use super::program::program;

/// How long anything may take on the slowest machine before a test gives up.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// The states of a terminal's reader: it reads, it does not read, it reads what is there and ends, it ends.
const ON: u8 = 0;
const STILL: u8 = 1;
const LAST: u8 = 2;
const OFF: u8 = 3;

/// Columns and rows of a terminal.
pub type Size = (u16, u16);

/// A lockstorm in a terminal, with its working directory, which contains a directory for its labs. Killed when dropped.
pub struct Console {
    child: RefCell<Box<dyn Child + Send + Sync>>,
    /// `None` after a hang-up.
    terminal: Option<PtyPair>,
    keyboard: Option<Box<dyn Write + Send>>,
    reading: Arc<AtomicU8>,
    reader: Option<JoinHandle<()>>,
    parser: Arc<Mutex<Parser>>,
    written: Arc<Mutex<Vec<u8>>>,
    modes: String,
    place: TempDir,
}

impl Console {
    /// Starts `lockstorm ARGUMENTS` with these files in its working directory.
    pub fn start(size: Size, arguments: &[&str], files: &[(&str, &str)]) -> Self {
        Self::start_on("xterm-256color", size, arguments, files)
    }

    /// The same on a terminal of this kind.
    pub fn start_on(term: &str, size: Size, arguments: &[&str], files: &[(&str, &str)]) -> Self {
        let program = program();
        let words = [&[program.as_str()], arguments].concat();
        Self::start_words(&words, term, size, files)
    }

    /// The same in a shell that limits the number of open files.
    pub fn start_limited(most_files: u32, size: Size, arguments: &[&str], files: &[(&str, &str)]) -> Self {
        let shell = format!("ulimit -n {most_files} && exec \"$@\"");
        let lockstorm = program();
        let program = ["sh", "-c", &shell, "sh", &lockstorm];
        Self::start_words(&[&program, arguments].concat(), "xterm-256color", size, files)
    }

    fn start_words(words: &[&str], term: &str, size: Size, files: &[(&str, &str)]) -> Self {
        let place = TempDir::with_prefix("lockstorm-pty-").expect("a temporary directory");
        fs::create_dir(place.path().join("labs")).expect("an empty place");
        for (name, text) in files {
            fs::write(place.path().join(name), text).expect("a writable place");
        }
        let terminal = native_pty_system().openpty(pty_size(size)).expect("a pseudo-terminal");
        let modes = modes(&terminal);
        let parser = Arc::new(Mutex::new(Parser::new(size.1, size.0, 0)));
        let mut output = terminal.master.try_clone_reader().expect("a terminal can be read");
        let written = Arc::new(Mutex::new(Vec::new()));
        let reading = Arc::new(AtomicU8::new(ON));
        let reader = {
            let (screen, bytes, reading) = (Arc::clone(&parser), Arc::clone(&written), Arc::clone(&reading));
            let master = terminal.master.as_raw_fd().expect("a terminal of this system");
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
        command.cwd(place.path());
        command.env("TMPDIR", place.path().join("labs"));
        command.env("TERM", term);
        command.env_remove("NO_COLOR");
        let child = terminal.slave.spawn_command(command).expect("lockstorm starts");
        let keyboard = terminal.master.take_writer().expect("a terminal can be typed on");
        Self {
            child: RefCell::new(child),
            terminal: Some(terminal),
            keyboard: Some(keyboard),
            reading,
            reader: Some(reader),
            parser,
            written,
            modes,
            place,
        }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        let keyboard = self.keyboard.as_mut().expect("a terminal that is there");
        keyboard.write_all(keys.as_bytes()).expect("the terminal is open");
    }

    pub fn resize(&self, size: Size) {
        lock(&self.parser).screen_mut().set_size(size.1, size.0);
        let terminal = self.terminal.as_ref().expect("a terminal that is there");
        terminal.master.resize(pty_size(size)).expect("any size will do");
    }

    /// Closes the terminal, like a user who closes its window.
    pub fn hang_up(&mut self) {
        self.reading.store(OFF, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("a reader that has ended");
        }
        self.keyboard = None;
        self.terminal = None;
    }

    /// Reads nothing more from the terminal, which stays open.
    pub fn stop_reading(&self) {
        self.reading.store(STILL, Ordering::SeqCst);
    }

    /// The state of the process: `T` if it is stopped.
    pub fn state(&self) -> Option<char> {
        process_state(self.child.borrow().process_id()?)
    }

    /// Whether the terminal shows its alternate screen.
    pub fn has_the_screen(&self) -> bool {
        lock(&self.parser).screen().alternate_screen()
    }

    /// What the terminal shows now.
    pub fn screen(&self) -> Screen {
        let parser = lock(&self.parser);
        Screen {
            text: parser.screen().contents(),
        }
    }

    /// Waits until the screen looks like this.
    pub fn wait_for(&self, what: &str, mut is_so: impl FnMut(&Screen) -> bool) -> Screen {
        let end = Instant::now() + TEST_TIMEOUT;
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "not so: {what}\n{}", screen.text);
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the load is on and all of these hosts are up.
    pub fn wait_for_run(&self, hosts: usize) {
        self.wait_for("a run on hosts that are up", |screen| {
            screen.text.contains("▶ RUN") && (1..=hosts).all(|host| screen.host(host).contains("● UP"))
        });
    }

    pub fn signal(&self, signal: Signal) {
        let id = self
            .child
            .borrow()
            .process_id()
            .expect("the process of a child that runs");
        kill(pid(id), signal).expect("our own child");
    }

    /// The process of a host's node.
    pub fn node(&self, host: usize) -> Option<u32> {
        let living = processes(&self.labs());
        let own = living
            .into_iter()
            .find(|(_, cwd)| cwd.ends_with(format!("host-{host}")));
        own.map(|(process, _)| process)
    }

    /// Waits for lockstorm to end by itself. The terminal must be as it was, and nothing may be left. Returns the exit
    /// code and what the terminal shows.
    pub fn end(mut self) -> (u32, String) {
        let code = self.gone();
        // Nobody writes any more, but the last lines may still be in the terminal.
        self.reading.store(LAST, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("a reader that has ended");
        }
        {
            let parser = lock(&self.parser);
            assert!(!parser.screen().alternate_screen(), "the normal screen");
            assert!(!parser.screen().hide_cursor(), "its cursor");
        }
        assert!(!self.is_raw(), "modes of the terminal");
        (code, self.screen().text)
    }

    /// Waits until lockstorm has ended, no matter what happened to its terminal, and nothing of it is left.
    pub fn gone(&self) -> u32 {
        let mut code = None;
        self.wait_for("lockstorm has ended", |_| {
            code = self.child.borrow_mut().try_wait().expect("our own child");
            code.is_some()
        });
        let labs = self.labs();
        self.wait_for("no process and no directory of it is left", |_| {
            processes(&labs).is_empty() && fs::read_dir(&labs).is_ok_and(|mut left| left.next().is_none())
        });
        code.map_or(1, |status| status.exit_code())
    }

    /// Whether lockstorm has ever used the alternate screen.
    pub fn has_taken_the_screen(&self) -> bool {
        String::from_utf8_lossy(&lock(&self.written)).contains("\u{1b}[?1049h")
    }

    /// Whether lockstorm has ever moved the cursor, or cleared anything.
    pub fn has_moved_the_cursor(&self) -> bool {
        let written = String::from_utf8_lossy(&lock(&self.written)).into_owned();
        written.split("\u{1b}[").skip(1).any(|rest| {
            let code = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            code.starts_with(|c| "ABCDGHJKf".contains(c))
        })
    }

    /// The records that the save key has left.
    pub fn records(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.place.path()).expect("our own place").flatten();
        let is_record = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
        entries.map(|entry| entry.path()).filter(is_record).collect()
    }

    /// Whether the terminal is in another mode than at the start.
    pub fn is_raw(&self) -> bool {
        self.terminal
            .as_ref()
            .is_some_and(|terminal| modes(terminal) != self.modes)
    }

    pub fn labs(&self) -> PathBuf {
        self.place.path().join("labs")
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.reading.store(OFF, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        // Most tests have waited for its end; then there is nothing to do.
        let running = matches!(self.child.borrow_mut().try_wait(), Ok(None));
        if running {
            self.signal(Signal::SIGKILL);
            let _ = self.child.borrow_mut().wait();
        }
    }
}

/// What a terminal shows.
pub struct Screen {
    pub text: String,
}

impl Screen {
    /// What it says about a host: a box with its own row, or a part of a row.
    pub fn host(&self, host: usize) -> &str {
        let mut rows = self.text.lines().skip(1).take(2);
        let row = rows.find(|row| row.contains(['●', '✖', '‖'])).unwrap_or_default();
        let parts = row.split(['│', '┃']).flat_map(|part| part.split("host "));
        parts
            .filter(|part| !part.trim().is_empty())
            .nth(host - 1)
            .unwrap_or_default()
    }

    /// The port that it shows for a host.
    pub fn port(&self, host: usize) -> Option<u16> {
        let after = self.host(host).split(':').nth(1)?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    }

    /// What it says about the app servers.
    pub fn servers(&self) -> &str {
        let row = self.text.lines().find(|row| row.contains("app servers"));
        row.unwrap_or_default()
    }
}

/// The processes that work below `labs`, or were started to do so, with their working directories.
fn processes(labs: &Path) -> Vec<(u32, PathBuf)> {
    let ours = format!("TMPDIR={}", labs.display());
    let entries = fs::read_dir("/proc").expect("the processes").flatten();
    entries
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            let cwd = fs::read_link(entry.path().join("cwd")).ok()?;
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let has_labs = environment.split(|&byte| byte == 0).any(|one| one == ours.as_bytes());
            (has_labs || cwd.starts_with(labs)).then_some((process, cwd))
        })
        .collect()
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
fn modes(terminal: &PtyPair) -> String {
    format!("{:?}", terminal.master.get_termios())
}

const fn pty_size((cols, rows): Size) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

const fn pid(process: u32) -> Pid {
    Pid::from_raw(process.cast_signed())
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
