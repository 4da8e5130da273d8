//! A setting of a plan as a scenario for real nodes, with what is expected to be seen there.

use std::fmt::Write as _;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::Exp1;

use super::answer::Plan;
use super::client_timeouts::ClientTimeouts;
use super::draws::duration;
use super::error::PlanError;
use super::pauses::Pauses;
use super::question::Question;
use super::row::{self, Row, Shortfall};
use super::spread::Spread;
use lockstorm_data::metrics::units::{count, rounded};
use lockstorm_data::model::SHORTEST_LAG;
use lockstorm_data::scenario::{Overrides, Source, parse};

/// App servers, and workers on each, if no app server pauses.
const CALM: [u32; 2] = [8, 24];
/// The same if some do: one pause then hits one section.
const PAUSING: [u32; 2] = [24, 1];
/// The most sections a second: more would keep the machine too busy to be exact.
const PER_SECOND: f64 = 250.0;
/// How long it takes in seconds, unless so many sections are done before.
const SECONDS: f64 = 60.0;
/// The most sections, unless the question asks for more.
const MOST: f64 = 10_000.0;
/// Pauses come in this part of the time, so that all have come before the sections are done.
const EARLY: f64 = 0.8;
/// The most pauses; if more come in this time, it takes less.
const PAUSES: usize = 200;
/// A round trip on this machine, in seconds.
const LOCAL: f64 = 0.000_2;
/// The shortest round trip in seconds for which a lag is added: there is no shorter lag, and it would hardly matter to a lock.
const FAR: f64 = LOCAL + 2.0 * SHORTEST_LAG.as_secs_f64();
/// The 99th percentile of a standard normal variable.
const Z99: f64 = 2.326_348;

/// A scenario, and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its text.
    pub text: String,
    /// How far it is from what was planned, if that matters.
    pub warning: Option<String>,
}

/// The scenario of the recommended setting, or of the only one that was looked at: the same sections, log-normal where they were
/// measured; the median of the round trips as a lag; pauses at their rate; and under `[expect]` how many sections will
/// outlast their lock, with 99 % certainty.
///
/// # Errors
/// No setting is recommended, and there are several; or a scenario can't play it.
pub fn scenario(plan: &Plan, seed: u64) -> Result<Written, PlanError> {
    let row = match (plan.choice.best(), &plan.rows[..]) {
        (Some(best), rows) => &rows[best],
        (None, [only]) => only,
        (None, _) => {
            return Err(PlanError::new(
                "no setting is recommended, so a scenario needs one that you choose: one --ttl and one --renew",
            ));
        }
    };
    if row.shortfalls.contains(&Shortfall::TooShort) {
        return Err(PlanError::new(
            "with so short a TTL no lock is granted, so there is nothing to play: name a longer --ttl",
        ));
    }
    let played = Played::of(&plan.question, seed);
    let (planned, seen) = (row.overrun.p, row::of(&played.question, row.setting).overrun.p);
    let warning = is_another(planned, seen, played.sections).then(|| {
        let [planned, seen] = [planned, seen].map(probability);
        format!(
            "the scenario plays log-normal sections, which outlast their lock with a probability of {seen}; yours do with {planned}, so it \
             does not test the plan's figure"
        )
    });
    let source = Source {
        name: "plan".to_owned(),
        text: played.text(&plan.question, row, seed),
    };
    match parse(&source, &Overrides::default()) {
        Ok(_) => Ok(Written {
            text: source.text,
            warning,
        }),
        // There is at least one.
        Err(errors) => Err(PlanError::new(format!("no scenario can play this: {}", errors.0[0]))),
    }
}

/// What is played of a question.
struct Played {
    /// The question as it is played, whose answer is what should be seen.
    question: Question,
    swarm: [u32; 2],
    think: f64,
    sections: u64,
    seconds: f64,
    /// The lag each way.
    lag: Option<f64>,
    /// When, which app server from 0 on, and for how long.
    pauses: Vec<(f64, u32, f64)>,
}

