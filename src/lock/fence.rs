//! Fencing: what to do about a holder that does not know that its lock is lost.
//!
//! A lock can be lost while its holder is stopped, and no lock can tell it in time. So let each holder draw a number right
//! after the acquire, and let the resource itself refuse whoever shows a lower one than it has accepted already.
//!
//! # Use a counter in the database
//!
//! If what the lock guards is in a database, that database is where the counter belongs, in the very row that is guarded.
//! It forgets nothing that the row does not forget with it, and the check is a condition of the statement that it guards:
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
//!              token  BIGINT NOT NULL DEFAULT 0,  -- the highest that was shown, and whose it is
//!              holder TEXT NOT NULL DEFAULT ''
//!          );
//!          INSERT INTO stock (sku, units) VALUES (7, 10)").execute(&mut *db).await?;
//!
//! // 1. Under the lock: draw a number.
//! const DRAW: &str = "UPDATE stock SET drawn = drawn + 1 WHERE sku = 7 RETURNING drawn";
//! // 2. Read, and shut out all holders before. No row: it is you who is shut out.
//! const READ: &str = "UPDATE stock SET token = $1, holder = $2
//!     WHERE sku = 7 AND (token < $1 OR (token = $1 AND holder = $2)) RETURNING units";
//! // 3. Write, if nobody newer has come since. No row: somebody has, and nothing was written.
//! const WRITE: &str = "UPDATE stock SET units = $3, token = $1, holder = $2
//!     WHERE sku = 7 AND (token < $1 OR (token = $1 AND holder = $2))";
//!
//! let ann: i64 = query_scalar(DRAW).fetch_one(&mut *db).await?;
//! let read: Option<i64> = query_scalar(READ).bind(ann).bind("ann").fetch_optional(&mut *db).await?;
//! assert_eq!(read, Some(10));
//!
//! // Ann is stopped for longer than her lock lives. Bob gets it, and reads the same 10 units.
//! let bob: i64 = query_scalar(DRAW).fetch_one(&mut *db).await?;
//! let read: Option<i64> = query_scalar(READ).bind(bob).bind("bob").fetch_optional(&mut *db).await?;
//! assert_eq!(read, Some(10));
//!
//! // Ann goes on: her write would make Bob's sale or her own disappear.
//! let write = query(WRITE).bind(ann).bind("ann").bind(9).execute(&mut *db).await?;
//! assert_eq!(write.rows_affected(), 0);
//! let write = query(WRITE).bind(bob).bind("bob").bind(9).execute(&mut *db).await?;
//! assert_eq!(write.rows_affected(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! **Check at the read too.** Without step 2 Ann, who comes first, would have been let through: nobody newer had written
//! yet. Then Bob writes what he had read before, and her sale is lost. A check at the write alone stops a holder that comes
//! late, not two that overlap.
//!
//! **Compare the owner too.** Numbers may come from somewhere that hands one out twice (below). Of two holders with the same
//! number the one that is accepted first wins.
//!
//! A scenario of Lockstorm does all this: `lockstorm fencing`.
//!
//! # A counter on the lock nodes
//!
//! If there is no such database, [`QuorumCounter`] draws numbers from the nodes that keep the locks; the resource must still
//! be able to compare them. It is the weaker way. See there for what it can't do.

use std::time::Duration;

use rand::RngExt;
use tokio::time::sleep;

use crate::{
    Cause, Nodes,
    clock::{self, FOREVER},
    node::{question::Answered, wire},
    protocol::{NodeSet, Time, quorum},
    refusal::PerNode,
};

/// The longest pause after two callers took the nodes from each other.
const SPLIT_PAUSE: Duration = Duration::from_millis(2);

/// A counter for each key, kept by a quorum of lock nodes in two phases: read the highest number of a quorum, then have a
/// quorum take a higher one.
///
/// Whoever draws after another's draw has ended gets a higher number, and no two get the same, **as long as no node forgets**:
///
/// - A node takes a number only if it is higher than what it has, so it takes each only once, and two quorums share a node.
///   Callers at the same time take nodes from each other and have to try again, in the order of chance. Draw under the lock.
/// - A number that fewer nodes took than failed is burnt, never handed out. Numbers have gaps.
/// - **It goes back when nodes forget**: a restart without persistence, an eviction, a replica that is promoted too early. A
///   number that only a bare quorum took is lost with one of its nodes. A delayed restart, which makes a forgotten lock
///   harmless, does not help: a counter never expires, so its keys stay for ever too. Let nodes keep an append-only file that
///   is synced always, and evict nothing (`noeviction`), or use a counter in the database.
///
/// Its simpler relative, `INCR` on all nodes and the highest reply of a quorum, is **not monotonic**, though no node forgets
/// anything: a node that was away, or slow, stays behind for ever, since nobody lifts it to the others' count. One node says
/// 10 and two say 5; the first goes away, and the next draw is 6.
///
/// Its keys are integers under the names given: keep them apart from the locks' keys. Users need `EVAL`, `GET` and `SET` on
/// them.
#[derive(Debug, Clone)]
pub struct QuorumCounter {
    nodes: Nodes,
}

/// Why no number was drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotDrawn {
    /// Too few nodes answered.
    #[error("no number: {}", PerNode(.causes))]
    NoQuorum {
        /// For each node in order why it gave no answer; none where it did.
        causes: Vec<Option<Cause>>,
    },
    /// Other callers drew numbers of this key all the while.
    #[error("no number: others draw at the same time")]
    Contended,
}

impl QuorumCounter {
    /// A counter on a quorum of all of these nodes, each of which is waited for no longer than its
    /// [`node_timeout`](crate::NodeOptions::node_timeout).
    #[must_use]
    pub fn new(nodes: &Nodes) -> Self {
        Self { nodes: nodes.clone() }
    }

    /// Draws the next number of `key`, 1 at first. Takes no longer than `timeout`; two round trips as a rule.
    ///
    /// # Errors
    /// Too few nodes answered in time, or others drew at the same time until then. Either may leave a number burnt.
    pub async fn draw(&self, key: &str, timeout: Duration) -> Result<u64, NotDrawn> {
        let deadline = clock::now() + timeout.min(FOREVER);
        // Zero is higher than no number, so that nobody takes it and all say what they have: the first phase.
        let mut number = 0;
        while let Some(highest) = self.propose(key, number, deadline).await? {
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

    /// Has the nodes take `number` where theirs is lower. None if a quorum took it, or else the highest number of a quorum.
    async fn propose(&self, key: &str, number: u64, deadline: Time) -> Result<Option<u64>, NotDrawn> {
        let all = NodeSet::first(self.nodes.len());
        let quorum = quorum(all.len());
        let until = deadline.min(clock::now() + self.nodes.node_timeout());
        let enough = |answers: &[Option<Answered>]| {
            let taken = count(answers, is_taken);
            let to_come = if number == 0 {
                0
            } else {
                count(answers, Option::is_none)
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

fn count(answers: &[Option<Answered>], test: fn(&Option<Answered>) -> bool) -> usize {
    answers.iter().filter(|answer| test(answer)).count()
}

/// Whether the node took the number.
const fn is_taken(answer: &Option<Answered>) -> bool {
    matches!(answer, Some(Ok(1..)))
}

/// Whether it said either that or what it has instead.
const fn is_answered(answer: &Option<Answered>) -> bool {
    matches!(answer, Some(Ok(_)))
}

fn cause(answer: Option<Answered>) -> Option<Cause> {
    match answer {
        Some(Ok(_)) => None,
        Some(Err(cause)) => Some(cause),
        None => Some(Cause::Timeout),
    }
}
