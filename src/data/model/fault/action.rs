use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::condition::Condition;
use super::kind::Fault;
use super::target::{Target, TargetKind};
use super::way::Direction;

/// An action on a target: a fault, or the undoing of a condition that a fault brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Action {
    /// A fault.
    Fault(Fault),
    /// Undoes this condition.
    Undo(Condition),
}

impl Action {
    /// Whether nodes may lose keys by it that they have: they come back from death, or lose keys while they are up.
    pub fn may_lose_keys(self) -> bool {
        self.loses_while_up() || matches!(self, Self::Undo(condition) if condition.forgets())
    }

    /// Whether nodes that stay up may lose keys by it.
    pub fn loses_while_up(self) -> bool {
        match self {
            Self::Fault(fault) => fault.row().loses_keys,
            Self::Undo(condition) => condition == Condition::Skewed,
        }
    }

    /// An action of each kind, in the order in which messages list them. The parameters of the faults mean nothing.
    pub fn kinds() -> impl Iterator<Item = Self> {
        let faults = Fault::kinds().map(Self::Fault);
        // In reverse, so that the simplest one comes first: resume, restart.
        faults.chain(Condition::VARIANTS.iter().rev().copied().map(Self::Undo))
    }

    /// Its word in scenarios and events.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fault(fault) => fault.into(),
            Self::Undo(condition) => condition.row().undo[0],
        }
    }

    /// Its verb in three forms: `shut down`, `shutting down`, `shut down`.
    pub fn verbs(self) -> [&'static str; 3] {
        match self {
            Self::Fault(fault) => fault.row().verbs,
            Self::Undo(condition) => condition.row().undo,
        }
    }

    /// The action on somebody, in words: `lag host 1 by 50 ms`.
    pub fn on(self, whom: impl fmt::Display) -> String {
        match self {
            Self::Fault(Fault::Failover { by }) => by.to(whom),
            Self::Fault(_) | Self::Undo(_) => {
                let way = |direction| match direction {
                    Direction::Both => String::new(),
                    Direction::There | Direction::Back => format!(" {direction}"),
                };
                format!("{} {whom}{}", self.verbs()[0], self.details(way))
            }
        }
    }

    /// That it was done to a target, in words: `host 1 lagged by 50 ms`.
    pub fn done_to(self, target: Target) -> String {
        format!("{target} {}", self.done(target))
    }

    /// The same without the target: `lagged by 50 ms`.
    pub fn done(self, target: Target) -> String {
        match self {
            Self::Fault(Fault::Failover { .. }) => "has the master".to_owned(),
            Self::Fault(_) | Self::Undo(_) => {
                let details = self.details(|direction| target.course(direction));
                format!("{}{details}", self.verbs()[2])
            }
        }
    }

    /// The parameters of a fault in words, to stand behind its target: ` by 50 ms`. `course` says a direction in words.
    pub fn details(self, course: impl Fn(Direction) -> String) -> String {
        match self {
            Self::Fault(fault) => fault.details(course),
            Self::Undo(_) => String::new(),
        }
    }

    /// One capital letter for marks on a time axis.
    pub fn mark(self) -> char {
        match self {
            Self::Fault(fault) => fault.row().mark,
            Self::Undo(_) => 'R',
        }
    }

    /// The action that undoes this one on a target of this kind, as `for = …` does; `None` if there is none.
    pub fn undo(self, kind: TargetKind) -> Option<Self> {
        match self {
            Self::Fault(fault) => {
                let undone = fault.brings().filter(|condition| condition.is_undone_on(kind));
                undone.map(Self::Undo)
            }
            Self::Undo(_) => None,
        }
    }

    /// Whether it is possible on a target of this kind at all.
    pub fn is_for(self, kind: TargetKind) -> bool {
        match self {
            Self::Fault(fault) => fault.meaning_for(kind).is_some(),
            Self::Undo(condition) => condition.is_undone_on(kind),
        }
    }
}

impl From<Fault> for Action {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_written_as_its_word_and_read_again() {
        for condition in Condition::VARIANTS {
            let action = Action::Undo(*condition);
            let json = serde_json::to_string(&action).unwrap();
            assert_eq!(json, format!("\"{action}\""));
            assert_eq!(serde_json::from_str::<Action>(&json).unwrap(), action);
        }
    }
}
