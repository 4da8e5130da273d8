use std::fmt;

use serde::{Deserialize, Serialize};

use lockstorm_data::scenario::{Overrides, Scenario};

/// One setting: a value for each key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell(pub Vec<(String, String)>);

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(key, value)| format!("{key} {value}")).collect();
        f.write_str(&parts.join(", "))
    }
}

impl Cell {
    /// The changes that this makes to the scenario, after those that are made anyway.
    pub fn overrides(&self, scenario: &Scenario, others: &Overrides) -> Overrides {
        let mut changed = others.clone();
        for (key, value) in &self.0 {
            changed
                .set
                .extend(paths(key, scenario).into_iter().map(|path| format!("{path}={value}")));
        }
        changed
    }
}

/// The dotted paths that a key means: a key without a dot that is not one of the file's own is that of every arm with lock
/// nodes.
pub(super) fn paths(key: &str, scenario: &Scenario) -> Vec<String> {
    const OF_THE_FILE: [&str; 4] = ["title", "caption", "duration", "seed"];
    match key {
        "rate" | "workers" | "servers" | "think" => vec![format!("swarm.{key}")],
        "warmup" => vec![key.to_owned()],
        key if key.contains('.') || OF_THE_FILE.contains(&key) => vec![key.to_owned()],
        key => {
            let arms = scenario.arms.iter().filter(|arm| arm.lock.uses_nodes());
            arms.map(|arm| format!("arm.{}.{key}", arm.name)).collect()
        }
    }
}
