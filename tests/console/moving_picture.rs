//! README's moving picture: a run of the console, as its cast recorded it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use lockstorm::console::picture::{page, pieces};
use lockstorm_kit::alone;
use lockstorm_kit::console::{Console, Size};
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier, Style};
use serde_json::Value;
use vt100::Parser;

/// The most bytes that a reader of README should have to fetch.
const MOST: usize = 200_000;
/// How long a frame is shown at least, in seconds of the run, unless a marker comes.
const STEP: f64 = 1.2;
/// How many seconds of the run a second of the picture shows.
const SPEED: f64 = 2.5;
/// How long the last frame stays, in seconds.
const PAUSE: f64 = 3.5;

/// What is on the screen from a time on.
struct Frame {
    at: f64,
    pieces: Vec<String>,
}

/// The size of a cast's terminal, and what it shows: the frame before each marker, one a step, and the last.
fn frames(cast: &str) -> (Size, Vec<Frame>) {
    let mut lines = cast
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let head = lines.next().expect("a head");
    let side = |name: &str| u16::try_from(head["term"][name].as_u64().expect("a size")).expect("a small one");
    let size = (side("cols"), side("rows"));
    let mut screen = Parser::new(size.1, size.0, 0);
    let mut frames: Vec<Frame> = Vec::new();
    let (mut at, mut kept) = (0.0, 0);
    for event in lines {
        at += event[0].as_f64().expect("an interval");
        let shows = match (event[1].as_str(), event[2].as_str()) {
            (Some("o"), Some(shows)) => shows,
            (Some("m"), _) => {
                kept = frames.len();
                continue;
            }
            _ => panic!("a picture has one size, and shows what nobody typed: {event}"),
        };
        screen.process(shows.as_bytes());
        let pieces = shown(&screen, size);
        if frames.last().is_some_and(|last| last.pieces == pieces) {
            continue;
        }
        let is_soon = |last: &Frame| at - last.at < STEP;
        if frames.last().is_some_and(is_soon) {
            frames.truncate(kept);
        }
        if !frames.last().is_some_and(is_soon) {
            kept = frames.len() + 1;
        }
        frames.push(Frame { at, pieces });
    }
    (size, frames)
}

fn shown(screen: &Parser, (columns, rows): Size) -> Vec<String> {
    let screen = screen.screen();
    let cells = |y| (0..columns).map(move |x| cell(screen.cell(y, x).expect("inside")));
    let row = |y| pieces(&cells(y).collect::<Vec<Cell>>(), u32::from(y));
    (0..rows).flat_map(row).collect()
}

fn cell(shown: &vt100::Cell) -> Cell {
    let colour = |colour| match colour {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Idx(index) => Color::Indexed(index),
        vt100::Color::Rgb(..) => panic!("the console has the 256 colours only"),
    };
    let modifiers = [
        (shown.bold(), Modifier::BOLD),
        (shown.dim(), Modifier::DIM),
        (shown.inverse(), Modifier::REVERSED),
    ];
    let on = modifiers.into_iter().filter(|(is_on, _)| *is_on).map(|(_, one)| one);
    let style = Style::new().fg(colour(shown.fgcolor())).bg(colour(shown.bgcolor()));
    let mut cell = Cell::default();
    cell.set_style(style.add_modifier(on.collect::<Modifier>()));
    if shown.has_contents() {
        cell.set_symbol(shown.contents());
    }
    cell
}

/// The picture. Each piece is in it once, beside all that are seen in the same frames, and the style of such a group says when.
/// Who plays no animations, or wants none, sees the last frame.
fn moving(size: Size, frames: &[Frame]) -> String {
    let mut seen: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    for (index, frame) in frames.iter().enumerate() {
        for piece in &frame.pieces {
            seen.entry(piece).or_insert_with(|| vec![false; frames.len()])[index] = true;
        }
    }
    let mut groups: BTreeMap<Vec<bool>, String> = BTreeMap::new();
    for (piece, when) in seen {
        groups.entry(when).or_default().push_str(piece);
    }
    let (first, last) = (frames[0].at, frames[frames.len() - 1].at);
    let length = (last - first) / SPEED + PAUSE;
    let percent = |frame: &Frame| (frame.at - first) / SPEED / length * 100.0;
    let mut style = format!("g{{animation:{length:.1}s step-end infinite}}\n");
    let mut body = String::new();
    for (number, (when, pieces)) in groups.iter().enumerate() {
        if when.iter().all(|is_seen| *is_seen) {
            body += pieces;
            continue;
        }
        let _ = write!(style, "#g{number}{{animation-name:g{number}}}@keyframes g{number}{{");
        for (index, (frame, is_seen)) in frames.iter().zip(when).enumerate() {
            if index == 0 || when[index - 1] != *is_seen {
                let what = if *is_seen { "visible" } else { "hidden" };
                let _ = write!(style, "{:.2}%{{visibility:{what}}}", percent(frame));
            }
        }
        style += "}\n";
        let still = if when[when.len() - 1] {
            ""
        } else {
            " visibility=\"hidden\""
        };
        let _ = write!(body, "<g id=\"g{number}\"{still}>\n{pieces}</g>\n");
    }
    let style = format!("<style>\n@media (prefers-reduced-motion: no-preference) {{\n{style}}}\n</style>\n");
    page(size, &(style + &body))
}

fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/console.svg")
}

/// Plays the main scenario and makes the picture of it. A run in which a prediction did not hold is not shown to anybody.
#[test]
#[ignore = "make picture"]
fn the_picture_of_readme_is_made() {
    let _turn = alone();
    let arguments = ["failover", "--no-briefing", "--cast", "failover.cast"];
    let mut console = Console::start((120, 36), &arguments, &[]);
    console.wait_for_run(3);
    console.wait_for("the end page", |screen| screen.text.contains("FINISHED"));
    // The cast is written in the background, and after `q` it may go on with a lab that goes down.
    let path = console.labs().with_file_name("failover.cast");
    let mut cast = String::new();
    console.wait_for("the end page in the cast", |_| {
        cast = fs::read_to_string(&path).expect("a cast");
        let is_end_page = |frame: &Frame| frame.pieces.concat().contains("FINISHED");
        cast.ends_with('\n') && frames(&cast).1.last().is_some_and(is_end_page)
    });
    console.press("q");
    assert_eq!(console.gone(), 0, "a prediction did not hold: is this machine busy?");
    let (size, frames) = frames(&cast);
    let picture = moving(size, &frames);
    check(&picture);
    fs::write(readme(), picture).expect("a writable place");
}

/// Panics if a reader of README could not see this picture.
fn check(picture: &str) {
    assert!(picture.len() <= MOST, "{} bytes", picture.len());
    let mut open = Vec::new();
    for part in picture.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        assert!(["svg", "style", "rect", "g", "text", ""].contains(&name), "<{tag}>");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{part}"),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
        let mut escapes = text.split('&').skip(1);
        assert!(tag.matches('"').count() % 2 == 0 && !text.contains('>'), "{part}");
        assert!(
            escapes.all(|rest| ["amp;", "lt;", "gt;"].iter().any(|one| rest.starts_with(one))),
            "{part}"
        );
    }
    assert!(open.is_empty() && picture.contains(" infinite}"), "{open:?}");
}

#[test]
fn the_picture_of_readme_moves_is_small_and_has_no_script() {
    check(&fs::read_to_string(readme()).expect("it is there"));
}

const HEAD: &str = r#"{"version": 3, "term": {"cols": 12, "rows": 3}}"#;

#[test]
fn each_piece_of_a_moving_picture_is_in_it_once_and_seen_at_its_times() {
    let events = [
        r#"[0.2, "o", "\u001b[Hlockstorm\u001b[2;1Hone"]"#,
        r#"[0.5, "o", "\u001b[2;1Htwo"]"#,
        r#"[0.1, "o", "\u001b[2;1H\u001b[1;38;5;203m<three>\u001b[m"]"#,
        r#"[0.0, "m", "a marker"]"#,
        r#"[1.2, "o", "\u001b[3;1H✖"]"#,
        r#"[0.2, "o", "\u001b[2;1Hone    "]"#,
    ];
    let (size, frames) = frames(&format!("{HEAD}\n{}\n", events.join("\n")));
    let times: String = frames.iter().map(|frame| format!("{:.1} ", frame.at)).collect();
    assert_eq!((size, times.as_str()), ((12, 3), "0.2 0.8 2.0 2.2 "));
    let picture = moving(size, &frames);
    check(&picture);
    // 2 s of the run and the pause take 4.3 s.
    let hidden = " visibility=\"hidden\"";
    let three = "fill=\"#ff5f5f\" font-weight=\"bold\" textLength=\"63\" lengthAdjust=\"spacingAndGlyphs\">&lt;three&gt;</text>";
    for (piece, still, times) in [
        (">one</text>", "", "0.00%visible 5.58%hidden 18.60%visible "),
        (three, hidden, "0.00%hidden 5.58%visible 18.60%hidden "),
        (">✖</text>", "", "0.00%hidden 16.74%visible "),
    ] {
        assert_eq!(picture.matches(piece).count(), 1, "{piece}: {picture}");
        let (before, _) = picture.split_once(piece).expect("it is there");
        let (_, group) = before.rsplit_once("<g id=\"").expect("a group");
        let (name, rest) = group.split_once('"').expect("a name");
        assert!(
            rest.starts_with(&format!("{still}>")) && !rest.contains("</g>"),
            "{rest}"
        );
        let times = times.replace('%', "%{visibility:").replace(' ', "}");
        assert!(
            picture.contains(&format!("@keyframes {name}{{{times}}}")),
            "{name}: {picture}"
        );
    }
    let (before, _) = picture.split_once(">lockstorm</text>").expect("what is always there");
    assert_eq!(before.matches("<g ").count(), before.matches("</g>").count());
    assert!(!picture.contains(">two<") && picture.contains("g{animation:4.3s step-end infinite}"));
}

#[test]
#[should_panic(expected = "a picture has one size")]
fn a_cast_of_a_terminal_that_was_resized_makes_no_picture() {
    frames(&format!("{HEAD}\n[0.1, \"r\", \"100x30\"]\n"));
}
