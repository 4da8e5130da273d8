//! Locks of [etcd](https://etcd.io), by the recipe of its own client: a key under a lease for each caller, who holds the lock while no key
//! under the same name is older.
//!
//! It speaks with the JSON gateway that every member of etcd 3.4 and later has beside gRPC, so that no compiler of protocols is needed to
//! build it. Every call may be repeated at another member: leases have numbers that we choose, keys are made only if they are not there, and
//! deleted only if they are the ones that we made.
//!
//! A lock is held while its lease lasts. That ends by the clock of etcd's leader, at the earliest its TTL after the last time when it was
//! kept alive; a holder counts from the moment when it asked for that, and never believes longer. So a holder who stands still for longer
//! than the TTL overlaps with the next one, as with every lock that ends by itself: only a fence, here the key's create revision, prevents
//! what it does then. See <https://jepsen.io/analyses/etcd-3.4.3>.
//!
//! One thing ends leases early: a leader that stood still for longer than their TTL. When it goes on it revokes what has expired by its own
//! clock, although its successor has kept it alive (<https://github.com/etcd-io/etcd/issues/15247>; seen with 3.5.16). A holder hears of
//! that when it keeps its lease alive next, up to a third of the TTL later.

mod gateway;
mod lease;
mod lock;

pub use gateway::{CallError, Gateway, Secret};
pub use lease::{Lease, Validity};
pub use lock::{Held, Locks, Options, Refused};
