//! What only all servers together show.

use std::collections::{BTreeMap, BTreeSet};

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Check, Finding};

/// The findings of the set.
pub(in crate::doctor) fn of_set(facts: &[Facts]) -> Vec<Finding> {
    vec![twice(facts), number(facts.len()), versions(facts)]
}

fn twice(facts: &[Facts]) -> Finding {
    let mut servers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut silent = Vec::new();
    for server in facts {
        match server.server.as_ref().ok().and_then(|said| said.info("run_id")) {
            Some(id) => servers.entry(id).or_default().push(&server.name),
            None => silent.push(server.name.as_str()),
        }
    }
    let same: Vec<String> = servers
        .values()
        .filter(|names| names.len() > 1)
        .map(|names| names.join(" = "))
        .collect();
    if !same.is_empty() {
        return Finding::bad(
            Check::Twice,
            format!("the same server more than once: {}", same.join(", ")),
            "name each server once, by the address of its own machine",
        );
    }
    if facts.len() > 1 && !silent.is_empty() {
        return Finding::unknown(
            Check::Twice,
            format!("{} did not say which server it is", silent.join(", ")),
            "allow the user INFO (`ACL SETUSER … +info`), or repair what keeps it from answering, and look again",
        );
    }
    Finding::good(Check::Twice, "all are different servers")
}

fn number(count: usize) -> Finding {
    let spare = count.saturating_sub(1) / 2;
    let votes = count / 2 + 1;
    match count {
        1 => Finding::warning(
            Check::Number,
            "1 server: a single lock, and no lock while it is away",
            "use 3 servers on machines of their own for Redlock",
        ),
        even if even % 2 == 0 => Finding::warning(
            Check::Number,
            format!(
                "{even} servers: {votes} votes are needed, so {spare} may fail, no more than of {}",
                even - 1
            ),
            format!("use {} or {} servers", even - 1, even + 1),
        ),
        odd => Finding::good(
            Check::Number,
            format!("{odd} servers: {votes} votes are needed, {spare} may fail"),
        ),
    }
}

fn versions(facts: &[Facts]) -> Finding {
    let said = facts.iter().filter_map(|server| server.server.as_ref().ok());
    let versions: BTreeSet<&str> = said
        .filter_map(|said| said.info("valkey_version").or_else(|| said.info("redis_version")))
        .collect();
    let said = facts
        .iter()
        .filter_map(|server| server.server.as_ref().ok()?.info.as_ref().ok())
        .count();
    let all = versions.into_iter().collect::<Vec<_>>();
    match all.as_slice() {
        [one] if said < facts.len() => Finding::unknown(
            Check::Version,
            format!("{one} on those that said it"),
            "repair what keeps the others from answering, and look again",
        ),
        [] => Finding::unknown(
            Check::Version,
            "no server said its version",
            "repair what keeps them from answering, and look again",
        ),
        [one] => Finding::good(Check::Version, format!("{one} on all")),
        several => Finding::warning(
            Check::Version,
            format!("different versions: {}", several.join(", ")),
            "update all servers to the same one",
        ),
    }
}
