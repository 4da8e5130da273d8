use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::cause::Cause;
use crate::clock::{self, FOREVER};
use crate::node::address::{BadAddress, NodeAddress};
use crate::node::census::Census;
use crate::node::job::Job;
use crate::node::options::NodeOptions;
use crate::node::place::Place;
use crate::node::question::{self, Answered, Question};
use crate::node::queue::Queue;
use crate::node::route::Route;
use crate::node::state::{LinkState, NodeState};
use crate::node::task;
use crate::node::url::UrlPart;
use crate::node::wire::{self, Packed};
use crate::protocol::{MAX_NODES, NodeSet, Time};
use crate::refusal::Refusal;
use crate::routing::router::Router;

/// The pause before a node that could not be asked is asked again.
const FLUSH_AGAIN: Duration = Duration::from_millis(5);

/// The pause before a cluster is looked at again that was not ready.
const READY_AGAIN: Duration = Duration::from_millis(2);

/// How often everything is waited for: connections are ordered, so an answer to any command says that all commands before it
/// ran. The second round includes commands that had to be sent again with their whole script.
const ROUNDS: usize = 2;

/// How often everything is waited for if there are nodes of a cluster, which may send a command on, and to which what others owed
/// may be sent.
const ROUNDS_OF_A_CLUSTER: usize = 4;

/// The connections of one app server (a process, say) to lock nodes. Cheap to clone; clones share the connections.
///
/// For Redlock these must be separate servers that know nothing of each other and fail independently: not replicas of one
/// another, not the masters of one Cluster, and not one server under several names. Each server says at the start of a connection
/// who it is (its `run_id` in `INFO server`): of two nodes of a list that are the same server, only the one that was connected
/// first has a vote, and the other has the cause [`Duplicate`](Cause::Duplicate) until that changes. If a user may not run
/// `INFO`, nobody knows, and both vote.
///
/// Each connection is owned by a task of the runtime in which it was opened; the renewals of locks and the messages to waiters
/// are tasks there too, whichever runtime acquires. The tasks end with that runtime, or once no clone, lock or guard uses them and
/// nothing is left to delete. If that runtime is blocked (a thread that computes for long, a blocking call), nothing is sent or
/// read meanwhile: locks that are longest without an extension are lost after their TTL, nodes' answers come late, waiters
/// elsewhere hear of no release, and other runtimes that use these nodes suffer as well. Open nodes where nobody blocks.
#[derive(Clone)]
pub struct Nodes(Arc<Shared>);

