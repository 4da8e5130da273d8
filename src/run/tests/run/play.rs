//! The built-in scenarios on real servers: the claim of each must show. Those that every change is tested with are shorter; `.ci/long
//! scenarios` plays all as they are.

use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::metrics::{ConsequenceKind, Count, Entry, Metric, Point, Time};
use lockstorm_data::model::{Action, Condition, Fault};
use lockstorm_data::scenario::{Scenario, Source};
use lockstorm_kit::alone;
use lockstorm_kit::play::{arm, effect, effects, held, play, seconds, told};
use lockstorm_kit::scenario::{builtin, scenario};
use lockstorm_run::Record;

/// Plays a built-in scenario whose expectations must hold.
fn holds(name: &str) -> Record {
    held(builtin(name, &[]))
}

/// A built-in scenario with other words in its text.
fn changed(name: &str, words: &[(&str, &str)], set: &[&str]) -> Scenario {
    let mut text = Source::open(name).expect("it is built in").text;
    for (old, new) in words {
        assert_eq!(text.matches(old).count(), 1, "{old} in {name}");
        text = text.replace(old, new);
    }
    scenario(&text, set)
}

/// A sum over the whole seconds between two times.
fn sum(record: &Record, name: &str, (from, to): (f64, f64), read: impl Fn(&Point) -> u64) -> u64 {
    seconds(arm(record, name), from, to).map(read).sum()
}

fn oversells(record: &Record) {
    for broken in ["none", "local"] {
        let figures = &arm(record, broken).figures;
        assert!(
            figures.booked(Entry::Oversold) > 0,
            "{broken} sold {} of 200",
            figures.booked(Entry::Orders)
        );
        assert_eq!(figures.booked(Entry::Orders), 200 + figures.booked(Entry::Oversold));
    }
    for sound in ["single", "redlock", "atomic"] {
        let figures = &arm(record, sound).figures;
        assert_eq!(
            (
                figures.booked(Entry::Orders),
                figures.booked(Entry::Oversold),
                figures.booked(Entry::LostUpdates)
            ),
            (200, 0, 0),
            "{sound}"
        );
        assert_eq!(
            (figures.counts[Count::Completed], figures.counts[Count::SoldOut]),
            (1600, 1400),
            "{sound}"
        );
    }
}

/// A sale that takes a few seconds.
const HURRY: [&str; 2] = ["swarm.think=0s", "workload.hold.median=2ms"];

