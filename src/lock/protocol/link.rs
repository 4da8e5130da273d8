//! A node as one app server sees it.

use std::time::Duration;

use super::answer::Command;
use super::time::Time;

/// The most attempts that may have a key on a node, or a command under way to it: room is kept for the delete of each.
const ATTEMPT_LIMIT: usize = 1 << 17;

/// No commands but deletes are admitted when this many wait to be sent.
const QUEUE_LIMIT: usize = 1 << 18;

/// Why a command can't be sent to a node now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Obstacle {
    /// There is no connection.
    Down,
    /// There will be no connection any more.
    Ended,
    /// The node owes answers for too long.
    Suspect,
    /// As many attempts as allowed may have a key on the node: locks that are held, for the most part.
    TooMany,
    /// As many commands as allowed wait to be sent.
    Busy,
    /// The commands ahead can't be answered in time, or the command's turn had not come.
    Overloaded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    /// The first attempt to connect, or the first one after a connection broke, is under way, and commands wait for it.
    Begun,
    Up,
    Down,
    Ended,
}

/// Whether a node can be asked. A command that can't be sent now fails at once, except for deletes, which are owed.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    connection: Connection,
    suspect: bool,
    /// The number of attempts that may have, or get, a key on the node.
    attempts: usize,
    /// Whether attempts are counted.
    counted: bool,
}

impl Default for Link {
    /// Before the first connection.
    fn default() -> Self {
        Self {
            connection: Connection::Begun,
            suspect: false,
            attempts: 0,
            counted: true,
        }
    }
}

impl Link {
    /// The link before the first connection, without a count of attempts, for a node on which they may begin and not end.
    #[must_use]
    pub fn uncounted() -> Self {
        Self {
            counted: false,
            ..Self::default()
        }
    }

    /// Admits a command to the queue, in which `queued` others wait, or says why not. `None` is a question that does
    /// not belong to a lock. A delete that is not admitted because the node is down or suspect is owed nevertheless, but
    /// nobody should wait for it.
    ///
    /// # Errors
    /// Why the node can't be asked now.
    pub fn admit(&mut self, command: Option<Command>, queued: usize) -> Result<(), Obstacle> {
        match self.connection {
            Connection::Down => return Err(Obstacle::Down),
            Connection::Ended => return Err(Obstacle::Ended),
            Connection::Begun | Connection::Up if self.suspect => return Err(Obstacle::Suspect),
            Connection::Begun | Connection::Up => {}
        }
        if command == Some(Command::Delete) {
            return Ok(());
        }
        if self.attempts >= ATTEMPT_LIMIT {
            return Err(Obstacle::TooMany);
        }
        if queued >= QUEUE_LIMIT {
            return Err(Obstacle::Busy);
        }
        self.attempts += usize::from(self.counted && command == Some(Command::Set));
        Ok(())
    }

    /// Why a command has not been written.
    #[must_use]
    pub const fn not_written(&self) -> Obstacle {
        match self.connection {
            Connection::Up if self.suspect => Obstacle::Suspect,
            // It waited behind others until its caller stopped waiting.
            Connection::Up => Obstacle::Overloaded,
            Connection::Begun | Connection::Down => Obstacle::Down,
            Connection::Ended => Obstacle::Ended,
        }
    }

    /// So many attempts are finished on the node.
    pub const fn on_finished(&mut self, attempts: usize) {
        self.attempts = self.attempts.saturating_sub(attempts);
    }

    /// The number of attempts that may have, or get, a key on the node.
    #[must_use]
    pub const fn attempts(&self) -> usize {
        self.attempts
    }

    /// There is a connection.
    pub const fn on_connected(&mut self) {
        (self.connection, self.suspect) = (Connection::Up, false);
    }

    /// There is no connection. Deletes are kept for the next one, as long as their keys may exist; so are all other commands if it
    /// is being made already.
    pub const fn on_disconnected(&mut self, reconnecting: bool) {
        let connection = if reconnecting {
            Connection::Begun
        } else {
            Connection::Down
        };
        (self.connection, self.suspect) = (connection, false);
    }

    /// How long commands wait for a connection to a node that may take `node_timeout` for a reply: it takes two round trips. After
    /// that the node is suspect.
    #[must_use]
    pub const fn connection_wait(node_timeout: Duration) -> Duration {
        node_timeout.saturating_mul(2)
    }

    /// There will be no connection any more: nothing is kept.
    pub const fn on_ended(&mut self) {
        (self.connection, self.suspect) = (Connection::Ended, false);
    }

    /// The node owes answers for too long: it gets no new commands but deletes until it answers.
    pub const fn on_suspect(&mut self) {
        self.suspect = true;
    }

    /// The node answered.
    pub const fn on_trusted(&mut self) {
        self.suspect = false;
    }

