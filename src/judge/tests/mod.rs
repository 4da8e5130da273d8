use lockstorm_data::facts::Caveat;
use lockstorm_data::metrics::{Consequence, ConsequenceKind, Figures};
use lockstorm_data::scenario::{Overrides, Scenario, Source, parse};

use crate::{ArmEvidence, Evidence, Judgement, Stage, judge};

mod cause;
mod conclusion;
mod doubt;
mod expectation;
mod mark;
mod outcome;

/// A scenario that is built in.
fn scenario(name: &str) -> Scenario {
    let source = Source::open(name).expect("it is built in");
    parse(&source, &Overrides::default()).expect("it is valid")
}

/// A fault that was felt.
fn consequence() -> Consequence {
    Consequence {
        at: 1.0,
        event: Some(1),
        kind: ConsequenceKind::Refused { attempts: 3 },
    }
}

/// A run that has ended with these caveats, if all arms have these figures.
fn evidence<'a>(scenario: &'a Scenario, figures: &'a Figures, caveats: &'a [Caveat]) -> Evidence<'a> {
    Evidence {
        scenario,
        stage: Stage::Ended,
        elapsed: 20.0,
        processor_wait: None,
        used_by_others: None,
        caveats,
        missing: &[],
        arms: vec![ArmEvidence::new(figures); scenario.arms.len()],
    }
}

/// What is proven by such a run.
fn judged(scenario: &Scenario, figures: &Figures, caveats: &[Caveat]) -> Judgement {
    judge(&evidence(scenario, figures, caveats))
}

/// The position of an arm.
fn place(scenario: &Scenario, name: &str) -> usize {
    let found = scenario.arms.iter().position(|arm| arm.name == name);
    found.unwrap_or_else(|| panic!("there is no arm {name}"))
}
