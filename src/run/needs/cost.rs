//! What a run costs: measured on x86-64 Linux in runs of eight seconds that differ in one size, unless it says otherwise.

pub const KIB: u64 = 1024;
pub const MIB: u64 = 1024 * KIB;

/// Files of an empty run: the terminal, the keeper's pipes, the runtimes of the program and the run, the record, the log.
pub const FILES_BASE: u64 = 24;
/// Connections of the run itself to each server of the lab: statistics, and checks of faults.
pub const FILES_OF_A_NODE: u64 = 3;
/// Files of an app server: its runtime (5) and its timer.
pub const FILES_OF_A_SERVER: u64 = 6;
/// Files of the proxy's runtime and timer.
pub const FILES_OF_A_PROXY: u64 = 6;
/// An SQLite connection has its file and the write-ahead log.
pub const FILES_OF_SQLITE: u64 = 2;
/// How many files a server of the lab reserves for itself.
pub const FILES_RESERVED_BY_A_NODE: u64 = 32;
/// How many connections a redis-server accepts by default (its `maxclients`).
pub const MOST_CLIENTS: u64 = 10_000;

/// Connections of a worker to etcd: one for what it asks, and one while it waits.
pub const FILES_OF_A_WORKER_ON_ETCD: u64 = 2;

/// How many connections of a pool `store` opens at once.
pub const POOL_AT_ONCE: u64 = 8;

/// Threads of the program, the run and their helpers.
pub const THREADS_BASE: u64 = 10;
/// Threads of a redis-server 7, and one for the child that writes its snapshot.
pub const THREADS_OF_A_NODE: u64 = 6;

/// Memory of a run with one worker: 16.5 MiB, most of it the program itself.
pub const MEMORY_BASE: u64 = 18 * MIB;
/// An app server without its arms.
pub const MEMORY_OF_A_SERVER: u64 = MIB / 4;
/// An arm: its collector and its auditor.
pub const MEMORY_OF_AN_ARM: u64 = 3 * MIB / 2;
/// Recorders of one arm on one app server, and its lock.
pub const MEMORY_OF_A_CREW: u64 = MIB;
/// A connection with its thread: 0.17 MiB, without what SQLite keeps of the file.
pub const MEMORY_OF_A_CONNECTION: u64 = MIB / 5;
/// The largest part of its file that an SQLite connection caches (its `cache_size`).
pub const MEMORY_OF_PAGES: u64 = 2_000 * KIB;
/// One worker: 4 KiB in a release build (`cargo bench --bench overhead -- workers`), 7.5 KiB in a debug build.
pub const MEMORY_OF_A_WORKER: u64 = 8 * KIB;
/// A product in the books: counts and the units left.
pub const MEMORY_OF_A_PRODUCT: u64 = 40;
/// A minute of an arm's series: 60 points.
pub const MEMORY_OF_A_MINUTE: u64 = 15 * KIB;
/// How many minutes a series keeps.
pub const MINUTES: u64 = 61;
/// An idle redis-server: 7 MiB if nothing is shared (its PSS when it is alone), about 3 MiB of its own. The keeper needs
/// less.
pub const MEMORY_OF_A_PROCESS: u64 = 6 * MIB;
/// A member of etcd 3.5 in a run of half a minute: 62 MiB.
pub const MEMORY_OF_A_MEMBER: u64 = 64 * MIB;
/// A key of the cache node with its value and its expiry: 164 bytes were measured for each of 100,000 keys with 16-byte
/// values, and 59 bytes for each of as many stock keys (redis-server 7.0).
pub const MEMORY_OF_A_KEY: u64 = 168;
/// An order in the cache node's ledger, which is an element of a list: 24 bytes were measured for each of 100,000.
pub const MEMORY_OF_AN_ORDER: u64 = 40;

/// The write-ahead log of an arm's file, which SQLite restarts at a thousand pages.
pub const DISK_OF_AN_ARM: u64 = 5 * MIB;
/// Empty tables: their pages, and the index of the write-ahead log.
pub const DISK_OF_EMPTY_TABLES: u64 = 100 * KIB;
/// An order in the ledger: 26 bytes were measured.
pub const DISK_OF_AN_ORDER: u64 = 32;
/// A product in the stock, or a value in the catalogue: 21 and 23 bytes were measured.
pub const DISK_OF_A_ROW: u64 = 28;
/// The data that a cycle of a lock adds to a node's append-only file: 138 bytes were measured.
pub const DISK_OF_A_CYCLE: u64 = 176;
/// Logs and snapshots of a server of the lab.
pub const DISK_OF_A_NODE: u64 = 256 * KIB;
/// A member of etcd: two segments of its log, which it makes ahead, of 61 MiB each.
pub const DISK_OF_A_MEMBER: u64 = 128 * MIB;
/// An upper bound on the cycles of an arm per second, each with a lock and a sale. It is an assumption, not a measurement.
/// It bounds the warnings for closed loops without pauses, and refuses nothing.
pub const MOST_CYCLES: f64 = 20_000.0;
