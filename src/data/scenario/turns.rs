use std::time::Duration;

/// Whose turn it is, if the arms of a run take turns: there and back (A B C C B A), so that what grows or falls steadily hits all
/// of them alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    /// The length of a turn in whole seconds, since a record counts by the second; at least 1.
    seconds: u64,
    arms: u64,
}

impl Turns {
    /// Turns of this length for so many arms.
    pub fn of(length: Duration, arms: usize) -> Self {
        Self {
            seconds: length.as_secs().max(1),
            arms: arms.max(1) as u64,
        }
    }

    /// The arm whose turn it is in this second, from 0.
    pub const fn arm_of(self, second: u64) -> u64 {
        let place = (second / self.seconds) % (2 * self.arms);
        if place < self.arms {
            place
        } else {
            2 * self.arms - 1 - place
        }
    }

    /// The first second of this arm's next turn, from this second on; this one if it is its turn.
    pub fn next(self, arm: u64, second: u64) -> u64 {
        let turn = |turn: &u64| self.arm_of(turn * self.seconds) == arm;
        let now = second / self.seconds;
        let found = (now..now + 2 * self.arms).find(turn);
        found.map_or(second, |turn| second.max(turn * self.seconds))
    }

    /// After how many seconds each arm has had its turn twice.
    pub const fn round(self) -> u64 {
        2 * self.arms * self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_take_turns_there_and_back() {
        let turns = Turns::of(Duration::from_secs(2), 3);
        let arms: Vec<u64> = (0..14).map(|second| turns.arm_of(second)).collect();
        assert_eq!(arms, [0, 0, 1, 1, 2, 2, 2, 2, 1, 1, 0, 0, 0, 0]);
        assert_eq!(turns.round(), 12);
        assert_eq!([0, 1, 2, 9, 11].map(|second| turns.next(0, second)), [0, 1, 10, 10, 11]);
        assert_eq!([0, 5, 8].map(|second| turns.next(2, second)), [4, 5, 16]);
        let alone = Turns::of(Duration::from_secs(1), 1);
        assert!((0..9).all(|second| alone.arm_of(second) == 0 && alone.next(0, second) == second));
    }
}
