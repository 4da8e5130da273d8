//! The commands of one app server for one node, from the queue to the answer.

use std::collections::VecDeque;
use std::time::Duration;

use super::answer::Command;
use super::link::{Link, Obstacle, Suspicion};
use super::time::Time;
use super::window::Window;

/// A command that a mailbox carries.
pub trait Letter {
    /// What the node is asked to do for a lock; `None` for a question.
    fn command(&self) -> Option<Command>;

    /// How long its answer will be of use to whoever queues it now.
    fn patience(&self) -> Duration;
}

/// What is queued for a node, and whether the node can be asked.
///
/// Deletes and extensions go first: they are what others wait for, and what keeps locks that are held. Otherwise it is first come,
/// first served.
#[derive(Debug)]
pub struct Mailbox<L> {
    link: Link,
    urgent: VecDeque<L>,
    usual: VecDeque<L>,
    pace: Pace,
}

/// How fast the node answers now.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    window: usize,
    round_trip: Duration,
}

impl<L: Letter> Mailbox<L> {
    /// Before the first connection.
    #[must_use]
    pub fn new(link: Link) -> Self {
        Self {
            link,
            urgent: VecDeque::new(),
            usual: VecDeque::new(),
            pace: Pace::default(),
        }
    }

    /// Queues a command, or returns it with why it can't be sent now. A delete that is refused is owed nevertheless, see
    /// [`owe`](Self::owe), but nobody should wait for it.
    #[must_use]
    pub fn push(&mut self, letter: L) -> Option<(L, Obstacle)> {
        let command = letter.command();
        if command == Some(Command::Set) && self.wait() > letter.patience() {
            return Some((letter, Obstacle::Overloaded));
        }
        match self.link.admit(command, self.usual.len()) {
            Ok(()) => self.lane(command).push_back(letter),
            Err(obstacle) => return Some((letter, obstacle)),
        }
        None
    }

    /// How long it will take until a vote that is asked for now is answered, if others have to wait.
    fn wait(&self) -> Duration {
        let Pace { window, round_trip } = self.pace;
        let ahead = self.len();
        if ahead <= window {
            return Duration::ZERO;
        }
        // By Little's law so many leave the queue in each round trip.
        let round_trips = u32::try_from(ahead / window.max(1)).unwrap_or(u32::MAX);
        round_trip.saturating_mul(round_trips.saturating_add(1))
    }

    const fn lane(&mut self, command: Option<Command>) -> &mut VecDeque<L> {
        match command {
            Some(Command::Extend | Command::Delete) => &mut self.urgent,
            Some(Command::Set) | None => &mut self.usual,
        }
    }

    /// Queues deletes whose askers no longer wait for them; they are kept until the node can be asked. Nothing is kept once
    /// there will be no connection any more.
    pub fn owe(&mut self, deletes: impl IntoIterator<Item = L>) {
        if !self.link.is_ended() {
            self.urgent.extend(deletes);
        }
    }

    /// Takes the next command to write, if there is room for it in the window of this connection.
    pub fn pop(&mut self, on: &Pipeline<L>) -> Option<L> {
        self.pace = on.pace();
        if on.room() == 0 {
            return None;
        }
        self.urgent.pop_front().or_else(|| self.usual.pop_front())
    }

    /// Appends the next commands to write to `letters`, no more than there is room for in the window of this connection.
    pub fn hand_over(&mut self, letters: &mut VecDeque<L>, on: &Pipeline<L>) {
        self.pace = on.pace();
        let mut room = on.room().saturating_sub(letters.len());
        for lane in [&mut self.urgent, &mut self.usual] {
            if letters.is_empty() && lane.len() <= room {
                std::mem::swap(letters, lane);
                room -= letters.len();
            } else {
                let some = room.min(lane.len());
                letters.extend(lane.drain(..some));
                room -= some;
            }
        }
    }

    /// How many commands are queued.
    #[must_use]
    pub fn len(&self) -> usize {
        self.urgent.len() + self.usual.len()
    }

    /// Whether nothing is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many deletes and extensions are queued.
    #[must_use]
    pub fn urgent(&self) -> usize {
        self.urgent.len()
    }

    /// The node owes answers for too long: it gets no new commands but deletes until it answers. Returns what was queued, which
    /// fails; what is owed of that is queued again.
    pub fn on_suspect(&mut self) -> impl Iterator<Item = L> + use<L> {
        self.link.on_suspect();
        self.empty()
    }

    /// There is no connection. If the next one is `reconnecting` already, what is queued waits for it; otherwise it is returned, and
    /// fails; what is owed of that is queued again.
    pub fn on_disconnected(&mut self, reconnecting: bool) -> impl Iterator<Item = L> + use<L> {
        self.link.on_disconnected(reconnecting);
        (!reconnecting).then(|| self.empty()).into_iter().flatten()
    }

