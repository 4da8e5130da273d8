//! What to know before locks guard something: the nodes, the runtime, and the calls of other libraries beside ours.
//!
//! # Nodes must not forget
//! Exclusion rests on keys. A node that restarts without its data has forgotten its votes, and somebody else can then get a lock
//! that is held. So either a node keeps its data (`appendonly yes` with `appendfsync always`; with `everysec` it may forget a
//! second), or it stays away after a crash until every lock from before has expired: start it later than the longest TTL, or
//! [`lifetime`](crate::AcquireOptions::lifetime), that anybody uses. `maxmemory-policy noeviction`, so that no key is evicted. Of
//! three nodes with all votes on a lock one may forget ([`Guard::margin`](crate::Guard::margin) says how many);
//! [`repair`](crate::AcquireOptions::repair) restores the votes.
//!
//! # Changing the set of nodes
//! All app servers must agree on the nodes: with `{1, 2, 3}` here and `{3, 4, 5}` there, two quorums share no node. Replace one
//! node at a time, and wait for the longest TTL (or lifetime) before the next one: each step is as if that node had forgotten. To
//! grow from three nodes to five, stop all acquires for that long. An address may change without a restart:
//! [`Nodes::follow`](crate::Nodes::follow).
//!
//! # Machines that are suspended
//! On Linux and macOS a lock's validity counts the time in which the machine was suspended: a laptop or a virtual machine that
//! wakes up knows at once that its lock is lost. Elsewhere, and in a virtual machine that is resumed from a snapshot and does not
//! know of it, nothing can tell the holder. [`fence`](crate::fence) protects the resource in any case.
//!
//! # Runtimes, and code that blocks
//! Connections, renewals and messages are tasks of the runtime in which [`Nodes`](crate::Nodes) was opened, whoever acquires.
//! They end with it: keep that runtime, and await [`Nodes::shutdown`](crate::Nodes::shutdown) at the end of the program. If one of
//! its threads blocks (a long computation, `std::thread::sleep`, a blocking query), nothing may be renewed, although others are idle:
//! the one that blocks can be the one that waits for the network. Locks are then lost after their TTL. Do such work in `tokio::task::spawn_blocking`, or use [`blocking`](crate::blocking), whose connections have a thread of
//! their own. The blocked section itself can't be stopped when its lock is lost: ask
//! [`is_lost`](crate::Guard::is_lost) before each step that matters.
//!
//! # Coming from other libraries
//!
//! | | rslock | redsync (Go) | ours |
//! |---|---|---|---|
//! | open | `LockManager::new(uris)` | `redsync.New(pools...)` | `Nodes::open(&urls, options)?`, `Redlock::builder(nodes).build()?` |
//! | try once | `lock(key, ttl)` after `set_retry(0, …)` | `TryLockContext(ctx)` | `try_acquire(key)` |
//! | wait | `lock(key, ttl)` as often as `set_retry(count, delay)` says; `acquire(key, ttl)` for ever | `LockContext(ctx)`, `WithTries(n)`, `WithRetryDelay(d)` | `acquire(key)` with `wait_up_to(d)`, or with `wait(Wait::Retry { … })` and a `timeout` for all of it |
//! | TTL | an argument | `WithExpiry(d)` | `ttl(d)`; `with(options)?` for one acquire |
//! | extend | `extend(&lock, ttl)`; `using` does so by itself | `ExtendContext(ctx)` | `guard.extend()`, `guard.extend_to(ttl)`; by itself, also in `using`, only with `renew_every(d)` |
//! | how long | `lock.validity_time` | `Until()` | `guard.validity()`, `guard.lost().await` |
//! | work under it | `using(key, ttl, routine)` | | `using(key, async \|guard\| …)` |
//! | release | `unlock(&lock)`; a dropped guard keeps its key until the TTL | `UnlockContext(ctx)` | `guard.release()`, or drop it |
//! | why not | `LockError::Unavailable` | `ErrTaken`, `ErrFailed` | [`Refusal`](crate::Refusal), with a [`Cause`](crate::Cause) for each node |
//!
//! | | Redisson (Java) | RedLock.net | redis-py | ours |
//! |---|---|---|---|---|
//! | open | `Redisson.create(config)`, `getLock(name)` | `RedLockFactory.Create(endPoints)` | `r.lock(name, timeout=…)` | `Redlock::builder(nodes).build()?` |
//! | try once | `tryLock()` | `CreateLockAsync(resource, expiryTime)`, `IsAcquired` | `acquire(blocking=False)` | `try_acquire(key)` |
//! | wait | `tryLock(waitTime, leaseTime, unit)` | `CreateLockAsync(resource, expiryTime, waitTime, retryTime)` | `acquire(blocking_timeout=…)` | `acquire(key)` with `wait_up_to(d)` |
//! | renewal | `lockWatchdogTimeout` | by itself | | `renew_every(d)` |
//! | extend | | | `extend(additional_time, replace_ttl=True)`, `reacquire()` | `guard.extend_to(ttl)`, `guard.extend()` |
//! | still ours? | `isHeldByCurrentThread()` | `IsAcquired` | `owned()` | `guard.is_lost()`, `guard.lost().await` |
//! | several keys | `getMultiLock(locks…)` | | | `acquire_all(&keys)` |
//! | fencing | `getFencedLock(name)` | | | [`fence`](crate::fence) |
//! | release | `unlock()` | `Dispose()` | `release()` | `guard.release()`, or drop it |
//!
//! `acquire` does not wait unless it is told to, and the `timeout` of an acquire, 1 s if nothing is said, is for all its tries together.
//!
//! Locks are not reentrant: whoever acquires a key twice waits for themselves. The keys of these libraries are strings with a token
//! as ours are, except Redisson's, which are hashes: they can't be used for the same key at the same time.
