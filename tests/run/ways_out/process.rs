//! A lockstorm under test. Its outputs are pipes or a pseudo-terminal, and each of them can be closed while it runs.

use std::fs;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use lockstorm_kit::terminal::{Size, Terminal};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::cell::Form;
use crate::live::living;

const SIZE: Size = (120, 36);
/// How long a reader may take to notice that it is to close, in milliseconds.
const LOOK: u16 = 20;

/// A lockstorm. If it is still alive, it is killed when this is dropped.
pub struct Process {
    pid: Pid,
    code: Option<i32>,
    /// Standard output and standard error, or neither in a terminal.
    pipes: Vec<Output>,
    terminal: Option<Terminal>,
    /// Reaped by its id; kept for its handles.
    _child: Option<Child>,
}

/// What was read from a pipe.
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    over: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
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
            pipes: vec![
                Output::of(child.stdout.take().expect("a pipe")),
                Output::of(child.stderr.take().expect("a pipe")),
            ],
            terminal: None,
            _child: Some(child),
        }
    }

    fn in_terminal(words: &[String], dir: &Path, labs: &Path) -> Self {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (terminal, child) = Terminal::start(&words, "xterm-256color", SIZE, dir, labs);
        let pid = child.process_id().expect("a child that runs has an id");
        Self {
            pid: Pid::from_raw(pid.cast_signed()),
            code: None,
            pipes: Vec::new(),
            terminal: Some(terminal),
            _child: None,
        }
    }

    /// Sends it a signal. A process that has ended but was not waited for accepts signals too.
    pub fn signal(&self, signal: Signal) {
        if self.code.is_none() {
            kill(self.pid, signal).expect("our own child can be signalled");
        }
    }

    pub fn press(&mut self, keys: &str) {
        self.terminal.as_mut().expect("a terminal").press(keys);
    }

    /// What the terminal shows; nothing without a terminal.
    pub fn screen(&self) -> Option<String> {
        self.terminal.as_ref().map(Terminal::contents)
    }

    /// Takes the terminal away, like a user who closes its window.
    pub fn close_terminal(&mut self) {
        self.terminal.as_mut().expect("a terminal").hang_up();
    }

    /// Closes the reading end of standard output.
    pub fn close_stdout(&mut self) {
        self.pipes[0].close();
    }

    /// Closes the reading end of standard error.
    pub fn close_stderr(&mut self) {
        self.pipes[1].close();
    }

    /// What is wrong with the terminal now.
    pub fn terminal_faults(&self) -> Vec<&'static str> {
        self.terminal.as_ref().map(Terminal::faults).unwrap_or_default()
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
        let shown = self.terminal.as_ref().map(Terminal::written);
        self.pipes.iter().map(Output::text).chain(shown).collect()
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

    fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.bytes)).into_owned()
    }

    /// Closes the reading end. It is closed when this returns.
    fn close(&mut self) {
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
