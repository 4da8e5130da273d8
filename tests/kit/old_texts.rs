//! Before format 5 was released, events and caveats of a record were sentences. This reads them once more, for a collection of old records;
//! the program itself reads no text that it has written.

use lockstorm_data::metrics::units::rounded;
use serde_json::{Map, Value, json};

/// What a sentence becomes: a pattern with holes, the caveat, and the name of each hole. Names that end in `_s`, `_us`, `_ms` and `_mib`, and
/// those of [`NUMBERS`], are numbers.
const CAVEATS: &[(&str, &str, &[&str])] = &[
    (
        "this machine's wall clock stepped by {} ms: keys expire by it{}",
        "clock_stepped",
        &["by_ms", ""],
    ),
    (
        "this machine is too busy: it let the app servers wait for {} % of{}",
        "machine_busy",
        &["percent", ""],
    ),
    (
        "{}: a section was held up until its lock had expired{}",
        "section_stalled",
        &["arm", ""],
    ),
    (
        "{} listens on port {} now: somebody else has taken port {}",
        "port_taken",
        &["node", "now", "before"],
    ),
    (
        "a signal from outside stopped the keeper process{}",
        "keeper_stopped",
        &[""],
    ),
    ("the keeper process was resumed", "keeper_resumed", &[]),
    (
        "{} became a master and did not answer which locks of \"{}\" it has",
        "new_master_silent",
        &["node", "arm"],
    ),
    (
        "{}: all keys were deleted from outside{}",
        "keys_deleted",
        &["node", ""],
    ),
    (
        "{}: its database was lost in mid-run: {}",
        "database_lost",
        &["arm", "quoted"],
    ),
    (
        "{}: its books can't be read: {}",
        "ledger_unreadable",
        &["arm", "quoted"],
    ),
    ("schemas may be left in the database{}", "schema_left", &[""]),
    ("{}: requests fail: {}", "request_fails", &["arm", "quoted"]),
    (
        "{}: {} of {} requests failed, the first: {}",
        "requests_failed",
        &["arm", "failed", "of", "quoted"],
    ),
    ("{} did not end: its thread hangs", "server_hangs", &["server"]),
    (
        "\"{}\": oversold is not measurable until sold out{}",
        "unsold",
        &["arms", ""],
    ),
    (
        "{}: {} released at {} s, when its lock had ended{}",
        "late_release",
        &["arm", "client", "at_s", ""],
    ),
    ("no fault tested a lock{}", "untested", &[""]),
    ("the run was stopped before its end", "stopped_early", &[]),
    (
        "faults began and ended so often that the last of the {} phases{}",
        "many_phases",
        &["most", ""],
    ),
    (
        "the run was killed before it had made its record{}until second {}",
        "killed",
        &["", "until_s"],
    ),
    ("there was no event", "no_events", &[]),
    (
        "the first event and the last one are more than a year apart{}",
        "more_than_a_year",
        &[""],
    ),
    ("no lock was held by two clients{}", "no_shared_lock", &[""]),
    (
        "{} says that it has the master, and so does {}",
        "two_masters",
        &["host", "others"],
    ),
    (
        "the times of {} end at {}, and those of {} and all later ones begin at {}: {}",
        "other_clocks",
        &["before", "ended_ns", "after", "began_ns", ""],
    ),
    (
        "of {} of the holds and sections nobody reported the end{}",
        "ends_missing",
        &["holds", ""],
    ),
    ("not all of what came could be read", "not_all_read", &[]),
    ("what was broken meanwhile is not known{}", "faults_unknown", &[""]),
];
const NUMBERS: [&str; 14] = [
    "percent",
    "before",
    "now",
    "failed",
    "of",
    "most",
    "holds",
    "by_ms",
    "ended_ns",
    "began_ns",
    "until_s",
    "number",
    "at_most_s",
    "fault",
];

