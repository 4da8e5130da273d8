//! What the console shows, at every size, and what its keys do.

use crate::picture;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum as _;
use lockstorm::console::{App, ConsoleOptions, Intent, Message, Saving, ThemeName, View, keys, views};
use lockstorm_base::Stop;
use lockstorm_data::facts::{Awaited, Caveat, Event, EventKind, GivenUp, NextStep, OrderedBy, Unmet};
use lockstorm_data::metrics::{Count, Entry, Latency, Metric, RecentTenths, Time};
use lockstorm_data::model::{
    Action, Cause, Condition, Conditions, Fault, Finding, HostId, How, NoVote, Observer, OrderId, Proof,
    ReplicationRole, ServerId, Target, Targets,
};
use lockstorm_data::scenario::{GivenNodes, LockKind, Op, Update};
use lockstorm_kit::program::says;
use lockstorm_lab::Role;
use lockstorm_run::{Behind, Command, Health, Knob, Live, Next, OldMaster, Phase, RunError, Snapshot};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::style::Color;

type Size = (u16, u16);
const WIDE: Size = (120, 36);
const SMALL: Size = (80, 24);
const LEAST: Size = (60, 16);
const SIZES: [Size; 3] = [WIDE, SMALL, LEAST];

const KILL: Action = Action::Fault(Fault::Kill);
const PAUSE: Action = Action::Fault(Fault::Pause);
const SHUTDOWN: Action = Action::Fault(Fault::Shutdown);
const RESTART: Action = Action::Undo(Condition::Down);
const RESUME: Action = Action::Undo(Condition::Paused);
const HOST: Target = Target::Host(HostId(1));

fn options(theme: ThemeName, colours: bool) -> ConsoleOptions {
    ConsoleOptions {
        theme,
        colours,
        ascii: false,
        ..ConsoleOptions::default()
    }
}

fn catalogue() -> Vec<(String, String)> {
    let entry = |name: &str, title: &str| (name.to_owned(), title.to_owned());
    vec![
        entry("flash-sale", "200 items, 1,600 buyers: who sells more than there is?"),
        entry(
            "quorum-loss",
            "One host dies, then a second: redlock goes on, refuses, recovers",
        ),
        entry(
            "single-vs-redlock",
            "The node under the single lock dies and comes back empty",
        ),
        entry("stampede", "One hot key expires under a hundred readers"),
    ]
}

/// A console in a run that has published this snapshot.
fn showing_in(snapshot: Snapshot, options: &ConsoleOptions) -> App {
    let mut app = App::new(catalogue(), options);
    app.launch(Box::new(snapshot.scenario.as_ref().clone()));
    app.update(Message::Snapshot(Arc::new(snapshot)));
    app
}

fn showing(snapshot: Snapshot) -> App {
    showing_in(snapshot, &options(ThemeName::Dark, true))
}

/// A console in which nothing was chosen yet.
fn picking() -> App {
    App::new(catalogue(), &options(ThemeName::Dark, true))
}

/// The same after these keys.
fn after(snapshot: Snapshot, keys: &str) -> App {
    let mut app = showing(snapshot);
    press(&mut app, keys);
    app
}

/// The storm after these keys.
fn storm(keys: &str) -> App {
    after(picture::storm(), keys)
}

/// The figures and the latency of this snapshot, of the first arm in the table.
fn charts(snapshot: Snapshot) -> App {
    let mut app = showing(snapshot);
    code(&mut app, KeyCode::Tab);
    app
}

/// The same of the arm with this name.
fn charts_of(snapshot: Snapshot, arm: &str) -> App {
    let mut app = charts(snapshot);
    while !drawn(&app, WIDE).contains(&format!("│› {arm} ")) {
        code(&mut app, KeyCode::Down);
        assert!(!status(&app).contains("no other lock"), "there is no {arm}");
    }
    app
}

/// The main scenario with everything up, after these keys.
fn calm(keys: &str) -> App {
    after(picture::calm(picture::inventory(), 12.3), keys)
}

/// The storm, finished.
fn over() -> Snapshot {
    picture::finished(picture::storm())
}

fn code(app: &mut App, code: KeyCode) -> Option<Intent> {
    app.update(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn press(app: &mut App, keys: &str) -> Vec<Intent> {
    keys.chars().filter_map(|key| code(app, KeyCode::Char(key))).collect()
}

fn draw(app: &App, (width, height): Size) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a test terminal");
    terminal.draw(|frame| views::render(frame, app)).expect("a frame");
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let rows = buffer.content().chunks(usize::from(buffer.area.width.max(1)));
    let row = |cells: &[ratatui::buffer::Cell]| cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
    rows.map(|cells| row(cells).trim_end().to_owned() + "\n").collect()
}

/// The run publishes this.
fn publish(app: &mut App, snapshot: Snapshot) {
    app.update(Message::Snapshot(Arc::new(snapshot)));
}

/// The text of the screen at this size.
fn drawn(app: &App, size: Size) -> String {
    text(&draw(app, size))
}

/// What the last line says.
fn status(app: &App) -> &str {
    app.status().unwrap_or_default()
}

/// The screen at every size, one below the other.
fn screens(app: &App) -> String {
    SIZES
        .iter()
        .map(|&size| format!("{}×{}\n{}\n", size.0, size.1, drawn(app, size)))
        .collect()
}

/// A run that is being set up.
fn set_up() -> Snapshot {
    let mut snapshot = picture::calm(picture::inventory(), -1.0);
    snapshot.phase = Phase::SetUp("waiting for 3 hosts to answer".to_owned());
    snapshot
}

/// A run that failed with these words.
fn failed_with(error: &str) -> Snapshot {
    let mut snapshot = picture::calm(picture::inventory(), -1.0);
    snapshot.phase = Phase::Failed(error.to_owned());
    snapshot
}

/// Tests that compare the screens of an app with a snapshot.
macro_rules! screens_of {
    ($($name:ident: $app:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(screens(&$app));
        })*
    };
}

screens_of! {
    dashboard_before_any_fault: calm("");
    dashboard_in_the_storm: storm("2");
    charts_in_the_storm: charts(picture::storm());
    charts_of_stuck_arms: charts(stuck());
    details_of_a_lock: {
        let mut app = storm("");
        code(&mut app, KeyCode::Enter);
        app
    };
    details_of_a_host: storm("2i");
    dashboard_of_a_stampede: showing(picture::stampeded());
    dashboard_of_stuck_arms: showing(stuck());
    scoreboard: storm("v");
    events: {
        let mut app = storm("vv");
        let file = "./single-vs-redlock-20261121T101500-running.txt";
        app.update(Message::Saved(Ok(file.to_owned())));
        app
    };
    summary: showing(over());
    help: calm("?");
    expectations: storm("e");
    ttls: storm("l");
    picker: {
        let mut app = picking();
        code(&mut app, KeyCode::Down);
        app
    };
    setting_up: showing(set_up());
    failed: {
        let error = "no redis-server or valkey-server on PATH: install one with  apt-get install redis-server";
        showing(failed_with(error))
    };
    stopping: storm("q");
}

#[test]
fn expectations_at_the_end() {
    let mut storm = picture::storm();
    // What unsold stock hides.
    storm.arms[2].figures.ledger[Entry::Oversold] = Some(0);
    storm.arms[2].figures.sold_out_all = false;
    let app = after(picture::finished(storm), "e");
    let screen = drawn(&app, SMALL);
    let lines = ["= redlock: oversold", "? single: oversold", "≠ redlock: acquire p99"];
    says(&screen, &lines);
    assert!(!screen.contains("so far"));
}

#[test]
fn the_ttls_that_sections_would_outlast_follow_the_knob() {
    let mut app = after(picture::calm(picture::inventory(), 26.0), "t");
    let hint = app.status().expect("the knob was turned").to_owned();
    assert!(
        hint.starts_with("TTL 1 s · ") && hint.contains("sections of redlock would outlast it if it were not renewed"),
        "{hint}"
    );
    press(&mut app, "l");
    for size in SIZES {
        let screen = drawn(&app, size);
        let marked: Vec<&str> = screen.lines().filter(|line| line.contains('◆')).collect();
        assert!(marked.iter().any(|line| line.contains("1 s ")), "{screen}");
        says(&screen, &["of 10.0k", "single"]);
    }
    press(&mut app, "l");
    assert!(!drawn(&app, WIDE).contains("of 10.0k"));
}

#[test]
fn sections_that_are_too_few_say_nothing_of_ttls() {
    let mut snapshot = picture::calm(picture::inventory(), 12.3);
    for arm in &mut snapshot.arms {
        arm.outlasted = lockstorm_run::Outlasted::default();
    }
    let mut app = after(snapshot, "t");
    assert_eq!(app.status(), Some("TTL 1 s"));
    press(&mut app, "l");
    let screen = drawn(&app, WIDE);
    says(&screen, &["No section of the measured part has ended yet."]);
    let mut locks = picture::inventory();
    locks.arms.retain(|arm| !arm.lock.uses_nodes());
    let app = after(picture::calm(locks, 12.3), "l");
    assert_eq!(app.status(), Some("no arm here has a lock with a TTL"));
}

#[test]
fn a_host_shows_what_its_replicated_node_is_and_how_far_it_is_behind() {
    let replica = ReplicationRole::Replica {
        master: Some(HostId(1)),
        connected: true,
        offset: 7,
    };
    let behind = |ms, stands_still| Behind {
        time: Duration::from_millis(ms),
        stands_still,
    };
    for (still_grants, of, words) in [
        (None, None, "replica"),
        (None, Some(behind(480, false)), "480 ms behind"),
        (None, Some(behind(3_000, false)), "3.0 s behind"),
        (None, Some(behind(3_000, true)), "cut off 3.0 s"),
        (Some(false), None, "old master"),
        (Some(true), None, "old, grants"),
    ] {
        let mut snapshot = picture::calm(picture::inventory(), 12.3);
        let host = &mut snapshot.hosts[1];
        host.role = Some(replica);
        host.behind = of;
        host.old_master = still_grants.map(|still_grants| OldMaster { still_grants });
        says(&drawn(&showing(snapshot), (200, 50)), &[words]);
    }
}

