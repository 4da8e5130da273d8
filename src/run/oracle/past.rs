//! Histories of runs that are over, judged anew.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::rc::Rc;
use std::time::Duration;

use super::holds::{Hold, HoldChange, Holds, hash_of};
use lockstorm_data::history::{
    Acquire, Answer, HELD, Head, HistoryError, Holder, Line, Operation, Reader, Section, Sections, YEAR,
};

/// What the holds of an arm prove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArmHolds {
    /// Holds that ended.
    pub holds: u64,
    /// Holds that were cut off with the run. Nobody knows how long they lasted, so they are not judged.
    pub cut_off: u64,
    /// Those whose holder had reason to rely on the lock: without any there is nothing to judge.
    pub beliefs: u64,
    /// Two holders of one lock who both had reason to rely on it.
    pub double_holds: u64,
    /// Two holders who were inside at once; `None` if a program has not reported who was inside.
    pub double_uses: Option<u64>,
    /// Locks that were held by two clients: only of these an overlap can show.
    pub shared_keys: u64,
    /// The first time and the last one.
    pub span: Option<[i64; 2]>,
}

impl ArmHolds {
    /// Why all these arms of a history show nothing, if that is so.
    pub fn doubt<'a>(head: &'a Head, arms: &BTreeMap<String, Self>) -> Option<&'a str> {
        let of = |count: fn(&Self) -> u64| arms.values().map(count).sum::<u64>();
        let spans = || arms.values().filter_map(|arm| arm.span);
        let [from, until] = [
            spans().map(|[from, _]| from).min(),
            spans().map(|[_, until]| until).max(),
        ];
        if of(|arm| arm.holds + arm.cut_off) == 0 {
            Some("no lock was acquired")
        } else if from
            .zip(until)
            .is_some_and(|(from, until)| Duration::from_nanos(from.abs_diff(until)) >= YEAR)
        {
            Some("the first time and the last one are more than a year apart, so they are not those of one clock")
        } else if of(|arm| arm.beliefs) == 0 {
            Some("no client had reason to rely on a lock for any time")
        } else if arms.values().all(|arm| arm.beliefs == 0 || arm.shared_keys == 0) {
            Some("no lock was held by two clients, so no overlap could show")
        } else {
            head.doubt.as_deref()
        }
    }

    /// Whether two clients held one lock at once, or were inside at once. Those of an arm without a lock may be.
    pub fn is_broken(&self, head: &Head) -> bool {
        let has_lock = head.is_reported() || self.beliefs > 0;
        self.double_holds > 0 || has_lock && self.double_uses > Some(0)
    }
}

/// Two holders of one lock who both had reason to rely on it. Times are those of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastDouble {
    /// The lock.
    pub key: String,
    /// The one that held it before.
    pub first: Holder,
    /// From when to when it had reason to rely on it.
    pub first_relied: [i64; 2],
    /// The one that came in.
    pub second: Holder,
    /// From when to when it had reason to rely on it, too.
    pub second_relied: [i64; 2],
}

impl PastDouble {
    /// From when to when both had reason to rely on it.
    pub fn overlap(&self) -> [i64; 2] {
        let ([_, one], [at, other]) = (self.first_relied, self.second_relied);
        [at, one.min(other).max(at)]
    }
}

/// What is found in a history.
#[derive(Debug)]
pub enum Told {
    /// Two had reason to rely on one lock.
    DoubleHold(PastDouble),
    /// Two were inside at once, since then.
    DoubleUse(i64),
}

/// A hold of which everything is known.
#[derive(Debug, Clone)]
struct PastHold {
    id: u64,
    client: Holder,
    key: Rc<str>,
    counts: bool,
    /// The end of its belief, which may be its beginning.
    until: i64,
}

impl Hold for PastHold {
    type Id = u64;

    fn id(&self) -> u64 {
        self.id
    }

    fn key_hash(&self) -> u64 {
        hash_of(&self.key)
    }

    fn key(&self) -> &str {
        &self.key
    }

    fn counts(&self) -> bool {
        self.counts
    }

    fn relied_until(&self) -> Option<i64> {
        Some(self.until)
    }

    /// A history does not say so.
    fn is_stalled(&self) -> bool {
        false
    }
}

/// An arm so far.
#[derive(Default)]
struct Arm {
    /// When the newest of its lines was known.
    known: Option<i64>,
    judge: Holds<PastHold>,
    /// By key: how many hold it now, and what is not judged yet. A hold can be judged once all that began before it have ended.
    keys: HashMap<String, (usize, Vec<HoldChange<PastHold>>)>,
    /// By key: the first client that held it; `None` once there was another one.
    holders: HashMap<String, Option<Holder>>,
    found: ArmHolds,
}

impl Arm {
    fn begins(&mut self, acquire: &Acquire) {
        self.keys.entry(acquire.key.clone()).or_default().0 += 1;
    }