/// Types the events and caveats of a record, if they are sentences.
pub fn typed(record: &mut Value) {
    let persistence = record["scenario"]["lab"]["persistence"].clone();
    let faults = record["scenario"]["faults"].as_array().cloned().unwrap_or_default();
    let arms = record["arms"].as_array().cloned().unwrap_or_default();
    for list in ["inconclusive", "partial", "warnings"] {
        for one in list_of(record, list) {
            *one = caveat(one);
        }
    }
    for doubt in list_of(record, "arms").filter_map(|arm| arm.get_mut("doubt")) {
        *doubt = caveat(doubt);
    }
    let expect = record["scenario"]["expect"].as_array().cloned().unwrap_or_default();
    for (one, expectation) in list_of(record, "expectations").zip(expect) {
        if let Some(text) = one["text"].as_str() {
            let value = if text.contains(" – (expected") {
                Value::Null
            } else {
                one["value"].clone()
            };
            let reason = holes("{}; but {}", text).map(|found| reason(found[1]));
            *one = json!({ "expectation": expectation, "value": value, "result": one["result"], "reason": reason });
        }
    }
    for one in list_of(record, "events") {
        *one = event(one, &arms, &persistence, &faults);
    }
}

fn list_of<'a>(record: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = record.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// An event whose kind was an object of its own, beside its text.
#[expect(clippy::too_many_lines, reason = "some lines for each kind")]
fn event(old: &Value, arms: &[Value], persistence: &Value, faults: &[Value]) -> Value {
    let (Some(kind), Some(text)) = (old["kind"].as_object(), old["text"].as_str()) else {
        return old.clone();
    };
    let mut new: Map<String, Value> = kind.clone();
    new.extend(
        [("id", old["id"].clone()), ("at_us", old["at_us"].clone())].map(|(name, value)| (name.to_owned(), value)),
    );
    let mut set = |name: &str, value: Value| _ = new.insert(name.to_owned(), value);
    match kind["kind"].as_str().unwrap_or_default() {
        "phase" => {
            let step = match text {
                "warm-up: not counted" => "warm_up",
                "the measured part begins" => "measure_begins",
                "the load has ended" => "load_ended",
                "the schedule is held" => "schedule_held",
                "the schedule goes on" => "schedule_resumed",
                "stopped" => "stopped",
                "finished" => "finished",
                _ if text.contains("stuck locks") => "tries_locks",
                _ if text.contains("still under way") => "waits_for_requests",
                _ => "sold_out",
            };
            set("step", json!(step));
            let mut words = text.rsplit(' ').skip(1);
            match step {
                "tries_locks" | "waits_for_requests" => {
                    set("at_most_s", json!(figure(words.next().unwrap_or_default())));
                }
                "sold_out" => set("arm", json!(text.split(':').next())),
                _ => {}
            }
        }
        "fault" => {
            let id = &old["id"];
            let of_arm = |arm: &Value| {
                let its = arm["consequences"].as_array().into_iter().flatten();
                let its = its.filter(|one| one["event"] == *id);
                let its = its.filter(|one| {
                    let what = one["what"].as_str();
                    ["forgot", "emptiness_replicated", "kept_votes", "paused_past_ttl"]
                        .map(Some)
                        .contains(&what)
                });
                let named = |one: &Value| {
                    let mut one = one.as_object().cloned().unwrap_or_default();
                    one.retain(|name, _| name != "at_us" && name != "event");
                    one.insert("arm".to_owned(), arm["name"].clone());
                    Value::Object(one)
                };
                its.map(named).collect::<Vec<_>>()
            };
            set("consequences", arms.iter().flat_map(of_arm).collect());
            set("unavailable", json!(unavailable(text, arms)));
            let is_back = text.contains(" is back ");
            set("returned_with", if is_back { persistence.clone() } else { Value::Null });
            let ends = holes("{}end of fault {}", text);
            let number = |text: &str| {
                text.split([')', ':', ','])
                    .next()
                    .and_then(|text| text.parse::<usize>().ok())
            };
            let by = match (ends, holes("{}fault {}", text)) {
                (Some(found), _) => json!({ "end_of_fault": number(found[1]) }),
                (None, Some(found)) => json!({ "fault": number(found[1]) }),
                _ if text.contains("bounce)") => json!("bounce"),
                _ => json!("user"),
            };
            set("by", by);
            set("error", error(kind["error"].as_str()));
        }
        "failover" => {
            let masters = text.contains("taken over slots").then(|| {
                let masters = holes("{}: it has {} master{}", text);
                masters.map_or(0, |found| found[1].parse().unwrap_or(1))
            });
            set("cluster_masters", json!(masters));
            let lost = arms.iter().filter_map(|arm| {
                let name = arm["name"].as_str()?;
                let found = holes(&format!("{{}}{name} lost {{}} of {{}} held lock{{}}"), text)?;
                Some(json!({ "arm": name, "what": "lost_at_failover", "locks": figure(found[1]), "of": figure(found[2]) }))
            });
            set("consequences", lost.collect());
        }
        "knob" => {
            set("knob", json!("rate"));
            set("rate", json!(0.0));
        }
        "double_hold" => {
            let found = holes("{}: first double hold at {} s: {} and {} both hold {}", text);
            let reported =
                || holes("{}: {} and {} hold one lock: {}", text).map(|of| vec![of[0], "", of[1], of[2], of[3]]);
            let found = found.or_else(reported).unwrap_or_else(|| vec![""; 5]);
            let began = found[1]
                .parse::<f64>()
                .map_or_else(|_| old["at_us"].clone(), |at| json!(in_us(at)));
            set("began_us", began);
            set("holders", json!([found[2], found[3]]));
            set("key", json!(found[4]));
        }
        "damage" => {
            let damage = match text {
                _ if text.contains("updates are lost") => "lost_updates",
                _ if text.contains("money is made") => "money_made",
                _ if text.contains("money is lost") => "money_lost",
                _ if text.contains("run twice") => "run_again",
                _ => "oversold",
            };
            set("damage", json!(damage));
            if damage == "oversold" {
                let found = holes("{}: of product {}, {} too many", text);
                let numbers = found.map(|of| (figure(of[1]), figure(of[2])));
                set("product", json!(numbers.map(|of| of.0)));
                set("units", json!(numbers.map_or(0, |of| of.1)));
            }
            set("by_stall", json!(text.contains("held up")));
        }
        "lock" => {
            let again = text.ends_with("granted again");
            set("change", json!(if again { "acquired_again" } else { "all_refused" }));
            if !again {
                set(
                    "lacking",
                    holes("{}: all acquires failing: {}", text).map_or(Value::Null, |of| lacking(of[1])),
                );
            }
        }
        "caption" => {
            let of = faults.iter().position(|fault| fault["caption"].as_str() == Some(text));
            set("fault", json!(of.map(|index| index + 1)));
            set("quoted", json!(text));
        }
        "warning" => set("caveat", caveat(&old["text"])),
        _ => {}
    }
    Value::Object(new)
}

