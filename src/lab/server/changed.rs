//! Settings of a running node that a fault has changed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::server::sessions::words;
use lockstorm_lock::{Reply, Session};

/// What they were before. A server that is started again has its own settings.
#[derive(Debug, Default)]
pub(crate) struct Changed(Mutex<BTreeMap<&'static str, String>>);

impl Changed {
    /// Gives the node another setting.
    pub(crate) async fn set(&self, session: &mut Session, name: &'static str, value: &str) -> Result<(), String> {
        let before = order(session, &["CONFIG", "GET", name]).await?;
        let before = Reply::field(before.parts(), name).ok_or_else(|| format!("it has no setting {name}"))?;
        self.before().entry(name).or_insert_with(|| before.to_owned());
        order(session, &["CONFIG", "SET", name, value]).await.map(drop)
    }

    /// Gives the node the settings back that it had.
    pub(crate) async fn undo(&self, session: &mut Session) -> Result<(), String> {
        let before = self.before().clone();
        for (name, value) in &before {
            order(session, &["CONFIG", "SET", name, value]).await?;
        }
        self.forget();
        Ok(())
    }

    /// Notes that the node has its own settings again.
    pub(crate) fn forget(&self) {
        self.before().clear();
    }

    fn before(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn order(session: &mut Session, command: &[&str]) -> Result<Reply, String> {
    let answer = session.order(command).await;
    answer.map_err(|error| format!("{} {}: {}", command[0], command[2], words(&error)))
}