    /// Puts back what was handed over and not written, in front of all that is queued.
    pub fn put_back(&mut self, letters: VecDeque<L>) {
        for letter in letters.into_iter().rev() {
            self.lane(letter.command()).push_front(letter);
        }
    }

    /// There will be no connection any more. Returns what was queued, which fails, and nothing is owed.
    pub fn on_ended(&mut self) -> impl Iterator<Item = L> + use<L> {
        self.link.on_ended();
        self.empty()
    }

    /// Takes out all that is queued.
    pub fn empty(&mut self) -> impl Iterator<Item = L> + use<L> {
        let (urgent, usual) = (std::mem::take(&mut self.urgent), std::mem::take(&mut self.usual));
        urgent.into_iter().chain(usual)
    }

    /// Takes out the queued commands that ask for votes.
    pub fn take_votes(&mut self) -> VecDeque<L> {
        let is_vote = |letter: &L| letter.command() == Some(Command::Set);
        let (votes, others): (VecDeque<_>, _) = std::mem::take(&mut self.usual).into_iter().partition(is_vote);
        self.usual = others;
        votes
    }

    /// Whether the node can be asked.
    #[must_use]
    pub const fn link(&self) -> &Link {
        &self.link
    }

    /// The link, for what happens to it without an effect on what is queued.
    pub const fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// What is under way on one connection: the node answers in the order in which it was asked.
#[derive(Debug)]
pub struct Pipeline<L> {
    written: VecDeque<(L, Time)>,
    suspicion: Suspicion,
    window: Window,
}

impl<L> Pipeline<L> {
    /// A connection made at `now`, with never more than `window` commands under way.
    #[must_use]
    pub fn new(window: usize, now: Time) -> Self {
        Self {
            written: VecDeque::new(),
            suspicion: Suspicion::new(now),
            window: Window::new(window, now),
        }
    }

    const fn pace(&self) -> Pace {
        Pace {
            window: self.window.size(),
            round_trip: self.window.round_trip(),
        }
    }

    /// How many more commands may be written.
    #[must_use]
    pub fn room(&self) -> usize {
        self.window.size().saturating_sub(self.written.len())
    }

    /// A command was written at `now`.
    pub fn on_written(&mut self, letter: L, now: Time) {
        self.written.push_back((letter, now));
        self.window.on_written(self.written.len());
    }

    /// Takes the command that the next answer belongs to, and when it was written. `None` if nothing is owed.
    pub fn pop(&mut self) -> Option<(L, Time)> {
        self.written.pop_front()
    }

    /// At `now` there are no more answers to read.
    pub const fn on_looked(&mut self, now: Time) {
        self.window.on_looked(now);
    }

    /// Answers had come by `now`, the last of them to a command that was written at `written`, if that is known; the node may take
    /// `timeout` for each. Returns whether the node is trusted again.
    pub fn on_answers(&mut self, written: Option<Time>, timeout: Duration, now: Time) -> bool {
        if let Some(written) = written {
            self.window.on_answer(written, now, timeout);
        }
        self.suspicion.on_answers(now)
    }

    /// When the oldest command without an answer was written.
    #[must_use]
    pub fn oldest(&self) -> Option<Time> {
        self.written.front().map(|(_, written)| *written)
    }

    /// When the node becomes suspect unless it answers; `None` if it owes nothing, or is known to be suspect.
    #[must_use]
    pub fn next_timeout(&self, oldest: Option<Time>, timeout: Duration) -> Option<Time> {
        self.suspicion.next_timeout(oldest, timeout)
    }

    /// The time to check has come. Returns whether the node is suspect from now on.
    pub fn on_timeout(&mut self, oldest: Option<Time>, timeout: Duration, now: Time) -> bool {
        self.suspicion.on_timeout(oldest, timeout, now)
    }

    /// The commands without an answer, the oldest first.
    #[must_use]
    pub const fn written(&self) -> &VecDeque<(L, Time)> {
        &self.written
    }

    /// The same, to be changed.
    pub const fn written_mut(&mut self) -> &mut VecDeque<(L, Time)> {
        &mut self.written
    }

