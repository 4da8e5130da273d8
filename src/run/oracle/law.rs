//! Whether a double hold is explained by what its own lock had lost.
//!
//! A second holder can win only if so many nodes have lost the first one's key that a quorum is left without it. Of N nodes, with a
//! quorum of N/2 + 1, a lock with v votes permits that as soon as it has lost v − f of its keys, where f = N − quorum: of one node its
//! only key, of three nodes one of two votes or two of three. Whatever else gives two holders is a violation: the algorithm, or a node, is
//! broken.

use std::collections::HashSet;
use std::net::SocketAddr;

use lockstorm_data::history::Ruling;
use lockstorm_data::model::HostId;

/// Keys that a node has lost.
#[derive(Debug, Clone)]
pub struct Loss {
    /// The node's addresses.
    pub servers: Vec<SocketAddr>,
    /// The number of the event that tells of it.
    pub event: Option<u64>,
    /// The host of the node that has become the master without these keys; `None` if the node itself has lost them.
    pub new_master: Option<HostId>,
    /// Since when, in nanoseconds: who comes in before that is not explained by it.
    pub since: i64,
    /// The locks that were asked for from this time on,
    pub asked_from: i64,
    /// and before this time, may be among the lost ones.
    pub asked_before: i64,
    /// Which of them are.
    pub keys: LostKeys,
}

/// Which keys were lost.
#[derive(Debug, Clone)]
pub enum LostKeys {
    /// All of them: the node has no memory of that time.
    All,
    /// All of them, by a command from outside that no lock of this program sends, such as FLUSHALL.
    Deleted,
    /// Of the locks that were held at this time these, by their tokens. Of those that had ended before, nobody knows.
    Tokens {
        /// Those that were not there.
        lost: HashSet<Box<str>>,
        /// When it was looked for them.
        looked: i64,
    },
    /// Nobody knows: the node did not answer.
    Unknown,
}

/// What became of a lock's vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vote {
    Kept,
    Unknown,
    Lost,
}

impl Loss {
    fn is_deletion(&self) -> bool {
        matches!(self.keys, LostKeys::Deleted)
    }

    fn of(&self, voter: SocketAddr, lock: &VotedLock<'_>) -> Vote {
        if !self.servers.contains(&voter) || lock.asked < self.asked_from || lock.asked >= self.asked_before {
            return Vote::Kept;
        }
        match &self.keys {
            LostKeys::All | LostKeys::Deleted => Vote::Lost,
            LostKeys::Tokens { lost, .. } if lost.contains(lock.token) => Vote::Lost,
            LostKeys::Tokens { looked, .. } if lock.until.is_none_or(|until| until > *looked) => Vote::Kept,
            LostKeys::Tokens { .. } | LostKeys::Unknown => Vote::Unknown,
        }
    }
}

/// A key that a server had voted with, and that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostKey {
    /// The server.
    pub server: SocketAddr,
    /// The number of the event that tells of it.
    pub event: Option<u64>,
    /// The host of the node that has become the master without it, if it was lost so.
    pub new_master: Option<HostId>,
}

/// A lock that was held, as the law sees it.
#[derive(Debug, Clone, Copy)]
pub struct VotedLock<'a> {
    /// The value of its keys.
    pub token: &'a str,
    /// When it was asked for.
    pub asked: i64,
    /// When it was granted at the latest.
    pub granted: i64,
    /// When its holder left; `None` if it has not.
    pub until: Option<i64>,
    /// The servers that voted for it.
    pub voters: &'a [SocketAddr],
    /// How many nodes were asked.
    pub nodes: usize,
    /// How many votes a lock needs.
    pub quorum: usize,
}

