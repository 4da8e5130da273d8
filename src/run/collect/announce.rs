//! Events about an arm's figures that users should see at once: damage, stock that is sold out, missing quorums, failed
//! requests.

use crate::collect::arm::Arm;
use crate::collect::collector::SecondEnded;
use crate::show::events::EventLog;
use crate::show::lacking::lacking;
use lockstorm_data::metrics::units::count;
use lockstorm_data::model::EventKind;

/// Announces the first lost updates and the first oversold units of an arm.
pub(crate) fn damage(arm: &mut Arm, worst: Option<(usize, u64)>, log: &mut EventLog) {
    let (books, name) = (*arm.collector.books(), &arm.spec.name);
    let event = EventKind::Damage { arm: name.clone() };
    if books.lost_updates > 0 && arm.announced.lost_updates == 0 {
        log.push(
            event.clone(),
            format!(
                "{name}: first lost updates: {} so far ({})",
                count(books.lost_updates),
                match books.lost_by_stalls {
                    0 => "one sale overwrote another",
                    _ => "of sales that this machine held up until their lock had expired",
                }
            ),
        );
        arm.announced.lost_updates = books.lost_updates;
    }
    if books.oversold > 0 && arm.announced.oversold == 0 {
        let product = worst.map_or_else(String::new, |(product, units)| {
            format!(" (product {product}: {})", count(units))
        });
        let text = format!("{name}: oversold by {} so far{product}", count(books.oversold));
        log.push(event, text);
        arm.announced.oversold = books.oversold;
    }
}

/// Announces that this machine held a section up until its lock had expired.
pub(crate) fn stalls(arm: &mut Arm, log: &mut EventLog) {
    if !arm.stalled && arm.collector.stalled() > 0 {
        let text = format!(
            "{}: this machine held a section up until its lock had expired: it is too busy, and damage from now on may be its own",
            arm.spec.name
        );
        log.push(EventKind::Warning, text);
        arm.stalled = true;
    }
}

/// Announces that an arm has nothing left to sell: from now on its requests end as "sold out".
pub(crate) fn sold_out(arm: &mut Arm, log: &mut EventLog) {
    if arm.audit.is_some() && arm.collector.books().sold_out && !arm.announced.sold_out {
        let text = format!("{}: sold out: from now on buyers find nothing left", arm.spec.name);
        log.push(EventKind::Phase, text);
        arm.announced.sold_out = true;
    }
}

/// Announces that an arm's lock is refused because nodes are missing, and later that it is granted again.
pub(crate) fn quorum(arm: &mut Arm, ended: &SecondEnded, log: &mut EventLog) {
    let (name, second) = (&arm.spec.name, ended.outcomes);
    let event = EventKind::Lock { arm: name.clone() };
    let refused = second.no_quorum + second.unknown;
    if refused > 0 && second.acquired == 0 && !arm.blocked {
        log.push(event, all_failing(name, lacking(&arm.spec, &ended.lacking).as_deref()));
        arm.blocked = true;
    } else if second.acquired > 0 && arm.blocked {
        log.push(event, format!("{name}: locks are granted again"));
        arm.blocked = false;
    }
}

/// Says that no acquire was granted for a second, with the cause if it is known.
fn all_failing(name: &str, why: Option<&str>) -> String {
    match why {
        Some(why) => format!("{name}: all acquires failing: {why}"),
        None => format!("{name}: all acquires failing: no lock was granted for a second"),
    }
}

/// Announces that requests of an arm fail, with the error of the first one.
pub(crate) fn failures(arm: &mut Arm, log: &mut EventLog) {
    if let (false, Some(why)) = (arm.failing, arm.collector.first_error()) {
        log.push(EventKind::Warning, format!("{}: requests fail: {why}", arm.spec.name));
        arm.failing = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_has_an_empty_cause() {
        assert_eq!(
            all_failing("redlock", Some("node 1 down")),
            "redlock: all acquires failing: node 1 down"
        );
        let text = all_failing("redlock", None);
        assert_eq!(text, "redlock: all acquires failing: no lock was granted for a second");
    }
}
