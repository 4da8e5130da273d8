//! Many virtual worlds on all processors.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What one world gave.
pub(super) struct FromWorld<T> {
    pub what: T,
    /// It took so much work that no further world is played.
    pub is_last: bool,
}

/// Plays worlds with the numbers from 0 to `worlds` − 1 on all processors, until `stop` is set or one of them is the last. Returns
/// what each gave, in the order of their numbers: so the result does not depend on the number of threads. A world that gives
/// nothing is left out.
pub(super) fn in_parallel<T: Send>(
    worlds: u64,
    stop: &AtomicBool,
    play: impl Fn(u64) -> Option<FromWorld<T>> + Sync,
) -> Vec<FromWorld<T>> {
    let (next, last, played) = (AtomicU64::new(0), AtomicU64::new(worlds), Mutex::new(Vec::new()));
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let world = next.fetch_add(1, Ordering::Relaxed);
            if world >= last.load(Ordering::Relaxed) {
                break;
            }
            if let Some(given) = play(world) {
                if given.is_last {
                    last.fetch_min(world, Ordering::Relaxed);
                }
                // After a panic in another thread, what it pushed is still whole.
                played
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((world, given));
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let last = last.into_inner();
    let mut played = played.into_inner().unwrap_or_else(PoisonError::into_inner);
    played.retain(|(world, _)| *world <= last);
    played.sort_unstable_by_key(|(world, _)| *world);
    played.into_iter().map(|(_, given)| given).collect()
}

/// The seed of one of several worlds. Two of them must not only differ: the generator of a world adds the same number at each
/// draw, so seeds that differ by a multiple of it would give the same numbers, one draw later. Each step of this mixing (that of
/// `MurmurHash3`, by Appleby) can be undone, so that different inputs stay different.
pub(super) const fn seed_of(seed: u64, world: u64) -> u64 {
    mixed(mixed(seed ^ 0x6a09_e667_f3bc_c908).wrapping_add(world))
}

const fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let value = (value ^ (value >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_far_from_each_other_in_the_generators_own_steps() {
        /// What the worlds' generator adds at each draw.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let all: Vec<u64> = (0..40)
            .flat_map(|seed| (0..40).map(move |world| seed_of(seed, world)))
            .collect();
        for (place, one) in all.iter().enumerate() {
            for other in &all[..place] {
                let apart = one.wrapping_sub(*other);
                assert!(
                    (0..64_u64)
                        .all(|steps| apart != steps.wrapping_mul(STEP)
                            && apart.wrapping_neg() != steps.wrapping_mul(STEP))
                );
            }
        }
    }

    /// The worlds, but each third, of which those from this number on are too much work.
    fn played(last: u64, stop: bool) -> Vec<u64> {
        let given = |world| FromWorld {
            what: world,
            is_last: world >= last,
        };
        let all = in_parallel(1000, &AtomicBool::new(stop), |world| {
            (world % 3 != 0).then(|| given(world))
        });
        all.into_iter().map(|given| given.what).collect()
    }

    #[test]
    fn every_world_is_played_once_and_comes_in_order_up_to_the_last_one() {
        let until = |end: u64| (0..end).filter(|world| world % 3 != 0).collect::<Vec<_>>();
        assert_eq!(played(1000, false), until(1000));
        assert_eq!(played(500, false), until(501));
        assert!(played(1000, true).is_empty());
    }
}