/// Why an expectation was inconclusive.
fn reason(text: &str) -> Value {
    let waiting = || holes("{} request{} still waited at the end, and{}", text);
    match text {
        "there was nothing to measure" => json!({ "why": "nothing_to_measure" }),
        "a lock was still unavailable at the end" => json!({ "why": "still_unavailable" }),
        "all locks were still unavailable at the end" => json!({ "why": "all_still_unavailable" }),
        _ if text.contains("is not measurable until") => json!({ "why": "not_measurable" }),
        _ if waiting().is_some() => {
            json!({ "why": "still_waiting", "requests": waiting().map(|found| figure(found[0])) })
        }
        _ => {
            if let Some(found) = holes("up to {} of them come from sections{}", text) {
                return json!({ "why": "by_stalls", "up_to": figure(found[0]) as f64 });
            }
            if let Some(found) = holes("{} of the double holds could not be judged", text) {
                return json!({ "why": "unjudged", "double_holds": figure(found[0]) });
            }
            let (text, is_void) = match text.strip_suffix(", so it proves nothing") {
                Some(text) => (text, true),
                None => (text, false),
            };
            json!({ "why": "doubted", "caveat": caveat(&json!(text)), "is_void": is_void })
        }
    }
}

fn error(old: Option<&str>) -> Value {
    let Some(old) = old else { return Value::Null };
    match (holes("not verified within {} s", old), old.strip_prefix("no effect: ")) {
        (Some(found), _) => json!({ "not_verified": { "within_s": figure(found[0]) } }),
        (None, quoted) => json!({ "failed": { "quoted": quoted.unwrap_or(old) } }),
    }
}

