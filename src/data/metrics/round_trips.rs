use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::histogram::{histogram, in_micros};
use super::timeline::{Timeline, When};

/// How long one app server's lock nodes took to answer, in microseconds: from the writing of each command to its reply, if
/// the reply came in the measured part. All arms share the connections, so the arms are not kept apart.
///
/// Only the app server's own thread counts here, and the run reads it once, at the end, so the mutex is never contended.
#[derive(Debug)]
pub struct RoundTrips {
    timeline: Arc<Timeline>,
    nodes: Mutex<Vec<Histogram<u64>>>,
}

impl RoundTrips {
    /// New, with nothing counted, for `nodes` nodes.
    pub fn new(nodes: usize, timeline: Arc<Timeline>) -> Self {
        Self {
            timeline,
            nodes: Mutex::new(vec![histogram(); nodes]),
        }
    }

    /// Counts that the node at this position, from 0, answered a command after `took`.
    pub fn count(&self, node: usize, took: Duration) {
        let When::Tenth(0..) = self.timeline.when(Instant::now()) else {
            return;
        };
        if let Some(histogram) = self.nodes().get_mut(node) {
            // The histogram resizes itself, so no value is out of range.
            let _ = histogram.record(in_micros(took));
        }
    }

    /// Adds the times of this node to `sum`.
    pub fn add_to(&self, node: usize, sum: &mut Histogram<u64>) {
        if let Some(histogram) = self.nodes().get(node) {
            let _ = sum.add(histogram);
        }
    }

    fn nodes(&self) -> MutexGuard<'_, Vec<Histogram<u64>>> {
        // After a panic while counting, the counts are still valid counts.
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_measured_part_counts_and_each_node_by_itself() {
        let timeline = Arc::new(Timeline::new());
        let trips = RoundTrips::new(2, Arc::clone(&timeline));
        let counted = |node| {
            let mut sum = histogram();
            trips.add_to(node, &mut sum);
            (sum.len(), sum.max())
        };
        let took = Duration::from_micros(150);
        trips.count(0, took);
        assert_eq!(counted(0), (0, 0), "the warm-up");
        timeline.begin(Instant::now());
        trips.count(0, took);
        assert_eq!([counted(0), counted(1)], [(1, 150), (0, 0)]);
        timeline.end(Instant::now());
        trips.count(0, took);
        assert_eq!(counted(0).0, 1, "after the end of the load");
    }
}
