use serde::Serialize;

use super::fault::{ClientFault, NodeFault};
use super::law::needed_losses;
use super::recipe::{Kind, Recipe};
use super::scenario;
use super::steps::{cause, remedy, steps, title};

/// Everything that is said of a recipe.
#[derive(Debug, Clone, Serialize)]
pub struct Described {
    /// Counts the recipes for this number of nodes, from 1.
    pub number: usize,
    /// The lock nodes.
    pub nodes: usize,
    /// Its faults in a few words.
    pub title: String,
    /// How two can hold the lock.
    pub kind: Kind,
    /// The faults of nodes: the node, from 1, and what happens to it.
    pub node_faults: Vec<(usize, NodeFault)>,
    /// The faults of clients.
    pub client_faults: Vec<ClientFault>,
    /// Within the validity: the first holder's votes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub votes: Option<usize>,
    /// How many of them were lost when the second client entered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<usize>,
    /// How many the law asks for: votes − f.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<usize>,
    /// What happens, one step after the other.
    pub steps: Vec<String>,
    /// Why it works.
    pub cause: String,
    /// What prevents it.
    pub remedy: String,
    /// The scenario file, if real nodes can be made to do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The scenario file of its control, in which nothing is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
}

impl Described {
    /// Describes the recipe of this number.
    pub fn of(number: usize, recipe: &Recipe) -> Self {
        let Recipe { schedule, kind, double } = recipe;
        let nodes = schedule.nodes();
        let within = *kind == Kind::WithinValidity;
        Self {
            number,
            nodes,
            title: title(schedule),
            kind: *kind,
            node_faults: schedule.of_nodes().map(|(node, fault)| (node + 1, fault)).collect(),
            client_faults: schedule.of_clients().collect(),
            votes: within.then_some(double.votes),
            lost: within.then_some(double.lost),
            needed: within.then(|| needed_losses(nodes, double.votes)),
            steps: steps(recipe),
            cause: cause(recipe),
            remedy: remedy(recipe),
            scenario: scenario::scenario(recipe),
            control: scenario::control(recipe),
        }
    }

    /// The number of faults.
    pub const fn faults(&self) -> usize {
        self.node_faults.len() + self.client_faults.len()
    }
}
