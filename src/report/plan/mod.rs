//! A plan as text, as a page, as a plot and as CSV.

mod chart;
mod csv;
mod drawn;
mod html;
mod plot;
mod text;
mod ticks;
mod words;

pub use csv::plan_csv;
pub use html::plan_page;
pub use text::render_plan;
pub use words::Given;
