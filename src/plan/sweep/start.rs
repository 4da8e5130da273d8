//! Where a search begins, and how its values are written.

use toml::{Table, Value};

use super::cell::paths;
use lockstorm_data::scenario::Scenario;

/// The value that a search begins with if the scenario has none.
const FIRST: f64 = 50.0;

/// What kind of values a key has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// `200/s`.
    Rate,
    /// A time in whole milliseconds, `50ms`.
    Millis,
    /// A whole number.
    Whole,
}

impl Scale {
    /// A value in the form of a scenario.
    pub fn write(self, value: f64) -> String {
        match self {
            Self::Rate => format!("{value}/s"),
            Self::Millis => format!("{value:.0}ms"),
            Self::Whole => format!("{value:.0}"),
        }
    }
}

/// The value of the key in the scenario, or 50; and what kind it is of. Of a key of several arms it is that of the first one.
///
/// # Errors
/// Its value is neither a number, a rate nor a time.
pub fn start(key: &str, scenario: &Scenario) -> Result<(f64, Scale), String> {
    let table: Table = scenario.to_toml().parse().map_err(|error| format!("{key}: {error}"))?;
    let path = paths(key, scenario).into_iter().next();
    let value = path.as_deref().and_then(|path| find(&table, path));
    let is_rate = path.is_some_and(|path| path == "swarm.rate");
    let wrong = || {
        Err(format!(
            "--find-max {key}: its value is neither a number, a rate nor a time, so nothing is larger; use --over"
        ))
    };
    match value {
        None if is_rate => Ok((FIRST, Scale::Rate)),
        None => Ok((FIRST, Scale::Whole)),
        Some(Value::Integer(number)) => Ok((number as f64, Scale::Whole)),
        Some(Value::Float(number)) if is_rate => Ok((number, Scale::Rate)),
        Some(Value::String(text)) => match text.strip_suffix("/s").map(str::parse) {
            Some(Ok(rate)) => Ok((rate, Scale::Rate)),
            Some(Err(_)) => wrong(),
            None => match humantime::parse_duration(&text) {
                Ok(time) if !time.is_zero() => Ok(((time.as_secs_f64() * 1e3).max(1.0).round(), Scale::Millis)),
                _ => wrong(),
            },
        },
        Some(_) => wrong(),
    }
}

/// The value at a dotted path; an arm is found by its name.
fn find(table: &Table, path: &str) -> Option<Value> {
    let mut here = Value::Table(table.clone());
    for part in path.split('.') {
        here = match here {
            Value::Table(table) => table.get(part)?.clone(),
            Value::Array(arms) => arms
                .into_iter()
                .find(|arm| arm.get("name").and_then(Value::as_str) == Some(part))?,
            _ => return None,
        };
    }
    Some(here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::scenario::{Overrides, Source, parse};

    #[test]
    fn a_search_begins_at_the_scenarios_own_value() {
        let text = "title = \"t\"\nduration = \"5s\"\n[swarm]\nservers = 2\nworkers = 20\nrate = 100\n\
                    [workload]\nkind = \"inventory\"\nproducts = 5\nstock = 100\nhold = \"5ms\"\n\
                    [[arm]]\nname = \"none\"\nlock = \"none\"\n[[arm]]\nname = \"a\"\nlock = \"single\"\nttl = \"1s\"\n";
        let source = Source {
            name: "test".to_owned(),
            text: text.to_owned(),
        };
        let scenario = parse(&source, &Overrides::default()).unwrap();
        let found = |key: &str| start(key, &scenario).unwrap();
        assert_eq!(found("rate"), (100.0, Scale::Rate));
        assert_eq!(found("workers"), (20.0, Scale::Whole));
        assert_eq!(found("workload.stock"), (100.0, Scale::Whole));
        assert_eq!(found("ttl"), (1000.0, Scale::Millis));
        assert_eq!(found("arm.a.ttl"), (1000.0, Scale::Millis));
        assert!(start("arm.a.lock", &scenario).is_err_and(|why| why.contains("--over")));
        assert_eq!(
            [Scale::Rate, Scale::Millis, Scale::Whole].map(|scale| scale.write(12.0)),
            ["12/s", "12ms", "12"]
        );
    }
}
