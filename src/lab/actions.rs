//! Faults on hosts, and their end. Each returns when its effect is proved.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::keeper::FaultSignal;
use super::node::Node;
use super::{Effect, HostState, Lab, LabError, probe};
use crate::model::{Action, HostId};

/// How long an effect may take until it is called late: a node may have to save before it ends, and to load before it
/// answers.
const LIMIT: Duration = Duration::from_secs(10);
/// A late effect is waited for as long as the lab is there; no lab is there for so long.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

impl Lab {
    /// Does `action` to `host` and returns when the effect is verified: a killed or shut down host is reaped and its port
    /// refuses, a paused one is reported stopped by the kernel, a resumed or restarted one answers PING with its data loaded.
    ///
    /// # Errors
    /// When the action makes no sense in the host's state, or fails. [`LabError::NotYet`] is not the end of it: the effect
    /// may still come, and [`Lab::comes_true`] waits for it.
    pub async fn apply(&self, action: Action, host: HostId) -> Result<Effect, LabError> {
        let node = self.host(host)?;
        let _turn = node.turn.lock().await;
        if let Some(why) = obstacle(action, &self.state(host)) {
            return Err(LabError::Impossible { action, host, why });
        }
        let signal = match action {
            Action::Kill => Some(FaultSignal::Kill),
            Action::Shutdown => Some(FaultSignal::Terminate),
            Action::Pause => Some(FaultSignal::Stop),
            Action::Resume => Some(FaultSignal::Continue),
            Action::Restart => None,
        };
        match signal {
            Some(signal) => self.client.signal(node.id, signal)?,
            None => node.restart(&self.client).await.map_err(|error| match error {
                LabError::NotAnswering { waited: within, .. } => LabError::NotYet { within },
                other => other,
            })?,
        }
        let late = |_| Err(LabError::NotYet { within: LIMIT });
        timeout(LIMIT, self.comes_true(action, host)).await.unwrap_or_else(late)
    }

    /// Waits until the effect of an action that was sent is verified, however long that takes.
    ///
    /// # Errors
    /// When it can't come any more: the host is in another state, or the keeper is gone.
    pub async fn comes_true(&self, action: Action, host: HostId) -> Result<Effect, LabError> {
        let node = self.host(host)?;
        let address = node.address;
        let unverified = |why: String| LabError::Unverified { action, host, why };
        let down = |state: &HostState| matches!(state, HostState::Down { .. });
        let text = match action {
            Action::Kill | Action::Shutdown => {
                self.reaches(node, down).await?.map_err(unverified)?;
                probe::refuses(address, FOREVER).await.map_err(unverified)?;
                format!("its process is gone and port {} refuses", address.port())
            }
            Action::Pause => {
                let stops = |state: &HostState| !matches!(state, HostState::Up { .. });
                self.reaches(node, stops).await?.map_err(unverified)?;
                match self.state(host) {
                    HostState::Paused { .. } => "its process is stopped".to_owned(),
                    _ => return Err(unverified("it went down instead".to_owned())),
                }
            }
            Action::Resume => {
                let goes_on = |state: &HostState| !matches!(state, HostState::Paused { .. });
                self.reaches(node, goes_on).await?.map_err(unverified)?;
                self.answers(node).await?.map_err(unverified)?;
                "it answers again".to_owned()
            }
            Action::Restart => {
                self.answers(node).await?.map_err(unverified)?;
                format!("it answers on port {}", address.port())
            }
        };
        Ok(Effect {
            at: Instant::now(),
            text,
        })
    }

    /// Whether the host is in the state already that `action` leads to, in words: `was down already (killed)`.
    #[must_use]
    pub fn already(&self, action: Action, host: HostId) -> Option<String> {
        match (action, self.state(host)) {
            (Action::Kill | Action::Shutdown, HostState::Down { why, .. }) => Some(format!("was down already ({why})")),
            (Action::Pause, HostState::Paused { .. }) => Some("was paused already".to_owned()),
            (Action::Resume | Action::Restart, HostState::Up { .. }) => Some("was up already".to_owned()),
            _ => None,
        }
    }

    /// Waits until the keeper reports a state that `done` accepts, or why the last signal was not sent.
    async fn reaches(&self, node: &Node, done: impl Fn(&HostState) -> bool) -> Result<Result<(), String>, LabError> {
        let seen = self.client.wait_slot(node.id, FOREVER, |slot| {
            // The state first: a process that ended by itself in this moment could not be signalled, and is down.
            if done(&slot.state) {
                Some(Ok(()))
            } else {
                slot.error.clone().map(Err)
            }
        });
        let never = || Err(format!("no effect of the signal within {FOREVER:?}"));
        Ok(seen.await?.unwrap_or_else(never))
    }

    /// Waits until the node's process answers, or has ended.
    async fn answers(&self, node: &Node) -> Result<Result<(), String>, LabError> {
        let Some(pid) = self.client.slot(node.id).pid else {
            return Ok(Err("it went down instead".to_owned()));
        };
        let gone = self.client.wait_slot(node.id, FOREVER, |slot| {
            (slot.pid != Some(pid)).then(|| "it went down instead".to_owned())
        });
        tokio::select! {
            answer = probe::answers(&node.access, pid, FOREVER) => Ok(answer),
            gone = gone => Ok(Err(gone?.unwrap_or_default())),
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