impl Played {
    fn of(asked: &Question, seed: u64) -> Self {
        let hold = fitted(&asked.hold);
        let often = match asked.pauses.in_holds {
            true => 0.0,
            false => asked.pauses.per_second,
        };
        let away = asked.round_trip.quantile(0.5);
        let round_trip = if away < FAR { LOCAL } else { away };
        // In a minute there would be one at least.
        let pausing = often * f64::from(PAUSING[0]) * SECONDS >= 1.0;
        let swarm = if pausing { PAUSING } else { CALM };
        let workers = f64::from(swarm[0] * swarm[1]);
        // An acquire and a release.
        let busy = hold.mean() + 2.0 * round_trip;
        let think = (workers / PER_SECOND - busy).max(0.005);
        let of_pauses = if pausing {
            PAUSES as f64 / (often * f64::from(swarm[0]))
        } else {
            SECONDS
        };
        let most = (workers * SECONDS.min(of_pauses) / (busy + think)).clamp(workers, MOST);
        let sections = asked.sections.unwrap_or(rounded(most.floor()));
        let seconds = sections as f64 * (busy + think) / workers;
        let pauses = match pausing {
            true => drawn(&asked.pauses, swarm[0], seconds, seed),
            false => Vec::new(),
        };
        let mut question = Question::new(hold, Spread::Constant(round_trip), asked.nodes);
        question.pauses = Pauses {
            per_second: pauses.len() as f64 / (f64::from(swarm[0]) * seconds),
            ..asked.pauses.clone()
        };
        question.sections = Some(sections);
        Self {
            question,
            swarm,
            think,
            sections,
            seconds,
            lag: (away >= FAR).then_some((away - LOCAL) / 2.0),
            pauses,
        }
    }

    fn text(&self, asked: &Question, row: &Row, seed: u64) -> String {
        let (setting, nodes) = (row.setting, asked.nodes);
        let name = if nodes == 1 { "single" } else { "redlock" };
        let timeouts = ClientTimeouts::of(asked, setting);
        let played = row::of(&self.question, setting);
        let [least, most] = played
            .predicted
            .map_or([0, self.sections], |predicted| predicted.interval);
        let hold = match &self.question.hold {
            Spread::LogNormal { median, sigma } => format!("{{ median = \"{}\", sigma = {sigma:.4} }}", shown(*median)),
            other => format!("\"{}\"", shown(other.mean())),
        };
        let [servers, workers] = self.swarm;
        let planned = [row.overrun.p, played.overrun.p];
        let planned = match is_another(planned[0], planned[1], self.sections) {
            true => planned
                .map(probability)
                .join(" with your own sections, but with those of this file "),
            false => probability(planned[0]),
        };
        let mut text = format!(
            "# What `lockstorm plan` says, on real nodes: whether as many sections outlast their lock as are expected.
#
# The probability by the plan is {planned}. {shown_sections} sections take about {about}.
{comments}title    = \"plan: {name}, TTL {ttl}, renewal {renewal}\"
duration = \"{limit}\"
seed     = {seed}

[lab]
hosts = {nodes}

[swarm]
servers  = {servers}
workers  = {workers}
requests = {sections}
think    = \"{think}\"

# So many products that two workers hardly ever want the same one.
[workload]
kind     = \"inventory\"
products = 200000
stock    = 1000000
hold     = {hold}

[[arm]]
name         = \"{name}\"
lock         = \"{name}\"
ttl          = \"{ttl}\"
renew        = \"{renewal}\"
wait         = \"queue\"
timeout      = \"{timeout}\"
node_timeout = \"{node_timeout}\"
",
            shown_sections = count(self.sections),
            sections = self.sections,
            about = shown(self.seconds.ceil()),
            comments = self.comments(asked, most),
            ttl = shown(setting.ttl.as_secs_f64()),
            renewal = setting.renewal,
            // It ends with its sections; the machine may be slow.
            limit = shown((3.0 * self.seconds + 10.0).ceil()),
            think = shown(self.think),
            timeout = shown(timeouts.acquire),
            node_timeout = shown(timeouts.node),
        );
        let expected = match (least, most) {
            (0, 0) => "== 0".to_owned(),
            (0, _) => format!("<= {most}"),
            _ => format!(">= {least} and <= {most}"),
        };
        // `write!` to a String can't fail.
        let _ = write!(
            text,
            "\n# Hardly an acquire is refused, and of these sections so many outlast their lock, with 99 % certainty.\n[expect]\n\
             \"{name}.acquired\" = \">= {granted}\"\n\"{name}.overran\"  = \"{expected}\"\n",
            granted = self.sections - self.sections / 50
        );
        if let Some(lag) = self.lag {
            let _ = write!(
                text,
                "\n[[fault]]\nat    = \"0s\"\ndo    = \"lag\"\non    = \"all\"\ndelay = \"{}\"\n",
                shown(lag)
            );
        }
        for (at, server, lasts) in &self.pauses {
            let (at, server, lasts) = (shown(*at), server + 1, shown(*lasts));
            let _ = write!(
                text,
                "\n[[fault]]\nat  = \"{at}\"\ndo  = \"pause\"\non  = \"server:{server}\"\nfor = \"{lasts}\"\n"
            );
        }
        text
    }

