use serde::Serialize;
use strum::IntoEnumIterator;

use super::chance::Chance;
use super::client_timeouts::ClientTimeouts;
use super::elapsed;
use super::formulas::{attempts_before_expiry, reliable, restart_delay, takeover_of_renewed, takeover_without_renewal};
use super::overrun;
use super::predicted::Predicted;
use super::question::Question;
use super::renewed;
use super::seconds::DAY;
use super::setting::Setting;
use super::simulated::Simulated;
use super::wish::Wish;
use lockstorm_data::model::in_us;

/// Why a setting does not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shortfall {
    /// Too many sections overlap.
    Risk,
    /// Its risk is low enough only by the fitted tail.
    Unproven,
    /// Others wait too long after a crash.
    Takeover,
    /// In virtual time locks had two holders, because nodes that had forgotten came back too early.
    TwoHolders,
    /// So many acquires come too late to be granted that the lock is of no use.
    TooShort,
}

/// What is to be expected of one setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The setting.
    pub setting: Setting,
    /// The probability that a section outlasts its lock.
    pub overrun: Chance,
    /// Sections a day that overlap with another holder's.
    pub overlaps_per_day: Chance,
    /// The probability that an acquire is not granted because the quorum answers when nothing is left of the validity.
    pub late: f64,
    /// The mean time in seconds from a holder's crash until others can have its lock.
    #[serde(rename = "takeover_mean_us", with = "in_us")]
    pub takeover_mean: f64,
    /// The longest time in seconds from a holder's crash until others can have its lock.
    #[serde(rename = "takeover_worst_us", with = "in_us")]
    pub takeover_worst: f64,
    /// The longest time in seconds from then on until whoever waits asks again: twice [`ClientTimeouts::retry_delay`].
    #[serde(rename = "asked_within_us", with = "in_us")]
    pub asked_within: f64,
    /// The longest pause in seconds that a section of median length survives, wherever it falls; 0 if none.
    #[serde(rename = "pause_survived_us", with = "in_us")]
    pub pause_survived: f64,
    /// How many renewals in a row may fail.
    pub renewals_may_fail: f64,
    /// How long a node without persistence must stay away after its crash, in seconds.
    #[serde(rename = "restart_delay_us", with = "in_us")]
    pub restart_delay: f64,
    /// For how long no lock is granted after a crash of a majority of such nodes, in seconds: until they may come back.
    #[serde(rename = "unavailable_us", with = "in_us")]
    pub unavailable: f64,
    /// Renewal commands a second and node.
    pub renewals_per_second: f64,
    /// Seconds a day in which somebody waits for the lock of a crashed holder.
    #[serde(rename = "blocked_per_day_us", with = "in_us")]
    pub blocked_per_day: f64,
    /// What is to be expected of a run, if that was asked for.
    pub predicted: Option<Predicted>,
    /// What was seen in virtual time, if that was asked for.
    pub simulated: Option<Simulated>,
    /// Why it does not do; empty if it does.
    pub shortfalls: Vec<Shortfall>,
    /// What it should have beyond the goal, and has not.
    pub lacks: Vec<Wish>,
}

impl Row {
    /// Whether it achieves the goal.
    pub const fn is_fit(&self) -> bool {
        self.shortfalls.is_empty()
    }

    /// The longest time in seconds from a holder's crash until whoever waits has its lock.
    pub fn longest_wait(&self) -> f64 {
        self.takeover_worst + self.asked_within
    }
}

/// The most acquires that may come too late.
const MOST_LATE: f64 = 0.01;

pub(super) fn of(question: &Question, setting: Setting) -> Row {
    with_times(
        question,
        &elapsed::until_quorum(&question.round_trip, question.nodes),
        setting,
    )
}

/// The same for one of many settings, with the times [until a quorum has answered](elapsed::until_quorum).
pub(super) fn with_times(question: &Question, times: &[(f64, f64)], setting: Setting) -> Row {
    let ttl = setting.ttl.as_secs_f64();
    let reliable = reliable(ttl);
    let late = elapsed::beyond(&question.round_trip, question.nodes, reliable);
    let is_of_use = late < MOST_LATE && reliable > 0.0;
    let overrun = match is_of_use {
        true => overrun::of_section(question, times, &setting),
        false => Chance::assumed(1.0),
    };
    let a_day = question.per_second * DAY * question.contended;
    let overlaps_per_day = overrun.map(|p| p * a_day);
    let half = question.hold.quantile(0.5) + question.round_trip.quantile(0.5);
    let (takeover_mean, pause_survived, renewals_may_fail, renewals) = match setting.interval() {
        None => (
            takeover_without_renewal(ttl, &question.holds),
            reliable - half,
            0.0,
            0.0,
        ),
        Some(interval) => (
            takeover_of_renewed(ttl, interval, &question.holds),
            reliable - interval,
            attempts_before_expiry(ttl, interval) - 1.0,
            renewed::mean(question, interval),
        ),
    };
    let mut row = Row {
        setting,
        overrun,
        overlaps_per_day,
        late,
        takeover_mean,
        takeover_worst: ttl,
        asked_within: 2.0 * ClientTimeouts::of(question, setting).retry_delay,
        pause_survived: pause_survived.max(0.0),
        renewals_may_fail: renewals_may_fail.max(0.0),
        restart_delay: restart_delay(ttl),
        unavailable: restart_delay(ttl),
        renewals_per_second: renewals * question.per_second,
        blocked_per_day: question.crashes_per_second * DAY * takeover_mean,
        predicted: question.sections.map(|sections| Predicted::of(sections, overrun.p)),
        simulated: None,
        shortfalls: Vec::new(),
        lacks: Vec::new(),
    };
    row.shortfalls = shortfalls(question, &row, is_of_use);
    row.lacks = Wish::iter().filter(|wish| !has(*wish, question, &row)).collect();
    row
}

fn has(wish: Wish, question: &Question, row: &Row) -> bool {
    match wish {
        Wish::FailedRenewal => row.setting.interval().is_none() || row.renewals_may_fail >= 1.0,
        Wish::Pause => row.pause_survived >= question.pause_with_room(),
        Wish::Takeover => question
            .goal
            .takeover
            .is_none_or(|most| row.takeover_worst <= 0.9 * most),
    }
}

fn shortfalls(question: &Question, row: &Row, is_of_use: bool) -> Vec<Shortfall> {
    if !is_of_use {
        return vec![Shortfall::TooShort];
    }
    let goal = question.goal;
    let risk = if row.overlaps_per_day.p > goal.overlaps_per_day {
        Some(Shortfall::Risk)
    } else if row.overlaps_per_day.is_extrapolated() || row.overlaps_per_day.high > goal.overlaps_per_day {
        Some(Shortfall::Unproven)
    } else {
        None
    };
    // Sums of whole milliseconds may be off by what floats are.
    let is_slow = goal.takeover.is_some_and(|most| row.longest_wait() > most + 1e-6);
    risk.into_iter().chain(is_slow.then_some(Shortfall::Takeover)).collect()
}
