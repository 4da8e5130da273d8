//! A recording of what the terminal shows, as asciinema plays it: asciicast, version 3 (<https://docs.asciinema.org/manual/asciicast/v3/>),
//! with a marker at each caption, fault and first damage.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::text;
use lockstorm_base::output::Stream;
use lockstorm_data::facts::{Event, EventKind};

/// A recording under way. Its file is written in the background.
#[derive(Debug)]
pub struct Cast {
    file: Stream,
    state: Mutex<CastState>,
}

#[derive(Debug)]
struct CastState {
    /// When the last event was.
    last: Instant,
    size: Option<(u16, u16)>,
    /// The events of the run that have a marker.
    marked: BTreeSet<u64>,
}

impl Cast {
    /// A recording into this file.
    pub fn new(file: Stream) -> Self {
        let state = CastState {
            last: Instant::now(),
            size: None,
            marked: BTreeSet::new(),
        };
        Self {
            file,
            state: Mutex::new(state),
        }
    }

    /// Notes the size of the terminal; the first one begins the recording.
    pub(super) fn size(&self, columns: u16, rows: u16) {
        let mut state = self.state();
        match state.size.replace((columns, rows)) {
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let head = json!({
                    "version": 3,
                    "term": { "cols": columns, "rows": rows },
                    "timestamp": now.map_or(0, |since| since.as_secs()),
                    "title": "lockstorm",
                });
                self.file.write(format!("{head}\n"));
                state.last = Instant::now();
            }
            Some(old) if old != (columns, rows) => self.put(&mut state, "r", &format!("{columns}x{rows}")),
            Some(_) => {}
        }
    }

    /// Records what was written to the terminal.
    pub(super) fn shown(&self, bytes: &[u8]) {
        let mut state = self.state();
        if state.size.is_some() && !bytes.is_empty() {
            self.put(&mut state, "o", &String::from_utf8_lossy(bytes));
        }
    }

    /// Sets markers at what is new in the log of a run.
    pub(super) fn mark(&self, events: &[Event]) {
        let mut state = self.state();
        for event in events {
            let is_worth = match &event.kind {
                EventKind::Fault { effect_at, .. } => effect_at.is_some(),
                EventKind::Caption { .. } | EventKind::Damage { .. } | EventKind::DoubleHold { .. } => true,
                _ => false,
            };
            if is_worth && state.size.is_some() && state.marked.insert(event.id) {
                // Players show it beside the picture, in one line.
                self.put(&mut state, "m", &text::fit(&event.text(), 80));
            }
        }
    }

    /// Forgets the run before: the events of the next one have the same numbers.
    pub(super) fn next_run(&self) {
        self.state().marked.clear();
    }

    /// Waits until all of it is written.
    ///
    /// # Errors
    /// Why some of it is not.
    pub fn settle(&self) -> std::io::Result<()> {
        self.file.settle()
    }

    fn put(&self, state: &mut CastState, code: &str, data: &str) {
        let now = Instant::now();
        let interval = now.duration_since(state.last).as_secs_f64();
        state.last = now;
        // Milliseconds are more than a viewer sees.
        let line = json!([(interval * 1e3).round() / 1e3, code, data]);
        self.file.write(format!("{line}\n"));
    }

    fn state(&self) -> std::sync::MutexGuard<'_, CastState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::facts::Step;

    fn event(id: u64, kind: EventKind) -> Event {
        Event { id, at: 1.0, kind }
    }

    #[test]
    fn it_begins_with_the_size_and_marks_each_event_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.cast");
        let cast = Cast::new(Stream::unbounded(std::fs::File::create(&path).expect("a file")));
        cast.shown(b"before the first frame");
        cast.size(80, 24);
        cast.shown("┊ one".as_bytes());
        let caption = EventKind::Caption {
            fault: None,
            quoted: "event 0".to_owned(),
        };
        let step = Step::MeasureBegins;
        let events = [event(0, caption), event(1, EventKind::Phase { step })];
        cast.mark(&events);
        cast.mark(&events);
        cast.next_run();
        cast.mark(&events[..1]);
        cast.size(80, 24);
        cast.size(100, 30);
        cast.settle().expect("it is written");
        let text = std::fs::read_to_string(&path).expect("its text");
        let mut lines = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        let head = lines.next().expect("a head");
        assert_eq!(
            (&head["version"], &head["term"]["cols"], &head["term"]["rows"]),
            (&json!(3), &json!(80), &json!(24))
        );
        let rest: Vec<[serde_json::Value; 2]> = lines.map(|line| [line[1].clone(), line[2].clone()]).collect();
        let told = [["o", "┊ one"], ["m", "event 0"], ["m", "event 0"], ["r", "100x30"]];
        assert_eq!(rest, told.map(|two| two.map(|one| json!(one))));
    }
}
