//! What the events of another program prove.

use super::past::{PastDouble, Told, judge_telling};
use lockstorm_data::facts::Caveat;
use lockstorm_data::history::{HELD, HistoryError, INSIDE, Reader, Reported};
use lockstorm_data::model::CheckResult;

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

    /// How often two clients were inside at once; `None` if no `entered` was reported.
    pub fn double_uses(&self) -> Option<u64> {
        self.reported.overran.map(|_| self.double_uses.len() as u64)
    }

    /// What the lock was there to prevent; `None` if nobody has reported what was done inside one.
    pub fn unguarded(&self) -> Option<u64> {
        let unguarded = self.reported.unguarded()?;
        Some(unguarded + self.double_uses.len() as u64)
    }

    /// Whether the lock and its use held.
    pub fn result(&self) -> CheckResult {
        if !self.double_holds.is_empty() || self.unguarded() > Some(0) || self.reported.handed_out_twice() > 0 {
            CheckResult::Failed
        } else {
            self.doubt().map_or(CheckResult::Held, |_| CheckResult::Inconclusive)
        }
    }

    /// Whose release, and when, came between the holds of these two although it had lost the lock to the first.
    pub fn overtaken(&self, double: &PastDouble) -> Option<(&str, i64)> {
        let place = (double.key.clone(), double.second_relied[0]);
        let (client, at) = self.reported.overtaken.get(&place)?;
        Some((self.reported.clients.get(*client)?, *at))
    }

    /// Why nothing can be shown, if that is so.
    pub fn doubt(&self) -> Option<Caveat> {
        let is_held = self.holds > 0 || self.reported.events == 0 || !self.reported.load.is_of_one_clock();
        (!is_held).then_some(Caveat::NoHolds).or_else(|| self.reported.doubt())
    }
}
