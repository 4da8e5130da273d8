//! The kinds of fault: a row for each.

use super::condition::Condition;
use super::lack::Lack;
use super::target::TargetKind;

/// Everything about a kind of fault, except how it is carried out and verified, which is up to the owner of the target.
pub(super) struct Row {
    /// Its verb in three forms.
    pub verbs: [&'static str; 3],
    /// As something that happens to one target, and to several, before its parameters: `host 1 stalls for 2 s`; empty if that is said like
    /// what was done: `is paused`.
    pub happens: [&'static str; 2],
    /// The same of a host as something that has happened, in a run's story: `host 1 died`; empty if that is said like what was done.
    pub happened: &'static str,
    /// One capital letter on a time axis.
    pub mark: char,
    /// The kinds of target that it can hit, each with a further consequence in words.
    pub hits: &'static [(TargetKind, &'static str)],
    /// What it needs of a lab, on targets of this kind.
    pub needs: &'static [(TargetKind, Lack)],
    /// The condition that it brings, if its target is in another one afterwards.
    pub brings: Option<Condition>,
    /// How its target came into that condition; empty if there is one way only, or its parameters say it. Of a host that is degraded the
    /// console shows its first word: `OOM`.
    pub by: &'static str,
    /// Whether nodes that stay up may lose keys by it.
    pub loses_keys: bool,
    /// The conditions in which it would have no effect, so that they must be undone first.
    pub not_while: &'static [Condition],
    /// What it is done to in a kept lab, with its parameters as options, for example.
    pub examples: &'static [(TargetKind, &'static str)],
}

/// The conditions in which nobody can talk to a node.
const SILENT: &[Condition] = &[Condition::Down, Condition::Paused, Condition::Cut];

/// What most faults have in common: they are done to processes of ours on a host.
const ON_HOST: Row = Row {
    verbs: [""; 3],
    happens: [""; 2],
    happened: "",
    mark: ' ',
    hits: &[(TargetKind::Host, "")],
    needs: &[(TargetKind::Host, Lack::OwnHosts)],
    brings: None,
    by: "",
    loses_keys: false,
    not_while: &[],
    examples: &[(TargetKind::Host, "1")],
};

pub(super) const KILL: Row = Row {
    verbs: ["kill", "killing", "killed"],
    happens: ["dies", "die"],
    happened: "died",
    mark: 'K',
    hits: &[
        (TargetKind::Host, ""),
        (TargetKind::Server, "its locks on nodes keep their TTL"),
        (TargetKind::Client, "nobody renews its locks, and the work goes on"),
    ],
    brings: Some(Condition::Down),
    by: "killed",
    ..ON_HOST
};

pub(super) const SHUTDOWN: Row = Row {
    verbs: ["shut down", "shutting down", "shut down"],
    happened: "died",
    mark: 'S',
    brings: Some(Condition::Down),
    by: "shut down",
    // A server that can't save does not end.
    not_while: &[Condition::Paused, Condition::Degraded],
    ..ON_HOST
};

pub(super) const POWER_LOSS: Row = Row {
    verbs: ["power off", "powering off", "powered off"],
    happens: ["loses its power", "lose their power"],
    happened: "lost its power",
    mark: 'W',
    needs: &[(TargetKind::Host, Lack::OwnHosts), (TargetKind::Host, Lack::Preload)],
    brings: Some(Condition::Down),
    by: "powered off",
    // What is on its disk is settled.
    not_while: &[Condition::Down],
    ..ON_HOST
};

pub(super) const PAUSE: Row = Row {
    verbs: ["pause", "pausing", "paused"],
    mark: 'P',
    hits: &[
        (TargetKind::Host, ""),
        (TargetKind::Server, "its timers and renewals stand still"),
        (TargetKind::Client, "nobody renews its locks, and the work goes on"),
    ],
    brings: Some(Condition::Paused),
    not_while: &[Condition::Down],
    ..ON_HOST
};

pub(super) const LAG: Row = Row {
    verbs: ["lag", "lagging", "lagged"],
    mark: 'L',
    hits: &[(TargetKind::Host, ""), (TargetKind::Link, ""), (TargetKind::Route, "")],
    needs: &[
        (TargetKind::Host, Lack::Proxy),
        (TargetKind::Link, Lack::Replicas),
        (TargetKind::Link, Lack::Proxy),
        (TargetKind::Route, Lack::Proxy),
    ],
    brings: Some(Condition::Lagging),
    // Nobody could measure it.
    not_while: SILENT,
    examples: &[(TargetKind::Host, "1 --delay 50ms")],
    ..ON_HOST
};

