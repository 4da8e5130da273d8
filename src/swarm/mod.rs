//! The swarm: app servers, the workers on them, and the pace at which they begin their requests.

mod app_server;
mod pacer;
mod serve;
mod worker;

pub use app_server::{AppServer, ArmPlan, ServerPlan, SwarmError};
pub use pacer::{Pace, Pacer};
