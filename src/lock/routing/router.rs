//! The connections to the masters of a cluster: each command goes to the one that has its key.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::redirection::Redirection;
use super::slot::slot;
use super::table::Table;
use super::view::View;
use crate::cause::Cause;
use crate::clock;
use crate::node::address::NodeAddress;
use crate::node::job::{Job, LockJob};
use crate::node::options::NodeOptions;
use crate::node::place::{Named, Place, Spot};
use crate::node::queue::{Queue, RoundTripHook};
use crate::node::redirector::Redirector;
use crate::node::route::Route;
use crate::node::task;
use crate::protocol::Time;

/// How often a command is sent on before its asker is told that it was moved. One is the rule; while slots move, nodes may
/// contradict each other for some round trips.
const MOST_REDIRECTIONS: u8 = 5;

/// How long the connection to a node without slots is kept, to which a slot seems to be on its way.
const GUEST_STAY: Duration = Duration::from_secs(10);

/// The masters of one cluster, as one app server sees them.
pub(crate) struct Router {
    state: Mutex<RouterState>,
    /// Commands for slots whose master nobody knows.
    unrouted: Queue,
    /// Notified when there is a reason to ask for the slots.
    trouble: Notify,
    /// The node that subscribers use. A cluster passes messages on to all its nodes.
    speaker: watch::Sender<Named>,
    /// User, password and TLS of all nodes.
    login: NodeAddress,
    options: NodeOptions,
    round_trip: OnceLock<RoundTripHook>,
    this: Weak<Self>,
}

struct RouterState {
    table: Table,
    /// Whether any node has said who has the slots.
    known: bool,
    /// The masters that have slots, and those to which slots seem to be on their way.
    masters: HashMap<Spot, Master>,
    /// Masters whose tasks have not ended yet.
    retired: Vec<Arc<Queue>>,
    /// All nodes that have slots, replicas included.
    nodes: Vec<Spot>,
    abandoned: bool,
    /// Whether nothing more may be acquired.
    shut: bool,
}

struct Master {
    queue: Arc<Queue>,
    /// Where its connection leads; it is left when the master has no slots any more.
    named: watch::Sender<Named>,
    /// How long it is kept if it has no slots.
    guest_until: Time,
}

/// What a master's queue and connection know of the cluster.
struct Door {
    router: Weak<Router>,
    spot: Spot,
}

impl Redirector for Door {
    fn redirect(&self, job: Job, error: &str) -> Option<Job> {
        match self.router.upgrade() {
            Some(router) => router.redirect(job, error, &self.spot),
            None => Some(job),
        }
    }

    fn owe(&self, deletes: Vec<LockJob>) {
        if let Some(router) = self.router.upgrade() {
            for delete in deletes {
                router.push(Job::Lock(delete).on(Route::default()));
            }
        }
    }

    fn on_trouble(&self) {
        if let Some(router) = self.router.upgrade() {
            router.trouble.notify_one();
        }
    }
}

impl Router {
    /// Nothing is known yet of the cluster, whose nodes all have this login.
    pub(crate) fn new(login: NodeAddress, options: NodeOptions) -> Arc<Self> {
        let state = RouterState {
            table: Table::new(),
            known: false,
            masters: HashMap::new(),
            retired: Vec::new(),
            nodes: Vec::new(),
            abandoned: false,
            shut: false,
        };
        Arc::new_cyclic(|this| Self {
            state: Mutex::new(state),
            unrouted: Queue::new(options.owed_within()),
            trouble: Notify::new(),
            speaker: watch::Sender::new(Err(Cause::NoMaster)),
            login,
            options,
            round_trip: OnceLock::new(),
            this: Weak::clone(this),
        })
    }

    // For those who send commands.

    /// Queues a command for the master that has its key; never waits.
    pub(crate) fn push(&self, job: Job) {
        match self.queue_for(job.key()) {
            Some(queue) => queue.push(job),
            None => self.unrouted.push(job),
        }
    }

    /// Why a command for this key has not been written.
    pub(crate) fn not_written(&self, key: &[u8]) -> Cause {
        let queue = self.queue_for(Some(key));
        queue.map_or_else(|| self.unrouted.not_written(), |queue| queue.not_written())
    }

