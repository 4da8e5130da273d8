use lockstorm_data::facts::Caveat;
use lockstorm_data::metrics::{Consequence, ConsequenceKind, Figures};
use lockstorm_data::scenario::{Overrides, Scenario, Source, parse};

use crate::{ArmEvidence, Evidence, Stage, judge};

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

/// What casts doubt on this arm of `failover`, whose figures are empty.
fn doubts_of(stage: Stage, caveats: &[Caveat], arm: &str) -> Vec<Caveat> {
    let (scenario, figures) = (scenario("failover"), Figures::default());
    let judged = judge(&Evidence {
        scenario: &scenario,
        stage,
        elapsed: 20.0,
        processor_wait: None,
        caveats,
        missing: &[],
        arms: vec![ArmEvidence::new(&figures); scenario.arms.len()],
    });
    let place = scenario.arms.iter().position(|spec| spec.name == arm).expect("an arm");
    judged.arms[place].doubts.clone()
}
