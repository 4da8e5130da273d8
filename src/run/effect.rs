//! What an action did, in words: the consequence first, so that a line that is cut loses the detail.

use std::time::Instant;

use super::engine::Engine;
use crate::metrics::units::{count, counted};
use crate::model::{Action, HostId, Target};
use crate::scenario::{LockKind, Persistence};

/// What became of an action.
#[derive(Debug)]
pub(super) enum Effect {
    /// Its effect was verified.
    Shown {
        /// When.
        at: Instant,
        /// How it was verified, in words.
        proof: String,
    },
    /// Its effect was not verified within its limit; it is still waited for.
    Late(String),
    /// It failed.
    Failed(String),
}

impl Engine {
    /// What it means that `action` on `target` took effect. `held`: locks that the host had when it was brought back.
    pub(super) fn meaning(&self, action: Action, target: Target, held: &[(usize, u64)]) -> String {
        match target {
            Target::Host(host) => self.meaning_on_host(action, host, held),
            Target::Server(server) => match action {
                Action::Kill => format!("{server} killed: its locks keep their TTL"),
                Action::Pause => format!("{server} paused: its timers and renewals stand still"),
                Action::Resume => format!("{server} resumed"),
                Action::Shutdown | Action::Restart => format!("{action} {server}"),
            },
        }
    }

    fn meaning_on_host(&self, action: Action, host: HostId, held: &[(usize, u64)]) -> String {
        let forgets = self.scenario.lab.persistence == Persistence::None;
        match action {
            Action::Kill => format!("{host} killed{}", self.consequence(host)),
            Action::Shutdown => format!("{host} shut down{}", self.consequence(host)),
            Action::Pause => format!("{host} paused{}", self.consequence(host)),
            Action::Resume => format!("{host} resumed"),
            Action::Restart if !forgets => format!("{host} is back with what it kept"),
            Action::Restart if held.is_empty() => format!("{host} is back EMPTY: no lock was held there"),
            Action::Restart => {
                let parts: Vec<String> = held.iter().map(|&(arm, locks)| self.forgotten(arm, locks)).collect();
                format!("{host} is back EMPTY: {}", parts.join("; "))
            }
        }
    }

    /// What it means for an arm that a host which had the keys of `locks` of its locks is empty.
    fn forgotten(&self, arm: usize, locks: u64) -> String {
        let spec = &self.arms[arm].spec;
        let hosts = self.scenario.lab.hosts;
        match spec.lock {
            LockKind::Redlock => format!("{} of {} keep {} of {hosts} votes", count(locks), spec.name, hosts - 1),
            _ => {
                let are = if locks == 1 { "is" } else { "are" };
                let held = counted(locks, "held lock", "held locks");
                format!("{held} of {} {are} forgotten", spec.name)
            }
        }
    }

    /// For each arm, by position, the locks that are held now and whose key is, or was, on `host`; arms without any are left
    /// out. Of a lock on several nodes only one with all votes is sure to have been there: those acquired while a host is
    /// away lack its vote.
    pub(super) fn locks_on(&self, host: HostId) -> Vec<(usize, u64)> {
        (0..self.arms.len())
            .filter(|&arm| match self.arms[arm].spec.lock {
                LockKind::Single => self.arms[arm].spec.host == host,
                LockKind::Redlock => true,
                LockKind::None | LockKind::Local => false,
            })
            .map(|arm| {
                let (holding, partial) = self.held(arm);
                (arm, holding.saturating_sub(partial))
            })
            .filter(|(_, locks)| *locks > 0)
            .collect()
    }
}
