use std::ops::{Index, IndexMut};

use crate::protocol::{Attempt, NodeSet, Time};

/// An attempt, with what the world has seen of it with its own eyes.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) attempt: Attempt,
    pub(super) app: usize,
    pub(super) worker: usize,
    pub(super) key: usize,
    /// The value of its keys; no other attempt has the same.
    pub(super) token: u64,
    /// Whether the worker still has to do with it.
    pub(super) owned: bool,
    /// Commands of it that are queued, or owe an answer.
    pub(super) jobs: u32,
    /// Whether those who wait for the key hear of the release.
    pub(super) announces: bool,
    /// Whether it was ever granted.
    pub(super) was_held: bool,
    /// Whether its loss was signalled.
    pub(super) lost: bool,
    /// The end of the validity that the world knows of.
    pub(super) valid_until: Option<Time>,
    /// The nodes that say that they have its key, and did not say later that it is gone.
    pub(super) granted: NodeSet,
    /// The nodes that a `Set` is under way to.
    pub(super) asked: NodeSet,
    /// The nodes that may have something of it, as far as any command or answer tells.
    pub(super) owes: NodeSet,
}

/// The attempts that are in use, by numbers that are used again.
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
        // Four thousand million attempts at a time have no room in any machine.
        u32::try_from(self.claims.len() - 1).unwrap_or(u32::MAX)
    }

    /// Frees the number of a claim that nothing names any more.
    pub(super) fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Forgets all of an app server that is gone.
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
    /// Whether a worker or a command still names it.
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
