//! What happens to the containers of a lab, whoever does it.

use std::time::UNIX_EPOCH;

use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::{Stream, StreamExt};

use super::engine::{Engine, said};
use super::labels::{Labels, PLACE};

/// What happened to a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It has ended with this exit code.
    Ended(i32),
    /// It is frozen.
    Paused,
    /// It goes on.
    Continued,
}

impl Engine {
    /// What happens from now on to the containers with these labels, by the place of the node.
    pub(crate) fn changes(&self, labels: &Labels) -> impl Stream<Item = Result<(String, Change), String>> + use<> {
        // The request is sent only when somebody waits; what happens until then is told afterwards.
        let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs().to_string();
        let mut filters = labels.filter();
        filters.insert("type".to_owned(), vec!["container".to_owned()]);
        let options = EventsOptionsBuilder::new().since(&now).filters(&filters).build();
        let events = self.0.events(Some(options));
        events.filter_map(async |event| event.map(read).map_err(said).transpose())
    }
}

/// What the message says of a node; `None` if it is about something else.
fn read(message: EventMessage) -> Option<(String, Change)> {
    let attributes = message.actor?.attributes?;
    let place = attributes.get(PLACE)?.clone();
    let change = match message.action?.as_str() {
        "die" => Change::Ended(attributes.get("exitCode")?.parse().ok()?),
        "pause" => Change::Paused,
        "unpause" => Change::Continued,
        _ => return None,
    };
    Some((place, change))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn message(action: &str, attributes: &[(&str, &str)]) -> EventMessage {
        let attributes = attributes
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        serde_json::from_value(serde_json::json!({
            "Type": "container",
            "Action": action,
            "Actor": { "ID": "c0ffee", "Attributes": attributes.collect::<HashMap<_, _>>() },
        }))
        .unwrap()
    }

    #[test]
    fn only_what_changes_a_node_is_told() {
        let third = (PLACE, "host-3");
        let of_third = |change| Some(("host-3".to_owned(), change));
        assert_eq!(read(message("pause", &[third])), of_third(Change::Paused));
        assert_eq!(read(message("unpause", &[third])), of_third(Change::Continued));
        assert_eq!(
            read(message("die", &[third, ("exitCode", "137")])),
            of_third(Change::Ended(137))
        );
        for (action, attributes) in [("kill", vec![third]), ("die", vec![third]), ("pause", vec![])] {
            assert_eq!(read(message(action, &attributes)), None, "{action} {attributes:?}");
        }
    }
}
