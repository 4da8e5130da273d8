use hdrhistogram::Histogram;

use crate::error::PlanError;
use crate::pauses::Pauses;
use crate::spread::Spread;
use lockstorm_data::metrics::{Count, HistogramText, Time, histogram};
use lockstorm_run::{ArmRecord, Record};

/// What one arm of a record tells of the work and the network.
#[derive(Debug, Clone, PartialEq)]
pub struct FromRecord {
    /// The arm.
    pub arm: String,
    /// How many nodes its lock has; `None` if it uses none.
    pub nodes: Option<usize>,
    /// Its sections that had work, with everything that made them longer.
    pub hold: Spread,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// Sections that were cut off then, which are not among the holds.
    pub cut_off: u64,
    /// The lock nodes' round trips, of all arms together; `None` if the arms used none.
    pub round_trip: Option<Spread>,
    /// How much longer simulated work took than it was meant to: what the machine and its pauses added. `None` if the record has
    /// none.
    pub pauses: Option<Pauses>,
    /// Sections that had work, a second.
    pub per_second: f64,
}

/// Reads an arm of a record: the one of this name, or the first that held locks on lock nodes.
///
/// # Errors
/// There is no such arm, or it has no holds, or too few.
pub fn of_record(record: &Record, name: Option<&str>) -> Result<FromRecord, PlanError> {
    let names: Vec<&str> = record.arms.iter().map(|arm| arm.name.as_str()).collect();
    let nodes = |arm: &ArmRecord| {
        let spec = record.scenario.arms.iter().find(|spec| spec.name == arm.name)?;
        Some(spec.voters(&record.scenario.lab).len()).filter(|nodes| *nodes > 0)
    };
    let arm =
        match name {
            Some(name) => record.arms.iter().find(|arm| arm.name == name).ok_or_else(|| {
                PlanError::new(format!("the record has no arm \"{name}\"; it has {}", names.join(", ")))
            })?,
            None => record
                .arms
                .iter()
                .find(|arm| nodes(arm).is_some() && arm.figures.sections() > 0)
                .ok_or_else(|| {
                    PlanError::new(
                        "no arm of the record did work under a lock on lock nodes, so there are no holds to plan from; record a run \
                         with such locks, or name an arm with --arm",
                    )
                })?,
        };
    let wrong = |why: String| PlanError::new(format!("arm \"{}\": {why}", arm.name));
    let hold = times(arm, Time::Hold)?.ok_or_else(|| match arm.histograms.is_empty() {
        true => wrong(
            "the run was killed, and its journal has no holds; record it again, to its end or until Ctrl-C".to_owned(),
        ),
        false => wrong("no section had work, so there are no holds to plan from".to_owned()),
    })?;
    let sections = hold.len() as f64;
    let mean = hold.mean() / 1e6;
    let pauses = times(arm, Time::Overshoot)?.map(|overshoot| -> Result<Pauses, PlanError> {
        Ok(Pauses {
            // Each section has one.
            per_second: 1.0 / mean,
            length: Spread::of_micros(&overshoot).map_err(wrong)?,
            in_holds: true,
        })
    });
    let round_trips = sum(record.round_trips.iter().map(|node| &node.histogram)).map_err(PlanError::new)?;
    Ok(FromRecord {
        arm: arm.name.clone(),
        nodes: nodes(arm),
        interrupted: record.interrupted,
        cut_off: arm.figures.counts[Count::CutOff],
        hold: Spread::of_micros(&hold).map_err(wrong)?,
        round_trip: (!round_trips.is_empty())
            .then(|| Spread::of_micros(&round_trips))
            .transpose()
            .map_err(wrong)?,
        pauses: pauses.transpose()?,
        per_second: sections / record.elapsed.max(1e-9),
    })
}

fn times(arm: &ArmRecord, time: Time) -> Result<Option<Histogram<u64>>, PlanError> {
    let histogram = arm
        .histogram(time)
        .map_err(|error| PlanError::new(format!("arm \"{}\": {error}", arm.name)))?;
    Ok((!histogram.is_empty()).then_some(histogram))
}

/// The sum of histograms of a record. These do not resize themselves; the sum does, so all values fit.
pub(crate) fn sum<'a>(texts: impl IntoIterator<Item = &'a HistogramText>) -> Result<Histogram<u64>, String> {
    let mut all = histogram();
    for text in texts {
        let _ = all.add(text.decode().map_err(|error| error.to_string())?);
    }
    Ok(all)
}
