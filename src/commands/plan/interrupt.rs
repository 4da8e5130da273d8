//! A request to end while worlds are played: they stop, and what was played is kept.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lockstorm_base::Stop;
use signal_hook::flag;

use crate::failure::Failure;

/// Whether a signal has come.
pub struct Interrupt {
    /// Set when one comes.
    pub stop: Arc<AtomicBool>,
    code: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from now on.
    pub fn listen() -> Result<Self, Failure> {
        let (stop, code) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for request in Stop::all_heeded() {
            // In this order, so that whoever sees the flag finds the code.
            flag::register_usize(request as i32, Arc::clone(&code), request.exit_code().into())
                .and_then(|_| flag::register(request as i32, Arc::clone(&stop)))
                .map_err(|error| Failure::error(format!("cannot listen for signals: {error}")))?;
        }
        Ok(Self { stop, code })
    }

    /// The exit code of the signal, if one has come.
    pub fn code(&self) -> Option<ExitCode> {
        match self.code.load(Ordering::Relaxed) {
            0 => None,
            code => Some(ExitCode::from(u8::try_from(code).unwrap_or(crate::exit_code::ERROR))),
        }
    }
}
