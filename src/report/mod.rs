//! A record as a summary in text, and the record's file.

mod bench;
mod columns;
mod comparison;
mod demo;
mod doctor;
mod events;
mod figures;
mod file;
mod grade;
mod history;
mod journal;
mod lanes;
mod markdown;
mod measurement;
mod page;
mod paint;
mod pen;
mod plan;
mod plot;
mod progress;
mod reading;
mod recipes;
mod replay;
mod runs;
mod selftest;
mod sentence;
mod story;
mod sweep;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod validation;
mod wrap;

pub use bench::render_bench;
pub use comparison::{comparison_markdown, render_comparison};
pub use demo::demo;
pub use doctor::{examination_bar, render_diagnosis};
pub use events::{EventsJudged, events_page, render_events};
pub use file::{RecordFile, write_json};
pub use grade::{grades_markdown, grades_page, render_checked, render_grades};
pub use history::{Checker, export, render_judgements};
pub use journal::Journal;
pub(crate) use lanes::in_columns as lanes_in_columns;
pub use lanes::{ShownHold, svg as lanes_svg, text as lanes_text};
pub use measurement::{measuring_bar, render_measurement};
pub use paint::Paint;
pub use plan::{Given, holds_read, plan_csv, plan_page, render_plan};
pub use progress::{Progress, is_dumb};
pub use reading::FileError;
pub use recipes::render_recipes;
pub use replay::render_replay;
pub use runs::{Runs, Settings, held_text, runs_hgrm, runs_slides};
pub use selftest::render_selftest;
pub use sentence::sentence;
pub use sweep::render_sweep;
pub use text::{brief, render, summary};
pub use validation::render_validation;

pub(crate) use columns::{Arm, DAMAGE, Mark, OPEN, badge, cell, heads, is_nothing, judge, marked, sign, written};
pub(crate) use figures::percent;
pub(crate) use paint::Tone;
pub(crate) use story::{
    Moment, conclusion, counted, happened, headline, legend, lesson, moments, order, tally, verdicts,
};
pub(crate) use table::Cell;
pub(crate) use text::so_far;
