//! The lock engine: no lock, a mutex of one app server, a lock on one node or cluster, Redlock over several.
//!
//! It is a library of its own, and must not know any other package of Lockstorm. It keeps these rules, because every shortcut here has cost somebody a lock:
//!
//! - All nodes are asked at once over one ordered, pipelined connection each, and an acquire returns as soon as a quorum has
//!   voted. Late votes for a held lock still count; those for a failed attempt are taken back.
//! - A `SET` is never repeated behind the caller's back, and each attempt has a token of its own. A command that was
//!   written and not answered is *unknown*, never "failed", and a compare-and-delete follows it on the same connection, also if
//!   that hangs and another one has taken its place.
//! - Clocks are read after the reply. A lock without validity left is never handed out. On Linux and macOS the validity counts the
//!   time in which the machine was suspended, and a loss is seen at once after that; on other systems it counts what
//!   [`std::time::Instant`] does.
//! - A node that owes replies for too long is sent nothing new but deletes until it replies, so it slows nobody down and no
//!   commands pile up for it.
//!
//! No lock can warn a holder that is itself stopped: [`fence`] says what to do about that.
//!
//! Begin with [`Redlock`]; [`Lock`] takes its options at each acquire, and offers the weaker strategies too; [`blocking`] is for
//! programs without a runtime. [`guide`] says what to know of nodes and runtimes, and has the calls of other libraries beside
//! ours.
//!
//! # The permissions that a node's user needs
//! `SET`, `GET`, `DEL`, `PEXPIRE`, `PTTL`, `EVALSHA` and `EVAL` on the keys; with `SCRIPT LOAD` the scripts are sent once
//! only. Waiting in line uses `PUBLISH` and `SUBSCRIBE` on the channels `lockstorm:released:` + key; without them waiters
//! ask again from time to time. `DELIFEQ` (Valkey 9) and `DELEX` (Redis 8.4) are used where the server has them and the user
//! may run them. [`NodeOptions::wait_replicas`] needs `WAIT`. Where there are several nodes, `INFO` shows whether two of them
//! are the same server. For example:
//!
//! ```text
//! ACL SETUSER locks on >secret ~* resetchannels &lockstorm:released:*
//!     +set +get +del +pexpire +pttl +eval +evalsha +script|load +publish +subscribe +unsubscribe +ping +info +select
//! ```
//!
//! `~*` may be the prefix of all keys of locks. `SELECT` is for databases other than 0, and [`Nodes::flush`] uses `PING`.
//!
//! A node that does not allow this gives no vote, with the cause [`NoPermission`](Cause::NoPermission); if the quorum is
//! missed because of such nodes, the refusal is [`Refusal::NotPermitted`]. That a user may run no scripts is known from the start of
//! a connection, so that nothing is acquired there that can't be released. Until somebody mends it, such a node is tried less and
//! less often, every 5 s in the end.
//!
//! # Limits
//! An app server may hold 131,072 locks at the same time on the same [`Nodes`], attempts and owed deletes included; for more, the
//! cause is [`TooMany`](Cause::TooMany). A lock has 64 nodes at most.
//!
//! # Masters that Sentinels name
//! [`Sentinels`] finds the master, and the node for locks on it follows it. What such a lock is worth is said there. Sentinels
//! that have a password need a user who may run `SENTINEL MASTER` and `SENTINEL GET-MASTER-ADDR-BY-NAME`; with `SUBSCRIBE` on the
//! channel `+switch-master` a move is known at once instead of within a second:
//!
//! ```text
//! ACL SETUSER locks on >secret resetchannels &+switch-master
//!     +sentinel|master +sentinel|get-master-addr-by-name +subscribe
//! ```
//!
//! While the master moves, refusals have the causes [`Refused`](Cause::Refused), [`Disconnected`](Cause::Disconnected),
//! [`Timeout`](Cause::Timeout), [`Unreplicated`](Cause::Unreplicated), [`Suspect`](Cause::Suspect), [`ReadOnly`](Cause::ReadOnly), [`NoMaster`](Cause::NoMaster) or
//! [`NotReady`](Cause::NotReady).
//!
//! # Clusters
//! [`Cluster`] is a Redis or Valkey Cluster as one node: each key is at the master of its slot, and is followed when that changes.
//! What such a lock is worth is said there; for a quorum it counts as one node, since its masters do not have the same keys. Its
//! user needs, on all nodes, besides the permissions above:
//!
//! ```text
//! +cluster|slots +cluster|nodes +asking
//! ```
//!
//! While a slot moves or its master is replaced, refusals have the causes that Sentinels' masters have, too, and
//! [`Moved`](Cause::Moved) if nodes contradict each other for too long.
//!
//! # TLS
//! Nodes are reached over TLS at URLs like `rediss://user:password@host:6380/0`, with the feature `tls`, which is on by
//! default. The node must have a certificate for the host of the URL, signed by an authority that this machine trusts, or by
//! one in the file that the environment variable `SSL_CERT_FILE` names, which then replaces the machine's own list.
//! [`Nodes::open`] reads the authorities. The check can't be switched off: `#insecure` is refused. A node that fails it
//! gives no vote, with the cause [`Tls`](Cause::Tls).
//!
//! [`TlsOptions`] trusts other authorities, and presents a certificate to nodes that ask for one (`tls-auth-clients yes`).
//!
//! # The features
//! `tls` (on by default); `tracing`, which emits events with the target `lockstorm_lock` ([below](#events)); `serde`, which serializes outcomes, causes and ways to wait; `simulation`, which has the protocol
//! without I/O and the virtual world in which it is tested, without any promise of stability.
//!
//! # Events
//! With the feature `tracing`, in a span `node` with its address: at the level `info` that a node is connected, or replies again after it
//! was suspect; at `warn` that there is no connection (with the `cause`, each time that it changes), that a node owes replies for too
//! long, or is the same server as another one, and that a delete was given up. At `warn` without a span: that the renewal of a lock has
//! not worked yet (with what is `left` of its validity), and, when its guard goes, that a lock was lost before (with how long it was
//! `held`; its key follows at `debug`, since keys may be secret). [`Guard::lost`] tells a loss at once.
//!
//! # Keys that may stay behind
//! Releases go on in the background and end with the runtime: await [`Nodes::shutdown`] before a program ends, or its last keys
//! may stay until their TTL is over. Otherwise nothing stays behind, with three exceptions: a delete is given up if two
//! connections break just when the node was to answer it, as those do on which a key comes that is longer than the server allows
//! ([`NodeOptions::longest_key`], [`Gauges::given_up`]); if a connection breaks while a
//! `SET` is under way, and the node runs it only after the delete that was sent on the next connection, its key stays until
//! its TTL is over (one that merely hangs is kept for its deletes, but not beyond [`Nodes::shutdown`], four such connections, or a
//! megabyte that waits to be written); and so do the keys at an address that a node has left ([`Nodes::follow`], [`Sentinels`]), or that a master of a
//! [`Cluster`] sets so late that its slot has moved on meanwhile.
//!
//! # For those who change it
//!
//! From the bottom to the top; no two files use each other, directly or through others:
//!
//! - `protocol/`: everything that decides, with `std` alone; answers and the time come in from outside. `quorum`
//!   (how many votes; the validity, which is the TTL less drift), `attempt` (votes, extension, what is taken back), `lease` (loss), `renewal`, `caller` (what a
//!   caller does next), `line` and `announcements` (who waits, here and in other app servers), `mailbox` (what is queued for a node,
//!   under way and owed), `window` (how much may be under way), `link` (suspicion)
//! - `clock`: tokio's clock, and the time in which the machine was suspended, as the protocol's time
//! - `node/`: one node: `url`, `address`, `place` (an address that may change, or that others name), `wire` and `reply`
//!   (bytes), `job` and `question` (commands, and who gets their answers), `queue`, `connection`, `silent` (one that hangs), `task` (connects), `census`
//!   (nodes that are the same server have one vote), `replication` (votes that replicas must confirm), `redirector`
//!   (what a node of a cluster leaves to the others) and `route` (how a command came to it); `nodes` are all those of an
//!   app server
//! - `routing/`: a cluster as one node: `slot` of a key, `view` (what a node says of its cluster), `table` (which
//!   master has which slot) and `redirection` are pure; `router` has a queue and a connection for each master, and
//!   `surveyor` asks who has the slots
//! - `sentinel/`: the master that Sentinels name: `watcher` asks one of them, `question` is what it asks, `opinions`
//!   decides whom to follow (pure), `heard` passes it on
//! - `waiting/`: `lines` within an app server; `channel`, `channels`, `feed`, `subscriptions`: messages among app
//!   servers
//! - `quorum/`: the lock that a quorum of nodes keeps: an attempt, its extension, its loss, its release
//! - `renewals`, `acquire`: one timer for all renewals, what a caller does next
//! - `local`, `guard`, `guards`, `lock`, `section`, `redlock`, `blocking`, `sentinels`, `cluster`, `fence`: the public interface; `observer`
//!   and `trace` tell of what happens
//! - `simulation/`: the virtual world in which the protocol is tested, and which planning and recipes use; a feature.
//!   What breaks comes at random (`fault`) or on `order`, by the same functions
//!
//! - **One ordered connection per node and app server**, owned by one task; callers put commands into a queue and never
//!   wait for the socket. Every `SET` that may have run is followed by its compare-and-delete on the same connection.
//!   That is why a node that was paused does not wake up with locks that nobody holds. We drive the socket ourselves
//!   because the `redis` crate's multiplexed connection drops requests whose caller has gone, deletes included, and
//!   costs more: for 100,000 cycles of 64 tasks with keys of their own a client built on it took 1.3 s of CPU, the
//!   engine 0.40 s. (That crate gives each request a channel, a buffer and a task to wake; the engine packs whatever is
//!   queued into one write and wakes a caller once.) Property tests compare our packing, our URL reader and our reply
//!   parser with that crate's.
//! - **Decisions are made without a clock, socket or task.** The protocol is told the time and the answers, and returns
//!   what to send and when to come back. The code that ships is therefore the code that the simulation plays, with
//!   nodes that pause, crash and forget, clocks that drift apart, and clients that freeze. The simulation has found
//!   three faults that no test on real nodes had shown, and it finds the bugs that are planted on purpose
//!   (`src/lock/tests/mutants`). Drivers are thin: they read the clock (after the reply), queue commands, set timers
//!   (again only when one fires) and wake callers.
//! - **A slow node is not confused with a full queue.** The node timeout counts from the moment a command is written,
//!   so the time that it spends in the app server's own queue is not held against the node. As many commands are under way on a
//!   connection as the node answers within half of that timeout (`protocol/window`), 2,048 at most: without this limit, whoever asks
//!   for more than a link or a machine can carry gets nothing in time, takes back what it has, and tries again for ever. Deletes and
//!   extensions go first. A vote that would come too late for its caller is refused at once, as
//!   [`Overloaded`](Cause::Overloaded).
//! - **Waiters are woken, and only the first one asks.** In an app server waiters stand in a line in memory, and only
//!   the first asks the nodes; the next one's `SET` is sent right behind the deletes of the one before
//!   (`lock/waiting/lines`). Whoever does not act when it is its turn, since nobody polls its future, loses it after 50 to 75 ms;
//!   and who is too slow for its TTL lets the others try. Among app servers, the script that deletes a key publishes the release,
//!   and nothing else does. App servers tell each other on the same channel how long their first waiter has waited, and
//!   once that nobody waits any more, so that no clocks are compared; whoever has waited longest asks first and the others hold
//!   back for a few round trips, but only once for one that then says nothing
//!   (`lock/protocol/announcements`). These messages only save time: if one is lost or forbidden, waiters ask again
//!   every 50–100 ms, and when the key must have expired. Subscriptions are opened only once an attempt has had to
//!   wait, or a node reports that it has subscribers: an app server on its own pays one `SET` and one script.

