use std::time::Duration;

use super::app_server::AppServer;
use super::belief::{Belief, Forgotten};
use super::claims::Claims;
use super::clock::Clock;
use super::connection::Connection;
use super::event::{Event, EventKind, Events};
use super::node::Node;
use super::order::Orders;
use super::random::Random;
use super::report::Report;
use super::samples::Samples;
use super::settings::{InvalidSettings, Settings};
use super::socket::{Socket, Stray};
use super::units::nanos;
use super::worker::Worker;
use crate::protocol::Time;

/// Nodes, app servers and workers in virtual time. The same settings and seed always give the same course of events.
#[derive(Debug)]
pub struct World {
    pub(super) settings: Settings,
    pub(super) random: Random,
    /// True time, in nanoseconds from the beginning.
    pub(super) now: u64,
    pub(super) events: Events,
    pub(super) nodes: Vec<Node>,
    pub(super) apps: Vec<AppServer>,
    /// The connections of the first app server to each node, then those of the second, and so on.
    pub(super) connections: Vec<Connection>,
    /// The sockets of these connections, in the same order; then the feeds, in that order too.
    pub(super) sockets: Vec<Socket>,
    /// The workers of the first app server, then those of the second, and so on.
    pub(super) workers: Vec<Worker>,
    /// Workers that run next, at the present time.
    pub(super) woken: Vec<usize>,
    pub(super) claims: Claims,
    pub(super) last_token: u64,
    pub(super) strays: Vec<Option<Stray>>,
    /// How many units each key has left; empty if there is always something to do.
    pub(super) stock: Vec<u64>,
    /// The holders' beliefs, by key.
    pub(super) beliefs: Vec<Vec<Belief>>,
    pub(super) forgotten: Vec<Forgotten>,
    pub(super) orders: Orders,
    /// Everything is healed and stays so.
    pub(super) calm: bool,
    /// The most by which timers are late, in nanoseconds.
    pub(super) lag: u64,
    /// What was drawn last for a command: by which app server it was sent, when, and how long it takes.
    drawn: Option<(usize, u64, u64)>,
    pub(super) report: Report,
    trace: Option<Vec<(Duration, String)>>,
    pub(super) samples: Samples,
    /// Whether samples of every section are kept.
    pub(super) keeps_samples: bool,
}

