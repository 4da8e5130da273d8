//! What to show of an arm that can't work now. Requests that have ended say nothing about those that are stuck, so this
//! takes the place of their figures.

use lockstorm_data::model::CauseKind;
use lockstorm_run::{ArmView, Health, Phase};

use super::text;

/// Marks an arm that is stuck.
const SIGN: &str = "▲ ";
/// The gap between two facts.
const GAP: &str = " · ";

/// Why an arm is stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stuck {
    /// What prevents it from working, in a few words.
    cause: String,
    /// The same for narrow columns.
    short: String,
    /// More facts, the most important first.
    facts: Vec<String>,
}

impl Stuck {
    /// Why an arm is stuck; `None` if it can work, or has nothing more to do.
    pub fn of(arm: &ArmView, phase: &Phase) -> Option<Self> {
        let at_work = matches!(phase, Phase::WarmUp | Phase::Running | Phase::Draining) && !arm.done;
        let (cause, short) = match &arm.live.health {
            _ if !at_work => return None,
            Health::Well => return None,
            Health::NodeDown(_) => ("NODE DOWN".to_owned(), "DOWN".to_owned()),
            Health::NoMaster => ("NO MASTER".to_owned(), "DOWN".to_owned()),
            Health::ClusterDown => ("CLUSTER DOWN".to_owned(), "DOWN".to_owned()),
            Health::NoQuorum { up, of } => (format!("NO QUORUM {up} of {of}"), format!("{up} of {of}")),
            Health::NoVote(cause) => {
                let cause = match cause {
                    CauseKind::Unreplicated => "replicas missing".to_owned(),
                    CauseKind::ReadOnly => "a replica now".to_owned(),
                    other => other.name().replace('_', " "),
                };
                (format!("BLOCKED: {cause}"), "BLOCKED".to_owned())
            }
            Health::Stalled(time) => (format!("STALLED {}", text::age(*time)), "STALL".to_owned()),
        };
        let mut facts = Vec::new();
        match arm.live.failed_attempts {
            0 => {}
            1 => facts.push("1 attempt failed in 5 s".to_owned()),
            failed => facts.push(format!("{} attempts failed in 5 s", text::count(failed))),
        }
        if let Some(wait) = arm.live.oldest_wait {
            facts.push(format!("oldest wait {}", text::age(wait)));
        }
        Some(Self { cause, short, facts })
    }

    /// The smallest number of columns that it needs.
    pub fn least(&self) -> usize {
        text::width(SIGN) + text::width(&self.short)
    }

    /// The columns of the cause alone.
    pub fn width(&self) -> usize {
        text::width(SIGN) + text::width(&self.cause)
    }

    /// The cause, if so many columns have no room for it.
    pub fn untold(self, columns: usize) -> Option<String> {
        (self.width() > columns).then_some(self.cause)
    }

    /// The cause, and as many facts as fit.
    pub fn within(&self, columns: usize) -> String {
        if self.width() > columns {
            return text::fit(&format!("{SIGN}{}", self.short), columns);
        }
        let mut said = format!("{SIGN}{}", self.cause);
        for fact in &self.facts {
            if text::width(&said) + text::width(GAP) + text::width(fact) <= columns {
                said = said + GAP + fact;
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_facts_give_way_before_the_cause() {
        let wait = text::age(Duration::from_millis(4_100));
        let stuck = Stuck {
            cause: "NODE DOWN".to_owned(),
            short: "DOWN".to_owned(),
            facts: vec!["214 attempts failed".to_owned(), format!("oldest wait {wait}")],
        };
        assert_eq!(
            stuck.within(60),
            "▲ NODE DOWN · 214 attempts failed · oldest wait 4.1 s"
        );
        assert_eq!(stuck.within(40), "▲ NODE DOWN · 214 attempts failed");
        assert_eq!(stuck.within(32), "▲ NODE DOWN · oldest wait 4.1 s");
        assert_eq!(stuck.within(11), "▲ NODE DOWN");
        assert_eq!(stuck.within(8), "▲ DOWN");
        assert_eq!(stuck.clone().untold(11), None);
        assert_eq!(stuck.untold(10).as_deref(), Some("NODE DOWN"));
    }
}
