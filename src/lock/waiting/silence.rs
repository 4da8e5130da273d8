use std::time::Duration;

use crate::protocol::Time;

/// An app server that waits announces that within this time.
const ANSWERS_WITHIN: Duration = Duration::from_millis(300);

/// How long subscribers that did not answer count as silent, at first.
const SHORT: Duration = Duration::from_secs(2);

/// The same after they have not answered many times.
const LONG: Duration = Duration::from_secs(60);

/// The subscribers of a node that hear of releases and never answer: who looks at all channels (`PSUBSCRIBE`), say. To look for
/// app servers that wait costs us time and the nodes commands, so that is not done at each release because of those.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// So many are silent.
    silent: usize,
    /// Until when that counts.
    until: Time,
    lasts: Duration,
    /// Since when we wait for an answer, and of how many.
    asked: Option<(Time, usize)>,
}

impl Silence {
    /// A release was delivered to so many `others`. `answered`: one has announced that it waits since the last look. Returns whether
    /// to look who it is.
    pub(super) fn on_delivered(&mut self, others: usize, answered: bool, now: Time) -> bool {
        if others == 0 || answered {
            *self = Self::default();
        }
        match self.asked {
            Some((since, of)) if now - since < ANSWERS_WITHIN => return others > of,
            Some((_, of)) => {
                let lasts = (self.lasts * 2).clamp(SHORT, LONG);
                *self = Self {
                    silent: of,
                    until: now + lasts,
                    lasts,
                    asked: None,
                };
            }
            None => {}
        }
        let looks = others > 0 && (others > self.silent || now >= self.until);
        if looks {
            self.asked = Some((now, others));
        }
        looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn who_never_answers_is_looked_for_less_and_less_often() {
        let mut silence = Silence::default();
        let looks: Vec<_> = (0..40_000)
            .filter(|&now| silence.on_delivered(1, false, at(now)))
            .collect();
        assert_eq!(looks, [0, 2300, 6600, 14_900, 31_200]);
    }

    #[test]
    fn one_more_is_looked_for_at_once_and_so_is_anybody_after_nobody_was_there() {
        let mut silence = Silence::default();
        assert!(silence.on_delivered(1, false, at(0)));
        assert!(!silence.on_delivered(1, false, at(299)) && silence.on_delivered(2, false, at(299)));
        assert!(!silence.on_delivered(1, false, at(300)));
        assert!(silence.on_delivered(2, false, at(301)));
        // They answer: the next one is looked for again.
        assert!(silence.on_delivered(1, true, at(302)));
        assert!(!silence.on_delivered(1, false, at(700)) && !silence.on_delivered(0, false, at(701)));
        assert!(silence.on_delivered(1, false, at(702)));
    }
}
