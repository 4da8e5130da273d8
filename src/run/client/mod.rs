//! Locks of other programs: an arm's command is started once for each app server and talks `lockstorm-client/1` with it.

mod clock;
mod complaints;
mod connect;
mod link;
mod lock;
mod message;
mod null;
mod price;

pub use self::complaints::{Complaints, Whose};
pub use self::connect::{Clients, NoClient, Program, begin, first_order, servers};
pub use self::link::{End, Link};
pub use self::lock::GRACE;
pub use self::message::{Answer, Can, Hello, Is, Order, Start, Wrong, schema};
pub use self::null::null;
pub use self::price::Price;
