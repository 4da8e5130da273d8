//! `lockstorm report`: the page of runs and its other forms, and what it refuses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lockstorm::report::RecordFile;
use lockstorm_data::metrics::{Metric, Time, figure};
use lockstorm_kit::program::{printed, refused};
use strum::VariantArray;

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/seeds/record/short-run.json");

/// The record with a change, in a directory.
fn changed(directory: &Path, name: &str, change: impl FnOnce(&mut serde_json::Value)) -> String {
    let mut record: serde_json::Value = serde_json::from_str(&fs::read_to_string(RECORD).unwrap()).unwrap();
    // It is another run.
    record["second_zero"]["wall"] = name.into();
    change(&mut record);
    let path = directory.join(name);
    fs::write(&path, record.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The page of these records.
fn page(directory: &Path, records: &[&str]) -> String {
    let out = directory.join("page.html");
    let to = ["-o", out.to_str().unwrap()];
    let said = printed(0, &[&["report"], records, &to].concat());
    assert_eq!(said, "");
    fs::read_to_string(out).unwrap()
}

/// The figures of tables by the first word of the table, the arm and the title of the column.
type Figures = BTreeMap<(String, String, String), String>;

/// The figures of tables, which are their lines of cells, the first one their head.
fn figures(tables: Vec<Vec<Vec<String>>>) -> Figures {
    let mut all = Figures::new();
    for table in tables {
        let Some((head, rows)) = table.split_first().filter(|(head, _)| head.len() > 1) else {
            continue;
        };
        for row in rows {
            let mut of = String::new();
            for (title, cell) in head.iter().zip(row).skip(1) {
                // "p99" behind "acquire p50" is that of the acquires.
                let is_part = title == "max" || title.strip_prefix('p').is_some_and(|n| n.parse::<f64>().is_ok());
                let whole = if is_part {
                    format!("{of} {title}")
                } else {
                    title.clone()
                };
                of = whole.rsplit_once(' ').map_or(String::new(), |(of, _)| of.to_owned());
                all.insert((head[0].clone(), row[0].clone(), whole), cell.clone());
            }
        }
    }
    all
}

/// Tables whose columns two spaces part, and that end with an empty line.
fn in_text(text: &str) -> Figures {
    let cells = |line: &str| {
        line.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let table = |part: &str| part.lines().map(cells).collect();
    figures(text.split("\n\n").map(table).collect())
}

fn in_markdown(text: &str) -> Figures {
    let is_row = |line: &&str| line.starts_with("| ");
    let cells = |line: &str| {
        let plain = line.replace("&#60;", "<").replace('\u{a0}', " ").replace('\\', "");
        plain
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    let table = |part: &str| part.lines().filter(is_row).map(cells).collect();
    figures(text.split("\n\n").map(table).collect())
}

fn in_page(page: &str) -> Figures {
    let texts = |row: &str| {
        let cells = row
            .split("<t")
            .skip(1)
            .filter(|part| part.starts_with('h') || part.starts_with('d'));
        let text = |part: &str| {
            part.split_once('>')
                .unwrap()
                .1
                .split("</t")
                .next()
                .unwrap()
                .replace("&lt;", "<")
        };
        cells.map(text).collect()
    };
    let table = |part: &str| part.split("<tr>").skip(1).map(texts).collect();
    let tables = page
        .split("<table")
        .skip(1)
        .map(|part| part.split("</table>").next().unwrap());
    figures(tables.map(table).collect())
}

/// The texts of the cells of a page.
fn cells(page: &str) -> Vec<&str> {
    let parts = page.split("<td").skip(1);
    parts
        .map(|part| part.split_once('>').unwrap().1.split('<').next().unwrap())
        .collect()
}

#[test]
fn a_page_opens_offline_and_its_figures_are_those_of_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let page = page(directory.path(), &[RECORD]);
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    for outside in ["src=", "url(http", "@import", "fetch("] {
        assert!(!page.contains(outside), "{outside}");
    }
    let script = page
        .split("<script>")
        .nth(1)
        .unwrap()
        .split("</script>")
        .next()
        .unwrap();
    assert!(script.lines().count() <= 200);
    // For each fault how long a lock was unavailable after it.
    assert!(
        page.contains("host 1 paused: unavailable") && cells(&page).contains(&"≥ 3.0 s"),
        "{page}"
    );
    let links = page.matches("http:").count() + page.matches("https:").count();
    assert_eq!(
        links,
        page.matches("http://www.w3.org/2000/svg").count(),
        "nothing from elsewhere"
    );
    // The verdicts as the summary has them.
    let summary = printed(0, &["record", "show", RECORD]);
    let table = summary.lines().skip_while(|line| !line.starts_with("lock  "));
    let rows: Vec<&str> = table.skip(1).take(2).collect();
    for row in rows {
        for cell in row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()) {
            assert!(
                cells(&page).contains(&cell),
                "{cell:?} of {row:?} is not in {:?}",
                cells(&page)
            );
        }
    }
}

#[test]
fn a_figure_is_the_same_in_terminal_page_markdown_and_table() {
    let directory = tempfile::tempdir().unwrap();
    let page = in_page(&page(directory.path(), &[RECORD]));
    let terminal = in_text(&printed(0, &["record", "show", RECORD, "--verbose"]));
    let text = in_text(&printed(0, &["report", RECORD]));
    let markdown = in_markdown(&printed(0, &["report", RECORD, "--format", "markdown"]));
    let table = printed(0, &["report", RECORD, "--format", "csv"]);
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let rows: Vec<csv::StringRecord> = rows.records().collect::<Result<_, _>>().unwrap();
    let value = |arm: &str, metric: Metric| {
        let row = rows.iter().find(|row| &row[2] == arm && &row[3] == metric.name())?;
        assert_eq!((&row[0], &row[1]), (RECORD, "7"));
        row[4].parse::<f64>().ok()
    };
    let mut seen = 0;
    for metric in Metric::VARIANTS {
        let shown = terminal.iter().filter(|((_, _, title), _)| title == metric.title());
        for (place, cell) in shown.filter(|((table, ..), _)| table != "lock" && table != "app servers") {
            for (form, other) in [("page", &page), ("text", &text), ("markdown", &markdown)] {
                assert_eq!(other.get(place), Some(cell), "{place:?} in the {form}");
            }
            // Without its mark, and what is said beside it.
            let number = cell
                .trim_start_matches(['✔', '✖', '?', '!', ' '])
                .split(" (")
                .next()
                .unwrap();
            let number = number.split(", ").next().unwrap();
            let written =
                value(&place.1, *metric).map(|value| figure(*metric, value).trim_end_matches("/s").to_owned());
            match number {
                "–" | "not sold out" => {}
                number => assert_eq!(written.as_deref(), Some(number), "{place:?} in the table"),
            }
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} figures of two arms");
}

#[test]
fn the_form_is_that_of_the_ending_and_a_page_needs_a_file() {
    let directory = tempfile::tempdir().unwrap();
    for (name, begins) in [
        ("a.html", "<!DOCTYPE html>"),
        ("a.txt", "A "),
        ("a.md", "### "),
        ("a.csv", "file,seed,arm,figure,value,unit\n"),
        ("a.json", "{"),
    ] {
        let out = directory.path().join(name);
        assert_eq!(printed(0, &["report", RECORD, "-o", out.to_str().unwrap()]), "");
        let text = fs::read_to_string(out).unwrap();
        let begins = if name == "a.txt" {
            printed(0, &["report", RECORD])
        } else {
            begins.to_owned()
        };
        assert!(text.starts_with(&begins), "{name}: {text}");
    }
    refused(
        2,
        &["report", RECORD, "--format", "html"],
        &["a page needs a file", "-o page.html"],
    );
    refused(2, &["report", RECORD, "--arm", "redlock"], &["--format hgrm"]);
    let both = changed(directory.path(), "both.json", |record| {
        record["arms"][0]["histograms"] = record["arms"][1]["histograms"].clone();
    });
    refused(
        2,
        &["report", &both, "--format", "hgrm"],
        &["--arm: \"single\", \"redlock\""],
    );
    refused(
        2,
        &["report", RECORD, "--format", "hgrm", "--arm", "none"],
        &["no arm \"none\"", "redlock"],
    );
    refused(2, &["report", RECORD, "--svg", "x", "--size", "5x5"], &["1600x900"]);
}

#[test]
fn json_is_the_record_without_histograms_with_each_verdict_and_the_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let with = |name: &str, errors: u64| {
        changed(directory.path(), name, |record| {
            record["seed"] = (7 + errors).into();
            record["scenario"]["expect"] = serde_json::json!([
                { "arm": "redlock", "metric": "errors", "op": "==", "bound": 0.0, "text": "== 0" }
            ]);
            record["arms"][1]["errors"] = errors.into();
        })
    };
    let (held, failed) = (with("held.json", 0), with("failed.json", 1));
    let json = printed(0, &["report", &held, &failed, "--format", "json"]);
    let lines = json.lines().map(|line| serde_json::from_str(line).unwrap());
    let [one, other]: [serde_json::Value; 2] = lines.collect::<Vec<_>>().try_into().unwrap();
    let told = |run: &serde_json::Value| {
        let verdict = |arm: &serde_json::Value| format!("{} {}", arm["name"], arm["verdict"]);
        let verdicts: Vec<String> = run["arms"].as_array().unwrap().iter().map(verdict).collect();
        format!("{} {} {}", run["file"], run["exit_code"], verdicts.join(", "))
    };
    let verdicts = r#""single" "unproven", "redlock" "unproven""#;
    assert_eq!(told(&one), format!("{held:?} 0 {verdicts}"));
    assert_eq!(told(&other), format!("{failed:?} 3 {verdicts}"));
    // The rest is as in the record.
    let record = printed(0, &["record", "show", &held, "--json"]);
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    for field in ["events", "expectations", "scenario", "second_zero"] {
        assert_eq!(one[field], record[field], "{field}");
    }
    assert_eq!(one["arms"][1]["figures"], record["arms"][1]["figures"]);
    assert!(record.to_string().contains("histogram") && !json.contains("histogram"));
}

#[test]
fn a_run_that_was_killed_has_no_table_of_parts_that_are_not_known() {
    let directory = tempfile::tempdir().unwrap();
    let record = changed(directory.path(), "killed.json", |record| {
        for arm in record["arms"].as_array_mut().unwrap() {
            (arm["phases"], arm["histograms"]) = (serde_json::json!([]), serde_json::json!({}));
        }
    });
    let page = page(directory.path(), &[&record]);
    assert!(
        !page.contains("How long it took") && page.contains("Second by second"),
        "{page}"
    );
}

#[test]
fn markdown_has_what_matters_in_sight_and_the_rest_folded_away() {
    let directory = tempfile::tempdir().unwrap();
    let strange = changed(directory.path(), "strange.json", |record| {
        record["scenario"]["title"] = "@all <b> | *x*".into();
    });
    let text = printed(0, &["report", &strange, "--format", "markdown"]);
    assert!(text.starts_with("### &#64;all &#60;b&#62; &#124; \\*x\\*\n"), "{text}");
    let folded = text
        .split("<details>")
        .skip(1)
        .map(|part| part.split("</details>").next().unwrap());
    let folded: usize = folded.map(|part| part.lines().count()).sum();
    assert!(text.lines().count() - folded <= 40, "{text}");
}

#[test]
fn percentiles_are_those_of_the_record_and_a_plan_reads_them() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("redlock.hgrm");
    let out = out.to_str().unwrap();
    printed(0, &["report", RECORD, "--arm", "redlock", "-o", out]);
    let record = RecordFile::read(Path::new(RECORD)).unwrap();
    let arm = record.arms.iter().find(|arm| arm.name == "redlock").unwrap();
    let acquired = arm.histogram(Time::Acquired).unwrap();
    let text = fs::read_to_string(out).unwrap();
    let lines = text.lines().skip(2).take_while(|line| !line.starts_with('#'));
    let mut count = 0.0;
    for line in lines {
        let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let wanted = acquired.value_at_quantile(numbers[1]) as f64 / 1e3;
        assert!((numbers[0] - wanted).abs() < 0.0006, "{line}: {wanted}");
        count = numbers[2];
    }
    assert!((count - acquired.len() as f64).abs() < 0.5, "{text}");
    let plan = [
        "plan",
        "--hold-from",
        out,
        "--unit",
        "ms",
        "--pause",
        "none",
        "--risk",
        "1e9/day",
    ];
    assert!(!printed(0, &plan).is_empty());
}

#[test]
fn each_chart_is_a_picture_of_its_size() {
    let directory = tempfile::tempdir().unwrap();
    let slides = directory.path().join("slides");
    let said = printed(
        0,
        &["report", RECORD, "--svg", slides.to_str().unwrap(), "--size", "800x600"],
    );
    let names: Vec<&str> = said.lines().collect();
    assert!(names.iter().any(|name| name.ends_with("slides/acquired.svg")), "{said}");
    assert_eq!(names.len(), fs::read_dir(&slides).unwrap().count());
    for name in names {
        let picture = fs::read_to_string(name).unwrap();
        assert!(picture.contains("width=\"800\" height=\"600\""), "{picture}");
        assert!(
            !picture.contains("currentColor") && !picture.contains("#0700"),
            "{picture}"
        );
    }
}

#[test]
fn a_run_that_was_interrupted_says_so_before_its_verdicts() {
    let directory = tempfile::tempdir().unwrap();
    let cut = |interrupted: bool| {
        let change = |record: &mut serde_json::Value| record["interrupted"] = interrupted.into();
        let record = changed(directory.path(), "cut.json", change);
        let page = page(directory.path(), &[&record]);
        page.find("1 run was interrupted")
            .map(|at| at < page.find("<table").unwrap())
    };
    assert_eq!((cut(true), cut(false)), (Some(true), None));
}

#[test]
fn runs_of_a_scenario_are_told_together_with_the_range_of_each_figure() {
    let directory = tempfile::tempdir().unwrap();
    let lost = |lost: u64| {
        move |record: &mut serde_json::Value| {
            (record["seed"], record["scenario"]["seed"]) = (lost.into(), lost.into());
            record["arms"][0]["lost_updates_peak"] = lost.into();
            record["arms"][0]["lost_updates"] = lost.into();
        }
    };
    let runs = directory.path().join("runs");
    fs::create_dir(&runs).unwrap();
    for n in [3, 1, 2] {
        changed(&runs, &format!("{n}.json"), lost(n));
    }
    let page = page(directory.path(), &[runs.to_str().unwrap()]);
    for said in [
        "Did not hold: single in 3 of 3",
        "seeds 1 to 3",
        "2 (1 – 3)",
        "0 of 3",
        "75 % confidence",
        "Seconds since the first fault of each run",
        // None in so many locks of all runs together.
        "✔ 0 (&lt; ",
    ] {
        assert!(page.contains(said), "no {said:?} in {page}");
    }
}

#[test]
fn records_that_are_none_or_of_other_scenarios_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let out = at("page.html");
    let other = changed(directory.path(), "other.json", |record| {
        record["scenario"]["duration_us"] = 9_000_000.into();
        let toml = record["scenario_toml"]
            .as_str()
            .unwrap()
            .replace("duration = \"3s\"", "duration = \"9s\"");
        record["scenario_toml"] = toml.into();
    });
    refused(
        2,
        &["report", RECORD, &other, "-o", &out],
        &["of different scenarios", "report each by itself"],
    );
    refused(2, &["report", RECORD, RECORD, "-o", &out], &["are the same run"]);
    let fewer = changed(directory.path(), "fewer.json", |record| {
        record["arms"].as_array_mut().unwrap().pop();
    });
    refused(
        2,
        &["report", &fewer, "-o", &out],
        &["its arms are not those of its scenario"],
    );
    let obeyed = changed(directory.path(), "obeyed.json", |record| {
        let name = "a\u{1b}[8m";
        (record["arms"][0]["name"], record["scenario"]["arms"][0]["name"]) = (name.into(), name.into());
    });
    refused(
        2,
        &["record", "show", &obeyed],
        &["characters that a terminal would obey"],
    );
    let many = changed(directory.path(), "many.json", |record| {
        record["scenario"]["lab"]["hosts"] = u64::MAX.into();
    });
    refused(2, &["report", &many, "-o", &out], &["more hosts than a lab can have"]);
    let before = fs::read(&other).unwrap();
    refused(2, &["report", RECORD, "--log", &other], &["that is a record or a page"]);
    refused(2, &["report", RECORD, &other, "-o", &other], &["is used twice"]);
    assert_eq!(fs::read(&other).unwrap(), before, "no record is replaced by its page");
    refused(2, &["report", &at("missing.json"), "-o", &out], &["cannot read"]);
    let empty = at("empty");
    fs::create_dir(&empty).unwrap();
    refused(2, &["report", &empty, "-o", &out], &["has no record", ".json"]);
    refused(
        2,
        &["report", RECORD, "-o", &at("no/page.html")],
        &["there is no directory"],
    );
    assert!(!Path::new(&out).exists(), "nothing is written");
}

