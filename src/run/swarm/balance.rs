//! Chooses the app server of each request, as a load balancer does. Pure.

use super::worker::mix;
use lockstorm_data::scenario::Balance as Kind;

/// A load balancer in front of the app servers. A paused app server stays in rotation: the balancer can't tell it from a
/// slow one.
#[derive(Debug)]
pub(super) struct Balance {
    kind: Kind,
    seed: u64,
    /// For each app server, whether it is in rotation.
    alive: Vec<bool>,
    /// The next app server in turn.
    cursor: usize,
}

impl Balance {
    pub fn new(kind: Kind, servers: usize, seed: u64) -> Self {
        Self {
            kind,
            seed,
            alive: vec![true; servers],
            cursor: 0,
        }
    }

    /// Takes an app server out of rotation.
    pub fn remove(&mut self, server: usize) {
        if let Some(alive) = self.alive.get_mut(server) {
            *alive = false;
        }
    }

    /// All app servers in rotation.
    pub fn all(&self) -> impl Iterator<Item = usize> {
        (0..self.alive.len()).filter(|&server| self.alive[server])
    }

    /// The app server for request `number`; `None` if there is none left. `busy` returns how many requests an app server
    /// has.
    pub fn pick(&mut self, number: u64, busy: impl Fn(usize) -> u64) -> Option<usize> {
        let servers = self.alive.len();
        let mut in_turn = (0..servers)
            .map(|step| (self.cursor + step) % servers)
            .filter(|&server| self.alive[server]);
        let picked = match self.kind {
            Kind::RoundRobin => in_turn.next(),
            Kind::Random => {
                let alive: Vec<usize> = (0..servers).filter(|&server| self.alive[server]).collect();
                let count = alive.len() as u64;
                let place = (count > 0).then(|| mix(self.seed, number) % count)?;
                alive.get(usize::try_from(place).ok()?).copied()
            }
            // Among equals the next in turn, so that an idle system is not served by its first app server alone.
            Kind::LeastBusy => in_turn.min_by_key(|&server| busy(server)),
        }?;
        self.cursor = (picked + 1) % servers;
        Some(picked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(balance: &mut Balance, n: u64, busy: [u64; 3]) -> Vec<usize> {
        (0..n)
            .filter_map(|number| balance.pick(number, |server| busy[server]))
            .collect()
    }

    #[test]
    fn in_turn_without_the_dead() {
        let mut balance = Balance::new(Kind::RoundRobin, 3, 1);
        assert_eq!(picks(&mut balance, 4, [0; 3]), [0, 1, 2, 0]);
        balance.remove(1);
        assert_eq!(picks(&mut balance, 4, [0; 3]), [2, 0, 2, 0]);
        balance.remove(0);
        balance.remove(2);
        assert!(picks(&mut balance, 4, [0; 3]).is_empty(), "nobody is left");
    }

    #[test]
    fn at_random_from_the_seed() {
        let draw = |seed| picks(&mut Balance::new(Kind::Random, 3, seed), 3000, [0; 3]);
        let drawn = draw(7);
        assert_eq!(drawn, draw(7));
        assert_ne!(drawn, draw(8));
        for server in 0..3 {
            let share = drawn.iter().filter(|picked| **picked == server).count();
            assert!((900..1100).contains(&share), "{share}");
        }
        let mut balance = Balance::new(Kind::Random, 3, 7);
        balance.remove(2);
        assert!(picks(&mut balance, 100, [0; 3]).iter().all(|server| *server != 2));
    }

    #[test]
    fn the_least_busy_and_of_equals_the_next() {
        let mut balance = Balance::new(Kind::LeastBusy, 3, 1);
        assert_eq!(picks(&mut balance, 3, [5, 0, 7]), [1, 1, 1]);
        assert_eq!(picks(&mut balance, 3, [4, 4, 4]), [2, 0, 1]);
        balance.remove(1);
        assert_eq!(picks(&mut balance, 1, [5, 0, 7]), [0]);
    }
}
