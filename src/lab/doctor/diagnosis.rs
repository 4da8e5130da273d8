use serde::Serialize;

use super::checks;
use super::facts::Facts;
use super::finding::{Finding, Verdict};
use super::lock_use::LockUse;
use lockstorm_data::model::printable;

/// Everything that was found.
#[derive(Debug, Clone, Serialize)]
pub struct Diagnosis {
    /// What follows from it.
    pub fitness: Fitness,
    /// The findings: those of each server in order, then those of the set.
    pub findings: Vec<Finding>,
}

/// Whether the servers are fit for locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// Nothing speaks against it.
    Fit,
    /// Something has to be changed first.
    Unfit,
    /// Something could not be told.
    Unknown,
}

impl Diagnosis {
    /// What the facts say of servers for such locks.
    pub fn of(facts: &[Facts], lock_use: &LockUse) -> Self {
        let mut findings = Vec::new();
        for server in facts {
            let found = checks::of_server(server, lock_use).into_iter();
            let named = |finding: Finding| Finding {
                server: Some(server.name.clone()),
                // Whatever a server says, it must not reach a terminal as more than text.
                seen: printable(&finding.seen),
                ..finding
            };
            findings.extend(found.map(named));
        }
        findings.extend(checks::of_set(facts));
        let worst = findings.iter().map(|finding| finding.verdict).max();
        let fitness = match worst {
            Some(Verdict::Bad) => Fitness::Unfit,
            Some(Verdict::Unknown) | None => Fitness::Unknown,
            Some(Verdict::Good | Verdict::Warning) => Fitness::Fit,
        };
        Self { fitness, findings }
    }

    /// How many findings have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.verdict == verdict)
            .count()
    }
}
