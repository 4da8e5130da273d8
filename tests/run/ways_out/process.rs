//! A lockstorm under test. Its outputs are pipes or a pseudo-terminal, and each of them can be closed while it runs.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use portable_pty::{CommandBuilder, PtyPair, PtySize, native_pty_system};
use vt100::Parser;

use super::cell::Form;
use crate::live::living;

/// Columns and rows of the terminal.
const SIZE: (u16, u16) = (120, 36);
/// How long a reader may take to notice that it is to close.
const LOOK: u16 = 20;

/// A lockstorm. If it is still alive, it is killed when this is dropped.
pub struct Process {
    pid: Pid,
    code: Option<i32>,
    pub stdout: Output,
    pub stderr: Option<Output>,
    terminal: Option<Terminal>,
    /// Reaped by its id; kept for its handles.
    _child: Option<Child>,
}

/// What was read from a pipe or a terminal.
pub struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    over: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

struct Terminal {
    pty: Arc<Mutex<Option<Pty>>>,
    parser: Arc<Mutex<Parser>>,
    modes: String,
}

struct Pty {
    pair: PtyPair,
    keyboard: Box<dyn Write + Send>,
    screen: Box<dyn Read + Send>,
}

impl Process {
    /// Starts `lockstorm ARGUMENTS` in `dir`, its labs in `labs`.
    pub fn start(form: Form, arguments: &[String], dir: &Path, labs: &Path, nohup: bool) -> Self {
        let mut words: Vec<String> = Vec::new();
        if nohup {
            words.extend(["/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"].map(str::to_owned));
        }
        words.push(env!("CARGO_BIN_EXE_lockstorm").to_owned());
        words.extend_from_slice(arguments);
        match form {
            Form::Headless => Self::in_pipes(&words, dir, labs),
            Form::Console => Self::in_terminal(&words, dir, labs),
        }
    }

    fn in_pipes(words: &[String], dir: &Path, labs: &Path) -> Self {
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .current_dir(dir)
            .env("TMPDIR", labs)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("lockstorm starts");
        Self {
            pid: Pid::from_raw(child.id().cast_signed()),
            code: None,
            stdout: Output::of(child.stdout.take().expect("a pipe")),
            stderr: Some(Output::of(child.stderr.take().expect("a pipe"))),
            terminal: None,
            _child: Some(child),
        }
    }

    fn in_terminal(words: &[String], dir: &Path, labs: &Path) -> Self {
        let size = PtySize {
            rows: SIZE.1,
            cols: SIZE.0,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(&words[0]);
        command.args(&words[1..]);
        command.cwd(dir);
        command.env("TMPDIR", labs);
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        let modes = modes(&pair);
        let child = pair.slave.spawn_command(command).expect("lockstorm starts");
        let pid = child.process_id().expect("a child that runs has an id");
        let pty = Pty {
            keyboard: pair.master.take_writer().expect("a terminal can be typed on"),
            screen: pair.master.try_clone_reader().expect("a terminal can be read"),
            pair,
        };
        let pty = Arc::new(Mutex::new(Some(pty)));
        let parser = Arc::new(Mutex::new(Parser::new(SIZE.1, SIZE.0, 0)));
        Self {
            pid: Pid::from_raw(pid.cast_signed()),
            code: None,
            stdout: Output::of_terminal(&pty, &parser),
            stderr: None,
            terminal: Some(Terminal { pty, parser, modes }),
            _child: None,
        }
    }

    /// Sends it a signal. A process that has ended but was not waited for accepts signals too.
    pub fn signal(&self, signal: Signal) {
        if self.code.is_none() {
            kill(self.pid, signal).expect("our own child can be signalled");
        }
    }

    pub fn press(&self, keys: &str) {
        let terminal = self.terminal.as_ref().expect("a terminal");
        if let Some(pty) = lock(&terminal.pty).as_mut() {
            // If it has ended it reads no keys, which its end will show.
            let _ = pty.keyboard.write_all(keys.as_bytes());
        }
    }

    /// What the terminal shows; empty without a terminal.
    pub fn screen(&self) -> Option<String> {
        let terminal = self.terminal.as_ref()?;
        Some(lock(&terminal.parser).screen().contents())
    }

    /// Takes the terminal away, like a user who closes its window.
    pub fn close_terminal(&mut self) {
        let terminal = self.terminal.as_ref().expect("a terminal");
        lock(&terminal.pty).take();
        self.stdout.close();
    }

    /// What is wrong with the terminal now.
    pub fn terminal_faults(&self) -> Vec<&'static str> {
        let Some(terminal) = &self.terminal else {
            return Vec::new();
        };
        let mut faults = Vec::new();
        {
            let parser = lock(&terminal.parser);
            if parser.screen().alternate_screen() {
                faults.push("the alternate screen is on");
            }
            if parser.screen().hide_cursor() {
                faults.push("the cursor is hidden");
            }
        }
        match lock(&terminal.pty).as_ref() {
            Some(pty) if modes(&pty.pair) == terminal.modes => {}
            Some(_) => faults.push("the terminal is still raw"),
            None => faults.push("the terminal is gone"),
        }
        faults
    }

