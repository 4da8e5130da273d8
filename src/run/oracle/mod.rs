//! The only judge of invariants: what the ledger proves about an arm's stock.

mod stock;

pub use stock::{Books, News, Sales, StockAudit};
