//! What only all servers together show.

use std::collections::{BTreeMap, BTreeSet};

use crate::doctor::facts::{Facts, Server};
use crate::doctor::finding::{Check, Finding, Seen, bad, good, unknown, warning};
use lockstorm_data::metrics::units::counted;

/// The findings of the set.
pub(in crate::doctor) fn of_set(facts: &[Facts]) -> Vec<Finding> {
    let mut found = vec![(Check::Number, number(facts)), (Check::Version, versions(facts))];
    if facts.len() > 1 {
        found.insert(0, (Check::Twice, twice(facts)));
    }
    let finding = |(check, judgement)| Finding::new(check, judgement);
    found.into_iter().map(finding).collect()
}

/// What a server calls itself, if it can be asked and says so.
fn run_id(facts: &Facts) -> Option<&str> {
    facts.server.as_ref().ok()?.info("run_id")
}

/// The servers that are named more than once, each by all its names, which are given with what their server calls itself.
pub(in crate::doctor) fn repeated<'a>(named: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Vec<&'a str>> {
    let mut servers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, id) in named {
        servers.entry(id).or_default().push(name);
    }
    servers.into_values().filter(|names| names.len() > 1).collect()
}

/// That these are.
pub(in crate::doctor) fn same_servers(repeated: &[Vec<&str>]) -> String {
    let same: Vec<String> = repeated.iter().map(|names| names.join(" = ")).collect();
    format!("the same server more than once: {}", same.join(", "))
}

fn repeated_in(facts: &[Facts]) -> Vec<Vec<&str>> {
    repeated(facts.iter().filter_map(|server| Some((&*server.name, run_id(server)?))))
}

fn twice(facts: &[Facts]) -> Seen {
    let silent = facts.iter().filter(|server| run_id(server).is_none());
    let silent: Vec<&str> = silent.map(|server| &*server.name).collect();
    let repeated = repeated_in(facts);
    if !repeated.is_empty() {
        return bad(
            same_servers(&repeated),
            "name each server once, by the address of its own machine",
        );
    }
    if !silent.is_empty() {
        return unknown(
            format!("{} did not say which server it is", silent.join(", ")),
            "allow the user INFO (`ACL SETUSER … +info`), or repair what keeps it from answering, and look again",
        );
    }
    good("all are different servers")
}

/// Whether it answers, would grant a lock, and is no replica.
fn can_vote(facts: &Facts) -> bool {
    facts.server.as_ref().is_ok_and(|server| {
        let is_refused = server.trial.as_ref().is_some_and(|trial| trial.lock.is_err());
        !is_refused && server.info("role") != Some("slave")
    })
}

fn number(facts: &[Facts]) -> Seen {
    let count = facts.len();
    let spare = count.saturating_sub(1) / 2;
    let votes = count / 2 + 1;
    let silent = facts.iter().filter(|facts| !can_vote(facts)).count();
    // A server that is named twice has one vote.
    let again: usize = repeated_in(facts).iter().map(|names| names.len() - 1).sum();
    if silent + again > 0 {
        let servers = if count == 1 { "server" } else { "servers" };
        let needed = if votes == 1 { "vote is" } else { "votes are" };
        let different = counted((count - again) as u64, "server", "different servers");
        let (what, cure) = match (silent, again) {
            (_, 0) => (
                format!("{silent} can't vote now"),
                "repair what keeps them from granting locks, and look again",
            ),
            (0, _) => (format!("they are only {different}"), "name each server once"),
            _ => (
                format!("{silent} can't vote now, and they are at most {different}"),
                "repair what keeps them from granting locks, name each server once, and look again",
            ),
        };
        let now = format!("{count} {servers}: {votes} {needed} needed, and {what}, so ");
        return match spare.checked_sub(silent + again) {
            None => bad(now + "no lock can be acquired", cure),
            Some(0) => warning(now + "no other may fail", cure),
            Some(more) => warning(now + &format!("only {more} more may fail"), cure),
        };
    }
    match count {
        1 => warning(
            "1 server: a single lock, and no lock while it is away",
            "use 3 servers on machines of their own for Redlock",
        ),
        even if even % 2 == 0 => warning(
            format!(
                "{even} servers: {votes} votes are needed, so {spare} may fail, no more than of {}",
                even - 1
            ),
            format!("use {} or {} servers", even - 1, even + 1),
        ),
        odd => good(format!("{odd} servers: {votes} votes are needed, {spare} may fail")),
    }
}

fn versions(facts: &[Facts]) -> Seen {
    let answered = facts.iter().filter_map(|server| server.server.as_ref().ok());
    let said = answered.clone().filter(|server| server.info.is_ok()).count();
    let versions: BTreeSet<&str> = answered.filter_map(Server::version).collect();
    match &versions.into_iter().collect::<Vec<_>>()[..] {
        [one] if said < facts.len() => unknown(
            format!("{one} on those that said it"),
            "repair what keeps the others from answering, and look again",
        ),
        [] => unknown(
            "no server said its version",
            "repair what keeps them from answering, and look again",
        ),
        [one] => good(format!("{one} on all")),
        several => warning(
            format!("different versions: {}", several.join(", ")),
            "update all servers to the same one",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::Unreached;
    use lockstorm_data::model::CheckResult;

    #[test]
    fn who_is_silent_counts_as_failed() {
        let of = |count: usize| {
            let silent = Facts {
                name: String::new(),
                is_loopback: true,
                uses_tls: false,
                port: None,
                server: Err(Unreached::Closed),
            };
            let all = vec![silent; count];
            let (result, seen, _) = number(&all);
            (result, seen)
        };
        let (result, seen) = of(3);
        assert_eq!(result, CheckResult::Failed);
        assert_eq!(
            seen,
            "3 servers: 2 votes are needed, and 3 can't vote now, so no lock can be acquired"
        );
        assert_eq!(of(1).0, CheckResult::Failed);
    }
}
