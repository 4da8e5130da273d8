//! What the events of another program prove.

use super::past::{PastDouble, Told, YEAR, judge_telling};
use lockstorm_data::history::{HELD, HistoryError, INSIDE, Reader, Reported};

/// The events of another program, judged.
#[derive(Debug)]
pub struct JudgedEvents {
    /// What was reported.
    pub reported: Reported,
    /// How often a lock was held: the holder had reason to rely on it.
    pub holds: u64,
    /// Two clients had reason to rely on the same lock at once.
    pub double_holds: Vec<PastDouble>,
    /// When each double use began: two clients were inside at once.
    pub double_uses: Vec<i64>,
}

impl JudgedEvents {
    /// Lets the judge of histories judge what was reported.
    ///
    /// # Errors
    /// The history can't be read. It was made from the events, so that is a mistake of ours.
    pub fn of(reported: Reported) -> Result<Self, HistoryError> {
        let (mut double_holds, mut double_uses) = (Vec::new(), Vec::new());
        let arms = judge_telling(Reader::open(reported.history.as_bytes())?, |arm, told| match told {
            Told::DoubleHold(double) => double_holds.push(double),
            Told::DoubleUse(at) if arm == INSIDE => double_uses.push(at),
            // What two did with a lock that both held is told of those inside.
            Told::DoubleUse(_) => {}
        })?;
        // Every hold has an end in this history, so every double hold is told.
        debug_assert_eq!(
            arms.get(HELD).map_or(0, |held| held.double_holds),
            double_holds.len() as u64
        );
        Ok(Self {
            holds: arms.get(HELD).map_or(0, |held| held.beliefs),
            double_holds,
            double_uses,
            reported,
        })
    }

    /// What the lock was there to prevent.
    pub const fn unguarded(&self) -> u64 {
        self.double_uses.len() as u64 + self.reported.late_writes + self.reported.overran
    }

    /// Whether the lock, or its use, is broken.
    pub fn is_broken(&self) -> bool {
        !self.double_holds.is_empty() || self.unguarded() > 0 || self.hands_out_twice()
    }

    /// Whether a token or a fence does not tell holders apart.
    pub const fn hands_out_twice(&self) -> bool {
        self.reported.shared_tokens + self.reported.fences_fallen > 0
    }

    /// Whose release, and when, came between the holds of these two although it had lost the lock to the first.
    pub fn overtaken(&self, double: &PastDouble) -> Option<(&str, i64)> {
        let place = (double.key.clone(), double.second_relied[0]);
        let (client, at) = self.reported.overtaken.get(&place)?;
        Some((self.reported.clients.get(*client)?, *at))
    }

    /// Whether its times may be those of one clock: none of a machine goes on for longer than a year between two events.
    pub fn is_of_one_clock(&self) -> bool {
        self.reported.load.elapsed() < YEAR
    }

    /// Why nothing can be shown, if that is so.
    pub fn doubt(&self) -> Option<String> {
        let reported = &self.reported;
        Some(if reported.events == 0 {
            "there was no event".to_owned()
        } else if !self.is_of_one_clock() {
            "the first event and the last one are more than a year apart, so their times are not those of one clock"
                .to_owned()
        } else if self.holds == 0 {
            "nobody held a lock for any time: report `acquired` and `released`".to_owned()
        } else if reported.shared_keys == 0 {
            "no lock was acquired by two clients, so no overlap could show".to_owned()
        } else if let Some(clocks) = &reported.clocks {
            clocks.clone()
        } else if reported.doubtful > 0 {
            format!(
                "of {} of the holds and sections nobody reported the end, or they had no length: those may have overlapped with others",
                reported.doubtful
            )
        } else {
            return None;
        })
    }
}
