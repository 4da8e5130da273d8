//! What things cost: measured on x86-64 Linux in runs of eight seconds that differ in one size, unless it says otherwise.

pub const KIB: u64 = 1024;
pub const MIB: u64 = 1024 * KIB;

/// Files of a run with nothing in it: the terminal, the keeper's pipes, the runtimes of program and run, the record, the log.
pub const FILES_AT_ALL: u64 = 24;
/// Connections of the run itself to each server of the lab: figures, probes of faults.
pub const FILES_OF_A_NODE: u64 = 3;
/// Of an app server: its runtime (5) and its timer.
pub const FILES_OF_A_SERVER: u64 = 6;
/// An SQLite connection has its file and the write-ahead log.
pub const FILES_OF_SQLITE: u64 = 2;
/// A server of the lab keeps 32 files for itself.
pub const FILES_OF_ITS_OWN: u64 = 32;
/// Connections that a redis-server takes unless it is told otherwise (its `maxclients`).
pub const MOST_CLIENTS: u64 = 10_000;

/// `store` opens so many connections of a pool at once.
pub const POOL_AT_ONCE: u64 = 8;

/// Threads of the program, the run and their helpers.
pub const THREADS_AT_ALL: u64 = 10;
/// Threads of a redis-server 7, and one for the child that writes its snapshot.
pub const THREADS_OF_A_NODE: u64 = 6;

/// A run of one worker: 16.5 MiB, most of it the program itself.
pub const MEMORY_AT_ALL: u64 = 18 * MIB;
/// An app server without its arms.
pub const MEMORY_OF_A_SERVER: u64 = MIB / 4;
/// An arm: its collector and its auditor.
pub const MEMORY_OF_AN_ARM: u64 = 3 * MIB / 2;
/// Recorders of one arm on one app server, and its lock.
pub const MEMORY_OF_A_CREW: u64 = MIB;
/// A connection with its thread: 0.17 MiB, without what SQLite keeps of the file.
pub const MEMORY_OF_A_CONNECTION: u64 = MIB / 5;
/// The most of its file that an SQLite connection keeps (its `cache_size`).
pub const MEMORY_OF_PAGES: u64 = 2_000 * KIB;
/// One worker: 4 KiB in a release build (`cargo bench --bench overhead -- workers`), 7.5 KiB in a debug build.
pub const MEMORY_OF_A_WORKER: u64 = 8 * KIB;
/// A product in the books: counts and the units left.
pub const MEMORY_OF_A_PRODUCT: u64 = 40;
/// A minute of an arm's series: 60 points.
pub const MEMORY_OF_A_MINUTE: u64 = 15 * KIB;
/// Minutes that a series keeps.
pub const MINUTES: u64 = 61;
/// An idle redis-server: 7 MiB if nothing is shared (its PSS when it is alone), some 3 MiB of its own. The keeper has less.
pub const MEMORY_OF_A_PROCESS: u64 = 6 * MIB;
/// A key of the cache node, its value and its expiry: 164 bytes of each of 100,000 with 16-byte values, 59 of each of as many
/// stock keys (redis-server 7.0).
pub const MEMORY_OF_A_KEY: u64 = 168;
/// An order in the cache node's ledger, an element of a list: 24 bytes of each of 100,000.
pub const MEMORY_OF_AN_ORDER: u64 = 40;

/// The write-ahead log of an arm's file, which SQLite begins anew at a thousand pages.
pub const DISK_OF_AN_ARM: u64 = 5 * MIB;
/// Tables with nothing in them: their pages, and the index of the write-ahead log.
pub const DISK_OF_EMPTY_TABLES: u64 = 100 * KIB;
/// An order in the ledger: 26 bytes were measured.
pub const DISK_OF_AN_ORDER: u64 = 32;
/// A product in the stock, or a value in the catalogue: 21 and 23 bytes were measured.
pub const DISK_OF_A_ROW: u64 = 28;
/// What a cycle of a lock leaves in a node's append-only file: 138 bytes were measured.
pub const DISK_OF_A_CYCLE: u64 = 176;
/// Logs and snapshots of a server of the lab.
pub const DISK_OF_A_NODE: u64 = 256 * KIB;
/// Cycles of an arm a second, each with a lock and a sale, that no machine is taken to exceed. An assumption, not a measurement:
/// it bounds the warnings for closed loops without pauses, and refuses nothing.
pub const MOST_CYCLES: f64 = 20_000.0;
