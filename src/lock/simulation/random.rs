use super::span::Span;
use super::units::nanos;

/// A small generator (SplitMix64, <https://doi.org/10.1145/2714064.2660195>): it gives the same numbers on every machine and
/// with every version of every dependency, so that a seed keeps its meaning.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A random number over the whole range.
    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound` − 1; 0 if `bound` is 0.
    pub(super) const fn below(&mut self, bound: u64) -> u64 {
        scale(self.next(), bound)
    }

    /// One of `length` positions; `length` is at least 1.
    pub(super) fn index(&mut self, length: usize) -> usize {
        // It is below `length`.
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// True with a probability of `per_mille` in a thousand.
    pub(super) const fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < per_mille as u64
    }

    /// A number of nanoseconds, both ends included.
    pub(super) fn within(&mut self, span: Span) -> u64 {
        let least = nanos(span.least);
        let width = nanos(span.most).saturating_sub(least);
        if width == 0 {
            return least;
        }
        least + scale(self.next(), width.saturating_add(1))
    }

    /// One of these, of which there must be at least one.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }
}

/// `random`, scaled from the whole range of numbers to `bound`.
const fn scale(random: u64, bound: u64) -> u64 {
    // The upper half of the product always fits.
    ((random as u128 * bound as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        let mut random = Random::new(0);
        // The published first numbers of the generator.
        assert_eq!(random.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn draws_stay_within_their_bounds_and_reach_them() {
        let mut random = Random::new(7);
        let span = Span {
            least: Duration::from_nanos(3),
            most: Duration::from_nanos(5),
        };
        let draws: Vec<_> = (0..100).map(|_| random.within(span)).collect();
        assert!((3..=5).all(|value| draws.contains(&value)) && draws.iter().all(|draw| (3..=5).contains(draw)));
        assert!((0..100).all(|_| random.below(1) == 0 && random.below(0) == 0 && !random.chance(0)));
        assert!((0..100).all(|_| random.chance(1000)));
    }
}
