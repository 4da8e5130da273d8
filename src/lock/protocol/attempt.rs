//! One attempt at a lock on a quorum of nodes.

use std::time::Duration;

use super::answer::Answer;
use super::lease::Lease;
use super::node_set::NodeSet;
use super::per_node::PerNode;
use super::quorum::{quorum, valid_until, validity};
use super::time::Time;

/// The rules of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How long nodes keep the key without an extension.
    pub ttl: Duration,
    /// How long a node may take to answer before the attempt goes on without it; not longer than the TTL.
    pub reply_timeout: Duration,
    /// The longest that the lock may be held, extensions included; `None` sets no bound.
    pub lifetime: Option<Duration>,
    /// Whether nodes that lost the key of a held lock are asked to set it again.
    pub repair: bool,
}

/// The state of one node's vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Vote {
    /// The command waits to be written; it can be withdrawn.
    #[default]
    Queued,
    /// The command was written, and no answer has come yet.
    Written,
    /// The node voted for us.
    Granted,
    /// Somebody else has the key on this node.
    Held,
    /// The node did not vote, and will not.
    Never,
    /// The node has our key, but its replicas have not confirmed it: it is no vote.
    Unconfirmed,
    /// The node did not answer; it may have voted, or may still vote.
    Unknown,
    /// The node had voted, and does not have the key any more.
    Gone,
}

impl Vote {
    /// Whether the node may have our key now or later, so that it must be sent a delete.
    #[must_use]
    pub const fn may_hold(self) -> bool {
        matches!(self, Self::Written | Self::Granted | Self::Unconfirmed | Self::Unknown)
    }

    const fn is_pending(self) -> bool {
        matches!(self, Self::Queued | Self::Written)
    }
}

impl From<Answer> for Vote {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Self::Granted,
            Answer::No => Self::Held,
            Answer::Never => Self::Never,
            Answer::Unconfirmed => Self::Unconfirmed,
            Answer::Unknown => Self::Unknown,
        }
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The lock is held.
    Granted,
    /// Enough nodes answered, and somebody else holds the lock.
    Contended,
    /// Too few nodes could be asked: nobody could have got the lock.
    NoQuorum,
    /// Nodes that did not answer in time could have completed the quorum.
    Unknown,
    /// A quorum voted, but too late to rely on the votes.
    Expired,
}

/// Whether to go on waiting for votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// No: no vote can change the outcome, or the nodes' time to reply is over.
    Over,
    /// No: the caller's own limit came first.
    CutShort,
    /// Yes, until this time or until the attempt is decided.
    Until(Time),
}

/// The consequences of a step for the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct Effect {
    /// The caller's wait is over: the attempt is decided, or the release is confirmed.
    pub decided: bool,
    /// The attempt is finished on the node: the node has no key of it, and will be sent no more commands for it.
    pub finished: bool,
    /// The lock was lost just now.
    pub lost: bool,
    /// The lock is not lost, but its validity now ends earlier: the timer that signals the loss must be set again.
    pub sooner: bool,
}

/// The result of a release. Nodes that are known not to have had the key, because they could not be asked for it, say, are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Released {
    /// Nodes that deleted the key.
    pub deleted: usize,
    /// Nodes where the key was gone already, or somebody else's.
    pub gone: usize,
    /// Nodes that have not confirmed yet. Their delete is under way, or waits for the node.
    pub unconfirmed: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The caller waits for votes.
    Asking,
    /// The lock is held.
    Held,
    /// The lock was released, or the attempt has failed: nothing more may be written, and every key is taken back.
    Closed,
}

#[derive(Debug, Clone, Copy, Default)]
struct NodeState {
    vote: Vote,
    /// Until when the key is known to exist on the node.
    until: Option<Time>,
}

/// One attempt, its votes, and the keys that nodes may still have of it. It outlives the acquire: late votes still count for
/// a held lock, and those for a failed attempt are taken back.
#[derive(Debug, Clone)]
pub struct Attempt {
    rules: Rules,
    phase: Phase,
    /// The time read before the first command was queued.
    start: Time,
    states: PerNode<NodeState>,
    /// The longest that nodes were asked to keep the key.
    longest_ttl: Duration,
    /// The nodes that ever granted their vote, even after the release.
    ever_granted: NodeSet,
    /// The nodes that have not answered a `Set` that was written to them.
    unanswered: NodeSet,
    /// When a `Set` was last written.
    written: Option<Time>,
    /// The nodes for which a renewal is queued and not written: another one would bring nothing, and take the place of others.
    renewing: NodeSet,
    lease: Lease,
    /// The nodes whose answers to the release are still outstanding.
    releasing: NodeSet,
    /// When the last key will have expired by itself; set when the attempt is closed.
    expired: Time,
    released: Released,
}

