//! The options of a bench.

use std::path::PathBuf;
use std::time::Duration;

use super::case::{Case, Trouble};
use lockstorm_lab::{ServerBinary, TlsFiles};

/// What a bench measures, and with what.
#[derive(Debug, Clone)]
pub struct BenchOptions {
    /// The cases, in order.
    pub cases: Vec<Case>,
    /// The number of rounds, at least 1.
    pub rounds: usize,
    /// The length of the measured part of a round, unless the case changes it.
    pub time: Duration,
    /// The server program of all nodes.
    pub server: ServerBinary,
    /// The lockstorm executable that becomes the keeper; `None`: this program.
    pub keeper: Option<PathBuf>,
    /// Certificates for nodes that speak TLS, signed by an authority that this process trusts (see
    /// [`trusted`](super::Certificates::trusted)), or the reason why there are none.
    pub tls: Result<TlsFiles, String>,
}

impl BenchOptions {
    /// Roughly how long the bench will take.
    pub fn estimate(&self) -> Duration {
        // Starting, warming up, draining, and counting leftover keys.
        let around = Duration::from_millis(700);
        let rounds = u32::try_from(self.rounds).unwrap_or(u32::MAX);
        self.cases
            .iter()
            .map(|case| {
                let baseline = if case.trouble == Trouble::None {
                    Duration::ZERO
                } else {
                    self.time
                };
                let one = case.measured(self.time) + baseline + around;
                one * u32::try_from(case.contenders().len()).unwrap_or(u32::MAX) * rounds
            })
            .sum()
    }
}
