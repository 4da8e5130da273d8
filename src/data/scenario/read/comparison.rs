//! Comparisons of figures, in `when` and `[expect]`: `redlock.holding >= 32 and redlock.partial == 0`.

use strum::VariantArray;

use super::super::expectation::{Expectation, Op};
use super::super::reader::Reader;
use super::super::spec::ArmSpec;
use super::super::suggest;
use super::super::tree::Value;
use super::super::value;
use super::super::whole::Scenario;
use super::super::words::Words;
use super::super::workload::WorkloadSpec;
use crate::metrics::units::count;
use crate::metrics::{Group, Metric, Unit};

/// The most comparisons in one condition: the run evaluates them a hundred times a second.
const MOST: usize = 32;

/// What figures there are: those of the arms, of the workload, and of a load with a rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub arms: &'a [ArmSpec],
    pub workload: &'a WorkloadSpec,
    /// Whether requests are due at a rate.
    pub has_rate: bool,
}

impl Scenario {
    /// The groups of figures that an arm of it can't have.
    pub fn lacks(&self, arm: &ArmSpec) -> Vec<Group> {
        let known = Known {
            arms: &self.arms,
            workload: &self.workload,
            has_rate: self.swarm.rate.is_some(),
        };
        let groups = Group::VARIANTS.iter().copied();
        groups
            .filter(|group| known.check(*group, "figures", arm).is_err())
            .collect()
    }
}

impl Known<'_> {
    /// Checks whether the arm has the figures of this group, one of which has this name: otherwise it would be 0 for ever.
    fn check(&self, group: Group, name: &str, arm: &ArmSpec) -> Result<(), String> {
        let of = &arm.name;
        let own = self.workload.about().groups();
        match group {
            Group::Load | Group::Now => Ok(()),
            _ if arm.lock.has(group) || own.contains(&group) => Ok(()),
            Group::Locks | Group::Servers | Group::Losses | Group::Leases | Group::LockNodes if !arm.lock.is_some() => {
                Err(format!("\"{of}\" takes no lock, so it has no {name}"))
            }
            Group::Locks | Group::Servers | Group::Losses => {
                Err(format!("the lock of \"{of}\" is on no server, so it has no {name}"))
            }
            Group::Leases => Err(format!("the lock of \"{of}\" has no TTL, so it has no {name}")),
            Group::LockNodes => Err(format!("the lock of \"{of}\" has no nodes, so it has no {name}")),
            Group::Masters if arm.has_master() => Ok(()),
            Group::Masters => Err(format!(
                "the lock of \"{of}\" is neither on replicated nodes nor on a cluster, so it has no {name}"
            )),
            Group::Clients => Err(format!("the lock of \"{of}\" is no client, so it has no {name}")),
            Group::OpenLoop if self.has_rate => Ok(()),
            Group::OpenLoop => Err(format!("without swarm.rate there is no {name}")),
            Group::Pages if own.contains(&Group::CacheFill) => {
                Err(format!("no cache has pages, so there are no {name}"))
            }
            _ => {
                let kind = self.workload.name().word();
                Err(format!("{} workload has no {name}", with_article(&kind)))
            }
        }
    }
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}

/// `[expect]`.
pub(super) fn expectations(reader: &Reader<'_>, known: Known<'_>) -> Vec<Expectation> {
    let mut expectations = Vec::new();
    for (key, node) in reader.entries() {
        let found = match &node.value {
            Value::Text(text) => figure(key, known).and_then(|(arm, metric)| {
                has_end(metric)?;
                bounds(text, &arm, metric)
            }),
            Value::Table(_) => Err(format!(
                "is a table; put the whole name in quotes: \"{key}.oversold\" = \"== 0\""
            )),
            other => {
                let is = other.kind();
                Err(format!("is {is}; write a comparison in quotes, like \"== 0\""))
            }
        };
        match found {
            Ok(found) => expectations.extend(found),
            Err(message) => reader.log.add(&node.at, &reader.key(key), message),
        }
    }
    expectations
}