struct Shared {
    handles: Box<[Arc<Handle>]>,
    /// Where the connections were opened: all tasks that locks on these nodes need run there.
    runtime: runtime::Handle,
    /// Whether nothing more may be acquired; all that use the same connections share it.
    shut: Arc<watch::Sender<bool>>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each node, and a cluster is the rare one"
)]
enum Handle {
    Node {
        queue: Arc<Queue>,
        place: Place,
        options: NodeOptions,
    },
    /// All masters of a cluster, which count as one node.
    Cluster(Arc<Router>),
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Handle {
    /// Its connections end once nothing is owed.
    fn abandon(&self) {
        match self {
            Self::Node { queue, .. } => queue.abandon(),
            Self::Cluster(router) => router.abandon(),
        }
    }

    /// Nothing more is acquired over its connections.
    fn shut(&self) {
        match self {
            Self::Node { queue, .. } => queue.shut(),
            Self::Cluster(router) => router.shut(),
        }
    }

    fn push(&self, job: Job) {
        match self {
            Self::Node { queue, .. } => queue.push(job),
            Self::Cluster(router) => router.push(job),
        }
    }

    /// The queues of all its connections; `None` if commands wait in others.
    fn queues(&self) -> Option<Vec<Arc<Queue>>> {
        match self {
            Self::Node { queue, .. } => Some(vec![Arc::clone(queue)]),
            Self::Cluster(router) => router.queues(),
        }
    }

    fn options(&self) -> &NodeOptions {
        match self {
            Self::Node { options, .. } => options,
            Self::Cluster(router) => router.options(),
        }
    }

    fn state(&self) -> NodeState {
        let (mut place, (link, trouble)) = match self {
            Self::Node { queue, place, .. } => (place.clone(), queue.state()),
            Self::Cluster(router) => {
                let queues = router.queues().unwrap_or_default();
                let troubles = queues.iter().filter_map(|queue| queue.state().1);
                let link = match router.is_ready() {
                    true => LinkState::Connected,
                    false => LinkState::Down,
                };
                (router.place(), (link, troubles.max_by_key(|(_, at)| *at)))
            }
        };
        let (last_error, at) = trouble.unzip();
        NodeState {
            address: place.address().ok().map(|address| address.to_string()),
            link,
            last_error,
            last_error_age: at.map(|at| clock::now() - at),
        }
    }

    /// Waits until it is connected, but not beyond `until`. Returns whether it is.
    async fn ready(&self, until: Time) -> bool {
        match self {
            Self::Node { queue, .. } => {
                let mut link = queue.watch();
                // A node that is not connected in time does not count.
                let _ = clock::timeout_at(until, link.wait_for(|up| *up)).await;
                *link.borrow()
            }
            Self::Cluster(router) => {
                while !router.is_ready() && clock::now() < until {
                    sleep(READY_AGAIN).await;
                }
                router.is_ready()
            }
        }
    }
}

impl Nodes {
    /// Starts to connect to `addrs`, with one task each, and does not wait. The task of a node that is down keeps trying.
    ///
    /// # Panics
    /// Outside a tokio runtime, and for more than 64 nodes.
    #[must_use]
    pub fn connect<A: Clone + Into<NodeAddress>>(addrs: &[A], options: NodeOptions) -> Self {
        assert!(addrs.len() <= MAX_NODES, "a lock has {MAX_NODES} nodes at most");
        Self::start(addrs.iter().cloned().map(Into::into).map(Place::Fixed), options)
    }

    /// Starts to connect to addresses like `redis://user:password@host:6379/0`, or `rediss://` for [TLS](super#tls), with one
    /// task each, and does not wait. Names are looked up at each attempt to connect; the authorities that TLS trusts are read
    /// here, from files.
    ///
    /// # Errors
    /// If a URL is not such an address; if it asks for TLS and the machine trusts no authorities; if a node is named twice,
    /// since it has only one vote; if there are no addresses, or more than 64.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn open<U: AsRef<str>>(urls: &[U], options: NodeOptions) -> Result<Self, BadAddress> {
        let addresses: Result<Vec<_>, _> = urls.iter().map(|url| NodeAddress::parse(url.as_ref())).collect();
        let addresses = addresses?;
        if addresses.is_empty() {
            let why = "there is no address; a lock needs a node at least";
            return Err(BadAddress::new("(none)", UrlPart::Whole, why));
        }
        let named_before = |&at: &usize| {
            addresses[..at]
                .iter()
                .any(|address| address.is_same_node(&addresses[at]))
        };
        if let Some(twice) = (0..addresses.len()).find(named_before) {
            let why = "it is named twice, and a node has one vote";
            return Err(BadAddress::new(urls[twice].as_ref(), UrlPart::Whole, why));
        }
        if let Some(url) = urls.get(MAX_NODES) {
            let why = format!("it is one too many: a lock has {MAX_NODES} nodes at most");
            return Err(BadAddress::new(url.as_ref(), UrlPart::Whole, why));
        }
        Ok(Self::start(addresses.into_iter().map(Place::Fixed), options))
    }

    /// Starts to connect, as [`connect`](Self::connect) does, to nodes whose addresses may change: each node is at the newest
    /// address that was sent. For the address to change, host, port, user, password, database, or whether it is TLS must differ.
    ///
    /// When an address changes, the connection to the last one is left at once, whatever state that server is in, and the
    /// new one is tried without a pause. It is as if the connection broke: commands that were written and not answered are
    /// *unknown*; what is still to be deleted is deleted at the new address, where it deletes nothing of others. The keys at
    /// the last address stay until their TTL is over. When the sender is dropped, the address stays.
    ///
    /// To the locks, a server at the new address that does not have the keys of the last one is a node that forgot them: an
    /// extension does not create them there. For Redlock, therefore, no more nodes may move within a TTL than may crash: fewer
    /// than half.
    ///
    /// # Panics
    /// Outside a tokio runtime, and for more than 64 nodes.
    #[must_use]
    pub fn follow(addresses: Vec<watch::Receiver<NodeAddress>>, options: NodeOptions) -> Self {
        assert!(addresses.len() <= MAX_NODES, "a lock has {MAX_NODES} nodes at most");
        Self::start(addresses.into_iter().map(Place::following), options)
    }

