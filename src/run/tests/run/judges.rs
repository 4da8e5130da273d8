//! Three judges of the same holds: ours, all pairs, and a checker of linearizability. The histories are random.

use std::collections::HashSet;
use std::fmt::Write as _;

use lockstorm_data::history::Reader;
use lockstorm_kit::witness;
use lockstorm_run::oracle::past::{ArmHolds, judge};
use proptest::prelude::*;

/// A hold on one of two keys.
#[derive(Debug, Clone, Copy)]
struct Interval {
    key: usize,
    warm_up: bool,
    asked: i64,
    from: i64,
    /// The end of its belief; may be `from`.
    until: i64,
    left: i64,
    /// When the reply to its release came, or when the key was gone.
    back: i64,
}

fn interval() -> impl Strategy<Value = Interval> {
    let lengths = (0_i64..20, 0_i64..8, 0_i64..8, 0_i64..30);
    (0_usize..2, proptest::bool::weighted(0.1), 0_i64..60, lengths).prop_map(
        |(key, warm_up, asked, (took, relied, overran, gone))| Interval {
            key,
            warm_up,
            asked,
            from: asked + took,
            until: asked + took + relied,
            left: asked + took + relied + overran,
            back: asked + took + relied + overran + gone,
        },
    )
}

/// The history of these holds: lines in the order in which they were known.
fn history(holds: &[Interval]) -> String {
    let mut lines = Vec::new();
    for (worker, hold) in holds.iter().enumerate() {
        let Interval {
            key,
            asked,
            from,
            until,
            left,
            back,
            ..
        } = hold;
        let who = format!(r#""client":"s1w{worker}","arm":"lock","key":"k{key}""#);
        let warm_up = if hold.warm_up { r#","warm_up":true"# } else { "" };
        let acquire = format!(r#"{{"op":"acquire",{who},"call":{asked},"return":{from},"result":"ok"{warm_up}}}"#);
        let release = format!(r#"{{"op":"release",{who},"call":{until},"return":{back},"result":"ok","left":{left}}}"#);
        lines.extend([((*from, 0), acquire), ((*back, 1), release)]);
    }
    lines.sort_by_key(|(known, _)| *known);
    let mut text = r#"{"history":1,"lockstorm":"","clock":"","arms":["lock"]}"#.to_owned() + "\n";
    for (_, line) in lines {
        writeln!(text, "{line}").unwrap();
    }
    text
}

/// Every hold beside each that began before it.
fn all_pairs(holds: &[Interval]) -> ArmHolds {
    let mut sorted: Vec<&Interval> = holds.iter().collect();
    sorted.sort_by_key(|hold| hold.from);
    let count = |is_double: &dyn Fn(&Interval, &Interval) -> bool| {
        let second = |(index, second): &(usize, &&Interval)| {
            let before = sorted[..*index].iter().filter(|first| first.key == second.key);
            !second.warm_up && before.clone().any(|first| is_double(first, second))
        };
        sorted.iter().enumerate().filter(second).count() as u64
    };
    ArmHolds {
        holds: holds.len() as u64,
        cut_off: 0,
        beliefs: holds.iter().filter(|hold| hold.until > hold.from).count() as u64,
        double_holds: count(&|first, second| first.until > second.from && second.until > second.from),
        double_uses: Some(count(&|first, second| {
            first.left > second.from && second.left > second.from
        })),
        // Each has a client of its own.
        shared_keys: (0..2)
            .filter(|key| holds.iter().filter(|hold| hold.key == *key).count() > 1)
            .count() as u64,
        span: holds
            .iter()
            .map(|hold| [hold.asked, hold.back])
            .reduce(|[one, other], [from, until]| [one.min(from), other.max(until)]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn three_judges_agree(mut holds in proptest::collection::vec(interval(), 0..14)) {
        // Of two that begin in the same instant, either may be the first one.
        let mut begun = HashSet::new();
        holds.retain(|hold| begun.insert((hold.key, hold.from)));
        let text = history(&holds);
        let ours = judge(Reader::open(text.as_bytes()).unwrap()).unwrap()["lock"];
        prop_assert_eq!(ours, all_pairs(&holds));
        // That one knows no warm-up, and no number.
        let mut all = holds;
        for hold in &mut all {
            hold.warm_up = false;
        }
        let broken = witness::keys(&text).into_values().any(|(_, broken)| !broken.is_empty());
        prop_assert_eq!(broken, all_pairs(&all).double_holds > 0, "{}", text);
    }
}

/// A hold that was asked for then.
const fn hold(asked: i64) -> Interval {
    Interval {
        key: 0,
        warm_up: false,
        asked,
        from: asked + 1,
        until: asked + 9,
        left: asked + 9,
        back: asked + 30,
    }
}

#[test]
fn a_hold_that_was_cut_off_is_counted_and_not_judged() {
    let text = history(&[hold(0), hold(5), hold(50)]);
    let judged = |lines: usize| {
        let cut: String = text.split_inclusive('\n').take(lines).collect();
        let found = judge(Reader::open(cut.as_bytes()).unwrap()).unwrap()["lock"];
        [
            found.holds,
            found.cut_off,
            found.double_holds,
            found.double_uses.unwrap(),
        ]
    };
    // Two have begun; the first one has ended; both have; the third has begun; it has ended.
    let found: Vec<[u64; 4]> = (3..=7).map(judged).collect();
    assert_eq!(
        found,
        [[0, 2, 0, 0], [1, 1, 0, 0], [2, 0, 1, 1], [2, 1, 1, 1], [3, 0, 1, 1]]
    );
}

#[test]
fn lines_in_another_order_are_not_judged() {
    let text = history(&[hold(0), hold(5)]);
    let lines: Vec<&str> = text.lines().collect();
    let sorted = [lines[0], lines[1], lines[3], lines[2], lines[4]].join("\n");
    let error = judge(Reader::open(sorted.as_bytes()).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("line 4: its `return` is before"), "{error}");
}
