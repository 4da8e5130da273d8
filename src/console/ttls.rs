//! What the sections of a run say of other TTLs, in words.

use std::time::Duration;

use super::text;
use crate::report::percent;
use lockstorm_data::scenario::{ArmSpec, Renew};
use lockstorm_run::{ArmView, Part, Snapshot};

/// An arm whose lock has a TTL.
#[derive(Debug, Clone, Copy)]
pub(super) struct TtlArm<'a> {
    pub spec: &'a ArmSpec,
    pub view: &'a ArmView,
    /// Its present TTL.
    pub ttl: Duration,
}

impl TtlArm<'_> {
    /// Whether its lock is renewed: then its sections may be longer than its TTL.
    pub fn renews(&self) -> bool {
        self.spec.renew != Renew::Off
    }
}

/// The arms whose locks have a TTL; `turned` is that of all arms, if the knob was turned.
pub(super) fn arms(snapshot: &Snapshot, turned: Option<Duration>) -> Vec<TtlArm<'_>> {
    let specs = snapshot.scenario.arms.iter().zip(&snapshot.arms);
    specs
        .filter(|(spec, _)| spec.lock.uses_nodes())
        .map(|(spec, view)| TtlArm {
            spec,
            view,
            ttl: turned.unwrap_or(spec.ttl),
        })
        .collect()
}

/// Which of them is the arm that is charted; the first if that has no TTL.
pub(super) fn place_of_charted(snapshot: &Snapshot, charted: usize, arms: &[TtlArm<'_>]) -> usize {
    let name = snapshot.arms.get(charted).map(|arm| arm.name.as_str());
    let mut names = arms.iter().map(|arm| Some(arm.view.name.as_str()));
    names.position(|own| own == name).unwrap_or(0)
}

/// A part of the sections: `1.2 %`, `< 0.03 %`, or a dash if they are too few.
pub(super) fn words(part: Option<Part>) -> String {
    match part {
        None => text::NONE.to_owned(),
        Some(Part::About(part)) => percent(part),
        Some(Part::Below(bound)) => format!("< {}", percent(bound)),
    }
}

/// What a TTL would do to the sections of the arm that is charted, or else of the first one with a TTL:
/// `1.2 % of 10,000 sections of redlock would outlast it (l: other TTLs)`; `None` if no section has ended.
pub(super) fn hint(snapshot: &Snapshot, charted: usize, ttl: Duration) -> Option<String> {
    let arms = arms(snapshot, None);
    let arm = arms.get(place_of_charted(snapshot, charted, &arms))?;
    let part = words(Some(arm.view.outlasted.part(ttl)?));
    let sections = text::count(arm.view.outlasted.sections);
    let name = text::fit(&arm.view.name, 20);
    let renewed = if arm.renews() { " if it were not renewed" } else { "" };
    Some(format!(
        "{part} of {sections} sections of {name} would outlast it{renewed} (l: other TTLs)"
    ))
}
