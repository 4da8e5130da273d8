use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::consequence::Consequence;
use super::counts::{Count, Counts};
use super::fields::{Sparse, sparse};
use super::group::Group;
use super::histogram::Quantiles;
use super::ledger::{Entries, Entry, KnownEntries};
use super::sums::{Time, Times};
use super::units::rounded;
use crate::model::{CauseKind, Outcomes, in_us};

/// Provider calls for each superseded version of a value: 1 is perfect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitsPerExpiry {
    /// How many versions were superseded; in a paged list each page is a value of its own. Cold starts are not counted,
    /// nor are versions whose stampede was cut in two by the start or the end of the measured part.
    pub expiries: u64,
    /// The mean number of provider calls for a version.
    pub mean: f64,
    /// The largest number of provider calls for a version.
    pub max: u64,
}

impl HitsPerExpiry {
    /// Calls beyond one for each version.
    pub fn beyond_one(&self) -> u64 {
        rounded(self.mean * self.expiries as f64).saturating_sub(self.expiries)
    }
}

impl Figures {
    /// A number of its workload's ledger; 0 if that has none of this name.
    pub fn booked(&self, entry: Entry) -> u64 {
        self.ledger[entry].unwrap_or(0)
    }

    /// Sections that had work: they found something to do, and their end was not that of the run. Those that `overran` are a part of
    /// them.
    pub fn sections(&self) -> u64 {
        self.times[Time::Hold].count
    }

    /// Requests that were begun and still waited for something at the end: no section of theirs was cut off there.
    pub fn waiting(&self) -> u64 {
        self.unfinished.saturating_sub(self.counts[Count::CutOff])
    }

    /// Whether two clients wanted one lock at the same time: without that there is nothing that a lock could fail to prevent.
    pub fn was_contested(&self) -> bool {
        self.contested > 0 || self.outcomes.contended > 0 || self.double_uses > 0 || self.double_holds > 0
    }

    /// How much is known of outages; 0 if nobody asked for a lock on a server, or reported when it asked.
    pub fn outages_known(&self) -> u64 {
        let is_on_other_servers = self.lacks.contains(&Group::LockNodes) && !self.lacks.contains(&Group::Servers);
        let asked = match is_on_other_servers || !self.nodes.is_empty() {
            true => self.outcomes.total(),
            false => 0,
        };
        asked.saturating_add(self.outages.len() as u64)
    }

    /// The longest of the outages; 0 without any.
    pub fn longest_outage(&self) -> Outage {
        let longest = self.outages.iter().max_by_key(|outage| outage.lasted_us);
        longest.copied().unwrap_or_default()
    }
}

/// One lock node, as an arm used it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeLoad {
    /// The host that it runs on, from 1; left out for the master of the replicated nodes, which may be on any, and for the
    /// cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<usize>,
    /// How many `SET … NX PX` commands it was sent.
    pub sets: u64,
    /// How many extensions it was sent.
    pub extends: u64,
    /// How many compare-and-deletes it was sent.
    pub deletes: u64,
    /// Why it gave no vote, in acquires that failed because nodes were missing: how often for each cause.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub causes: BTreeMap<CauseKind, u64>,
}

/// How long locks of an arm were unavailable by one cause: they had no holder, a client asked, and every request was refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outage {
    /// When the longest time began in which one of them was unavailable.
    #[serde(rename = "at_us", with = "in_us")]
    #[schemars(with = "i64")]
    pub at: f64,
    /// The number of the event that brought it about: that of the fault, or of the master that became a replica; null if there is
    /// no such event.
    pub event: Option<u64>,
    /// The microseconds of that time, until the lock was granted, or refused for the last time.
    pub lasted_us: u64,
    /// Whether it was granted after that.
    pub over: bool,
    /// How many locks were refused although they had no holder.
    #[serde(default)]
    pub locks: u64,
    /// How often that was: of a client of its own program its requests, otherwise the attempts.
    #[serde(default)]
    pub refusals: u64,
    /// The longest time in microseconds in which no lock of the arm had a holder, at least one was asked for, and every request was refused.
    #[serde(default)]
    pub all_us: u64,
    /// Whether one was granted after that.
    #[serde(default)]
    pub all_over: bool,
}

