//! A recipe as a scenario for real nodes.

use std::borrow::Cow;

use textwrap::{Options, WordSplitter, wrap};

use super::fault::{ClientFault, NodeFault};
use super::recipe::Recipe;
use super::schedule::Schedule;
use super::steps;

/// A node that must be away for the acquire dies in a section before it, in which all nodes have voted.
const DIES: &str = "1s";

/// The file, or `None` if a scenario can't do this: hold back a single message.
pub(super) fn scenario(recipe: &Recipe) -> Option<String> {
    write(recipe, false)
}

/// The file of the control, with one loss fewer or without the client's fault, so that nothing is damaged; `None` if a scenario
/// can't do this.
pub(super) fn control(recipe: &Recipe) -> Option<String> {
    write(recipe, true)
}

fn is_playable(schedule: &Schedule) -> bool {
    let playable = |(_, fault)| matches!(fault, NodeFault::Away | NodeFault::Forgets | NodeFault::ClockJumps);
    let clients = schedule.of_clients().count();
    let client = schedule.has(ClientFault::FirstPauses) || schedule.has(ClientFault::SectionTooLong);
    schedule.of_nodes().all(playable) && (clients == 0 || clients == 1 && client && schedule.len() == 1)
}

fn write(recipe: &Recipe, control: bool) -> Option<String> {
    let schedule = &recipe.schedule;
    is_playable(schedule).then(|| {
        let sizes = Sizes::of(schedule, control);
        let faults = faults(schedule, sizes.ttl, control);
        [
            head(recipe, control),
            body(schedule, &sizes),
            faults,
            expectations(schedule, &sizes, control),
        ]
        .join("\n")
    })
}

struct Sizes {
    /// Workers, each on an app server of its own, with one request each.
    requests: usize,
    ttl: &'static str,
    hold: &'static str,
    /// The time over which the workers start.
    ramp: &'static str,
}

impl Sizes {
    fn of(schedule: &Schedule, control: bool) -> Self {
        let base = Self {
            requests: 2,
            ttl: "10s",
            hold: "4s",
            // Two that ask at once may split the votes.
            ramp: "1s",
        };
        if schedule.has(ClientFault::FirstPauses) {
            Self {
                ttl: "3s",
                hold: "2s",
                ..base
            }
        } else if schedule.has(ClientFault::SectionTooLong) && !control {
            Self { ttl: "2s", ..base }
        } else if schedule.having(NodeFault::Away).is_empty() {
            base
        } else {
            Self { requests: 3, ..base }
        }
    }
}

fn head(recipe: &Recipe, control: bool) -> String {
    let mut text = String::new();
    let mut add = |line: &str| text += &format!("{}\n", format!("# {line}").trim_end());
    let title = format!("{} nodes: {}", recipe.schedule.nodes(), steps::title(&recipe.schedule));
    if control {
        add(&format!(
            "The control of a recipe for two holders of one lock. {title}."
        ));
        add("");
        add(match recipe.schedule.of_clients().next() {
            None => "Here one key fewer is lost, and nobody else gets in.",
            Some(ClientFault::SectionTooLong) => "Here the TTL is longer than the section, and nobody else gets in.",
            Some(_) => "Here nobody pauses, and nobody else gets in.",
        });
    } else {
        add(&format!("A recipe for two holders of one lock. {title}."));
        add("");
        for (n, step) in (1..).zip(steps::steps(recipe)) {
            for (line, text) in wrapped(&step, 110).into_iter().enumerate() {
                let number = if line == 0 { format!("{n}.") } else { String::new() };
                add(&format!("{number:2} {text}"));
            }
        }
        add("");
        for line in wrapped(&format!("Why: {}", steps::cause(recipe)), 114) {
            add(&line);
        }
    }
    add("");
    add(
        "Every worker buys one unit of the same product. Both read the same stock if they are in their sections together, and one of",
    );
    add("the two sales is lost when they write it back.");
    let title = if control { format!("Control, {title}") } else { title };
    text + &format!("title    = \"{title}\"\nduration = \"30s\"\nseed     = 42\n")
}

