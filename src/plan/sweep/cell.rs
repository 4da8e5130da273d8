use std::fmt;

use serde::{Deserialize, Serialize};

use lockstorm_data::scenario::{Overrides, Scenario};

/// One setting: a value for each key; without any it is the scenario as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell(pub Vec<(String, String)>);

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(key, value)| format!("{key} {value}")).collect();
        match parts.as_slice() {
            [] => f.write_str("the scenario as it is"),
            parts => f.write_str(&parts.join(", ")),
        }
    }
}

impl Cell {
    /// The name of a file about its play with this seed: `ttl=20ms,seed=7.json`. What could mislead in a name is in percent
    /// encoding, so that no two cells share one.
    pub fn file_name(&self, seed: u64) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
        let safe = |byte: u8| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02x}"),
        };
        let safe = |text: &String| text.bytes().map(safe).collect::<String>();
        let parts = self
            .0
            .iter()
            .map(|(key, value)| format!("{}={},", safe(key), safe(value)));
        parts.collect::<String>() + &format!("seed={seed}.json")
    }

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

/// The keys without a dot that are the file's own.
pub const OF_THE_FILE: [&str; 8] = [
    "title", "caption", "lesson", "look_at", "try", "duration", "warmup", "seed",
];

/// The dotted paths that a key means: a key without a dot that is not one of the file's own is that of every arm with lock
/// nodes.
pub(super) fn paths(key: &str, scenario: &Scenario) -> Vec<String> {
    match key {
        "rate" | "workers" | "servers" | "think" => vec![format!("swarm.{key}")],
        key if key.contains('.') || OF_THE_FILE.contains(&key) => vec![key.to_owned()],
        key => {
            let arms = scenario.arms.iter().filter(|arm| arm.lock.uses_nodes());
            arms.map(|arm| format!("arm.{}.{key}", arm.name)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_a_file_name_of_its_own_that_leads_nowhere_else() {
        let name = |pairs: &[(&str, &str)]| {
            let owned = pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            Cell(owned.collect()).file_name(7)
        };
        let two = name(&[("arm.redlock.ttl", "1.5s"), ("rate", "200/s")]);
        assert_eq!(two, "arm.redlock.ttl=1.5s,rate=200%2fs,seed=7.json");
        assert_eq!(
            name(&[("a", "../x,b=1"), ("b", "é")]),
            "a=..%2fx%2cb%3d1,b=%c3%a9,seed=7.json"
        );
    }
}