#[test]
fn too_small() {
    let app = storm("");
    let sizes = [(59, 16), (60, 15), (24, 6), (8, 2)];
    let all: String = sizes
        .iter()
        .map(|&size| format!("{}×{}\n{}\n", size.0, size.1, drawn(&app, size)))
        .collect();
    insta::assert_snapshot!(all);
}

/// Every view, in a state with much to show.
fn every_view() -> Vec<(&'static str, App)> {
    every_view_in(&options(ThemeName::Dark, true))
}

fn every_view_in(options: &ConsoleOptions) -> Vec<(&'static str, App)> {
    let showing = |snapshot| showing_in(snapshot, options);
    let after = |snapshot, keys: &str| {
        let mut app = showing(snapshot);
        press(&mut app, keys);
        app
    };
    let storm = |keys| after(picture::storm(), keys);
    let with = |key| {
        let mut app = storm("");
        code(&mut app, key);
        app
    };
    let failed = "redis-server ended at once: Can't open the log file\nsecond line";
    let (set_up, failed) = (set_up(), failed_with(failed));
    let mut crowded = picture::inventory();
    crowded.lab.hosts = 9;
    crowded.swarm.servers = 40;
    let many = (0..30).map(|n| picture::arm(&format!("an arm 漢字 {n}"), LockKind::Redlock, Update::ReadWrite));
    crowded.arms = many.collect();
    vec![
        ("dashboard", storm("")),
        ("scoreboard", storm("v")),
        ("events", storm("vv")),
        ("frozen", storm(" ")),
        ("help", storm("?")),
        ("expectations", storm("e")),
        ("stopping", storm("q")),
        ("restarting", storm("RR")),
        ("charts", with(KeyCode::Tab)),
        ("details", with(KeyCode::Enter)),
        ("details of a host", storm("2i")),
        ("palette", storm("Fp")),
        ("picker", storm("o")),
        ("no scenarios", App::new(Vec::new(), options)),
        ("stampede", showing(picture::stampeded())),
        ("summary", showing(over())),
        ("set-up", showing(set_up)),
        ("failed", showing(failed)),
        ("crowded", showing(picture::calm(crowded.clone(), 30.0))),
        ("crowded scoreboard", after(picture::calm(crowded, 30.0), "v")),
    ]
}

#[test]
fn no_size_makes_it_panic() {
    let widths = (1..=12)
        .chain((13..=300).step_by(37))
        .chain([58, 59, 60, 61, 79, 80, 95, 96, 97, 300]);
    for (_, app) in every_view() {
        for width in widths.clone() {
            for height in (1..=18).chain((19..=100).step_by(27)).chain([24, 29, 30, 31, 100]) {
                draw(&app, (width, height));
            }
        }
    }
}

#[test]
fn without_colours_no_cell_has_one_and_the_signs_stay() {
    for (name, _) in every_view().iter().take(3) {
        let mut app = showing_in(picture::storm(), &options(ThemeName::Dark, false));
        press(
            &mut app,
            match *name {
                "scoreboard" => "v",
                "events" => "vv",
                _ => "",
            },
        );
        let buffer = draw(&app, WIDE);
        let coloured = buffer
            .content()
            .iter()
            .filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        assert_eq!(coloured.count(), 0, "{name}");
        assert!(text(&buffer).contains('✖'), "{name}");
    }
}

#[test]
fn every_theme_colours_the_whole_screen() {
    for theme in ThemeName::value_variants() {
        let buffer = draw(&showing_in(picture::storm(), &options(*theme, true)), (100, 30));
        let bare = buffer
            .content()
            .iter()
            .filter(|cell| cell.bg == Color::Reset || cell.fg == Color::Reset);
        assert_eq!(bare.count(), 0, "{theme:?}");
    }
}

#[test]
fn only_damage_is_red() {
    let red = Color::Indexed(203);
    let count = |snapshot| {
        let buffer = draw(&showing(snapshot), WIDE);
        buffer.content().iter().filter(|cell| cell.fg == red).count()
    };
    assert_eq!(count(picture::calm(picture::inventory(), 12.3)), 0);
    assert_eq!(count(picture::stampeded()), 0);
    assert!(count(picture::storm()) > 0);
}

/// The main scenario with the single arm's node dead and redlock without a quorum.
fn stuck() -> Snapshot {
    let mut snapshot = picture::calm(picture::inventory(), 12.3);
    snapshot.arms[2].live = Live {
        health: Health::NodeDown(HostId(1)),
        failed_attempts: 214,
        oldest_wait: Some(Duration::from_millis(4_100)),
        ..Live::default()
    };
    snapshot.arms[3].live.health = Health::NoQuorum { up: 1, of: 3 };
    snapshot.arms[1].live.health = Health::Stalled(Duration::from_millis(4_100));
    snapshot
}

/// The row of the table for an arm.
fn row_of(screen: &str, arm: &str) -> String {
    let found = screen
        .lines()
        .find(|row| row.trim_start_matches(['│', '›', ' ']).starts_with(arm));
    found.unwrap_or_else(|| panic!("no row of {arm}\n{screen}")).to_owned()
}

#[test]
fn a_stuck_arm_does_not_look_healthy() {
    for size in SIZES {
        let app = showing(stuck());
        let buffer = draw(&app, size);
        let screen = text(&buffer);
        for (arm, states) in [
            ("single", ["▲ NODE DOWN", "▲ DOWN"]),
            ("redlock", ["▲ NO QUORUM 1 of 3", "▲ 1 of 3"]),
            ("local", ["▲ STALLED 4.1 s", "▲ STALL"]),
        ] {
            let row = row_of(&screen, arm);
            assert!(states.iter().any(|state| row.contains(state)), "{size:?}: {row}");
            for healthy in [" ms", "1/1", "3/3"] {
                assert!(!row.contains(healthy), "{size:?}: {row}");
            }
        }
        let mut signs = buffer.content().iter().filter(|cell| cell.symbol() == "▲");
        assert!(
            signs.all(|cell| cell.fg == Color::Indexed(221)),
            "the colour of a warning"
        );
    }
    let screen = drawn(&charts(stuck()), WIDE);
    let row = row_of(&screen, "single");
    says(&row, &["▲ NODE DOWN · 214 attempts failed in 5 s · oldest wait 4.1 s"]);
    // The table of a run that has ended shows the whole run.
    let screen = drawn(&showing(picture::finished(stuck())), WIDE);
    assert!(!screen.contains('▲'), "{screen}");
}

#[test]
fn what_became_of_an_app_server_is_told_like_that_of_a_host() {
    let mut snapshot = picture::calm(picture::inventory(), 12.3);
    let killed = Conditions::only(
        Condition::Down,
        Some(How::By(Fault::Kill)),
        Duration::from_millis(6_200),
    );
    snapshot.hosts[1].conditions = killed.clone();
    snapshot.servers[2].conditions = killed;
    let screen = drawn(&showing(snapshot), WIDE);
    assert_eq!(screen.matches("✖ DOWN 6.2 s (killed)").count(), 2, "{screen}");
}

#[test]
fn a_host_of_which_one_process_died_is_up_and_keeps_its_vote() {
    let mut snapshot = picture::calm(picture::inventory(), 12.3);
    let killed = Conditions::only(
        Condition::Down,
        Some(How::By(Fault::Kill)),
        Duration::from_millis(6_200),
    );
    for host in &mut snapshot.hosts[1..] {
        host.conditions = killed.clone();
        host.affected = vec![Role::Sentinel];
    }
    let fault = and_then(snapshot.clone(), KILL, Target::Host(HostId(2)), None, Some(12.0));
    let screen = drawn(&showing(fault), WIDE);
    says(
        &screen,
        &[
            "host 2  ● Sentinel DOWN 6.2 s (killed)",
            "brings the Sentinel of host 2 back",
        ],
    );
    assert!(
        !screen.contains("loses the quorum") && !screen.contains("back: empty"),
        "{screen}"
    );
    // With a lock node it would be one vote of three.
    snapshot.hosts[1].affected = vec![Role::Lock];
    let fault = and_then(snapshot, KILL, Target::Host(HostId(2)), None, Some(12.0));
    says(&drawn(&showing(fault), WIDE), &["● lock node DOWN", "loses the quorum"]);
}

#[test]
fn damage_is_never_dropped() {
    let mut snapshot = picture::storm();
    // As in the scenario about fencing, with more counts than fit.
    for arm in &mut snapshot.arms {
        arm.figures.counts[Count::Fenced] = 31;
        arm.figures.counts[Count::LocksLost] = 12;
        arm.figures.outcomes.expired = 3;
        arm.figures.outcomes.unknown = 3;
        arm.figures.counts[Count::Errors] = 3;
        arm.figures.counts[Count::Late] = 3;
    }
    for snapshot in [picture::storm(), snapshot] {
        for size in SIZES {
            let screen = drawn(&charts_of(snapshot.clone(), "single"), size);
            let heads = screen
                .lines()
                .filter(|row| row.contains("lost updates") && row.contains("OVERSOLD"));
            assert_eq!(heads.count(), 1, "{screen}");
            assert_eq!(row_of(&screen, "single").matches("✖ 14").count(), 2, "{screen}");
            assert!(screen.contains("✖ lost updates"), "the lane, at {size:?}\n{screen}");
        }
    }
    // If lanes are left out, the panel says so.
    assert!(drawn(&charts(picture::storm()), LEAST).contains("+3 more ╵"));
}

