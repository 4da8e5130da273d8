//! Fencing: protection against a holder that does not know that its lock is lost.
//!
//! A lock can be lost while its holder is stopped, and no lock can warn the holder in time. So let each holder draw a number
//! right after the acquire, and let the resource itself refuse any number lower than the highest that it has accepted.
//!
//! # Use a counter in the database
//!
//! If the lock guards data in a database, the counter belongs in that database, in the guarded row itself. The counter is
//! then exactly as durable as the row, and the check is a condition of the guarded statement:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), sqlx::Error> {
//! # use sqlx::{Connection, SqliteConnection, query, query_scalar, raw_sql};
//! # let mut db = SqliteConnection::connect("sqlite::memory:").await?;
//! # let db = &mut db;
//! raw_sql("CREATE TABLE stock (
//!              sku    BIGINT PRIMARY KEY,
//!              units  BIGINT NOT NULL,
//!              drawn  BIGINT NOT NULL DEFAULT 0,  -- the last number that a holder drew
//!              token  BIGINT NOT NULL DEFAULT 0,  -- the highest that was shown, and by whom
//!              holder TEXT NOT NULL DEFAULT ''
//!          );
//!          INSERT INTO stock (sku, units) VALUES (7, 10)").execute(&mut *db).await?;
//!
//! // 1. Under the lock: draw a number.
//! const DRAW: &str = "UPDATE stock SET drawn = drawn + 1 WHERE sku = 7 RETURNING drawn";
//! // 2. Read, and shut out all earlier holders. No row returned: you are shut out yourself.
//! const READ: &str = "UPDATE stock SET token = $1, holder = $2
//!     WHERE sku = 7 AND (token < $1 OR (token = $1 AND holder = $2)) RETURNING units";
//! // 3. Write, unless a newer holder has come since. No row changed: one has, and nothing was written.
//! const WRITE: &str = "UPDATE stock SET units = $3, token = $1, holder = $2
//!     WHERE sku = 7 AND (token < $1 OR (token = $1 AND holder = $2))";
//!
//! let ann: i64 = query_scalar(DRAW).fetch_one(&mut *db).await?;
//! let read: Option<i64> = query_scalar(READ).bind(ann).bind("ann").fetch_optional(&mut *db).await?;
//! assert_eq!(read, Some(10));
//!
//! // Ann is stopped for longer than her lock is valid. Bob gets the lock, and reads the same 10 units.
//! let bob: i64 = query_scalar(DRAW).fetch_one(&mut *db).await?;
//! let read: Option<i64> = query_scalar(READ).bind(bob).bind("bob").fetch_optional(&mut *db).await?;
//! assert_eq!(read, Some(10));
//!
//! // Ann goes on: if her write were accepted, her sale or Bob's would be lost.
//! let write = query(WRITE).bind(ann).bind("ann").bind(9).execute(&mut *db).await?;
//! assert_eq!(write.rows_affected(), 0);
//! let write = query(WRITE).bind(bob).bind("bob").bind(9).execute(&mut *db).await?;
//! assert_eq!(write.rows_affected(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! **Check at the read too.** Without step 2, if Ann had written first, her write would have been accepted, since no newer
//! holder had written yet. Then Bob writes, based on what he read before, and her sale is lost. A check at the write alone
//! stops a holder that comes late, not two that overlap.
//!
//! **Compare the owner too.** Numbers may come from a source that hands one out twice (see below). Of two holders with the
//! same number, the one that is accepted first wins.
//!
//! A scenario of Lockstorm does all this: `lockstorm fencing`.
//!
//! # A counter on the lock nodes
//!
//! If there is no such database, [`QuorumCounter`] draws numbers from the nodes that keep the locks; the resource must still
//! be able to compare them. It is the weaker way; its documentation says what it can't do.

use std::time::Duration;

use rand::RngExt;
use tokio::time::sleep;

use crate::cause::Cause;
use crate::clock::{self, FOREVER};
use crate::node::question::Answered;
use crate::node::wire;
use crate::nodes::Nodes;
use crate::protocol::{NodeSet, Time, quorum};
use crate::refusal::PerNode;

/// The longest pause after two callers have split the nodes between them.
const SPLIT_PAUSE: Duration = Duration::from_millis(2);

