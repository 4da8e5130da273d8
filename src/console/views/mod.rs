//! The drawing: a file for each panel, with `render(frame, area, …)`. It never changes the state.

mod arms;
mod briefing;
mod caption;
mod charts;
mod conditions;
mod course;
mod dashboard;
mod details;
mod digits;
mod events;
mod expectations;
mod failed;
mod footer;
mod happened;
mod header;
mod help;
mod hosts;
mod lanes;
mod latency;
mod letters;
mod locks;
mod palette;
mod parts;
mod picker;
mod scoreboard;
mod screen;
mod servers;
mod stopping;
mod strip;
mod summary;
mod timeline;
mod ttls;
mod visible_rows;

pub use screen::render;
