use crate::metrics::Metric;

/// A column of any table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// A figure under its title.
    Figure(Metric),
    /// The mean number of attempts that an acquire took.
    AttemptsPerAcquire,
    /// The mean votes that locks were held with when they were released.
    VotesAtRelease,
    /// The same with the replies that came later.
    VotesInTheEnd,
    /// The votes of the lock that was released last.
    VotesNow,
    /// Requests that ended after the load had.
    AfterTheEnd,
    /// When an arm with a fixed number of requests was done.
    FinishedAt,
    /// Answers a second in the last five seconds.
    ThroughputNow,
    /// The upper bound of a zero.
    Bound,
}

impl Column {
    /// What stands above it.
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
pub(crate) enum Shown {
    /// Whatever is in it.
    Always(Column),
    /// If some arm has anything but zero in it.
    IfAny(Column),
}

impl Shown {
    /// Which it is.
    pub const fn column(self) -> Column {
        match self {
            Self::Always(column) | Self::IfAny(column) => column,
        }
    }
}

/// The titles of columns beside each other: what is a quantile, or the worst, of the same as the one before is not named again.
pub(crate) fn heads(columns: impl IntoIterator<Item = Column>) -> Vec<String> {
    let mut before = "";
    let short = |column: Column| {
        let title = column.title();
        let (of, last) = title.rsplit_once(' ').unwrap_or((title, ""));
        let is_part = is_quantile(last);
        let same = is_part && of == before;
        before = if is_part { of } else { title };
        if same { last.to_owned() } else { title.to_owned() }
    };
    columns.into_iter().map(short).collect()
}

fn is_quantile(word: &str) -> bool {
    word == "max"
        || word
            .strip_prefix('p')
            .is_some_and(|digits| digits.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_beside_it_is_not_said_again() {
        use Metric::{AcquireMax, AcquireP50, AcquireP99, Acquired, DbHitsPerExpiry, DbHitsPerExpiryMax, ServiceP99};
        let heads = |metrics: &[Metric]| heads(metrics.iter().copied().map(Column::Figure));
        assert_eq!(
            heads(&[AcquireP50, AcquireP99, AcquireMax]),
            ["acquire p50", "p99", "max"]
        );
        assert_eq!(
            heads(&[Acquired, AcquireP99, ServiceP99]),
            ["acquired", "acquire p99", "service p99"]
        );
        assert_eq!(heads(&[DbHitsPerExpiry, DbHitsPerExpiryMax]), ["db hits/expiry", "max"]);
    }
}