    /// What is played in another way than the plan has it.
    fn comments(&self, asked: &Question, most: u64) -> String {
        let mut text = String::new();
        if most == 0 {
            text += "# None of these sections is expected to outlast its lock: a run shows that the setting works, and not how rare that is.\n";
        }
        if self.question.hold != asked.hold {
            text += "# Sections are log-normal here, with the median and the p99 of the plan's.\n";
        }
        if self.lag.is_some() {
            text += "# Every round trip takes the plan's median: the lag, and what this machine takes.\n";
        } else {
            text += "# Round trips are those of this machine: the plan's are about as short.\n";
        }
        if self.pauses.is_empty() && asked.pauses.per_second > 0.0 {
            text += "# No app server pauses: the plan's pauses are too rare for so short a time, or part of its sections.\n";
        }
        if asked.outages.is_some() {
            text += "# There are no outages here.\n";
        }
        text
    }
}

/// Whether a run of so many sections shows something else than what was planned, since it plays other sections.
fn is_another(planned: f64, played: f64, sections: u64) -> bool {
    let (less, more) = (planned.min(played), planned.max(played));
    more * sections as f64 >= 1.0 && less < 0.8 * more
}

fn probability(p: f64) -> String {
    match p {
        none if none <= 0.0 => "0".to_owned(),
        rare if rare < 0.001 => format!("{rare:.1e}"),
        p => format!("{p:.3}"),
    }
}

/// Something that a scenario can play: log-normal, with the same median and p99.
fn fitted(hold: &Spread) -> Spread {
    if let Spread::Constant(_) | Spread::LogNormal { .. } = hold {
        return hold.clone();
    }
    let median = hold.quantile(0.5);
    match (hold.quantile(0.99) / median).ln() / Z99 {
        none if none <= 1e-4 => Spread::Constant(median),
        sigma => Spread::LogNormal {
            median,
            sigma: sigma.min(5.0),
        },
    }
}

/// Pauses of so many app servers, at random times.
fn drawn(pauses: &Pauses, servers: u32, seconds: f64, seed: u64) -> Vec<(f64, u32, f64)> {
    let mut random = StdRng::seed_from_u64(seed);
    let gap = EARLY / (pauses.per_second * f64::from(servers));
    let mut free_from = vec![0.0; servers as usize];
    let (mut all, mut at) = (Vec::new(), 0.0);
    while all.len() < PAUSES {
        at += gap * random.sample::<f64, _>(Exp1);
        if at >= EARLY * seconds {
            break;
        }
        let server = random.random_range(0..servers);
        let lasts = pauses.length.quantile(random.random_range(1e-6..1.0));
        let free = &mut free_from[server as usize];
        if *free <= at {
            *free = at + lasts + 0.1;
            all.push((at, server, lasts));
        }
    }
    all
}

