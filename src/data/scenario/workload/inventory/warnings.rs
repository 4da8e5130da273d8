use super::super::super::spec::Popularity;
use super::super::super::whole::Scenario;
use super::spec::InventorySpec;
use crate::metrics::Metric;

/// What is valid but will probably not show what its author wants, a line each.
pub(in super::super::super) fn warnings(spec: &InventorySpec, scenario: &Scenario) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(overload(spec, scenario));
    lines.extend(cannot_sell_out(spec, scenario));
    lines
}

/// A product is one lock: a lock arm can do at most `products / (read + hold)` requests a second.
fn overload(spec: &InventorySpec, scenario: &Scenario) -> Option<String> {
    let rate = scenario.swarm.rate?;
    scenario.arms.iter().find(|arm| arm.lock.is_some())?;
    let (products, most) = (spec.products, under_locks(spec, scenario));
    (rate > most).then(|| {
        format!(
            "swarm.rate: {rate}/s is more than {products} locks can do (products / (read + hold) = {most:.0}/s): requests queue up"
        )
    })
}

fn under_locks(spec: &InventorySpec, scenario: &Scenario) -> f64 {
    spec.products as f64 / (scenario.database.read.mean() + spec.hold.mean())
}

/// Overselling shows only beyond the stock. If the popularity is not uniform, some products sell out long before the
/// others.
fn cannot_sell_out(spec: &InventorySpec, scenario: &Scenario) -> Vec<String> {
    if spec.popularity != Popularity::Uniform {
        return Vec::new();
    }
    let units = spec.products as f64 * spec.stock as f64;
    let swarm = &scenario.swarm;
    let cycle = swarm.think.as_secs_f64() + scenario.database.read.mean() + spec.hold.mean();
    let pace = swarm.rate.unwrap_or((swarm.servers * swarm.workers) as f64 / cycle);
    let requests = swarm.requests.map_or(f64::INFINITY, |n| n as f64);
    let mut lines = Vec::new();
    let expected = scenario.expect.iter();
    for expectation in expected.filter(|expectation| expectation.metric == Metric::Oversold) {
        let name = &expectation.arm;
        let Some(arm) = scenario.arms.iter().find(|arm| arm.name == *name) else {
            continue;
        };
        let pace = match arm.lock.is_some() {
            true => pace.min(under_locks(spec, scenario)),
            false => pace,
        };
        let most = requests.min(pace * scenario.duration.as_secs_f64());
        if most < units {
            let but = match expectation.op.holds(0.0, expectation.bound) {
                true => "expect lost_updates too, which shows before that",
                false => "it will hardly be met",
            };
            lines.push(format!(
                "expect \"{name}.oversold\": about {most:.0} of {units:.0} units can be sold, and hardly any beyond its product's stock: {but}"
            ));
        }
    }
    lines
}