    /// Whether there is a connection, and the node owes no answer for too long.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.connection == Connection::Up && !self.suspect
    }

    /// Whether nothing will be sent any more.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.connection == Connection::Ended
    }
}

/// Tells when a node has owed an answer for too long, on one connection.
#[derive(Debug, Clone, Copy)]
pub struct Suspicion {
    last_answer: Time,
    suspect: bool,
}

impl Suspicion {
    /// For a connection made at `now`.
    #[must_use]
    pub const fn new(now: Time) -> Self {
        Self {
            last_answer: now,
            suspect: false,
        }
    }

    /// Answers came. Returns whether the node is trusted again.
    pub const fn on_answers(&mut self, now: Time) -> bool {
        self.last_answer = now;
        std::mem::replace(&mut self.suspect, false)
    }

    /// When to check whether the node is suspect, given when its oldest unanswered command was written and that it may take
    /// `node_timeout`. `None` if it owes nothing, or is known to be suspect.
    #[must_use]
    pub fn next_timeout(&self, oldest: Option<Time>, node_timeout: Duration) -> Option<Time> {
        let oldest = oldest.filter(|_| !self.suspect)?;
        Some(self.last_answer.max(oldest) + node_timeout)
    }

    /// The time to check has come. Returns whether the node is suspect from now on.
    pub fn on_timeout(&mut self, oldest: Option<Time>, node_timeout: Duration, now: Time) -> bool {
        let suspect = self.next_timeout(oldest, node_timeout).is_some_and(|at| at <= now);
        self.suspect |= suspect;
        suspect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: Option<Command> = Some(Command::Set);
    const DELETE: Option<Command> = Some(Command::Delete);
    const TIMEOUT: Duration = Duration::from_millis(40);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn up() -> Link {
        let mut link = Link::default();
        link.on_connected();
        link
    }

    #[test]
    fn a_node_is_asked_while_it_is_connected_and_trusted() {
        let mut link = Link::default();
        assert_eq!(link.admit(SET, 0), Ok(()));
        link.on_connected();
        assert_eq!(link.admit(SET, 0), Ok(()));
        assert!(link.is_well());
        link.on_suspect();
        assert!(!link.is_well());
        assert_eq!(
            (link.admit(SET, 0), link.not_written()),
            (Err(Obstacle::Suspect), Obstacle::Suspect)
        );
        link.on_trusted();
        assert_eq!(
            (link.admit(None, 0), link.not_written()),
            (Ok(()), Obstacle::Overloaded)
        );
        link.on_disconnected(true);
        assert_eq!((link.admit(SET, 0), link.is_well()), (Ok(()), false));
        link.on_suspect();
        link.on_disconnected(false);
        assert_eq!(
            (link.admit(None, 0), link.not_written()),
            (Err(Obstacle::Down), Obstacle::Down)
        );
        link.on_connected();
        assert_eq!(link.admit(SET, 0), Ok(()));
        link.on_ended();
        assert_eq!((link.admit(DELETE, 0), link.is_ended()), (Err(Obstacle::Ended), true));
    }

    #[test]
    fn room_is_kept_for_the_delete_of_every_set_and_no_more_are_taken() {
        let mut link = up();
        for _ in 0..ATTEMPT_LIMIT {
            assert_eq!(link.admit(SET, 0), Ok(()));
        }
        assert_eq!(
            (link.admit(SET, 0), link.admit(DELETE, QUEUE_LIMIT)),
            (Err(Obstacle::TooMany), Ok(()))
        );
        link.on_finished(1);
        assert_eq!(
            (link.admit(SET, 0), link.admit(SET, 0)),
            (Ok(()), Err(Obstacle::TooMany))
        );
        assert_eq!(up().admit(None, QUEUE_LIMIT), Err(Obstacle::Busy));
        let mut uncounted = Link::uncounted();
        assert!((0..=ATTEMPT_LIMIT).all(|_| uncounted.admit(SET, 0) == Ok(())) && uncounted.attempts() == 0);
    }

    #[test]
    fn a_node_that_owes_an_answer_is_suspect_until_it_answers() {
        let mut suspicion = Suspicion::new(at(0));
        assert_eq!(suspicion.next_timeout(None, TIMEOUT), None);
        let oldest = Some(at(10));
        assert_eq!(suspicion.next_timeout(oldest, TIMEOUT), Some(at(50)));
        assert!(!suspicion.on_answers(at(20)));
        // The node is answering, so its commands are not timed one by one.
        assert!(!suspicion.on_timeout(oldest, TIMEOUT, at(50)));
        assert!(suspicion.on_timeout(oldest, TIMEOUT, at(60)));
        assert_eq!(suspicion.next_timeout(oldest, TIMEOUT), None);
        assert!(!suspicion.on_timeout(oldest, TIMEOUT, at(99)));
        assert!(suspicion.on_answers(at(100)));
        assert!(!suspicion.on_timeout(None, TIMEOUT, at(200)));
    }
}
