//! The swarm: app servers, the workers on them, and the load that is dealt to them.

mod app_server;
mod arrivals;
mod balance;
mod control;
mod dealer;
mod error;
mod intake;
mod load;
mod locks;
mod plan;
mod serve;
mod trial;
mod worker;

pub use app_server::AppServer;
pub use error::SwarmError;
pub use intake::Queue;
pub use load::Load;
pub use plan::{ArmPlan, ServerPlan};
pub use trial::{Patience, stuck_locks};
