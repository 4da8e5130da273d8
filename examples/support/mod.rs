//! Nodes for the examples: those whose URLs are given as arguments, or else three servers of a lab of our own.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use lockstorm_data::scenario::LabSpec;
use lockstorm_lab::{Lab, LabOptions, ServerBinary, keeper};
use lockstorm_lock::{NodeOptions, Nodes};
use tokio::runtime::Builder;

pub type Outcome = Result<(), Box<dyn Error>>;

/// Runs an example with its nodes, and ends the lab.
pub fn run(example: impl AsyncFnOnce(Nodes) -> Outcome) -> ExitCode {
    let urls: Vec<_> = env::args().skip(1).collect();
    // A lab runs this program again as its keeper: the process that starts the servers, and kills them whatever happens to
    // this one.
    if urls.first().is_some_and(|argument| argument == keeper::ARGUMENT) {
        return keeper::main();
    }
    match on_nodes(&urls, example) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn on_nodes(urls: &[String], example: impl AsyncFnOnce(Nodes) -> Outcome) -> Outcome {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if !urls.is_empty() {
            return with(Nodes::open(urls, NodeOptions::default())?, example).await;
        }
        let spec = LabSpec::of(3);
        let lab = Lab::up(&spec, LabOptions::new(ServerBinary::find(None)?)?).await?;
        let addresses: Vec<_> = lab.lock_nodes().into_iter().map(|(_, address)| address).collect();
        let outcome = with(Nodes::connect(&addresses, NodeOptions::default()), example).await;
        lab.down().await;
        outcome
    })
}

async fn with(nodes: Nodes, example: impl AsyncFnOnce(Nodes) -> Outcome) -> Outcome {
    // This is not needed, since the first acquire waits for its nodes too. But it keeps the time to connect out of the times
    // below.
    let ready = nodes.ready(Duration::from_secs(1)).await;
    println!("{ready} of {} nodes are connected", nodes.len());
    example(nodes).await
}