#[test]
fn arms_that_do_not_fit_are_counted_and_scrolled_to() {
    let mut crowded = picture::inventory();
    let many = (1..=30).map(|n| picture::arm(&format!("arm {n:02}"), LockKind::Redlock, Update::ReadWrite));
    crowded.arms = many.collect();
    for size in SIZES {
        let mut app = showing(picture::calm(crowded.clone(), 12.3));
        for chosen in 1..=30 {
            let screen = drawn(&app, size);
            let rows = (1..=30)
                .filter(|n| screen.contains(&format!("{} arm {n:02}", if *n == chosen { '›' } else { ' ' })))
                .count();
            assert!(screen.contains(&format!("› arm {chosen:02}")), "{size:?}\n{screen}");
            let more = screen.matches(" more").count();
            assert!(rows < 30 && more >= 1, "{size:?}\n{screen}");
            code(&mut app, KeyCode::Down);
        }
    }
    let screen = drawn(&charts(picture::calm(crowded, 12.3)), WIDE);
    let shown = screen
        .lines()
        .filter(|row| row.contains("arm ") && row.contains("0.84 ms"))
        .count();
    assert!(screen.contains(&format!("+{} more", 30 - shown)), "{shown}\n{screen}");
}

#[test]
fn a_spike_is_as_wide_as_the_picture_can_draw_it() {
    // A second with one slow tenth.
    let mut snapshot = picture::calm(picture::inventory(), 12.3);
    let mut recent_tenths = RecentTenths::default();
    for tenth in 0..123 {
        let point = recent_tenths.at(tenth).expect("room");
        point.times[Time::Acquired] = Latency {
            p50: 400,
            p99: if tenth == 65 { 900_000 } else { 2_000 },
        };
        point.ledger[Entry::LostUpdates] = u64::from(tenth == 65);
    }
    let mut series = lockstorm_data::metrics::Series::default();
    for point in snapshot.arms[2].series.iter() {
        let mut point = *point;
        if point.time == 6 {
            point.times[Time::Acquired].p99 = 900_000;
            point.ledger[Entry::LostUpdates] = 1;
        }
        *series.at(point.time).expect("room") = point;
    }
    snapshot.arms[2].series = Arc::new(series);
    snapshot.arms[2].figures.ledger[Entry::LostUpdates] = Some(1);
    // The columns with the highest values, and of the lane.
    let columns = |snapshot: Snapshot| {
        let screen = drawn(&charts_of(snapshot, "single"), WIDE);
        let row = |label: &str| {
            let row = screen.lines().find(|row| row.contains(label)).expect("the row");
            row.chars()
                .filter(|c| ('\u{2801}'..='\u{28ff}').contains(c) || *c == '█')
                .count()
        };
        [row("  1 s "), row("✖ lost updates")]
    };
    let seconds = columns(snapshot.clone());
    snapshot.arms[2].recent_tenths = Arc::new(recent_tenths);
    let tenths = columns(snapshot);
    assert!(seconds.iter().all(|&columns| columns >= 7), "{seconds:?}");
    assert!(tenths.iter().all(|columns| (1..=3).contains(columns)), "{tenths:?}");
}

#[test]
fn a_lane_says_what_its_highest_bar_is() {
    let app = charts_of(picture::storm(), "redlock");
    for size in [WIDE, SMALL] {
        let screen = drawn(&app, size);
        let lane = screen
            .lines()
            .find(|row| row.contains("no quorum ") && row.contains('█'));
        assert!(lane.is_some_and(|lane| lane.contains("max 1,252/s")), "{screen}");
    }
}

#[test]
fn blocks_of_damage_are_red_in_every_theme() {
    // Red as a foreground colour, even where words of damage have a red background.
    for (theme, red) in [
        (ThemeName::Dark, 203),
        (ThemeName::Light, 160),
        (ThemeName::HighContrast, 196),
    ] {
        let mut app = showing_in(picture::storm(), &options(theme, true));
        let of = |buffer: &Buffer, symbols: &str| {
            let cells = buffer.content().iter().filter(|cell| symbols.contains(cell.symbol()));
            cells.filter(|cell| cell.fg == Color::Indexed(red)).count()
        };
        let dashboard = draw(&app, WIDE);
        assert!(of(&dashboard, "▁▂▃▄▅▆▇█") > 0, "{theme:?}: the rows of the locks");
        press(&mut app, "v");
        assert!(of(&draw(&app, WIDE), "█") > 50, "{theme:?}: the scoreboard");
    }
}

#[test]
fn the_panels_over_time_share_their_columns() {
    let app = charts(picture::storm());
    for size in SIZES {
        let screen = drawn(&app, size);
        let lane = screen
            .lines()
            .find(|row| row.contains("   faults "))
            .expect("the lane of faults");
        let chart: Vec<&str> = screen
            .lines()
            .skip_while(|row| !row.contains("p99 of"))
            .skip(1)
            .collect();
        // In a low chart curves hide some of the marks.
        let marks: Vec<usize> = (0..)
            .zip(lane.chars())
            .filter(|(_, c)| "KPRr".contains(*c))
            .map(|(at, _)| at)
            .collect();
        let is_marked = |row: &&str| marks.iter().any(|at| row.chars().nth(*at) == Some('┊'));
        assert!(lane.contains('K') && chart.iter().any(is_marked), "{size:?}\n{screen}");
    }
}

#[test]
fn windows_go_round() {
    let mut app = storm("");
    // Those that would show the whole run of a minute are left out.
    for window in ["last 30 s", "whole run", "last 30 s"] {
        press(&mut app, "w");
        says(&drawn(&app, WIDE), &[window]);
    }
}

#[test]
fn keys_are_bound_once_and_all_are_in_the_help() {
    use keys::{Place, Scope};
    for (place, scopes) in [
        (Place::Picker, [Scope::Both, Scope::Picker]),
        (Place::Run, [Scope::Both, Scope::Run]),
        (Place::Record, [Scope::Record; 2]),
    ] {
        let mut seen = Vec::new();
        for row in keys::TABLE {
            let in_scope = scopes.contains(&row.scope);
            for (code, act) in row.keys.iter().filter(|_| in_scope) {
                assert!(!seen.contains(code), "{code:?} is bound twice");
                seen.push(*code);
                assert_eq!(keys::find(&KeyEvent::new(*code, KeyModifiers::NONE), place), Some(*act));
            }
        }
    }
    for size in [(120, 40), SMALL, LEAST] {
        let mut app = storm("?");
        let mut shown = drawn(&app, size);
        for _ in 0..5 {
            code(&mut app, KeyCode::PageDown);
            shown += &drawn(&app, size);
        }
        for row in keys::TABLE.iter().filter(|row| row.scope != Scope::Record) {
            assert!(
                shown.contains(row.help) && shown.contains(row.label),
                "{} at {size:?}",
                row.label
            );
        }
    }
}

/// The commands, all with the same number.
fn commands(orders: impl IntoIterator<Item = Intent>) -> Vec<Command> {
    let command = |intent| match intent {
        Intent::Command(mut command) => {
            if let Command::Fault { order, .. } | Command::Bounce { order, .. } = &mut command {
                *order = OrderId::default();
            }
            Some(command)
        }
        _ => None,
    };
    orders.into_iter().filter_map(command).collect()
}

/// The commands that these keys give.
fn ordered(app: &mut App, keys: &str) -> Vec<Command> {
    commands(press(app, keys))
}

fn fault(action: Action, target: Target) -> Vec<Command> {
    let order = OrderId::default();
    vec![Command::Fault { action, target, order }]
}

#[test]
fn faults_go_to_what_is_selected() {
    let host = |number| Target::Host(HostId(number));
    let server = |number| Target::Server(ServerId(number));
    for (keys, action, target) in [
        ("1x", SHUTDOWN, host(1)),
        ("1p", PAUSE, host(1)),
        ("3p", RESUME, host(3)),
        ("3k", KILL, host(3)),
    ] {
        assert_eq!(ordered(&mut storm(""), keys), fault(action, target), "{keys}");
    }
    let order = OrderId::default();
    let bounce = Command::Bounce { host: HostId(1), order };
    assert_eq!(ordered(&mut storm(""), "1b"), [bounce]);
    // Host 2 is down, host 3 is paused; then digits are for app servers.
    let mut app = storm("");
    for (keys, action, target) in [
        ("1k", KILL, host(1)),
        ("2r", RESTART, host(2)),
        ("3r", RESUME, host(3)),
        ("s4p", PAUSE, server(4)),
        ("3r", RESUME, server(3)),
        ("2k", KILL, server(2)),
    ] {
        assert_eq!(ordered(&mut app, keys), fault(action, target), "{keys}");
    }
    code(&mut app, KeyCode::Right);
    assert_eq!(app.selected(), Target::Server(ServerId(3)));
}

