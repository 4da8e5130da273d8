//! How many sections would have outlasted their lock with another TTL.

use std::collections::BTreeSet;
use std::time::Duration;

use hdrhistogram::Histogram;

use lockstorm_lock::protocol::validity;

/// 1, 2, 5, 10, 20, 50 … up to 500 billion.
pub fn ladder() -> impl Iterator<Item = u64> {
    (0..12).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)))
}

/// The shortest and the longest TTL of the knob, in microseconds.
pub const TTLS: [u64; 2] = [10_000, 600_000_000];

/// What the sections of an arm so far say of other TTLs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outlasted {
    /// How many sections have ended; 0 in arms without lock nodes.
    pub sections: u64,
    /// TTLs in ascending order, each with how many of the sections a lock with it, never renewed, would not have covered.
    pub by_ttl: Vec<(Duration, u64)>,
}

/// The TTLs that are looked at: those of the knob and the present ones.
pub(crate) fn ttls(present: impl IntoIterator<Item = Duration>) -> Vec<Duration> {
    let of_knob = ladder().chain(TTLS).filter(|us| (TTLS[0]..=TTLS[1]).contains(us));
    let all: BTreeSet<Duration> = of_knob.map(Duration::from_micros).chain(present).collect();
    all.into_iter().collect()
}

impl Outlasted {
    /// Compares what sections `needed` (microseconds from the attempt that acquired their lock to their end) with what each
    /// of these TTLs, in ascending order, covers: the lock engine's own [`validity`], which is the TTL less 1 % and 2 ms.
    pub(crate) fn of(needed: Option<&Histogram<u64>>, ttls: &[Duration]) -> Self {
        let Some(needed) = needed else { return Self::default() };
        let mut by_ttl: Vec<(Duration, u64)> = ttls.iter().map(|ttl| (*ttl, 0)).collect();
        let covered: Vec<u128> = ttls.iter().map(|ttl| validity(*ttl).as_micros()).collect();
        for value in needed.iter_recorded() {
            let too_short = covered.partition_point(|covered| *covered < u128::from(value.value_iterated_to()));
            for (_, sections) in &mut by_ttl[..too_short] {
                *sections += value.count_since_last_iteration();
            }
        }
        Self {
            sections: needed.len(),
            by_ttl,
        }
    }

    /// The part of the sections that would outlast a lock with this TTL.
    pub fn part(&self, ttl: Duration) -> Option<Part> {
        let (_, outlasting) = self.by_ttl.iter().find(|(known, _)| *known == ttl)?;
        Part::of(*outlasting, self.sections)
    }
}

/// A part of some sections, between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part {
    /// About so much.
    About(f64),
    /// Less than this: with fewer than three of them, the sections say no more than that it is below three in their number.
    Below(f64),
}

impl Part {
    /// `some` of `all`; `None` if these are too few to say anything.
    fn of(some: u64, all: u64) -> Option<Self> {
        match (some, all) {
            (_, 0..=3) => None,
            (0..=2, _) => Some(Self::Below(3.0 / all as f64)),
            _ => Some(Self::About(some as f64 / all as f64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::histogram;

    const MS: Duration = Duration::from_millis(1);

    fn sections(of: &[(u64, u64)]) -> Histogram<u64> {
        let mut all = histogram();
        for (ms, count) in of {
            all.record_n(ms * 1000, *count).expect("it resizes");
        }
        all
    }

    #[test]
    fn sections_outlast_a_ttl_if_they_need_more_than_its_reliable_part() {
        // 50 ms are to be relied on for 47.5 ms.
        let needed = sections(&[(47, 900), (48, 90), (300, 10)]);
        let ttls = ttls([30 * MS]);
        assert!(ttls.contains(&(30 * MS)) && ttls.contains(&(10 * MS)) && ttls.contains(&Duration::from_mins(10)));
        assert!(ttls.is_sorted());
        let outlasted = Outlasted::of(Some(&needed), &ttls);
        assert_eq!(outlasted.sections, 1000);
        let part = |ttl: u32| outlasted.part(ttl * MS);
        assert_eq!(
            [30, 50, 100, 200].map(part),
            [1.0, 0.1, 0.01, 0.01].map(|p| Some(Part::About(p)))
        );
        assert_eq!(part(500), Some(Part::Below(0.003)));
        assert_eq!(part(70), None, "nobody looked at it");
    }

    #[test]
    fn few_sections_are_told_as_a_bound_or_not_at_all() {
        let ttls = ttls([]);
        let of = |n| Outlasted::of(Some(&sections(&[(1, n), (15, 2)])), &ttls).part(10 * MS);
        assert_eq!((of(1), of(98)), (None, Some(Part::Below(0.03))));
        assert_eq!(Outlasted::of(None, &ttls), Outlasted::default());
        assert_eq!(Outlasted::default().part(10 * MS), None);
    }
}
