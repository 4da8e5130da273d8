//! What was found while an effect was looked for.

use std::time::Instant;

use lockstorm_data::model::{Finding, Observer, Proof, Verified};

/// What was found on a node, or on a connection.
#[derive(Debug)]
pub(crate) struct Found {
    of: String,
    /// Since when all of it holds.
    since: Option<Instant>,
    proof: Vec<Proof<Instant>>,
}

impl Found {
    /// Nothing yet.
    pub(crate) const fn on(of: String) -> Self {
        Self {
            of,
            since: None,
            proof: Vec::new(),
        }
    }

    /// Adds what is so just now.
    pub(crate) fn add(&mut self, finding: Finding, by: Observer) {
        self.add_since(Instant::now(), finding, by);
    }

    /// Adds what only time could show: it is so since the answer was due that is late, or has not come.
    pub(crate) fn add_since(&mut self, since: Instant, finding: Finding, by: Observer) {
        self.since = self.since.max(Some(since));
        self.proof.push(Proof {
            finding,
            by,
            of: self.of.clone(),
            at: Instant::now(),
        });
    }
}

/// What is proved by all of this, since all of it holds.
pub(crate) fn verified(found: Vec<Found>) -> Verified<Instant> {
    let last = found.iter().filter_map(|found| found.since).max();
    Verified {
        at: last.unwrap_or_else(Instant::now),
        proof: found.into_iter().flat_map(|found| found.proof).collect(),
    }
}
