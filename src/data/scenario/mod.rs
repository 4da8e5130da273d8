//! Scenarios: the TOML model, its validation, overrides, and the built-in ones.
//!
//! [`Source::open`] finds a scenario, [`parse`] reads it. Unknown keys, unknown names, impossible values and
//! contradictions are errors that name file, line, key and the nearest right spelling; all of them are found at once.
//! Durations are text with a unit (`"500us"`, `"5ms"`, `"2s"`, `"1m"`).
//!
//! | key | value | left out |
//! |---|---|---|
//! | `title` | one line for people | the file's name |
//! | `caption` | what to look at, 76 characters at most: a line in the console until a fault has its own | none |
//! | `duration` | the measured part; with `swarm.requests` the longest it may take | `"30s"` |
//! | `warmup` | load before it that is not counted | `"0s"` |
//! | `seed` | 0 to 2⁶⁴ − 1 | 42 |
//! | **`[lab]`** | | |
//! | `hosts` | 1 to 9; a redlock needs 3 or more | 3 |
//! | `persistence` | `"none"`, `"rdb"`, `"aof-everysec"`, `"aof-always"` | `"none"` |
//! | `port` | of host 1; the others and the cache node follow, and none of them changes | free ones |
//! | `password` | `"random"`: nodes ask for one that only this user can read; `"off"`: they let everybody in | `"random"` |
//! | `nodes` | lock nodes that are not ours, one on each host: `["redis://user@host:6379", …]`, or `rediss://` for TLS; then `hosts` follows from it, `persistence`, `port` and `password` are their owner's, a TTL is 10 minutes at most, and hosts can only lag | our own |
//! | `nodes_env` | the environment variable that holds these URLs, with spaces or commas between them; not with `nodes` | |
//! | **`[lab.replicated]`** | only if an arm has `topology = "replicated"` | |
//! | `down_after` | how long a Sentinel waits for an answer before it takes a node for down | `"3s"` |
//! | `failover_timeout` | how long a Sentinel waits before it tries a failover again | `"10s"` |
//! | `min_replicas_to_write` | with fewer replicas that are not too far behind the master refuses writes; fewer than hosts | 0 |
//! | `min_replicas_max_lag` | how far behind they may be, in whole seconds | `"10s"` |
//! | `preferred_host` | whose replica Sentinels choose before all others, however far behind it is (`replica-priority`) | the most advanced |
//! | `sentinel_period` | how often Sentinels ask for roles and tell each other what they know, 10 ms to 2 s: no real deployment has this | 10 s and 2 s |
//! | **`[lab.cluster]`** | only if an arm uses the cluster, which is on hosts 1 to 3 | |
//! | `node_timeout` | how long a node may be silent before the others take it for down | `"2s"` |
//! | `require_full_coverage` | whether all nodes refuse all keys while a part of the slots has no master | true |
//! | **`[swarm]`** | | |
//! | `servers` | app servers, 1 to 64 | 4 |
//! | `workers` | on each app server, for each arm; 100,000 in all | 16 |
//! | `rate` | requests a second for each arm: `"400/s"` or a number | closed loop |
//! | `balance` | with `rate`, which app server a request goes to: `"round-robin"`, `"random"`, `"least-busy"` | `"round-robin"` |
//! | `arrivals` | with `rate`: `"even"` or `"poisson"` | `"even"` |
//! | `requests` | for each arm, after which it is done | until `duration` |
//! | `ramp` | the load grows to its full size over this time | `"0s"` |
//! | `think` | mean pause of a worker between requests; not with `rate` | `"0s"` |
//! | **`[workload]`** | | |
//! | `kind` | `"inventory"` or `"cache-fill"` | required |
//! | `products`, `stock` | how many products, units of each | required for inventory |
//! | `popularity` | `"uniform"`, `"zipf"` or `{ zipf = 1.1 }` | `"uniform"` |
//! | `hold` | between reading a stock and writing it: a duration or `{ median = "5ms", sigma = 0.6 }` | required for inventory |
//! | `stock_in` | `"database"` or `"redis"` | `"database"` |
//! | **`[[workload.cache]]`** | for cache-fill, one or more, 1,000 at most | required |
//! | `name` | the first part of its keys, unique | required |
//! | `keys` | how many | required |
//! | `popularity` | as above | `"uniform"` |
//! | `state_ttl` | how long a value is fresh; shorter than `data_ttl` | required |
//! | `data_ttl` | how long a value can be served at all | required |
//! | `pages` | of each value: a paged list | one object |
//! | `weight` | how often it is read compared with the others | 1 |
//! | **`[database]`** | | |
//! | `url` | `"sqlite"` or `"postgres://…"`; its password is kept nowhere and can come from PGPASSWORD or ~/.pgpass | `"sqlite"` |
//! | `url_env` | the environment variable that holds the URL; not with `url` | |
//! | `read` | time added to each read: as `hold` | none |
//! | `pool` | connections of each app server and arm, 1 to 1000 | 5 |
//! | **`[[arm]]`** | one or more, 60 at most | required |
//! | `name` | unique; letters, digits, inner spaces, - and _ | required |
//! | `lock` | `"none"`, `"local"`, `"single"`, `"redlock"`, `"cluster"` (a Redis Cluster on hosts 1 to 3; it counts as one node) | required |
//! | `host` | of a single lock | 1 |
//! | `hosts` | of a redlock: on how many hosts, from the first one on, it has its nodes | all |
//! | `ttl` | of the lock's keys, 5 ms or more | `"2s"` |
//! | `renew` | `"off"`, `"ttl/2"`, `"ttl/3"` or a duration below the TTL | `"off"` |
//! | `wait` | `"fail-fast"`, `"queue"` or `{ retries = 20, delay = "20ms", jitter = "20ms" }`; of a local lock only `"fail-fast"`, left out: in line | 20 retries, 20 ms + up to 20 ms apart |
//! | `timeout` | the longest that one acquire may take | `"5s"` |
//! | `node_timeout` | the longest that one node is waited for, below the TTL; a node that owes a reply for the longest of all arms is suspect | a quarter of the TTL, at most 50 ms |
//! | `on_loss` | `"carry-on"` or `"abort"` when the holder hears that its lock is lost | `"carry-on"` |
//! | `update` | inventory: `"read-write"`, or `"atomic"` with lock none | `"read-write"` |
//! | `fence` | inventory: `"off"`, or where the stock checks the holder's token: `"write"`, `"read-write"`; with any lock, not with `stock_in = "redis"` or `update = "atomic"` | `"off"` |
//! | `serve_stale` | cache-fill: stale data for readers without the lock | true if fail-fast |
//! | `second_look` | cache-fill: read the cache again under the lock | true |
//! | `topology` | single: `"independent"`, or `"replicated"`: the nodes are a master and its replicas, watched by Sentinels; needs 3 hosts. Redlock: `"independent"`, or `"cluster"`: the masters of a cluster, which never are a quorum | `"independent"` |
//! | `follow` | replicated: `"sentinel"`, or `"fixed"`: stay with the first master, on host 1 | `"sentinel"` |
//! | `wait_replicas` | replicated, or lock cluster: how many replicas must confirm a lock (WAIT) before it counts; at most hosts − 1, or 1 in a cluster | 0 |
//! | `wait_timeout` | how long the master waits for them; shorter than `ttl` | `"200ms"`, at most a quarter of `ttl` |
//! | **`[[fault]]`** | numbered from 1 in the order of the file, 1,000 at most | |
//! | `at`, `when` or `after` | `"10s"`; `"redlock.holding >= 32 and redlock.partial == 0"`; `"fault:1 + 300ms"` | one is required |
//! | `do` | `"kill"`, `"shutdown"`, `"pause"`, `"lag"`, `"cut"`, `"failover"`, `"resume"`, `"restart"`, `"unlag"`, `"uncut"`; on app servers kill, pause and resume, on links lag, cut and their ends; a host can be cut only with `--lab docker` or `compose` | required |
//! | `delay` | of a lag: how much later everything arrives, each way; up to `"1m"` | required there |
//! | `direction` | of a lag or of the cut of a link: `"both"`, `"there"` or `"back"`; there is to a host, from the first host of a link to the second, from the master to its replicas, from a Sentinel to whom it asks | `"both"` |
//! | `by` | of a failover: `"sentinel"` (a Sentinel is told to, and chooses) or `"hand"` (each node and each Sentinel is told) | required there |
//! | `on` | `"host:1,2"`, `"minority"`, `"majority"`, `"all"`, `"server:3"`; `"primary"` and `"replicas"` are the hosts that have the master and its replicas when the fault starts (without replicated nodes `"primary"` is host 1); of a failover by hand the new master, left out: the most advanced replica; between hosts with replicated nodes `"link:1-2,1-3"`, `"replication"`, `"sentinels"` | required, but not of a failover |
//! | `for` | then it is undone, counted from its verified effect | it stays |
//! | `caption` | what to look at from its effect on | the caption stays |
//! | **`[expect]`** | | |
//! | `"arm name.figure"` | `"== 0"`, `">= 10 and < 50"`, `"< 50ms"`, `"> 400/s"`; the figures are [`Metric`](crate::metrics::Metric)'s | |