/// One app server's part in an arm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerLoad {
    /// Its number, from 1.
    pub server: usize,
    /// Requests that were dealt to it (open loop) or that its workers began (closed loop).
    pub offered: u64,
    /// Requests that ended.
    pub completed: u64,
    /// Requests that were queued or under way when it was killed.
    pub dropped: u64,
    /// Requests that were begun and had not ended at the end.
    pub unfinished: u64,
    /// Requests that still waited for a worker at the end of the load.
    pub never_begun: u64,
    /// Requests that began more than 10 ms after their intended start.
    pub late: u64,
    /// Its orders in the ledger.
    pub orders: u64,
    /// Response times of its requests: from their intended start to their end.
    pub response_us: Quantiles,
}

/// The figures of one arm's measured part until now: what was done by requests whose start (in an open loop the intended
/// one) was at second 0 or later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// The groups of figures that the arm can't have: those of other workloads, and of locks on nodes if it has none.
    #[serde(default)]
    pub lacks: Vec<Group>,
    /// Whether another program has reported no `entered`, so that double uses and sections that overran are not known; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_entered: bool,
    /// Whether another program has reported no `write`, so that late ones are not known; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_write: bool,
    /// Plain counts. A record has a field for each, named and described by the metric of the same name.
    #[serde(flatten)]
    pub counts: Counts,
    /// Acquires by outcome.
    pub outcomes: Outcomes,
    /// Released locks by the votes that were known at the release: index = votes.
    pub votes_at_release: Vec<u64>,
    /// Released locks by the votes that they had in the end, with replies that came after the release but within the node
    /// timeout: index = votes.
    pub votes_in_the_end: Vec<u64>,
    /// How many attempts the acquires took.
    pub attempts: u64,
    /// Whole seconds in which acquires were refused because nodes were missing, and none was granted: how long the lock
    /// was not available.
    pub refused_seconds: u64,
    /// Time of an acquire with any outcome, waiting included.
    pub acquire_us: Quantiles,
    /// Of an arm with `lock = "client"`: time of an acquire of a client that does nothing, asked meanwhile. Of the times of the arm's client so
    /// much is the pipe's.
    #[serde(default)]
    pub pipe_us: Quantiles,
    /// Every time that is measured: `response_us`, `acquired_us`, and so on.
    #[serde(flatten)]
    pub times: Times,
    /// Requests that were due by now (open loop) or that workers began (closed loop): the sum of the completed ones and of
    /// the next three fields.
    pub offered: u64,
    /// Requests that were queued or under way on an app server when it was killed, or due when no app server was left.
    pub dropped: u64,
    /// Requests that were begun and have not ended.
    pub unfinished: u64,
    /// Requests that wait for a free worker; at the end, those that never had one.
    pub never_begun: u64,
    /// Requests that ended with an answer: not with an error, and not given up, dropped or fenced.
    pub answered: u64,
    /// When the arm's last request ended, if it has done all of a fixed number of requests; otherwise null.
    #[serde(rename = "finish_us", with = "in_us")]
    #[schemars(with = "Option<i64>")]
    pub finish: Option<f64>,
    /// Answers a second, until the arm's finish or otherwise until the load ended.
    pub throughput: f64,
    /// Whether the ledger could not be read to its end, or requests were given up that may still have sold something. Then
    /// what the ledger shows is a lower bound, and units that seem to be left may be sold.
    pub incomplete: bool,
    /// What the ledger of its workload shows, summed over the products, each under the workload's own name, which the metric of the same
    /// name describes. A record has only those of its workload.
    #[serde(flatten, with = "sparse")]
    #[schemars(with = "Sparse<Entries>")]
    pub ledger: KnownEntries,
    /// How much of the damage in the ledger at most was done by sections that this machine held up until their lock had expired.
    pub lost_by_stalls: u64,
    /// Whether the whole stock is sold (`inventory`): before that, overselling cannot show in full.
    pub sold_out_all: bool,
    /// Double uses, late writes and sections that overran, as another program reported them; left out if it did not say who was inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unguarded: Option<u64>,
    /// When the first update was lost, or money made or lost, by the time of the order that proves it.
    #[serde(rename = "first_lost_at_us", with = "in_us")]
    #[schemars(with = "Option<i64>")]
    pub first_lost_at: Option<f64>,
    /// Calls to the provider (the database behind a cache) for each superseded version.
    pub db_hits_per_expiry: HitsPerExpiry,
    /// Pages that are in a list more than once although it claimed to be complete; each filling of a list is counted once.
    pub duplicate_pages: u64,
    /// Pages that are missing in such lists.
    pub missing_pages: u64,
    /// Those of the duplicate pages that are in lists which sections have filled that this machine held up until their lock had expired.
    #[serde(default)]
    pub duplicate_by_stalls: u64,
    /// Those of the missing pages that are missing there.
    #[serde(default)]
    pub missing_by_stalls: u64,
    /// How often somebody came to hold a lock while another holder had reason to rely on it.
    pub double_holds: u64,
    /// How often a section began while another one of the same lock had not ended, whatever its holder had reason to believe.
    pub double_uses: u64,
    /// Those of them that would not have happened without stalls of this machine: every holder that was still inside had outlasted its lock
    /// only because of one.
    #[serde(default)]
    pub double_uses_by_stalls: u64,
    /// Double holds that no loss of votes explains.
    pub law_violations: u64,
    /// Double holds in which the TTL of the first was over when the second acquired the lock.
    #[serde(default)]
    pub expired_holds: u64,
    /// Double holds in which the key of the first had been deleted from outside.
    #[serde(default)]
    pub deleted: u64,
    /// Double holds of which nobody knows whether a loss of votes explains them.
    pub unjudged: u64,
    /// Held locks that lost votes, and still kept others out.
    pub covered: u64,
    /// When the first double hold began, in microseconds since second 0.
    pub first_double_hold_us: Option<i64>,
    /// Keys that a node had of a lock that nobody held; `None` if that is not known.
    #[serde(default)]
    pub zombie_keys: Option<u64>,
    /// Locks held now.
    pub holding: u64,
    /// Locks held now with fewer votes than there are nodes.
    pub partial: u64,
    /// How long locks were unavailable, in arms with lock nodes: one for each fault, and on replicated nodes for each master that became a
    /// replica, after which that was so, and one for all other times. Times below 10 ms, those of hand-overs, are left out: without any, no lock was unavailable for longer.
    pub outages: Vec<Outage>,
    /// Locks that an old master granted after a new one was writable.
    pub granted_by_old_master: u64,
    /// How often a replica became the master of the arm's locks, or of a part of them.
    pub new_masters: u64,
    /// Locks that were held, and that a new master did not have when it became writable.
    pub lost_at_failover: u64,
    /// Locks that workers of an app server held when it was killed by a fault or a key. `takeover_us` counts those of them that
    /// were granted again.
    pub orphaned: u64,
    /// Keys that nobody held and that could not be locked at the end; `None` if that was not tried.
    pub stuck: Option<u64>,
    /// What faults meant for its locks, in the order in which that was seen.
    pub consequences: Vec<Consequence>,
    /// How often a client asked for a lock that another one held.
    #[serde(default)]
    pub contested: u64,
    /// One for each lock node of the arm; empty if it uses none.
    pub nodes: Vec<NodeLoad>,
    /// One for each app server.
    pub servers: Vec<ServerLoad>,
}
