//! The table of figures: one row for each figure that conditions, expectations, tables and docs/figures.md name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::counts::Count;
use super::figures::Figures;
use super::group::Group;
use super::histogram::{Quantile, Quantiles};
use super::ledger::Entry;
use super::sums::Time;
use super::units::{count, mean, micros, rate, rounded};

/// Everything about a figure.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its title in every table and column.
    pub title: &'static str,
    /// How it is read.
    pub value: Value,
    /// Which arms have it.
    pub group: Group,
    /// What it means if it is not zero.
    pub alarm: Alarm,
    /// Its description, for the table of docs/figures.md. Neighbours with the same description share a line there.
    pub meaning: &'static str,
}

/// How a figure is read.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// A plain count.
    Counted(Count),
    /// A number that the ledger shows.
    Booked(Entry),
    /// Another number that only grows.
    Number(fn(&Figures) -> u64),
    /// A number that may fall.
    Level(fn(&Figures) -> u64),
    /// The mean of some values, and their number: without any there is no mean.
    Mean(fn(&Figures) -> f64, fn(&Figures) -> u64),
    /// The largest of some values, and their number.
    Largest(fn(&Figures) -> u64, fn(&Figures) -> u64),
    /// Per second.
    PerSecond(fn(&Figures) -> f64),
    /// A quantile of a distribution of durations.
    Duration(fn(&Figures) -> Quantiles, Quantile),
    /// When something happened first, in microseconds since second 0; it may not have happened.
    Moment(fn(&Figures) -> Option<i64>),
}

/// How a figure is written and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Count,
    /// A duration; held in microseconds.
    Micros,
    /// Per second.
    PerSecond,
}

/// What it means if a figure is not zero.
#[derive(Debug, Clone, Copy)]
pub enum Alarm {
    /// Nothing by itself.
    Plain,
    /// Something was refused, or is not as it should be.
    Doubt,
    /// A value above this is not what one wants, but not damage.
    Poor(f64),
    /// An invariant was broken.
    Damage(Evidence),
}

/// When a zero means that there is no damage: only once there could have been some.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// Whether the damage is measurable by now.
    pub shows: fn(&Figures) -> bool,
    /// The condition for that, after "not measurable until".
    pub until: &'static str,
    /// The damage that shows earlier, if this one shows later.
    pub before: Option<Metric>,
}

use Alarm::{Damage, Doubt, Plain, Poor};
use Group::{
    CacheFill, Clients, Inventory, Job, Leases, Load, LockNodes, Locks, Losses, Masters, Now, OpenLoop, Pages, Payment,
    Reported, Servers,
};
use Quantile::{Max, P50, P90, P99, P999};
use Value::{Booked, Counted, Duration, Largest, Level, Mean, Moment, Number, PerSecond};

const ACQUIRE: &str = "time of one acquire, waiting included, whatever its outcome";
const PIPE: &str = "time of one acquire of a client that does nothing, asked some ninety times a second meanwhile: what of the \
                    client's own times is the pipe's and this machine's";
const RESPONSE: &str = "time of a request from its *intended* start: in an open loop (`rate`) work that begins late \
                        counts its delay";
const SERVICE: &str = "time of a request from its actual start";
const LAG: &str = "how much of the delay was the load generator's own";
const HOLD: &str = "of `sections`: time from an acquire to its release: reading, the hold, writing";
const TAKEOVER: &str = "time from the verified death of an app server until a lock that it held was granted again, to \
                        anybody. A lock that nobody asked for after that gives no value, and one that was asked for \
                        late measures the demand, not the TTL";
/// Of damage that no other damage shows earlier.
const fn evidence(shows: fn(&Figures) -> bool, until: &'static str) -> Evidence {
    Evidence {
        shows,
        until,
        before: None,
    }
}