    fn ends(&mut self, section: &Section, tell: &mut impl FnMut(Told)) {
        let (acquire, key) = (&section.acquire, section.acquire.key.as_str());
        let Some((open, changes)) = self.keys.get_mut(key) else {
            return;
        };
        self.found.holds += 1;
        self.found.beliefs += u64::from(section.belief().is_some());
        // A validity that was over when the reply came makes no holder.
        if section.belief().is_some() || acquire.until.is_none_or(|until| until > acquire.returned) {
            let first = self.holders.entry(key.to_owned()).or_insert(Some(acquire.client));
            if first.take_if(|first| *first != acquire.client).is_some() {
                self.found.shared_keys += 1;
            }
        }
        let [from, until] = section.belief().unwrap_or([acquire.returned; 2]);
        let hold = PastHold {
            id: self.found.holds,
            client: acquire.client,
            key: key.into(),
            counts: !acquire.warm_up,
            until,
        };
        let left = section.release.left;
        changes.extend([(from, false), (left, true)].map(|(at, ends)| HoldChange {
            at,
            hold: hold.clone(),
            ends,
        }));
        *open -= 1;
        if *open == 0
            && let Some((_, changes)) = self.keys.remove(key)
        {
            self.judge(changes, tell);
        }
    }

    fn judge(&mut self, changes: Vec<HoldChange<PastHold>>, tell: &mut impl FnMut(Told)) {
        self.judge.tell(changes);
        let found = self.judge.judge(i64::MAX);
        self.found.double_holds += found.double_holds.len() as u64;
        *self.found.double_uses.get_or_insert(0) += found.double_uses.len() as u64;
        for double in found.over {
            let until = |hold: &PastHold, left: Option<i64>| left.map_or(hold.until, |left| left.min(hold.until));
            tell(Told::DoubleHold(PastDouble {
                key: double.second.key.to_string(),
                first: double.first.client,
                first_relied: [double.first_from, until(&double.first, double.first_until)],
                second: double.second.client,
                second_relied: [double.second_from, until(&double.second, double.second_until)],
            }));
        }
        found.double_uses.into_iter().for_each(|at| tell(Told::DoubleUse(at)));
    }

    /// Judges what is left: nothing ends any more.
    fn close(mut self, tell: &mut impl FnMut(Told)) -> ArmHolds {
        for (_, (_, changes)) in std::mem::take(&mut self.keys) {
            self.judge(changes, tell);
        }
        self.found
    }
}

/// Judges the holds of each arm as the run did. What it remembers are the holds that have not ended, and those of the same keys.
///
/// # Errors
/// Those of the reader, and an operation that its client can't have done.
pub fn judge(reader: Reader<impl BufRead>) -> Result<BTreeMap<String, ArmHolds>, HistoryError> {
    judge_telling(reader, |_, _| ())
}

/// Judges the holds of each arm, as [`judge`] does, and tells what it finds in which arm once both have left.
///
/// # Errors
/// As [`judge`].
pub fn judge_telling(
    mut reader: Reader<impl BufRead>,
    mut tell: impl FnMut(&str, Told),
) -> Result<BTreeMap<String, ArmHolds>, HistoryError> {
    let arms = reader.head.arms.iter().map(|arm| (arm.clone(), Arm::default()));
    let (mut arms, mut sections): (BTreeMap<String, Arm>, _) = (arms.collect(), Sections::default());
    while let Some(line) = reader.next() {
        let Line::Operation(operation) = line? else { continue };
        let times = match &operation {
            Operation::Acquire(acquire) => Some((&acquire.arm, [acquire.call, acquire.returned])),
            Operation::Release(release) => Some((&release.arm, [release.call, release.returned])),
            Operation::Sale(_) => None,
        };
        if let Some((arm, [from, until])) = times {
            let span = &mut arms.entry(arm.clone()).or_default().found.span;
            let [first, last] = span.unwrap_or([from, until]);
            *span = Some([first.min(from), last.max(until)]);
        }
        let known = match &operation {
            Operation::Acquire(acquire) => Some((&acquire.arm, acquire.returned)),
            Operation::Release(release) if release.result == Answer::Ok => Some((&release.arm, release.returned)),
            _ => None,
        };
        if let Some((arm, at)) = known {
            let arm = arms.entry(arm.clone()).or_default();
            if arm.known.is_some_and(|before| at < before) {
                return Err(reader.wrong("its `return` is before that of an earlier line of its arm"));
            }
            arm.known = Some(at);
        }
        if let Operation::Acquire(acquire) = &operation
            && acquire.result == Answer::Ok
        {
            arms.entry(acquire.arm.clone()).or_default().begins(acquire);
        }
        if let Some(section) = sections.take(operation).map_err(|why| reader.wrong(&why))? {
            arms.entry(section.acquire.arm.clone())
                .or_default()
                .ends(&section, &mut |told| tell(&section.acquire.arm, told));
        }
    }
    for arm in sections.open() {
        arms.entry(arm.to_owned()).or_default().found.cut_off += 1;
    }
    let is_reported = reader.head.is_reported();
    let close = |(name, arm): (String, Arm)| {
        let mut judgement = arm.close(&mut |told| tell(&name, told));
        let is_known = !is_reported || name != HELD && judgement.holds + judgement.cut_off > 0;
        judgement.double_uses = is_known.then(|| judgement.double_uses.unwrap_or(0));
        (name, judgement)
    };
    Ok(arms.into_iter().map(close).collect())
}
