//! A lock that is held: how long it may be relied on, its extension, its loss.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{
    NotExtended,
    claim::Claim,
    round::{Answer, Round},
    tally::quorum,
};
use crate::model::Cause;

/// The loss is signalled this long before the validity ends, since timers fire up to 2 ms late.
const SIGNAL_LEAD: Duration = Duration::from_millis(2);

/// How long the lock may still be relied on; zero when it is lost.
pub(super) fn validity(claim: &Claim) -> Duration {
    claim
        .ends()
        .map_or(Duration::ZERO, |ends| ends.saturating_duration_since(Instant::now()))
}

/// Resolves when the lock is lost: at the end of its validity, or when too few nodes have its key.
pub(super) async fn lost(claim: &Claim) {
    loop {
        let told = claim.lost().notified();
        tokio::pin!(told);
        // From here on no word is missed, also if the loss happens before the wait.
        told.as_mut().enable();
        let Some(ends) = claim.ends() else { return };
        let signal = ends.checked_sub(SIGNAL_LEAD).unwrap_or(ends);
        if signal <= Instant::now() {
            // What was signalled stays so, whatever an extension that is under way says.
            claim.lose();
            return;
        }
        tokio::select! {
            () = told => {}
            () = sleep_until(signal) => {}
        }
    }
}

/// Extends the lock by its TTL, counted from now, on the nodes that still hold it.
pub(super) async fn extend(claim: &Arc<Claim>) -> Result<Duration, NotExtended> {
    let start = Instant::now();
    let ends = claim.ends().filter(|ends| *ends > start).ok_or(NotExtended::Lost)?;
    let (nodes, quorum) = (claim.nodes(), quorum(claim.nodes()));
    let round = Arc::new(Round::new(nodes));
    claim.extend(Some(&round));
    let until = ends.min(start + claim.node_timeout());
    let answers = round
        .wait(until, |answers| {
            count(answers, 1) >= quorum || count(answers, 0) > nodes - quorum
        })
        .await;
    let now = Instant::now();
    let ends = claim.ends().filter(|ends| *ends > now).ok_or(NotExtended::Lost)?;
    if count(&answers, 1) < quorum {
        return Err(NotExtended::NoQuorum {
            causes: answers.into_iter().map(cause).collect(),
        });
    }
    Ok(ends - now)
}

/// The nodes that gave this number.
fn count(answers: &[Option<Answer>], number: i64) -> usize {
    let same = |answer: &&Answer| **answer == Answer::Int(number);
    answers.iter().flatten().filter(same).count()
}

fn cause(answer: Option<Answer>) -> Option<Cause> {
    match answer {
        Some(Answer::Int(1)) => None,
        Some(Answer::Int(_)) => Some(Cause::Held),
        Some(Answer::Failed(cause)) => Some(cause),
        None => Some(Cause::Timeout),
    }
}