mod applicable;
mod arm_key;
mod belonging;
pub mod builtin;
mod condition;
mod database_url;
mod error;
mod forms;
mod lock;
mod node_url;
mod overrides;
mod read;
mod reader;
mod source;
mod spec;
mod suggest;
mod tree;
mod value;
mod warnings;
mod whole;
mod words;
mod workload;
mod write;
mod writer;

pub use condition::{Expectation, Op, Trigger};
pub use database_url::DatabaseUrl;
pub use error::{ScenarioError, ScenarioErrors};
pub use lock::{Follow, LockKind, LockNodes, Topology, Voter};
pub use node_url::NodeUrl;
pub use overrides::Overrides;
pub use read::parse;
pub use source::Source;
pub use spec::{
    ArmSpec, Arrivals, Balance, ClusterSpec, DatabaseSpec, FaultSpec, FaultStart, Fence, GivenNodes, LabSpec, OnLoss,
    Password, Persistence, Popularity, Renew, ReplicatedSpec, ServiceTime, SwarmSpec, Update,
};
pub use suggest::{hint, meant};
pub use warnings::warnings;
pub use whole::Scenario;
pub use words::Words;
pub use workload::{CacheFillSpec, CacheSpec, Catalogue, Initial, InventorySpec, Ledger, StockIn, WorkloadSpec};
