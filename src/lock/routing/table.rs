//! Which master has which slot, by all that nodes have said.

use super::slot::SLOTS;
use super::view::View;
use crate::node::place::Spot;

/// A slot of which nobody knows.
const NOBODY: u16 = u16::MAX;

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The position of its master among the spots.
    owner: u16,
    /// The configuration epoch in which the master got it, as far as it is known.
    epoch: u64,
}

/// The master of each slot.
#[derive(Debug)]
pub(super) struct Table {
    entries: Box<[Entry]>,
    /// The masters, each once, and some that were masters before.
    spots: Vec<Spot>,
}

impl Table {
    /// Nobody has said anything yet.
    pub(super) fn new() -> Self {
        let entry = Entry {
            owner: NOBODY,
            epoch: 0,
        };
        Self {
            entries: vec![entry; usize::from(SLOTS)].into(),
            spots: Vec::new(),
        }
    }

    /// The master of this slot.
    pub(super) fn owner(&self, slot: u16) -> Option<&Spot> {
        let entry = self.entries.get(usize::from(slot))?;
        self.spots.get(usize::from(entry.owner))
    }

    /// All masters that have slots.
    pub(super) fn owners(&self) -> Vec<Spot> {
        let mut owns = vec![false; self.spots.len()];
        for entry in self.entries.iter().filter(|entry| entry.owner != NOBODY) {
            owns[usize::from(entry.owner)] = true;
        }
        let owning = self.spots.iter().zip(owns).filter(|(_, owns)| *owns);
        owning.map(|(spot, _)| spot.clone()).collect()
    }

    /// Takes what a node says of its cluster.
    ///
    /// A master that gets a slot, by an election or by a move, gets a higher epoch with it. So a node that was stopped or cut
    /// off, and still names the master of before, does not lead back to it. Of equal epochs the latest news win. A slot that a
    /// node does not know stays where it was.
    pub(super) fn merge(&mut self, view: &View) {
        for range in &view.ranges {
            let owner = self.position(&range.master);
            for entry in &mut self.entries[usize::from(range.first)..=usize::from(range.last)] {
                if range.epoch >= entry.epoch || entry.owner == NOBODY {
                    let epoch = range.epoch;
                    *entry = Entry { owner, epoch };
                }
            }
        }
    }

    /// A node says that this one has the slot. It does not say since which epoch, so an older view does still not count.
    pub(super) fn on_moved(&mut self, slot: u16, to: &Spot) {
        let owner = self.position(to);
        if let Some(entry) = self.entries.get_mut(usize::from(slot)) {
            entry.owner = owner;
        }
    }

    fn position(&mut self, spot: &Spot) -> u16 {
        let found = self.spots.iter().position(|other| other == spot);
        let position = found.unwrap_or_else(|| {
            self.make_room();
            self.spots.push(spot.clone());
            self.spots.len() - 1
        });
        // There are no more masters than slots, and those that have none are forgotten in time.
        u16::try_from(position).unwrap_or(NOBODY)
    }

    /// Forgets masters that have no slots any more, if they have become many.
    fn make_room(&mut self) {
        if self.spots.len() < usize::from(SLOTS) * 2 {
            return;
        }
        let owners = self.owners();
        for entry in self.entries.iter_mut().filter(|entry| entry.owner != NOBODY) {
            let spot = &self.spots[usize::from(entry.owner)];
            let position = owners.iter().position(|owner| owner == spot);
            entry.owner = position
                .and_then(|position| u16::try_from(position).ok())
                .unwrap_or(NOBODY);
        }
        self.spots = owners;
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::Range;
    use super::*;

    fn spot(port: u16) -> Spot {
        Spot {
            host: "host".into(),
            port,
        }
    }

    /// A view of these ranges: first and last slot, the master's port, its epoch.
    fn view(ranges: &[(u16, u16, u16, u64)]) -> View {
        let range = |&(first, last, port, epoch): &(u16, u16, u16, u64)| Range {
            first,
            last,
            master: spot(port),
            epoch,
        };
        View {
            ranges: ranges.iter().map(range).collect(),
            nodes: Vec::new(),
        }
    }

    fn ports(table: &Table, slots: &[u16]) -> Vec<Option<u16>> {
        let port = |&slot: &u16| table.owner(slot).map(|spot| spot.port);
        slots.iter().map(port).collect()
    }

    #[test]
    fn slots_have_the_masters_that_a_view_names_and_the_others_stay() {
        let mut table = Table::new();
        assert_eq!(
            (ports(&table, &[0, 16_383]), table.owners()),
            (vec![None, None], vec![])
        );
        table.merge(&view(&[(0, 99, 1, 1), (100, 199, 2, 2)]));
        assert_eq!(
            ports(&table, &[0, 99, 100, 199, 200]),
            [Some(1), Some(1), Some(2), Some(2), None]
        );
        table.merge(&view(&[(150, 16_383, 3, 3)]));
        assert_eq!(
            ports(&table, &[0, 149, 150, 16_383]),
            [Some(1), Some(2), Some(3), Some(3)]
        );
        assert_eq!(table.owners(), [spot(1), spot(2), spot(3)]);
        table.merge(&view(&[(0, 199, 3, 4)]));
        assert_eq!(table.owners(), [spot(3)]);
        assert_eq!(ports(&table, &[16_384]), [None]);
    }

    #[test]
    fn an_older_view_does_not_lead_back_and_of_equal_ones_the_latest_counts() {
        let mut table = Table::new();
        table.merge(&view(&[(0, 99, 1, 5)]));
        table.merge(&view(&[(0, 99, 2, 7)]));
        table.merge(&view(&[(0, 99, 1, 5)]));
        assert_eq!(ports(&table, &[0]), [Some(2)]);
        table.merge(&view(&[(0, 49, 3, 7)]));
        assert_eq!(ports(&table, &[0, 50]), [Some(3), Some(2)]);
        // Masters that were never given an epoch.
        let mut table = Table::new();
        table.merge(&view(&[(0, 99, 1, 0)]));
        assert_eq!(ports(&table, &[0]), [Some(1)]);
    }

    #[test]
    fn a_redirection_moves_one_slot_and_an_older_view_does_not_undo_it() {
        let mut table = Table::new();
        table.merge(&view(&[(0, 99, 1, 5)]));
        table.on_moved(7, &spot(2));
        assert_eq!(ports(&table, &[6, 7, 8]), [Some(1), Some(2), Some(1)]);
        table.merge(&view(&[(0, 99, 3, 4)]));
        assert_eq!(ports(&table, &[6, 7]), [Some(1), Some(2)]);
        table.merge(&view(&[(0, 99, 1, 5), (7, 7, 2, 6)]));
        assert_eq!(ports(&table, &[6, 7]), [Some(1), Some(2)]);
        table.on_moved(16_384, &spot(9));
        assert_eq!(table.owners(), [spot(1), spot(2)]);
    }

    #[test]
    fn masters_of_the_past_do_not_pile_up() {
        let mut table = Table::new();
        for port in 1..=u16::MAX {
            table.on_moved(port % 3, &spot(port));
        }
        assert_eq!(ports(&table, &[0, 1, 2]), [Some(65_535), Some(65_533), Some(65_534)]);
        assert!(table.spots.len() <= usize::from(SLOTS) * 2 + 1);
    }
}