#[test]
fn a_fault_is_found_by_typing_and_one_that_is_refused_says_why() {
    let mut app = storm("Fkill 1");
    says(&drawn(&app, WIDE), &["> kill 1", "› kill host 1"]);
    assert_eq!(commands(code(&mut app, KeyCode::Enter)), fault(KILL, HOST));
    assert_eq!(app.selected(), HOST);
    // Host 2 is down.
    let mut app = storm(":kill host 2");
    assert!(code(&mut app, KeyCode::Enter).is_none());
    says(status(&app), &["host 2 is down: r restarts it"]);
    for _ in 0.."kill host 2".len() {
        code(&mut app, KeyCode::Backspace);
    }
    press(&mut app, "restart");
    let restarted = fault(RESTART, Target::Host(HostId(2)));
    assert_eq!(commands(code(&mut app, KeyCode::Enter)), restarted);
    // No fault of the scenario lags, so there is no proxy.
    let mut app = storm("Flag host 1");
    assert!(code(&mut app, KeyCode::Enter).is_none());
    says(status(&app), &["there is a proxy"]);
    code(&mut app, KeyCode::Esc);
    assert_eq!(ordered(&mut app, "1k"), fault(KILL, HOST), "it is closed");
    let mut app = storm("Fno such thing");
    assert!(code(&mut app, KeyCode::Enter).is_none());
    says(status(&app), &["nothing fits"]);
    // Clients of others have no key.
    let mut snapshot = picture::calm(picture::inventory(), 12.3);
    snapshot.servers[0].clients = Some(Conditions::default());
    snapshot.servers[1].clients = Some(Conditions::only(Condition::Paused, None, Duration::from_secs(2)));
    let mut app = after(snapshot, "Fclients");
    let screen = drawn(&app, WIDE);
    says(
        &screen,
        &[
            "kill the clients of app server 1",
            "resume the clients of app server 2",
            "client PAUSED 2.0 s",
        ],
    );
    assert!(!screen.contains("bounce the clients"), "{screen}");
    press(&mut app, " 2 resume");
    let resumed = fault(RESUME, Target::Client(ServerId(2)));
    assert_eq!(commands(code(&mut app, KeyCode::Enter)), resumed);
    assert_eq!(app.selected(), HOST);
    let mut snapshot = picture::calm(picture::inventory(), 12.3);
    snapshot.servers[0].clients = Some(Conditions::default());
    snapshot.servers[0].conditions =
        Conditions::only(Condition::Down, Some(How::By(Fault::Kill)), Duration::from_secs(2));
    let mut app = after(snapshot, "Fclients");
    assert!(code(&mut app, KeyCode::Enter).is_none());
    says(status(&app), &["was killed with its clients"]);
    // A failure closes it: keys are keys again.
    let mut failed = storm("F");
    failed.update(Message::Finished(Err(RunError::Thread(io::Error::other(
        "the disk is full",
    )))));
    assert!(matches!(press(&mut failed, "q").as_slice(), [Intent::Quit]));
    // What is typed where nothing can happen any more, or when the run ends, are no keys: `o` and Enter would start another one.
    let mut ends = storm("F");
    ends.update(Message::Snapshot(Arc::new(over())));
    for mut app in [after(over(), "F"), after(set_up(), "F"), ends] {
        assert_eq!(ordered(&mut app, "oRq"), []);
        says(&drawn(&app, WIDE), &["> oRq"]);
        assert!(code(&mut app, KeyCode::Enter).is_none());
        assert!(
            ["R runs it again", "still starting"]
                .iter()
                .any(|why| status(&app).contains(why))
        );
        // While a lab starts, what was typed can still come.
        let waits = status(&app).contains("starting");
        assert_eq!(drawn(&app, WIDE).contains("> oRq"), waits);
    }
    // From within the help, too; and a control character is no letter.
    let mut app = storm("?Fkilx");
    for (code, modifiers) in [
        (KeyCode::Char('h'), KeyModifiers::CONTROL),
        (KeyCode::Char('w'), KeyModifiers::CONTROL),
    ] {
        app.update(Message::Key(KeyEvent::new(code, modifiers)));
    }
    press(&mut app, "l");
    says(&drawn(&app, WIDE), &["> kill▏"]);
}

#[test]
fn keys_that_do_nothing_say_why() {
    let mut app = storm("");
    for (keys, why) in [
        ("1r", "host 1 is up"),
        ("2k", "host 2 is down: r restarts it"),
        ("2p", "host 2 is down: r restarts it"),
        ("3x", "host 3 is paused"),
        ("7", "there is no host 7"),
        ("1f", "no arm of this scenario has replicated nodes"),
        ("2f", "host 2 is down: r restarts it"),
        ("s1x", "can't be shut down"),
        ("9", "there is no app server 9"),
    ] {
        assert_eq!(ordered(&mut app, keys), [], "{keys}");
        says(status(&app), &[why]);
    }
    let mut elsewhere = picture::storm();
    let mut scenario = (*elsewhere.scenario).clone();
    scenario.lab.nodes = Some(GivenNodes {
        urls: Vec::new(),
        urls_env: None,
        exposed: None,
    });
    elsewhere.scenario = scenario.into();
    let mut elsewhere = showing(elsewhere);
    for (keys, done) in [
        ("1k", "killed"),
        ("2x", "shut down"),
        ("2p", "paused"),
        ("1b", "bounced"),
        ("2r", "restarted"),
        ("1f", "failed over"),
    ] {
        assert_eq!(ordered(&mut elsewhere, keys), [], "{keys}");
        let why = format!("is not ours, so it can't be {done}");
        says(status(&elsewhere), &[&why]);
    }
    assert_eq!(ordered(&mut elsewhere, "s1k").len(), 1, "app servers are ours");
    let mut closed = showing(picture::stampeded());
    assert_eq!(ordered(&mut closed, "A"), []);
    says(status(&closed), &["closed loop"]);
    let mut over = showing(over());
    assert_eq!(ordered(&mut over, "1kt"), []);
    says(status(&over), &["R runs it again"]);
}

#[test]
fn knobs_turn_in_steps_from_what_the_run_says() {
    let seconds = std::time::Duration::from_secs;
    let millis = std::time::Duration::from_millis;
    let calm = || calm("");
    for (key, knob) in [
        ("t", Knob::Ttl(seconds(1))),
        ("T", Knob::Ttl(seconds(5))),
        ("h", Knob::Hold(millis(2))),
        ("H", Knob::Hold(millis(10))),
        ("a", Knob::Rate(200.0)),
        ("A", Knob::Rate(500.0)),
        ("n", Knob::Workers(10)),
        ("N", Knob::Workers(20)),
    ] {
        assert_eq!(ordered(&mut calm(), key), [Command::Turn(knob)], "{key}");
    }
}

#[test]
fn keys_in_quick_succession_turn_a_knob_step_by_step() {
    let seconds = Duration::from_secs;
    let ttl = |s| Command::Turn(Knob::Ttl(seconds(s)));
    let workers = |n| Command::Turn(Knob::Workers(n));
    let mut now = picture::calm(picture::inventory(), 12.3);
    let mut app = showing(now.clone());
    assert_eq!(
        ordered(&mut app, "TTntn"),
        [ttl(5), ttl(10), workers(10), ttl(5), workers(5)]
    );
    // The run has carried out the first two.
    (now.knobs.ttl, now.knobs.turns) = (Some(seconds(10)), 2);
    publish(&mut app, now.clone());
    assert_eq!(ordered(&mut app, "tn"), [ttl(2), workers(2)]);
    // All are carried out, and somebody else has turned one: now the snapshot counts.
    (now.knobs.ttl, now.knobs.workers, now.knobs.turns) = (Some(seconds(50)), 2, 8);
    publish(&mut app, now);
    assert_eq!(ordered(&mut app, "tn"), [ttl(20), workers(1)]);
    // A new run starts from its own values.
    app.update(Message::Finished(Err(RunError::Stopped)));
    press(&mut app, "R");
    publish(&mut app, picture::calm(picture::inventory(), 1.0));
    assert_eq!(ordered(&mut app, "T"), [ttl(5)]);
}

#[test]
fn ttls_that_differ_move_in_the_direction_of_the_key() {
    let of_arms = || {
        let mut scenario = picture::inventory();
        for (arm, ms) in scenario.arms.iter_mut().zip([5, 5, 50, 2_000, 9_000]) {
            // The arms without lock nodes don't count.
            arm.ttl = Duration::from_millis(ms);
        }
        let mut snapshot = picture::calm(scenario, 12.3);
        snapshot.knobs.ttl = None;
        showing(snapshot)
    };
    for (keys, ttls, said) in [
        ("t", &[20][..], "TTL 20 ms for all arms (was 50 ms to 2 s)"),
        ("T", &[5_000], "TTL 5 s for all arms (was 50 ms to 2 s)"),
        ("TT", &[5_000, 10_000], "TTL 10 s"),
    ] {
        let mut app = of_arms();
        let turns: Vec<Command> = ttls
            .iter()
            .map(|&ms| Command::Turn(Knob::Ttl(Duration::from_millis(ms))))
            .collect();
        assert_eq!(ordered(&mut app, keys), turns, "{keys}");
        let status = app.status().expect("the knob was turned");
        assert_eq!(status.split(" · ").next(), Some(said));
    }
}

#[test]
fn no_line_of_the_help_is_cut_at_eighty_columns() {
    let app = storm("?");
    // The two columns of the window, which is as wide as this.
    let columns = |screen, width: usize| -> Vec<String> {
        let screen = drawn(&app, screen);
        let from = screen
            .lines()
            .find_map(|line| line.split_once("┌ Keys"))
            .map(|(before, _)| before.chars().count() + 2);
        let rows = screen.lines().filter_map(|line| {
            let line: Vec<char> = line.chars().skip(from?).take(width - 4).collect();
            let (left, right) = line.split_at_checked(width / 2 - 2)?;
            Some([left, right].map(|half| half.iter().collect::<String>().trim_end().to_owned()))
        });
        let rows: Vec<[String; 2]> = rows.collect();
        let inside = rows.iter().skip_while(|[left, _]| left != "Break and restore");
        inside
            .take_while(|[left, _]| !left.contains('─'))
            .flatten()
            .cloned()
            .collect()
    };
    let (narrow, wide) = (columns((80, 50), 80), columns((120, 50), 96));
    assert!(
        narrow.iter().any(|entry| entry.contains("no damage, but no proof yet")),
        "{narrow:#?}"
    );
    assert_eq!(narrow, wide);
}

