//! Figures in JSON: all that an arm's workload has under the names that expectations have, beside what they are computed from.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, json};
use strum::VariantArray;

use super::figures::Figures;
use super::group::Group;
use super::metric::{Metric, Value};
use super::units::rounded;

/// The figures of an arm. What is read is what they are computed from.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Named<'a> {
    /// Each figure under its name in files: durations in microseconds, but `unavailable_ms`; null if there was nothing to measure. Those of
    /// other workloads are left out.
    #[serde(skip_deserializing)]
    figures: Option<ByName<'a>>,
    #[serde(flatten)]
    details: Cow<'a, Figures>,
}

struct ByName<'a>(&'a Figures);

impl JsonSchema for ByName<'_> {
    fn schema_name() -> Cow<'static, str> {
        "FiguresByName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = || Metric::VARIANTS.iter().copied();
        let always = names().filter(|metric| !metric.row().group.is_of_a_workload());
        let figure = |metric: Metric| {
            let schema = json!({ "type": ["number", "null"], "description": metric.row().meaning });
            (metric.name().to_owned(), schema)
        };
        json_schema!({
            "type": "object",
            "properties": names().map(figure).collect::<Map<_, _>>(),
            "required": always.map(Metric::name).collect::<Vec<_>>(),
        })
    }
}

impl Serialize for ByName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let is_lacking = |group: Group| group.is_of_a_workload() && self.0.lacks.contains(&group);
        let is_own = |metric: &&Metric| !is_lacking(metric.row().group);
        for metric in Metric::VARIANTS.iter().filter(is_own) {
            let value = Some(metric.of(self.0)).filter(|_| metric.is_known(self.0));
            match metric.row().value {
                Value::Mean(..) | Value::PerSecond(_) => map.serialize_entry(metric, &value)?,
                _ => map.serialize_entry(metric, &value.map(rounded))?,
            }
        }
        map.end()
    }
}

/// Writes figures, for `#[serde(flatten, with = "by_name")]`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(figures: &Figures, serializer: S) -> Result<S::Ok, S::Error> {
    let named = Named {
        figures: Some(ByName(figures)),
        details: Cow::Borrowed(figures),
    };
    named.serialize(serializer)
}

/// Reads figures.
///
/// # Errors
/// Those of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Figures, D::Error> {
    Named::deserialize(deserializer).map(|named| named.details.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Count, Outage, Quantiles, Time};
    use serde_json::Value;

    /// As in a record.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Arm {
        name: String,
        #[serde(flatten, with = "super")]
        figures: Figures,
    }

    #[test]
    fn every_figure_has_its_name_and_what_is_read_is_what_they_are_computed_from() {
        let mut figures = Figures {
            lacks: vec![Group::Job, Group::Masters],
            throughput: 4999.5,
            outages: vec![Outage::default()],
            ..Figures::default()
        };
        figures.outages[0].lasted_us = 2_345_678;
        figures.counts[Count::LocksLost] = 3;
        figures.times[Time::Hold] = Quantiles {
            count: 2,
            p99: 5_100,
            ..Quantiles::default()
        };
        let name = "redlock".to_owned();
        let arm = Arm { name, figures };
        let mut json = serde_json::to_value(&arm).expect("figures are JSON");
        let named = json["figures"].as_object().expect("an object");
        let own = Metric::VARIANTS
            .iter()
            .filter(|metric| metric.row().group != Group::Job);
        let mut names: Vec<&str> = own.map(|metric| metric.name()).collect();
        names.sort_unstable();
        assert!(named.keys().eq(&names), "{named:?}");
        let is = |name: &str, value: Value| assert_eq!(named[name], value, "{name}");
        is("locks_lost", 3.into());
        is("hold_p99", 5_100.into());
        is("unavailable_ms", 2_345.into());
        is("throughput", 4999.5.into());
        // Nothing was measured.
        is("acquire_p99", Value::Null);
        is("first_double_hold", Value::Null);
        assert_eq!(
            (&json["locks_lost"], &json["hold_us"]["p99"]),
            (&3.into(), &5_100.into())
        );
        // Who changes only the name changes nothing.
        json["figures"]["locks_lost"] = 9.into();
        assert_eq!(serde_json::from_value::<Arm>(json).expect("an arm"), arm);
    }
}
