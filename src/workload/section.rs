use std::time::Instant;

use super::trouble::trouble;
use super::{Failed, Tools};
use crate::lock::{Guard, Terms};
use crate::metrics::Count;
use crate::scenario::{LockKind, OnLoss};

/// The time inside the lock, of an arm without one too. End it with [`Section::leave`].
pub(super) struct Section<'a> {
    tools: &'a Tools,
    guard: Guard,
    since: Instant,
}

impl Tools {
    /// Acquires the arm's lock for `what`, and counts how that went (an arm without a lock acquires nothing).
    pub(super) async fn enter(&self, what: &str) -> Result<Section<'_>, Failed> {
        let asked = Instant::now();
        let pending = self.waiting.begin(asked);
        let acquired = self
            .lock
            .acquire(&format!("{}:{what}", self.arm.name), &self.terms())
            .await;
        drop(pending);
        let since = Instant::now();
        let counted = self.arm.lock != LockKind::None;
        match acquired {
            Ok(guard) => {
                if counted {
                    self.recorder.acquired(since - asked);
                }
                Ok(Section {
                    tools: self,
                    guard,
                    since,
                })
            }
            Err(refusal) => {
                if counted {
                    let outcome = refusal.outcome();
                    self.recorder
                        .refused(since - asked, outcome, trouble(&refusal, &self.arm));
                }
                Err(Failed::Refused)
            }
        }
    }

    fn terms(&self) -> Terms {
        let ttl = self.dials.ttl(self.arm.ttl);
        Terms {
            ttl,
            renew: self.arm.renew.interval(ttl),
            wait: self.arm.wait,
            deadline: self.arm.deadline,
            node_timeout: self.arm.node_timeout,
            lifetime: None,
            repair: false,
        }
    }
}

impl Section<'_> {
    /// To be asked right before the work is written.
    ///
    /// # Errors
    /// The lock is lost, and the arm heeds that.
    pub(super) fn check(&self) -> Result<(), Failed> {
        if self.tools.arm.on_loss == OnLoss::Abort && self.guard.is_lost() {
            return Err(Failed::Lost);
        }
        Ok(())
    }

    /// Whether nobody else may be in there too, as far as the lock knows.
    pub(super) fn is_ours(&self) -> bool {
        self.tools.arm.lock != LockKind::None && !self.guard.is_lost()
    }

    /// Counts the time inside and a lost lock, and releases it.
    pub(super) async fn leave(self) {
        self.tools.recorder.held(self.since.elapsed());
        self.tools.recorder.voted(self.guard.votes(), self.guard.nodes());
        if self.guard.is_lost() {
            self.tools.recorder.count(Count::LockLost);
        }
        self.guard.release().await;
    }
}