/// A counter for each key, kept by a quorum of lock nodes in two phases: read the highest number of a quorum, then have a
/// quorum take a higher one.
///
/// A draw that begins after another has ended gets a higher number, and no two draws get the same one, **as long as no node
/// forgets**:
///
/// - A node takes a number only if it is higher than the one that it has, so it takes each number only once; and any two
///   quorums share a node. Concurrent callers split the nodes between them and have to try again, in random order. So draw
///   under the lock.
/// - A number that no quorum took is skipped and never handed out, so numbers have gaps.
/// - **It goes back when nodes forget**: a restart without persistence, an eviction, a replica that is promoted too early. A
///   number that only a bare quorum took is lost with one of its nodes. A delayed restart makes a forgotten lock harmless
///   but not a forgotten counter, which never expires; its keys stay on the nodes for ever. Run the nodes with an
///   append-only file that is synced always and without eviction (`noeviction`), or use a counter in the database.
///
/// A simpler scheme, `INCR` on all nodes and the highest reply of a quorum, is **not monotonic**, even if no node forgets
/// anything: a node that was unreachable or slow stays behind for ever, since nothing raises it to the others' count.
/// Suppose that one node says 10 and two say 5: if the first becomes unreachable, the next draw is 6.
///
/// Its keys are integers under the names given: keep them apart from the locks' keys. The nodes' user needs `EVAL`, `GET`
/// and `SET` on them.
#[derive(Debug, Clone)]
pub struct QuorumCounter {
    nodes: Nodes,
}

/// Why no number was drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotDrawn {
    /// Too few nodes answered.
    #[error("no number: {}", PerNode(.causes))]
    NoQuorum {
        /// For each node in order, why it gave no answer; `None` if it did.
        causes: Vec<Option<Cause>>,
    },
    /// Other callers drew numbers of this key during the whole time.
    #[error("no number: others draw at the same time")]
    Contended,
}

impl QuorumCounter {
    /// A counter on a quorum of these nodes. Each is waited for no longer than its
    /// [`node_timeout`](crate::NodeOptions::node_timeout).
    #[must_use]
    pub fn new(nodes: &Nodes) -> Self {
        Self { nodes: nodes.clone() }
    }

    /// Draws the next number of `key`, 1 at first. It takes no longer than `timeout`, and usually two round trips.
    ///
    /// # Errors
    /// If too few nodes answered in time, or other callers drew all the time until then. Either may leave a number skipped.
    pub async fn draw(&self, key: impl AsRef<[u8]>, timeout: Duration) -> Result<u64, NotDrawn> {
        let deadline = clock::now() + timeout.min(FOREVER);
        // The first phase proposes zero, which no node takes, since it is higher than no number: every node replies with the
        // number that it has.
        let mut number = 0;
        while let Some(highest) = self.propose(key.as_ref(), number, deadline).await? {
            if number > 0 {
                let pause = rand::rng().random_range(Duration::ZERO..=SPLIT_PAUSE);
                if clock::now() + pause >= deadline {
                    return Err(NotDrawn::Contended);
                }
                sleep(pause).await;
            }
            number = highest + 1;
        }
        Ok(number)
    }

    /// Makes each node take `number` if the node's own is lower. Returns `None` if a quorum took it, or else the highest
    /// number of a quorum.
    async fn propose(&self, key: &[u8], number: u64, deadline: Time) -> Result<Option<u64>, NotDrawn> {
        let all = NodeSet::first(self.nodes.len());
        let quorum = quorum(all.len());
        let until = deadline.min(clock::now() + self.nodes.node_timeout());
        let enough = |answers: &[Option<Answered>]| {
            let taken = count(answers, is_taken);
            let to_come = if number == 0 {
                0
            } else {
                count(answers, |answer| answer.is_none())
            };
            taken >= quorum || (count(answers, is_answered) >= quorum && taken + to_come < quorum)
        };
        let proposal = wire::propose(key, number);
        let answers = self.nodes.ask(all, &proposal, until, enough).await;
        if count(&answers, is_taken) >= quorum {
            return Ok(None);
        }
        if count(&answers, is_answered) < quorum {
            let causes = answers.into_iter().map(cause).collect();
            return Err(NotDrawn::NoQuorum { causes });
        }
        let numbers = answers
            .into_iter()
            .flatten()
            .map(|answer| answer.map_or(0, i64::unsigned_abs));
        Ok(numbers.max())
    }
}

fn count(answers: &[Option<Answered>], test: fn(Option<&Answered>) -> bool) -> usize {
    answers.iter().filter(|answer| test(answer.as_ref())).count()
}

/// Whether the node took the number.
const fn is_taken(answer: Option<&Answered>) -> bool {
    matches!(answer, Some(Ok(1..)))
}

/// Whether the node answered: that it took the number, or which one it has instead.
const fn is_answered(answer: Option<&Answered>) -> bool {
    matches!(answer, Some(Ok(_)))
}

fn cause(answer: Option<Answered>) -> Option<Cause> {
    match answer {
        Some(Ok(_)) => None,
        Some(Err(cause)) => Some(cause),
        None => Some(Cause::Timeout),
    }
}