const IN_STOCKS: Evidence = evidence(
    |f| f.booked(Entry::Orders) > 0 && f.was_contested(),
    "two orders meet at one lock",
);
const BEYOND_STOCKS: Evidence = Evidence {
    shows: |f| f.sold_out_all && f.was_contested(),
    until: "sold out under contention",
    before: Some(Metric::LostUpdates),
};
const IN_TICKS: Evidence = evidence(
    |f| f.booked(Entry::Runs) > 0 && f.was_contested(),
    "two runs meet at one lock",
);
const IN_PAYMENTS: Evidence = evidence(
    |f| f.booked(Entry::Payments) > 0 && f.was_contested(),
    "two payments meet at one lock",
);
const OVERLAP: &str = "of the `double_holds` that are over: how long both holders had reason to rely on the lock";
const IN_HOLDS: Evidence = evidence(
    |f| f.outcomes.acquired > 0 && f.was_contested(),
    "two clients want one lock at once",
);
const IN_SECTIONS: Evidence = evidence(Figures::was_contested, "two clients want one lock at once");
const OF_SECTIONS: Evidence = evidence(|f| f.sections() > 0, "a section has had work");
const OF_LOCKS: Evidence = evidence(|f| f.outcomes.acquired > 0, "a lock is acquired");
const IN_JUDGED_HOLDS: Evidence = evidence(
    |f| f.outcomes.acquired > 0 && f.was_contested() && f.unjudged == 0,
    "two clients want one lock at once, and it is known of every double hold what its lock had lost",
);
const IN_LISTS: Evidence = evidence(
    |f| f.counts[Count::Hits] > 0 && f.was_contested(),
    "the first hit under contention",
);
const OF_EXPIRIES: Evidence = evidence(
    |f| f.db_hits_per_expiry.expiries > 0 && f.was_contested(),
    "a value expires while two clients want it",
);

/// Makes the figures from their rows: name, title, value, group, alarm, meaning.
macro_rules! metrics {
    ($($name:ident = $title:expr, $value:expr, $group:expr, $alarm:expr, $meaning:expr;)*) => {
        /// A figure of an arm. Its name in files is the variant in snake case; everything else about it is in its
        /// [`row`](Self::row).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, VariantArray, IntoStaticStr)]
        #[serde(rename_all = "snake_case")]
        #[strum(serialize_all = "snake_case")]
        #[expect(missing_docs, reason = "see `row`")]
        pub enum Metric { $($name,)* }

        impl Metric {
            /// Its row.
            pub const fn row(self) -> Row {
                match self {
                    $(Self::$name => Row {
                        title: $title,
                        value: $value,
                        group: $group,
                        alarm: $alarm,
                        meaning: $meaning,
                    },)*
                }
            }
        }
    };
}

