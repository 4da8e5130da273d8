//! A record in the console: what its keys do, what they refuse, and how a record is told from a run.

use std::time::Duration;

use lockstorm::console::{App, ConsoleOptions, Intent, Message, View, views};
use lockstorm_data::history::{Event, Reported};
use lockstorm_kit::console::{Console, Size};
use lockstorm_kit::program::says;
use lockstorm_run::Record;
use lockstorm_run::oracle::reported::JudgedEvents;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const WIDE: Size = (120, 36);
const SMALL: Size = (80, 24);

fn demo() -> Record {
    lockstorm::report::demo().expect("it comes with the program")
}

/// A console that plays a record.
fn playing(record: Record) -> App {
    let mut app = App::new(Vec::new(), &ConsoleOptions::default());
    app.play(record);
    app
}

/// The same, stopped at second 0, and then these keys.
fn after(keys: &[KeyCode]) -> App {
    let mut app = playing(demo());
    press(&mut app, &[KeyCode::Char(' ')]);
    press(&mut app, keys);
    app
}

fn press(app: &mut App, keys: &[KeyCode]) -> Vec<Intent> {
    let press = |code: &KeyCode| app.update(Message::Key(KeyEvent::new(*code, KeyModifiers::NONE)));
    keys.iter().filter_map(press).collect()
}

fn chars(keys: &str) -> Vec<KeyCode> {
    keys.chars().map(KeyCode::Char).collect()
}

fn screen_at(app: &App, (width, height): Size) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a test terminal");
    terminal.draw(|frame| views::render(frame, app)).expect("a frame");
    let cells = terminal.backend().buffer().content().chunks(usize::from(width));
    let row = |cells: &[ratatui::buffer::Cell]| cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
    cells.map(row).collect()
}

fn screen(app: &App) -> String {
    screen_at(app, WIDE).join("\n")
}

/// What the header says of the record.
fn place(app: &App) -> String {
    let header = screen_at(app, WIDE).swap_remove(0);
    let (_, rest) = header.split_once("RECORD ").expect("a record is no run");
    rest.split("  ").next().unwrap_or_default().trim().to_owned()
}

#[test]
fn time_passes_at_the_speed_and_stops_at_the_end() {
    let mut app = playing(demo());
    assert!(screen(&app).contains("▶ RECORD 0 s of 42 s · 1×"));
    let pass = |app: &mut App| _ = app.update(Message::Passed(Duration::from_secs(2)));
    pass(&mut app);
    assert_eq!(place(&app), "2 s of 42 s · 1×");
    press(&mut app, &chars("++"));
    assert_eq!(app.status(), Some("the record plays at 4×"));
    pass(&mut app);
    assert_eq!(place(&app), "10 s of 42 s · 4×");
    press(&mut app, &chars(" "));
    pass(&mut app);
    assert_eq!(place(&app), "10.0 s of 42 s · 4×", "it is stopped");
    press(&mut app, &chars(" <<<<"));
    pass(&mut app);
    assert_eq!(place(&app), "10 s of 42 s · 1/4×");
    press(&mut app, &chars("-"));
    assert_eq!(app.status(), Some("1/4× is as far as it goes"));
    press(&mut app, &chars(">>>>>>>>"));
    pass(&mut app);
    assert!(screen(&app).contains("◼ RECORD end of 42 s"));
    assert_eq!(app.view(), View::Summary);
    press(&mut app, &chars(" "));
    assert_eq!(place(&app), "0 s of 42 s · 64×", "from the end it plays again");
    assert_eq!(app.view(), View::Dashboard);
}

