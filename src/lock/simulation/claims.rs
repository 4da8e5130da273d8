use std::ops::{Index, IndexMut};

use crate::protocol::{Attempt, NodeSet, Time};

/// An attempt, and what the world itself has observed of it.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) attempt: Attempt,
    pub(super) app: usize,
    pub(super) worker: usize,
    pub(super) key: usize,
    /// The value of its keys; it is unique to the attempt.
    pub(super) token: u64,
    /// Whether its worker still uses it.
    pub(super) owned: bool,
    /// The number of its commands that are queued or not answered yet.
    pub(super) jobs: u32,
    /// Whether its release is announced to those who wait for the key.
    pub(super) announces: bool,
    /// Whether it was ever granted.
    pub(super) was_held: bool,
    /// Whether its loss was signalled.
    pub(super) lost: bool,
    /// The end of the validity as the world last saw it.
    pub(super) valid_until: Option<Time>,
    /// The end of its validity when it was last extended, and how often that was tried since then.
    pub(super) renewals: (Option<Time>, u32),
    /// The nodes that answered that they have its key, and have not answered since that it is gone.
    pub(super) granted: NodeSet,
    /// The nodes that a `Set` is under way to, or may be, since its connection broke.
    pub(super) asked: NodeSet,
    /// The nodes that may have its key, judged by all commands and answers so far.
    pub(super) owes: NodeSet,
}

/// The attempts in use, under numbers that are reused.
#[derive(Debug, Default)]
pub(super) struct Claims {
    claims: Vec<Claim>,
    free: Vec<u32>,
}

impl Claims {
    pub(super) fn insert(&mut self, claim: Claim) -> u32 {
        if let Some(id) = self.free.pop() {
            self[id] = claim;
            return id;
        }
        self.claims.push(claim);
        // No machine has room for 2^32 attempts at the same time.
        u32::try_from(self.claims.len() - 1).unwrap_or(u32::MAX)
    }

    /// Frees the number of a claim that nothing refers to any more.
    pub(super) fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Removes all claims of an app server that died.
    pub(super) fn remove_all_of(&mut self, app: usize) {
        for (id, claim) in (0u32..).zip(&mut self.claims) {
            if claim.app == app && claim.is_used() {
                (claim.owned, claim.jobs) = (false, 0);
                self.free.push(id);
            }
        }
    }

    pub(super) fn in_use(&self) -> usize {
        self.claims.len() - self.free.len()
    }
}

impl Claim {
    /// Whether a worker or a command still refers to it.
    pub(super) const fn is_used(&self) -> bool {
        self.owned || self.jobs > 0
    }
}

impl Index<u32> for Claims {
    type Output = Claim;

    fn index(&self, id: u32) -> &Claim {
        &self.claims[id as usize]
    }
}

impl IndexMut<u32> for Claims {
    fn index_mut(&mut self, id: u32) -> &mut Claim {
        &mut self.claims[id as usize]
    }
}
