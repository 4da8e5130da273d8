use std::collections::BTreeSet;

use super::play::play;
use super::recipe::{Kind, Recipe};
use super::schedule::Schedule;
use lockstorm_lock::simulation::InvalidSettings;

/// The most faults of a schedule that is played: 5 nodes need 3.
const MOST_FAULTS: usize = 4;

/// The shortest recipes of each kind for so many nodes, kind by kind. Schedules are played in order of their
/// number of faults, until both kinds of double hold were found; one that contains a recipe is none of its own.
///
/// # Errors
/// If the virtual world can't have so many nodes.
pub fn search(nodes: usize) -> Result<Vec<Recipe>, InvalidSettings> {
    let mut recipes: Vec<Recipe> = Vec::new();
    let mut level = BTreeSet::from([Schedule::empty(nodes)]);
    for _ in 0..=MOST_FAULTS {
        let missing: Vec<Kind> = Kind::ALL
            .into_iter()
            .filter(|kind| recipes.iter().all(|recipe| recipe.kind != *kind))
            .collect();
        if missing.is_empty() {
            break;
        }
        let mut harmless = BTreeSet::new();
        let mut found = Vec::new();
        for schedule in level {
            match play(&schedule)? {
                Some(double) => found.push(Recipe::new(schedule, double)),
                None => {
                    harmless.insert(schedule);
                }
            }
        }
        found.retain(|recipe| missing.contains(&recipe.kind));
        // Those with the most votes last: they need the most losses.
        found.sort_by_key(|recipe| (recipe.double.votes, recipe.schedule.clone()));
        recipes.extend(found);
        // Every schedule with a fault less must be harmless.
        level = harmless.iter().flat_map(Schedule::longer).collect();
        level.retain(|schedule| schedule.shorter().is_subset(&harmless));
    }
    recipes.sort_by_key(|recipe| recipe.kind);
    Ok(recipes)
}

#[cfg(test)]
mod tests {
    use super::super::fault::{ClientFault, NodeFault};
    use super::super::law::{needed_losses, spare_nodes};
    use super::*;

    fn of_kind(recipes: &[Recipe], kind: Kind) -> Vec<&Recipe> {
        recipes.iter().filter(|recipe| recipe.kind == kind).collect()
    }

    fn all_schedules(nodes: usize, before: &[NodeFault], losses: &[NodeFault]) -> BTreeSet<Schedule> {
        let length = spare_nodes(nodes) + 1;
        let mut lists: Vec<Vec<NodeFault>> = vec![Vec::new()];
        for _ in 0..length {
            let longer = |list: &Vec<NodeFault>| {
                let list = list.clone();
                let one_more = move |fault: &NodeFault| [&list[..], &[*fault]].concat();
                before.iter().chain(losses).map(one_more).collect::<Vec<_>>()
            };
            lists = lists.iter().flat_map(longer).collect();
        }
        // A client without a quorum holds nothing that it could lose.
        lists.retain(|list| list.iter().any(|fault| losses.contains(fault)));
        lists.iter().map(|list| Schedule::of(nodes, list, &[])).collect()
    }

    /// All that the law explains is found, and nothing else.
    #[test]
    fn the_shortest_recipes_are_those_that_the_law_knows() {
        use NodeFault::{Away, ClockJumps, Forgets, MessageLate};
        for (nodes, count) in [(3, 7), (5, 16)] {
            let recipes = search(nodes).unwrap();
            let within = of_kind(&recipes, Kind::WithinValidity);
            let found: BTreeSet<Schedule> = within.iter().map(|recipe| recipe.schedule.clone()).collect();
            let expected = all_schedules(nodes, &[Away, MessageLate], &[Forgets, ClockJumps]);
            assert_eq!(found, expected, "{nodes} nodes");
            assert_eq!(within.len(), count);
            for recipe in within {
                assert_eq!(recipe.schedule.len(), spare_nodes(nodes) + 1, "{recipe:?}");
                assert_eq!(
                    recipe.double.lost,
                    needed_losses(nodes, recipe.double.votes),
                    "{recipe:?}"
                );
            }
            let after: Vec<_> = of_kind(&recipes, Kind::AfterValidity);
            let expected =
                [ClientFault::FirstPauses, ClientFault::SectionTooLong].map(|f| Schedule::of(nodes, &[], &[f]));
            assert_eq!(
                after.iter().map(|recipe| &recipe.schedule).collect::<Vec<_>>(),
                expected.iter().collect::<Vec<_>>()
            );
        }
    }
}