    /// The queues of all masters; `None` if commands wait in others.
    pub(crate) fn queues(&self) -> Option<Vec<Arc<Queue>>> {
        let mut state = self.lock();
        state.retired.retain(is_in_use);
        let is_settled = state.known && state.retired.is_empty();
        let queues = state.masters.values().map(|master| Arc::clone(&master.queue));
        let queues = is_settled.then(|| queues.collect());
        drop(state);
        queues.filter(|_| !self.unrouted.is_owing())
    }

    /// Whether it is known who has the slots, and all masters are connected.
    pub(crate) fn is_ready(&self) -> bool {
        let state = self.lock();
        let is_up = |master: &Master| *master.queue.watch().borrow();
        !state.masters.is_empty() && state.masters.values().all(is_up)
    }

    /// The options of all connections.
    pub(crate) const fn options(&self) -> &NodeOptions {
        &self.options
    }

    /// Where a subscriber finds a node.
    pub(crate) fn place(&self) -> Place {
        Place::named(self.speaker.subscribe(), self.login.clone())
    }

    /// Whether there is a hook for round trips.
    pub(crate) fn samples_round_trips(&self) -> bool {
        self.round_trip.get().is_some()
    }

    /// Calls `hook` for each round trip from now on. Returns false if there is a hook already.
    pub(crate) fn sample_round_trips(&self, hook: RoundTripHook) -> bool {
        let state = self.lock();
        let is_new = self.round_trip.set(hook).is_ok();
        for master in state.masters.values().filter(|_| is_new) {
            self.sample(&master.queue);
        }
        is_new
    }

    /// Nothing more is acquired from now on.
    pub(crate) fn shut(&self) {
        let mut state = self.lock();
        state.shut = true;
        state.masters.values().for_each(|master| master.queue.shut());
        drop(state);
        self.unrouted.shut();
    }

    /// Nobody will push any more: everything ends once nothing is owed.
    pub(crate) fn abandon(&self) {
        self.lock().abandoned = true;
        self.trouble.notify_one();
    }

    fn queue_for(&self, key: Option<&[u8]>) -> Option<Arc<Queue>> {
        let slot = key.map_or(0, slot);
        let state = self.lock();
        let master = state.masters.get(state.table.owner(slot)?)?;
        Some(Arc::clone(&master.queue))
    }

    // For the connections' tasks.

    /// The node at `from` did not run this command, for this error. Returns the command unless another node is asked instead.
    fn redirect(&self, job: Job, error: &str, from: &Spot) -> Option<Job> {
        let Some(redirection) = Redirection::read(error, from) else {
            if matches!(Cause::of_error(error.to_owned()), Cause::NotReady(_) | Cause::ReadOnly) {
                self.trouble.notify_one();
            }
            return Some(job);
        };
        let redirections = job.route().redirections + 1;
        let (spot, asking) = match &redirection {
            Redirection::Moved { spot, .. } => (spot, false),
            Redirection::Ask { spot } => (spot, true),
        };
        let mut state = self.lock();
        if let Redirection::Moved { slot, spot } = &redirection {
            state.table.on_moved(*slot, spot);
            self.trouble.notify_one();
        }
        if job.key().is_none() || redirections > MOST_REDIRECTIONS {
            // A delete that is owed begins anew.
            return Some(job.on(Route::default()));
        }
        let queue = self.master(&mut state, spot, clock::now() + GUEST_STAY);
        drop(state);
        queue.push(job.on(Route { redirections, asking }));
        None
    }

    /// The queue of the master there, which is connected to from now on if it was not.
    fn master(&self, state: &mut RouterState, spot: &Spot, guest_until: Time) -> Arc<Queue> {
        if let Some(master) = state.masters.get_mut(spot) {
            master.guest_until = master.guest_until.max(guest_until);
            return Arc::clone(&master.queue);
        }
        let door = Door {
            router: Weak::clone(&self.this),
            spot: spot.clone(),
        };
        let queue = Arc::new(Queue::of_cluster(self.options.owed_within(), Box::new(door)));
        if state.shut {
            queue.shut();
        }
        self.sample(&queue);
        let named = watch::Sender::new(Ok(spot.clone()));
        let place = Place::named(named.subscribe(), self.login.clone());
        tokio::spawn(task::run(Arc::clone(&queue), place, self.options, None));
        let master = Master {
            queue: Arc::clone(&queue),
            named,
            guest_until,
        };
        state.masters.insert(spot.clone(), master);
        queue
    }

    fn sample(&self, queue: &Queue) {
        if let Some(hook) = self.round_trip.get() {
            // A new queue has no hook yet.
            queue.sample_round_trips(Arc::clone(hook));
        }
    }