impl World {
    /// A world at its beginning.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn new(settings: Settings, seed: u64) -> Result<Self, InvalidSettings> {
        settings.check()?;
        let mut world = Self {
            random: Random::new(seed),
            now: 0,
            events: Events::new(nanos(settings.delay.usual.most())),
            nodes: Vec::new(),
            apps: Vec::new(),
            connections: Vec::new(),
            sockets: Vec::new(),
            workers: Vec::new(),
            woken: Vec::new(),
            claims: Claims::default(),
            last_token: 0,
            strays: Vec::new(),
            stock: Vec::new(),
            beliefs: vec![Vec::new(); settings.keys],
            forgotten: Vec::new(),
            orders: Orders::default(),
            calm: false,
            lag: nanos(settings.lag),
            drawn: None,
            report: Report::default(),
            trace: None,
            samples: Samples::default(),
            keeps_samples: false,
            settings,
        };
        world.populate();
        Ok(world)
    }

    fn populate(&mut self) {
        let Settings {
            nodes,
            app_servers,
            workers,
            keys,
            ..
        } = self.settings;
        for _ in 0..nodes {
            let clock = self.draw_clock();
            self.nodes.push(Node::new(clock, keys));
        }
        for app in 0..app_servers {
            let (clock, id) = (self.draw_clock(), self.random.next());
            self.apps.push(AppServer::new(clock, id));
            self.connections
                .extend((0..nodes).map(|_| Connection::new(self.settings.window)));
            self.workers.extend((0..workers).map(|_| Worker::new(app)));
        }
        let sockets = (0..app_servers).flat_map(|app| (0..nodes).map(move |node| Socket::new(app, node)));
        self.sockets = sockets.clone().chain(sockets).collect();
        for app in 0..app_servers {
            self.begin(app);
            self.plan_freeze(app, 0);
        }
        for which in 0..self.settings.faults.len() {
            self.plan_fault(which);
        }
    }

    /// Records important events from now on, for [`World::trace`]. This takes time and memory.
    pub fn keep_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// The recorded events with their true times; empty unless [`World::keep_trace`] was called.
    #[must_use]
    pub fn trace(&self) -> &[(Duration, String)] {
        self.trace.as_deref().unwrap_or_default()
    }

    /// Keeps [`Samples`] of every section from now on.
    pub const fn keep_samples(&mut self) {
        self.keeps_samples = true;
    }

    /// Gives each key so many units from now on. A section reads them when it begins and writes back one less at its end, whatever
    /// others wrote meanwhile. Whoever finds none is done at once, and does not count as a section.
    pub fn stock(&mut self, units: u64) {
        self.stock = vec![units; self.settings.keys];
    }

    /// Takes the samples that were kept since they were last taken: all takeovers, and the rest if [`World::keep_samples`] was
    /// called.
    pub fn take_samples(&mut self) -> Samples {
        std::mem::take(&mut self.samples)
    }

    /// The true time from the beginning until now.
    #[must_use]
    pub const fn now(&self) -> Duration {
        Duration::from_nanos(self.now)
    }

    /// Sections that have ended, which is also in the [report](World::report).
    #[must_use]
    pub const fn sections_ended(&self) -> u64 {
        self.report.sections
    }

    /// Events that have happened, which is also in the [report](World::report).
    #[must_use]
    pub const fn events_happened(&self) -> u64 {
        self.report.events
    }

    pub(super) fn note(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.trace.is_some() {
            let line = line(self);
            if let Some(trace) = &mut self.trace {
                trace.push((Duration::from_nanos(self.now), line));
            }
        }
    }

    /// Lets the next event happen. Returns false if none is planned.
    pub fn step(&mut self) -> bool {
        let next = self.events.next(u64::MAX);
        if let Some(event) = next {
            self.happen(event);
        }
        next.is_some()
    }

    /// Lets the next event happen if it comes by this true time, counted from the beginning. Returns false if none does; then it is
    /// that time, or later.
    pub fn step_until(&mut self, until: Duration) -> bool {
        let until = nanos(until);
        let next = self.events.next(until);
        match next {
            Some(event) => self.happen(event),
            None => self.now = self.now.max(until),
        }
        next.is_some()
    }

    /// Lets all events happen until a true time, counted from the beginning.
    pub fn run(&mut self, until: Duration) {
        self.run_until(nanos(until));
    }

    pub(super) fn run_until(&mut self, until: u64) {
        while let Some(event) = self.events.next(until) {
            self.happen(event);
        }
        self.now = self.now.max(until);
    }

    /// Runs the whole world: the busy time, and then the end (see [`World::finish`]).
    pub fn play(&mut self) -> Report {
        self.run(self.settings.busy);
        self.finish()
    }

    fn happen(&mut self, event: Event) {
        self.now = event.at;
        self.report.events += 1;
        self.report.fingerprint = (self.report.fingerprint ^ event.at).wrapping_mul(0x0100_0000_01b3);
        match event.kind {
            EventKind::Requests(s) => self.on_requests(s as usize),
            EventKind::Replies(s) => self.on_replies(s as usize),
            EventKind::Worker(w) => self.on_timer(w as usize),
            EventKind::Write(c) => self.on_write(c as usize),
            EventKind::Alarm(c) => self.on_alarm(c as usize),
            EventKind::Connect(s) => self.on_connect(s as usize),
            EventKind::Sweep(app) => self.on_sweep(app as usize),
            EventKind::Watch(app) => self.on_watch(app as usize),
            EventKind::Stray(number) => self.on_stray(number as usize),
            EventKind::Freeze(app) => self.on_freeze(app as usize),
            EventKind::Fault(which) => self.on_fault(which as usize),
            EventKind::Order(number) => self.on_order(number as usize),
            EventKind::Mend(mend) => self.mend(mend),
        }
        self.run_woken();
    }

    /// The time by the clock of an app server.
    pub(super) fn time(&self, app: usize) -> Time {
        self.apps[app].clock.at(self.now)
    }

    /// The connection of an app server to a node.
    pub(super) const fn connection(&self, app: usize, node: usize) -> usize {
        app * self.settings.nodes + node
    }

    /// The feed beside a connection.
    pub(super) const fn feed(&self, c: usize) -> usize {
        self.connections.len() + c
    }

    pub(super) const fn is_feed(&self, s: usize) -> bool {
        s >= self.connections.len()
    }

    /// The socket for locks and the feed of an app server to a node.
    pub(super) const fn sockets_between(&self, app: usize, node: usize) -> [usize; 2] {
        let c = self.connection(app, node);
        [c, self.feed(c)]
    }

    pub(super) fn draw_clock(&mut self) -> Clock {
        let most = u64::from(self.settings.drift_ppm);
        // Clocks are often as far apart as allowed.
        let ppm = match self.random.below(4) {
            0 => 0,
            1 => 2 * most,
            _ => self.random.below(2 * most + 1),
        };
        // Both values are 10,000 at most.
        let ppm = i32::try_from(ppm).unwrap_or(0) - i32::try_from(most).unwrap_or(0);
        // 2^50 ns are 13 days.
        Clock::new(self.random.below(1 << 50), ppm)
    }

    /// How late a timer, a task or a write of an app server is.
    pub(super) const fn draw_lag(&mut self) -> u64 {
        if self.lag == 0 {
            0
        } else {
            self.random.below(self.lag + 1)
        }
    }

    /// How long an answer takes.
    pub(super) fn draw_answer_delay(&mut self) -> u64 {
        if self.settings.delay.round_trips {
            return 0;
        }
        self.draw_delay()
    }

    /// How long a command takes that this app server sends now.
    pub(super) fn draw_command_delay(&mut self, app: usize) -> u64 {
        if !self.settings.delay.together {
            return self.draw_delay();
        }
        let now = self.now;
        match self.drawn {
            Some((sender, at, delay)) if (sender, at) == (app, now) => delay,
            _ => {
                let delay = self.draw_delay();
                self.drawn = Some((app, now, delay));
                delay
            }
        }
    }

    /// How long a message takes.
    pub(super) fn draw_delay(&mut self) -> u64 {
        let per_mille = self.settings.delay.long_per_mille;
        if per_mille > 0 && !self.calm && self.random.chance(per_mille) {
            self.random.within(self.settings.delay.long)
        } else {
            self.settings.delay.usual.draw(&mut self.random)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{MAX_NODES, Wait};
    use crate::simulation::report::Check;
    use crate::simulation::span::Span;

    /// A world without faults, in which every message takes 100 µs.
    fn quiet(nodes: usize, wait: Wait) -> Settings {
        let mut settings = Settings::drawn(0);
        settings.nodes = nodes;
        (settings.app_servers, settings.workers, settings.keys) = (2, 2, 1);
        settings.faults.clear();
        settings.wants.truncate(1);
        settings.wants[0].wait = wait;
        settings.wants[0].timeout = Duration::from_secs(1);
        settings.wants[0].rules.ttl = Duration::from_millis(100);
        settings.wants[0].rules.reply_timeout = Duration::from_millis(40);
        settings.wants[0].renew = None;
        settings.hold = Span::micros(1000, 1000).into();
        settings.think = Span::micros(100, 100);
        (settings.delay.usual, settings.delay.long_per_mille) = (Span::micros(100, 100).into(), 0);
        (settings.lag, settings.window, settings.give_up_per_mille) = (Duration::ZERO, 64, 0);
        settings.busy = Duration::from_millis(300);
        settings
    }

    #[test]
    fn many_nodes_behave_like_few() {
        for nodes in [1, 2, 5, 6, MAX_NODES] {
            let report = World::new(quiet(nodes, Wait::Queue), 1).unwrap().play();
            assert_eq!(report.violations, []);
            assert!(
                report.attempts.granted > 50 && report.heard > 0 && report.permits_passed_on > 0,
                "{nodes}: {report:?}"
            );
            assert_eq!((report.losses, report.suspicions), (0, 0));
        }
    }

    #[test]
    fn an_acquire_takes_a_round_trip_and_a_release_another() {
        let settings = Settings {
            app_servers: 1,
            workers: 1,
            drift_ppm: 0,
            ..quiet(3, Wait::FailFast)
        };
        let mut world = World::new(settings, 1).unwrap();
        world.run(Duration::from_millis(100));
        // A cycle is two round trips, the hold of 1 ms, and 100 µs to think; the single worker is alone.
        let report = world.report();
        assert!((66..=67).contains(&report.cycles), "{report:?}");
        assert_eq!(report.attempts.total(), report.attempts.granted);
        let mut again = World::new(quiet(3, Wait::FailFast), 1).unwrap();
        assert!(again.step() && again.report().events == 1);
        // Step by step it is the same course of events.
        let mut steps = World::new(quiet(3, Wait::FailFast), 1).unwrap();
        while steps.step_until(Duration::from_millis(100)) {}
        again.run(Duration::from_millis(100));
        assert_eq!(steps.report(), again.report());
        assert_eq!(steps.events_happened(), again.report().events);
    }

    #[test]
    fn a_key_that_is_sold_out_is_still_locked_but_has_no_sections() {
        let mut settings = quiet(3, Wait::Queue);
        settings.keys = 2;
        let mut world = World::new(settings, 1).unwrap();
        world.stock(5);
        let report = world.play();
        assert_eq!((report.violations, report.sections), (vec![], 10));
        assert!(report.attempts.granted > 50, "{:?}", report.attempts);
    }

    #[test]
    fn a_world_refuses_settings_out_of_range() {
        assert!(World::new(quiet(0, Wait::Queue), 1).is_err());
    }

    #[test]
    fn the_trace_records_what_happened_and_violations_say_where() {
        let mut world = World::new(quiet(3, Wait::Queue), 1).unwrap();
        assert!(world.trace().is_empty());
        world.keep_trace();
        world.run(Duration::from_millis(10));
        world.violate(Check::Overlap, Some(0), Some(1), || "an example".to_owned());
        let lines: Vec<_> = world.trace().iter().map(|(_, line)| line.as_str()).collect();
        assert!(lines.iter().any(|line| line.contains("is Granted with")));
        let said = "Overlap at 10ms, app server 1, key 0: an example";
        assert_eq!(lines.last(), Some(&format!("VIOLATION {said}").as_str()));
        assert_eq!(world.report().violations[0].to_string(), said);
    }
}
