use serde::Serialize;

use super::spread::Spread;

/// The pauses of an app server: collections of garbage, a machine that is moved or overloaded, a suspended process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pauses {
    /// How many there are in a second of one app server.
    pub per_second: f64,
    /// How long they last.
    pub length: Spread,
    /// Whether the holds were measured with them, so that they must not be added to sections whose lock is not renewed.
    pub in_holds: bool,
}

impl Pauses {
    /// Whether they leave an app server no time: as many begin in a second as fill one, by their mean. Those that were measured
    /// within holds left some.
    pub fn never_end(&self) -> bool {
        !self.in_holds && self.per_second * self.length.mean() >= 1.0
    }
}

/// Times in which so many lock nodes can't be reached that no quorum answers: a cut network, a deployment, a failover.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outages {
    /// How many there are in a second.
    pub per_second: f64,
    /// How long they last.
    pub length: Spread,
}

impl Outages {
    /// Whether they leave no time in which a lock could be had: as many begin in a second as fill one, by their mean.
    pub fn never_end(&self) -> bool {
        self.per_second * self.length.mean() >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_that_fill_all_time_never_end_and_rarer_ones_do() {
        let never_end = |per_second| {
            let length = Spread::Constant(30.0);
            Outages { per_second, length }.never_end()
        };
        assert!(never_end(1.0 / 30.0) && !never_end(1.0 / 31.0));
    }

    #[test]
    fn pauses_that_fill_all_time_never_end_and_rarer_or_shorter_ones_do() {
        let never_end = |per_second, length, in_holds| {
            let length = Spread::Constant(length);
            Pauses {
                per_second,
                length,
                in_holds,
            }
            .never_end()
        };
        assert!(never_end(1e9, 1.0, false) && never_end(2.0, 0.5, false));
        assert!(!never_end(2.0, 0.49, false) && !never_end(0.0, 1e6, false) && !never_end(1e9, 1.0, true));
        // The mean counts, and not the median.
        let length = Spread::LogNormal {
            median: 0.1,
            sigma: 5.0,
        };
        assert!(
            Pauses {
                per_second: 1.0 / 3600.0,
                length,
                in_holds: false
            }
            .never_end()
        );
    }
}