metrics! {
    Acquired = "acquired", Number(|f| f.outcomes.acquired), Locks, Plain, "acquires that were granted";
    Contended = "contended", Number(|f| f.outcomes.contended), Locks, Plain,
        "acquires that were refused because somebody else holds the lock";
    NoQuorum = "no quorum", Number(|f| f.outcomes.no_quorum), Servers, Doubt,
        "acquires that were refused because too few nodes could be asked, or the one server that grants the lock could not";
    Expired = "expired", Number(|f| f.outcomes.expired), LockNodes, Doubt,
        "acquires whose votes came when no validity was left";
    Unknown = "unknown", Number(|f| f.outcomes.unknown), Losses, Doubt,
        "acquires whose outcome is not known, because servers that could have granted the lock did not answer in time. A timeout is unknown, never \"failed\"";
    AcquireP50 = "acquire p50", Duration(|f| f.acquire_us, P50), Locks, Plain, ACQUIRE;
    AcquireP90 = "acquire p90", Duration(|f| f.acquire_us, P90), Locks, Plain, ACQUIRE;
    AcquireP99 = "acquire p99", Duration(|f| f.acquire_us, P99), Locks, Plain, ACQUIRE;
    AcquireP999 = "acquire p99.9", Duration(|f| f.acquire_us, P999), Locks, Plain, ACQUIRE;
    AcquireMax = "acquire max", Duration(|f| f.acquire_us, Max), Locks, Plain, ACQUIRE;
    PipeP50 = "pipe p50", Duration(|f| f.pipe_us, P50), Clients, Plain, PIPE;
    PipeP99 = "pipe p99", Duration(|f| f.pipe_us, P99), Clients, Plain, PIPE;
    ContendedP99 = "contended p99", Duration(|f| f.times[Time::Contended], P99), Locks, Plain,
        "time of the acquires that were refused because somebody else holds the lock";
    NoQuorumP99 = "no quorum p99", Duration(|f| f.times[Time::NoQuorum], P99), Servers, Plain,
        "time of the acquires that were refused because too few nodes could be asked";
    Attempts = "attempts", Number(|f| f.attempts), LockNodes, Plain,
        "attempts that the acquires took; the record and the summary list the commands that each node was sent";
    RefusedSeconds = "seconds refused", Number(|f| f.refused_seconds), Servers, Doubt,
        "whole seconds in which acquires were refused for lack of nodes and none was granted: how long the lock was not available. An acquire that waits is refused only when it gives up";
    Contested = "contested", Number(|f| f.contested), Locks, Plain,
        "how often a client met another one that held the lock: attempts of the engine's locks that were refused because of that, and requests that had waited for it when they were granted. Without any, nothing could show that a lock fails. Of reported events: how many locks were acquired by more than one client";
    UnavailableMs = "unavailable ms", Largest(|f| f.longest_outage().lasted_us / 1000, Figures::outages_known), Losses, Plain,
        "the longest time, in milliseconds, in which a lock had no holder, at least one client asked for it, and every request was refused or still waited for its answer: from the first of these requests until the lock was granted, or refused for the last time. A grant that takes long counts, too. It is as fine as the load, and times below 10 ms, those of hand-overs, count as 0. Of reported events: the longest time until somebody got a lock in which clients waited for it and nobody held it";
    AllUnavailableMs = "all unavailable ms", Largest(|f| f.outages.iter().map(|one| one.all_us).max().unwrap_or(0) / 1000, Figures::outages_known), Servers, Plain,
        "the longest time, in milliseconds, in which this was so of all locks of the arm: none had a holder, at least one was asked for, and every request was refused";
    UnavailableLocks = "unavailable locks", Largest(|f| f.outages.iter().map(|one| one.locks).max().unwrap_or(0), Figures::outages_known), Servers, Plain,
        "how many locks were refused although they had no holder, by the cause for which these are the most";
    RefusedWhileFree = "refused while free", Number(|f| f.outages.iter().map(|one| one.refusals).sum()), Servers, Plain,
        "how often a lock was refused although it had no holder, in times of 10 ms or more: attempts of the engine's locks, requests of other clients";
    Stuck = "stuck", Largest(|f| f.stuck.unwrap_or(0), |f| u64::from(f.stuck.is_some())), LockNodes, Doubt,
        "keys that nobody held at the end and that could still not be locked within the longest TTL + 1 s; up to 1,000 are tried, if all hosts are up and no link is broken";
    GrantedByOldMaster = "granted by old master", Largest(|f| f.granted_by_old_master, |f| f.new_masters), Masters, Doubt,
        "locks that were asked for after a new master had accepted a write, and that an old one granted";
    LostAtFailover = "lost at failover", Largest(|f| f.lost_at_failover, |f| f.new_masters), Masters, Doubt,
        "locks that were held and still valid when a new master accepted its first write, and that it did not have";
    Orphaned = "orphaned", Number(|f| f.orphaned), Servers, Plain,
        "valid locks that workers of an app server held when it was killed";
    Takeovers = "takeovers", Number(|f| f.times[Time::Takeover].count), Servers, Plain,
        "how many of the `orphaned` locks were granted again";
    TakeoverP50 = "takeover p50", Duration(|f| f.times[Time::Takeover], P50), Servers, Plain, TAKEOVER;
    TakeoverP99 = "takeover p99", Duration(|f| f.times[Time::Takeover], P99), Servers, Plain, TAKEOVER;
    TakeoverMax = "takeover max", Duration(|f| f.times[Time::Takeover], Max), Servers, Plain, TAKEOVER;
    Sections = "sections", Number(Figures::sections), Locks, Plain,
        "sections that had work: they found something to do (a unit to sell, a value to fill), and the end of the run did not cut them off. Whoever finds the stock sold out, or the value there, is done at once, whatever the TTL";
    CutOff = "cut off", Counted(Count::CutOff), Locks, Plain,
        "sections whose work the end of the run cut off, because it was stopped. They are in none of the other figures of sections, and none has done any damage";
    HoldP50 = "hold p50", Duration(|f| f.times[Time::Hold], P50), Locks, Plain, HOLD;
    HoldP99 = "hold p99", Duration(|f| f.times[Time::Hold], P99), Locks, Plain, HOLD;
    LocksLost = "locks lost", Counted(Count::LocksLost), Losses, Doubt,
        "locks lost while they were held, as the lock told its holder";
    Overran = "overran", Counted(Count::Overran), Leases, Doubt,
        "those of the `sections` that outlasted the validity of their lock";
    LateWrites = "late writes", Counted(Count::LateWrites), Leases, Doubt,
        "those of the `sections` that sent their write after the validity of their lock had ended, and were not refused: a lock can't prevent that, a fence can";
    BareQuorums = "bare quorums", Counted(Count::BareQuorums), LockNodes, Plain,
        "released locks that had no more votes than a quorum needs, once all nodes had answered or had had their time to: the loss of one vote would have opened them";
    Stalled = "stalled", Counted(Count::Stalled), LockNodes, Doubt,
        "sections, with work or without, that outlasted their lock and would not have if this machine had let their app server run: the damage that they do is not the lock's";
    DoubleHolds = "double holds", Number(|f| f.double_holds), Locks, Damage(IN_HOLDS),
        "how often somebody came to hold a lock while another holder still had reason to rely on it: until the end of its section, the end of the validity that the lock handed out, or the loss that it told of, whichever came first. It did not keep others out, whether or not that did damage; `expired_holds` and `deleted` say of how many the lock is not to blame";
    DoubleUses = "double uses", Number(|f| f.double_uses), Load, Doubt,
        "how often a section began while another one of the same lock had not ended, whatever its holder had reason to believe: a pause, work beyond the TTL, or work that proceeds without the lock. Arms without a lock show here what a lock would have to prevent";
    FirstDoubleHold = "first double hold", Moment(|f| f.first_double_hold_us), Locks, Plain,
        "time from second 0 to the first of the `double_holds`";
    OverlapP50 = "overlap p50", Duration(|f| f.times[Time::Overlap], P50), Locks, Plain, OVERLAP;
    OverlapMax = "overlap max", Duration(|f| f.times[Time::Overlap], Max), Locks, Plain, OVERLAP;
    LawViolations = "law violations", Number(|f| f.law_violations), LockNodes, Damage(IN_JUDGED_HOLDS),
        "those of the `double_holds` that nothing explains: a quorum of nodes should have kept the key of the first holder. Nodes that came back, or became masters, are asked which keys they have lost";
    Unjudged = "unjudged", Number(|f| f.unjudged), LockNodes, Doubt,
        "those of the `double_holds` of which nobody knows what their lock had lost: a node did not answer, or the holder had left when it was asked";
    ExpiredHolds = "expired holds", Number(|f| f.expired_holds), LockNodes, Doubt,
        "those of the `double_holds` in which the TTL of the first holder, from its acquire or its last extension, was over when the second acquired the lock: its client does not tell until when a lock is valid. The lock did what it promises. Up to a twentieth of the TTL earlier counts, too: that may be a late reply";
    Deleted = "deleted", Number(|f| f.deleted), LockNodes, Doubt,
        "those of the `double_holds` in which the key of the first holder had been deleted from outside: a node of this lab had run FLUSHALL, FLUSHDB or SWAPDB, which no lock of this program sends. The lock is not to blame";
    Covered = "covered", Number(|f| f.covered), LockNodes, Plain,
        "held locks that lost votes in a fault and still had enough to keep others out: how often the law could have been broken";
    ZombieKeys = "zombie keys", Largest(|f| f.zombie_keys.unwrap_or(0), |f| u64::from(f.zombie_keys.is_some())), LockNodes, Doubt,
        "keys that lock nodes had of locks that nobody held, found by two looks a second apart: left by a killed app server, by a release that did not arrive, or by a `SET` that a node ran after its client had given it up. Each attempt to lock counts once, however many nodes have its key. Until its TTL has passed, such a key takes the node's vote from others. Of another program's locks they are found if it keeps the lock's name as its key; otherwise, with a TTL of 1 s or less, and on servers that are not ours, they are not known";
    Aborted = "aborted", Counted(Count::Aborted), Servers, Doubt,
        "requests that were dropped because the holder heard in time that its lock was lost (`on_loss = \"abort\"`)";
    Offered = "offered", Number(|f| f.offered), Load, Plain,
        "requests that were due (`rate`) or begun: the sum of `completed`, `dropped`, `unfinished` and `never_begun`";
    Begun = "begun", Counted(Count::Begun), Load, Plain, "requests that a worker began";
    Completed = "completed", Counted(Count::Completed), Load, Plain, "requests that ended, with or without an answer";
    Dropped = "dropped", Number(|f| f.dropped), Load, Doubt,
        "requests that were queued or under way on an app server that was killed, or due when none was left";
    Unfinished = "unfinished", Level(|f| f.unfinished), Load, Doubt, "requests that were begun and have not ended";
    NeverBegun = "never begun", Level(|f| f.never_begun), Load, Doubt,
        "requests that wait for a free worker; at the end those that never had one";
    Answered = "answered", Number(|f| f.answered), Load, Plain,
        "requests that ended with an answer: no error, nothing given up, aborted or fenced";
    Throughput = "ok/s", PerSecond(|f| f.throughput), Load, Plain,
        "`answered` a second, until the arm's own finish or else until the load ended";
    SoldPerSecond = "sold/s", PerSecond(|f| share(f, f.booked(Entry::Orders))), Inventory, Plain,
        "the part of `throughput` that sold something";
    SoldOutPerSecond = "sold out/s", PerSecond(|f| share(f, f.counts[Count::SoldOut])), Inventory, Plain,
        "the part of `throughput` that found its product sold out, which is quick: an arm that sells out early has more of them";
    Late = "late", Counted(Count::Late), OpenLoop, Plain, "requests that began more than 10 ms after they were due";
    ResponseP50 = "response p50", Duration(|f| f.times[Time::Response], P50), Load, Plain, RESPONSE;
    ResponseP90 = "response p90", Duration(|f| f.times[Time::Response], P90), Load, Plain, RESPONSE;
    ResponseP99 = "response p99", Duration(|f| f.times[Time::Response], P99), Load, Plain, RESPONSE;
    ResponseP999 = "response p99.9", Duration(|f| f.times[Time::Response], P999), Load, Plain, RESPONSE;
    ResponseMax = "response max", Duration(|f| f.times[Time::Response], Max), Load, Plain, RESPONSE;
    ServiceP50 = "service p50", Duration(|f| f.times[Time::Service], P50), Load, Plain, SERVICE;
    ServiceP99 = "service p99", Duration(|f| f.times[Time::Service], P99), Load, Plain, SERVICE;
    LagP50 = "lag p50", Duration(|f| f.times[Time::Lag], P50), Load, Plain, LAG;
    LagP99 = "lag p99", Duration(|f| f.times[Time::Lag], P99), Load, Plain, LAG;
    GaveUp = "gave up", Counted(Count::GaveUp), Load, Plain,
        "requests that ended without an answer because they did not get the lock";
    Errors = "errors", Counted(Count::Errors), Load, Doubt, "requests that failed in the database or the cache";
    Orders = "orders", Booked(Entry::Orders), Inventory, Plain, "orders in the ledger";
    SoldOut = "sold out", Counted(Count::SoldOut), Inventory, Plain, "requests that found their product sold out";
    Oversold = "oversold", Booked(Entry::Oversold), Inventory, Damage(BEYOND_STOCKS),
        "orders beyond the initial stock of their product; measurable in full only once the stock is sold out";
    LostUpdates = "lost updates", Booked(Entry::LostUpdates), Inventory, Damage(IN_STOCKS),
        "sales whose write another one overwrote, less those that a later one happened to make up for: orders + units left \
         − initial units. The first sign of a broken lock";
    LostUpdatesPeak = "lost updates peak", Number(|f| f.booked(Entry::LostUpdatesPeak)), Inventory, Damage(IN_STOCKS),
        "the largest value of `lost_updates` at any time; upper bounds on `lost_updates` are checked against it";
    Fenced = "fenced", Counted(Count::Fenced), Inventory, Doubt,
        "requests that the stock refused because it had seen a newer token (`fence`)";
    Runs = "runs", Booked(Entry::Runs), Job, Plain, "runs in the ledger";
    AlreadyRun = "already run", Counted(Count::SoldOut), Job, Plain,
        "requests that found under their lock that their tick had run";
    RunAgain = "run again", Booked(Entry::RunAgain), Job, Damage(IN_TICKS),
        "runs beyond the first of their tick";
    Missed = "missed", Level(|f| f.booked(Entry::Missed)), Job, Doubt,
        "ticks that nobody has run although a worker began them, or no app server was left when they were due; while a run goes on, those that nobody has run yet. What no worker could begin before the end counts as `never_begun`";
    Payments = "payments", Booked(Entry::Payments), Payment, Plain, "payments in the ledger";
    NoMoney = "no money", Counted(Count::SoldOut), Payment, Plain, "requests that found nothing left on the payer's account";
    MoneyMade = "money made", Booked(Entry::MoneyMade), Payment, Damage(IN_PAYMENTS),
        "money that came from nowhere: by how much the balances that were written exceed the balance before, changed by the payment. With \
         `money_lost`: the money on all accounts = that at the start of the measured part + made − lost";
    Unanswered = "unanswered %", Mean(|f| 100.0 * (1.0 - f.answered as f64 / f.offered.max(1) as f64), |f| f.offered), Payment, Poor(50.0),
        "the share of the payments that were due or begun and have had no answer, in percent: above one half the accounts are at a standstill";
    MoneyLost = "money lost", Booked(Entry::MoneyLost), Payment, Damage(IN_PAYMENTS),
        "money that is gone: by how much the balances that were written fall short of the balance before, changed by the payment";
    Unguarded = "unguarded", Largest(|f| f.unguarded.unwrap_or(0), |f| u64::from(f.unguarded.is_some())), Reported, Damage(IN_HOLDS),
        "what the lock is there to prevent: `double_uses`, `late_writes` and sections that `overran`, together. Without a report of what clients did inside the lock it is not known";
    Hits = "hits", Counted(Count::Hits), CacheFill, Plain, "reads that were served fresh from the cache";
    StaleReads = "stale reads", Counted(Count::StaleReads), CacheFill, Plain,
        "reads that were served old data while somebody else fills";
    DbHits = "db hits", Counted(Count::DbHits), CacheFill, Plain,
        "calls of the provider: the database behind the cache";
    Expiries = "expiries", Number(|f| f.db_hits_per_expiry.expiries), CacheFill, Plain,
        "versions of a value that were superseded; in a paged list each page is a value of its own. Cold starts are not counted, nor stampedes that were cut in two by the start or the end of the measured part";
    DbHitsPerExpiry = "db hits/expiry", Mean(|f| f.db_hits_per_expiry.mean, |f| f.db_hits_per_expiry.expiries), CacheFill, Poor(1.05),
        "calls of the database for each value that expired (1 is perfect); see `expiries`";
    DbHitsPerExpiryMax = "db hits/expiry max", Largest(|f| f.db_hits_per_expiry.max, |f| f.db_hits_per_expiry.expiries), CacheFill, Plain,
        "the largest number of calls for one of them";
    DuplicateFills = "duplicate fills", Number(|f| f.db_hits_per_expiry.beyond_one()), CacheFill, Plain,
        "calls of the provider beyond one for each of the `expiries`: values that were computed although somebody had done that, or was about to";
    DuplicatePages = "duplicate pages", Number(|f| f.duplicate_pages), Pages, Damage(IN_LISTS),
        "pages that are in a list twice although it claims to be complete; each filling of a list is counted once";
    MissingPages = "missing pages", Number(|f| f.missing_pages), Pages, Damage(IN_LISTS),
        "pages that are missing in such lists";
    Holding = "holding", Level(|f| f.holding), Now, Plain, "locks held now, for the `when` of a fault";
    Partial = "partial", Level(|f| f.partial), Now, Plain,
        "locks held now with fewer votes than there are nodes, for the `when` of a fault";
}