#[test]
fn arrows_and_page_keys_go_through_time() {
    let mut app = after(&[KeyCode::Right, KeyCode::Right, KeyCode::PageDown, KeyCode::Left]);
    assert_eq!(place(&app), "11.0 s of 42 s · 1×");
    app.update(Message::Key(KeyEvent::new(KeyCode::Right, KeyModifiers::SHIFT)));
    assert_eq!(place(&app), "21.0 s of 42 s · 1×");
    press(&mut app, &[KeyCode::Home]);
    assert_eq!(place(&app), "0.0 s of 42 s · 1×");
    press(&mut app, &[KeyCode::Left]);
    assert_eq!(app.status(), Some("this is the beginning of the record"));
    press(&mut app, &[KeyCode::End]);
    says(
        &screen(&app),
        &[
            "◼ RECORD end of 42 s",
            "finished after 42.0 s",
            "redlock          ✔ safe",
        ],
    );
    press(&mut app, &[KeyCode::End]);
    assert_eq!(app.status(), Some("this is the end of the record"));
    press(&mut app, &[KeyCode::Left]);
    assert_eq!(
        (place(&app).as_str(), app.view()),
        ("41.0 s of 42 s · 1×", View::Dashboard)
    );
}

#[test]
fn keys_go_from_event_to_event() {
    let says_first = |app: &App, words: &str| app.status().is_some_and(|said| said.starts_with(words));
    let mut app = after(&chars("n"));
    assert!(says_first(&app, "0.0 s: Healthy"), "{:?}", app.status());
    press(&mut app, &chars("n"));
    assert!(says_first(&app, "4.1 s: host 1 killed"), "{:?}", app.status());
    let died = [
        "ACT 1/3  host 1 crashes",
        "✖ DOWN",
        "single           ▲ NODE DOWN",
        "host 1 died",
    ];
    says(&screen(&app), &died);
    press(&mut app, &chars("]"));
    let back = ["host 1  ● UP", " locks forgotten", "two held one lock at once"];
    says(&screen(&app), &back);
    press(&mut app, &chars("p"));
    says(&screen(&app), &died);
    press(&mut app, &chars("["));
    assert_eq!(place(&app), "0.0 s of 42 s · 1×", "the beginning is an event");
    press(&mut app, &chars("p"));
    assert_eq!(app.status(), Some("there is no earlier event"));
    press(&mut app, &[KeyCode::End, KeyCode::Char('n')]);
    assert!(says_first(&app, "there is no later event"), "{:?}", app.status());
}

#[test]
fn keys_go_from_double_hold_to_double_hold_and_show_it() {
    let mut app = after(&chars("d"));
    assert_eq!(place(&app), "4.5 s of 42 s · 1×");
    let first = screen(&app);
    says(&first, &["Enter or Esc closes the lanes"]);
    press(&mut app, &chars("d"));
    assert_ne!(screen(&app), first, "another one");
    press(&mut app, &chars("D"));
    assert_eq!(screen(&app), first);
    press(&mut app, &chars("D"));
    assert_eq!(app.status(), Some("no earlier double hold is kept in this record"));
    // The lanes keep their arrows.
    press(&mut app, &[KeyCode::Right]);
    assert_eq!(place(&app), "4.5 s of 42 s · 1×");
    press(&mut app, &[KeyCode::Esc, KeyCode::Right]);
    assert_eq!(place(&app), "5.5 s of 42 s · 1×");
}

#[test]
fn nothing_can_be_broken_turned_or_started_in_a_record() {
    let mut app = after(&[KeyCode::PageDown]);
    for key in "bkrxfF:tThHaANRog".chars() {
        assert!(press(&mut app, &[KeyCode::Char(key)]).is_empty(), "{key}");
        let said = "this is a record: nothing can be broken, turned or started in it";
        assert_eq!(app.status(), Some(said), "{key}");
    }
    press(&mut app, &chars("l"));
    assert!(app.status().is_some_and(|said| said.contains("lockstorm plan RECORD")));
    assert!(matches!(press(&mut app, &chars("S"))[..], [Intent::Save(_)]));
    assert!(matches!(press(&mut app, &chars("q"))[..], [Intent::Quit]), "at once");
}