#[test]
fn a_frozen_picture_stays_while_the_run_goes_on() {
    let mut app = calm(" ");
    app.take_dirty();
    let frozen = draw(&app, WIDE);
    assert!(text(&frozen).contains("FROZEN"));
    publish(&mut app, picture::storm());
    assert!(!app.take_dirty(), "nothing to draw");
    assert_eq!(draw(&app, WIDE), frozen);
    // Keys act on the run as it is: host 2 is down by now.
    assert_eq!(ordered(&mut app, "2r"), fault(RESTART, Target::Host(HostId(2))));
    press(&mut app, " ");
    says(&drawn(&app, WIDE), &["DOWN"]);
}

#[test]
fn damage_stays_at_its_largest_count_though_it_is_made_up_for() {
    let mut app = storm("");
    let mut mended = picture::storm();
    mended.arms[0].figures.ledger[Entry::LostUpdates] = Some(37);
    mended.arms[1].figures.ledger[Entry::LostUpdates] = Some(0);
    publish(&mut app, mended.clone());
    code(&mut app, KeyCode::Tab);
    let row = |app: &App, arm: &str| row_of(&drawn(app, WIDE), arm);
    says(&row(&app, "no lock"), &["✖ 214"]);
    says(&row(&app, "local"), &["✖ 96"]);
    // The verdicts at the end have the same.
    publish(&mut app, picture::finished(mended));
    says(&row(&app, "no lock"), &["✖ 214"]);
}

#[test]
fn the_final_rate_is_the_mean_over_the_run() {
    let mut snapshot = picture::storm();
    for arm in &mut snapshot.arms {
        arm.figures.throughput = 123.4;
        arm.figures.answered = arm.figures.booked(Entry::Orders);
    }
    let means = |snapshot: Snapshot| {
        let screen = drawn(&charts(snapshot), WIDE);
        screen.lines().filter(|row| row.contains(" 123 ")).count()
    };
    assert_eq!(means(snapshot.clone()), 0, "the rate of the moment while it runs");
    let mut draining = snapshot.clone();
    draining.phase = Phase::Draining;
    assert_eq!(means(draining), 5);
    assert_eq!(means(picture::finished(snapshot)), 5);
}

#[test]
fn the_head_says_which_rate_it_is() {
    for size in [WIDE, SMALL] {
        let running = drawn(&charts(picture::calm(picture::inventory(), 12.3)), size);
        says(&running, &["ok/s 5 s", " 398 "]);
        let sold_out = drawn(&charts(picture::storm()), size);
        assert!(sold_out.contains(" sold out "), "nobody compares its rate: {sold_out}");
        let over = drawn(&charts(over()), size);
        assert!(over.contains("sold/s") && !over.contains("ok/s"), "{over}");
    }
}

#[test]
fn inconclusive_expectations_are_counted_and_not_praised() {
    let summary = |caveats: Vec<Caveat>| {
        let mut over = over();
        over.caveats = caveats;
        drawn(&showing(over), WIDE)
    };
    let doubtful = summary(vec![Caveat::LedgerUnreadable {
        arm: "redlock".to_owned(),
        quoted: "gone".to_owned(),
    }]);
    says(
        &doubtful,
        &["1 of 3 predictions of the scenario came true, 2 inconclusive"],
    );
    // Proven damage stays damage.
    says(&row_of(&doubtful, "single"), &["✖ UNSAFE"]);
    let held = summary(Vec::new());
    says(&held, &["2 of 3 predictions of the scenario came true", "≠ redlock"]);
}

#[test]
fn thousands_stand_apart_everywhere() {
    let mut snapshot = picture::storm();
    for arm in &mut snapshot.arms {
        arm.figures.ledger[Entry::Orders] = Some(1_600);
        arm.figures.outcomes.contended = 4_321;
        arm.figures.ledger[Entry::Oversold] = Some(2_345);
        arm.live.per_second = 3_210.0;
        arm.figures.sold_out_all = false;
    }
    snapshot.knobs.workers = 1_024;
    let mut app = charts(snapshot);
    let screen = drawn(&app, WIDE);
    for number in ["1,600", "4,321", "2,345", "3,210", "4×1,024 workers"] {
        assert!(screen.contains(number), "{number}\n{screen}");
        assert!(!screen.contains(&number.replace(',', "")), "{number}\n{screen}");
    }
    press(&mut app, "v");
    says(&drawn(&app, WIDE), &["1,980 ops/s"]);
    press(&mut app, "v");
    let scores = drawn(&app, WIDE);
    assert!(scores.contains("✖ 2,345") && !scores.contains("2345"), "{scores}");
}

#[test]
fn nothing_is_drawn_that_turns_the_writing_or_has_no_width() {
    const UNSEEN: [char; 4] = ['\u{202e}', '\u{2028}', '\u{200b}', '\u{2066}'];
    let bad: String = UNSEEN.iter().map(|c| format!("x{c}")).collect();
    let mut scenario = picture::inventory();
    scenario.title.clone_from(&bad);
    scenario.name.clone_from(&bad);
    for arm in &mut scenario.arms {
        arm.name.clone_from(&bad);
    }
    let mut set_up = picture::calm(scenario.clone(), -1.0);
    set_up.phase = Phase::SetUp(bad.clone());
    let mut failed = set_up.clone();
    failed.phase = Phase::Failed(bad.clone());
    let mut running = and_then(picture::calm(scenario, 12.3), KILL, HOST, None, Some(12.3));
    let condition = Awaited::Condition { quoted: bad.clone() };
    running.next = Some(Next {
        step: bounce(condition),
        at: None,
        returns: Vec::new(),
    });
    running.server = bad.as_str().into();
    for event in Arc::make_mut(&mut running.events) {
        event.kind = EventKind::Caption {
            fault: None,
            quoted: bad.clone(),
        };
    }
    running.hosts[0].conditions = Conditions::only(Condition::Down, Some(How::Died(bad.clone())), Duration::ZERO);
    for arm in &mut running.arms {
        arm.lacking = vec![NoVote {
            node: 1,
            cause: Cause::Error(bad.clone()),
        }];
    }
    let over = picture::finished(running.clone());
    let mut apps: Vec<App> = [set_up, failed, over].map(showing).into();
    for keys in ["", "v", "vv", "e", "?", " ", "q"] {
        let app = after(running.clone(), keys);
        apps.push(app);
    }
    let mut picking = App::new(vec![(bad.clone(), bad.clone())], &options(ThemeName::Dark, true));
    picking.update(Message::Loaded(Err(bad.clone())));
    apps.push(picking);
    for (number, app) in apps.iter().enumerate() {
        for size in [(160, 50), WIDE, SMALL, LEAST] {
            let screen = drawn(app, size);
            assert!(!screen.contains(UNSEEN), "{number}: {screen:?}");
        }
    }
}

#[test]
fn the_picker_over_a_run_says_the_way_back() {
    let mut app = storm("o");
    says(&drawn(&app, LEAST), &["Esc goes back"]);
    code(&mut app, KeyCode::Esc);
    says(&drawn(&app, LEAST), &["r brings host 2 back"]);
    let first = picking();
    assert!(!drawn(&first, LEAST).contains("Esc goes back"));
}

#[test]
fn the_header_and_the_summary_agree_on_the_end() {
    let mut snapshot = over();
    snapshot.elapsed = 1.64;
    let screen = drawn(&showing(snapshot), SMALL);
    says(&screen, &["FINISHED 1.6 s", "finished after 1.6 s"]);
}

#[test]
fn the_events_view_shows_all_words_of_an_event() {
    let mut app = storm("vv");
    let words: Vec<String> = (1..=40).map(|number| format!("word{number}")).collect();
    app.update(Message::Saved(Err(words.join(" "))));
    let screen = drawn(&app, SMALL);
    let log = screen.lines().filter(|row| row.starts_with('│')).collect::<String>();
    assert!(words.iter().all(|word| log.contains(word.as_str())), "{screen}");
    assert!(
        screen.contains("\n│           word"),
        "continued under the words\n{screen}"
    );
}

#[test]
fn reset_runs_the_same_again_once_the_lab_is_down() {
    let mut app = storm("");
    assert_eq!(ordered(&mut app, "R"), []);
    says(status(&app), &["press R once more"]);
    assert_eq!(ordered(&mut app, "R"), [Command::Stop]);
    says(&drawn(&app, SMALL), &["the lab goes down"]);
    // Until then faults are refused, and another R changes nothing.
    assert_eq!(ordered(&mut app, "1k"), []);
    press(&mut app, "R");
    let orders = app.update(Message::Finished(Err(RunError::Stopped)));
    let [Intent::Launch(scenario)] = orders.as_slice() else {
        panic!("{orders:?}")
    };
    assert_eq!(**scenario, picture::inventory());
    assert!(
        drawn(&app, SMALL).contains("setting up"),
        "nothing is left of the old run"
    );
}

#[test]
fn another_scenario_waits_for_the_lab_too() {
    let mut app = storm("o");
    code(&mut app, KeyCode::End);
    let orders = code(&mut app, KeyCode::Enter);
    assert!(matches!(orders.as_slice(), [Intent::Load(name)] if name == "stampede"));
    let orders = app.update(Message::Loaded(Ok(Box::new(picture::stampede()))));
    assert_eq!(commands(orders), [Command::Stop]);
    let orders = app.update(Message::Finished(Err(RunError::Stopped)));
    assert!(matches!(orders.as_slice(), [Intent::Launch(scenario)] if scenario.name == "stampede"));
}

#[test]
fn a_scenario_that_can_not_be_read_leaves_the_picker_open() {
    let mut app = picking();
    code(&mut app, KeyCode::Enter);
    app.update(Message::Loaded(Err("flash-sale.toml:3: unknown key".to_owned())));
    says(&drawn(&app, SMALL), &["unknown key"]);
    assert!(matches!(press(&mut app, "q").as_slice(), [Intent::Quit]));
}

