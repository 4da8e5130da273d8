//! Guests: programs of others that use the lab's nodes, one for each app server and lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Mutex as Turn;

use crate::imposed::Imposed;
use crate::protocol::Start;
use lockstorm_data::model::ServerId;

/// The variable of its environment with the socket at which a guest is awaited, for those who can't keep their stdout clean.
pub const SOCKET: &str = "LOCKSTORM_SOCKET";

/// The guests of a lab.
#[derive(Debug, Default)]
pub(crate) struct Guests {
    all: Mutex<Vec<Guest>>,
    /// Held while an action is under way, so that there is one at a time.
    pub(super) turn: Turn<()>,
}

/// One program. Cloned, it is the same.
#[derive(Debug, Clone)]
pub struct Guest {
    pub(super) server: ServerId,
    pub(super) start: Start,
    /// What is wrong with its clock.
    pub(super) imposed: Arc<Imposed>,
    /// Whether it was killed on order and not started again.
    is_killed: Arc<AtomicBool>,
    /// How often it was killed on order.
    kills: Arc<AtomicU64>,
}

impl Guests {
    pub(super) fn add(&self, guest: Guest) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(guest);
    }

    /// Those of an app server.
    pub(super) fn of(&self, server: ServerId) -> Vec<Guest> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|guest| guest.server == server).cloned().collect()
    }
}

impl Guest {
    pub(super) fn new(server: ServerId, start: Start) -> Self {
        Self {
            server,
            start,
            imposed: Arc::default(),
            is_killed: Arc::default(),
            kills: Arc::default(),
        }
    }

    /// Whether it was killed on order and not started again.
    pub(super) fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::Relaxed)
    }

    pub(super) fn set_killed(&self, is_killed: bool) {
        self.is_killed.store(is_killed, Ordering::Relaxed);
        self.kills.fetch_add(u64::from(is_killed), Ordering::Relaxed);
    }

    /// How often it was killed on order.
    pub(super) fn kills(&self) -> u64 {
        self.kills.load(Ordering::Relaxed)
    }
}
