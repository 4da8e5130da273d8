use serde::Serialize;

use std::sync::atomic::AtomicU64;

use super::choice::{self, Choice, Why};
use super::client_timeouts::ClientTimeouts;
use super::elapsed;
use super::grid;
use super::question::Question;
use super::row::{self, Row, Shortfall};
use super::seconds::DAY;
use super::setting::{Renewal, Setting};

/// The answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The question.
    pub question: Question,
    /// A row for each setting.
    pub rows: Vec<Row>,
    /// Whether clients were simulated that share locks, nodes that crash or clocks that jump: what else they met is then shown,
    /// also if it is nothing.
    pub clients: bool,
    /// What is recommended.
    pub choice: Choice,
    /// Why that, and not another setting that achieves the goal; `None` if nothing is recommended.
    pub why: Option<Why>,
    /// The timeouts of a client with the recommended setting; `None` if there is none.
    pub timeouts: Option<ClientTimeouts>,
}

impl Plan {
    /// Answers the question: a row for each of these settings, the one that is recommended, and the timeouts that fit to it.
    pub fn of(question: Question, settings: &[Setting]) -> Self {
        let times = elapsed::until_quorum(&question.round_trip, question.nodes);
        let row = |setting: &Setting| row::with_times(&question, &times, *setting);
        let rows = settings.iter().map(row).collect();
        Self::of_rows(question, rows)
    }

    /// Answers the question with the settings that are worth a look, for each of these renewals; and if none of them will do, for each of
    /// `more`, too. `looked_at` counts them, the rows that are left out among them.
    pub fn search(question: Question, renewals: &[Renewal], more: &[Renewal], looked_at: &AtomicU64) -> Self {
        let rows = grid::rows(&question, renewals, more, looked_at);
        Self::of_rows(question, rows)
    }

    fn of_rows(question: Question, rows: Vec<Row>) -> Self {
        let mut plan = Self {
            question,
            rows,
            clients: false,
            choice: Choice::TooShort,
            why: None,
            timeouts: None,
        };
        plan.choose();
        plan
    }

    /// Chooses again, after something was seen in virtual time: a setting whose locks had two holders there won't do.
    pub fn choose(&mut self) {
        for row in &mut self.rows {
            let a_day = self.question.per_second * DAY * self.question.contended;
            // What was seen counts where the formula says less.
            let is_risky = row
                .simulated
                .is_some_and(|seen| seen.interval().0 * a_day > self.question.goal.overlaps_per_day);
            if is_risky && !row.shortfalls.contains(&Shortfall::Risk) {
                row.shortfalls.push(Shortfall::Risk);
            }
            let had_two = row.simulated.is_some_and(|seen| seen.overlaps > 0);
            if had_two && !row.shortfalls.contains(&Shortfall::TwoHolders) {
                row.shortfalls.push(Shortfall::TwoHolders);
            }
        }
        (self.choice, self.why) = choice::of(&self.question, &self.rows);
        let best = self.choice.best();
        self.timeouts = best.map(|best| ClientTimeouts::of(&self.question, self.rows[best].setting));
    }
}