impl Attempt {
    /// A new attempt at `now`, on at most [`MAX_NODES`](super::MAX_NODES) nodes: every node is to be asked for its vote.
    #[must_use]
    pub fn new(nodes: usize, rules: Rules, now: Time) -> Self {
        Self {
            rules,
            phase: Phase::Asking,
            start: now,
            states: PerNode::new(nodes),
            longest_ttl: rules.ttl,
            ever_granted: NodeSet::EMPTY,
            unanswered: NodeSet::EMPTY,
            written: None,
            renewing: NodeSet::EMPTY,
            lease: Lease::default(),
            releasing: NodeSet::EMPTY,
            expired: Time::MAX,
            released: Released::default(),
        }
    }

    // Votes.

    /// The `Set` for this node is about to be written. Returns false if it was withdrawn and must not be written.
    pub fn on_written(&mut self, node: usize, now: Time) -> bool {
        if self.phase == Phase::Closed {
            return false;
        }
        self.states[node].vote = Vote::Written;
        self.unanswered.insert(node);
        self.written = Some(now);
        true
    }

    /// Takes the result of the `Set` that was queued for this node at `asked`.
    pub fn on_vote(&mut self, node: usize, asked: Time, answer: Answer, now: Time) -> Effect {
        self.unanswered.remove(node);
        let vote = Vote::from(answer);
        let before = self.states[node].vote;
        // Once the attempt is closed, a delete is under way to every node that may have had the key at that time.
        let finished = match self.phase {
            Phase::Closed => !before.may_hold(),
            Phase::Asking | Phase::Held => !vote.may_hold(),
        };
        if vote == Vote::Granted {
            self.ever_granted.insert(node);
            // A repaired vote says nothing about the time before the repair.
            let late = asked > self.start && self.valid_until().is_none_or(|until| until <= now);
            self.states[node].until = (!late).then(|| self.key_until(asked, self.rules.ttl));
        }
        if self.phase != Phase::Closed || finished {
            self.states[node].vote = vote;
        }
        let decided = self.phase == Phase::Asking && self.is_decided();
        let (lost, sooner) = if self.phase == Phase::Held {
            self.on_validity(now)
        } else {
            (false, false)
        };
        Effect {
            decided,
            finished,
            lost,
            sooner,
        }
    }

