//! Where the master is, by what several Sentinels say.

use crate::cause::Cause;
use crate::node::place::{Named, Spot};

/// What one Sentinel says of the master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Opinion {
    /// Nothing: it can't be asked, or does not answer.
    Silent,
    /// It can't be asked, for this cause.
    Refused(Cause),
    /// It knows no master of this name.
    KnowsNone,
    /// The master is there. Sentinels raise the epoch with each failover, and agree on it.
    Names { spot: Spot, epoch: u64 },
}

/// The opinions of all Sentinels, and whom to follow.
#[derive(Debug)]
pub(super) struct Opinions {
    /// The opinion of each Sentinel, and the number of the change that brought it.
    all: Vec<(Opinion, u64)>,
    changes: u64,
    /// The address that is followed, and its epoch.
    followed: Option<(Spot, u64)>,
}

impl Opinions {
    /// No Sentinel has said anything yet.
    pub(super) fn new(sentinels: usize) -> Self {
        Self {
            all: vec![(Opinion::Silent, 0); sentinels],
            changes: 0,
            followed: None,
        }
    }

    /// Takes what Sentinel `index` says. Returns where the master is.
    ///
    /// The highest epoch wins, and of equal ones what was said last for the first time: a Sentinel that was stopped or cut
    /// off names an old master until the others tell it. It must not lead back even if it is the only one that answers, so
    /// an epoch lower than the last one counts only if more than half of all Sentinels name it, as after they were set up
    /// anew. If nobody names a master any more, the last one stays.
    pub(super) fn hear(&mut self, index: usize, opinion: Opinion) -> Named {
        if self.all[index].0 != opinion {
            self.changes += 1;
            self.all[index] = (opinion, self.changes);
        }
        if let Some((spot, epoch)) = self.best() {
            let is_older = self.followed.as_ref().is_some_and(|(_, before)| epoch < *before);
            if !is_older || self.is_said_by_most(&spot, epoch) {
                self.followed = Some((spot, epoch));
            }
        }
        match &self.followed {
            Some((spot, _)) => Ok(spot.clone()),
            None => Err(self.why_nobody()),
        }
    }

    fn best(&self) -> Option<(Spot, u64)> {
        let named = self.all.iter().filter_map(|(opinion, since)| match opinion {
            Opinion::Names { spot, epoch } => Some((spot, *epoch, *since)),
            _ => None,
        });
        let best = named.max_by_key(|(_, epoch, since)| (*epoch, *since));
        best.map(|(spot, epoch, _)| (spot.clone(), epoch))
    }

    fn is_said_by_most(&self, said: &Spot, in_epoch: u64) -> bool {
        let same = |(opinion, _): &&(Opinion, u64)| matches!(opinion, Opinion::Names { spot, epoch } if spot == said && *epoch == in_epoch);
        self.all.iter().filter(same).count() * 2 > self.all.len()
    }

    /// Why no master is known: what keeps us from asking, if that is known.
    fn why_nobody(&self) -> Cause {
        let refused = self.all.iter().find_map(|(opinion, _)| match opinion {
            Opinion::Refused(cause) => Some(cause.clone()),
            _ => None,
        });
        refused.unwrap_or(Cause::NoMaster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(port: u16) -> Spot {
        Spot {
            host: "host".into(),
            port,
        }
    }

    fn names(port: u16, epoch: u64) -> Opinion {
        Opinion::Names {
            spot: spot(port),
            epoch,
        }
    }

    /// The port of the master after each of these opinions.
    fn heard(sentinels: usize, said: &[(usize, Opinion)]) -> Vec<Result<u16, Cause>> {
        let mut opinions = Opinions::new(sentinels);
        let port = |(index, opinion): &(usize, Opinion)| opinions.hear(*index, opinion.clone()).map(|spot| spot.port);
        said.iter().map(port).collect()
    }

    #[test]
    fn the_highest_epoch_wins_whoever_speaks_last() {
        let said = [
            (0, names(1, 0)),
            (1, names(2, 1)),
            (0, names(1, 0)),
            (2, names(1, 0)),
            (0, names(2, 1)),
        ];
        assert_eq!(heard(3, &said), [Ok(1), Ok(2), Ok(2), Ok(2), Ok(2)]);
    }

    #[test]
    fn of_equal_epochs_the_latest_news_win_and_a_repetition_is_no_news() {
        let said = [(0, names(1, 1)), (1, names(2, 1)), (0, names(1, 1)), (2, names(1, 1))];
        assert_eq!(heard(3, &said), [Ok(1), Ok(2), Ok(2), Ok(1)]);
    }

    #[test]
    fn a_lone_sentinel_from_the_past_does_not_lead_back_and_most_of_them_do() {
        let past = [
            (0, names(2, 1)),
            (0, Opinion::Silent),
            (1, names(1, 0)),
            (2, names(1, 0)),
            (2, names(3, 2)),
        ];
        assert_eq!(heard(3, &past), [Ok(2), Ok(2), Ok(2), Ok(1), Ok(3)]);
        assert_eq!(heard(1, &[(0, names(2, 1)), (0, names(1, 0))]), [Ok(2), Ok(1)]);
    }

    #[test]
    fn the_last_master_stays_when_nobody_names_one() {
        let gone = [(0, names(1, 0)), (0, Opinion::Silent), (0, Opinion::KnowsNone)];
        assert_eq!(heard(2, &gone), [Ok(1), Ok(1), Ok(1)]);
    }

    #[test]
    fn without_a_master_the_cause_says_what_keeps_us_from_asking() {
        let denied = Cause::NoPermission("WRONGPASS".into());
        let said = [
            (0, Opinion::Silent),
            (1, Opinion::KnowsNone),
            (0, Opinion::Refused(denied.clone())),
            (1, names(1, 0)),
        ];
        let expected = [Err(Cause::NoMaster), Err(Cause::NoMaster), Err(denied), Ok(1)];
        assert_eq!(heard(2, &said), expected);
    }
}
