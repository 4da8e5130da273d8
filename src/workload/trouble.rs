//! Why an acquire was refused for lack of nodes, in words for people.

use crate::lock::Refusal;
use crate::model::Cause;
use crate::scenario::{ArmSpec, LockKind};

/// What lacked: `node 1 down (connection refused), node 2 silent (no reply in time)`; of a lock on a single node that this
/// one is out of reach. None: the refusal had another reason, or no node told one.
pub(super) fn trouble(refusal: &Refusal, arm: &ArmSpec) -> Option<String> {
    let causes = match refusal {
        Refusal::NoQuorum { causes } | Refusal::NotPermitted { causes } | Refusal::Unknown { causes } => causes,
        Refusal::Contended | Refusal::Expired { .. } => return None,
    };
    // Who voted, and who only told that somebody else holds the lock, is not what lacked.
    let lacking = causes.iter().enumerate().filter_map(|(index, cause)| match cause {
        None | Some(Cause::Held) => None,
        Some(cause) => Some((index + 1, cause)),
    });
    let is_single = arm.lock == LockKind::Single;
    let words: Vec<_> = lacking
        .map(|(node, cause)| match is_single {
            true => said(cause),
            false => format!("node {node} {}", said(cause)),
        })
        .collect();
    let words = words.join(", ");
    match (words.is_empty(), is_single) {
        (true, _) => None,
        (false, true) => Some(format!("lock node unreachable: {} {words}", arm.host)),
        (false, false) => Some(words),
    }
}

fn said(cause: &Cause) -> String {
    match cause {
        Cause::Refused => "down (connection refused)".to_owned(),
        Cause::Timeout => "silent (no reply in time)".to_owned(),
        Cause::Suspect => "silent (it owes replies)".to_owned(),
        Cause::Disconnected => "gone (the connection broke)".to_owned(),
        Cause::Busy => "busy (too many commands under way)".to_owned(),
        Cause::Held | Cause::NoPermission(_) | Cause::Tls(_) | Cause::Error(_) => format!("refuses ({cause})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Overrides, Source, builtin, parse};

    #[test]
    fn what_lacks_is_named_and_who_voted_is_not() {
        let source =
            Source::open(builtin::find("single-vs-redlock").expect("it is built in").name).expect("it is there");
        let scenario = parse(&source, &Overrides::default()).expect("it is valid");
        let arm = |name: &str| scenario.arms.iter().find(|arm| arm.name == name).expect("an arm");
        let refusal = Refusal::NoQuorum {
            causes: vec![Some(Cause::Refused), None, Some(Cause::Timeout)],
        };
        assert_eq!(
            trouble(&refusal, arm("redlock")).as_deref(),
            Some("node 1 down (connection refused), node 3 silent (no reply in time)")
        );
        let refusal = Refusal::NoQuorum {
            causes: vec![Some(Cause::Refused)],
        };
        assert_eq!(
            trouble(&refusal, arm("single")).as_deref(),
            Some("lock node unreachable: host 1 down (connection refused)")
        );
        assert_eq!(trouble(&Refusal::Contended, arm("single")), None);
        let silent = Refusal::Unknown {
            causes: vec![None, Some(Cause::Held), Some(Cause::Held)],
        };
        assert_eq!(
            trouble(&silent, arm("redlock")),
            None,
            "nothing is said rather than an empty cause"
        );
    }
}
