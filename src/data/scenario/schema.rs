//! The JSON Schema of a scenario, for editors that complete and check TOML by one.

use serde_json::{Map, Value, json};

use super::keys::{Form, Key, keys, tables};

/// The schema, made from the table of keys: which there are, what form each has, what it is.
pub fn schema() -> Value {
    let mut root = object("", false);
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = "A scenario of Lockstorm".into();
    root
}

/// The table that the table of keys calls `section`.
fn object(section: &str, several: bool) -> Value {
    let mut properties = Map::new();
    let (mut required, mut others) = (Vec::new(), json!(false));
    for key in keys().filter(|key| key.section == section) {
        for name in key.each() {
            if name.starts_with('"') {
                others = property(key);
                continue;
            }
            properties.insert(name.to_owned(), property(key));
            if key.left_out == "required" {
                required.push(name);
            }
        }
    }
    let above = section.trim_matches(['[', ']']);
    for table in tables() {
        let (below, name) = (table.section, table.section.trim_matches(['[', ']']));
        let inner = match above {
            "" => Some(name),
            above => name.strip_prefix(above).and_then(|rest| rest.strip_prefix('.')),
        };
        if let Some(inner) = inner.filter(|inner| !inner.is_empty() && !inner.contains('.')) {
            properties.insert(inner.to_owned(), object(below, below.starts_with("[[")));
            if table.left_out == "required" {
                required.push(inner);
            }
        }
    }
    let table = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": others,
    });
    if several {
        json!({ "type": "array", "items": table })
    } else {
        table
    }
}

fn property(key: Key) -> Value {
    let mut forms: Vec<Value> = key.forms().map(|form| of(&form)).collect();
    let mut schema = match forms.len() {
        1 => forms.remove(0),
        _ => json!({ "anyOf": forms }),
    };
    let left_out = match key.left_out {
        "" | "required" => String::new(),
        left_out => format!(" (left out: {left_out})"),
    };
    schema["description"] = format!("{}{left_out}", key.what).replace('`', "").into();
    schema
}

fn of(form: &Form) -> Value {
    match form {
        Form::Text => json!({ "type": "string", "minLength": 1 }),
        Form::Texts => json!({ "type": ["array", "string"], "items": { "type": "string" } }),
        Form::Duration => json!({ "type": "string", "pattern": r"^\s*(0|(\d+(\.\d+)?\s*[numshdwMyµ][a-z]*\s*)+)$" }),
        Form::Rate => {
            json!({ "type": ["number", "string"], "exclusiveMinimum": 0, "pattern": r"^\s*[\d.]+\s*(/s)?\s*$" })
        }
        Form::Number => json!({ "type": "number" }),
        Form::Whole(least, u64::MAX) => json!({ "type": "integer", "minimum": least }),
        Form::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Form::Flag => json!({ "type": "boolean" }),
        Form::Words(words) => json!({ "enum": words }),
        Form::Table => json!({ "type": "object" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::builtin;

    /// Why `value` does not fit, as far as the schemas of this file go.
    fn fault(schema: &Value, value: &toml::Value, at: &str) -> Option<String> {
        if let Some(any) = schema["anyOf"].as_array() {
            let all: Option<Vec<String>> = any.iter().map(|one| fault(one, value, at)).collect();
            return all.map(|all| all.join("; "));
        }
        if let Some(words) = schema["enum"].as_array() {
            let is_one = words.iter().any(|word| word.as_str() == value.as_str());
            return (!is_one).then(|| format!("{at}: {value} is none of {words:?}"));
        }
        let kind = match value {
            toml::Value::String(_) => "string",
            toml::Value::Integer(_) => "integer",
            toml::Value::Float(_) => "number",
            toml::Value::Boolean(_) => "boolean",
            toml::Value::Array(_) => "array",
            toml::Value::Table(_) | toml::Value::Datetime(_) => "object",
        };
        let kinds = schema["type"]
            .as_array()
            .cloned()
            .unwrap_or(vec![schema["type"].clone()]);
        let fits = |one: &Value| one == kind || (one == "number" && kind == "integer");
        if !kinds.iter().any(fits) {
            return Some(format!("{at}: is a {kind}, not {kinds:?}"));
        }
        match value {
            toml::Value::Integer(n) => {
                let beyond = schema["minimum"].as_i64().is_some_and(|least| *n < least)
                    || schema["maximum"].as_i64().is_some_and(|most| *n > most);
                beyond.then(|| format!("{at}: {n} is out of range"))
            }
            toml::Value::Array(items) => items.iter().find_map(|item| fault(&schema["items"], item, at)),
            toml::Value::Table(table) => table.iter().find_map(|(key, value)| {
                let place = format!("{at}.{key}");
                match (schema["properties"].get(key), &schema["additionalProperties"]) {
                    (Some(property), _) => fault(property, value, &place),
                    (None, Value::Bool(false)) => Some(format!("{place}: unknown")),
                    (None, Value::Null) => None,
                    (None, others) => fault(others, value, &place),
                }
            }),
            _ => None,
        }
    }

    #[test]
    fn every_built_in_scenario_fits_and_nonsense_does_not() {
        let schema = schema();
        for scenario in builtin::ALL {
            let value: toml::Value = toml::from_str(scenario.text).unwrap();
            assert_eq!(fault(&schema, &value, scenario.name), None);
        }
        for (text, words) in [
            ("[lab]\nhost = 3", "unknown"),
            ("[lab]\nhosts = 10", "out of range"),
            ("[lab]\nhosts = \"3\"", "is a string"),
            ("[[arm]]\nlock = \"reddlock\"", "none of"),
            ("[lab.cluster]\nnode_timeout = 2", "is a integer"),
        ] {
            let said = fault(&schema, &toml::from_str(text).unwrap(), "text").expect(text);
            assert!(said.contains(words), "{text}: {said}");
        }
        assert_eq!(
            schema["properties"]["arm"]["items"]["required"],
            json!(["name", "lock"])
        );
        assert_eq!(schema["required"], json!(["workload", "arm"]));
    }
}
