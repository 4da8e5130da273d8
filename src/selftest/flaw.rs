use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use lockstorm_data::metrics::{Count, Entry, Figures};
use lockstorm_data::scenario::hint;

/// What is wrong with a lock. Its name is the variant in kebab case, and so is that of its arm in the trigger that exposes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[expect(missing_docs, reason = "see `Flaw::row`")]
pub enum Flaw {
    NoNx,
    QuorumOfOne,
    PlainDel,
    NoValidityCheck,
    EarlyClock,
    WallClock,
    ExtendCreates,
    MaxIncr,
    HiddenRetry,
    EarlyRelease,
    FailOpen,
    LyingServer,
    ForgetfulServer,
}

/// What catches a broken lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "title_case")]
pub enum Layer {
    /// Two holders had reason to rely on the lock at once.
    DoubleHolds,
    /// Two were inside at once.
    DoubleUses,
    /// The ledger shows that sales were overwritten.
    LostUpdates,
    /// The stock refused sales of those who held the lock, because of their numbers.
    Fenced,
    /// Double holds that nothing explains.
    LawViolations,
}

impl Flaw {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The flaw of this name.
    ///
    /// # Errors
    /// There is none; the text has a hint.
    pub fn find(name: &str) -> Result<Self, String> {
        let known = Self::VARIANTS.iter().find(|flaw| flaw.name() == name);
        known
            .copied()
            .ok_or_else(|| format!("there is no broken lock \"{name}\"{}", hint(name, names())))
    }

    /// What must catch it, how much that must count at least (a third of what is expected), and what is wrong in words.
    pub(crate) const fn row(self) -> (&'static [Layer], u64, &'static str) {
        use Layer::{DoubleHolds, DoubleUses, Fenced, LostUpdates};
        match self {
            Self::NoNx => (&[DoubleHolds], 50, "sets the key whether or not it is there"),
            Self::QuorumOfOne => (&[DoubleHolds], 20, "is content with one vote of three"),
            Self::PlainDel => (&[DoubleHolds], 20, "deletes the key, whosever it is"),
            Self::NoValidityCheck => (&[DoubleUses], 10, "takes votes that came after its TTL"),
            Self::EarlyClock => (&[DoubleHolds], 10, "reads the clock before the reply"),
            Self::WallClock => (&[DoubleHolds], 15, "its clock is set back by 1 s now and then"),
            Self::ExtendCreates => (&[DoubleHolds], 10, "extends a key that is gone or somebody else's"),
            Self::MaxIncr => (&[Fenced], 20, "its fence is the larger of two counters"),
            Self::HiddenRetry => (&[DoubleHolds], 20, "its delete is sent again until it is answered"),
            Self::EarlyRelease => (&[LostUpdates], 50, "is released before the commit"),
            Self::FailOpen => (&[DoubleHolds], 50, "counts as granted if its node does not answer"),
            Self::LyingServer => (&[DoubleHolds], 50, "right, but its server answers OK to every SET NX"),
            Self::ForgetfulServer => (&[DoubleHolds], 10, "right, but its server loses every tenth key"),
        }
    }
}

impl Layer {
    /// What it has counted of an arm.
    pub(crate) fn of(self, figures: &Figures) -> u64 {
        match self {
            Self::DoubleHolds => figures.double_holds,
            Self::DoubleUses => figures.double_uses,
            Self::LostUpdates => figures.booked(Entry::LostUpdatesPeak),
            Self::Fenced => figures.counts[Count::Fenced],
            Self::LawViolations => figures.law_violations,
        }
    }
}

/// The names of all broken locks.
pub fn names() -> Vec<&'static str> {
    Flaw::VARIANTS.iter().map(|flaw| flaw.name()).collect()
}
