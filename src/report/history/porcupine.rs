use std::collections::BTreeMap;

use serde_json::json;

use super::order::processes;
use super::whole::LockUse;
use lockstorm_data::history::Answer;

/// All operations of an arm, with the names that Go's `encoding/json` reads into a `porcupine.Operation`. What was never answered returns
/// at the end of its key's history.
pub(super) fn json(keys: &BTreeMap<String, Vec<LockUse>>) -> String {
    let mut lines = Vec::new();
    for (key, uses) in keys {
        let end = uses.iter().map(|one| one.returned).max();
        lines.extend(processes(uses).into_iter().map(|(process, one)| {
            let op = if one.releases { "release" } else { "acquire" };
            let returned = end.filter(|_| one.answer == Answer::Unknown).unwrap_or(one.returned);
            let input = json!({ "op": op, "key": key, "client": one.client });
            json!({ "ClientId": process, "Input": input, "Call": one.call, "Output": one.answer, "Return": returned })
                .to_string()
        }));
    }
    format!("[{}]\n", lines.join(",\n"))
}