    /// Its exit code as in a shell, if it has ended.
    pub fn ended(&mut self) -> Option<i32> {
        if self.code.is_none() {
            self.code = match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(_, code)) => Some(code),
                Ok(WaitStatus::Signaled(_, signal, _)) => Some(128 + signal as i32),
                _ => None,
            };
        }
        self.code
    }

    /// Everything that it printed.
    pub fn said(&self) -> String {
        let mut all = self.stdout.text();
        all += &self.stderr.as_ref().map(Output::text).unwrap_or_default();
        all
    }

    /// The names of its threads.
    pub fn threads(&self) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid));
        let names = tasks.into_iter().flatten().flatten();
        names
            .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
            .map(|name| name.trim_end().to_owned())
            .collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = kill(self.pid, Signal::SIGKILL);
            let _ = waitpid(self.pid, None);
        }
        if let Some(terminal) = &self.terminal {
            lock(&terminal.pty).take();
        }
    }
}

impl Output {
    fn of(mut pipe: impl Read + AsFd + Send + 'static) -> Self {
        let (bytes, over) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (sink, closing) = (Arc::<Mutex<Vec<u8>>>::clone(&bytes), Arc::clone(&over));
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !closing.load(Ordering::Relaxed) {
                if is_readable(pipe.as_fd()) {
                    match pipe.read(&mut buffer) {
                        Ok(n @ 1..) => lock(&sink).extend_from_slice(&buffer[..n]),
                        _ => return,
                    }
                }
            }
        });
        Self {
            bytes,
            over,
            reader: Some(reader),
        }
    }

    fn of_terminal(pty: &Arc<Mutex<Option<Pty>>>, parser: &Arc<Mutex<Parser>>) -> Self {
        let (bytes, over) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let sink = Arc::<Mutex<Vec<u8>>>::clone(&bytes);
        let (pty, parser) = (Arc::clone(pty), Arc::clone(parser));
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                {
                    let mut pty = lock(&pty);
                    let Some(pty) = pty.as_mut() else { return };
                    let Some(fd) = pty.pair.master.as_raw_fd() else {
                        return;
                    };
                    // SAFETY: the master is open as long as `pty` is, and `pty` is locked here.
                    if is_readable(unsafe { BorrowedFd::borrow_raw(fd) }) {
                        match pty.screen.read(&mut buffer) {
                            Ok(n @ 1..) => {
                                lock(&sink).extend_from_slice(&buffer[..n]);
                                lock(&parser).process(&buffer[..n]);
                            }
                            _ => return,
                        }
                    }
                }
                // Other threads want the terminal too.
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self {
            bytes,
            over,
            reader: Some(reader),
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.bytes)).into_owned()
    }

    /// Closes the reading end. It is closed when this returns.
    pub fn close(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("a reader does not panic");
        }
    }
}

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::from(LOOK)).is_ok_and(|n| n > 0)
}

/// The modes of a terminal as text: their type belongs to an indirect dependency.
fn modes(pair: &PtyPair) -> String {
    format!("{:?}", pair.master.get_termios())
}

/// The keeper among the processes of `labs`.
pub fn keeper(labs: &Path) -> Option<Pid> {
    let is_keeper = |process: &i32| {
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        words.split(|&byte| byte == 0).nth(1) == Some(b"__keeper")
    };
    living(labs).into_iter().find(is_keeper).map(Pid::from_raw)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
