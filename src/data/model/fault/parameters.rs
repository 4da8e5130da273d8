use std::time::Duration;

use super::direction::Direction;
use super::way::Way;

/// Something that the parameters of a fault pass through, each with its key: it reads them, writes them, or lists them.
pub trait Parameters {
    /// A duration above 0 and up to `most`. `now` is its present value, which means nothing while a fault is being read.
    fn duration(&mut self, key: &'static str, now: Duration, most: Duration) -> Duration;
    /// Who makes a replica the new master. `now` means as much as for a duration.
    fn way(&mut self, key: &'static str, now: Way) -> Way;

    /// The ways on which it acts; both if they are left out.
    fn direction(&mut self, key: &'static str, now: Direction) -> Direction;
}