/// It has neither hosts nor app servers, and no second 0 but its first event.
#[test]
fn what_another_program_reported_is_played_too() {
    let events = r#"{"event":"acquired","client":"a","key":"k","t":0}
{"event":"acquired","client":"b","key":"k","t":1500000000}
{"event":"released","client":"a","key":"k","t":2000000000}
{"event":"released","client":"b","key":"k","t":3500000000}"#;
    let events = Event::read(events.as_bytes(), |_| ())
        .collect::<Result<_, _>>()
        .expect("lines");
    let reported = Reported::of(events, true).expect("clients can do that");
    let judged = JudgedEvents::of(reported).expect("its own history");
    let record = Record::of_reported(["mine", "mine.jsonl"], &judged, None, None);
    let keys = [" vvvvvvvvTlLi1sekrx?/wcS", "dDpn", "q"].map(chars).concat();
    let codes = [
        KeyCode::Home,
        KeyCode::Right,
        KeyCode::End,
        KeyCode::Enter,
        KeyCode::Tab,
        KeyCode::Esc,
    ];
    for size in [WIDE, SMALL] {
        let mut app = playing(record.clone());
        says(&screen_at(&app, size).join("\n"), &["mine"]);
        for code in codes.iter().flat_map(|code| [&[*code], &keys[..]].concat()) {
            press(&mut app, &[code]);
            screen_at(&app, size);
        }
    }
    let mut app = playing(record);
    press(&mut app, &[KeyCode::Char(' '), KeyCode::Right, KeyCode::Right]);
    says(&screen(&app), &["● ready", "two held it, 1 ×"]);
    press(&mut app, &[KeyCode::Tab]);
    says(&screen(&app), &["4 events of 2 clients about 1 lock"]);
    press(&mut app, &[KeyCode::End]);
    says(&screen(&app), &["✖ UNSAFE", "Did not hold: program"]);
}

#[test]
fn what_the_record_has_only_in_total_is_empty_until_its_end() {
    let mut app = after(&[KeyCode::PageDown, KeyCode::Char('e')]);
    says(
        &screen(&app),
        &[
            "redlock: covered >= 10: told at the end of the record",
            "= single: double holds 16",
        ],
    );
    press(&mut app, &[KeyCode::Esc, KeyCode::Enter]);
    says(&screen(&app), &["times, votes  told at the end of the record"]);
    press(&mut app, &[KeyCode::Esc, KeyCode::End, KeyCode::Char('e')]);
    assert!(!screen(&app).contains("told at the end"));
}

#[test]
fn the_footer_and_the_help_have_the_keys_of_a_record() {
    let mut app = after(&[]);
    for size in [WIDE, SMALL] {
        let footer = screen_at(&app, size).pop().unwrap_or_default();
        says(&footer, &["Space play", "← → 1 s", "p n event", "q quit"]);
        assert!(!footer.contains("bounce") && !footer.contains("again"), "{footer}");
    }
    press(&mut app, &chars("?"));
    let help = screen(&app);
    says(
        &help,
        &[
            "Through the record",
            "previous, next double hold",
            "1-9     select a host",
            "leave; nothing is printed",
        ],
    );
    for other in [
        "SIGKILL",
        "freeze",
        "workers down",
        "run again",
        "end, print the summary",
    ] {
        assert!(!help.contains(other), "{other}: {help}");
    }
    // A window on top is scrolled by its keys.
    press(&mut app, &[KeyCode::PageDown]);
    assert!(screen(&app).contains("Through the record"));
    assert_eq!(place(&app), "0.0 s of 42 s · 1×");
}

#[test]
fn the_recorded_run_is_played_without_a_server() {
    let mut console = Console::start(WIDE, &["view", "demo", "--cast", "demo.cast"], &[]);
    // However far it has come on a slow machine: it is paused, and goes back to its first second.
    console.wait_for("it plays", |screen| screen.text.contains("▶ RECORD"));
    console.press(" \x1b[5~\x1b[5~\x1b[5~\x1b[5~\x1b[5~\x1b[Cn");
    console.wait_for("host 1 is down", |screen| screen.host(1).contains("✖ DOWN"));
    console.press("q");
    let (code, text) = console.end();
    assert_eq!(code, 0, "{text}");
}

#[test]
fn who_has_no_server_hears_of_the_recorded_run() {
    let console = Console::start(WIDE, &["failover", "--server-bin", "/nowhere/redis-server"], &[]);
    let (code, text) = console.end();
    assert_eq!(code, 1, "{text}");
    says(&text, &["/nowhere/redis-server", "lockstorm view demo"]);
}