fn body(schedule: &Schedule, sizes: &Sizes) -> String {
    let Sizes {
        requests,
        ttl,
        hold,
        ramp,
        ..
    } = sizes;
    format!(
        "[lab]
hosts       = {nodes}
persistence = \"none\"

[swarm]
servers  = {requests}
workers  = 1
requests = {requests}
ramp     = \"{ramp}\"   # server 1 is first

[workload]
kind     = \"inventory\"
products = 1
stock    = 10
hold     = \"{hold}\"

[[arm]]
name         = \"redlock\"
lock         = \"redlock\"
ttl          = \"{ttl}\"
node_timeout = \"500ms\"
wait         = {{ retries = 1000, delay = \"50ms\", jitter = \"50ms\" }}
timeout      = \"25s\"
",
        nodes = schedule.nodes()
    )
}

fn faults(schedule: &Schedule, ttl: &str, control: bool) -> String {
    let hosts = |nodes: &[usize]| {
        let numbers: Vec<String> = nodes.iter().map(|node| (node + 1).to_string()).collect();
        format!("host:{}", numbers.join(","))
    };
    let (away, mut forget) = (schedule.having(NodeFault::Away), schedule.having(NodeFault::Forgets));
    let mut jump = schedule.having(NodeFault::ClockJumps);
    if control && jump.pop().is_none() {
        forget.pop();
    }
    let mut text = String::new();
    if !away.is_empty() {
        let on = hosts(&away);
        text += &format!(
            "# The first section begins with all votes. The next holder gets no vote of {on}, which comes back once it holds.
[[fault]]
at = \"{DIES}\"
do = \"kill\"
on = \"{on}\"

[[fault]]
when = \"redlock.acquired >= 2 and redlock.partial >= 1\"
do   = \"restart\"
on   = \"{on}\"
"
        );
    }
    let start = if away.is_empty() {
        "when  = \"redlock.acquired >= 1 and redlock.partial == 0\""
    } else {
        "after = \"fault:2 + 500ms\""
    };
    if !forget.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n" };
        text += &format!(
            "{gap}# Back at once, and empty.
[[fault]]
{start}
do    = \"kill\"
on    = \"{}\"
for   = \"100ms\"
",
            hosts(&forget)
        );
    }
    if !jump.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n" };
        text += &format!(
            "{gap}# By the TTL: the first client's key is over there.
[[fault]]
{start}
do    = \"clock\"
ahead = \"{ttl}\"
on    = \"{}\"
",
            hosts(&jump)
        );
    }
    if schedule.has(ClientFault::FirstPauses) && !control {
        text += "# The holder stops in its section, for longer than its TTL and the next section.
[[fault]]
when = \"redlock.holding >= 1\"
do   = \"pause\"
on   = \"server:1\"
for  = \"6s\"
";
    }
    text
}

fn expectations(schedule: &Schedule, sizes: &Sizes, control: bool) -> String {
    // Nothing has put the lock of a control to the test, so that the absence of damage would show nothing.
    let damage = if control {
        "\"redlock.double_uses\"  = \"== 0\"   # never two in their sections at once"
    } else {
        "\"redlock.lost_updates\" = \"== 1\"   # two were in their sections at once"
    };
    let overran = match (control, schedule.of_clients().next()) {
        (true, _) | (_, None) => 0,
        // The other section is not paused.
        (_, Some(ClientFault::FirstPauses)) => 1,
        (_, Some(_)) => 2,
    };
    let why = if overran == 0 {
        "   # every holder could rely on its lock until its end"
    } else {
        ""
    };
    format!(
        "[expect]
\"redlock.orders\"       = \"== {}\"
{damage}
\"redlock.overran\"      = \"== {overran}\"{why}
",
        sizes.requests
    )
}

/// The text in lines of at most this width.
fn wrapped(text: &str, most: usize) -> Vec<Cow<'_, str>> {
    let options = Options::new(most).break_words(false);
    wrap(text, options.word_splitter(WordSplitter::NoHyphenation))
}

#[cfg(test)]
mod tests {
    use super::super::recipe::Kind;
    use super::super::search::search;
    use super::*;
    use lockstorm_data::scenario::{Overrides, Source, parse, warnings};

    /// What `check` says of it: nothing, but that sections outlast their lock where that is the very recipe.
    fn check(name: &str, text: String, too_long: bool) {
        let source = Source {
            name: name.to_owned(),
            text,
        };
        let scenario = parse(&source, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
        let warnings = warnings(&scenario);
        assert_eq!(warnings.len(), usize::from(too_long), "{name}: {warnings:?}");
        assert!(
            warnings.iter().all(|line| line.contains("longer than the TTL")),
            "{warnings:?}"
        );
        assert_eq!(scenario.expect.len(), 3);
    }

    #[test]
    fn every_file_is_a_valid_scenario_without_warnings() {
        for (nodes, playable) in [(3, 7), (5, 11)] {
            let mut files = 0;
            for (n, recipe) in search(nodes).unwrap().iter().enumerate() {
                let too_long = recipe.schedule.has(ClientFault::SectionTooLong);
                let (Some(scenario), Some(control)) = (scenario(recipe), control(recipe)) else {
                    assert_eq!(recipe.kind, Kind::WithinValidity);
                    continue;
                };
                files += 1;
                check(&format!("{nodes}-{n}"), scenario, too_long);
                check(&format!("{nodes}-{n}-control"), control, false);
            }
            assert_eq!(files, playable, "{nodes} nodes");
        }
    }
}
