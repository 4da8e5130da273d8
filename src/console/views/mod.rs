//! The drawing: a file for each panel, with `render(frame, area, …)`. It never changes the state.

mod arms;
mod bars;
mod briefing;
mod caption;
mod conditions;
mod dashboard;
mod digits;
mod events;
mod expectations;
mod failed;
mod footer;
mod header;
mod help;
mod hosts;
mod latency;
mod letters;
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
