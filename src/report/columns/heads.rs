use lockstorm_data::metrics::Column;

/// The titles of neighbouring columns. A quantile or a worst value of the figure before it doesn't repeat that figure's
/// name.
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
    use lockstorm_data::metrics::Metric;

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
