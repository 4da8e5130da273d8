use super::order::processes;
use super::whole::LockUse;
use lockstorm_data::history::Answer;

/// The history of one lock, a map for each event. An acquire of unknown outcome is `:info`, and its process does nothing more.
pub(super) fn edn(uses: &[LockUse]) -> String {
    let mut events: Vec<(i64, bool, String)> = Vec::new();
    for (process, one) in processes(uses) {
        let f = if one.releases { "release" } else { "acquire" };
        let end = match one.answer {
            Answer::Ok => "ok",
            Answer::Busy => "fail",
            Answer::Unknown => "info",
        };
        for (at, returns, kind) in [(one.call, false, "invoke"), (one.returned, true, end)] {
            let client = one.client;
            let rest =
                format!(":process {process}, :type :{kind}, :f :{f}, :value nil, :time {at}, :client \"{client}\"");
            events.push((at, returns, rest));
        }
    }
    // Of one instant the calls come first, so that what only touches overlaps.
    events.sort_by_key(|(at, returns, _)| (*at, *returns));
    let numbered = events.iter().enumerate();
    numbered
        .map(|(index, (.., rest))| format!("{{:index {index}, {rest}}}\n"))
        .collect()
}
