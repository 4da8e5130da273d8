use super::super::super::whole::Scenario;
use super::spec::JobSpec;

/// What is valid but will probably not show what its author wants, a line each: each tick occupies a worker of every app server, for
/// the skew and for its run.
pub(in super::super::super) fn warnings(spec: &JobSpec, scenario: &Scenario) -> Vec<String> {
    let Some(rate) = scenario.swarm.rate else {
        return Vec::new();
    };
    let busy = rate * (spec.skew.as_secs_f64() / 2.0 + scenario.database.read.mean() + spec.hold.mean());
    let workers = scenario.swarm.workers;
    let line = || {
        format!(
            "swarm.workers: {workers} on each app server are fewer than the {busy:.0} that ticks occupy on average (rate × (skew / 2 + read + \
             hold)): ticks queue up"
        )
    };
    Some(line()).filter(|_| busy > workers as f64).into_iter().collect()
}
