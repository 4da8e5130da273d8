//! A plan as text, as a page, as a plot and as CSV.

mod chart;
mod csv;
mod drawn;
mod html;
mod phrases;
mod plot;
mod text;

pub use csv::plan_csv;
pub use html::plan_page;
pub use phrases::{Given, holds_read};
pub use text::render_plan;
