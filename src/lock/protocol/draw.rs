use std::time::Duration;

/// A random duration from 0 to `most`, both included; `random` is drawn over the whole range of numbers.
#[must_use]
pub fn draw(most: Duration, random: u64) -> Duration {
    let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
    // By Lemire (<https://arxiv.org/abs/1805.10941>), the upper half of the product is a uniform draw from 0 to `most`, with
    // a bias of less than one part in 2^64 / most.
    let product = u128::from(random) * (u128::from(most) + 1);
    Duration::from_nanos(u64::try_from(product >> 64).unwrap_or(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_reach_both_ends() {
        let most = Duration::from_millis(7);
        assert_eq!((draw(most, 0), draw(most, u64::MAX)), (Duration::ZERO, most));
        assert_eq!(draw(Duration::ZERO, u64::MAX), Duration::ZERO);
        assert_eq!(draw(Duration::MAX, u64::MAX).as_nanos(), u128::from(u64::MAX));
    }
}
