//! A connection on which the node was silent for too long, beside the one that took its place.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::reply::Reply;
use super::wire::{DELETE, Wire};

/// When so many bytes wait to be written, nobody will read them, and the connection is closed.
const OUTPUT_LIMIT: usize = 1 << 20;

/// What was written on it may still reach the node: votes of attempts that ended long ago. A delete that comes by the other connection
/// may be ahead of them; so each goes out here too, behind them, until the node has answered all that it owed.
pub(super) struct Silent<S> {
    stream: S,
    input: Box<[u8]>,
    filled: usize,
    output: Vec<u8>,
    sent: usize,
    /// How many replies are owed to what was written before.
    owed: usize,
    /// How many deletes were written behind that, and are not answered.
    deletes: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Silent<S> {
    /// With what is left of its `output` behind the first `sent` bytes, the `filled` bytes of an incomplete reply, and so many
    /// replies `owed`.
    pub(super) fn new(stream: S, (input, filled): (Box<[u8]>, usize), output: (Vec<u8>, usize), owed: usize) -> Self {
        Self {
            stream,
            input,
            filled,
            output: output.0,
            sent: output.1,
            owed,
            deletes: 0,
        }
    }

    /// Deletes the key here too.
    pub(super) fn delete(&mut self, wire: &Wire) {
        if self.owed > 0 {
            wire.delete(&mut self.output, &DELETE, true);
            self.deletes += 1;
        }
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
        if self.output.len() > OUTPUT_LIMIT || matches!(Pin::new(&mut self.stream).poll_flush(cx), Poll::Ready(Err(_)))
        {
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
