//! Runs of one scenario as a page: which locks held, what they cost, why, and how sure that is.

mod chart;
mod curves;
mod group;
mod html;
mod phases;
mod spread;

pub use group::Runs;
pub use html::runs_page;
