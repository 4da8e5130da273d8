use lockstorm_data::facts::with_text;
use lockstorm_data::metrics::Quantiles;
use lockstorm_data::model::CheckResult;
use serde::Serialize;

use super::check::{Checked, VITAL};
use super::letter::Letter;
use super::reason::Reason;

/// What a client got.
#[derive(Debug, Clone, Serialize)]
pub struct Grades {
    /// Who was graded.
    pub client: String,
    /// The command that starts it; empty for one of this program's own locks.
    pub command: Vec<String>,
    /// On how many nodes its locks are.
    pub nodes: usize,
    /// The worst letter of those that were asked.
    pub letter: Letter,
    /// Whether all acts were played.
    pub complete: bool,
    /// What an acquire of a client that does nothing took in the first act, in microseconds: the cost of the pipe, which all times include.
    pub pipe_us: Option<Quantiles>,
    /// What a check has found wrong before.
    pub wrong: Vec<Checked>,
    /// One for each act.
    pub acts: Vec<Grade>,
}

/// What it got in an act.
#[derive(Debug, Clone, Serialize)]
pub struct Grade {
    /// The name of the act.
    pub act: &'static str,
    /// What happened in it.
    pub title: &'static str,
    /// The letter of the first reason.
    pub letter: Letter,
    /// Why not an A, the worst reason first; or why it was not asked.
    #[serde(serialize_with = "with_text")]
    pub why: Vec<Reason>,
    /// How many locks were acquired.
    pub acquired: u64,
    /// The 99th percentile of acquires that were granted, in microseconds.
    pub acquire_p99_us: u64,
}

impl Grades {
    /// Whether the lock keeps its promises: in the acts, but for those that are known to fail, and before them, in a check that has proved
    /// that it is broken.
    pub fn result(&self, known: &[String]) -> CheckResult {
        let broken = self.wrong.iter().any(|done| VITAL.contains(&done.tried));
        let acts = self.acts.iter().filter(|act| !known.iter().any(|name| name == act.act));
        let results = acts.map(|act| act.letter.result());
        let results = results.chain(broken.then_some(CheckResult::Failed));
        results.max().unwrap_or(CheckResult::Held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::facts::{Caveat, ClientFault, Order};
    use lockstorm_data::model::ServerId;
    use serde_json::json;

    #[test]
    fn json_has_each_reason_with_its_facts_and_its_sentence() {
        let grade = Grade {
            act: "overrun",
            title: "",
            letter: Letter::F,
            why: vec![
                Reason::HeldByTwo {
                    locks: 2,
                    early: 1,
                    removed_by: None,
                },
                Reason::StuckUntried,
                Reason::Caveat(Caveat::Client {
                    arm: "client".to_owned(),
                    server: ServerId(1),
                    fault: ClientFault::Failed {
                        quoted: "has ended".to_owned(),
                    },
                }),
                Reason::Caveat(Caveat::ClientError {
                    arm: "client".to_owned(),
                    server: ServerId(1),
                    to: Order::Acquire,
                    quoted: "no route".to_owned(),
                }),
            ],
            acquired: 0,
            acquire_p99_us: 0,
        };
        let why = serde_json::to_value(&grade).unwrap()["why"].clone();
        let text = |index: usize| grade.why[index].to_string();
        assert_eq!(
            why,
            json!([
                { "reason": "held_by_two", "locks": 2, "early": 1, "removed_by": null, "text": text(0) },
                { "reason": "stuck_untried", "text": text(1) },
                { "reason": "caveat", "caveat": "client", "arm": "client", "server": 1, "did": "failed", "quoted": "has ended", "text": text(2) },
                { "reason": "caveat", "caveat": "client_error", "arm": "client", "server": 1, "to": "acquire", "quoted": "no route", "text": text(3) },
            ])
        );
    }

    #[test]
    fn a_check_that_proves_a_broken_lock_outweighs_the_acts() {
        let finds = |tried| Grades {
            client: String::new(),
            command: Vec::new(),
            nodes: 1,
            letter: Letter::A,
            complete: true,
            pipe_us: None,
            wrong: vec![Checked {
                tried,
                right: Some(false),
                said: String::new(),
            }],
            acts: Vec::new(),
        };
        let result = |tried| finds(tried).result(&[]);
        assert!(VITAL.iter().all(|tried| result(tried) == CheckResult::Failed));
        assert_eq!(result("release after the TTL"), CheckResult::Held);
    }
}
