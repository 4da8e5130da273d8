//! The lock engine: no lock, a mutex of one app server, a lock on one node, Redlock over several.
//!
//! It is a library of its own. What it keeps to, because every shortcut here has cost somebody a lock:
//!
//! - All nodes are asked at once over one ordered, pipelined connection each, and the answer is there at the quorum.
//!   Late votes of a held lock still count; those of a failed attempt are taken back.
//! - A `SET` is never repeated behind the caller's back, and each attempt has a token of its own. A command that was
//!   written and not answered is *unknown*, never "failed", and a compare-and-delete follows it on the same connection.
//! - Clocks are read after the reply. A lock without validity left is never handed out.
//! - A node that owes replies gets nothing new but deletes until it replies, so it slows nobody and collects nothing.
//!
//! No lock can tell a holder that is stopped that it is lost: [`fence`] says what to do about that.
//!
//! [`Redlock`] is where to begin; [`Lock`] is the same with options for each acquire, and has the weaker strategies too.
//!
//! # What a node's user must be allowed
//! `SET`, `GET`, `DEL`, `PEXPIRE`, `PTTL`, `EVALSHA` and `EVAL` on the keys; `SCRIPT LOAD` saves sending the scripts. To
//! wait in line also `PUBLISH` and `SUBSCRIBE` on the channels `lockstorm:released:` + key; without them waiting works by
//! asking again. `DELIFEQ` (Valkey 9) or `DELEX` (Redis 8.4) are used where the server has them and the user may. So:
//!
//! ```text
//! ACL SETUSER locks on >secret ~* resetchannels &lockstorm:released:*
//!     +set +get +del +pexpire +pttl +eval +evalsha +script|load +publish +subscribe +unsubscribe +ping
//! ```
//!
//! A node that does not allow it gives no vote, with the cause [`NoPermission`](Cause::NoPermission); if
//! that is what a quorum fails for, the refusal is [`Refusal::NotPermitted`].
//!
//! # TLS
//! Nodes are reached over TLS at URLs like `rediss://user:password@host:6380/0`, with the feature `tls`, which is on by
//! default. The node must have a certificate for the host of the URL, signed by somebody whom this machine trusts, or by
//! an authority in the file that the environment variable `SSL_CERT_FILE` names, which then counts instead of the
//! machine's own. They are read by [`Nodes::open`]. There is no way around that check: `#insecure` is refused. A node that
//! fails it gives no vote, with the cause [`Tls`](Cause::Tls).
//!
//! We have no certificate of our own to show: nodes must not ask for it (`tls-auth-clients no`), but for a password.
//!
//! # The features
//! `tls` (on by default); `serde`: outcomes, causes and ways to wait can be written and read; `simulation`: the protocol without
//! I/O, and the virtual world in which it is tested, without any promise of stability.
//!
//! # What may stay behind
//! Releases go on in the background, and end with the runtime: wait for [`Nodes::flush`] before a program ends, or else its
//! last keys may stay until their TTL is over. Otherwise nothing stays, with one exception: if a connection dies while a `SET` is
//! under way, and the node runs it only after the delete that was sent on the next connection, its key stays until its TTL is
//! over.

#![warn(missing_docs)]

mod acquire;
mod cause;
mod clock;
pub mod fence;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod gauges;
mod guard;
mod held;
mod local;
mod lock;
mod node;
mod nodes;
mod options;
mod outcome;
#[cfg(not(feature = "simulation"))]
#[allow(dead_code)] // the simulation asks it for more
mod protocol;
#[cfg(feature = "simulation")]
pub mod protocol;
mod quorum;
mod redlock;
mod refusal;
mod renewals;
#[cfg(feature = "simulation")]
pub mod simulation;
mod waiting;

pub use cause::Cause;
pub use gauges::{Gauges, Sent};
pub use guard::{Guard, LateVotes};
pub use lock::Lock;
pub use node::address::{BadAddress, NodeAddress};
pub use node::options::NodeOptions;
pub use nodes::Nodes;
pub use options::AcquireOptions;
pub use outcome::Outcome;
pub use protocol::{Released, Wait};
pub use redlock::{Redlock, RedlockBuilder};
pub use refusal::{NotExtended, Refusal};
