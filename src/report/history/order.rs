//! Checkers want processes that do one thing at a time.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::whole::LockUse;
use lockstorm_data::history::Answer;

/// All in the order of the calls, each with the first process that is free then. One that does something of unknown outcome never is
/// again, since it may still take effect.
pub(super) fn processes(uses: &[LockUse]) -> Vec<(usize, LockUse)> {
    let mut sorted = uses.to_vec();
    sorted.sort_by_key(|one| one.call);
    let (mut busy, mut free, mut number) = (BinaryHeap::new(), BTreeSet::new(), 0);
    let process = |one: LockUse| {
        // What returns in the instant of a call may come after it.
        while let Some(&Reverse((until, process))) = busy.peek()
            && until < one.call
        {
            busy.pop();
            free.insert(process);
        }
        let process = free.pop_first().unwrap_or_else(|| {
            number += 1;
            number - 1
        });
        if one.answer != Answer::Unknown {
            busy.push(Reverse((one.returned, process)));
        }
        (process, one)
    };
    sorted.into_iter().map(process).collect()
}
