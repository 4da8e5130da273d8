use super::metric::Metric;

/// A column of any table of arms. Whoever writes the table decides what its cells contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// A figure, under its title.
    Figure(Metric),
    /// The mean number of attempts that an acquire took.
    AttemptsPerAcquire,
    /// The mean votes that locks were held with when they were released.
    VotesAtRelease,
    /// The mean votes that locks had in the end, with those that came after the release.
    VotesInTheEnd,
    /// The votes of the newest released lock.
    VotesNow,
    /// Requests that ended after the load.
    AfterTheEnd,
    /// When an arm with a fixed number of requests was done.
    FinishedAt,
    /// Answers a second in the last five seconds.
    ThroughputNow,
    /// The upper bound of a zero.
    Bound,
}

impl Column {
    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Figure(metric) => metric.title(),
            Self::AttemptsPerAcquire => "attempts/acquire",
            Self::VotesAtRelease => "votes at release",
            Self::VotesInTheEnd => "in the end",
            Self::VotesNow => "votes",
            Self::AfterTheEnd => "after the end",
            Self::FinishedAt => "finished at",
            Self::ThroughputNow => "ok/s 5 s",
            Self::Bound => "95 % bound",
        }
    }
}

/// A column in a table.
#[derive(Debug, Clone, Copy)]
pub enum Shown {
    /// Always.
    Always(Column),
    /// Only if an arm has something other than zero in it.
    IfAny(Column),
}

impl Shown {
    /// The column.
    pub const fn column(self) -> Column {
        match self {
            Self::Always(column) | Self::IfAny(column) => column,
        }
    }
}