#[test]
fn a_lost_terminal_is_one_request_however_often_it_is_reported() {
    let ways: [fn() -> Message; 2] = [|| Message::TerminalLost, || Message::Stop(Stop::HangUp)];
    for (first, second) in [(ways[0], ways[1]), (ways[1], ways[0])] {
        let mut app = storm("");
        assert_eq!(commands(app.update(first())), [Command::Stop]);
        for again in [second, second, first] {
            assert_eq!(commands(app.update(again())), [], "this does not hurry the run");
        }
        assert_eq!(commands(app.update(Message::Stop(Stop::Terminate))), [Command::Stop]);
    }
}

#[test]
fn quitting_a_second_time_does_not_wait_for_workers() {
    let interrupt = || Message::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    let ways: [fn() -> Message; 2] = [
        || Message::Key(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE)),
        || Message::Stop(Stop::Terminate),
    ];
    for way in ways {
        let mut app = storm("");
        assert_eq!(commands(app.update(way())), [Command::Stop]);
        assert_eq!(
            commands(app.update(interrupt())),
            [Command::Stop],
            "at once, but with the summary"
        );
        assert!(matches!(
            app.update(Message::Finished(Err(RunError::Stopped))).as_slice(),
            [Intent::Quit]
        ));
    }
    for way in ways {
        let mut app = storm("");
        app.update(way());
        app.update(way());
        assert!(
            matches!(app.update(way()).as_slice(), [Intent::Quit]),
            "the third does not wait"
        );
    }
    // After R, the first q only changes what happens after the stop.
    let mut app = storm("");
    assert_eq!(ordered(&mut app, "RR"), [Command::Stop]);
    assert_eq!(ordered(&mut app, "q"), []);
    assert_eq!(ordered(&mut app, "q"), [Command::Stop]);
}

#[test]
fn the_wait_for_the_end_is_counted_down_and_says_what_the_key_does_now() {
    let mut app = calm("");
    // A frozen display would hide the countdown.
    press(&mut app, " q");
    let mut draining = picture::calm(picture::inventory(), 12.4);
    draining.phase = Phase::Draining;
    for (left, words) in [(3_200, "in 4 s without"), (900, "in 1 s without")] {
        draining.gives_up_in = Some(std::time::Duration::from_millis(left));
        publish(&mut app, draining.clone());
        for size in SIZES {
            let screen = drawn(&app, size);
            assert!(
                screen.contains(words) && screen.contains("q again: does not wait for workers"),
                "{screen}"
            );
        }
    }
    press(&mut app, "q");
    let screen = drawn(&app, SMALL);
    says(&screen, &["q again: quits without the summary"]);
}

/// The snapshot with one more event for this action on this target: the first step of the order with this number, or the schedule's.
fn and_then(
    mut snapshot: Snapshot,
    action: Action,
    target: Target,
    order: Option<u64>,
    effect_at: Option<f64>,
) -> Snapshot {
    let events = Arc::make_mut(&mut snapshot.events);
    let id = events.last().map_or(0, |event| event.id + 1);
    let mut kind = EventKind::fault(action, target, OrderedBy::Fault(1), effect_at);
    if let EventKind::Fault { order: of, .. } = &mut kind {
        *of = order.map(OrderId);
    }
    let at = snapshot.elapsed;
    events.push(Event { id, at, kind });
    snapshot
}

#[test]
fn a_key_acts_on_the_state_that_was_ordered_not_on_the_last_picture() {
    let server = Target::Server(ServerId(1));
    for (keys, target, expected) in [
        ("pp", HOST, [PAUSE, RESUME]),
        ("kr", HOST, [KILL, RESTART]),
        ("xr", HOST, [SHUTDOWN, RESTART]),
        ("spp", server, [PAUSE, RESUME]),
    ] {
        let mut app = calm("");
        let order = OrderId::default();
        let expected = expected.map(|action| Command::Fault { action, target, order });
        assert_eq!(ordered(&mut app, keys), expected, "{keys}");
    }
    for (keys, why) in [
        ("kk", "host 1 is down: r restarts it"),
        ("kp", "host 1 is down"),
        ("skk", "was killed and does not come back"),
        ("bk", "comes back by itself"),
        ("bb", "comes back by itself"),
    ] {
        let mut app = calm("");
        assert_eq!(ordered(&mut app, keys).len(), 1, "{keys}");
        says(status(&app), &[why]);
    }
    // A snapshot from before the order changes nothing; one that shows its effect does.
    let calm = || picture::calm(picture::inventory(), 12.3);
    let mut app = after(calm(), "p");
    publish(&mut app, calm());
    assert_eq!(ordered(&mut app, "p"), fault(RESUME, HOST));
    let both = and_then(
        and_then(calm(), PAUSE, HOST, Some(0), Some(12.3)),
        RESUME,
        HOST,
        Some(1),
        Some(12.4),
    );
    publish(&mut app, both);
    assert_eq!(ordered(&mut app, "p"), fault(PAUSE, HOST));
}

#[test]
fn an_order_has_a_receipt_until_it_is_done_also_while_the_display_is_frozen() {
    let calm = || picture::calm(picture::inventory(), 12.3);
    for frozen in [false, true] {
        let mut app = showing(calm());
        press(&mut app, if frozen { " k" } else { "k" });
        let screen = |app: &App| drawn(app, SMALL);
        assert!(screen(&app).contains("killing host 1 …"), "{}", screen(&app));
        // The schedule kills the same host in the same instant: that is no receipt of this order.
        let scheduled = || and_then(calm(), KILL, HOST, None, Some(12.3));
        publish(&mut app, scheduled());
        assert!(screen(&app).contains("killing host 1 …"), "{}", screen(&app));
        let asked = and_then(scheduled(), KILL, HOST, Some(0), None);
        publish(&mut app, asked);
        assert!(screen(&app).contains("killing host 1 …"), "{}", screen(&app));
        app.take_dirty();
        let done = and_then(scheduled(), KILL, HOST, Some(0), Some(12.4));
        publish(&mut app, done);
        assert!(app.take_dirty());
        assert!(!screen(&app).contains("killing"), "{}", screen(&app));
        let lines = screen(&app);
        let said = lines.lines().nth(22).unwrap_or_default();
        assert_eq!(said.contains("host 1 killed"), frozen, "{lines}");
        // The end of the load ends all orders.
        let mut app = after(calm(), "k");
        publish(&mut app, picture::finished(calm()));
        assert_eq!(app.status(), None);
    }
}

#[test]
fn a_frozen_display_says_that_the_run_continues() {
    let app = calm(" ");
    for size in SIZES {
        let screen = drawn(&app, size);
        says(&screen, &["Display frozen; run continues. Space: resume"]);
    }
}

#[test]
fn a_fault_needs_a_second_press_where_no_host_is_shown() {
    let mut app = calm("vv");
    assert_eq!(ordered(&mut app, "k"), []);
    assert!(
        status(&app).contains("press k again to kill host 1"),
        "{:?}",
        app.status()
    );
    // After another key it must be confirmed again.
    assert_eq!(ordered(&mut app, "2k"), []);
    assert_eq!(ordered(&mut app, "1k"), []);
    assert_eq!(ordered(&mut app, "b"), []);
    assert_eq!(ordered(&mut app, "k"), []);
    assert_eq!(ordered(&mut app, "k"), fault(KILL, HOST));
    // The dashboard and the scoreboard show the effect.
    for views in ["", "v"] {
        let mut app = calm(views);
        assert_eq!(ordered(&mut app, "k"), fault(KILL, HOST));
    }
}

#[test]
fn faults_act_through_the_expectations_and_the_help_says_that_it_closed() {
    let mut app = calm("");
    assert_eq!(ordered(&mut app, "ek"), fault(KILL, HOST));
    let screen = drawn(&app, WIDE);
    says(&screen, &["Expectations, so far", "killing host 1"]);
    let mut app = calm("");
    assert_eq!(ordered(&mut app, "?k"), []);
    says(status(&app), &["press k again"]);
    assert_eq!(ordered(&mut app, "k"), fault(KILL, HOST));
}

#[test]
fn before_the_load_and_after_a_failure_nothing_is_hidden() {
    let bare = |mut snapshot: Snapshot| {
        snapshot.hosts.clear();
        snapshot.servers.clear();
        snapshot.arms.clear();
        snapshot
    };
    for keys in ["e", " ", "v", "w", "1", "s", "k", "t", "S"] {
        let mut app = showing(bare(set_up()));
        let before = drawn(&app, SMALL);
        assert_eq!(ordered(&mut app, keys), []);
        assert!(app.status().is_some(), "{keys:?} does nothing and says nothing");
        let after = drawn(&app, SMALL);
        let body = |screen: &str| screen.lines().take(21).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(body(&before), body(&after), "{keys:?}");
        // The next scheduled fault is shown too.
        publish(&mut app, bare(failed_with("redis-server ended at once")));
        for more in ["e", " ", "k"] {
            press(&mut app, more);
            assert!(app.status().is_some(), "{more:?} after a failure");
            let screen = drawn(&app, SMALL);
            says(&screen, &["the run failed", "ended at once"]);
        }
    }
    // A failure also ends a frozen display.
    let mut app = calm(" ");
    app.update(Message::Finished(Err(RunError::Thread(io::Error::other(
        "the disk is full",
    )))));
    says(&drawn(&app, SMALL), &["the disk is full"]);
    assert_eq!(ordered(&mut app, "k"), []);
    assert_eq!(app.status(), Some("the run failed: R runs it again"));
}