/// Seconds as a scenario has them, in whole microseconds.
fn shown(seconds: f64) -> String {
    let micros = duration(seconds).as_micros().max(1);
    humantime::format_duration(Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Measured;
    use crate::setting::{Renewal, Setting};
    use lockstorm_data::metrics::Metric;
    use lockstorm_data::model::{Action, Fault};
    use lockstorm_data::scenario::{Renew, Scenario, WorkloadSpec, warnings};

    fn question(hold: Spread, nodes: usize) -> Question {
        Question::new(
            hold,
            Spread::LogNormal {
                median: 0.0004,
                sigma: 0.4,
            },
            nodes,
        )
    }

    fn log_normal() -> Spread {
        Spread::LogNormal {
            median: 0.02,
            sigma: 0.6,
        }
    }

    fn setting(millis: u64, renewal: Renewal) -> Setting {
        Setting {
            ttl: Duration::from_millis(millis),
            renewal,
        }
    }

    fn written(question: Question, settings: &[Setting]) -> (Scenario, String) {
        let written = scenario(&Plan::of(question, settings), 7).unwrap_or_else(|error| panic!("{error}"));
        let text = written.text;
        let source = Source {
            name: "choice.toml".to_owned(),
            text: text.clone(),
        };
        let read = parse(&source, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
        (read, text)
    }

    #[test]
    fn the_only_setting_is_played_with_what_is_expected_of_it() {
        let (scenario, text) = written(question(log_normal(), 3), &[setting(80, Renewal::Off)]);
        assert_eq!(scenario.lab.hosts, 3);
        assert_eq!((scenario.swarm.requests, scenario.faults.len()), (Some(10_000), 0));
        let arm = &scenario.arms[0];
        assert_eq!(
            (arm.name.as_str(), arm.ttl.as_millis(), arm.renew),
            ("redlock", 80, Renew::Off)
        );
        assert!(arm.node_timeout < arm.ttl / 2 && arm.timeout > arm.ttl, "{arm:?}");
        // P(overrun) is 1.2 % by the closed form: 120 ± 28 of 10,000.
        let overran = scenario
            .expect
            .iter()
            .filter(|expected| expected.metric == Metric::Overran);
        let bounds: Vec<f64> = overran.map(|expected| expected.bound).collect();
        assert!(
            matches!(bounds[..], [least, most] if (85.0..100.0).contains(&least) && (140.0..160.0).contains(&most)),
            "{bounds:?}"
        );
        assert!(
            !text.contains("log-normal here") && !text.contains("No app server pauses"),
            "{text}"
        );
    }

    #[test]
    fn the_recommended_setting_expects_nothing_and_has_no_warnings() {
        let settings = [setting(500, Renewal::Off), setting(1000, Renewal::Fraction(3))];
        let (scenario, text) = written(question(log_normal(), 1), &settings);
        assert_eq!((scenario.arms[0].name.as_str(), scenario.lab.hosts), ("single", 1));
        assert!(text.contains("\"single.overran\"  = \"== 0\""), "{text}");
        assert_eq!(warnings(&scenario), Vec::<String>::new());
    }

    #[test]
    fn a_lag_pauses_and_measured_holds_are_played() {
        let values = (0..1000)
            .map(|n| 0.02 * (0.6 * crate::formulas::normal_quantile_beyond((f64::from(n) + 0.5) / 1000.0)).exp());
        let measured = Measured::of_values(values.collect(), None).expect("enough values");
        let mut question = question(Spread::Measured(measured), 5);
        question.round_trip = Spread::Constant(0.004);
        question.pauses = Pauses {
            per_second: 0.05,
            length: Spread::LogNormal {
                median: 0.1,
                sigma: 1.0,
            },
            in_holds: false,
        };
        let (scenario, text) = written(question.clone(), &[setting(200, Renewal::Fraction(3))]);
        let WorkloadSpec::Inventory(spec) = &scenario.workload else {
            panic!("{text}")
        };
        assert!(
            (spec.hold.median.as_secs_f64() - 0.02).abs() < 1e-4 && (spec.hold.sigma - 0.6).abs() < 0.01,
            "{spec:?}"
        );
        let lag =
            |action| matches!(action, Action::Fault(Fault::Lag { delay, .. }) if delay == Duration::from_micros(1900));
        assert!(lag(scenario.faults[0].action), "{text}");
        // 24 app servers for some 40 s.
        let pauses = scenario.faults.len() - 1;
        assert!((20..90).contains(&pauses), "{pauses}");
        assert_eq!([scenario.swarm.servers, scenario.swarm.workers], [24, 1]);
        assert!(
            text.contains("log-normal here") && text.contains("plan's median"),
            "{text}"
        );
        assert_eq!(text, written(question.clone(), &[setting(200, Renewal::Fraction(3))]).1);
        question.pauses.per_second = 1e-4;
        let (rare, text) = written(question, &[setting(200, Renewal::Fraction(3))]);
        assert!(
            rare.faults.len() == 1 && text.contains("No app server pauses"),
            "{text}"
        );
    }

    #[test]
    fn what_cannot_be_played_is_told() {
        let refused = |question: Question, settings: &[Setting]| {
            scenario(&Plan::of(question, settings), 7)
                .expect_err("it can't be played")
                .to_string()
        };
        let unfit = [20, 30].map(|ttl| setting(ttl, Renewal::Off));
        assert!(refused(question(log_normal(), 3), &unfit).contains("one --ttl and one --renew"));
        assert!(refused(question(log_normal(), 3), &[setting(2, Renewal::Off)]).contains("name a longer --ttl"));
        // A redlock needs three hosts.
        let two = refused(question(log_normal(), 2), &[setting(500, Renewal::Off)]);
        assert!(
            two.starts_with("no scenario can play this: ") && two.lines().count() == 1,
            "{two}"
        );
    }
}
