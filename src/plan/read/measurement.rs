use std::fmt::Display;
use std::path::Path;

use serde::Deserialize;

use super::record::sum;
use crate::draws::duration;
use crate::error::PlanError;
use crate::pauses::Pauses;
use crate::question::Question;
use crate::seconds::{DAY, MAX_SECONDS};
use crate::spread::Spread;
use lockstorm_base::input;
use lockstorm_data::metrics::Measurement;
use lockstorm_data::model::printable;

/// The largest file that is read, in MB.
const LARGEST: u64 = 64;
/// The fewest values that show how they vary.
const FEWEST: u64 = 30;
/// How pauses are taken to vary that were too few to show it.
const SIGMA: f64 = 1.0;
/// The most nodes.
const NODES: usize = 9;

/// What `lockstorm doctor --measure` has measured, as a plan uses it.
#[derive(Debug, Clone, PartialEq)]
pub struct FromMeasurement {
    /// The round trips of all nodes together.
    pub round_trip: Spread,
    /// The stalls of the measuring process, if there were any. Fewer than 30 are taken as log-normal around their median, with a
    /// sigma of 1.
    pub pauses: Option<Pauses>,
    /// How many nodes there are, 1 to 9.
    pub nodes: u8,
    /// For how long it was measured, in seconds.
    pub seconds: f64,
}

/// Reads the file of a measurement.
///
/// # Errors
/// It can't be read, is something else, or has too little in it.
pub fn measurement_of_file(path: &Path) -> Result<FromMeasurement, PlanError> {
    let wrong = |why: String| PlanError::new(format!("{}: {why}", path.display()));
    let text = input::open(path).and_then(|file| input::whole(&file, LARGEST));
    let text = text.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    of_text(&text).map_err(wrong)
}

/// All formats have this field.
#[derive(Deserialize)]
struct Format {
    measurement_format: u32,
}

fn of_text(text: &[u8]) -> Result<FromMeasurement, String> {
    const CURE: &str = "write one with `lockstorm doctor URL… --for 10m --measure FILE`";
    // It may quote the file, and must stay one readable line.
    let other = |error: &dyn Display| format!("is not a whole measurement ({}); {CURE}", printable(&error.to_string()));
    let Format {
        measurement_format: format,
    } = serde_json::from_slice(text).map_err(|error| other(&error))?;
    let ours = Measurement::FORMAT;
    if format != ours {
        return Err(format!(
            "is a measurement of format {format}, and this lockstorm reads format {ours}; measure again"
        ));
    }
    let measured: Measurement = serde_json::from_slice(text).map_err(|error| other(&error))?;
    if let Some(fault) = measured.clock_fault() {
        return Err(format!(
            "{fault}, so no TTL holds there: repair it, or leave that server out, and measure again"
        ));
    }
    let round_trips =
        sum(measured.nodes.iter().map(|node| &node.round_trips_us.histogram)).map_err(|error| other(&error))?;
    let stalls = sum([&measured.stalls_us.histogram]).map_err(|error| other(&error))?;
    let (nodes, seconds) = (measured.nodes.len(), measured.seconds);
    if !(1..=NODES).contains(&nodes) || seconds <= 0.0 {
        return Err(format!(
            "has {nodes} nodes and {seconds} s; measure 1 to {NODES} nodes for some time"
        ));
    }
    if round_trips.len() < FEWEST {
        let answers = round_trips.len();
        return Err(format!(
            "has {answers} answers of nodes, and {FEWEST} are needed; measure for longer, --for 1m at least"
        ));
    }
    let length = match stalls.len() {
        0 => None,
        1..FEWEST => Some(Spread::LogNormal {
            median: stalls.value_at_quantile(0.5) as f64 / 1e6,
            sigma: SIGMA,
        }),
        _ => Some(Spread::of_micros(&stalls)?),
    };
    Ok(FromMeasurement {
        round_trip: Spread::of_micros(&round_trips)?,
        pauses: length.map(|length| Pauses {
            per_second: stalls.len() as f64 / seconds,
            length,
            in_holds: false,
        }),
        #[expect(clippy::cast_possible_truncation, reason = "at most 9")]
        nodes: nodes as u8,
        seconds,
    })
}