/// The nodes that an acquire lacked; null if the text names none.
fn lacking(text: &str) -> Value {
    const STATES: [(&str, &str); 8] = [
        ("down (connection refused)", "refused"),
        ("silent (no reply in time)", "timeout"),
        ("silent (it owes replies)", "suspect"),
        ("gone (the connection broke)", "disconnected"),
        ("busy (too many commands wait)", "busy"),
        ("a replica (it takes no writes)", "read_only"),
        ("not the key's node (its cluster keeps the key on another)", "moved"),
        ("without a master (Sentinels name none)", "no_master"),
    ];
    let cause = |state: &str| {
        let known = STATES.iter().find(|(words, _)| *words == state);
        let not_ready = || holes("not ready ({})", state).map(|of| json!({ "not_ready": of[0] }));
        known.map(|(_, cause)| json!(cause)).or_else(not_ready)
    };
    let only = holes("no vote from {}: {}", text).and_then(|of| {
        let only = match of[0].strip_prefix("host ") {
            Some(host) => json!({ "host": figure(host) }),
            None if of[0].contains("cluster") => json!("cluster"),
            None => json!("master"),
        };
        Some(json!({ "only": only, "nodes": [{ "node": 1, "cause": cause(of[1])? }] }))
    });
    let several = || {
        let node = |part: &str| {
            let of = holes("host {} {}", part)?;
            Some(json!({ "node": figure(of[0]), "cause": cause(of[1])? }))
        };
        let nodes: Option<Vec<Value>> = text.split(", ").map(node).collect();
        nodes.map(|nodes| json!({ "only": null, "nodes": nodes }))
    };
    only.or_else(several).unwrap_or_default()
}

/// The arms that a text calls unavailable.
fn unavailable(text: &str, arms: &[Value]) -> Vec<Value> {
    let of_arm = |arm: &Value| {
        let name = arm["name"].as_str()?;
        if let Some(found) = holes(&format!("{{}} {name} has no quorum ({{}} of {{}})"), text) {
            let of = found[2].split(')').next().unwrap_or_default();
            return Some(json!({ "arm": name, "why": "no_quorum", "up": figure(found[1]), "of": figure(of) }));
        }
        let why = [
            ("has no lock node", "no_node"),
            ("has no master", "no_master"),
            ("is down", "cluster_down"),
        ];
        let (_, why) = why
            .into_iter()
            .find(|(words, _)| text.contains(&format!(" {name} {words}")))?;
        Some(json!({ "arm": name, "why": why }))
    };
    arms.iter().filter_map(of_arm).collect()
}

/// A caveat that was a sentence.
fn caveat(old: &Value) -> Value {
    let Some(text) = old.as_str() else { return old.clone() };
    for (pattern, kind, names) in CAVEATS {
        let Some(found) = holes(pattern, text) else { continue };
        let mut new = Map::from_iter([("caveat".to_owned(), json!(kind))]);
        for (name, text) in names.iter().zip(found) {
            match *name {
                "" => {}
                "at_s" => {
                    _ = new.insert("at_us".to_owned(), json!(in_us(text.parse().unwrap_or(0.0))));
                }
                "arms" => _ = new.insert("arms".to_owned(), text.split("\", \"").collect()),
                "host" => _ = new.insert("host".to_owned(), json!(figure(text.trim_start_matches("host ")))),
                "others" => {
                    let hosts = text.split(", ").map(|host| figure(host.trim_start_matches("host ")));
                    new.insert("others".to_owned(), hosts.collect());
                }
                "server" => {
                    _ = new.insert(
                        "server".to_owned(),
                        json!(figure(text.rsplit(' ').next().unwrap_or_default())),
                    );
                }
                name if NUMBERS.contains(&name) && (name, *kind) != ("before", "other_clocks") => {
                    _ = new.insert(name.to_owned(), json!(figure(text)));
                }
                name => _ = new.insert(name.to_owned(), json!(text)),
            }
        }
        return Value::Object(new);
    }
    if let Some(rate) = rate_not_kept(text) {
        return rate;
    }
    if let Some(of) = holes("fault {} {}", text)
        && let Ok(fault) = of[0].parse::<usize>()
    {
        let mut why = unmet(of[1]);
        (why["caveat"], why["fault"]) = (json!("fault_unmet"), json!(fault));
        return why;
    }
    for (pattern, kind, names) in MISUSES {
        let Some(found) = holes(pattern, text) else { continue };
        let mut new = Map::from_iter([
            ("caveat".to_owned(), json!("reported")),
            ("misuse".to_owned(), json!(kind)),
        ]);
        for (name, text) in names.iter().zip(found) {
            let number = || text.parse::<i64>().unwrap_or(0);
            match *name {
                "" => {}
                "late_ms" => {
                    let ns = rounded(text.parse::<f64>().unwrap_or(0.0) * 1e6);
                    _ = new.insert("late_ns".to_owned(), json!(ns));
                }
                "work" => {
                    let work = if text == "wrote" { "write" } else { "section" };
                    _ = new.insert("work".to_owned(), json!(work));
                }
                "at_ns" | "fence" | "highest" => _ = new.insert((*name).to_owned(), json!(number())),
                name => _ = new.insert(name.to_owned(), json!(text)),
            }
        }
        return Value::Object(new);
    }
    json!({ "caveat": "lab_log", "quoted": text })
}

