//! Reads a scenario whole, as users want it: its parts one after the other, and what must fit together. Each mistake names what to
//! change. A value that contradicts a flag may be in the file, although the file alone is right.

use std::collections::HashSet;
use std::slice;

use super::super::about::about;
use super::super::client_arm;
use super::super::error::{ScenarioError, ScenarioErrors};
use super::super::lock::{LockKind, Topology};
use super::super::overrides::{Change, Overrides};
use super::super::reader::{Log, Reader};
use super::super::source::Source;
use super::super::tree;
use super::super::value;
use super::super::whole::Scenario;
use super::super::workload::{self, WorkloadSpec};
use super::comparison::{Known, expectations};
use super::{arms, database, faults, lab, swarm};
use crate::model::{Lack, printable};

/// Reads a scenario with the changes of the command line.
///
/// # Errors
/// All mistakes in the scenario, in the order of the file: broken TOML (then only that), unknown keys and names,
/// impossible values, contradictions.
pub fn parse(source: &Source, overrides: &Overrides) -> Result<Scenario, ScenarioErrors> {
    let changes = overrides.changes();
    let source = match overrides.client.as_slice() {
        [] => source,
        command => &with_client(source, overrides.changes(), command)?,
    };
    read(source, &changes).map_err(|errors| blame_flags(source, &changes, errors))
}

/// The scenario with one more arm, which is another program's.
fn with_client(source: &Source, mut changes: Vec<Change>, command: &[String]) -> Result<Source, ScenarioErrors> {
    let of_client = format!("arm.{}.", client_arm::NAME);
    changes.retain(|change| !change.is_within(&of_client));
    let scenario = read(source, &changes).map_err(|errors| blame_flags(source, &changes, errors))?;
    Ok(Source {
        name: source.name.clone(),
        text: format!("{}\n{}", source.text, client_arm::arm(&scenario, command)),
    })
}

/// Makes errors that the file alone doesn't have name the flag that causes them instead of a line of the file.
fn blame_flags(source: &Source, changes: &[Change], errors: ScenarioErrors) -> ScenarioErrors {
    if changes.is_empty() {
        return errors;
    }
    let of = |changes: &[Change]| -> HashSet<ScenarioError> {
        let errors = read(source, changes).err().map(|errors| errors.0);
        errors.into_iter().flatten().collect()
    };
    let own = of(&[]);
    let alone: Vec<(&str, HashSet<ScenarioError>)> = changes
        .iter()
        .map(|change| (change.flag.as_str(), of(slice::from_ref(change))))
        .collect();
    let blamed = |error: ScenarioError| {
        let Some(key) = key_in_file(source, &error.place).filter(|_| !own.contains(&error)) else {
            return error;
        };
        let guilty = match alone.iter().find(|(_, made)| made.contains(&error)) {
            Some((flag, _)) => (*flag).to_owned(),
            // No flag causes this alone, so they cause it together.
            None => alone.iter().map(|(flag, _)| *flag).collect::<Vec<_>>().join(" "),
        };
        ScenarioError::new(format!("{guilty}: {key}"), error.message)
    };
    ScenarioErrors(errors.0.into_iter().map(blamed).collect())
}

/// The key of a place in the file, with or without its line; `None` for a flag.
fn key_in_file<'a>(source: &Source, place: &'a str) -> Option<&'a str> {
    let name = ScenarioError::new(source.name.as_str(), "").place;
    let rest = place.strip_prefix(&name)?.strip_prefix(':')?;
    Some(
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':')
            .trim_start(),
    )
}

/// Reads a scenario with the changes of the command line. Each mistake is at the place where it shows.
fn read(source: &Source, changes: &[Change]) -> Result<Scenario, ScenarioErrors> {
    let mut tree = tree::parse(&source.name, &source.text)?;
    let log = Log::new(&source.name);
    for change in changes {
        if let Err(error) = change.apply(&mut tree) {
            log.append(error);
        }
    }
    tree::hide_urls(&mut tree);
    let mut root = Reader::root(&log, &tree);

    // Names are printed wherever the scenario is mentioned.
    let name = printable(&source.stem());
    let title = root
        .get("title", value::text)
        .map_or(name.clone(), |title| printable(&title));
    let caption = root.get("caption", value::caption);
    let lesson = root.get("lesson", value::lesson);
    let look_at = root.get("look_at", value::text);
    let to_try = root.get("try", value::text);
    let duration = root.listed("duration", value::positive);
    let warmup = root.listed("warmup", value::duration);
    let drain = root.get("drain", value::duration);
    let seed = root.listed_whole("seed");
    let mut lab = lab::read(root.table("lab"));
    let mut workload = workload::read(root.table("workload"));
    let database = database::read(root.table("database"));
    let arms = arms::read(&mut root, &lab, &workload, &database);
    if arms.iter().any(|arm| arm.topology == Topology::Replicated) {
        lab.replicated.get_or_insert_default();
    } else if lab.replicated.is_some() && root.sound(&["arm"]) {
        let why = "its table \"replicated\" is never used: no arm has topology = \"replicated\"";
        root.complain("lab", why);
    }
    if arms.iter().any(|arm| arm.topology == Topology::Cluster) {
        lab.cluster.get_or_insert_default();
    } else if lab.cluster.is_some() && root.sound(&["arm"]) {
        let why = "its table \"cluster\" is never used: no arm has lock = \"cluster\" or topology = \"cluster\"";
        root.complain("lab", why);
    }
    lab.etcd = arms.iter().any(|arm| arm.lock == LockKind::Etcd);
    let swarm = swarm::read(root.table("swarm"), duration, arms.len());
    if let WorkloadSpec::Job(job) = &mut workload
        && let Some((key, why)) = job.fit(&swarm, duration, warmup)
    {
        root.complain(key, why);
    }
    let known = Known {
        arms: &arms,
        workload: &workload,
        has_rate: swarm.rate.is_some(),
    };
    let faults = faults::read(&mut root, &lab, swarm.servers, duration, known);
    if lab.cluster.is_some() && faults.iter().any(|fault| fault.needs(Lack::Proxy)) {
        let why = "a lag or a cut makes no sense beside arms on a cluster: its nodes are not behind the proxy";
        root.complain("fault", why);
    }
    if let Some(fault) = faults.iter().find(|fault| lab.etcd && !fault.reaches_etcd()) {
        let why = format!(
            "{} makes no sense beside arms on etcd, which it does not reach: kill, shut down, pause, restart or empty its hosts",
            fault.action.word()
        );
        root.complain("fault", why);
    }
    let expect = expectations(&root.table("expect"), known);
    root.finish();
    log.into_result()?;
    Ok(Scenario {
        name,
        title,
        about: about(&source.text),
        caption,
        lesson,
        look_at,
        to_try,
        duration,
        warmup,
        drain,
        seed,
        lab,
        swarm,
        workload,
        database,
        arms,
        faults,
        expect,
    })
}