#[test]
fn every_key_that_can_not_act_says_why() {
    let mut app = calm("");
    for (key, why) in [('z', "no key 'z' here: ? lists them"), ('K', "no key 'K' here")] {
        press(&mut app, &key.to_string());
        says(status(&app), &[why]);
    }
    app.update(Message::Key(KeyEvent::new(KeyCode::Char('x'), KeyModifiers::CONTROL)));
    says(status(&app), &["'Ctrl-x'"]);
    code(&mut app, KeyCode::F(5));
    says(status(&app), &["'F5'"]);
    for key in [KeyCode::Esc, KeyCode::Up] {
        draw(&app, WIDE);
        code(&mut app, key);
        assert!(app.status().is_some(), "{key:?}");
    }
    press(&mut app, "v");
    press(&mut app, "w");
    says(status(&app), &["no time axis"]);
    let mut picking = picking();
    press(&mut picking, "k");
    says(status(&picking), &["no key 'k' here"]);
    let mut bare = App::new(Vec::new(), &options(ThemeName::Dark, false));
    for key in [KeyCode::Enter, KeyCode::Esc, KeyCode::Char('c')] {
        assert!(code(&mut bare, key).is_none());
        assert!(bare.status().is_some(), "{key:?}");
    }
}

/// Host 1 bounces then.
fn bounce(waits_for: Awaited) -> NextStep {
    NextStep::Fault {
        action: KILL,
        targets: Targets::Named(vec![HOST]),
        is_bounce: true,
        waits_for: Some(waits_for),
    }
}

#[test]
fn scheduled_faults_are_announced_and_no_hint_spoils_them() {
    let mut snapshot = picture::calm(picture::inventory(), 12.3);
    snapshot.next = Some(Next {
        step: bounce(Awaited::Figure {
            arm: Some("single".to_owned()),
            figure: Metric::Holding,
            op: Op::AtLeast,
            bound: 48.0,
        }),
        at: None,
        returns: Vec::new(),
    });
    let app = showing(snapshot.clone());
    for size in SIZES {
        let screen = drawn(&app, size);
        says(&screen, &["\n next: host 1 bounces when single has 48 held"]);
        assert!(!screen.contains("press "), "{screen}");
    }
    says(&drawn(&app, WIDE), &["then your turn, b: bounce host 1"]);
    // Who talks for too long has nothing left to show.
    let mut held = snapshot.clone();
    held.held = true;
    held.next.as_mut().expect("a fault").step = NextStep::Fault {
        action: KILL,
        targets: Targets::Named(vec![HOST]),
        is_bounce: false,
        waits_for: None,
    };
    held.arms[1].figures.sold_out_all = true;
    says(
        &drawn(&showing(held), WIDE),
        &["● sold out", " · sold out: no more damage shows"],
    );
    // Even while something is down, which the scenario may bring back itself.
    snapshot.hosts[1].conditions = Conditions::only(Condition::Down, Some(How::By(Fault::Kill)), Duration::ZERO);
    let down = and_then(snapshot, KILL, Target::Host(HostId(2)), None, Some(12.3));
    let screen = drawn(&showing(down), WIDE);
    assert!(
        screen.contains("next: host 1 bounces") && !screen.contains("brings host 2 back"),
        "{screen}"
    );
}

#[test]
fn an_impossible_bounce_says_why() {
    let mut app = storm("");
    for (keys, why) in [
        ("2b", "host 2 is down: r restarts it"),
        ("3b", "host 3 is paused: r resumes it"),
        ("s1b", "only hosts can be bounced"),
    ] {
        assert_eq!(ordered(&mut app, keys), [], "{keys}");
        says(status(&app), &[why]);
    }
    let mut warming = picture::calm(picture::inventory(), -1.0);
    warming.phase = Phase::WarmUp;
    let mut app = showing(warming);
    assert_eq!(ordered(&mut app, "b"), []);
    says(status(&app), &["warm-up"]);
}

#[test]
fn a_run_that_fails_says_so_and_can_be_tried_again() {
    let mut app = showing(picture::calm(picture::inventory(), -1.0));
    app.update(Message::Finished(Err(RunError::Panicked)));
    says(&drawn(&app, SMALL), &["this is a bug"]);
    assert!(matches!(press(&mut app, "R").as_slice(), [Intent::Launch(_)]));
}

#[test]
fn a_summary_can_be_saved_while_the_run_goes_on() {
    let mut app = storm("");
    assert!(matches!(
        press(&mut app, "S").as_slice(),
        [Intent::Save(Saving::Snapshot(_))]
    ));
    app.update(Message::Saved(Ok("./x.txt".to_owned())));
    says(status(&app), &["saved ./x.txt"]);
    press(&mut app, "vv");
    says(&drawn(&app, WIDE), &["» saved ./x.txt"]);
}

#[test]
fn views_and_hints_follow_the_run() {
    let mut app = calm("");
    says(
        &drawn(&app, SMALL),
        &["press b: bounce host 1, the node under arm single"],
    );
    press(&mut app, "2");
    says(status(&app), &["host 2 is selected"]);
    publish(&mut app, picture::storm());
    says(&drawn(&app, SMALL), &["r brings host 2 back: empty"]);
    publish(&mut app, over());
    assert_eq!(app.view(), View::Summary);
    press(&mut app, "v");
    assert_eq!(app.view(), View::Dashboard);
    press(&mut app, "vvv");
    assert_eq!(app.view(), View::Summary);
}

#[test]
fn doubtful_figures_get_no_check_mark() {
    let mut snapshot = picture::finished(picture::storm());
    let why = Unmet::WaitedFor { other: 2 };
    let unmet = Caveat::FaultUnmet { fault: 1, why };
    let reason = unmet.to_string();
    snapshot.caveats.push(unmet);
    let mut app = showing(snapshot);
    for (view, name) in [(View::Summary, "summary"), (View::Scoreboard, "scoreboard")] {
        while app.view() != view {
            press(&mut app, "v");
        }
        let shown = screens(&app);
        assert!(!shown.contains('✔'), "{name}: {shown}");
        assert!(shown.contains('✖'), "damage stays: {name}: {shown}");
        if view == View::Summary {
            assert!(shown.contains(&format!("inconclusive: {reason}")), "{shown}");
        }
    }
}

#[test]
fn an_ascii_picture_is_ascii_and_says_the_same() {
    let ascii = ConsoleOptions {
        ascii: true,
        ..options(ThemeName::Dark, true)
    };
    for (name, app) in every_view_in(&ascii) {
        for size in SIZES {
            let buffer = draw(&app, size);
            for cell in buffer.content() {
                assert!(
                    cell.symbol().is_ascii() && cell.symbol().len() == 1,
                    "{name} {size:?}: {}",
                    cell.symbol()
                );
            }
        }
    }
    insta::assert_snapshot!("dashboard_in_ascii", screens(&showing_in(stuck_in_the_storm(), &ascii)));
    let mut app = showing_in(stuck_in_the_storm(), &ascii);
    press(&mut app, "v");
    insta::assert_snapshot!("scoreboard_in_ascii", screens(&app));
    let screen = drawn(&app, WIDE);
    says(&screen, &["X 214", "! NODE DOWN"]);
}

/// The storm, and its consequences for the arms that need the hosts that are down.
fn stuck_in_the_storm() -> Snapshot {
    let mut snapshot = picture::storm();
    for (arm, live) in snapshot
        .arms
        .iter_mut()
        .zip(stuck().arms.iter().map(|arm| arm.live.clone()))
    {
        arm.live = live;
    }
    snapshot
}

#[test]
fn the_scoreboard_shows_who_is_stuck_and_what_was_done() {
    let mut app = after(stuck_in_the_storm(), "v");
    for size in SIZES {
        let screen = drawn(&app, size);
        for words in ["DOWN 6.2 s", "PAUSED 1.8 s", "▲", "✖ 214"] {
            assert!(screen.contains(words), "{words} at {size:?}\n{screen}");
        }
    }
    let screen = drawn(&app, WIDE);
    says(&screen, &["▲ NODE DOWN", "▲ NO QUORUM 1 of 3"]);
    says(&screen, &["45.5s host 3 paused"]);
    // Long words are cut and not left out.
    let mut snapshot = stuck_in_the_storm();
    for event in Arc::make_mut(&mut snapshot.events) {
        if let EventKind::Fault { proof, .. } = &mut event.kind {
            proof.push(Proof {
                finding: Finding::PortRefuses { port: 7001 },
                by: Observer::Connect,
                of: "host 3".to_owned(),
                at: event.at,
            });
        }
    }
    publish(&mut app, snapshot);
    for size in [WIDE, SMALL] {
        let screen = drawn(&app, size);
        says(&screen, &["45.5s host 3 paused (po"]);
    }
}

#[test]
fn lost_updates_are_on_the_scoreboard_until_the_stock_is_sold_out() {
    let scoreboard = |snapshot: Snapshot| {
        let app = after(snapshot, "v");
        drawn(&app, WIDE)
    };
    let mut snapshot = picture::calm(picture::inventory(), 12.3);
    snapshot.arms[0].figures.ledger[Entry::LostUpdatesPeak] = Some(290);
    // Some were made up for, and the figure does not fall.
    snapshot.arms[0].figures.ledger[Entry::LostUpdates] = Some(280);
    let before = scoreboard(snapshot.clone());
    says(&before, &["✖ 290 lost updates", "LOST UPDATES"]);
    assert!(!before.contains("OVERSOLD"), "{before}");
    for arm in &mut snapshot.arms {
        arm.figures.sold_out_all = true;
    }
    snapshot.arms[0].figures.ledger[Entry::Oversold] = Some(324);
    let after = scoreboard(snapshot);
    says(&after, &["✖ 324 oversold", "OVERSOLD"]);
    assert!(!after.contains("LOST UPDATES"), "{after}");
}