impl VotedLock<'_> {
    /// What the law says of a second holder who comes in at `at`.
    pub fn ruling(&self, at: i64, losses: &[Loss]) -> Ruling {
        let ruling = self.ruling_by(at, losses);
        if ruling == Ruling::Explained && losses.iter().any(Loss::is_deletion) {
            let others: Vec<Loss> = losses.iter().filter(|loss| !loss.is_deletion()).cloned().collect();
            if self.ruling_by(at, &others) != Ruling::Explained {
                return Ruling::Deleted;
            }
        }
        ruling
    }

    /// What these losses explain, whatever they came from.
    fn ruling_by(&self, at: i64, losses: &[Loss]) -> Ruling {
        if self.voters.is_empty() && self.nodes > 0 {
            return self.ruling_of_unknown_voters(at, losses);
        }
        let votes: Vec<Vote> = self.voters.iter().map(|voter| self.vote(*voter, at, losses)).collect();
        let lost = votes.iter().filter(|vote| **vote == Vote::Lost).count();
        let kept = votes.iter().filter(|vote| **vote == Vote::Kept).count();
        // If only so many nodes have the key, a quorum without it is left.
        let harmless = self.nodes.saturating_sub(self.quorum);
        if votes.len() - lost <= harmless {
            Ruling::Explained
        } else if kept <= harmless {
            Ruling::Unknown
        } else {
            Ruling::Violation
        }
    }

    /// The same of a lock that does not say who voted for it: with the most and the fewest votes that it can have had.
    fn ruling_of_unknown_voters(&self, at: i64, losses: &[Loss]) -> Ruling {
        let hit = |loss: &&Loss| loss.since <= at && (loss.asked_from..loss.asked_before).contains(&self.asked);
        let all: Vec<&Loss> = losses.iter().filter(hit).collect();
        let servers = |of: &[&Loss]| {
            let first: HashSet<_> = of.iter().filter_map(|loss| loss.servers.first()).collect();
            first.len()
        };
        // Which keys a node lacks is known by tokens, and those of this lock are not known; nor when it was granted, if it had to wait.
        let is_certain =
            |loss: &&Loss| matches!(loss.keys, LostKeys::All | LostKeys::Deleted) && self.granted < loss.asked_before;
        let certain: Vec<&Loss> = all.iter().copied().filter(is_certain).collect();
        if servers(&certain) >= self.quorum {
            Ruling::Explained
        } else if all.is_empty() {
            Ruling::Violation
        } else {
            Ruling::Unknown
        }
    }

    /// The servers that have lost its key until `at`.
    pub fn lost(&self, at: i64, losses: &[Loss]) -> Vec<LostKey> {
        let lost = |voter: &SocketAddr| {
            let loss = losses
                .iter()
                .find(|loss| loss.since <= at && loss.of(*voter, self) == Vote::Lost);
            loss.map(|loss| LostKey {
                server: *voter,
                event: loss.event,
                new_master: loss.new_master,
            })
        };
        self.voters.iter().filter_map(lost).collect()
    }

    fn vote(&self, voter: SocketAddr, at: i64, losses: &[Loss]) -> Vote {
        let until_then = losses.iter().filter(|loss| loss.since <= at);
        let votes = until_then.map(|loss| loss.of(voter, self));
        votes.fold(Vote::Kept, |worst, vote| match (worst, vote) {
            (Vote::Lost, _) | (_, Vote::Lost) => Vote::Lost,
            (Vote::Unknown, _) | (_, Vote::Unknown) => Vote::Unknown,
            (Vote::Kept, Vote::Kept) => Vote::Kept,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(number: u8) -> SocketAddr {
        ([127, 0, 0, 1], 7000 + u16::from(number)).into()
    }

    fn lost_everything(number: u8) -> Loss {
        Loss {
            servers: vec![server(number)],
            event: Some(u64::from(number)),
            new_master: None,
            since: 50,
            asked_from: i64::MIN,
            asked_before: 60,
            keys: LostKeys::All,
        }
    }

    /// What the law says of a lock with so many votes of so many nodes, asked for at 10, of which so many came back empty.
    fn ruling(votes: u8, nodes: usize, losses: u8) -> Ruling {
        let voters: Vec<SocketAddr> = (1..=votes).map(server).collect();
        let losses: Vec<Loss> = (1..=losses).map(lost_everything).collect();
        lock(&voters, nodes).ruling(100, &losses)
    }

    fn lock(voters: &[SocketAddr], nodes: usize) -> VotedLock<'_> {
        VotedLock {
            token: "t",
            asked: 10,
            granted: 12,
            until: None,
            voters,
            nodes,
            quorum: nodes / 2 + 1,
        }
    }

    #[test]
    fn a_second_holder_is_explained_by_votes_minus_f_losses_and_by_no_fewer() {
        for (votes, nodes) in [(1, 1), (2, 3), (3, 3), (3, 5), (4, 5), (5, 5)] {
            let f = (nodes - 1) / 2;
            for losses in 0..=votes {
                let expected = match usize::from(losses) >= usize::from(votes) - f {
                    true => Ruling::Explained,
                    false => Ruling::Violation,
                };
                assert_eq!(
                    ruling(votes, nodes, losses),
                    expected,
                    "{votes} of {nodes} votes, {losses} lost"
                );
            }
        }
    }

    #[test]
    fn of_a_lock_whose_voters_are_unknown_only_a_quorum_of_losses_explains_a_second_holder() {
        let ruling = |nodes, losses: u8| {
            let losses: Vec<Loss> = (1..=losses).map(lost_everything).collect();
            lock(&[], nodes).ruling(100, &losses)
        };
        assert_eq!(
            [0, 1].map(|losses| ruling(1, losses)),
            [Ruling::Violation, Ruling::Explained]
        );
        assert_eq!(
            [0, 1, 2].map(|losses| ruling(3, losses)),
            [Ruling::Violation, Ruling::Unknown, Ruling::Explained]
        );
        // It may have been granted before the loss, or after it.
        let waited = VotedLock {
            granted: 70,
            ..lock(&[], 1)
        };
        assert_eq!(waited.ruling(100, &[lost_everything(1)]), Ruling::Unknown);
        let later = VotedLock {
            asked: 60,
            ..lock(&[], 1)
        };
        assert_eq!(later.ruling(100, &[lost_everything(1)]), Ruling::Violation);
    }

    #[test]
    fn a_loss_explains_only_who_comes_in_later_and_only_locks_that_it_may_have_hit() {
        let voters = [server(1)];
        let loss = lost_everything(1);
        let of = |lock: &VotedLock<'_>, at| lock.ruling(at, std::slice::from_ref(&loss));
        let one = lock(&voters, 1);
        assert_eq!([49, 50].map(|at| of(&one, at)), [Ruling::Violation, Ruling::Explained]);
        assert_eq!(
            of(&VotedLock { asked: 60, ..one }, 100),
            Ruling::Violation,
            "it was asked for after that"
        );
        assert_eq!(
            lock(&[server(2)], 1).ruling(100, &[loss]),
            Ruling::Violation,
            "another node"
        );
    }

    #[test]
    fn what_was_deleted_from_outside_is_told_apart_from_what_nodes_lost() {
        let deleted = |number| Loss {
            keys: LostKeys::Deleted,
            ..lost_everything(number)
        };
        let voters = [server(1), server(2)];
        let of = |lock: &VotedLock<'_>, losses: &[Loss]| lock.ruling(100, losses);
        let (one, two) = (lock(&voters[..1], 1), lock(&voters, 3));
        assert_eq!(of(&one, &[deleted(1)]), Ruling::Deleted);
        assert_eq!(of(&one, &[deleted(1), lost_everything(1)]), Ruling::Explained);
        assert_eq!(of(&one, &[deleted(2)]), Ruling::Violation, "another node");
        assert_eq!(
            of(&VotedLock { asked: 60, ..one }, &[deleted(1)]),
            Ruling::Violation,
            "it was asked for after that"
        );
        assert_eq!(of(&two, &[deleted(2)]), Ruling::Deleted, "one vote of two is left");
        let three = [1, 2, 3].map(server);
        assert_eq!(
            of(&lock(&three, 3), &[deleted(1)]),
            Ruling::Violation,
            "two votes of three are left"
        );
        assert_eq!(
            of(&lock(&three, 3), &[deleted(1), lost_everything(2)]),
            Ruling::Deleted,
            "it took both"
        );
        assert_eq!(
            of(&lock(&[], 1), &[deleted(1)]),
            Ruling::Deleted,
            "its voter is not known"
        );
    }

    #[test]
    fn what_was_looked_for_is_known_and_the_rest_is_not() {
        let voters = [server(1)];
        let looked = |token: &str| Loss {
            keys: LostKeys::Tokens {
                lost: [token.into()].into(),
                looked: 70,
            },
            ..lost_everything(1)
        };
        let one = lock(&voters, 1);
        let gone = VotedLock { until: Some(65), ..one };
        assert_eq!(one.ruling(100, &[looked("t")]), Ruling::Explained);
        assert_eq!(one.ruling(100, &[looked("other")]), Ruling::Violation);
        assert_eq!(
            gone.ruling(100, &[looked("other")]),
            Ruling::Unknown,
            "it was gone before the look"
        );
        let silent = Loss {
            keys: LostKeys::Unknown,
            ..lost_everything(1)
        };
        assert_eq!(one.ruling(100, std::slice::from_ref(&silent)), Ruling::Unknown);
        assert_eq!(one.ruling(100, &[silent, looked("t")]), Ruling::Explained);
        let lost = LostKey {
            server: server(1),
            event: Some(1),
            new_master: None,
        };
        assert_eq!(one.lost(100, &[looked("t")]), [lost]);
        assert_eq!(one.lost(100, &[looked("other")]), []);
    }
}
