//! The console under full load, in a pseudo-terminal of 120×36 characters.

use std::error::Error;
use std::io::Read;
use std::thread::{self, JoinHandle};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

pub const SATURATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/saturation.toml");

pub struct Saturated {
    pub pid: u32,
    console: Box<dyn Child + Send + Sync>,
    terminal: Box<dyn MasterPty + Send>,
    /// Counts the bytes that the console draws.
    reader: JoinHandle<u64>,
}

impl Saturated {
    /// Starts the console, to run for this long at most, for example `1h`.
    pub fn start(duration: &str) -> Result<Self, Box<dyn Error>> {
        let pty = native_pty_system().openpty(PtySize {
            rows: 36,
            cols: 120,
            pixel_width: 0,
            pixel_height: 0,
        })?;
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_lockstorm"));
        command.args([SATURATION, "--duration", duration]);
        command.env("TERM", "xterm-256color");
        let console = pty.slave.spawn_command(command)?;
        let mut screen = pty.master.try_clone_reader()?;
        let reader = thread::spawn(move || {
            let mut drawn = 0_u64;
            let mut buffer = vec![0; 65536];
            while let Ok(n @ 1..) = screen.read(&mut buffer) {
                drawn += n as u64;
            }
            drawn
        });
        Ok(Self {
            pid: console.process_id().ok_or("the console has no process")?,
            console,
            terminal: pty.master,
            reader,
        })
    }

    /// The console's exit status, if it has ended.
    #[allow(dead_code)] // only one of the two benchmarks calls it
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Box<dyn Error>> {
        Ok(self.console.try_wait()?)
    }

    /// Kills the console by SIGKILL; the keeper cleans up. Returns the number of bytes that it drew.
    pub fn kill(mut self) -> Result<u64, Box<dyn Error>> {
        self.console.kill()?;
        self.console.wait()?;
        drop(self.terminal);
        Ok(self.reader.join().map_err(|_| "the reader of the screen failed")?)
    }
}
