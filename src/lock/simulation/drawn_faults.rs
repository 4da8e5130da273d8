use super::draw::Drawn;
use super::settings::{Faults, Weights};

/// [`Faults`] in the form that is drawn from.
#[derive(Debug)]
pub(super) struct DrawnFaults {
    pub(super) every: Drawn,
    pub(super) lasts: Drawn,
    pub(super) weights: Weights,
}

impl From<&Faults> for DrawnFaults {
    fn from(faults: &Faults) -> Self {
        Self {
            every: (&faults.every).into(),
            lasts: (&faults.lasts).into(),
            weights: faults.weights,
        }
    }
}
