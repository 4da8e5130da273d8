//! One run from scenario to record: commands go down, snapshots come up.
//!
//! [`start`] begins one on a thread of its own, [`headless`] plays one to its end. Below it, from the ground up: [`store`] (the
//! database), `schedule` (what is due when), [`needs`] (whether this machine is large enough), `oracle` (what the books and the holds prove),
//! [`workload`] (what workers do inside a lock) and `swarm` (app servers and their workers).
//!
//! It knows nothing of terminals, reports or the command line: it shows [`Snapshot`]s, and leaves a [`Record`].
//!
//! # Map
//!
//! Above all stand `handle` (a run on a thread of its own) and `headless` (a run without a console). Then from the top:
//!
//! - `engine`: a run from its lab to its record. `state` is what it consists of, and what is done ten times a second;
//!   `play` its loop, `orders` what it does on a key and by the schedule, `preparation` its arms and app servers at the
//!   start, `ending` how the load ends and the books are closed, `stuck_keys` which locks can't be acquired although nobody
//!   holds them, `finish` its record, `timing` its clock. Parts return `Notice`s, and only the engine writes them down
//! - `orders`: what can be asked for (`command`, `knobs`, and `turned`, which the record says of them), what is under way
//!   (`faults`, with its effect, and what a host lacks that `came_back`), and its `meaning` for the locks of each arm
//! - `close`: what remains (`record`, and its `journal` while the run is on; `reported`, of another program). What it proves is decided by
//!   the package `judge`, to which a record and a snapshot give their evidence
//! - `watch`: what servers and the machine do. `lab` is the lab as it is now, with `processes` (what nobody ordered),
//!   `roles` (who is the master, and who an old one) and `offsets` of replicated nodes, and the `cluster`; `host_view` is what is
//!   shown of a host, such as that an old master still grants, and `health` how an arm is at this moment;
//!   `master_watch`, `cluster_watch` and `new_master` see who takes over, and what of the held locks it `lacks`, `masters` tells the arms;
//!   `machine_watch` with `clock_watch`, `stall_watch` and `disk_watch` sees what voids figures
//! - `collect`: what was done. An `arm` has its figures: `collector` empties the recorders into `totals`, `curves` (seconds
//!   and tenths), `phases` (between faults), `availability` (when locks were available, and from whom) and `takeovers` (how long locks of a killed app
//!   server were nobody's); `auditor` reads the ledger for the `oracle`, waiting by `progress_limit`; `live_swarm` knows the app
//!   servers, `activity` the last seconds; `announce` tells of figures that users should see at once;
//!   `hold_audit` has the judge of an arm's holds and the evidence of what it finds; `arm_history` writes down what clients do, if
//!   somebody wants to know
//! - `show`: what others see (`snapshot`, `events`, `outlasted`), and how it gets there (`notice`,
//!   `stage`)
//! - `redis_client` makes the redis crate's clients, for the cache and for the bench's peers
//! - `swarm`: app servers (`app_server` is the handle, `control` its commands and faults, `serve` what runs on its
//!   thread, `plan` what it is made from, `locks` its connections to lock nodes and what arms share of them), workers,
//!   `trial` tries every lock after the load, and the load: `arrivals` (when a request is due) and `balance` (which app
//!   server gets it) are pure, `dealer` is the thread that deals, `intake` holds queues and closed loops
//! - `workload`: the requests of `cache_fill`, `inventory` and `job`. `hurry` tells them what is given up at the end; `stalls`
//!   notes how long a thread stood still although nobody paused it
//! - [`oracle`]: the only judges of invariants: `stock` makes of the ledger what was oversold, and which updates were lost; `holds`
//!   finds who held one lock at the same time, `law` whether lost votes explain that, `past` does the same for a history, and `reported` for
//!   what another program says of its locks
//! - [`client`]: locks of other programs: a child for each app server, which speaks `lockstorm-client/1`. `message` is what is said, `link` the
//!   connection, `clock` translates its promises, `lock` is what workers see, `connect` starts it and tells how it ended; `null` is one that does nothing
//! - [`under_test`]: the lock of an arm, the engine's or another one, by the one narrow interface through which workers get it
//! - `needs`: what a scenario needs of the machine (pure; the constants are one table, `cost`), and what the machine
//!   has
//! - `schedule`: when each fault is due, and how that is announced (pure); what faults there are is in `data/model/fault`
//! - `store`: catalogue, stock, order ledger on SQLite or PostgreSQL
//!
//! # Rules, and why
//!
//! - **App servers share nothing.** An app server is an OS thread with its own single-threaded runtime, connections,
//!   pools and mutexes. A pause blocks that thread and a kill drops its runtime; neither may affect another app server
//!   or the engine. Each arm has an SQLite file (or PostgreSQL schema) of its own, and each app server and arm a
//!   connection pool of its own. A stock's write and its order are one statement (a trigger appends the order): a kill
//!   cannot separate them and look like damage done by the lock, and a paused app server holds no transaction open. A
//!   fence is checked by a condition of that same statement, against the newest token in the stock's row, so a rejected
//!   holder changes nothing.
//! - **The ledger is the truth.** Workers count what they were told; `oversold` and `lost_updates` come from the
//!   append-only ledger, which the engine reads through a connection of its own. Each order notes how many units its
//!   sale left, its time, and whether its request is measured. A sale that leaves more than one unit fewer than the
//!   sale before it shows which updates were lost, and when, from the ledger alone. When the load has ended, the ledger
//!   is compared with the stock. A stock in Redis has its ledger beside it, and a sale is one transaction there too.
//! - **The lock is judged by its holders' beliefs.** A worker's hold begins with a clock that is read after the acquire's reply, and ends with
//!   one that is read before the release is sent, both under the lock of the buffer that the engine empties ten times a second. What
//!   happened before a visit is in the buffers then, so the judge follows the order of time and keeps only what is held now. Locks that nodes
//!   have lost are not guessed: they are asked, unless they keep nothing. Who came in is explained by votes that were lost, or it is a
//!   violation; a node may tell that late.
//! - **A crash of the database is no damage by the lock.** Sessions in PostgreSQL don't wait for the disk, so a server
//!   that crashes and starts again has forgotten its last sales, and the next ones would seem to overwrite them. A
//!   crash empties unlogged tables; whoever reads the ledger looks into one after each page (`uncrashed`), and drops
//!   the page if it is empty.
//! - **One timeline.** Second 0 and the end are fixed before the load begins. A request belongs to the part of the run
//!   in which its (intended) start lies; whatever it does is counted in that part, at the time at which it happens.
//!   Recorders read the clock under their lock, so nothing that is counted after the collector's visit carries an
//!   earlier time.
//! - **Recorders are plain histograms**, one set for each app server and arm, behind a lock that is uncontended and
//!   that a paused thread never holds. Ten times a second the collector swaps a full one for an empty one.
//! - **Who is next is looked up only after a death.** Recorders keep grants by key from the order to kill an app server
//!   on, because the first grant of an orphan may come before the kill is verified; then only those of the orphans,
//!   until each has been granted again.
//! - **Provider calls are counted per superseded version**, not per time window, because a stampede that queues at the
//!   database outlasts any window. A cold start supersedes nothing and is not an expiry; a version counts only if its
//!   whole stampede was seen.
//! - **A load balancer, not a shared heap of work.** In an open loop one thread deals request i to the same app server
//!   in every arm, at the time it is due. A paused app server keeps its queue; a killed one loses it. If free workers
//!   took requests from a common heap, neither the limits of an in-process mutex nor the cost of a pause would show.
//! - **Simulated delays are as long as they claim.** tokio's timer works in milliseconds and fires 0.8 to 1.9 ms late.
//!   Holds, service times and pauses use `timer` instead, and what they overshoot is itself a figure.
//! - **A cause that did not occur proves nothing.** If a scheduled fault took no effect, or the run lost its keeper,
//!   its cache node or its database, expectations are inconclusive. A change of state that nobody ordered is an event.
//! - **A run notes facts and concludes nothing.** A caveat says what happened; whether it is a doubt, about which arm and which
//!   results, is the judge's business alone (`judge/doubt.rs`).
//! - **An order has a number, and its events carry it.** Whoever gives it (a key, a test) chooses the number, so its
//!   receipt can't be another's event.
//! - **We wait for progress, not for time.** At the end of a run whatever still makes progress (requests that end,
//!   pages that are read) is waited for, and whatever stands still is given up. The record lists what was given up, and
//!   nothing is concluded from it. Every output has a queue and a thread of its own; a reader who takes nothing for 10
//!   s is given up.
//! - **Memory does not grow with time.** Series are rings of pages that snapshots share. Seconds and tenths keep their
//!   values one by one until a histogram is smaller. Only faults and other rare events are kept one by one. The
//!   allocator returns what a burst took.
#![warn(missing_docs)]

pub mod client;
pub mod needs;
pub mod oracle;
pub mod store;
pub mod under_test;
pub mod workload;

mod close;
mod collect;
mod engine;
mod error;
mod etcd;
mod handle;
mod headless;
mod options;
mod orders;
mod redis_client;
mod schedule;
mod show;
mod swarm;
mod watch;

pub use close::journal::JournalLine;
pub use close::record::{ArmRecord, Machine, Record, ReportedEvents, RoundTripRecord, Timeouts};
pub use close::recovered::Recovered;
pub use error::RunError;
pub use handle::{RunHandle, not_begun, start};
pub use headless::{Ended, headless};
pub use lockstorm_data::model::CheckResult;
pub use options::RunOptions;
pub use orders::command::{Command, Knob};
pub use redis_client::{connection_info, redis_client};
pub use schedule::{Due, Next, Schedule};
pub use show::outlasted::{Outlasted, Part, TTLS, ladder};
pub use show::snapshot::{
    Act, ArmView, Behind, Health, HostView, Knobs, LastLock, Live, OldMaster, Phase, ServerView, Snapshot,
};
