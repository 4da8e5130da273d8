//! Breaks and mends hosts and links of a kept lab. What it says is what the events of a run say.

use std::time::Instant;

use super::acted::{Acted, Effect};
use super::error::KeptError;
use super::logged::Log;
use super::request::Deed;
use crate::error::LabError;
use crate::lab::Lab;
use lockstorm_base::monotonic_ns;
use lockstorm_data::facts::is_back;
use lockstorm_data::model::{Action, Condition, Finding, Obstacle, Proof, Target, Verified};
use lockstorm_data::scenario::Persistence;
use tokio::time::sleep;

/// What acts on a kept lab.
#[derive(Debug, Clone, Copy)]
pub(super) struct Actor<'a> {
    pub lab: &'a Lab,
    pub persistence: Persistence,
    pub log: &'a Log,
}

impl Actor<'_> {
    /// Does this to a host or a link, and returns when the effect is verified, or can't be; what lasts for a time, when it was undone.
    pub(super) async fn act(self, deed: Deed, target: Target) -> Acted {
        let (action, lasts) = match deed {
            Deed::Do { action, lasts } => (action, lasts),
            Deed::Restore => return self.restore(target).await,
        };
        let done = self.apply(action, target).await;
        match (lasts, action.undo(target.kind())) {
            // Somebody else has done it, and nobody undoes it now.
            (Some(_), Some(_)) if done.effect == Effect::Already => Acted {
                effect: Effect::Failed,
                words: format!(
                    "{}, and stays so until `lockstorm lab restore {}`",
                    done.words,
                    target.key()
                ),
                ..done
            },
            (Some(lasts), Some(undo)) if done.effect == Effect::Verified => {
                let since = self.since(undo, target);
                sleep(lasts).await;
                // Whatever somebody else has undone and done again is not ours.
                match self.since(undo, target) == since {
                    true => done.then(self.apply(undo, target).await),
                    false => Acted {
                        words: format!("{}; somebody else has undone that meanwhile", done.words),
                        ..done
                    },
                }
            }
            _ => done,
        }
    }

    /// Since when a target has been in the condition that this undoes, if it is.
    fn since(self, undo: Action, target: Target) -> Option<Instant> {
        let Action::Undo(condition) = undo else { return None };
        let conditions = match target {
            Target::Host(host) => self.lab.state(host).conditions,
            Target::Link(link) => self.lab.link_conditions(link),
            Target::Server(_) | Target::Client(_) => return None,
        };
        conditions.get(condition).map(|ongoing| ongoing.since)
    }

    /// Undoes whatever is wrong with it. It can be several things, if somebody else has killed or stopped one of its nodes.
    async fn restore(self, target: Target) -> Acted {
        let wrong: Vec<Condition> = match target {
            Target::Link(link) => self.lab.link_conditions(link).iter().map(|one| one.condition).collect(),
            Target::Host(host) => self
                .lab
                .state(host)
                .conditions
                .iter()
                .map(|one| one.condition)
                .collect(),
            // A kept lab has none.
            Target::Server(_) | Target::Client(_) => Vec::new(),
        };
        let mut all: Option<Acted> = None;
        for condition in wrong {
            let undone = self.apply(Action::Undo(condition), target).await;
            let is_well = undone.is_well();
            all = Some(match all {
                Some(before) => before.then(undone),
                None => undone,
            });
            if !is_well {
                break;
            }
        }
        all.unwrap_or_else(|| Acted {
            target,
            effect: Effect::Already,
            effect_us: None,
            words: format!("{target} is up: nothing to restore"),
        })
    }

    async fn apply(self, action: Action, target: Target) -> Acted {
        let ordered = Instant::now();
        let kept = match target {
            Target::Host(host) if !self.lab.has_files(host) => Persistence::None,
            _ => self.persistence,
        };
        let applied = match target {
            Target::Host(host) => self.lab.apply(action, host).await,
            Target::Link(link) => self.lab.apply_to_link(action, link).await,
            Target::Server(_) | Target::Client(_) => {
                Err(LabError::Other(format!("a kept lab has no {}", target.kind().word())))
            }
        };
        let mut effect_us = None;
        let (effect, words) = match applied {
            Ok(verified) => {
                effect_us = Some(monotonic_ns(verified.at) / 1000);
                (Effect::Verified, done(action, target, kept, &verified))
            }
            Err(LabError::Impossible { obstacle, .. }) if obstacle.is_done() => (
                Effect::Already,
                format!("{}: nothing to do: it {obstacle}", action.on(target)),
            ),
            Err(error) => failed(action, target, error),
        };
        let acted = Acted {
            target,
            effect,
            effect_us,
            words,
        };
        self.log.add(action, target, ordered, &acted);
        acted
    }
}

/// The meaning of an effect, with its proof. `kept` is what a host has that comes back.
fn done<T>(action: Action, target: Target, kept: Persistence, verified: &Verified<T>) -> String {
    let took_over = |proof: &Proof<T>| match proof.finding {
        // A Sentinel may have chosen another host.
        Finding::TakesWrites { host } => Some(Target::Host(host)),
        _ => None,
    };
    let (asked, target) = (target, verified.proof.iter().find_map(took_over).unwrap_or(target));
    let meaning = match (action, target) {
        (Action::Undo(condition), Target::Host(host)) if condition.forgets() => is_back(host, kept),
        _ => action.done_to(target),
    };
    let chosen = if target == asked {
        String::new()
    } else {
        format!("; the Sentinels chose it, and not {asked}: `--by hand` takes the one that you name")
    };
    format!("{meaning}: {}{chosen}", verified.prose())
}

fn failed(action: Action, target: Target, error: LabError) -> (Effect, String) {
    match error {
        LabError::NotYet { .. } => {
            let brought = match action {
                Action::Fault(fault) => fault.brings(),
                Action::Undo(condition) => Some(condition),
            };
            // Nobody but whoever ordered it looks for what the proxy, or a clock, does.
            let see = match brought.is_some_and(Condition::is_imposed) {
                true => "it may still come: order it again to see",
                false => "it may still come, and `lockstorm lab status` shows it then",
            };
            (Effect::Late, format!("{}: {error}; {see}", action.on(target)))
        }
        LabError::Impossible {
            obstacle: Obstacle::First(..),
            ..
        } => {
            let whom = match target {
                Target::Link(link) if link.word().is_none() => format!("link:{}", target.key()),
                _ => target.key(),
            };
            (Effect::Failed, format!("{error} with `lockstorm lab restore {whom}`"))
        }
        error => (Effect::Failed, KeptError::from(error).to_string()),
    }
}
