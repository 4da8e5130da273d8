use serde::Serialize;

use super::choice::{self, Choice};
use super::client_timeouts::ClientTimeouts;
use super::question::Question;
use super::row::{self, Row};
use super::setting::Setting;

/// The answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The question.
    pub question: Question,
    /// A row for each setting.
    pub rows: Vec<Row>,
    /// What is recommended.
    pub choice: Choice,
    /// The timeouts of a client with the recommended setting; `None` if there is none.
    pub timeouts: Option<ClientTimeouts>,
}

impl Plan {
    /// Answers the question: a row for each of these settings, the one that is recommended, and the timeouts that fit to it.
    #[must_use]
    pub fn of(question: Question, settings: &[Setting]) -> Self {
        let rows: Vec<Row> = settings.iter().map(|setting| row::of(&question, *setting)).collect();
        let choice = choice::of(&question, &rows);
        let timeouts = choice
            .best()
            .map(|best| ClientTimeouts::of(&question, rows[best].setting));
        Self {
            question,
            rows,
            choice,
            timeouts,
        }
    }
}
