//! Converts a record, or the journal of one, of an older program: `cargo run -p lockstorm-kit --features run --example convert OLD NEW`.

use std::error::Error;
use std::{env, fs};

use lockstorm_kit::old_records::converted;
use lockstorm_run::Record;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<String> = env::args().skip(1).collect();
    let [old, new] = &paths[..] else {
        return Err("it needs two paths: of the old record and of the new one".into());
    };
    let text = fs::read_to_string(old)?;
    if let Ok(record) = serde_json::from_str(&text) {
        let record: Record = serde_json::from_value(converted(record))?;
        return Ok(fs::write(new, serde_json::to_string(&record)?)?);
    }
    // A journal, whose last line may be cut off. What it says of the arms stands in its header.
    let (mut header, mut lines) = (Value::Null, String::new());
    for line in text.lines() {
        let Ok(mut line) = serde_json::from_str::<Value>(line) else {
            lines += line;
            continue;
        };
        if line.get("header").is_some() {
            header = line["header"].clone();
            line["header"] = converted(header.clone());
        } else if line.get("event").is_some() {
            header["events"] = json!([line["event"]]);
            line["event"] = converted(header.clone())["events"][0].clone();
        } else if let Some(changes) = line["figures"].get("arms") {
            let of_changes = json!({ "scenario": header["scenario"], "arms": changes });
            line["figures"]["arms"] = converted(of_changes)["arms"].take();
        } else if let Some(points) = line.get("second") {
            let arms = header["arms"].as_array_mut().into_iter().flatten();
            for (arm, point) in arms.zip(points.as_array().into_iter().flatten()) {
                arm["after_end"] = point.clone();
            }
            let arms = converted(header.clone())["arms"].take();
            let arms = arms.as_array().into_iter().flatten();
            line["second"] = arms.map(|arm| arm["after_end"].clone()).collect();
        }
        lines += &format!("{line}\n");
    }
    Ok(fs::write(new, lines)?)
}
