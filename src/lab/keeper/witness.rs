//! Looks at a server that is not ours.

use std::time::Duration;

use crate::server::sessions::{is_late, open, words};
use lockstorm_lock::{NodeAddress, Session, SessionError};

/// How long an answer, or a connection, may take.
const LIMIT: Duration = Duration::from_secs(1);

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// It answers.
    Up {
        /// A server that was started again has another one; `None` if it does not say.
        run_id: Option<String>,
    },
    /// It does not answer in time.
    Silent,
    /// It can't be asked, for this reason.
    Gone(String),
}

/// One who looks, over a connection that stays.
pub(super) struct Witness {
    address: NodeAddress,
    open: Option<(Session, Option<String>)>,
}

impl Witness {
    pub(super) const fn new(address: NodeAddress) -> Self {
        Self { address, open: None }
    }

    /// What the server does now.
    pub(super) async fn look(&mut self) -> Seen {
        if let Some((mut session, run_id)) = self.open.take() {
            match session.ask(&["PING"]).await {
                Ok(_) => {
                    self.open = Some((session, run_id.clone()));
                    return Seen::Up { run_id };
                }
                Err(error) if is_late(&error) => return Seen::Silent,
                // A connection may break although the server is there.
                Err(_) => {}
            }
        }
        match self.begin().await {
            Ok(run_id) => Seen::Up { run_id },
            Err(error) if is_late(&error) => Seen::Silent,
            Err(error) => Seen::Gone(words(&error)),
        }
    }

    /// Connects, and asks which server this is.
    async fn begin(&mut self) -> Result<Option<String>, SessionError> {
        let mut session = open(&self.address, LIMIT).await?;
        let info = session.ask(&["INFO", "server"]).await?;
        let mut lines = info.text().unwrap_or_default().lines();
        let run_id = lines.find_map(|line| Some(line.strip_prefix("run_id:")?.trim().to_owned()));
        self.open = Some((session, run_id.clone()));
        Ok(run_id)
    }
}
