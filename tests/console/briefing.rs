//! The page before a run, the preview beside the list, and the schedule that is held.

use crate::picture;

use std::sync::Arc;

use lockstorm::console::{App, ConsoleOptions, Intent, Message, views};
use lockstorm_data::facts::NextStep;
use lockstorm_data::model::{Fault, HostId, Target, Targets};
use lockstorm_data::scenario::builtin;
use lockstorm_kit::scenario::builtin as opened;
use lockstorm_run::{Command, Next};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

fn app(briefing: bool) -> App {
    let listed = |one: &builtin::Builtin| (one.name.to_owned(), one.title().to_owned());
    let options = ConsoleOptions {
        briefing,
        ..ConsoleOptions::default()
    };
    App::new(builtin::ALL.iter().map(listed).collect(), &options)
}

fn press(app: &mut App, code: KeyCode) -> Option<Intent> {
    app.update(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn drawn(app: &App, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a test terminal");
    terminal.draw(|frame| views::render(frame, app)).expect("a frame");
    let rows = terminal.backend().buffer().content().chunks(usize::from(width));
    rows.map(|cells| cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n")
        .collect()
}

fn loaded(app: &mut App, name: &str) -> Option<Intent> {
    app.update(Message::Loaded(Ok(Box::new(opened(name, &[])))))
}

fn says(screen: &str, words: &[&str]) {
    for words in words {
        assert!(screen.contains(words), "{words} is not there:\n{screen}");
    }
}

#[test]
fn a_scenario_is_told_about_before_it_starts() {
    let mut app = app(true);
    assert!(loaded(&mut app, "failover").is_none(), "it waits for Enter");
    let screen = drawn(&app, (120, 44));
    says(
        &screen,
        &[
            "What happens",
            "1. host 1 forgets",
            "try 2 k: kill host 2 too",
            "3. host 1 returns",
        ],
    );
    says(
        &screen,
        &[
            "What to look at",
            "Keys to try",
            "sentinel wait 2: ",
            "42 s · failover",
            "Enter starts",
        ],
    );
    assert!(
        !screen.contains("Sizes:") && !screen.contains("choose a scenario"),
        "{screen}"
    );
    // All of it can be read on a small screen.
    assert!(!drawn(&app, (80, 24)).contains("What is compared"));
    press(&mut app, KeyCode::PageDown);
    says(&drawn(&app, (80, 24)), &["What is compared", "Enter starts"]);
    assert!(press(&mut app, KeyCode::Esc).is_none());
    says(&drawn(&app, (80, 24)), &["choose a scenario", "› failover"]);
    loaded(&mut app, "failover");
    let launched = press(&mut app, KeyCode::Enter);
    assert!(matches!(launched, Some(Intent::Launch(scenario)) if scenario.name == "failover"));
    says(&drawn(&app, (120, 44)), &["setting up", "starting …", "host 1 forgets"]);
}

#[test]
fn without_a_briefing_and_again_a_scenario_starts_at_once() {
    let mut silent = app(false);
    assert!(matches!(loaded(&mut silent, "failover"), Some(Intent::Launch(_))));
    let mut app = app(true);
    loaded(&mut app, "failover");
    press(&mut app, KeyCode::Enter);
    let again = press(&mut app, KeyCode::Char('R'));
    assert!(matches!(again, Some(Intent::Command(Command::Stop))), "{again:?}");
}

#[test]
fn a_scenario_that_breaks_nothing_leaves_the_keys_to_the_reader() {
    let mut app = app(true);
    loaded(&mut app, "stampede");
    says(
        &drawn(&app, (120, 44)),
        &["Nothing breaks by itself: the keys are yours."],
    );
}

#[test]
fn the_list_has_a_preview_where_there_is_room() {
    let mut app = app(true);
    let wide = drawn(&app, (120, 36));
    says(
        &wide,
        &["› failover", "what it shows", "1. host 1 forgets", "42 s · failover"],
    );
    assert!(!drawn(&app, (95, 36)).contains("what it shows"));
    press(&mut app, KeyCode::Down);
    says(
        &drawn(&app, (96, 36)),
        &["› single-vs-redlock", "34 s · single-vs-redlock"],
    );
}

/// Host 1 dies.
fn death() -> NextStep {
    NextStep::Fault {
        action: Fault::Kill.into(),
        targets: Targets::Named(vec![Target::Host(HostId(1))]),
        is_bounce: false,
        waits_for: None,
    }
}

/// A run of which this comes next.
fn running(next: Option<NextStep>, held: bool) -> App {
    let mut app = app(false);
    let mut snapshot = picture::calm(picture::inventory(), 12.3);
    snapshot.held = held;
    snapshot.ends_at = snapshot.ends_at.filter(|_| !held);
    snapshot.next = next.map(|step| Next {
        step,
        at: Some(18.0).filter(|_| !held),
        returns: Vec::new(),
    });
    app.launch(Box::new(picture::inventory()));
    app.update(Message::Snapshot(Arc::new(snapshot)));
    app
}

/// The command that a key gives.
fn ordered(app: &mut App, code: KeyCode) -> Option<Command> {
    match press(app, code) {
        Some(Intent::Command(command)) => Some(command),
        _ => None,
    }
}

#[test]
fn g_holds_the_schedule_and_enter_plays_what_comes_next_only_then() {
    let g = KeyCode::Char('g');
    let mut going = running(Some(death()), false);
    says(&drawn(&going, (120, 36)), &["host 1 dies in 6 s"]);
    assert_eq!(ordered(&mut going, KeyCode::Enter), None);
    says(&drawn(&going, (120, 36)), &["verdict"]);
    assert_eq!(ordered(&mut going, g), Some(Command::Hold(true)));
    let mut held = running(Some(death()), true);
    says(&drawn(&held, (120, 36)), &["host 1 dies", "Enter"]);
    assert_eq!(ordered(&mut held, KeyCode::Enter), Some(Command::Step));
    assert_eq!(ordered(&mut held, g), Some(Command::Hold(false)));
    let mut done = running(None, false);
    assert_eq!(
        ordered(&mut done, g),
        Some(Command::Hold(true)),
        "the end can be held back"
    );
    let mut busy = running(None, true);
    assert_eq!(ordered(&mut busy, KeyCode::Enter), None, "a step that is under way");
    let mut done = running(Some(NextStep::LoadEnds), true);
    says(&drawn(&done, (120, 36)), &["the load ends", "held"]);
    assert_eq!(ordered(&mut done, KeyCode::Enter), Some(Command::End));
}