pub(super) const CUT: Row = Row {
    verbs: ["cut", "cutting", "cut"],
    mark: 'C',
    hits: &[(TargetKind::Host, ""), (TargetKind::Link, ""), (TargetKind::Route, "")],
    needs: &[
        (TargetKind::Host, Lack::OwnHosts),
        (TargetKind::Host, Lack::Containers),
        (TargetKind::Link, Lack::Replicas),
        (TargetKind::Link, Lack::Proxy),
        (TargetKind::Route, Lack::Proxy),
    ],
    brings: Some(Condition::Cut),
    not_while: &[Condition::Down],
    examples: &[(TargetKind::Link, "link:1-2"), (TargetKind::Host, "1")],
    ..ON_HOST
};

pub(super) const CLOCK: Row = Row {
    verbs: ["skew", "skewing", "skewed"],
    mark: 'T',
    hits: &[(TargetKind::Host, ""), (TargetKind::Client, "")],
    needs: &[
        (TargetKind::Host, Lack::OwnHosts),
        (TargetKind::Host, Lack::Preload),
        (TargetKind::Client, Lack::Preload),
    ],
    brings: Some(Condition::Skewed),
    loses_keys: true,
    // Nobody could ask it for the time.
    not_while: SILENT,
    examples: &[(TargetKind::Host, "1 --ahead 2s"), (TargetKind::Host, "1 --rate 0")],
    ..ON_HOST
};

pub(super) const FAILOVER: Row = Row {
    verbs: ["fail over to", "failing over to", "failed over to"],
    mark: 'M',
    needs: &[(TargetKind::Host, Lack::OwnHosts), (TargetKind::Host, Lack::Replicas)],
    // That it has the master is no damage, and brings no condition.
    not_while: &[Condition::Down, Condition::Paused],
    examples: &[(TargetKind::Host, "2 --by hand")],
    ..ON_HOST
};

pub(super) const DISK_LOSS: Row = Row {
    verbs: ["destroy", "destroying", "destroyed"],
    happens: ["dies with its disk", "die with their disks"],
    happened: "died with its disk",
    mark: 'D',
    brings: Some(Condition::Down),
    by: "killed, its disk lost",
    not_while: &[Condition::Down],
    ..ON_HOST
};

pub(super) const FORGET: Row = Row {
    verbs: ["wipe", "wiping", "wiped"],
    happens: ["forgets", "forget"],
    mark: 'F',
    loses_keys: true,
    not_while: &[
        Condition::Down,
        Condition::Paused,
        Condition::Cut,
        // It may refuse to delete.
        Condition::Degraded,
    ],
    examples: &[(TargetKind::Host, "1"), (TargetKind::Host, "1 --every 10")],
    ..ON_HOST
};

pub(super) const EVICT: Row = Row {
    verbs: ["overfill", "overfilling", "overfilled"],
    happens: ["evicts keys", "evict keys"],
    happened: "evicted keys",
    mark: 'E',
    loses_keys: true,
    not_while: &[Condition::Down, Condition::Paused, Condition::Cut, Condition::Degraded],
    ..ON_HOST
};

pub(super) const FULL: Row = Row {
    verbs: ["fill", "filling", "filled"],
    happens: ["has no memory left", "have no memory left"],
    happened: "had no memory left",
    mark: 'O',
    brings: Some(Condition::Degraded),
    by: "OOM",
    not_while: SILENT,
    ..ON_HOST
};

pub(super) const MISCONF: Row = Row {
    verbs: ["misconfigure", "misconfiguring", "misconfigured"],
    happens: ["can't save", "can't save"],
    happened: "could not save",
    mark: 'X',
    brings: Some(Condition::Degraded),
    by: "MISCONF",
    not_while: SILENT,
    ..ON_HOST
};

pub(super) const STALL: Row = Row {
    verbs: ["stall", "stalling", "stalled"],
    happens: ["stalls", "stall"],
    mark: 'H',
    not_while: SILENT,
    examples: &[(TargetKind::Host, "1 --length 2s")],
    ..ON_HOST
};

pub(super) const RESET: Row = Row {
    verbs: ["disconnect", "disconnecting", "disconnected"],
    happens: ["closes its connections", "close their connections"],
    happened: "closed its connections",
    mark: 'Z',
    not_while: SILENT,
    ..ON_HOST
};

pub(super) const REFUSE: Row = Row {
    verbs: ["close", "closing", "closed"],
    mark: 'N',
    needs: &[(TargetKind::Host, Lack::OwnHosts), (TargetKind::Host, Lack::Proxy)],
    brings: Some(Condition::Degraded),
    by: "refuses connections",
    not_while: SILENT,
    ..ON_HOST
};

pub(super) const SLOW_LINK: Row = Row {
    verbs: ["slow", "slowing", "slowed"],
    mark: 'V',
    needs: &[(TargetKind::Host, Lack::Proxy)],
    brings: Some(Condition::Lagging),
    not_while: SILENT,
    examples: &[(TargetKind::Host, "1 --speed 10000")],
    ..ON_HOST
};
