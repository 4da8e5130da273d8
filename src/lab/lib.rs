//! Hosts and their nodes: real Redis or Valkey servers, as processes on loopback or as containers, broken and restored on
//! demand. Nothing that the lab starts outlives the process that owns it, no matter how that ends; see [`keeper`].
//!
//! A [`Lab`] goes up from a [`LabSpec`](lockstorm_data::scenario::LabSpec) and does
//! [`Action`](lockstorm_data::model::Action)s, each with proof of its effect. [`kept`] keeps a lab for other programs, [`doctor`]
//! says whether servers that somebody else runs are fit for locks, and [`leftovers`] removes what a crash has left.
//!
//! It knows nothing of workers, locks under test, or runs: whoever has a lab uses the addresses of its nodes. The lab's owner
//! names the program that becomes the keeper: itself, if its `main` calls [`keeper::main`] where its first argument is
//! [`keeper::ARGUMENT`], or `lockstorm-keeper`, which `cargo build -p lockstorm-lab --bin lockstorm-keeper` makes. Specifications and
//! actions are those of `lockstorm-data`.
//!
//! ```no_run
//! use lockstorm_data::model::{Action, Condition, Fault};
//! use lockstorm_data::scenario::LabSpec;
//! use lockstorm_lab::{Lab, LabOptions, ServerBinary};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut options = LabOptions::new(ServerBinary::find(None)?)?;
//! options.keeper = "target/debug/lockstorm-keeper".into();
//! let lab = Lab::up(&LabSpec::of(3), options).await?;
//! let (host, address) = lab.lock_nodes()[0].clone();
//! println!("{host} listens at {address:?}");
//! println!("{:?}", lab.apply(Action::Fault(Fault::Pause), host).await?);
//! println!("{:?}", lab.apply(Action::Undo(Condition::Paused), host).await?);
//! lab.down().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Map
//!
//! - files here: `start` brings a lab up, and `lab` is what it is then: server processes behind the keeper, whose `client` it is by
//!   `protocol`; `actions` carries out faults and proves their effect by `findings`; `awaited` says what is still missing,
//!   `options` is what was asked for, and `imposed` what was done to a host or a link; `running` lists this user's labs for
//!   other programs
//! - `directory`: `base_dir`, `run_dir`, `opened_run`, `start_lock` and `leftovers` (with its `report`) handle directories by descriptor and
//!   what a crash left; `site` is the keeper with its directory
//! - `server`: one server. `binary` is the program, `node` how it is started and comes back, `nodes` all of them by host,
//!   `node_name` role and host, `state` how the kernel, or nobody, reports it, `ports` and `settings` what it gets;
//!   `sessions` is how any server is asked: by the lock engine's `Session`
//! - `topology`: `layout` lists the nodes, `replication` makes a master, its replicas and their Sentinels of the
//!   replicated ones, `cluster` makes one cluster, both by `readiness`; `failover` moves the master on order; `stack` is
//!   what somebody else has brought up
//! - `network`: `links` breaks the network between hosts, measured by `gauge`s; `source` tells whose connection it is
//! - `proxy`: what stands between nodes and those who use them: `network` decides what happens on a path, `doors` are its
//!   addresses, `pump` moves, delays and drops bytes
//! - `keeper` has two backends: `children` are processes, which it starts and signals, those of a Docker engine are kept by `docker/keep`, and only
//!   `docker` knows its API; `docker/supply` makes containers, or finds those of a stack that is up (`docker/stack`);
//!   servers that are not ours are `watched` by a `witness`, with the `removal` of our keys
//! - `guest`: programs of others that use the nodes, started and watched by the keeper
//! - `kept`: a lab that is kept for other programs: `lab_order` is what somebody wants, `launch` starts a process in the
//!   `background`, whose `service` has the lab and answers at a `socket` in the run directory. `find` finds it and
//!   asks; `turn` lets one start after the other. `request`, `answer`, `acted`, `choice` and `urls` are plain data. `act` breaks
//!   and mends hosts and links, `logged` keeps what was done, `status` says how they are
//! - `cli`: the redis-cli of `lockstorm lab cli`: `session` runs it, `relay` carries its connections, and `writes` has what it has
//!   written, by its `commands`
//! - `doctor`: whether servers are fit for locks: `examine` asks one for its `facts`, `checks/` are pure functions of
//!   these, a `finding` says what was seen and what to do, `diagnosis` what follows; `measure` asks servers for their
//!   time over and over (`clock`)
//!
//! # Rules, and why
//!
//! - **A fault's effect is what the kernel reports.** The keeper, a small process in its own session, starts the
//!   servers from its main thread and waits for them. "Paused", "continued" and "killed" are therefore results of its
//!   `waitpid`, not our wishes. When its pipe from Lockstorm closes, for whatever reason, it kills what it started and
//!   removes the run's directory.
//! - **Processes and containers differ below the keeper.** Requests (start, kill, shut down, pause, continue) and
//!   events (started, ended, paused, continued) are the same; above, only three things are told apart: containers have
//!   addresses of their own (`Ground`), a frozen one must also be silent to count as paused, and a killed one can't be
//!   reached where a process's port refuses. Containers are made as this user, with the run directory mounted at the
//!   same path, so that settings and files are the same, too. A cut takes a container out of its network; what it was
//!   in is noted first if somebody else has made it, so that whoever cleans up can put it back. They carry labels, and
//!   a run directory notes its engine before the first is made: that is how what a killed keeper left is found.
//! - **That a lab of containers is alive is said by a container of its own** (`docker/claim`), to everybody who reaches
//!   the engine: a directory that is not seen proves nothing, since others may have another file system there. Its
//!   process reads from the keeper's end of its stdin and ends with it. Nothing has to be renewed, so a keeper that is
//!   stopped, a machine that sleeps and clocks that differ change nothing; a keeper that is killed closes it whatever
//!   happens; and a keeper that loses its claim ends the lab. So a claim that runs means alive, one that has ended
//!   means over, one that was never started is removed in a way that the engine refuses once it runs (nothing else of
//!   the run is made before), and of containers without one nobody knows: only `lab down --force` removes those.
//! - **A stack is used as it stands.** The keeper finds its containers by label each time it starts one, since Compose
//!   may have made it anew, and tells where it listens; what the scenario wants is set on the running server
//!   (`topology/stack`) and written to its configuration file, so that it lasts through a restart. Who uses a stack is said
//!   by the claim of that run, of which the engine lets only one have its name. Only the run that has claimed a stack
//!   mends it.
//! - **Servers that are not ours are watched by the keeper,** because it outlives a Lockstorm that is killed: it asks
//!   them five times a second, tells what changes in the words of processes (down, silent, up; a new `run_id` is a
//!   restart), and removes the run's keys at the end. Nothing depends on that: every key has a TTL of 10 minutes at
//!   most. Passwords reach it by its pipe. What needs a process of theirs is refused where it is read
//!   (`Lack::OwnHosts`), by key, and by the lab. Over TLS a door of the proxy passes the bytes on, and the
//!   server proves its own name.
//! - **A kept lab is an ordinary lab whose owner waits.** `lab up` runs Lockstorm again in a session of its own; that
//!   process owns the lab as a run does, so its keeper cleans up after it too. Until the starter has heard that the lab
//!   is up and has said that it wants it, their pipe is its lifeline: a start that is interrupted leaves nothing. The
//!   socket is in the run directory, which only this user can enter, and is reached by descriptor, so that `TMPDIR` may
//!   be long. Such labs are started one at a time, by a lock on the directory above: there is only one, and `lab down`
//!   waits for one that is coming up. Whoever finds a socket at which nobody listens waits until the keeper has removed
//!   it.
//! - **A node's address is in one place**, a `watch` channel in `server/node`, since a node may come back at another port.
//!   Settings, proofs and the list for other programs are made from it; app servers and the proxy follow it.
//! - **The network is broken where it can be measured.** A proxy, on a thread of its own and only in runs with such a
//!   fault, delays bytes each way and keeps their order, or drops them. Nodes announce its doors as their own
//!   addresses, so everybody uses them, and replicas and Sentinels have source addresses by which it knows who calls.
//!   One function (`Network::state`) makes the state of a path from who, whom and the faults; another fault of the
//!   network is a field of that state. When one end dies, what is under way is dropped, because a dead machine resends
//!   nothing that the network has lost; a stream that has lost something is closed when it could be heard. An effect is
//!   what was measured on connections made as the nodes make theirs. A fault's parameters (`delay`, `direction`) are
//!   fields of its variant; `Fault::map_parameters` is the one place that names their keys, for the reader, the writer and the
//!   list of keys.
//! - **A failover by hand tells the Sentinels in their own way**, by a message with a newer epoch in the name of one
//!   that they know. Otherwise they go on to name the old master, and after some twenty seconds choose one themselves.
//!   A Sentinel that is given the master anew (`REMOVE`, `MONITOR`) forgets the nodes that are down, which then come
//!   back as masters for good, and its clients hear nothing (`topology/failover`). A fault on `primary` or `replicas` finds
//!   its targets when it starts (`Seats`, by the roles that nodes said last); what was hit is undone.
//! - **The lab trusts nobody else on the machine.** Its base directory is opened once, checked, and used by descriptor.
//!   A run directory's lock file is the first thing created in it and the last removed, so whoever obtains the lock has
//!   found a leftover. Nodes require a password that is kept in a file of mode 0600; before it is sent, the kernel is
//!   asked who is listening. The keeper adopts the orphaned children of its servers and ends them.
#![warn(missing_docs)]