    /// The commands without an answer, the oldest first, which will never come.
    pub fn into_written(self) -> impl Iterator<Item = L> {
        self.written.into_iter().map(|(letter, _)| letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command, its number, and how long its answer is of use.
    #[derive(Debug, PartialEq, Eq)]
    struct Note(Option<Command>, u32, Duration);

    impl Letter for Note {
        fn command(&self) -> Option<Command> {
            self.0
        }

        fn patience(&self) -> Duration {
            self.2
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn up() -> Mailbox<Note> {
        let mut mailbox = Mailbox::new(Link::default());
        mailbox.link_mut().on_connected();
        mailbox
    }

    fn push(mailbox: &mut Mailbox<Note>, command: Option<Command>, number: u32) {
        assert_eq!(mailbox.push(Note(command, number, SECOND)), None);
    }

    fn numbers(letters: impl IntoIterator<Item = Note>) -> Vec<u32> {
        letters.into_iter().map(|letter| letter.1).collect()
    }

    #[test]
    fn deletes_and_extensions_go_first_and_a_window_is_filled() {
        let mut mailbox = up();
        for (number, command) in [None, Some(Command::Set), Some(Command::Extend), Some(Command::Delete)]
            .into_iter()
            .enumerate()
        {
            push(&mut mailbox, command, u32::try_from(number).unwrap());
        }
        let (mut letters, mut pipeline) = (VecDeque::new(), Pipeline::new(3, at(0)));
        mailbox.hand_over(&mut letters, &pipeline);
        assert_eq!(numbers(letters.drain(..)), [2, 3, 0]);
        pipeline.on_written(Note(None, 9, SECOND), at(0));
        pipeline.on_written(Note(None, 8, SECOND), at(0));
        push(&mut mailbox, Some(Command::Delete), 4);
        mailbox.hand_over(&mut letters, &pipeline);
        assert_eq!((numbers(letters.drain(..)), mailbox.is_empty()), (vec![4], false));
        assert_eq!(pipeline.pop().map(|(letter, _)| letter.1), Some(9));
        assert_eq!(
            (pipeline.oldest(), mailbox.pop(&pipeline).map(|letter| letter.1)),
            (Some(at(0)), Some(1))
        );
    }

    #[test]
    fn what_is_queued_fails_when_the_node_is_suspect_or_gone_and_only_what_is_owed_comes_back() {
        let mut mailbox = up();
        push(&mut mailbox, Some(Command::Set), 1);
        push(&mut mailbox, Some(Command::Delete), 2);
        assert_eq!(numbers(mailbox.on_suspect()), [2, 1]);
        let suspect = mailbox.push(Note(Some(Command::Set), 3, SECOND)).unwrap();
        assert_eq!(suspect.1, Obstacle::Suspect);
        mailbox.owe([Note(Some(Command::Delete), 2, SECOND)]);
        assert_eq!(numbers(mailbox.on_disconnected(false)), [2]);
        mailbox.owe([Note(Some(Command::Delete), 2, SECOND)]);
        mailbox.link_mut().on_connected();
        assert_eq!(mailbox.pop(&Pipeline::new(1, at(0))).map(|letter| letter.1), Some(2));
        assert_eq!(mailbox.on_ended().count(), 0);
        mailbox.owe([Note(Some(Command::Delete), 2, SECOND)]);
        assert!(mailbox.is_empty());
    }

    #[test]
    fn votes_are_taken_out_and_the_rest_keeps_its_order() {
        let mut mailbox = up();
        for (number, command) in [
            (1, None),
            (2, Some(Command::Set)),
            (3, None),
            (4, Some(Command::Delete)),
        ] {
            push(&mut mailbox, command, number);
        }
        assert_eq!(numbers(mailbox.take_votes()), [2]);
        assert_eq!(numbers(mailbox.empty()), [4, 1, 3]);
    }

    #[test]
    fn a_vote_that_would_come_too_late_is_refused_at_once_and_nothing_else_is() {
        let (mut mailbox, mut pipeline) = (up(), Pipeline::new(1, at(0)));
        let vote = |number, millis| Note(Some(Command::Set), number, Duration::from_millis(millis));
        let overloaded =
            |pushed: Option<(Note, Obstacle)>| pushed.is_some_and(|(_, obstacle)| obstacle == Obstacle::Overloaded);
        // One command in 10 ms.
        pipeline.on_written(vote(0, 0), at(0));
        pipeline.pop();
        pipeline.on_looked(at(9));
        pipeline.on_answers(Some(at(0)), Duration::from_millis(40), at(10));
        pipeline.on_written(vote(0, 0), at(10));
        let mut none = VecDeque::new();
        mailbox.hand_over(&mut none, &pipeline);
        assert!(none.is_empty());
        // Nobody is turned away as long as no more than a window waits, whatever the last answer took.
        assert!(mailbox.push(vote(1, 1)).is_none() && mailbox.push(vote(2, 1)).is_none());
        assert!(overloaded(mailbox.push(vote(3, 29))));
        assert!(mailbox.push(vote(4, 30)).is_none());
        assert!(overloaded(mailbox.push(vote(5, 39))));
        assert!(mailbox.push(Note(Some(Command::Delete), 6, Duration::ZERO)).is_none());
        assert!(mailbox.push(Note(None, 7, Duration::ZERO)).is_none());
    }
}
