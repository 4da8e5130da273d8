//! Runs of one scenario as a report: which locks held, what they cost, why, and how sure that is; as a page, text, Markdown, tables and
//! pictures.

mod chart;
mod curves;
mod drawing;
mod figures;
mod group;
mod hgrm;
mod html;
mod json;
mod markdown;
mod over_time;
mod parts;
mod sentences;
mod settings;
mod slides;
mod spread;
mod text;
mod tidy;
mod times;
mod together;
mod verdicts;

pub use group::Runs;
pub use hgrm::runs_hgrm;
pub use settings::{Settings, held_text};
pub use slides::runs_slides;