mod actions;
mod awaited;
mod cli;
mod client;
mod directory;
#[cfg(feature = "docker")]
mod docker;
#[cfg(not(feature = "docker"))]
#[path = "no_docker.rs"]
mod docker;
pub mod doctor;
mod emit;
mod error;
mod faults;
mod findings;
mod guest;
mod imposed;
pub mod keeper;
pub mod kept;
mod lab;
mod network;
mod options;
mod preload;
mod protocol;
mod proxy;
mod running;
mod server;
mod start;
mod topology;

pub use self::cli::session::Cli;
pub use self::cli::writes::{ManualWrite, ManualWrites};
pub use self::directory::base_dir::check_temp_dir;
pub use self::directory::leftovers;
pub use self::directory::opened_run::OpenedRun;
pub use self::directory::run_dir::RunDir;
pub use self::directory::start_lock::StartLock;
pub use self::docker::stack_has_sentinels;
pub use self::error::LabError;
pub use self::guest::guests::{Guest, SOCKET};
pub use self::lab::Lab;
pub use self::options::LabOptions;
pub use self::running::Running;
pub use self::server::binary::ServerBinary;
pub use self::server::containers::Containers;
pub use self::server::node::last_lines;
pub use self::server::node_name::{NodeName, Role};
pub use self::server::probe_keys::Kept;
pub use self::server::programs::is_command;
pub use self::server::secret_url::secret_url;
pub use self::server::settings::{NodeSettings, TlsFiles};
pub use self::server::state::HostState;
pub use self::server::stats::NodeStats;
pub use self::server::version::{Flavour, Version};
pub use self::topology::replication::MASTER_NAME;
