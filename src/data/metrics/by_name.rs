//! Figures in JSON: all of them under the names that expectations have, beside what they are computed from.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, json};
use strum::VariantArray;

use super::figures::Figures;
use super::metric::{Metric, Value};
use super::units::rounded;

/// The figures of an arm. What is read is what they are computed from.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Named<'a> {
    /// Each figure under its name in files: durations in microseconds, but `unavailable_ms`; null if there was nothing to measure.
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
        let figure = |metric: Metric| {
            let schema = json!({ "type": ["number", "null"], "description": metric.row().meaning });
            (metric.name().to_owned(), schema)
        };
        json_schema!({
            "type": "object",
            "properties": names().map(figure).collect::<Map<_, _>>(),
            "required": names().map(Metric::name).collect::<Vec<_>>(),
        })
    }
}

impl Serialize for ByName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Metric::VARIANTS.len()))?;
        for metric in Metric::VARIANTS {
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
