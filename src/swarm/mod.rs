//! The swarm: app servers, the workers on them, and the load that is dealt to them.

mod app_server;
mod arrivals;
mod balance;
mod dealer;
mod intake;
mod load;
mod serve;
mod worker;

pub use app_server::{AppServer, ArmPlan, ServerPlan, SwarmError};
pub use load::Load;
