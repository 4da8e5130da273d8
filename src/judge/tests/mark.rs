use lockstorm_data::metrics::{Count, Entry, Figures, Metric};

use crate::Mark;

/// The mark of a figure of an arm that is neither in doubt nor stuck.
fn of(metric: Metric, change: impl FnOnce(&mut Figures)) -> Mark {
    let mut figures = Figures {
        ledger: [(Entry::Orders, 100)].into(),
        contested: 1,
        ..Figures::default()
    };
    change(&mut figures);
    Mark::new(metric, &figures, false, false)
}

/// As if all requests of a cache had been answered by one call for each expiry, or by so many.
fn calls(mean: f64) -> impl FnOnce(&mut Figures) {
    move |figures| (figures.db_hits_per_expiry.mean, figures.db_hits_per_expiry.expiries) = (mean, 9)
}

#[test]
fn damage_is_damage_and_its_absence_is_good_only_where_it_could_show() {
    assert_eq!(of(Metric::LostUpdates, |_| ()), Mark::Good);
    let lost = |figures: &mut Figures| figures.ledger[Entry::LostUpdates] = Some(1);
    assert_eq!(of(Metric::LostUpdates, lost), Mark::Damage);
    let made_up = |figures: &mut Figures| figures.ledger[Entry::LostUpdatesPeak] = Some(1);
    assert_eq!(of(Metric::LostUpdates, made_up), Mark::Damage, "it was there once");
    assert_eq!(of(Metric::LostUpdates, |figures| figures.contested = 0), Mark::Pending);
    assert_eq!(of(Metric::Oversold, |_| ()), Mark::Pending, "units are left");
    assert_eq!(of(Metric::Oversold, |figures| figures.sold_out_all = true), Mark::Good);
}

#[test]
fn a_figure_that_is_not_known_is_pending_and_one_above_its_limit_poor() {
    let metric = Metric::DbHitsPerExpiry;
    assert_eq!(of(metric, |_| ()), Mark::Pending);
    assert_eq!(of(metric, calls(1.05)), Mark::Good);
    assert_eq!(of(metric, calls(1.06)), Mark::Poor);
}

#[test]
fn what_is_worth_a_look_is_a_notice_and_what_has_no_meaning_is_plain() {
    assert_eq!(of(Metric::Errors, |_| ()), Mark::Good);
    assert_eq!(
        of(Metric::Errors, |figures| figures.counts[Count::Errors] = 1),
        Mark::Notice
    );
    assert_eq!(of(Metric::Orders, |_| ()), Mark::Plain);
}

#[test]
fn nothing_good_is_said_of_what_is_in_doubt_counted_in_part_or_stuck() {
    let mut figures = Figures {
        ledger: [(Entry::Orders, 100), (Entry::LostUpdatesPeak, 1)].into(),
        contested: 1,
        sold_out_all: true,
        ..Figures::default()
    };
    assert_eq!(Mark::new(Metric::Oversold, &figures, true, false), Mark::Pending);
    assert_eq!(
        Mark::new(Metric::LostUpdates, &figures, true, false),
        Mark::Damage,
        "it stands"
    );
    calls(1.0)(&mut figures);
    assert_eq!(
        Mark::new(Metric::DbHitsPerExpiry, &figures, false, true),
        Mark::Notice,
        "it does nothing now"
    );
    assert_eq!(Mark::new(Metric::Oversold, &figures, false, true), Mark::Good);
    figures.incomplete = true;
    assert_eq!(Mark::new(Metric::Oversold, &figures, false, false), Mark::Pending);
}

#[test]
fn each_mark_has_a_symbol_of_one_character() {
    let all = [
        (Mark::Plain, " "),
        (Mark::Good, "✔"),
        (Mark::Pending, "…"),
        (Mark::Poor, "✖"),
        (Mark::Notice, "!"),
        (Mark::Damage, "✖"),
        (Mark::Missing, " "),
    ];
    assert!(all.iter().all(|(mark, symbol)| mark.symbol() == *symbol));
}
