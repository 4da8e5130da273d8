//! Turns the runs of each round into medians, quartiles, ratios and verdicts.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::case::Case;
use super::case_result::{CaseResult, Ratio, RoundResult, Summary};
use super::client::Setup;
use super::contender::Contender;
use super::figures::Run;
use super::metric::Metric;
use super::options::BenchOptions;
use super::process;
use super::record::BenchRecord;
use super::round::{ORPHANS_AFTER, WARM_UP};
use super::settings::settings;
use super::statistics::Quartiles;
use super::target::TARGETS;
use lockstorm_run::Machine;

impl BenchRecord {
    /// A record without any case yet.
    pub(super) fn new(options: &BenchOptions) -> Self {
        Self {
            format: Self::FORMAT,
            lockstorm: env!("CARGO_PKG_VERSION").to_owned(),
            peers: cfg!(feature = "peers"),
            started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            machine: Machine::this(),
            cpu_model: process::cpu_model(),
            nodes: Vec::new(),
            time: options.time,
            warm_up: WARM_UP,
            orphans_after: ORPHANS_AFTER,
            rounds: options.rounds,
            interrupted: false,
            cases: Vec::new(),
            left_out: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// Adds a case.
    pub(super) fn begin(&mut self, case: &Case, time: Duration, setup: &Setup) {
        let [hold, think] = case.load.times();
        let settings = case.contenders().into_iter().map(|one| (one, settings(one, setup)));
        self.cases.push(CaseResult {
            name: case.name.to_owned(),
            title: case.title.to_owned(),
            servers: case.servers,
            tasks: case.tasks,
            hosts: case.hosts,
            tls: case.tls,
            link: case.link,
            load: case.load.into(),
            trouble: case.trouble,
            ttl: case.ttl,
            hold,
            think,
            measured: case.measured(time),
            settings: settings.collect(),
            rounds: Vec::new(),
            summary: Vec::new(),
            ratios: Vec::new(),
        });
    }

    /// Adds a round to the newest case.
    pub(super) fn begin_round(&mut self) {
        if let Some(case) = self.cases.last_mut() {
            case.rounds.push(RoundResult { runs: Vec::new() });
        }
    }

    /// Adds a run to the newest round.
    pub(super) fn add(&mut self, run: Run) {
        if let Some(round) = self.cases.last_mut().and_then(|case| case.rounds.last_mut()) {
            round.runs.push(run);
        }
    }

    /// Makes the summaries, ratios and verdicts of all rounds; `interrupted` if the bench was stopped.
    pub(super) fn end(mut self, options: &BenchOptions, interrupted: bool) -> Self {
        self.interrupted = interrupted;
        for result in &mut self.cases {
            if let Some(case) = options.cases.iter().find(|case| case.name == result.name) {
                result.summary = case
                    .contenders()
                    .into_iter()
                    .map(|one| summary(result, case, one))
                    .collect();
                let peers = case.contenders().into_iter().filter(|one| *one != Contender::Engine);
                result.ratios = peers.map(|peer| ratio(result, case, peer)).collect();
            }
        }
        self.targets = TARGETS.iter().filter_map(|target| target.judge(&self.cases)).collect();
        self
    }
}

fn summary(result: &CaseResult, case: &Case, contender: Contender) -> Summary {
    let runs = || result.rounds.iter().filter_map(|round| round.of(contender));
    Summary {
        contender,
        metrics: quartiles(|metric| runs().filter_map(|run| metric.of(run, case)).collect()),
        error: runs().find_map(|run| run.error.clone()),
    }
}

fn ratio(result: &CaseResult, case: &Case, peer: Contender) -> Ratio {
    let in_round = |round: &RoundResult, metric: Metric| {
        let own = metric.of(round.of(Contender::Engine)?, case)?;
        let other = metric.of(round.of(peer)?, case)?;
        (other != 0.0).then(|| own / other)
    };
    Ratio {
        peer,
        metrics: quartiles(|metric| {
            let rounds = result.rounds.iter();
            rounds.filter_map(|round| in_round(round, metric)).collect()
        }),
    }
}

fn quartiles(figures: impl Fn(Metric) -> Vec<f64>) -> BTreeMap<Metric, Quartiles> {
    let quartiles = |&metric: &Metric| Some((metric, Quartiles::of(figures(metric))?));
    Metric::ALL.iter().filter_map(quartiles).collect()
}
