//! What the pipe to clients costs: beside the clients of an arm, one that does nothing is asked for a lock ten milliseconds after each answer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::complaints::Whose;
use super::connect::{Program, begin, first_order};
use crate::under_test::Granted;
use lockstorm_data::metrics::{Durations, Part, Quantiles, Timeline, When};
use lockstorm_data::model::ServerId;
use lockstorm_data::scenario::ArmSpec;
use lockstorm_lab::Lab;

/// The pause between two of its acquires.
const PAUSE: Duration = Duration::from_millis(10);

/// What acquires of a client that does nothing take, while others work.
#[derive(Debug)]
pub struct Price {
    took: Arc<Mutex<Durations>>,
    _task: AbortOnDropHandle<()>,
}

impl Price {
    /// Measures from second 0 to the end of the load, on an app server of its own, which no fault can name: the one after the last.
    pub fn measure(lab: Arc<Lab>, arm: Arc<ArmSpec>, index: usize, servers: usize, timeline: Arc<Timeline>) -> Self {
        let took = Arc::<Mutex<Durations>>::default();
        let socket = lab.dir().join(format!("null-{index}.sock"));
        let server = ServerId::from_index(servers);
        let task = tokio::spawn(ask(lab, arm, server, socket, timeline, Arc::clone(&took)));
        Self {
            took,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// What they took until now; all zero if there were none.
    pub fn quantiles(&self) -> Quantiles {
        self.took.lock().unwrap_or_else(PoisonError::into_inner).quantiles()
    }
}

/// Without its client there is no price, and nothing else is missing.
async fn ask(
    lab: Arc<Lab>,
    arm: Arc<ArmSpec>,
    server: ServerId,
    socket: PathBuf,
    timeline: Arc<Timeline>,
    took: Arc<Mutex<Durations>>,
) {
    let command = lab.program().to_string_lossy().into_owned();
    let command = [command, "client".to_owned(), "null".to_owned()];
    let start = first_order(&lab, &arm, 1, None);
    let whose = Whose {
        arm: arm.name.clone(),
        server,
    };
    let Ok(Program { link, .. }) = begin(&lab, server, &command, socket, whose, start, Arc::default()).await else {
        return;
    };
    while link.is_open() {
        let asked = Instant::now();
        let granted = Granted {
            key: "null".to_owned(),
            token: String::new(),
            number: 0,
            asked,
            voters: Vec::new(),
            nodes: 1,
            fence: None,
            ttl: None,
            is_renewed: false,
        };
        let Ok(hold) = link.acquire(granted, Duration::ZERO).await else {
            return;
        };
        let micros = u64::try_from(asked.elapsed().as_micros()).unwrap_or(u64::MAX);
        if timeline.part(asked) == Part::Measured && timeline.when(asked) != When::AfterEnd {
            took.lock().unwrap_or_else(PoisonError::into_inner).record(micros);
        }
        link.release(hold.granted.number).await;
        sleep(PAUSE).await;
    }
}
