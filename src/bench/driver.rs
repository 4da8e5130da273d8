//! Runs the cases one after the other, round by round, and reports the progress.

use std::pin::pin;

use tokio::select;

use super::case::{Case, Load};
use super::case_result::LeftOut;
use super::client::Setup;
use super::contender::Contender;
use super::error::BenchError;
use super::figures::Run;
use super::labs::{Found, Labs};
use super::options::BenchOptions;
use super::record::BenchRecord;
use super::round::Round;
use lockstorm_base::{Stop, Stops};
use lockstorm_lab::Lab;

/// The progress of a bench.
#[derive(Debug)]
pub enum Step<'a> {
    /// A round of a case begins.
    Round {
        /// The case.
        case: &'a Case,
        /// Its number, from 1.
        round: usize,
        /// The number of rounds.
        rounds: usize,
    },
    /// A contender begins its run.
    Begins(Contender),
    /// A contender has ended its run.
    Ended(&'a Case, &'a Run),
    /// A case can't be measured here, for this reason.
    LeftOut(&'a Case, &'a str),
}

/// Runs all cases. The first SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the bench with what was measured so far.
///
/// # Errors
/// The lab failed. Nothing of it is left then.
pub fn bench(
    options: &BenchOptions,
    mut show: impl FnMut(Step<'_>),
) -> Result<(BenchRecord, Option<Stop>), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before anything starts, so that no signal ends the process with a lab under way.
        let mut stops = Stops::listen()?;
        let mut stopped = pin!(stops.next());
        let mut record = BenchRecord::new(options);
        let mut labs = Labs::new(options);
        let ran = select! {
            ran = cases(options, &mut labs, &mut record, &mut show) => ran.map(|()| None),
            stop = &mut stopped => Ok(Some(stop)),
        };
        labs.down().await;
        let stop = ran?;
        Ok((record.end(options, stop.is_some()), stop))
    })
}

async fn cases(
    options: &BenchOptions,
    labs: &mut Labs<'_>,
    record: &mut BenchRecord,
    show: &mut impl FnMut(Step<'_>),
) -> Result<(), BenchError> {
    for case in &options.cases {
        let lab = match labs.of(case).await? {
            Found::Lab { lab, new } => {
                if new {
                    record.nodes.extend(lab.settings());
                }
                lab
            }
            Found::None(why) => {
                show(Step::LeftOut(case, &why));
                let name = case.name.to_owned();
                record.left_out.push(LeftOut { name, why });
                continue;
            }
        };
        let setup = setup(case, lab);
        let mut contenders = case.contenders();
        record.begin(case, options.time, &setup);
        for round in 1..=options.rounds {
            show(Step::Round {
                case,
                round,
                rounds: options.rounds,
            });
            record.begin_round();
            for &contender in &contenders {
                show(Step::Begins(contender));
                let round = Round {
                    lab,
                    case,
                    contender,
                    setup: &setup,
                    time: options.time,
                };
                let run = round.run().await?;
                show(Step::Ended(case, &run));
                record.add(run);
            }
            contenders.rotate_left(1);
        }
    }
    Ok(())
}

fn setup(case: &Case, lab: &Lab) -> Setup {
    Setup {
        nodes: lab.lock_nodes().into_iter().map(|(_, address)| address).collect(),
        ways: None,
        tls_ports: lab.tls_ports().filter(|_| case.tls),
        ttl: case.ttl,
        waits: case.has_one_key(),
        renew: (case.load == Load::Renewal).then(|| case.ttl / 3),
        seed: 42,
    }
}