#![warn(clippy::must_use_candidate, missing_docs)]

// So its example is compiled.
#[cfg_attr(doctest, doc = include_str!("README.md"))]
mod acquire;
pub mod blocking;
mod cause;
mod clock;
mod cluster;
pub mod fence;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod gauges;
mod guard;
mod guards;
pub mod guide;
mod local;
mod lock;
mod node;
mod nodes;
mod observer;
mod options;
mod outcome;
#[cfg(not(feature = "simulation"))]
#[allow(dead_code)] // only the simulation uses all of it
mod protocol;
#[cfg(feature = "simulation")]
pub mod protocol;
mod quorum;
mod redlock;
mod refusal;
mod renewals;
mod routing;
mod section;
mod sentinel;
mod sentinels;
#[cfg(feature = "simulation")]
pub mod simulation;
mod trace;
mod waiting;

pub use cause::{Cause, CauseKind};
pub use cluster::Cluster;
pub use gauges::{Gauges, Sent};
pub use guard::{Guard, HeldLock, LateVotes};
pub use guards::{Guards, RefusedKey};
pub use lock::Lock;
pub use node::address::{BadAddress, NodeAddress};
pub use node::greeting::SessionError;
pub use node::options::{NodeOptions, WaitReplicas};
pub use node::reply::Reply;
pub use node::session::Session;
pub use node::state::{LinkState, NodeState};
#[cfg(feature = "tls")]
pub use node::tls::TlsOptions;
pub use node::url::UrlPart;
pub use nodes::Nodes;
pub use observer::Observer;
pub use options::{AcquireOptions, Unusable};
pub use outcome::Outcome;
pub use protocol::{Released, Wait};
pub use redlock::{Redlock, RedlockBuilder};
pub use refusal::{NotExtended, Refusal};
pub use section::NotDone;
pub use sentinels::Sentinels;