    /// Starts to connect to nodes at these places.
    pub(crate) fn start(places: impl IntoIterator<Item = Place>, options: NodeOptions) -> Self {
        let options = options.bounded();
        let places: Vec<_> = places.into_iter().collect();
        let queue = |_: &Place| Arc::new(Queue::new(options.owed_within()));
        let queues: Vec<_> = places.iter().map(queue).collect();
        let is_one_of_several = places.len() > 1;
        let start = |((place, queue), seat): ((Place, Arc<Queue>), _)| {
            let seat = is_one_of_several.then_some(seat);
            let task = task::run(Arc::clone(&queue), place.clone(), options, seat);
            #[cfg(feature = "tracing")]
            let task = {
                let address = place.clone().address().map(|address| address.to_string());
                let span = tracing::info_span!(target: "lockstorm_lock", "node", address = address.unwrap_or_default());
                tracing::Instrument::instrument(task, span)
            };
            tokio::spawn(task);
            Arc::new(Handle::Node { queue, place, options })
        };
        let seats = Census::of(&queues);
        let handles = places.into_iter().zip(queues).zip(seats).map(start).collect();
        Self::on(runtime::Handle::current(), handles)
    }

    fn on(runtime: runtime::Handle, handles: Box<[Arc<Handle>]>) -> Self {
        let shut = Arc::new(watch::Sender::new(false));
        Self(Arc::new(Shared { handles, runtime, shut }))
    }

