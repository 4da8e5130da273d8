//! How orders are given and carried out.

use std::time::Duration;

use super::event::{EventKind, Mend};
use super::order::Order;
use super::settings::InvalidSettings;
use super::units::{nanos, short};
use super::world::World;

impl World {
    /// Has something broken or mended at a true time, counted from the beginning; at once if that is over. Orders for the same
    /// time are carried out as they were given. A world that was healed at its end stays so.
    ///
    /// # Errors
    /// If the order names a node or an app server that does not exist, or is out of range.
    pub fn order(&mut self, at: Duration, order: Order) -> Result<(), InvalidSettings> {
        order.check(self.nodes.len(), self.apps.len())?;
        let at = nanos(at).max(self.now);
        let number = self.orders.keep(at, order);
        self.events.plan(at, EventKind::Order(short(number)));
        Ok(())
    }

    pub(super) fn on_order(&mut self, number: usize) {
        if let Some(order) = self.orders.get(number).filter(|_| !self.calm) {
            self.carry_out(order);
        }
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Pause { node } => _ = self.pause(node),
            Order::Resume { node } => self.mend(Mend::Resume(short(node))),
            Order::Crash { node, forgets } => _ = self.crash(node, forgets),
            Order::Restart { node } => self.mend(Mend::Restart(short(node))),
            Order::Jump { node, by } => self.jump(node, nanos(by)),
            Order::JumpBack { node, by } => self.jump_back(node, nanos(by)),
            Order::Freeze { app_server } => _ = self.stop(app_server),
            Order::Thaw { app_server } => self.mend(Mend::Thaw(short(app_server))),
            Order::Kill { app_server } => _ = self.end(app_server),
            Order::Replace { app_server } => self.mend(Mend::Revive(short(app_server))),
            Order::Delay {
                app_server,
                node,
                there,
                back,
            } => {
                self.note(|_| format!("messages from app server {app_server} to node {node} take {there:?} longer, those back {back:?}"));
                for s in self.sockets_between(app_server, node) {
                    self.sockets[s].late = [nanos(there), nanos(back)];
                }
            }
            Order::Cut { app_server, node } => self.cut(app_server, node, true, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Wait;
    use crate::simulation::random::Random;
    use crate::simulation::report::Report;
    use crate::simulation::section::Section;
    use crate::simulation::settings::Settings;
    use crate::simulation::span::Span;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Two app servers with a worker each and one key: they ask at 10 ms and hold for 100 ms of a TTL of 1 s. Every message takes
    /// 100 µs.
    fn world() -> World {
        let mut settings = Settings::drawn(0);
        (settings.nodes, settings.app_servers, settings.workers, settings.keys) = (3, 2, 1, 1);
        settings.faults.clear();
        settings.wants.truncate(1);
        settings.wants[0].wait = Wait::Retry {
            retries: 1000,
            delay: ms(2),
            jitter: Duration::ZERO,
        };
        settings.wants[0].timeout = ms(5000);
        settings.wants[0].rules.ttl = ms(1000);
        settings.wants[0].rules.reply_timeout = ms(20);
        (settings.wants[0].rules.lifetime, settings.wants[0].rules.repair) = (None, false);
        settings.wants[0].renew = None;
        settings.hold = Span::of(ms(100)).into();
        settings.think = Span::of(ms(10));
        (settings.delay.usual, settings.delay.long_per_mille) = (Span::micros(100, 100).into(), 0);
        (settings.lag, settings.drift_ppm, settings.reconnect) = (Duration::ZERO, 0, ms(5));
        (settings.give_up_per_mille, settings.heed_loss_per_mille) = (0, 0);
        settings.busy = ms(2000);
        World::new(settings, 7).unwrap()
    }

    /// The world of `world` with these orders, in which only the first app server asks until 50 ms.
    fn one_after_the_other(orders: &[(u64, Order)]) -> World {
        let mut world = world();
        world.order(Duration::ZERO, Order::Kill { app_server: 1 }).unwrap();
        world.order(ms(40), Order::Replace { app_server: 1 }).unwrap();
        for (at, order) in orders {
            world.order(ms(*at), *order).unwrap();
        }
        world
    }

    fn sections_at(world: &mut World, at: u64) -> Vec<Section> {
        world.run(ms(at));
        world.sections(0)
    }

    fn finish(mut world: World) -> Report {
        let report = world.play();
        assert_eq!(report.violations, []);
        report
    }

    #[test]
    fn without_orders_one_holds_and_the_other_waits() {
        let mut world = one_after_the_other(&[]);
        let sections = sections_at(&mut world, 90);
        assert_eq!(sections.len(), 1);
        let Section {
            app_server, kept, lost, ..
        } = sections[0];
        assert_eq!((app_server, kept, lost), (0, 3, 0));
        assert!(sections[0].valid_for > ms(800), "{sections:?}");
        assert_eq!(sections_at(&mut world, 130)[0].app_server, 1);
        assert_eq!(finish(world).overlaps, 0);
    }

    #[test]
    fn two_nodes_that_forget_make_two_holders_and_nodes_that_keep_their_keys_do_not() {
        for (forgets, holders) in [(true, 2), (false, 1)] {
            let both = [0, 1].map(|node| (60, Order::Crash { node, forgets }));
            let back = [0, 1].map(|node| (62, Order::Restart { node }));
            let mut world = one_after_the_other(&[both, back].concat());
            assert_eq!(sections_at(&mut world, 61).len(), 1);
            let sections = sections_at(&mut world, 100);
            assert_eq!(sections.len(), holders);
            let lost = if forgets { 2 } else { 0 };
            assert_eq!((sections[0].kept + sections[0].lost, sections[0].lost), (3, lost));
            let report = finish(world);
            let faults = (report.faults.forgets, report.faults.crashes);
            assert_eq!(faults, if forgets { (2, 0) } else { (0, 2) });
            assert_eq!(report.overlaps > 0, forgets);
        }
    }

    #[test]
    fn nodes_that_come_back_later_do_no_harm() {
        let both = [0, 1].map(|node| (60, Order::Crash { node, forgets: true }));
        let back = [0, 1].map(|node| (1200, Order::Restart { node }));
        let mut world = one_after_the_other(&[both, back].concat());
        assert_eq!(sections_at(&mut world, 105).len(), 1);
        assert_eq!(finish(world).overlaps, 0);
    }

    #[test]
    fn a_clock_that_jumps_forward_expires_keys_and_one_that_jumps_back_keeps_them() {
        let two = |order: fn(usize) -> Order| [(60, order(0)), (60, order(1))];
        let far = two(|node| Order::Jump { node, by: ms(1000) });
        let mut world = one_after_the_other(&far);
        let sections = sections_at(&mut world, 100);
        assert_eq!((sections.len(), sections[0].lost), (2, 2));
        let report = finish(world);
        assert_eq!(report.faults.jumps, 2);
        assert!(report.overlaps > 0);
        // 900 ms would be left.
        let near = two(|node| Order::Jump { node, by: ms(800) });
        let mut world = one_after_the_other(&near);
        assert_eq!(sections_at(&mut world, 105).len(), 1);
        assert_eq!(finish(world).overlaps, 0);
        let back = two(|node| Order::JumpBack { node, by: ms(3000) });
        assert_eq!(finish(one_after_the_other(&back)).overlaps, 0);
    }

    #[test]
    fn a_frozen_holder_stays_in_its_section_when_somebody_else_gets_the_lock() {
        let freeze = [
            (60, Order::Freeze { app_server: 0 }),
            (1500, Order::Thaw { app_server: 0 }),
        ];
        let mut world = one_after_the_other(&freeze);
        let sections = sections_at(&mut world, 1060);
        assert_eq!(sections.len(), 2);
        assert_eq!((sections[0].app_server, sections[0].valid_for), (0, Duration::ZERO));
        assert!(sections[1].valid_for > ms(500));
        assert_eq!(finish(world).faults.freezes, 1);
        // One that died is in no section.
        let mut world = one_after_the_other(&[(60, Order::Kill { app_server: 0 })]);
        assert_eq!(sections_at(&mut world, 1060).len(), 1);
        finish(world);
    }

    #[test]
    fn a_paused_node_runs_what_arrived_when_it_goes_on() {
        let pause = [(5, Order::Pause { node: 2 }), (30, Order::Resume { node: 2 })];
        let mut world = one_after_the_other(&pause);
        assert_eq!(sections_at(&mut world, 29)[0].kept, 2);
        assert_eq!(sections_at(&mut world, 39)[0].kept, 3);
        assert_eq!(finish(world).faults.pauses, 1);
    }

    #[test]
    fn a_late_message_comes_late_until_the_order_is_taken_back() {
        let late = |there| Order::Delay {
            app_server: 0,
            node: 2,
            there: ms(there),
            back: Duration::ZERO,
        };
        let mut world = one_after_the_other(&[(5, late(30))]);
        assert_eq!(sections_at(&mut world, 39)[0].kept, 2);
        assert_eq!(sections_at(&mut world, 45)[0].kept, 3);
        finish(world);
        let mut world = one_after_the_other(&[(5, late(30)), (8, late(0))]);
        assert_eq!(sections_at(&mut world, 15)[0].kept, 3);
        finish(world);
    }

    #[test]
    fn connections_that_break_are_made_again_and_the_key_stays() {
        let cut = Order::Cut { app_server: 0, node: 0 };
        let mut world = one_after_the_other(&[(60, cut)]);
        assert_eq!(sections_at(&mut world, 105)[0].kept, 3);
        let report = finish(world);
        assert_eq!((report.faults.cuts, report.overlaps), (1, 0));
    }

    #[test]
    fn orders_out_of_range_are_refused_and_those_after_the_end_do_nothing() {
        let mut world = world();
        assert!(world.order(ms(1), Order::Pause { node: 3 }).is_err());
        assert!(world.order(ms(1), Order::Kill { app_server: 2 }).is_err());
        let by = Duration::from_secs(11 * 365 * 86_400);
        assert!(world.order(ms(1), Order::Jump { node: 0, by }).is_err());
        world.order(ms(60_000), Order::Pause { node: 0 }).unwrap();
        assert_eq!(finish(world).faults.pauses, 0);
    }

    /// An order, any order.
    fn drawn(random: &mut Random, nodes: usize, app_servers: usize) -> Order {
        let (node, app_server) = (random.index(nodes), random.index(app_servers));
        let mut time = || Duration::from_micros(random.below(80_000));
        let (by, there, back) = (time(), time(), time());
        match random.below(14) {
            0 => Order::Pause { node },
            1 => Order::Resume { node },
            2 | 3 => Order::Crash { node, forgets: true },
            4 => Order::Crash { node, forgets: false },
            5 | 6 => Order::Restart { node },
            7 => Order::Jump { node, by },
            8 => Order::JumpBack { node, by },
            9 => Order::Freeze { app_server },
            10 => Order::Thaw { app_server },
            11 => Order::Kill { app_server },
            12 => Order::Replace { app_server },
            _ if random.chance(500) => Order::Cut { app_server, node },
            _ => Order::Delay {
                app_server,
                node,
                there,
                back,
            },
        }
    }

    fn with_drawn_orders(seed: u64) -> Report {
        let settings = Settings::drawn(seed);
        let (nodes, app_servers, busy) = (settings.nodes, settings.app_servers, settings.busy);
        let mut world = World::new(settings, seed).unwrap();
        let mut random = Random::new(seed ^ 0x0dde);
        for _ in 0..random.below(40) {
            let at = Duration::from_nanos(random.below(nanos(busy)));
            world.order(at, drawn(&mut random, nodes, app_servers)).unwrap();
        }
        world.play()
    }

    #[test]
    fn whatever_is_ordered_no_law_is_broken_and_a_seed_gives_the_same() {
        let (mut overlaps, mut jumps) = (0, 0);
        for seed in 0..1500 {
            let report = with_drawn_orders(seed);
            assert_eq!(report.violations, [], "seed {seed}");
            overlaps += report.overlaps;
            jumps += report.faults.jumps;
        }
        assert!(overlaps > 10 && jumps > 100, "{overlaps} overlaps, {jumps} jumps");
        assert_eq!(with_drawn_orders(3), with_drawn_orders(3));
    }
}
