//! Faults on hosts, and their end. Each returns when its effect is proved.

use std::time::{Duration, Instant};

use super::keeper::Kick;
use super::node::Node;
use super::{Effect, HostState, Lab, LabError, probe};
use crate::model::{Action, HostId};

/// How long a process may take to be killed, to stop or to go on.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a node may take to save and end after SIGTERM.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(10);

impl Lab {
    /// Does `action` to `host` and returns when the effect is verified: a killed or shut down host is reaped and its port
    /// refuses, a paused one is reported stopped by the kernel, a resumed or restarted one answers PING with its data loaded.
    ///
    /// # Errors
    /// When the action makes no sense in the host's state, or its effect does not show.
    pub async fn apply(&self, action: Action, host: HostId) -> Result<Effect, LabError> {
        let node = self.host(host)?;
        let _turn = node.turn.lock().await;
        if let Some(why) = obstacle(action, &self.state(host)) {
            return Err(LabError::Impossible { action, host, why });
        }
        let address = node.address;
        let unverified = |why: String| LabError::Unverified { action, host, why };
        let text = match action {
            Action::Kill | Action::Shutdown => {
                let (kick, patience) = match action {
                    Action::Kill => (Kick::Kill, PATIENCE),
                    _ => (Kick::Terminate, SHUTDOWN_PATIENCE),
                };
                self.kick(node, kick, patience, unverified, |state| {
                    matches!(state, HostState::Down { .. })
                })
                .await?;
                probe::refuses(address, PATIENCE).await.map_err(unverified)?;
                format!("its process is gone and port {} refuses", address.port())
            }
            Action::Pause => {
                self.kick(node, Kick::Stop, PATIENCE, unverified, |state| {
                    !matches!(state, HostState::Up { .. })
                })
                .await?;
                match self.state(host) {
                    HostState::Paused { .. } => "its process is stopped".to_owned(),
                    _ => return Err(unverified("it went down instead".to_owned())),
                }
            }
            Action::Resume => {
                self.kick(node, Kick::Continue, PATIENCE, unverified, |state| {
                    !matches!(state, HostState::Paused { .. })
                })
                .await?;
                let pid = self
                    .pid(host)
                    .ok_or_else(|| unverified("it went down instead".to_owned()))?;
                probe::answers(address, pid, PATIENCE).await.map_err(unverified)?;
                "it answers again".to_owned()
            }
            Action::Restart => {
                node.restart(&self.client).await?;
                format!("it answers on port {}", address.port())
            }
        };
        Ok(Effect {
            at: Instant::now(),
            text,
        })
    }

    /// Sends a signal and waits until the keeper reports a state that `done` accepts.
    async fn kick(
        &self,
        node: &Node,
        kick: Kick,
        patience: Duration,
        unverified: impl Fn(String) -> LabError,
        done: impl Fn(&HostState) -> bool,
    ) -> Result<(), LabError> {
        self.client.signal(node.id, kick)?;
        let seen = self.client.wait_slot(node.id, patience, |slot| {
            // The state first: a process that ended by itself in this moment could not be signalled, and is down.
            if done(&slot.state) {
                Some(Ok(()))
            } else {
                slot.error.clone().map(Err)
            }
        });
        match seen.await? {
            Some(seen) => seen.map_err(unverified),
            None => Err(unverified(format!("no effect of the signal within {patience:?}"))),
        }
    }
}

/// Why the action makes no sense in this state, and what to do first.
fn obstacle(action: Action, state: &HostState) -> Option<String> {
    let why = match (action, state) {
        (Action::Kill | Action::Shutdown, HostState::Down { why, .. }) => format!("is down already ({why})"),
        (Action::Pause | Action::Resume, HostState::Down { why, .. }) => format!("is down ({why}); restart it first"),
        (Action::Pause, HostState::Paused { .. }) => "is paused already".to_owned(),
        (Action::Shutdown, HostState::Paused { .. }) => {
            "is paused and would not notice; resume it first, or kill it".to_owned()
        }
        (Action::Resume, HostState::Up { .. }) => "is not paused".to_owned(),
        (Action::Restart, HostState::Up { .. }) => "is up; kill it or shut it down first".to_owned(),
        (Action::Restart, HostState::Paused { .. }) => "is paused; resume it, or kill it first".to_owned(),
        (Action::Kill, HostState::Up { .. } | HostState::Paused { .. })
        | (Action::Shutdown | Action::Pause, HostState::Up { .. })
        | (Action::Resume, HostState::Paused { .. })
        | (Action::Restart, HostState::Down { .. }) => return None,
    };
    Some(why)
}
