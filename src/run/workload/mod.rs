//! The work of the workers: reading through caches that expire, or selling stock, one request at a time. It is counted in
//! the recorder of the app server and arm.

mod cache;
mod cache_fill;
mod failed;
mod filler;
mod held_locks;
mod hurry;
mod inventory;
mod job;
mod list;
mod live_settings;
mod object;
mod payment;
mod random;
mod section;
mod stalls;
mod tools;
mod under_way;
mod work;

pub use cache::{CACHE_REPLY_TIMEOUT, Cache, CacheError, connect_cache};
pub use held_locks::{Happened, HeldLocks, HoldNews, LiveHold, Refused, Sold};
pub use hurry::Hurry;
pub use inventory::{batches, orders_in_cache, prepare_cache, stock_sold_in_cache};
pub use live_settings::LiveSettings;
pub use stalls::Stalls;
pub use tools::Tools;
pub use under_way::UnderWay;
pub use work::{Done, Workload};
