//! What a run tells: of each arm whether its lock held, what it cost and why; and what happened, fault by fault. The console and the
//! summary of a record say the same.

mod ending;
mod moments;
mod verdict;

pub(crate) use ending::{conclusion, happened, legend, lesson, tally, verdicts};
pub(crate) use moments::{Moment, moments};
pub(crate) use verdict::{counted, headline, is_control, order};