/// Checks whether there is such a figure at the end of a run.
fn has_end(metric: Metric) -> Result<(), String> {
    if metric.row().group == Group::Now {
        return Err(format!(
            "{} is a figure of the moment: it has no final value, so only the `when` of a fault can use it",
            metric.name()
        ));
    }
    Ok(())
}

/// All comparisons in `text`, which are joined by `and`.
pub(super) fn parse(text: &str, known: Known<'_>) -> Result<Vec<Expectation>, String> {
    let comparisons = text.split(" and ").count();
    if comparisons > MOST {
        return Err(format!("has {} comparisons; {MOST} at most", count(comparisons as u64)));
    }
    text.split(" and ").map(|part| comparison(part.trim(), known)).collect()
}

fn comparison(text: &str, known: Known<'_>) -> Result<Expectation, String> {
    let Some(at) = text.find(['<', '>', '=', '!']) else {
        return Err(format!(
            "\"{text}\" is not a comparison; write it like \"redlock.holding >= 32\""
        ));
    };
    let (subject, bound) = text.split_at(at);
    let (arm, metric) = figure(subject.trim(), known)?;
    bounds(bound, &arm, metric)?
        .pop()
        .ok_or_else(|| format!("\"{text}\" is not a comparison"))
}

/// `arm.metric`.
fn figure(text: &str, known: Known<'_>) -> Result<(String, Metric), String> {
    let Some((name, metric)) = text.rsplit_once('.') else {
        return Err(format!(
            "\"{text}\" is not a figure; write it like \"redlock.oversold\": the arm, a dot, the figure"
        ));
    };
    let Some(arm) = known.arms.iter().find(|arm| arm.name == name) else {
        let names = known.arms.iter().map(|arm| arm.name.as_str());
        return Err(format!("no arm \"{name}\"{}", suggest::hint(name, names)));
    };
    let found = Metric::VARIANTS.iter().copied().find(|known| known.name() == metric);
    let near = || suggest::meant(metric, Metric::VARIANTS.iter().map(|known| known.name()));
    let metric = found.ok_or_else(|| format!("no figure \"{metric}\"{}", near()))?;
    known.check(metric.row().group, metric.name(), arm)?;
    Ok((name.to_owned(), metric))
}

/// `>= 10 and < 50`: the comparisons of one figure.
fn bounds(text: &str, arm: &str, metric: Metric) -> Result<Vec<Expectation>, String> {
    text.split(" and ")
        .map(str::trim)
        .map(|text| {
            let ops = Op::VARIANTS.iter();
            let begun = ops.filter_map(|op| Some((*op, text.strip_prefix(&op.word())?.trim())));
            // The longest sign counts: `<=` is not `<`.
            let found = begun.min_by_key(|(_, bound)| bound.len());
            let Some((op, bound)) = found.filter(|(_, bound)| !bound.is_empty()) else {
                return Err(format!(
                    "\"{text}\" is not a comparison; write it like \"== 0\" or \">= 10\" (<, <=, ==, !=, >=, >)"
                ));
            };
            let (arm, text) = (arm.to_owned(), text.to_owned());
            Ok(Expectation {
                arm,
                metric,
                op,
                bound: number(bound, metric)?,
                text,
            })
        })
        .collect()
}

/// A bound in the unit of its figure.
fn number(text: &str, metric: Metric) -> Result<f64, String> {
    let name = metric.name();
    let plain = |text: &str| text.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
    match metric.unit() {
        Unit::Micros if plain(text).is_some() => Err(format!(
            "{name} is a duration and {text} has no unit; write {text}ms or {text}us"
        )),
        Unit::Micros => value::parse_duration(text).map(|bound| bound.as_secs_f64() * 1e6),
        Unit::PerSecond => plain(text.strip_suffix("/s").unwrap_or(text).trim())
            .ok_or_else(|| format!("\"{text}\" is not a bound for {name}; write a number, 0 or more, like 400/s")),
        Unit::Count => plain(text)
            .ok_or_else(|| format!("\"{text}\" is not a bound for {name}; write a number, 0 or more, without a unit")),
    }
}