#[test]
fn flash_sale_oversells_without_a_shared_lock() {
    let _turn = alone();
    oversells(&play(builtin("flash-sale", &HURRY)));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn flash_sale_oversells_without_a_shared_lock_in_each_of_ten_runs() {
    let _turn = alone();
    for seed in 1..=10 {
        println!("seed {seed}");
        // The first as it is, which takes long enough to watch; the others faster.
        let hurry = if seed == 1 { &[][..] } else { &HURRY };
        let seed = format!("seed={seed}");
        let record = play(builtin("flash-sale", &[&[seed.as_str()], hurry].concat()));
        assert!(!hurry.is_empty() || record.elapsed > 5.0, "{} s", record.elapsed);
        oversells(&record);
    }
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn one_app_server_needs_no_more_than_its_own_mutex() {
    let _turn = alone();
    let record = play(builtin("flash-sale", &[&["swarm.servers=1"], &HURRY[..]].concat()));
    let local = &arm(&record, "local").figures;
    assert_eq!(
        (
            local.booked(Entry::Orders),
            local.booked(Entry::Oversold),
            local.booked(Entry::LostUpdates),
            local.counts[Count::Completed]
        ),
        (200, 0, 0, 1600)
    );
    assert!(
        arm(&record, "none").figures.booked(Entry::Oversold) > 0,
        "without any lock even one app server oversells"
    );
}

fn hits_the_database_as_theory_says(record: &Record) {
    let hits = |name: &str| arm(record, name).figures.db_hits_per_expiry;
    // N(1 − e^(−D/Z)) with D / Z = 2. On a slow machine the provider takes longer, and more of the 100 come.
    let expected = 100.0 * (1.0 - (-2.0_f64).exp());
    let none = hits("none");
    assert!(
        none.mean >= expected * 0.85 && none.max <= 100,
        "none: {none:?}, expected about {expected:.0}"
    );
    let local = hits("local");
    assert!(
        local.mean > 3.0 && local.max <= 4,
        "local: {local:?}, expected one for each of 4 app servers"
    );
    for waiting in ["single waiting", "redlock"] {
        let hits = hits(waiting);
        assert_eq!(hits.max, 1, "{waiting}: {hits:?}");
        assert_eq!(arm(record, waiting).figures.counts[Count::StaleReads], 0);
    }
    for name in ["none", "local", "single fail-fast", "single waiting", "redlock"] {
        assert!(hits(name).expiries >= 5, "{name}: {:?}", hits(name));
    }
    assert_eq!(hits("single fail-fast").max, 1);
    assert!(arm(record, "single fail-fast").figures.counts[Count::StaleReads] > 0);
}

#[test]
fn stampede_hits_the_database_as_theory_says() {
    let _turn = alone();
    hits_the_database_as_theory_says(&held(builtin("stampede", &["duration=20s"])));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn stampede_as_it_is() {
    let _turn = alone();
    hits_the_database_as_theory_says(&holds("stampede"));
}

fn is_refused_with_its_causes_and_ends_by_itself(record: &Record) {
    let (first, second) = (effect(record, Fault::Kill, 0), effect(record, Fault::Kill, 1));
    let undone = |n| effect(record, Action::Undo(Condition::Down), n);
    let (back, all_back) = (undone(0), undone(1));
    for (what, from, to, granted) in [
        ("two of three hosts", first, second, true),
        ("one of three hosts", second, back, false),
        ("two of three hosts again", back, all_back, true),
    ] {
        // The second of the change is left out.
        let time = (from + 1.0, to);
        assert!(sum(record, "redlock", time, |_| 1) > 0, "no whole second: {time:?}");
        let acquired = sum(record, "redlock", time, |p| p.outcomes.acquired);
        let refused = sum(record, "redlock", time, |p| p.outcomes.no_quorum);
        // With one host away, a slow machine may make another one late now and then.
        let as_it_should = match granted {
            true => acquired > 10 * refused,
            false => acquired == 0 && refused > 0,
        };
        assert!(as_it_should, "{what}: {acquired} acquired, {refused} refused");
    }
    let causes = |event: &&Event| {
        matches!(&event.kind, EventKind::Lock { arm, .. } if arm == "redlock")
            && event.text().contains("host 1 down (connection refused)")
    };
    let event = record.events.iter().find(causes);
    let text = event.unwrap_or_else(|| panic!("{}", told(record))).text();
    assert!(text.contains("host 2 down (connection refused)"), "{text}");
    assert!(text.starts_with("redlock: all acquires failing: "), "{text}");
    let votes = &arm(record, "redlock").figures.votes_at_release;
    assert!(votes[2] > 0 && votes[3] > 0, "{votes:?}");
}

#[test]
fn quorum_loss_is_refused_with_its_causes_and_ends_by_itself() {
    let _turn = alone();
    let sooner = [
        ("at      = \"8s\"", "at = \"3s\""),
        ("fault:1 + 8s", "fault:1 + 4s"),
        ("fault:2 + 8s", "fault:2 + 4s"),
        ("fault:3 + 8s", "fault:3 + 4s"),
    ];
    let set = [
        "duration=18s",
        "expect.redlock.refused_seconds=>= 2 and <= 6",
        "expect.single.refused_seconds=>= 9 and <= 14",
    ];
    is_refused_with_its_causes_and_ends_by_itself(&held(changed("quorum-loss", &sooner, &set)));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn quorum_loss_as_it_is() {
    let _turn = alone();
    is_refused_with_its_causes_and_ends_by_itself(&holds("quorum-loss"));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_paged_list_is_whole_under_a_lock_and_has_duplicates_without() {
    let _turn = alone();
    let record = holds("paged-list");
    let none = &arm(&record, "none").figures;
    assert!(none.duplicate_pages > 0, "{none:?}");
    // Each filling of a list is counted once, no matter how often it was read. It contains at most ten pages from each of
    // 32 workers.
    let fillings = none.db_hits_per_expiry.expiries / 10 + 8;
    assert!(
        none.duplicate_pages < fillings * 10 * 32,
        "{fillings} fillings: {none:?}"
    );
    for arm in record.arms.iter().filter(|arm| arm.name != "none") {
        let figures = &arm.figures;
        assert_eq!((figures.duplicate_pages, figures.missing_pages), (0, 0), "{}", arm.name);
        assert!(figures.counts[Count::Hits] > 0, "{} never became Active", arm.name);
    }
}

fn breaks_the_single_lock_but_not_redlock(record: &Record) {
    let single = &arm(record, "single").figures;
    assert!(
        single.booked(Entry::Oversold) > 0 && single.booked(Entry::LostUpdates) >= single.booked(Entry::Oversold),
        "{single:?}"
    );
    // At first most requests wait for nobody, and the effect of the fault shows soon after it.
    for arm in &record.arms {
        let first = arm.series.iter().filter(|point| (0..3).contains(&point.time));
        let waits: Vec<u32> = first.map(|point| point.times[Time::Acquired].p50).collect();
        assert!(
            waits.len() == 3 && waits.iter().all(|p50| *p50 < 1_000_000),
            "{}: {waits:?}",
            arm.name
        );
    }
    let [_, fault] = effects(record).first().expect("the scripted fault").2;
    let first = single.first_lost_at.expect("a lost update");
    assert!(
        first > fault && first < fault + 10.0,
        "fault at {fault} s, first lost update at {first} s"
    );
    // Requests after the sale of the last unit end as sold out.
    for arm in &record.arms {
        let said = format!("{}: sold out", arm.name);
        let event = record.events.iter().find(|event| event.text().starts_with(&said));
        assert!(event.is_some(), "{said}:\n{}", told(record));
    }
}

#[test]
fn a_node_that_comes_back_empty_breaks_the_single_lock_but_not_redlock() {
    let _turn = alone();
    let set = ["workload.stock=4", "duration=30s"];
    breaks_the_single_lock_but_not_redlock(&held(builtin("single-vs-redlock", &set)));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn single_vs_redlock_as_it_is() {
    let _turn = alone();
    breaks_the_single_lock_but_not_redlock(&holds("single-vs-redlock"));
}

#[test]
fn two_deaths_of_the_master_break_every_lock_that_trusts_it_and_the_second_is_told_by_a_failover() {
    let _turn = alone();
    let sooner = [("fault:1 + 10s", "fault:1 + 9s")];
    master_died_twice(&held(changed("failover", &sooner, &["duration=50s"])));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn two_deaths_of_the_master_as_it_is_with_three_seeds() {
    let _turn = alone();
    for seed in ["seed=1", "seed=2", "seed=42"] {
        println!("{seed}");
        master_died_twice(&held(builtin("failover", &[seed])));
    }
}

fn master_died_twice(record: &Record) {
    let death = effect(record, Fault::Kill, 1);
    let back = effect(record, Action::Undo(Condition::Down), 1);
    let failovers = record.events.iter().filter_map(|event| match event.kind {
        EventKind::Failover { host, .. } => Some((event.at, host.0)),
        _ => None,
    });
    let failovers: Vec<(f64, usize)> = failovers.collect();
    let &[(at, host), ..] = &failovers[..] else {
        panic!("there was no failover:\n{}", told(record));
    };
    assert!(death < at && host != 1, "{failovers:?}, host 1 died at {death}");
    let acquired = |name: &str, from: f64, to: f64| sum(record, name, (from, to), |point| point.outcomes.acquired);
    // A slow machine may read a grant of just before the death a moment later.
    assert_eq!(acquired("single", death + 1.0, back), 0, "its node is away");
    assert!(acquired("redlock", death, back) > 50);
    if at + 6.0 < back {
        assert!(acquired("sentinel", at + 2.0, back) > 0, "it follows the new master");
        assert_eq!(
            acquired("sentinel wait 2", at + 2.0, back),
            0,
            "there is one replica, and it needs two"
        );
    }
    // With one host away, a slow machine may make another one late now and then.
    let outcomes = arm(record, "redlock").figures.outcomes;
    assert!(outcomes.no_quorum * 100 < outcomes.total(), "{outcomes:?}");
    for arm in &record.arms {
        // Whoever stays with the first master has a replica in the end, which grants nothing.
        let stuck = (arm.name == "stays on host 1")
            .then_some(84)
            .or((arm.name != "no lock").then_some(0));
        assert_eq!(arm.figures.stuck, stuck, "{}", arm.name);
    }
    let kinds = |name: &str| -> Vec<ConsequenceKind> {
        let all = &arm(record, name).figures.consequences;
        let is_loss =
            |kind: &ConsequenceKind| !matches!(kind, ConsequenceKind::Refused { .. } | ConsequenceKind::Delayed { .. });
        all.iter().map(|consequence| consequence.kind).filter(is_loss).collect()
    };
    for alone in ["single", "stays on host 1"] {
        let first = kinds(alone)[0];
        assert!(
            matches!(first, ConsequenceKind::Forgot { locks: 1.. }),
            "{alone} {first}"
        );
    }
    let first = kinds("sentinel")[0];
    let replicated = matches!(first, ConsequenceKind::EmptinessReplicated { locks: 1.. });
    assert!(replicated, "sentinel {first}");
    let (mut kept, mut gone) = (0, 0);
    for kind in kinds("redlock") {
        match kind {
            ConsequenceKind::KeptVotes { locks, votes: 2, of: 3 } => kept += locks,
            // On a slow machine a lock may have only two votes.
            ConsequenceKind::Forgot { locks } => gone += locks,
            kind => panic!("redlock {kind}"),
        }
    }
    assert!(kept > 4 * gone, "{kept} kept, {gone} forgotten");
    assert!(!kinds("redlock").is_empty() && kinds("no lock").is_empty());
    let locks = arm(record, "stays on host 1").figures.granted_by_old_master;
    let granted = ConsequenceKind::GrantedByOldMaster { locks };
    assert!(
        locks > 0 && kinds("stays on host 1").contains(&granted),
        "{:?}",
        kinds("stays on host 1")
    );
    let all = &arm(record, "stays on host 1").figures.consequences;
    let by = all.iter().find(|one| one.kind == granted).and_then(|one| one.event);
    let told = by.and_then(|by| record.events.iter().find(|event| event.id == by));
    assert!(
        told.is_some_and(|event| matches!(event.kind, EventKind::Failover { .. })),
        "{all:?}"
    );
    // It was away for twelve seconds, of which the first holders had a part.
    assert!(arm(record, "single").figures.longest_outage().lasted_us >= 11_000_000);
    assert_eq!(arm(record, "sentinel wait 2").figures.granted_by_old_master, 0);
}

/// What the arm `stays on host 1` was granted after the resume of its master.
fn granted_after_resume(record: &Record) -> u64 {
    let resumed = effect(record, Action::Undo(Condition::Paused), 0);
    let time = (resumed + 1.5, resumed + 31.0);
    sum(record, "stays on host 1", time, |point| point.outcomes.acquired)
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_paused_master_grants_for_a_while_after_its_resume() {
    let _turn = alone();
    assert!(granted_after_resume(&holds("zombie-master")) > 0);
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_paused_master_that_needs_replicas_grants_nothing_after_its_resume() {
    let _turn = alone();
    // When it goes on, the master counts its replicas until it has handled the end of their connections. What it reads in that moment
    // it grants: at most one request of each of the 32 workers, who ask again once they have their replies.
    let cured = [
        "lab.replicated.min_replicas_to_write=1",
        "expect.stays on host 1.granted_by_old_master=<= 32",
    ];
    assert_eq!(granted_after_resume(&held(builtin("zombie-master", &cured))), 0);
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn replicas_that_lag_lose_what_was_granted_before_the_death_unless_they_are_waited_for() {
    let _turn = alone();
    holds("replica-lag");
}

/// Locks and updates that the arm `wait 1` has lost.
fn lost(record: &Record) -> (u64, u64) {
    let figures = &arm(record, "wait 1").figures;
    (figures.lost_at_failover, figures.booked(Entry::LostUpdates))
}

/// Which replica confirmed a lock, and which one is promoted, are two questions.
#[test]
#[ignore = "slow: .ci/long scenarios"]
fn what_one_of_two_replicas_has_confirmed_is_lost_if_the_other_one_becomes_the_master() {
    let _turn = alone();
    let (absent, updates) = lost(&holds("wait-one"));
    assert!(absent > 0 && updates > 0, "{absent} locks and {updates} updates");
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn what_one_of_two_replicas_has_confirmed_stays_if_that_one_becomes_the_master() {
    let _turn = alone();
    // Without a preference it is the one that is further.
    let further = [
        "lab.replicated.preferred_host=3",
        "expect.wait 1.lost_updates=== 0",
        "expect.wait 1.lost_at_failover=== 0",
        "expect.wait 1.double_holds=== 0",
    ];
    assert_eq!(lost(&held(builtin("wait-one", &further))), (0, 0));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn what_one_of_two_replicas_has_confirmed_dies_with_it() {
    let _turn = alone();
    // The host that confirmed dies a moment later, before the Sentinels act: two of three are away then, so somebody acts by hand.
    let both_die = "[[fault]]\nafter = \"fault:2 + 100ms\"\ndo = \"kill\"\non = \"host:3\"\nfor = \"8s\"\n\
                    [[fault]]\nafter = \"fault:4 + 500ms\"\ndo = \"failover\"\nby = \"hand\"\non = \"host:2\"\n[expect]";
    // The Sentinels would choose host 3. Nobody is granted the lost locks before host 2 has a replica again.
    let set = [
        "lab.replicated.preferred_host=3",
        "expect.wait 1.lost_updates=>= 0",
        "expect.wait 1.double_holds=>= 0",
    ];
    let record = held(changed("wait-one", &[("[expect]", both_die)], &set));
    assert_eq!(arm(&record, "wait 2").figures.lost_at_failover, 0);
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_bounce_forgets_nothing_with_append_only_files() {
    let _turn = alone();
    let record = holds("bounce-with-aof");
    // Not because nobody asked for what was held.
    for arm in &record.arms {
        let outcomes = arm.figures.outcomes;
        assert!(outcomes.contended > 100, "{}: {outcomes:?}", arm.name);
    }
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn what_all_replicas_have_confirmed_is_lost_in_a_bounce_and_not_in_a_failover() {
    let _turn = alone();
    let record = holds("wait-enough");
    let figures = &arm(&record, "wait all").figures;
    // The failover took place.
    assert!(figures.new_masters > 0);
    assert!(figures.outages.len() > 1, "{:?}", figures.outages);
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_scheduled_job_runs_twice_or_never() {
    let _turn = alone();
    let record = holds("job-twice");
    // Every tick was due on all app servers that were left.
    let looks = &arm(&record, "looks first").figures;
    assert!(
        looks.offered > 3 * looks.booked(Entry::Runs),
        "{} of {}",
        looks.booked(Entry::Runs),
        looks.offered
    );
    assert_eq!(looks.booked(Entry::RunAgain), 0);
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn an_order_that_is_sent_twice_is_carried_out_once_if_somebody_looks() {
    let _turn = alone();
    let record = holds("double-submit");
    // Each order came twice, and the second one found it done.
    let looks = &arm(&record, "looks first").figures;
    assert_eq!(looks.counts[Count::Completed], 2 * looks.booked(Entry::Runs));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn money_is_made_and_lost_unless_both_accounts_are_locked() {
    let _turn = alone();
    let record = holds("payment");
    // The points tell the same as the figures.
    for arm in &record.arms {
        let sum = |metric| -> u64 { arm.series.iter().filter_map(|point| point.of(metric)).sum() };
        assert_eq!(
            sum(Metric::MoneyMade),
            arm.figures.booked(Entry::MoneyMade),
            "{}",
            arm.name
        );
        assert_eq!(
            sum(Metric::MoneyLost),
            arm.figures.booked(Entry::MoneyLost),
            "{}",
            arm.name
        );
    }
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn lines_go_on_after_a_dead_waiter_and_a_lost_wake_up() {
    let _turn = alone();
    let record = holds("waiters");
    for arm in &record.arms {
        assert!(arm.figures.outcomes.acquired > 300, "{}: the lines moved", arm.name);
    }
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn mistakes_around_a_lock_that_holds() {
    let _turn = alone();
    for name in ["early-release", "fail-open", "endless-renewal"] {
        holds(name);
    }
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn an_upgrade_of_all_hosts_loses_nothing_but_time() {
    let _turn = alone();
    holds("rolling-restart");
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn the_jump_of_one_clock_breaks_a_single_lock_and_that_of_two_breaks_redlock_and_the_law_explains_both() {
    let _turn = alone();
    let record = holds("clock-jump");
    for name in ["single", "redlock"] {
        assert_eq!(arm(&record, name).figures.unjudged, 0, "{name}");
    }
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn the_clock_that_stands_still_keeps_dead_locks_and_ends_living_ones_when_it_is_set_right() {
    let _turn = alone();
    holds("frozen-clock");
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn nodes_that_forget_do_no_harm_if_they_restart_a_ttl_later_and_do_if_at_once() {
    let _turn = alone();
    holds("delayed-restart");
    let at_once = [
        "fault.1.for=300ms",
        "expect.redlock.unavailable_ms=< 4000",
        "expect.redlock.double_holds=>= 5",
        "expect.redlock.lost_updates=>= 1",
    ];
    held(builtin("delayed-restart", &at_once));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn what_was_not_synced_is_lost_with_the_power_and_a_kill_loses_nothing() {
    let _turn = alone();
    holds("power-loss");
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_lost_disk_is_forgotten_and_a_crash_with_its_disk_is_not() {
    let _turn = alone();
    holds("restart-amnesia");
    let with_disks = [
        "fault.3.do=kill",
        "expect.redlock.double_holds=== 0",
        "expect.redlock.lost_updates=== 0",
    ];
    held(builtin("restart-amnesia", &with_disks));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn an_app_server_without_replies_takes_no_lock_and_keeps_nobody_out() {
    let _turn = alone();
    holds("one-way-partition");
    let one_host = ["fault.1.on=route:1-3", "fault.2.on=route:1-3"];
    let record = play(builtin("one-way-partition", &one_host));
    for name in ["single", "redlock"] {
        let figures = &arm(&record, name).figures;
        assert_eq!((figures.outcomes.no_quorum, figures.double_holds), (0, 0), "{name}");
    }
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn keys_that_are_deleted_or_evicted_are_lost_votes() {
    let _turn = alone();
    for scenario in ["operator-flush", "eviction"] {
        holds(scenario);
    }
    let one_key = [
        "fault.1.every=1000000",
        "fault.2.every=1000000",
        "expect.single.double_holds=<= 2",
        "expect.redlock.double_holds=<= 1",
        "expect.redlock.covered=>= 0",
    ];
    held(builtin("operator-flush", &one_key));
    let full = [
        "fault.1.do=full",
        "fault.1.for=2s",
        "fault.2.do=full",
        "fault.2.for=2s",
        "expect.single.double_holds=== 0",
        "expect.redlock.double_holds=== 0",
        "expect.redlock.covered=== 0",
    ];
    held(builtin("eviction", &full));
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_cluster_counts_as_one_node_and_its_masters_are_no_quorum() {
    let _turn = alone();
    let record = holds("cluster-counts-as-one");
    assert_eq!(arm(&record, "redlock on masters").figures.booked(Entry::Orders), 0);
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_master_that_is_cut_off_goes_on_granting() {
    let _turn = alone();
    let granted = granted_in_the_cut(&holds("isolated-master"));
    assert!(granted > 10, "{granted} locks by a master that is no longer one");
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_master_that_is_cut_off_and_needs_replicas_grants_nothing() {
    let _turn = alone();
    let cured = [
        "lab.replicated.min_replicas_to_write=1",
        "lab.replicated.min_replicas_max_lag=1s",
        // It counts its replicas once a second, by whole seconds: for up to three it grants what no replica gets.
        "expect.sentinel.lost_updates=< 10",
        "expect.sentinel.double_holds=< 10",
    ];
    assert_eq!(granted_in_the_cut(&held(builtin("isolated-master", &cured))), 0);
}

/// How many locks the master granted to those who stayed with it, from the sixth second of the cut on.
fn granted_in_the_cut(record: &Record) -> u64 {
    let event = |said: &str| {
        let found = record.events.iter().find(|event| event.text().contains(said));
        found
            .unwrap_or_else(|| panic!("not said: {said}:\n{}", told(record)))
            .at
    };
    let time = (
        event("the link of hosts 1 and 2 cut (") + 6.0,
        event("the link of hosts 1 and 2 uncut ("),
    );
    sum(record, "stays on host 1", time, |point| point.outcomes.acquired)
}

/// One lock that is nearly always held, so that whoever asks for it hears that somebody has it.
const ONE_PRODUCT: &str = r#"
title    = "One lock, held for three seconds at a time"
duration = "9s"
seed     = 42
swarm = { servers = 3, workers = 4 }
workload = { kind = "inventory", products = 1, stock = 1000, hold = "3s" }
[[arm]]
name = "single"
lock = "single"
ttl  = "6s"
[[arm]]
name = "redlock"
lock = "redlock"
ttl  = "6s"
[expect]
"redlock.unavailable_ms" = "< 1000"
"#;

/// Its record if this fault strikes, and these expectations of it hold.
fn one_product(rest: &str) -> Record {
    held(scenario(&format!("{ONE_PRODUCT}{rest}"), &[]))
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_lock_that_somebody_holds_is_to_be_had_and_one_whose_node_is_away_is_not() {
    let _turn = alone();
    let record = one_product(
        "\"single.unavailable_ms\" = \"< 1000\"\n[[fault]]\nat = \"1500ms\"\ndo = \"kill\"\non = \"server:3\"\n",
    );
    for arm in &record.arms {
        assert_eq!(arm.figures.outages.len(), 1, "{}: {:?}", arm.name, arm.figures.outages);
    }
    let record = one_product(
        "\"single.unavailable_ms\" = \">= 2000\"\n[[fault]]\nat = \"1500ms\"\ndo = \"kill\"\non = \"host:1\"\nfor = \"2s\"\n",
    );
    let outage = arm(&record, "single").figures.longest_outage();
    assert!(outage.over, "{outage:?}");
}

/// With one product one app server hears that the lock is held while the other one waits in vain for a replica.
const TWO_LINKS: &str = r#"
title = "The master is cut from both replicas"
duration = "5s"
seed = 42
lab = { replicated = { down_after = "60s" } }
swarm = { servers = 2, workers = 2 }
workload = { kind = "inventory", products = 1, stock = 100000, hold = "1ms" }
arm = [
    { name = "wait 1", lock = "single", topology = "replicated", wait_replicas = 1, wait_timeout = "100ms", ttl = "2s" },
]
fault = [
    { at = "1s", do = "cut", on = "link:1-2,1-3", for = "1s" },
]
"#;

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_cut_of_two_links_is_one_outage_and_lasts_from_its_effect_which_is_before_its_proof() {
    let _turn = alone();
    let record = play(scenario(TWO_LINKS, &[]));
    let figures = &arm(&record, "wait 1").figures;
    let [outage] = figures.outages[..] else {
        panic!("one cut: {:?}\n{}", figures.outages, told(&record));
    };
    assert!(
        outage.over && outage.lasted_us >= 1_000_000,
        "{outage:?}\n{}",
        told(&record)
    );
    // For each order: when it was given, its effect, and the last proof of that.
    let orders = |wanted: &str| -> Vec<[f64; 3]> {
        let of = |event: &Event| match &event.kind {
            EventKind::Fault {
                action,
                effect_at: Some(effect),
                proof,
                ..
            } if action.word() == wanted => {
                let proved = proof.iter().map(|proof| proof.at).fold(0.0, f64::max);
                Some([event.at, *effect, proved])
            }
            _ => None,
        };
        record.events.iter().filter_map(of).collect()
    };
    let (cuts, uncuts) = (orders("cut"), orders("uncut"));
    assert_eq!((cuts.len(), uncuts.len()), (2, 2), "{}", told(&record));
    let last = |time: usize| cuts.iter().map(|cut| cut[time]).fold(0.0, f64::max);
    for [ordered, effect, proved] in &cuts {
        assert!(ordered <= effect && effect + 0.3 <= *proved, "{cuts:?}");
    }
    for [ordered, ..] in &uncuts {
        assert!(
            (1.0..1.0 + last(2) - last(1)).contains(&(ordered - last(1))),
            "{cuts:?} {uncuts:?}"
        );
    }
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_job_slower_than_its_ttl_needs_renewal() {
    let _turn = alone();
    holds("slow-job");
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_ttl_that_is_too_short_breaks_every_lock() {
    let _turn = alone();
    holds("ttl-race");
}

#[test]
fn a_client_that_stops_longer_than_its_ttl_breaks_every_lock() {
    let _turn = alone();
    // Fewer sales are lost in the shorter time, and still fewer on a slow machine.
    let set = [
        "workload.stock=16",
        "duration=14s",
        "expect.single.oversold=>= 4",
        "expect.redlock.oversold=>= 4",
    ];
    let record = held(builtin("paused-client", &set));
    let pauses: Vec<u64> = pauses(&record).collect();
    for arm in &record.arms {
        let all = &arm.figures.consequences;
        if arm.name == "atomic" {
            assert_eq!(all[..], [], "it has no lock");
            continue;
        }
        // All may be sold when the second pause begins.
        assert_eq!(all[0].event, Some(pauses[0]), "{}: {all:?}", arm.name);
        for one in all {
            assert!(pauses.contains(&one.event.unwrap()), "{one:?}");
            // What a paused holder keeps may be refused to others.
            let is_expected = matches!(
                one.kind,
                ConsequenceKind::PausedPastTtl { locks: 1.. } | ConsequenceKind::Refused { .. }
            );
            assert!(is_expected, "{one:?}");
        }
    }
}

/// The numbers of the events that paused something.
fn pauses(record: &Record) -> impl Iterator<Item = u64> {
    let is_pause =
        |event: &&Event| matches!(event.kind, EventKind::Fault { action, .. } if action == Fault::Pause.into());
    record.events.iter().filter(is_pause).map(|event| event.id)
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn paused_client_as_it_is() {
    let _turn = alone();
    holds("paused-client");
}

#[test]
#[ignore = "slow: .ci/long scenarios"]
fn a_fence_at_read_and_write_makes_lost_locks_harmless() {
    let _turn = alone();
    let record = holds("fencing");
    for arm in &record.arms {
        assert!(
            arm.figures.counts[Count::LocksLost] >= 20,
            "{}: {:?}",
            arm.name,
            arm.figures
        );
    }
    assert_eq!(
        arm(&record, "no fence").figures.counts[Count::Fenced],
        0,
        "nobody is asked for a token"
    );
}
