//! SIGINT and SIGTERM while worlds are played: they stop, and what was played is kept.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::failure::Failure;

/// Whether a signal has come.
pub struct Interrupt {
    /// Set when one comes.
    pub stop: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from now on.
    pub fn listen() -> Result<Self, Failure> {
        let (stop, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for number in [SIGINT, SIGTERM] {
            signal_hook::flag::register(number, Arc::clone(&stop)).map_err(Failure::error)?;
            let which = usize::try_from(number).unwrap_or(0);
            signal_hook::flag::register_usize(number, Arc::clone(&signal), which).map_err(Failure::error)?;
        }
        Ok(Self { stop, signal })
    }

    /// The exit code of the signal, if one has come.
    pub fn code(&self) -> Option<ExitCode> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            number => Some(ExitCode::from(u8::try_from(128 + number).unwrap_or(1))),
        }
    }
}
