use super::super::super::spec::{AccountLocks, ArmSpec};
use super::super::super::whole::Scenario;
use super::spec::PaymentSpec;

/// What is valid but will probably not show what its author wants, a line each: under both locks a payment occupies two accounts.
pub(in super::super::super) fn warnings(spec: &PaymentSpec, scenario: &Scenario) -> Vec<String> {
    let takes_both = |arm: &ArmSpec| arm.lock.is_some() && arm.locks != AccountLocks::Payer;
    let Some(rate) = scenario.swarm.rate.filter(|_| scenario.arms.iter().any(takes_both)) else {
        return Vec::new();
    };
    let accounts = spec.accounts;
    let most = accounts as f64 / 2.0 / (2.0 * scenario.database.read.mean() + spec.hold.mean());
    let line = || {
        format!(
            "swarm.rate: {rate}/s is more than {accounts} accounts can do under both locks (accounts / 2 / (2 reads + hold) = {most:.0}/s): \
             payments queue up"
        )
    };
    Some(line()).filter(|_| rate > most).into_iter().collect()
}