impl Metric {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Its title in every table and column.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// What it is called where it is counted by the second: what was made up for later counts there too.
    pub const fn title_by_second(self) -> &'static str {
        match self {
            Self::LostUpdates => "sales overwritten",
            other => other.title(),
        }
    }

    /// What it counts, in a few words: its description as far as the first colon, semicolon or sentence.
    pub fn in_short(self) -> &'static str {
        let meaning = self.row().meaning;
        meaning.split_once([':', ';', '.']).map_or(meaning, |(first, _)| first)
    }

    /// The unit that its bounds are written in.
    pub const fn unit(self) -> Unit {
        match self.row().value {
            Value::PerSecond(_) => Unit::PerSecond,
            Value::Duration(..) | Value::Moment(_) => Unit::Micros,
            _ => Unit::Count,
        }
    }

    /// Whether a value above zero is damage.
    pub const fn is_damage(self) -> bool {
        matches!(self.row().alarm, Alarm::Damage(_))
    }

    /// Whether more of it is worse, and a fault of the lab can only add to it. Progress, like orders or sections, is none of that.
    pub const fn is_cost(self) -> bool {
        let row = self.row();
        !matches!(row.alarm, Alarm::Plain)
            || matches!(row.value, Value::Duration(..))
            || self.is_outage()
            || matches!(
                self,
                Self::GaveUp | Self::Late | Self::StaleReads | Self::DuplicateFills | Self::DbHitsPerExpiryMax
            )
    }

    /// Whether it is a time, or counts what was late.
    pub const fn is_time(self) -> bool {
        let is_time = matches!(self.unit(), Unit::Micros);
        is_time || matches!(self, Self::UnavailableMs | Self::AllUnavailableMs | Self::Late)
    }

    /// Whether it says how a lock was refused because nodes were missing.
    pub const fn is_outage(self) -> bool {
        matches!(
            self,
            Self::UnavailableMs
                | Self::AllUnavailableMs
                | Self::UnavailableLocks
                | Self::RefusedWhileFree
                | Self::RefusedSeconds
                | Self::NoQuorum
                | Self::Unknown
        )
    }

    /// When a zero of it means that there is none; `None` if it always does.
    pub const fn evidence(self) -> Option<Evidence> {
        match (self, self.row().alarm) {
            (_, Alarm::Damage(evidence)) => Some(evidence),
            // What proceeds without the lock has acquired nothing, and is inside all the same.
            (Self::DoubleUses, _) => Some(IN_SECTIONS),
            (Self::Overran | Self::LateWrites, _) => Some(OF_SECTIONS),
            (Self::LocksLost, _) => Some(OF_LOCKS),
            (Self::DuplicateFills | Self::DbHitsPerExpiry | Self::DbHitsPerExpiryMax, _) => Some(OF_EXPIRIES),
            _ => None,
        }
    }

    /// The share of requests whose times lie beyond it, if it is a quantile of the times of requests that have ended.
    pub const fn share_beyond(self) -> Option<f64> {
        Some(match self {
            Self::AcquireP50 | Self::ResponseP50 | Self::ServiceP50 => 0.5,
            Self::AcquireP90 | Self::ResponseP90 => 0.1,
            Self::AcquireP99 | Self::ResponseP99 | Self::ServiceP99 => 0.01,
            Self::AcquireP999 | Self::ResponseP999 => 0.001,
            Self::AcquireMax | Self::ResponseMax => 0.0,
            _ => return None,
        })
    }

    /// Whether it is damage and was ever above zero: proven damage stays proven, even if its count falls.
    pub fn is_proven(self, figures: &Figures) -> bool {
        self.is_damage() && (self.of(figures) > 0.0 || self.peak().of(figures) > 0.0)
    }

    /// Whether it is a count or a rate, and was never above zero. A mean or a time of zero was measured.
    pub fn is_zero(self, figures: &Figures) -> bool {
        match self.row().value {
            Value::Mean(..) | Value::Duration(..) | Value::Moment(_) => false,
            _ => self.of(figures) <= 0.0 && self.peak().of(figures) <= 0.0,
        }
    }

    /// The damage that is proven.
    pub fn proven(figures: &Figures) -> impl Iterator<Item = Self> {
        Self::VARIANTS
            .iter()
            .copied()
            .filter(|metric| metric.is_proven(figures))
    }

    /// The metric for the largest value that this one ever had; itself if there is none.
    #[must_use]
    pub const fn peak(self) -> Self {
        match self {
            Self::LostUpdates => Self::LostUpdatesPeak,
            other => other,
        }
    }

    /// How much of it at most comes from stalls of this machine: from sections that it held up until their lock had expired.
    pub fn by_stalls(self, figures: &Figures) -> f64 {
        let stalled = figures.counts[Count::Stalled];
        let explained = match self {
            // One for each such section.
            Self::Overran | Self::LocksLost | Self::LateWrites | Self::Aborted | Self::Fenced | Self::Stalled => {
                stalled
            }
            Self::DoubleUses => figures.double_uses_by_stalls,
            Self::DuplicatePages => figures.duplicate_by_stalls,
            Self::MissingPages => figures.missing_by_stalls,
            _ if self.is_damage() && matches!(self.row().group, Inventory | Job | Payment) => figures.lost_by_stalls,
            _ => 0,
        };
        (explained as f64).min(self.of(figures)).max(0.0)
    }

    /// The figure to show where there is room for one, if this one is expected to have some value; `None` if it is not a
    /// verdict.
    pub const fn headline(self) -> Option<Self> {
        match (self, self.row().alarm) {
            (Self::LostUpdatesPeak, _) => Some(Self::LostUpdates),
            (Self::DbHitsPerExpiryMax, _) => Some(Self::DbHitsPerExpiry),
            (Self::NoQuorum | Self::RefusedSeconds, _) => Some(Self::RefusedSeconds),
            (_, Alarm::Poor(_) | Alarm::Damage(_)) => Some(self),
            (_, Alarm::Plain | Alarm::Doubt) => None,
        }
    }

    /// This damage or the one that shows earlier, whichever says more about an arm. What can't show yet says less than
    /// what can, and a zero never hides damage.
    #[must_use]
    pub fn telling(self, figures: &Figures) -> Self {
        let Alarm::Damage(Evidence {
            shows,
            before: Some(before),
            ..
        }) = self.row().alarm
        else {
            return self;
        };
        let (proven, shows, other) = (self.is_proven(figures), shows(figures), before.is_proven(figures));
        let tells = if other { proven && shows } else { proven || shows };
        if tells { self } else { before }
    }

    /// Whether it can fall during a run. The others are counts and largest values.
    pub const fn can_fall(self) -> bool {
        match self.row().value {
            Value::Booked(entry) => entry.peak().is_some(),
            Value::Counted(_) | Value::Number(_) | Value::Largest(..) | Value::Duration(_, Quantile::Max) => false,
            Value::Level(_) | Value::Mean(..) | Value::PerSecond(_) | Value::Duration(..) | Value::Moment(_) => true,
        }
    }

    /// Its value; durations in microseconds.
    pub fn of(self, figures: &Figures) -> f64 {
        match self.row().value {
            Value::Counted(count) => figures.counts[count] as f64,
            Value::Booked(entry) => figures.booked(entry) as f64,
            Value::Number(read) | Value::Level(read) | Value::Largest(read, _) => read(figures) as f64,
            Value::Mean(read, _) | Value::PerSecond(read) => read(figures),
            Value::Duration(read, quantile) => read(figures).get(quantile) as f64,
            Value::Moment(read) => read(figures).unwrap_or_default() as f64,
        }
    }

    /// Whether the arm has it, and there are values to compute it from.
    pub fn is_known(self, figures: &Figures) -> bool {
        let is_not_reported = match self {
            Self::DoubleUses | Self::Overran => figures.lacks_entered,
            Self::LateWrites => figures.lacks_write,
            _ => false,
        };
        if is_not_reported || figures.lacks.contains(&self.row().group) {
            return false;
        }
        match self.row().value {
            Value::Counted(_) | Value::Booked(_) | Value::Number(_) | Value::Level(_) | Value::PerSecond(_) => true,
            Value::Mean(_, of) | Value::Largest(_, of) => of(figures) > 0,
            Value::Duration(read, _) => read(figures).count > 0,
            Value::Moment(read) => read(figures).is_some(),
        }
    }
}

