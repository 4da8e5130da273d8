//! The lock engine beside its peers, on the lab's own nodes.
//!
//! A *case* is a load, and what goes wrong with the nodes meanwhile; a *contender* is a lock client. In each round of a
//! case every contender runs once, alone, in an order that rotates, so noise of the machine hits all of them, and the
//! result is their ratio within a round. Everything runs in one process: contenders differ only in their code.
//!
//! Loads are closed loops: a waiting task asks for nothing else. So the times are those that a caller waits; they say
//! nothing about requests that arrive independently.
//!
//! It knows nothing of scenarios, runs of them, or how a result is printed; the machine is described as in a record.
//!
//! # Map
//!
//! - files here: the lock engine beside its peers: `case` and `target` are tables; `labs` holds the nodes that a case
//!   needs, `certificates` those of TLS, `links` are slow ones; `round` breaks nodes and measures; `fleet` and `app_server` run one contender
//!   (`engine`, `bare`, `peers/`) and talk through `board`; `summing_up` makes medians and ratios of the rounds;
//!   `record` is the file
#![warn(missing_docs)]

mod app_server;
mod bare;
mod board;
mod case;
mod case_result;
mod certificates;
mod client;
mod contender;
mod driver;
mod engine;
mod error;
mod figures;
mod fleet;
mod labs;
mod links;
mod metric;
mod nodes;
mod options;
#[cfg(feature = "peers")]
mod peers;
mod process;
mod record;
mod round;
mod settings;
mod statistics;
mod summing_up;
mod tally;
mod target;
mod worker;

pub use self::case::{CASES, Case, Load, LoadKind, Trouble};
pub use self::case_result::{CaseResult, LeftOut, Ratio, RoundResult, Summary};
pub use self::certificates::Certificates;
pub use self::contender::Contender;
pub use self::driver::{Step, bench};
pub use self::error::BenchError;
pub use self::figures::{Figures, Run};
pub use self::metric::Metric;
pub use self::options::BenchOptions;
pub use self::record::BenchRecord;
pub use self::statistics::{Quartiles, jain};
pub use self::target::{Basis, Bound, Judged, TARGETS, Target};
