//! A connection on which the node was silent for too long, beside the one that took its place.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::job::LockJob;
use super::reply::Reply;
use super::wire::{ASKING, DELETE, RELEASE};
use crate::clock;
use crate::protocol::Time;
use crate::trace::event;

/// When so many bytes wait to be written, nobody will read them, and the connection is closed.
const OUTPUT_LIMIT: usize = 1 << 20;

/// What was written on it may still reach the node: votes of attempts that ended long ago. A delete that comes by the other connection
/// may be ahead of them; so those of attempts that began before go out here too, behind them, until the node has answered all that it
/// owed.
pub(super) struct Silent<S> {
    stream: S,
    /// When the other one took its place.
    since: Time,
    input: Box<[u8]>,
    filled: usize,
    output: Vec<u8>,
    sent: usize,
    /// How many replies are owed to what was written before.
    owed: usize,
    /// How many are owed to the deletes behind that.
    deletes: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Silent<S> {
    /// With the `filled` bytes of an incomplete reply, its output, of which the first `sent` bytes are written, and so many replies
    /// `owed`.
    pub(super) fn new(
        stream: S,
        (input, filled): (Box<[u8]>, usize),
        (output, sent): (Vec<u8>, usize),
        owed: usize,
    ) -> Self {
        Self {
            stream,
            since: clock::now(),
            input,
            filled,
            output,
            sent,
            owed,
            deletes: 0,
        }
    }

    /// Deletes the key here too, if its attempt may have asked for it here; behind an `ASKING`, if the node is one of a cluster.
    pub(super) fn delete(&mut self, job: &LockJob, in_cluster: bool) {
        if self.owed == 0 || job.asker.began() > self.since {
            return;
        }
        if in_cluster {
            self.output.extend_from_slice(ASKING);
            self.deletes += 1;
        }
        let script = if job.announce { &RELEASE } else { &DELETE };
        job.asker.wire().delete(&mut self.output, script, true);
        self.deletes += 1;
    }

    /// Writes and reads. Ready when nothing that was written can run any more, as far as can be known.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.sent < self.output.len() {
            match Pin::new(&mut self.stream).poll_write(cx, &self.output[self.sent..]) {
                Poll::Ready(Ok(sent @ 1..)) => self.sent += sent,
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        self.output.drain(..self.sent);
        self.sent = 0;
        if self.output.len() > OUTPUT_LIMIT {
            event!(
                warn,
                "a connection that hangs is closed: too much waits to be written there"
            );
            return Poll::Ready(());
        }
        if matches!(Pin::new(&mut self.stream).poll_flush(cx), Poll::Ready(Err(_))) {
            return Poll::Ready(());
        }
        while self.owed + self.deletes > 0 {
            let mut buffer = ReadBuf::new(&mut self.input[self.filled..]);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer));
            let length = buffer.filled().len();
            if read.is_err() || length == 0 {
                break;
            }
            self.filled += length;
            let mut done = 0;
            while let Ok(Some((_, length))) = Reply::parse(&self.input[done..self.filled]) {
                done += length;
                match self.owed {
                    0 => self.deletes = self.deletes.saturating_sub(1),
                    _ => self.owed -= 1,
                }
            }
            self.input.copy_within(done..self.filled, 0);
            self.filled -= done;
        }
        Poll::Ready(())
    }
}
