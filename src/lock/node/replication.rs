//! Votes that count once replicas have them: one `WAIT` behind each batch of commands that ask for votes.

use std::net::SocketAddr;

use super::job::{Done, Job, LockJob};
use super::reply::Reply;
use super::wire;
use crate::cause::Cause;
use crate::node::options::WaitReplicas;
use crate::protocol::{Command, Letter, Time};

/// The wait for replicas on one connection.
///
/// A node answers nothing on a connection that waits, so nothing is written behind a `WAIT` until its reply has come. What
/// is queued meanwhile is the next batch, and its time does not count against the node.
pub(super) struct Replication {
    replicas: u32,
    /// The `WAIT`, packed.
    command: Vec<u8>,
    /// When the last `WAIT` was written, if its reply is outstanding.
    since: Option<Time>,
    /// The commands in front of it that the node has run, with its replies.
    run: Vec<(LockJob, Reply)>,
}

impl Replication {
    pub(super) fn new(wait: WaitReplicas) -> Self {
        let WaitReplicas { replicas, timeout } = wait;
        Self {
            replicas,
            command: wire::wait(replicas, timeout),
            since: None,
            run: Vec::new(),
        }
    }

    /// Whether this command's reply must wait for replicas.
    pub(super) fn concerns(job: &Job) -> bool {
        matches!(job.command(), Some(Command::Set | Command::Extend))
    }

    /// Appends a `WAIT` for the commands before it.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, now: Time) {
        out.extend_from_slice(&self.command);
        self.since = Some(now);
    }

    /// When the `WAIT` was written whose reply is outstanding, if any.
    pub(super) const fn since(&self) -> Option<Time> {
        self.since
    }

    /// Keeps a command that the node has run, with its reply, until replicas have it.
    pub(super) fn keep(&mut self, job: LockJob, reply: Reply) {
        self.run.push((job, reply));
    }

    /// Takes the reply to the `WAIT`, which had arrived by `now`, and hands out those that waited for it. `None` if there was no
    /// `WAIT`.
    pub(super) fn confirm(&mut self, reply: Reply, server: Option<SocketAddr>, now: Time) -> Option<Vec<Done>> {
        self.since.take()?;
        let missed = self.missed(reply);
        let hand_out = |(job, reply): (LockJob, Reply)| match &missed {
            None => job.reply(reply, server, now),
            Some(cause) => job.unconfirmed(cause.clone(), now),
        };
        Some(self.run.drain(..).map(hand_out).collect())
    }

    /// Why replicas have not confirmed what was written, if they have not.
    fn missed(&self, reply: Reply) -> Option<Cause> {
        let replicas = match reply {
            Reply::Int(replicas) => u32::try_from(replicas).unwrap_or(0),
            // The node became a replica while it waited.
            Reply::Error(text) if text.starts_with("UNBLOCKED") => 0,
            other => return Some(other.cause()),
        };
        (replicas < self.replicas).then_some(Cause::Unreplicated {
            replicas,
            of: self.replicas,
        })
    }

    /// The commands that the node has run, and whose confirmation will never come.
    pub(super) fn into_run(self) -> impl Iterator<Item = Job> {
        self.run.into_iter().map(|(job, _)| Job::Lock(job))
    }
}

/// Whether this reply makes a vote of the command.
pub(super) const fn is_vote(command: Command, reply: &Reply) -> bool {
    matches!(
        (command, reply),
        (Command::Set, Reply::Ok) | (Command::Extend, Reply::Int(1..))
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const WAIT: WaitReplicas = WaitReplicas::new(2, Duration::from_millis(100));

    #[test]
    fn only_as_many_replicas_as_were_asked_for_are_enough() {
        let replication = Replication::new(WAIT);
        let missed = |replicas| Some(Cause::Unreplicated { replicas, of: 2 });
        assert_eq!(replication.missed(Reply::Int(2)), None);
        assert_eq!(replication.missed(Reply::Int(3)), None);
        assert_eq!(replication.missed(Reply::Int(1)), missed(1));
        let unblocked = Reply::Error("UNBLOCKED force unblock from blocking operation".into());
        assert_eq!(replication.missed(unblocked), missed(0));
        let denied = Reply::Error("NOPERM no permission".into());
        assert!(matches!(replication.missed(denied), Some(Cause::NoPermission(_))));
    }

    #[test]
    fn a_reply_without_a_wait_is_none_of_its_own() {
        let mut replication = Replication::new(WAIT);
        let now = crate::clock::now();
        assert!(replication.confirm(Reply::Int(2), None, now).is_none());
        replication.write(&mut Vec::new(), now);
        assert_eq!(replication.since(), Some(now));
        assert!(
            replication
                .confirm(Reply::Int(2), None, now)
                .is_some_and(|done| done.is_empty())
        );
        assert!(replication.since().is_none() && replication.confirm(Reply::Int(2), None, now).is_none());
    }

    #[test]
    fn refusals_are_no_votes() {
        assert!(is_vote(Command::Set, &Reply::Ok) && is_vote(Command::Extend, &Reply::Int(1)));
        for (command, reply) in [
            (Command::Set, Reply::Nil),
            (Command::Extend, Reply::Int(0)),
            (Command::Delete, Reply::Int(1)),
            (Command::Set, Reply::Error("OOM".into())),
        ] {
            assert!(!is_vote(command, &reply));
        }
    }
}
