//! The scenarios that expose flaws, each with its arms.

use std::sync::Arc;

use super::flaw::Flaw;
use super::maker::{Maker, Mutex};
use lockstorm_data::scenario::{LockKind, Overrides, Scenario, ScenarioErrors, Source, parse};
use lockstorm_run::under_test::{OtherArms, OtherLocks};

/// The name of the arm of the mutex that all app servers share.
pub(crate) const MUTEX: &str = "mutex";

const TRIGGERS: [&str; 4] = [
    include_str!("triggers/contention.toml"),
    include_str!("triggers/overrun.toml"),
    include_str!("triggers/late-replies.toml"),
    include_str!("triggers/faults.toml"),
];

/// A scenario, and what makes the locks of its arms.
pub(crate) type Play = (Scenario, OtherArms);

/// The scenarios that expose some of these flaws, without the arms of all others.
///
/// # Errors
/// A scenario is not valid, which is a bug.
pub(crate) fn plays(wanted: &[Flaw]) -> Result<Vec<Play>, ScenarioErrors> {
    let mut plays = Vec::new();
    for text in TRIGGERS {
        let source = Source {
            name: "selftest".to_owned(),
            text: text.to_owned(),
        };
        let mut scenario = parse(&source, &Overrides::default())?;
        scenario
            .arms
            .retain(|arm| Flaw::find(&arm.name).map_or(true, |flaw| wanted.contains(&flaw)));
        let mut others = OtherArms::new();
        let mut exposes = false;
        for arm in &scenario.arms {
            let maker: Arc<dyn OtherLocks> = match Flaw::find(&arm.name) {
                Ok(flaw) => Arc::new(Maker {
                    flaw,
                    hosts: arm.hosts_in(&scenario.lab),
                }),
                Err(_) if arm.lock == LockKind::Local => Arc::new(Mutex(lockstorm_lock::Lock::local())),
                Err(_) => continue,
            };
            exposes |= arm.name != MUTEX;
            others.insert(arm.name.clone(), maker);
        }
        plays.extend(exposes.then_some((scenario, others)));
    }
    Ok(plays)
}