    /// Runs a task in the runtime in which the connections were opened, whichever the caller's is.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.0.runtime.spawn(task)
    }

    /// All masters of a cluster, as one node.
    pub(crate) fn of_cluster(router: Arc<Router>) -> Self {
        Self::on(runtime::Handle::current(), [Arc::new(Handle::Cluster(router))].into())
    }

    /// Nodes that nobody connects to.
    #[cfg(test)]
    pub(crate) fn unconnected(nodes: usize) -> Self {
        let options = NodeOptions::default();
        let handle = |_| Handle::Node {
            queue: Arc::new(Queue::new(options.node_timeout)),
            place: Place::Fixed(std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()),
            options,
        };
        let none = |_| tokio::runtime::Runtime::new().unwrap().handle().clone();
        let runtime = runtime::Handle::try_current().unwrap_or_else(none);
        Self::on(runtime, (0..nodes).map(handle).map(Arc::new).collect())
    }

    /// Waits until all nodes are connected, but no longer than `within`; returns how many are connected then.
    pub async fn ready(&self, within: Duration) -> usize {
        let until = clock::now() + within.min(FOREVER);
        for handle in &self.0.handles {
            handle.ready(until).await;
        }
        let mut ready = 0;
        for handle in &self.0.handles {
            ready += usize::from(handle.ready(Time::ZERO).await);
        }
        ready
    }

    /// Waits until the nodes have run everything that was queued before, releases in the background included, but no longer
    /// than `within`; returns how many nodes have. Nodes that are stopped or down are waited for; those whose connections have ended, by [`shutdown`](Self::shutdown) or
    /// with their runtime, are not, and don't count. A command that a node
    /// refuses to run now (while it loads its data, say) is tried again later, and not waited for. Call this before an app
    /// server ends in the regular way.
    pub async fn flush(&self, within: Duration) -> usize {
        let until = clock::now() + within.min(FOREVER);
        let clusters = self
            .0
            .handles
            .iter()
            .any(|handle| matches!(**handle, Handle::Cluster(_)));
        let mut gone = NodeSet::EMPTY;
        for _ in 0..if clusters { ROUNDS_OF_A_CLUSTER } else { ROUNDS } {
            let mut left = NodeSet::first(self.len());
            while !left.is_empty() {
                left = self.pass(left, until, &mut gone).await;
                if clock::now() >= until {
                    return self.len() - left.len() - gone.len();
                }
                if !left.is_empty() {
                    sleep(FLUSH_AGAIN).await;
                }
            }
        }
        self.len() - gone.len()
    }

    /// Ends acquiring for all clones, [flushes](Self::flush), and then ends their connections: whoever still tries is refused at once, with
    /// [`Cause::Ended`](crate::Cause::Ended). Returns how many nodes have run everything. What the others are owed is tried until its keys have expired, or the runtime ends.
    ///
    /// Await this as the last thing of a program, after the guards are dropped: their keys are deleted by tasks of the runtime, and
    /// those end with it. Dropping the last clone can't do the same, since nothing may block inside a runtime, and a runtime that
    /// is dropped runs nothing any more.
    pub async fn shutdown(&self, within: Duration) -> usize {
        self.0.handles.iter().for_each(|handle| handle.shut());
        self.0.shut.send_replace(true);
        let flushed = self.flush(within).await;
        self.0.handles.iter().for_each(|handle| handle.abandon());
        flushed
    }

    /// Why nothing can be acquired, if these nodes were shut down.
    pub(crate) fn ended(&self) -> Option<Refusal> {
        let causes = vec![Some(Cause::Ended); self.len()];
        self.0.shut.borrow().then_some(Refusal::NoQuorum { causes })
    }

    /// Waits until these nodes are shut down.
    pub(crate) async fn until_shut(&self) {
        // It can't fail: we hold the sender.
        let _ = self.0.shut.subscribe().wait_for(|shut| *shut).await;
    }

    /// Waits until these nodes have answered all commands queued before, but no longer than `until`. Returns those that have
    /// not, but may yet; and adds to `gone` those whose connections have ended.
    async fn pass(&self, nodes: NodeSet, until: Time, gone: &mut NodeSet) -> NodeSet {
        let (mut left, mut queues) = (NodeSet::EMPTY, Vec::new());
        for node in nodes {
            match self.0.handles[node].queues() {
                Some(all) => queues.extend(all.into_iter().map(|queue| (node, queue))),
                None => {
                    left.insert(node);
                }
            }
        }
        let (sender, answers) = mpsc::unbounded_channel();
        for (place, (_, queue)) in queues.iter().enumerate() {
            queue.push(Job::Ask(question(&wire::barrier(), Some((sender.clone(), place)))));
        }
        drop(sender);
        let answers = question::collect(answers, queues.len(), until, |_| false).await;
        for ((node, _), answer) in queues.iter().zip(answers) {
            match answer {
                Some(Ok(_)) => {}
                Some(Err(Cause::Ended)) => _ = gone.insert(*node),
                _ => _ = left.insert(*node),
            }
        }
        left
    }

    /// The nodes at these positions, counted from 0, over the same connections. Positions in causes are those of the whole list.
    ///
    /// # Panics
    /// If there is no node at one of them.
    #[must_use]
    pub fn subset(&self, indexes: &[usize]) -> Self {
        let handles = indexes.iter().map(|&index| Arc::clone(&self.0.handles[index]));
        Self(Arc::new(Shared {
            handles: handles.collect(),
            runtime: self.0.runtime.clone(),
            shut: Arc::clone(&self.0.shut),
        }))
    }

    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.handles.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.handles.is_empty()
    }

    /// How each node is, in order. An expired certificate, say, or a password that was changed is seen here as soon as one node
    /// can't be reached any more, while the locks still work with the others.
    ///
    /// ```no_run
    /// # fn example(nodes: lockstorm_lock::Nodes) {
    /// for state in nodes.states() {
    ///     println!("{:?} is {:?}, last error: {:?}", state.address, state.link, state.last_error);
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn states(&self) -> Vec<NodeState> {
        self.0.handles.iter().map(|handle| handle.state()).collect()
    }

    /// The length of the longest key in bytes.
    pub(crate) fn longest_key(&self) -> usize {
        let first = self.0.handles.first().map(|handle| handle.options().longest_key);
        first.unwrap_or_else(|| NodeOptions::default().longest_key)
    }

    /// How long a node may owe a reply, the wait for its replicas included.
    #[must_use]
    pub fn node_timeout(&self) -> Duration {
        let first = self.0.handles.first().map(|handle| handle.options().owed_within());
        first.unwrap_or_else(|| NodeOptions::default().node_timeout)
    }

    /// Calls `hook` for each command that gets a reply from now on, with the node's position and the time from the writing
    /// of the command to its reply. The connections' tasks call it, so it must be quick; it stays as long as they do.
    /// Returns false and changes nothing if one of the nodes has such a hook already.
    ///
    /// Commands that never get a reply are not measured, and a command to a node that was stopped takes as long as the stop.
    /// Choose a `node_timeout` well above the longest round trip of a healthy node, and a TTL that exceeds the longest
    /// section by several round trips: the validity counts from before the nodes were asked.
    pub fn on_round_trip(&self, hook: impl Fn(usize, Duration) + Send + Sync + 'static) -> bool {
        let has_one = |handle: &Arc<Handle>| match &**handle {
            Handle::Node { queue, .. } => queue.round_trip_hook().is_some(),
            Handle::Cluster(router) => router.samples_round_trips(),
        };
        if self.0.handles.iter().any(has_one) {
            return false;
        }
        let hook = Arc::new(hook);
        let all = self.0.handles.iter().enumerate();
        all.fold(true, |set, (node, handle)| {
            let hook = Arc::clone(&hook);
            let hook = Arc::new(move |time| hook(node, time));
            set & match &**handle {
                Handle::Node { queue, .. } => queue.sample_round_trips(hook),
                Handle::Cluster(router) => router.sample_round_trips(hook),
            }
        })
    }

    /// Sends the same command to these nodes and waits for their answers until there are `enough`, or until the given time.
    /// The answers are in the order of the nodes.
    pub(crate) async fn ask(
        &self,
        nodes: NodeSet,
        command: &Packed,
        until: Time,
        enough: impl Fn(&[Option<Answered>]) -> bool,
    ) -> Vec<Option<Answered>> {
        let (sender, answers) = mpsc::unbounded_channel();
        for (place, node) in nodes.into_iter().enumerate() {
            let question = question(command, Some((sender.clone(), place)));
            match self.same_server_as(node) {
                Some(of) => question.put(Err(Cause::Duplicate { of })),
                None => self.push(node, Job::Ask(question)),
            }
        }
        drop(sender);
        question::collect(answers, nodes.len(), until, enough).await
    }

    /// Sends a command to all nodes that can be asked now; nobody waits for the answers.
    pub(crate) fn tell(&self, command: &Packed) {
        for node in 0..self.len() {
            self.push(node, Job::Ask(question(command, None)));
        }
    }

    /// Where the node is, and how to connect to it.
    pub(crate) fn place(&self, node: usize) -> (Place, NodeOptions) {
        match &*self.0.handles[node] {
            Handle::Node { place, options, .. } => (place.clone(), *options),
            Handle::Cluster(router) => (router.place(), *router.options()),
        }
    }

    /// The nodes that are connected and owe no reply for too long.
    pub(crate) fn well(&self) -> NodeSet {
        let is_well = |&node: &usize| match &*self.0.handles[node] {
            Handle::Node { queue, .. } => queue.is_well(),
            // That depends on the key.
            Handle::Cluster(_) => true,
        };
        (0..self.len()).filter(is_well).collect()
    }

    /// The other node that has the vote of the same server.
    fn same_server_as(&self, node: usize) -> Option<usize> {
        match &*self.0.handles[node] {
            Handle::Node { queue, .. } => queue.same_server_as(),
            Handle::Cluster(_) => None,
        }
    }

    /// Queues a command for this node; never waits.
    pub(crate) fn push(&self, node: usize, job: Job) {
        self.0.handles[node].push(job);
    }

    /// Why a command for this key was never written to this node.
    pub(crate) fn not_written(&self, node: usize, key: &[u8]) -> Cause {
        match &*self.0.handles[node] {
            Handle::Node { queue, .. } => queue.not_written(),
            Handle::Cluster(router) => router.not_written(key),
        }
    }
}

fn question(command: &Packed, answers: Option<(UnboundedSender<(usize, Answered)>, usize)>) -> Question {
    Question {
        command: command.clone(),
        answers,
        route: Route::default(),
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