/// The part of the throughput that some of the answers are.
fn share(figures: &Figures, answers: u64) -> f64 {
    figures.throughput * answers as f64 / figures.answered.max(1) as f64
}

/// How long a lock was unavailable at most if no outage was long enough to be counted.
pub const NO_OUTAGE: &str = "< 10 ms";

/// A figure, or a bound for it, with its unit: `1,400`, `4.00`, `0.42 ms`, `398/s`.
pub fn figure(metric: Metric, value: f64) -> String {
    match metric.unit() {
        Unit::Micros => micros(rounded(value)),
        Unit::PerSecond => format!("{}/s", rate(value)),
        Unit::Count if matches!(metric.row().value, Value::Mean(..)) || value.fract() != 0.0 => mean(value),
        Unit::Count => count(rounded(value)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_count_is_a_metric_of_its_name() {
        for count in Count::VARIANTS {
            let name: &str = count.into();
            let metric = Metric::VARIANTS.iter().find(|metric| metric.name() == name);
            let value = metric.map(|metric| metric.row().value);
            assert!(
                matches!(value, Some(Value::Counted(counted)) if counted == *count),
                "{count:?} needs a metric {name}, with Counted(Count::{count:?}) in its row"
            );
        }
    }

    #[test]
    fn one_title_stands_for_one_figure() {
        let titles: BTreeSet<&str> = Metric::VARIANTS.iter().map(|metric| metric.title()).collect();
        assert_eq!(titles.len(), Metric::VARIANTS.len());
    }

    #[test]
    fn damage_that_can_fall_has_a_peak_that_stays() {
        for metric in Metric::VARIANTS.iter().filter(|metric| metric.is_damage()) {
            let peak = metric.peak();
            assert!(
                peak.is_damage() && !peak.can_fall(),
                "{metric:?} can fall, and nothing says how much it was"
            );
        }
        let made_up_for = Figures {
            ledger: [(Entry::LostUpdatesPeak, 7)].into(),
            ..Figures::default()
        };
        assert!(Metric::LostUpdates.is_proven(&made_up_for));
        assert!(!Metric::Orders.is_proven(&Figures {
            ledger: [(Entry::Orders, 1)].into(),
            ..Figures::default()
        }));
    }

    #[test]
    fn updates_are_lost_before_a_stock_can_be_oversold() {
        let told = |sold_out_all, oversold, lost_updates| {
            Metric::Oversold.telling(&Figures {
                ledger: [(Entry::Oversold, oversold), (Entry::LostUpdates, lost_updates)].into(),
                contested: 1,
                sold_out_all,
                ..Figures::default()
            })
        };
        assert_eq!(told(false, 0, 0), Metric::LostUpdates);
        assert_eq!(told(false, 0, 290), Metric::LostUpdates);
        assert_eq!(told(false, 1, 290), Metric::LostUpdates);
        assert_eq!(told(true, 14, 14), Metric::Oversold);
        assert_eq!(told(true, 0, 0), Metric::Oversold);
        // Damage is shown rather than a zero.
        assert_eq!(told(true, 0, 2), Metric::LostUpdates);
        assert_eq!(told(false, 2, 0), Metric::Oversold);
    }

    #[test]
    fn figures_carry_their_unit() {
        let figures = [
            (Metric::Oversold, 1400.0, "1,400"),
            (Metric::DbHitsPerExpiry, 86.25, "86.2"),
            (Metric::DbHitsPerExpiry, 4.0, "4.00"),
            (Metric::AcquireP99, 2_100.0, "2.1 ms"),
            (Metric::Throughput, 398.4, "398/s"),
        ];
        for (metric, value, text) in figures {
            assert_eq!(figure(metric, value), text);
        }
    }
}
