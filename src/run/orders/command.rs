use std::time::Duration;

use tokio::sync::mpsc;

use lockstorm_data::model::{Action, HostId, OrderId, Target};

/// What the console, a test or a signal handler can ask of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Do this to this target now.
    Fault {
        /// The action.
        action: Action,
        /// The target.
        target: Target,
        /// The number of this order, which its event will carry.
        order: OrderId,
    },
    /// Kill a host, and bring it back [`Command::BOUNCE`] after its death was verified. It comes back empty unless it
    /// persists its data.
    Bounce {
        /// The host.
        host: HostId,
        /// The number of this order, which the events of both steps will carry.
        order: OrderId,
    },
    /// Turn a knob.
    Turn(Knob),
    /// Hold the schedule: the scenario's faults don't begin by themselves, and don't end, except a bounce, and neither does the load.
    /// Or let it go on, later by as long as it was held.
    Hold(bool),
    /// Let what comes next in the schedule happen now.
    Step,
    /// End the load now as if its time were over.
    End,
    /// End the load now: waiting acquires and simulated work are given up, the ledger is read, and the record is made.
    /// Sent again while that is under way, it waits for nothing more, and the record says what is missing.
    Stop,
}

impl Command {
    /// How long a bounced host stays down.
    pub const BOUNCE: Duration = Duration::from_millis(300);
}

/// A knob and its new value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Knob {
    /// TTL of every lock arm.
    Ttl(Duration),
    /// Workers on each app server for each arm.
    Workers(usize),
    /// Requests a second for each arm; only in an open loop.
    Rate(f64),
    /// Median of the hold time (`inventory`) or of the provider's time (`cache-fill`).
    Hold(Duration),
}

/// The receiving end of a run's commands.
#[derive(Debug)]
pub(crate) struct Inbox(pub mpsc::UnboundedReceiver<Command>);

impl Inbox {
    /// The next command; waits for ever once every sender is gone.
    pub async fn next(&mut self) -> Command {
        match self.0.recv().await {
            Some(command) => command,
            None => std::future::pending().await,
        }
    }
}