impl FromMeasurement {
    /// Why so short a time can't prove so low a risk, if it can't. Pauses that were not seen may come up to 3 / T times a second
    /// (the rule of three, 95 %; Hanley and Lippman-Hand, JAMA 1983), and each hits as many sections as are under way.
    pub fn too_short(&self, question: &Question) -> Option<String> {
        let under_way = question.per_second * question.hold.mean() * question.contended;
        let needed = 3.0 * under_way * DAY / question.goal.overlaps_per_day;
        if self.seconds >= needed {
            return None;
        }
        let shown = |seconds: f64| humantime::format_duration(duration(seconds.round()));
        let long = match needed <= MAX_SECONDS {
            true => format!("measuring for {} would, and so would", shown(needed)),
            false => "no measuring can, but".to_owned(),
        };
        Some(format!(
            "{} can't show pauses as rare as --risk asks for: {long} --pause with what you know of them",
            shown(self.seconds)
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use lockstorm_data::metrics::{MeasuredNode, MeasuredTimes, histogram};

    fn times(count: u64, micros: u64) -> MeasuredTimes {
        let mut times = histogram();
        times.record_n(micros, count).expect("it resizes");
        (&times).into()
    }

    fn measurement(answers: u64, stalls: u64) -> Measurement {
        let node = |name: &str| MeasuredNode {
            node: name.to_owned(),
            answers,
            failures: 0,
            last_failure: None,
            longest_silence_us: 1_000,
            round_trips_us: times(answers, 400),
            clock: None,
        };
        Measurement {
            measurement_format: Measurement::FORMAT,
            seconds: 600.0,
            asked_seconds: 600.0,
            commands_per_second: 10,
            nodes: ["a:1", "b:1", "c:1"].map(node).into(),
            stalls_us: times(stalls, 20_000),
        }
    }

    fn read(text: &str) -> Result<FromMeasurement, String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("m.json");
        fs::write(&path, text).expect("written");
        measurement_of_file(&path).map_err(|error| error.to_string())
    }

    fn read_back(measurement: &Measurement) -> Result<FromMeasurement, String> {
        read(&serde_json::to_string(measurement).expect("it is plain data"))
    }

    #[test]
    fn round_trips_stalls_and_nodes_are_used() {
        let found = read_back(&measurement(100, 60)).expect("it is whole");
        assert!(
            (found.round_trip.quantile(0.99) - 0.0004).abs() < 1e-5 && found.nodes == 3,
            "{found:?}"
        );
        let pauses = found.pauses.expect("there were stalls");
        assert!((pauses.per_second - 0.1).abs() < 1e-9 && !pauses.in_holds);
        assert!(matches!(pauses.length, Spread::Measured(_)), "{pauses:?}");
        let few = read_back(&measurement(100, 2)).expect("it is whole").pauses;
        assert!(
            matches!(few, Some(Pauses { length: Spread::LogNormal { median, sigma: SIGMA }, .. }) if (median - 0.02).abs() < 1e-4),
            "{few:?}"
        );
        assert_eq!(read_back(&measurement(100, 0)).map(|found| found.pauses), Ok(None));
    }

    #[test]
    fn what_is_no_measurement_is_refused_in_one_line_with_the_cure() {
        let whole = serde_json::to_string(&measurement(100, 0)).expect("it is plain data");
        let newer = whole.replacen("\"measurement_format\":1", "\"measurement_format\":2", 1);
        let mut empty = measurement(100, 0);
        empty.nodes.clear();
        let cases = [
            (Ok(String::new()), "is not a whole measurement"),
            (Ok(whole[..whole.len() / 2].to_owned()), "is not a whole measurement"),
            (
                Ok("{\"format\":29,\"arms\":[]}".to_owned()),
                "`lockstorm doctor URL… --for 10m --measure FILE`",
            ),
            (Ok(newer), "format 2, and this lockstorm reads format 1; measure again"),
            (Ok(whole.replace("HISTF", "HISTx")), "is not a whole measurement"),
            (Err(empty), "has 0 nodes"),
            (
                Err(measurement(9, 0)),
                "has 27 answers of nodes, and 30 are needed; measure for longer",
            ),
        ];
        for (file, said) in cases {
            let error = file.map_or_else(|measurement| read_back(&measurement), |text| read(&text));
            let line = error.expect_err(said);
            assert!(line.contains("m.json: ") && line.contains(said), "{said}: {line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }

    #[test]
    fn a_low_risk_needs_a_long_measurement() {
        let found = read_back(&measurement(100, 0)).expect("it is whole");
        let mut question = Question::new(Spread::Constant(0.02), Spread::Constant(0.0004), 3);
        let mut said = |overlaps_per_day| {
            question.goal.overlaps_per_day = overlaps_per_day;
            found.too_short(&question)
        };
        // A fiftieth of a section is under way, so 3 / 600 s could hit 8.64 a day.
        assert_eq!(said(9.0), None);
        assert!(said(1.0).is_some_and(|line| line.starts_with("10m can't show") && line.contains("1h 26m 24s")));
        assert!(said(1e-6).is_some_and(|line| line.contains("no measuring can") && line.contains("--pause")));
    }
}