#[test]
fn names_are_large_and_a_rule_stands_between_two_arms() {
    let app = storm("v");
    for (size, rules) in [(WIDE, 2), (SMALL, 1), (LEAST, 2)] {
        let screen = drawn(&app, size);
        let between = screen.lines().filter(|row| row.matches('│').count() == rules).count();
        assert!(between > usize::from(size.1) / 2, "{size:?}\n{screen}");
    }
    // "single" in large letters, and not a second time in small ones.
    let screen = drawn(&app, WIDE);
    says(&screen, &["▄▀▀ ▀█▀ █▄ █ ▄▀▀ █   █▀▀"]);
    assert!(!screen.contains("single  "), "{screen}");
    // Without room or letters for it, the names are plain text.
    says(&drawn(&app, SMALL), &["single  ✖ 14"]);
}

#[test]
fn the_summary_says_that_a_record_is_partial() {
    let unanswered = Caveat::Unanswered {
        arm: "redlock".to_owned(),
        requests: 3,
        why: GivenUp::ToldNotToWait,
    };
    let missing = &unanswered.to_string();
    let mut snapshot = picture::finished(picture::storm());
    snapshot.partial = vec![unanswered];
    Arc::make_mut(&mut snapshot.scenario).expect.clear();
    let shown = drawn(&showing(snapshot), (160, 40));
    assert!(shown.contains(&format!("? partial: {missing}")), "{shown}");
    assert_eq!(shown.matches(missing).count(), 1, "{shown}");
}

/// The cells of this lock's row, before its axis of time.
fn row(app: &App, lock: &str) -> Vec<String> {
    let screen = drawn(app, WIDE);
    let row = screen
        .lines()
        .find(|line| line.split_whitespace().any(|word| word == lock));
    let row = row.unwrap_or_else(|| panic!("{lock}:\n{screen}"));
    let cells = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
    cells.map(str::to_owned).collect()
}

#[test]
fn how_often_a_lock_was_held_twice_and_what_was_lost_are_two_numbers_and_none_falls() {
    let of = |double_holds, lost| {
        let mut snapshot = picture::calm(picture::inventory(), 12.3);
        let index = snapshot
            .arms
            .iter()
            .position(|arm| arm.name == "single")
            .expect("it is there");
        let figures = &mut snapshot.arms[index].figures;
        figures.ledger = [
            (Entry::Orders, 100),
            (Entry::LostUpdates, lost),
            (Entry::LostUpdatesPeak, lost),
        ]
        .into();
        (figures.outcomes.acquired, figures.double_holds) = (100, double_holds);
        snapshot
    };
    let app = showing(of(14, 0));
    says(&drawn(&app, WIDE), &["LOST  TWICE  WHY"]);
    let held_twice = row(&app, "single");
    assert!(
        held_twice.contains(&"✔ 0".to_owned()) && held_twice.contains(&"✖ 14".to_owned()),
        "{held_twice:?}"
    );
    let lost = row(&showing(of(14, 3)), "single");
    assert!(
        lost.contains(&"✖ 3".to_owned()) && lost.contains(&"✖ 14".to_owned()),
        "{lost:?}"
    );
    assert!(
        !drawn(&showing(of(0, 3)), WIDE).contains("TWICE"),
        "nothing was held twice"
    );
}

#[test]
fn a_double_hold_is_shown_as_lanes_and_the_others_beside_it() {
    let mut app = showing(picture::storm());
    press(&mut app, "L");
    assert_eq!(status(&app), "no lock has been held by two at once so far");
    let mut counted = picture::storm();
    counted.arms[0].figures.double_holds = 4;
    publish(&mut app, counted);
    press(&mut app, "L");
    assert_eq!(
        status(&app),
        "a lock has been held by two at once, but who they were is not known here"
    );
    publish(&mut app, picture::double_held(2));
    press(&mut app, "L");
    let screen = drawn(&app, WIDE);
    for words in [
        "single: double hold 1, lock product:1",
        "(2 kept: ← →, Esc closes)",
        "both",
        "▲▲",
        "s1w20 holds it too",
        "host 1 restarted",
    ] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
    insta::assert_snapshot!("lanes", screen);
    code(&mut app, KeyCode::Right);
    assert!(drawn(&app, SMALL).contains("double hold 2"));
    code(&mut app, KeyCode::Right);
    assert_eq!(status(&app), "there is no other double hold of this lock");
    assert!(drawn(&app, SMALL).contains("double hold 2"));
    code(&mut app, KeyCode::Esc);
    assert!(!drawn(&app, WIDE).contains("double hold 2"));
}

#[test]
fn the_first_double_hold_is_shown_by_itself_while_the_schedule_is_held_and_once() {
    let held = |arm| {
        let mut now = picture::double_held(arm);
        now.held = true;
        now
    };
    let mut app = showing(picture::double_held(2));
    assert!(!drawn(&app, WIDE).contains("double hold"), "the schedule goes on");
    publish(&mut app, held(2));
    assert!(drawn(&app, WIDE).contains("single: double hold 1"));
    // Enter closes it, and lets nothing happen.
    assert!(code(&mut app, KeyCode::Enter).is_none());
    publish(&mut app, held(2));
    assert!(!drawn(&app, WIDE).contains("double hold"), "once");
}

#[test]
fn events_are_filtered_by_what_is_typed() {
    let mut app = storm("/");
    press(&mut app, "Host kill");
    let screen = drawn(&app, WIDE);
    assert!(screen.contains("events with: Host kill▏ 2 of 10"), "{screen}");
    assert!(
        screen.contains("host 2 killed") && !screen.contains("TTL 2 s"),
        "{screen}"
    );
    // Keys are letters here, and Enter ends that.
    code(&mut app, KeyCode::Enter);
    press(&mut app, "v");
    assert_eq!(app.view(), View::Dashboard);
    press(&mut app, "/");
    code(&mut app, KeyCode::Esc);
    assert!(drawn(&app, WIDE).contains("events: 10, newest first"));
}

#[test]
fn the_cursor_of_the_charts_reads_off_the_values_of_all_arms() {
    let mut app = charts(picture::calm(picture::inventory(), 12.3));
    let screen = drawn(&app, WIDE);
    assert!(
        screen.contains("p99 of grant latency (log)  ━ redlock  ─ its p50"),
        "{screen}"
    );
    assert!(screen.contains("─ single"), "{screen}");
    assert!(screen.contains("expected: redlock acquire p99 < 50ms"), "{screen}");
    for _ in 0..3 {
        code(&mut app, KeyCode::Left);
    }
    let screen = drawn(&app, WIDE);
    assert!(screen.contains("11.9 s, p99  ━ redlock 4.2 ms"), "{screen}");
    assert!(screen.contains("─ single 2.1 ms"), "{screen}");
    // It stays at its time, and hosts stay selected as they are.
    assert_eq!(app.selected(), HOST);
    // In a frozen picture it begins at what that shows.
    code(&mut app, KeyCode::Esc);
    press(&mut app, " ");
    publish(&mut app, picture::calm(picture::inventory(), 40.0));
    code(&mut app, KeyCode::Left);
    assert!(
        drawn(&app, WIDE).contains("12.2 s, p99  ━ redlock"),
        "{}",
        drawn(&app, WIDE)
    );
    code(&mut app, KeyCode::Esc);
    assert!(drawn(&app, WIDE).contains("p99 of grant latency"));
}

#[test]
fn a_click_selects_a_second_one_shows_more_and_the_wheel_zooms() {
    let mut app = showing(picture::double_held(2));
    let mouse = |app: &mut App, kind, column, row| {
        let modifiers = KeyModifiers::NONE;
        app.update(Message::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers,
        }));
        drawn(app, WIDE)
    };
    let click = MouseEventKind::Down(MouseButton::Left);
    let screen = drawn(&app, WIDE);
    let row = |screen: &str, words: &str| {
        let row = screen.lines().position(|row| row.contains(words)).expect("it is shown");
        u16::try_from(row).expect("a small screen")
    };
    let single = row(&screen, " single ");
    let screen = mouse(&mut app, click, 4, single);
    assert!(screen.contains("› single "), "{screen}");
    let screen = mouse(&mut app, click, 4, single);
    assert!(
        screen.contains("last locks") && screen.contains("product:9"),
        "{screen}"
    );
    assert!(screen.contains("5.3 ms") && screen.contains("1 of 1 (1)"), "{screen}");
    // What is covered is not hit.
    let hosts = row(&screen, " host 2 ");
    mouse(&mut app, click, 60, hosts);
    assert_eq!(app.selected(), HOST);
    code(&mut app, KeyCode::Esc);
    mouse(&mut app, click, 60, hosts);
    assert_eq!(app.selected(), Target::Host(HostId(2)));
    let before = drawn(&app, WIDE);
    let zoomed = mouse(&mut app, MouseEventKind::ScrollUp, 100, single);
    assert_ne!(before, zoomed);
    assert_eq!(mouse(&mut app, MouseEventKind::ScrollDown, 100, single), before);
    // Moving does nothing.
    assert_eq!(mouse(&mut app, MouseEventKind::Moved, 4, single), before);
}

#[test]
fn what_is_saved_after_the_end_is_the_newest_in_the_log() {
    let mut now = over();
    let mut late = now.events[0].clone();
    late.at = now.elapsed + 1.5;
    late.kind = EventKind::Caption {
        fault: None,
        quoted: "the ledger is read".to_owned(),
    };
    Arc::make_mut(&mut now.events).push(late);
    let mut app = showing(now);
    app.update(Message::Saved(Ok("x.json".to_owned())));
    press(&mut app, "/");
    let screen = drawn(&app, WIDE);
    let row = |words: &str| screen.lines().position(|row| row.contains(words)).expect("it is there");
    assert!(row("» saved x.json") < row("the ledger is read"), "{screen}");
}
