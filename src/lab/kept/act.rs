//! Breaks and mends hosts of a kept lab. What it says is what the events of a run say.

use super::answer::{Acted, Effect};
use super::error::KeptError;
use super::request::Verb;
use crate::error::LabError;
use crate::lab::Lab;
use crate::server::state::is_back;
use lockstorm_data::model::{Action, Condition, Fault, HostId, Obstacle, Target, Verified};
use lockstorm_data::scenario::Persistence;

/// Does this to a host, and returns when the effect is verified, or can't be.
pub(super) async fn act(lab: &Lab, persistence: Persistence, verb: Verb, host: HostId) -> Acted {
    match verb {
        Verb::Kill => apply(lab, persistence, Fault::Kill.into(), host).await,
        Verb::Pause => apply(lab, persistence, Fault::Pause.into(), host).await,
        Verb::Restore => restore(lab, persistence, host).await,
    }
}

/// Undoes whatever is wrong with a host. It can be several things, if somebody else has killed or stopped one of its nodes.
async fn restore(lab: &Lab, persistence: Persistence, host: HostId) -> Acted {
    let wrong: Vec<Condition> = lab
        .state(host)
        .conditions
        .iter()
        .map(|ongoing| ongoing.condition)
        .collect();
    let mut all = Acted {
        host,
        effect: Effect::Already,
        words: format!("{host} is up: nothing to restore"),
    };
    for condition in wrong {
        let undone = apply(lab, persistence, Action::Undo(condition), host).await;
        all = match all.effect {
            Effect::Already => undone,
            _ => Acted {
                words: format!("{}; {}", all.words, undone.words),
                ..undone
            },
        };
        if !matches!(all.effect, Effect::Verified | Effect::Already) {
            break;
        }
    }
    all
}

async fn apply(lab: &Lab, persistence: Persistence, action: Action, host: HostId) -> Acted {
    let (effect, words) = match lab.apply(action, host).await {
        Ok(verified) => (Effect::Verified, done(action, host, persistence, &verified)),
        Err(LabError::Impossible { obstacle, .. }) if obstacle.is_done() => (
            Effect::Already,
            format!("{}: nothing to do: it {obstacle}", action.on(host)),
        ),
        Err(error) => failed(action, host, error),
    };
    Acted { host, effect, words }
}

/// The meaning of an effect, with its proof.
fn done<T>(action: Action, host: HostId, persistence: Persistence, verified: &Verified<T>) -> String {
    let meaning = match action {
        Action::Undo(condition) if condition.forgets() => is_back(host, persistence),
        Action::Undo(_) | Action::Fault(_) => action.done_to(Target::Host(host)),
    };
    format!("{meaning}: {}", verified.prose())
}

fn failed(action: Action, host: HostId, error: LabError) -> (Effect, String) {
    match error {
        LabError::NotYet { .. } => {
            let see = "it may still come, and `lockstorm lab status` shows it then";
            (Effect::Late, format!("{}: {error}; {see}", action.on(host)))
        }
        LabError::Impossible {
            obstacle: Obstacle::First(..),
            ..
        } => (
            Effect::Failed,
            format!("{error} with `lockstorm lab restore {}`", host.0),
        ),
        error => (Effect::Failed, KeptError::from(error).to_string()),
    }
}
