//! Why a run proves nothing, or less than it should: what was lost or stepped, and which results stand in spite of it.

use lockstorm_data::facts::Caveat;

/// Why a run proves nothing, or less than it should.
#[derive(Debug, Default)]
pub(crate) struct Flaws {
    /// What makes all figures worthless: the machine's wall clock stepped, or the run itself stood still.
    pub void: Vec<Caveat>,
    /// What the run needs and has lost.
    pub lost: Vec<Caveat>,
    /// What could not be read or finished, besides what the arms list themselves.
    pub missing: Vec<Caveat>,
    /// That the machine is too busy, if it is.
    pub busy: Option<Caveat>,
    /// Whether a signal has stopped the program for a while: what was late then is not the machine's doing.
    pub is_stopped: bool,
    /// The scheduled faults that had no effect, and why; known at the end.
    pub unmet: Vec<Caveat>,
}

/// A reason to doubt figures. Doubts are a set: none of them makes another one smaller.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Doubt {
    pub leaves: Leaves,
    pub why: Caveat,
}

/// Which results stand in spite of a doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// No result.
    Nothing,
    /// Damage: it is read from the books, and whatever is lost or fails later does not undo it.
    Damage,
    /// An upper bound that is broken: a fault that did not come true broke nothing.
    Excess,
    /// What can't change any more.
    Decided,
    /// What held in spite of it.
    Success,
    /// Everything but that there was no damage: nothing has put the lock to the test.
    AllButSafety,
    /// Every result: what comes from stalls is subtracted from each figure by itself.
    All,
}

/// Adds a reason. Returns whether it is new.
pub(crate) fn add(known: &mut Vec<Caveat>, why: &Caveat) -> bool {
    let is_new = !known.contains(why);
    if is_new {
        known.push(why.clone());
    }
    is_new
}

impl Flaws {
    /// What casts doubt on every figure of the run: losses, what voids it, scheduled faults without effect.
    pub fn doubts(&self) -> Vec<Doubt> {
        let all = |leaves, reasons: &[Caveat]| -> Vec<Doubt> {
            reasons.iter().map(|why| Doubt::new(leaves, why.clone())).collect()
        };
        [
            all(Leaves::Damage, &self.lost),
            all(Leaves::Nothing, &self.void),
            all(Leaves::Excess, &self.unmet),
        ]
        .concat()
    }
}

impl Doubt {
    pub const fn new(leaves: Leaves, why: Caveat) -> Self {
        Self { leaves, why }
    }
}
