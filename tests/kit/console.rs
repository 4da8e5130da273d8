//! The console of the real binary in a pseudo-terminal of its own.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use portable_pty::Child;
use tempfile::TempDir;

use super::lab::process_state;
use super::program::{program, send};
pub use super::terminal::Size;
use super::terminal::Terminal;

/// How long anything may take on the slowest machine before a test gives up.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// A lockstorm in a terminal, with its working directory, which contains a directory for its labs. Killed when dropped.
pub struct Console {
    child: RefCell<Box<dyn Child + Send + Sync>>,
    pub terminal: Terminal,
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
        let (terminal, child) = Terminal::start(words, term, size, place.path(), &place.path().join("labs"));
        Self {
            child: RefCell::new(child),
            terminal,
            place,
        }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.terminal.press(keys);
    }

    /// The state of the process: `T` if it is stopped.
    pub fn state(&self) -> Option<char> {
        process_state(self.child.borrow().process_id()?)
    }

    /// What the terminal shows now.
    pub fn screen(&self) -> Screen {
        let text = self.terminal.contents();
        Screen { text }
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
        let process = self.child.borrow().process_id();
        send(process.expect("the process of a child that runs"), signal);
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
        self.terminal.read_the_rest();
        assert!(self.terminal.faults().is_empty(), "{:?}", self.terminal.faults());
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
        self.terminal.written().contains("\u{1b}[?1049h")
    }

    /// Whether lockstorm has ever moved the cursor, or cleared anything.
    pub fn has_moved_the_cursor(&self) -> bool {
        let written = self.terminal.written();
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

    pub fn labs(&self) -> PathBuf {
        self.place.path().join("labs")
    }
}

impl Drop for Console {
    fn drop(&mut self) {
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
    /// What it says about a host: a part of the row of hosts, which is below the caption and a free row at most.
    pub fn host(&self, host: usize) -> &str {
        let mut rows = self.text.lines().skip(1).take(3);
        let row = rows.find(|row| row.contains(['●', '✖', '‖'])).unwrap_or_default();
        let parts = row.split("host ");
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