#[test]
fn runs_with_two_settings_are_compared_before_each_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let longer = changed(directory.path(), "longer.json", |record| {
        let ttl = |text: &str| text.replace("ttl = \"2s\"", "ttl = \"8s\"");
        record["scenario_toml"] = ttl(record["scenario_toml"].as_str().unwrap()).into();
        for arm in record["scenario"]["arms"].as_array_mut().unwrap() {
            arm["ttl_us"] = 8_000_000.into();
        }
        record["second_zero"]["wall"] = "2026-11-26T12:31:01.835027Z".into();
    });
    let text = printed(0, &["report", RECORD, &longer]);
    assert!(
        text.starts_with("held") && text.lines().next().unwrap().contains("ttl 2s  "),
        "{text}"
    );
    assert!(text.contains("ttl 8s and ttl 2s are the same"), "{text}");
    let markdown = printed(0, &["report", RECORD, &longer, "--format", "markdown"]);
    assert!(markdown.contains("| held | ttl 2s | ttl 8s |"), "{markdown}");
    let csv = printed(0, &["report", RECORD, &longer, "--format", "csv"]);
    let [one, two] = [RECORD, &longer].map(|file| csv.lines().filter(|line| line.starts_with(file)).count());
    assert!(one == two && one + two + 1 == csv.lines().count(), "{csv}");
    let page = page(directory.path(), &[RECORD, &longer]);
    for part in [
        "In how many runs each lock held",
        "ttl 8s against ttl 2s",
        "the same but for",
    ] {
        assert!(page.contains(part), "{part:?} is missing");
    }
    // A setting that differs in two keys names both, and the first one names each of its keys once.
    let both = changed(directory.path(), "both.json", |record| {
        let text = record["scenario_toml"]
            .as_str()
            .unwrap()
            .replace("ttl = \"2s\"", "ttl = \"8s\"");
        record["scenario_toml"] = text.replace("workers = 2", "workers = 3").into();
        record["scenario"]["swarm"]["workers"] = 3.into();
    });
    let text = printed(0, &["report", RECORD, &longer, &both]);
    let head: Vec<&str> = text
        .lines()
        .next()
        .unwrap()
        .split("  ")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    assert_eq!(head, ["held", "ttl 2s, workers 2", "ttl 8s", "ttl 8s, workers 3"]);
    let one_setting = ["several settings (ttl 2s; ttl 8s)", "name those of one"];
    refused(
        2,
        &["report", RECORD, &longer, "--format", "hgrm", "--arm", "redlock"],
        &one_setting,
    );
}