    /// Whether further answers can't change how the attempt ends. If neither votes nor refusals make a quorum, all nodes are
    /// waited for, so that the caller learns what is wrong with each.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        let quorum = quorum(self.nodes());
        let (mut yes, mut held, mut pending) = (0, 0, 0);
        for state in self.states.iter() {
            match state.vote {
                Vote::Granted => yes += 1,
                Vote::Held => held += 1,
                vote if vote.is_pending() => pending += 1,
                _ => {}
            }
        }
        yes >= quorum || pending == 0 || (yes + pending < quorum && yes + held >= quorum)
    }

    /// Whether to wait for votes at `now`, for a caller that waits until `limit` at most. The nodes' time counts from the
    /// writing of the last command: a command that still waits behind those of others is not the nodes' fault.
    #[must_use]
    pub fn waiting(&self, limit: Time, now: Time) -> Waiting {
        let queued = self.states.iter().any(|state| state.vote == Vote::Queued);
        let until = self.written.filter(|_| !queued).unwrap_or(now) + self.rules.reply_timeout;
        if self.is_decided() || now >= until {
            Waiting::Over
        } else if now >= limit {
            Waiting::CutShort
        } else {
            Waiting::Until(until.min(limit))
        }
    }

    /// How the attempt ended, by a clock read after the votes. If the lock was granted, it is held from now on; otherwise
    /// the caller must [`close`](Self::close) the attempt.
    pub fn decide(&mut self, now: Time) -> Decision {
        let until = self.valid_until();
        if until.is_some_and(|until| until > now) {
            self.phase = Phase::Held;
            self.lease.on_validity(until, now);
            return Decision::Granted;
        }
        let quorum = quorum(self.nodes());
        let count = |test: fn(Vote) -> bool| self.states.iter().filter(|state| test(state.vote)).count();
        let yes = count(|vote| vote == Vote::Granted);
        if yes >= quorum {
            Decision::Expired
        } else if yes + count(|vote| vote == Vote::Held) >= quorum {
            Decision::Contended
        } else if yes + count(|vote| matches!(vote, Vote::Written | Vote::Unknown)) >= quorum {
            Decision::Unknown
        } else {
            Decision::NoQuorum
        }
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.states.len()
    }

    /// The time read before the first command was queued.
    #[must_use]
    pub const fn start(&self) -> Time {
        self.start
    }

    /// The rules of the attempt.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The state of this node's vote.
    #[must_use]
    pub fn vote(&self, node: usize) -> Vote {
        self.states[node].vote
    }

    /// The number of votes now.
    #[must_use]
    pub fn votes(&self) -> usize {
        self.states.iter().filter(|state| state.vote == Vote::Granted).count()
    }

    /// The nodes that ever granted their vote, even after the release.
    #[must_use]
    pub const fn ever_granted(&self) -> usize {
        self.ever_granted.len()
    }

    /// Whether no further vote can come: every node has answered, or was not asked in time.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        let queued = |state: &NodeState| state.vote == Vote::Queued;
        self.unanswered.is_empty() && (self.phase == Phase::Closed || !self.states.iter().any(queued))
    }

    /// Whether the lock is held: granted, and not released. It may be lost nevertheless.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.phase == Phase::Held
    }

    /// Whether the attempt was ended or the lock released: no further command but deletes may be written.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Whether the lock is held with fewer votes than nodes.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.is_held() && self.votes() < self.nodes()
    }

    // A held lock.

    /// The lease: until when the lock may be relied on.
    #[must_use]
    pub const fn lease(&self) -> &Lease {
        &self.lease
    }

    /// The lease, for [`Lease::on_timeout`].
    pub const fn lease_mut(&mut self) -> &mut Lease {
        &mut self.lease
    }

    /// The nodes to ask for an extension now: those that may have the key.
    #[must_use]
    pub fn extend(&self) -> NodeSet {
        self.select(Vote::may_hold)
    }

    /// The nodes to ask for an extension by this TTL, which may be another one than that of the rules. A node never shortens the
    /// time of its key.
    #[must_use]
    pub fn extend_to(&mut self, ttl: Duration) -> NodeSet {
        self.longest_ttl = self.longest_ttl.max(ttl);
        self.extend()
    }

    /// The nodes to ask for a renewal now, if these are well: none if they are fewer than a quorum, since then it can't put off the
    /// end of the validity; and none for which one is queued already.
    #[must_use]
    pub fn renew(&mut self, well: NodeSet) -> NodeSet {
        let nodes = self.extend();
        let able = nodes.into_iter().filter(|&node| well.contains(node)).count();
        if able < quorum(self.nodes()) {
            return NodeSet::EMPTY;
        }
        let mut new = nodes;
        for node in nodes.into_iter().filter(|&node| !self.renewing.insert(node)) {
            new.remove(node);
        }
        new
    }

    /// An extension for this node is about to be written. Returns false if it must not be, because the lock is released or lost: then it
    /// would only keep others waiting.
    pub fn on_extension_written(&mut self, node: usize, now: Time) -> bool {
        self.renewing.remove(node);
        self.phase == Phase::Held && !self.lease.validity(now).is_zero()
    }

    /// Takes the answer of a node to an extension that was queued at `asked`.
    pub fn on_extended(&mut self, node: usize, asked: Time, answer: Answer, now: Time) -> Effect {
        self.on_extended_to(node, asked, self.rules.ttl, answer, now)
    }

    /// Takes the answer of a node to an extension by this TTL that was queued at `asked`.
    pub fn on_extended_to(&mut self, node: usize, asked: Time, ttl: Duration, answer: Answer, now: Time) -> Effect {
        // It may never have been written.
        self.renewing.remove(node);
        let until = match answer {
            Answer::Yes => Some(self.key_until(asked, ttl)),
            Answer::No => None,
            // Such an answer says nothing about the key, or nothing that its replicas know too.
            Answer::Never | Answer::Unconfirmed | Answer::Unknown => return Effect::default(),
        };
        if self.phase != Phase::Held {
            return Effect::default();
        }
        let state = &mut self.states[node];
        // Of two extensions under way, the second one finds the same key gone. Or its answer is from before a `Set` that is under way:
        // a repair, or a vote whose connection is lost, which may still reach the node. Then the node must still be told to delete.
        if until.is_none() && !matches!(state.vote, Vote::Granted | Vote::Unconfirmed) {
            return Effect::default();
        }
        // It has our key: its vote was lost with a connection, and counts from now on.
        if until.is_some() && state.vote == Vote::Unknown {
            state.vote = Vote::Granted;
            self.ever_granted.insert(node);
        }
        // An extension never shortens the known time.
        state.until = until.map(|until| state.until.map_or(until, |before| before.max(until)));
        if until.is_none() {
            state.vote = Vote::Gone;
        }
        let (lost, sooner) = self.on_validity(now);
        Effect {
            decided: false,
            finished: until.is_none(),
            lost,
            sooner,
        }
    }

    /// The nodes that do not have the key and are to be asked to set it again, with the whole TTL. No node is asked twice at
    /// the same time, and none at all if the rules do not ask for repair.
    pub fn repair(&mut self) -> NodeSet {
        if !self.rules.repair || self.phase != Phase::Held {
            return NodeSet::EMPTY;
        }
        let missing = self.select(|vote| !vote.may_hold() && vote != Vote::Queued);
        for node in missing {
            self.states[node].vote = Vote::Queued;
        }
        missing
    }

    // Taking back.

    /// Ends the attempt, or releases the lock, at `now`: withdraws commands that were not written, and returns the nodes
    /// that must be sent a delete. Only the first call returns any.
    pub fn close(&mut self, now: Time) -> NodeSet {
        if self.phase == Phase::Closed {
            return NodeSet::EMPTY;
        }
        self.phase = Phase::Closed;
        let holders = self.select(Vote::may_hold);
        self.releasing = holders;
        self.released.unconfirmed = holders.len();
        self.expired = now + self.longest_ttl;
        holders
    }

    /// Takes the result of the delete for this node: [`Answer::Never`] if the node refused to run it or could not be asked,
    /// [`Answer::Unknown`] if the connection broke. Unless the effect says that it is finished, the delete is still owed:
    /// send it again as soon as the node can be asked.
    pub fn on_deleted(&mut self, node: usize, answer: Answer, now: Time) -> Effect {
        // For the caller only the first result counts; it does not wait for deletes that are run later.
        if self.releasing.remove(node) {
            match answer {
                Answer::Yes => self.released.deleted += 1,
                Answer::No => self.released.gone += 1,
                Answer::Never | Answer::Unconfirmed | Answer::Unknown => {}
            }
            if matches!(answer, Answer::Yes | Answer::No) {
                self.released.unconfirmed -= 1;
            }
        }
        Effect {
            decided: self.released().is_some(),
            finished: matches!(answer, Answer::Yes | Answer::No) || now >= self.expired,
            ..Effect::default()
        }
    }

    /// Until when deletes are owed: afterwards the keys have expired by themselves. Known once the attempt is closed.
    #[must_use]
    pub const fn owed_until(&self) -> Time {
        self.expired
    }

    /// The result of the release, once a quorum has confirmed it or no node is left to wait for.
    #[must_use]
    pub fn released(&self) -> Option<Released> {
        let confirmed = self.released.deleted + self.released.gone;
        (confirmed >= quorum(self.nodes()) || self.releasing.is_empty()).then_some(self.released)
    }

    /// The result of the release so far.
    #[must_use]
    pub const fn released_so_far(&self) -> Released {
        self.released
    }

    fn select(&self, test: impl Fn(Vote) -> bool) -> NodeSet {
        (0..self.nodes()).filter(|&node| test(self.states[node].vote)).collect()
    }

    /// Until when a quorum of keys is known to exist.
    fn valid_until(&self) -> Option<Time> {
        valid_until(self.states.iter().map(|state| state.until))
    }

    /// Updates the lease at `now`. Returns whether the lock was lost just now, and if not, whether its validity ends earlier
    /// than before.
    fn on_validity(&mut self, now: Time) -> (bool, bool) {
        let before = self.lease.valid_until();
        let lost = self.lease.on_validity(self.valid_until(), now);
        (lost, !lost && self.lease.valid_until() < before)
    }

    /// Until when a key may be relied on that its node set or extended by this TTL at `asked` or later.
    fn key_until(&self, asked: Time, ttl: Duration) -> Time {
        let until = asked + validity(ttl);
        self.rules
            .lifetime
            .map_or(until, |lifetime| until.min(self.start + lifetime))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULES: Rules = Rules {
        ttl: Duration::from_secs(1),
        reply_timeout: Duration::from_millis(40),
        lifetime: None,
        repair: true,
    };

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// An attempt at time 0 on `nodes` nodes, whose commands are all written.
    fn written(nodes: usize) -> Attempt {
        let mut attempt = Attempt::new(nodes, RULES, at(0));
        assert!((0..nodes).all(|node| attempt.on_written(node, at(1))));
        attempt
    }

    /// A lock that these nodes voted for.
    fn held(nodes: usize, votes: usize) -> Attempt {
        let mut attempt = written(nodes);
        for node in 0..votes {
            let _ = attempt.on_vote(node, at(0), Answer::Yes, at(2));
        }
        assert_eq!(attempt.decide(at(3)), Decision::Granted);
        attempt
    }

    fn set(nodes: impl IntoIterator<Item = usize>) -> NodeSet {
        nodes.into_iter().collect()
    }

    #[test]
    fn written_commands_are_taken_back_and_unwritten_ones_withdrawn() {
        let mut attempt = Attempt::new(5, RULES, at(0));
        (0..4).for_each(|node| assert!(attempt.on_written(node, at(1))));
        assert!(!attempt.on_vote(0, at(0), Answer::Yes, at(2)).finished);
        assert!(attempt.on_vote(1, at(0), Answer::No, at(2)).finished);
        assert!(!attempt.on_vote(2, at(0), Answer::Unknown, at(2)).finished);
        assert_eq!(attempt.close(at(3)), set([0, 2, 3]));
        assert!(!attempt.on_written(4, at(3)));
        assert!(attempt.close(at(3)).is_empty());
        // Its delete is under way, and only the answer to the delete finishes it.
        assert!(!attempt.on_vote(3, at(0), Answer::No, at(4)).finished);
        assert!(attempt.on_deleted(3, Answer::No, at(5)).finished);
    }

    #[test]
    fn the_caller_is_woken_once_by_the_vote_that_decides() {
        let mut attempt = written(3);
        assert!(!attempt.on_vote(0, at(0), Answer::Yes, at(2)).decided);
        assert!(attempt.on_vote(1, at(0), Answer::Yes, at(2)).decided);
        assert_eq!(attempt.decide(at(3)), Decision::Granted);
        assert!(!attempt.on_vote(2, at(0), Answer::Yes, at(4)).decided);
        assert_eq!((attempt.votes(), attempt.is_partial()), (3, false));
    }

    #[test]
    fn of_a_lock_one_renewal_is_queued_for_a_node_and_none_is_written_once_it_is_of_no_use() {
        let mut attempt = held(3, 3);
        let all = set([0, 1, 2]);
        assert_eq!(attempt.renew(all), all);
        assert_eq!(attempt.renew(all), NodeSet::EMPTY);
        assert!(attempt.on_extension_written(0, at(500)));
        // It was refused, and not written.
        let _ = attempt.on_extended(1, at(500), Answer::Never, at(510));
        assert_eq!(attempt.renew(all), set([0, 1]));
        let lost = at(0) + validity(RULES.ttl);
        assert!(!attempt.on_extension_written(2, lost));
        attempt.close(at(600));
        assert!(!attempt.on_extension_written(0, at(601)));
    }

    #[test]
    fn what_replicas_have_not_confirmed_is_no_vote_and_is_taken_back() {
        let mut attempt = written(1);
        let effect = attempt.on_vote(0, at(0), Answer::Unconfirmed, at(2));
        assert!(effect.decided && !effect.finished);
        assert_eq!((attempt.decide(at(3)), attempt.ever_granted()), (Decision::NoQuorum, 0));
        assert_eq!(attempt.close(at(4)), set([0]));
        assert!(attempt.on_deleted(0, Answer::Yes, at(5)).finished);
        // A lock that others hold up stays what it is, and its release deletes all keys.
        let mut attempt = held(3, 2);
        assert_eq!(attempt.on_vote(2, at(0), Answer::Unconfirmed, at(4)), Effect::default());
        assert!(attempt.is_partial() && attempt.is_answered() && attempt.votes() == 2);
        assert!(attempt.on_extended(2, at(5), Answer::No, at(6)).finished);
        assert_eq!((attempt.vote(2), attempt.close(at(7))), (Vote::Gone, set([0, 1])));
    }

    #[test]
    fn late_votes_complete_a_lock_and_a_late_refusal_leaves_it_partial() {
        let mut attempt = held(3, 2);
        assert!(attempt.is_partial() && !attempt.is_answered());
        let _ = attempt.on_vote(2, at(0), Answer::No, at(4));
        assert!(attempt.is_partial() && attempt.is_answered());
        attempt.close(at(5));
        assert!(!attempt.is_partial() && attempt.ever_granted() == 2);
    }

    #[test]
    fn the_lock_is_valid_until_a_quorum_of_keys_may_be_gone() {
        let mut attempt = held(3, 3);
        let first = at(0) + validity(RULES.ttl);
        let second = at(500) + validity(RULES.ttl);
        assert_eq!(attempt.lease().valid_until(), Some(first));
        let _ = attempt.on_extended(0, at(500), Answer::Yes, at(510));
        assert_eq!(attempt.lease().valid_until(), Some(first));
        assert!(!attempt.on_extended(1, at(500), Answer::Yes, at(510)).sooner);
        assert_eq!(attempt.lease().valid_until(), Some(second));
        // One key less still leaves a quorum, but its validity ends sooner.
        let effect = attempt.on_extended(0, at(500), Answer::No, at(520));
        assert!(!effect.lost && effect.sooner);
        assert_eq!(attempt.lease().valid_until(), Some(first));
        assert_eq!(
            (attempt.votes(), attempt.repair(), attempt.repair()),
            (2, set([0]), set([]))
        );
        let effect = attempt.on_extended(1, at(500), Answer::No, at(530));
        assert!(effect.lost && !effect.sooner);
        assert!(!attempt.on_extended(2, at(530), Answer::Yes, at(540)).lost);
        assert_eq!(attempt.lease().valid_until(), None);
    }

    #[test]
    fn an_extension_that_no_node_answered_changes_nothing() {
        let mut attempt = held(3, 3);
        let before = attempt.lease().valid_until();
        for answer in [Answer::Never, Answer::Unconfirmed, Answer::Unknown] {
            assert_eq!(attempt.on_extended(0, at(500), answer, at(510)), Effect::default());
        }
        assert_eq!(
            (attempt.lease().valid_until(), attempt.extend()),
            (before, set([0, 1, 2]))
        );
    }

    #[test]
    fn a_repaired_vote_raises_the_votes_but_revives_nothing() {
        let mut attempt = held(3, 2);
        let _ = attempt.on_vote(2, at(0), Answer::Never, at(4));
        assert_eq!(attempt.repair(), set([2]));
        assert!(attempt.on_written(2, at(100)));
        let _ = attempt.on_vote(2, at(99), Answer::Yes, at(101));
        assert_eq!((attempt.votes(), attempt.lease().valid_until()), (3, Some(at(988))));

        let mut late = held(3, 2);
        let _ = late.on_vote(2, at(0), Answer::Never, at(4));
        late.repair();
        assert!(late.on_written(2, at(900)));
        assert!(late.on_vote(2, at(900), Answer::Yes, at(1000)).lost);
        assert_eq!(late.lease().valid_until(), None);
    }

    #[test]
    fn a_key_is_found_gone_once_however_many_extensions_are_under_way() {
        let mut attempt = held(3, 3);
        assert!(attempt.on_extended(2, at(100), Answer::No, at(101)).finished);
        assert_eq!(attempt.on_extended(2, at(110), Answer::No, at(111)), Effect::default());
        // The refused vote had finished before.
        let mut attempt = held(3, 2);
        assert!(attempt.on_vote(2, at(0), Answer::No, at(4)).finished);
        assert_eq!(attempt.on_extended(2, at(3), Answer::No, at(5)), Effect::default());
    }

    #[test]
    fn a_repaired_key_is_taken_back_whatever_an_earlier_extension_says() {
        let mut attempt = held(3, 3);
        let _ = attempt.on_extended(2, at(100), Answer::No, at(101));
        assert_eq!(attempt.repair(), set([2]));
        let _ = attempt.on_extended(2, at(110), Answer::No, at(120));
        assert_eq!(attempt.repair(), set([]));
        assert!(attempt.on_written(2, at(121)));
        let _ = attempt.on_extended(2, at(115), Answer::No, at(122));
        assert_eq!(attempt.close(at(123)), set([0, 1, 2]));
    }

    #[test]
    fn no_extension_outlasts_the_lifetime() {
        let rules = Rules {
            lifetime: Some(Duration::from_millis(1500)),
            ..RULES
        };
        let mut attempt = Attempt::new(1, rules, at(0));
        attempt.on_written(0, at(0));
        let _ = attempt.on_vote(0, at(0), Answer::Yes, at(1));
        assert_eq!(attempt.decide(at(1)), Decision::Granted);
        let _ = attempt.on_extended(0, at(900), Answer::Yes, at(901));
        assert_eq!(attempt.lease().valid_until(), Some(at(1500)));
    }

    #[test]
    fn an_extension_by_another_ttl_counts_by_that_and_never_shortens() {
        let (shorter, longer) = (Duration::from_millis(100), Duration::from_secs(5));
        let mut attempt = held(1, 1);
        let until = |attempt: &Attempt| attempt.lease().valid_until();
        let first = until(&attempt);
        assert_eq!(attempt.extend_to(shorter), set([0]));
        let _ = attempt.on_extended_to(0, at(100), shorter, Answer::Yes, at(101));
        assert_eq!(until(&attempt), first);
        assert_eq!(attempt.extend_to(longer), set([0]));
        let _ = attempt.on_extended_to(0, at(200), longer, Answer::Yes, at(201));
        assert_eq!(until(&attempt), Some(at(200) + validity(longer)));
        let _ = attempt.on_extended(0, at(300), Answer::Yes, at(301));
        assert_eq!(until(&attempt), Some(at(200) + validity(longer)));
        // The longest key may outlast the TTL of the rules, and so long its delete is owed.
        attempt.close(at(400));
        assert_eq!(attempt.owed_until(), at(400) + longer);
    }

    #[test]
    fn a_release_is_over_when_a_quorum_confirmed_it_or_nobody_is_left() {
        let mut attempt = held(3, 3);
        assert_eq!(attempt.close(at(10)).len(), 3);
        assert_eq!(attempt.released(), None);
        assert!(!attempt.on_deleted(0, Answer::Yes, at(11)).decided);
        assert!(!attempt.on_deleted(1, Answer::Unknown, at(11)).decided);
        assert!(attempt.on_deleted(2, Answer::No, at(11)).decided);
        let expected = Released {
            deleted: 1,
            gone: 1,
            unconfirmed: 1,
        };
        assert_eq!(attempt.released(), Some(expected));
        // Later results do not count any more.
        assert!(attempt.on_deleted(1, Answer::Yes, at(12)).finished);
        assert_eq!(attempt.released(), Some(expected));
    }

    #[test]
    fn a_delete_is_owed_until_the_node_ran_it_or_the_key_has_expired() {
        let mut attempt = held(1, 1);
        attempt.close(at(10));
        assert_eq!(attempt.owed_until(), at(1010));
        for answer in [Answer::Never, Answer::Unknown] {
            assert!(!attempt.on_deleted(0, answer, at(20)).finished);
            assert!(attempt.clone().on_deleted(0, answer, at(1010)).finished);
        }
        assert!(attempt.on_deleted(0, Answer::No, at(30)).finished);
    }

    #[test]
    fn the_time_of_a_node_counts_from_the_writing_and_the_limit_of_the_caller_cuts_it_short() {
        let mut attempt = Attempt::new(2, RULES, at(0));
        assert_eq!(attempt.waiting(at(1000), at(0)), Waiting::Until(at(40)));
        attempt.on_written(0, at(5));
        // The second command still waits behind those of others.
        assert_eq!(attempt.waiting(at(1000), at(30)), Waiting::Until(at(70)));
        assert_eq!(attempt.waiting(at(60), at(60)), Waiting::CutShort);
        attempt.on_written(1, at(50));
        assert_eq!(attempt.waiting(at(1000), at(60)), Waiting::Until(at(90)));
        assert_eq!(attempt.waiting(at(1000), at(90)), Waiting::Over);
        assert_eq!(attempt.decide(at(90)), Decision::Unknown);
    }

    fn answers() -> impl Strategy<Value = Vec<Option<Answer>>> {
        let answer = prop_oneof![
            2 => Just(None),
            3 => Just(Some(Answer::Yes)),
            3 => Just(Some(Answer::No)),
            1 => Just(Some(Answer::Never)),
            1 => Just(Some(Answer::Unconfirmed)),
            1 => Just(Some(Answer::Unknown)),
        ];
        prop::collection::vec(answer, 1..10)
    }

    fn after(answers: &[Option<Answer>]) -> Attempt {
        let mut attempt = written(answers.len());
        for (node, answer) in answers.iter().enumerate() {
            if let Some(answer) = answer {
                let _ = attempt.on_vote(node, at(0), *answer, at(2));
            }
        }
        attempt
    }

    proptest! {
        #[test]
        fn granted_is_exactly_a_quorum_of_votes_in_time(answers in answers()) {
            let yes = answers.iter().filter(|answer| **answer == Some(Answer::Yes)).count();
            let enough = yes >= quorum(answers.len());
            prop_assert_eq!(after(&answers).decide(at(3)) == Decision::Granted, enough);
            prop_assert_eq!(after(&answers).decide(at(988)) == Decision::Expired, enough);
        }

        #[test]
        fn a_decided_attempt_ends_the_same_way_whatever_comes(answers in answers(), rest in answers()) {
            let mut attempt = after(&answers);
            if attempt.is_decided() {
                let expected = attempt.clone().decide(at(3));
                for (node, later) in rest.iter().enumerate().take(answers.len()) {
                    if let (None, Some(later)) = (answers[node], later) {
                        let _ = attempt.on_vote(node, at(0), *later, at(2));
                    }
                }
                prop_assert_eq!(attempt.decide(at(3)), expected);
            }
        }

        #[test]
        fn contended_and_unknown_need_enough_answers(answers in answers()) {
            let count = |test: fn(&Option<Answer>) -> bool| answers.iter().filter(|answer| test(answer)).count();
            let yes = count(|answer| *answer == Some(Answer::Yes));
            let held = count(|answer| *answer == Some(Answer::No));
            let doubtful = count(|answer| matches!(answer, None | Some(Answer::Unknown)));
            let quorum = quorum(answers.len());
            if yes < quorum {
                let expected = if yes + held >= quorum {
                    Decision::Contended
                } else if yes + doubtful >= quorum {
                    Decision::Unknown
                } else {
                    Decision::NoQuorum
                };
                prop_assert_eq!(after(&answers).decide(at(3)), expected);
            }
        }
    }

    #[test]
    fn a_vote_that_was_lost_with_its_connection_counts_once_the_node_extends_the_key() {
        let mut attempt = written(3);
        for (node, answer) in [Answer::Yes, Answer::Yes, Answer::Unknown].into_iter().enumerate() {
            let _ = attempt.on_vote(node, at(0), answer, at(2));
        }
        assert_eq!((attempt.decide(at(3)), attempt.votes()), (Decision::Granted, 2));
        // What says nothing about the key makes no vote.
        let _ = attempt.on_extended(2, at(10), Answer::Unknown, at(11));
        assert_eq!((attempt.vote(2), attempt.votes()), (Vote::Unknown, 2));
        // The command may still come to the node, and must be undone at the end.
        assert!(!attempt.on_extended(2, at(15), Answer::No, at(16)).finished);
        assert_eq!(attempt.clone().close(at(17)), NodeSet::first(3));
        let _ = attempt.on_extended(2, at(20), Answer::Yes, at(21));
        assert_eq!(
            (attempt.vote(2), attempt.votes(), attempt.ever_granted()),
            (Vote::Granted, 3, 3)
        );
    }

    #[test]
    fn a_renewal_asks_only_if_a_quorum_can_answer() {
        let mut attempt = held(3, 3);
        let well = |nodes: &[usize]| nodes.iter().copied().collect::<NodeSet>();
        assert_eq!(attempt.renew(well(&[0, 2])), NodeSet::first(3));
        assert_eq!(attempt.renew(well(&[1])), NodeSet::EMPTY);
        // A node without the key does not help.
        let mut attempt = held(3, 2);
        let _ = attempt.on_vote(2, at(0), Answer::No, at(4));
        assert_eq!(attempt.renew(well(&[0, 2])), NodeSet::EMPTY);
        assert_eq!(attempt.renew(well(&[0, 1])), NodeSet::first(2));
    }
}