/// What another program's client did wrong, as [`CAVEATS`].
const MISUSES: &[(&str, &str, &[&str])] = &[
    (
        "\"{}\": {} {} at {}, {} ms after its{}",
        "late",
        &["key", "client", "work", "at_ns", "late_ms", ""],
    ),
    (
        "\"{}\": {} {} at {}, without a{}",
        "late",
        &["key", "client", "work", "at_ns", ""],
    ),
    (
        "\"{}\": {} got it at {} with the token of {}: each can{}",
        "shared_token",
        &["key", "client", "at_ns", "before", ""],
    ),
    (
        "\"{}\": {} got fence {} at {}, which{}",
        "fence_repeated",
        &["key", "client", "fence", "at_ns", ""],
    ),
    (
        "\"{}\": {} got fence {} at {}, after {} had{}",
        "fence_fallen",
        &["key", "client", "fence", "at_ns", "highest", ""],
    ),
];

/// Some requests of an arm had not ended.
fn rate_not_kept(text: &str) -> Option<Value> {
    const END: &str = "cover only the {} that ended{}";
    let pattern = |why: &str| format!("{{}}: {{}} of {{}} requests ({{}} %) {why}{{}}{END}");
    let both = "still waited at the end of the run, and {} of them never began";
    let (of, never_begun, waiting) = if let Some(of) = holes(&pattern("were due and never begun"), text) {
        let missing = figure(of[1]);
        (of, missing, 0)
    } else if let Some(mut of) = holes(&pattern(both), text) {
        let never_begun = figure(of.remove(4));
        let missing = figure(of[1]);
        (of, never_begun, missing - never_begun)
    } else {
        let of = holes(&pattern("still waited at the end of the run"), text)?;
        let missing = figure(of[1]);
        (of, 0, missing)
    };
    Some(json!({
        "caveat": "rate_not_kept", "arm": of[0], "never_begun": never_begun, "waiting": waiting, "offered": figure(of[2]),
        "ended": figure(of[5]),
    }))
}

/// Why a fault has not taken effect.
fn unmet(text: &str) -> Value {
    let due = |text: &str| {
        let (number, unit) = text.split_once(' ')?;
        let seconds = number.parse::<f64>().ok()? * if unit == "ms" { 1e-3 } else { 1.0 };
        matches!(unit, "s" | "ms").then(|| json!({ "why": "not_due", "due_us": in_us(seconds) }))
    };
    if let Some(due) = holes("never fired: it was due at {}", text).and_then(|of| due(of[0])) {
        return due;
    }
    if let Some(of) = holes("never fired: it waited for fault {}", text) {
        return json!({ "why": "waited_for", "other": figure(of[0]) });
    }
    if let Some(of) = holes("never fired: \"{}\" never held as a whole", text) {
        return json!({ "why": "never_whole", "quoted": of[0] });
    }
    let text = text.strip_prefix("had no effect: ").unwrap_or(text);
    json!({ "why": "no_effect", "error": { "failed": { "quoted": text } } })
}

/// Seconds in microseconds.
fn in_us(seconds: f64) -> i64 {
    rounded(seconds.abs() * 1e6).cast_signed() * if seconds < 0.0 { -1 } else { 1 }
}

/// A number with its commas.
fn figure(text: &str) -> i64 {
    text.replace(',', "").parse().unwrap_or_default()
}

/// What stands in the holes `{}` of a pattern, each as short as it can be.
fn holes<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut parts = pattern.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut found = Vec::new();
    let parts: Vec<&str> = parts.collect();
    for (place, part) in parts.iter().enumerate() {
        let is_last = place + 1 == parts.len();
        let at = match (part.is_empty(), is_last) {
            (true, _) => rest.len(),
            (false, true) => rest.ends_with(part).then(|| rest.len() - part.len())?,
            (false, false) => rest.find(part)?,
        };
        found.push(&rest[..at]);
        rest = &rest[at + part.len()..];
    }
    rest.is_empty().then_some(found)
}