    // For the task that asks who has the slots. It must call these within the runtime.

    /// The node at `from` says this of its cluster.
    pub(super) fn learn(&self, view: View, from: &Spot) {
        let now = clock::now();
        let mut state = self.lock();
        state.table.merge(&view);
        state.known = true;
        state.nodes = view.nodes;
        let owners = state.table.owners();
        for owner in &owners {
            self.master(&mut state, owner, now);
        }
        let is_left = |(spot, master): (&Spot, &Master)| {
            (!owners.contains(spot) && master.guest_until <= now).then(|| spot.clone())
        };
        let left: Vec<Spot> = state.masters.iter().filter_map(is_left).collect();
        let left: Vec<Master> = left.iter().filter_map(|spot| state.masters.remove(spot)).collect();
        state.retired.retain(is_in_use);
        state
            .retired
            .extend(left.iter().map(|master| Arc::clone(&master.queue)));
        drop(state);
        for Master { queue, named, .. } in left {
            // What it was before does not matter.
            let _ = named.send_replace(Err(Cause::NoMaster));
            queue.retire();
        }
        self.speaker.send_if_modified(|speaker| {
            let is_silent = speaker.is_err();
            if is_silent {
                *speaker = Ok(from.clone());
            }
            is_silent
        });
        self.route_again(&Cause::NoMaster);
    }

    /// The node at `from` can't be asked.
    pub(super) fn on_silent(&self, from: &Spot) {
        self.speaker.send_if_modified(|speaker| {
            let was_speaker = speaker.as_ref() == Ok(from);
            if was_speaker {
                *speaker = Err(Cause::NoMaster);
            }
            was_speaker
        });
    }

    /// No node can be asked, for this cause: those who wait are told, unless the slots are known from before.
    pub(super) fn on_all_silent(&self, cause: &Cause) {
        if !self.lock().known {
            self.route_again(cause);
        }
    }

    /// Sends what waits to the masters that are known now. What is left fails, but for deletes.
    fn route_again(&self, cause: &Cause) {
        let mut left = VecDeque::new();
        for job in self.unrouted.take_all() {
            match self.queue_for(job.key()) {
                Some(queue) => queue.push(job),
                None => left.push_back(job),
            }
        }
        self.unrouted.disconnected(VecDeque::new(), left, cause, false);
    }

    /// Whether all masters are known, connected and not suspect.
    pub(super) fn is_calm(&self) -> bool {
        let state = self.lock();
        state.known && !state.abandoned && state.masters.values().all(|master| master.queue.is_well())
    }

    /// Waits until there is a reason to ask who has the slots.
    pub(super) async fn troubled(&self) {
        self.trouble.notified().await;
    }

    /// The nodes to ask, besides those that are known from the start: if all is `calm`, the one that subscribers use; otherwise
    /// all that may answer.
    pub(super) fn candidates(&self, calm: bool) -> Vec<Spot> {
        if calm && let Ok(speaker) = &*self.speaker.borrow() {
            return vec![speaker.clone()];
        }
        let nodes = self.lock().nodes.clone();
        nodes.into_iter().filter(|spot| self.may_answer(spot)).collect()
    }

    /// Whether the node there is not known to be gone or silent.
    pub(super) fn may_answer(&self, spot: &Spot) -> bool {
        let state = self.lock();
        state.masters.get(spot).is_none_or(|master| master.queue.is_well())
    }

    /// The address of the node there.
    pub(super) fn address(&self, spot: &Spot) -> Result<NodeAddress, Cause> {
        self.login.moved_to(&spot.host, spot.port).map_err(Cause::Tls)
    }

    /// Whether nobody uses the cluster any more and nothing is owed; then its connections have ended.
    pub(super) fn is_over(&self) -> bool {
        let state = self.lock();
        if !state.abandoned {
            return false;
        }
        for master in state.masters.values() {
            master.queue.abandon();
        }
        let mut queues = state.masters.values().map(|master| &master.queue).chain(&state.retired);
        let is_in_use = queues.any(is_in_use);
        drop(state);
        !is_in_use && !self.unrouted.is_owing()
    }

    fn lock(&self) -> MutexGuard<'_, RouterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether its connection's task has not ended.
fn is_in_use(queue: &Arc<Queue>) -> bool {
    Arc::strong_count(queue) > 1
}
