use lockstorm_data::metrics::{Count, Entry, Figures, Metric};
use lockstorm_data::model::CheckResult::{Failed, Held, Inconclusive};

use crate::Mark;

/// The mark of a figure of an arm that is neither in doubt nor stuck.
fn of(metric: Metric, change: impl FnOnce(&mut Figures)) -> Mark {
    let mut figures = Figures {
        ledger: [(Entry::Orders, 100)].into(),
        contested: 1,
        ..Figures::default()
    };
    change(&mut figures);
    Mark::of(metric, &figures, false, false)
}

/// As if all requests of a cache had been answered by one call for each expiry, or by so many.
fn calls(mean: f64) -> impl FnOnce(&mut Figures) {
    move |figures| (figures.db_hits_per_expiry.mean, figures.db_hits_per_expiry.expiries) = (mean, 9)
}

#[test]
fn damage_is_damage_and_its_absence_is_good_only_where_it_could_show() {
    let (lost, sold) = (Metric::LostUpdates, Metric::Oversold);
    let open = |metric| Mark::new(metric, Some(Inconclusive));
    let good = |metric| Mark::new(metric, Some(Held));
    assert_eq!(of(lost, |_| ()), good(lost));
    let some = of(lost, |figures| figures.ledger[Entry::LostUpdates] = Some(1));
    assert_eq!(some, Mark::new(lost, Some(Failed)));
    assert!(some.is_damage() && !some.is_poor() && !some.is_notice() && !some.is_open());
    let made_up = of(lost, |figures| figures.ledger[Entry::LostUpdatesPeak] = Some(1));
    assert!(made_up.is_damage(), "it was there once");
    assert_eq!(of(lost, |figures| figures.contested = 0), open(lost));
    assert_eq!(of(sold, |_| ()), open(sold), "units are left");
    assert!(of(sold, |_| ()).is_open() && !of(sold, |_| ()).is_damage());
    assert_eq!(of(sold, |figures| figures.sold_out_all = true), good(sold));
}

#[test]
fn a_figure_that_is_not_known_is_open_and_one_above_its_limit_poor() {
    let metric = Metric::DbHitsPerExpiry;
    assert!(of(metric, |_| ()).is_open());
    assert_eq!(of(metric, calls(1.05)).result(), Some(Held));
    let poor = of(metric, calls(1.06));
    assert_eq!(poor.result(), Some(Failed));
    assert!(poor.is_poor() && !poor.is_damage() && !poor.is_notice() && !poor.is_open());
}

#[test]
fn what_is_worth_a_look_is_a_notice_and_what_has_no_meaning_has_no_result() {
    assert_eq!(of(Metric::Errors, |_| ()).result(), Some(Held));
    let notice = of(Metric::Errors, |figures| figures.counts[Count::Errors] = 1);
    assert!(notice.is_notice() && !notice.is_damage() && !notice.is_poor() && !notice.is_open());
    assert_eq!(of(Metric::Orders, |_| ()).result(), None);
    assert!(!Mark::new(Metric::Errors, Some(Held)).is_notice());
    assert!(!Mark::new(Metric::DbHitsPerExpiry, Some(Inconclusive)).is_poor());
}

#[test]
fn a_mark_of_damage_is_one_whatever_its_result() {
    let of_damage = |metric| Mark::new(metric, None).is_of_damage();
    assert!(of_damage(Metric::Oversold) && of_damage(Metric::DoubleHolds));
    assert!(!of_damage(Metric::DbHitsPerExpiry) && !of_damage(Metric::Throughput));
}

#[test]
fn nothing_good_is_said_of_what_is_in_doubt_counted_in_part_or_stuck() {
    let mut figures = Figures {
        ledger: [(Entry::Orders, 100), (Entry::LostUpdatesPeak, 1)].into(),
        contested: 1,
        sold_out_all: true,
        ..Figures::default()
    };
    let result = |metric, figures: &Figures, is_doubted, is_stuck| {
        Mark::of(metric, figures, is_doubted, is_stuck)
            .result()
            .expect("it has one")
    };
    assert_eq!(result(Metric::Oversold, &figures, true, false), Inconclusive);
    assert_eq!(result(Metric::LostUpdates, &figures, true, false), Failed, "it stands");
    calls(1.0)(&mut figures);
    let calls = Metric::DbHitsPerExpiry;
    assert_eq!(
        result(calls, &figures, false, true),
        Inconclusive,
        "it does nothing now"
    );
    assert_eq!(result(calls, &figures, false, false), Held);
    assert_eq!(result(Metric::Oversold, &figures, false, true), Held);
    figures.incomplete = true;
    assert_eq!(result(Metric::Oversold, &figures, false, false), Inconclusive);
}
