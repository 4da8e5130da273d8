use serde::Serialize;

use super::checks;
use super::facts::Facts;
use super::finding::Finding;
use super::lock_use::LockUse;
use lockstorm_data::model::{CheckResult, printable};

/// Everything that was found.
#[derive(Debug, Clone, Serialize)]
pub struct Diagnosis {
    /// Whether the servers are fit for locks.
    pub result: CheckResult,
    /// The findings: those of each server in order, then those of the set.
    pub findings: Vec<Finding>,
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
        let worst = findings.iter().map(|finding| finding.result).max();
        Self {
            result: worst.unwrap_or(CheckResult::Inconclusive),
            findings,
        }
    }

    /// How many findings have this result; of those that held these are warnings.
    pub fn count(&self, result: CheckResult) -> usize {
        let findings = self.findings.iter().filter(|finding| !finding.is_good());
        findings.filter(|finding| finding.result == result).count()
    }
}
