//! A plan as text, as a page, as a plot and as CSV.

mod csv;
mod html;
mod plot;
mod text;
mod words;

pub use csv::plan_csv;
pub use html::plan_page;
pub use text::render_plan;
pub use words::Given;
