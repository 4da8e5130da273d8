//! Recipes for two holders of one lock, as text.

use super::paint::{Paint, Tone};
use super::wrap::hanging;
use lockstorm_data::metrics::units::counted;
use lockstorm_plan::recipes::{Described, Kind, spare_nodes};

/// The recipes for one number of nodes.
pub fn render_recipes(nodes: usize, recipes: &[Described], paint: Paint) -> String {
    let of_kind = |kind: Kind| recipes.iter().filter(move |recipe| recipe.kind == kind);
    let mut text = format!(
        "Two holders of one Redlock on {nodes} nodes (f = {}): the shortest recipes, found by playing schedules of faults in \
         virtual time.\n",
        spare_nodes(nodes)
    );
    for kind in Kind::ALL {
        let Some(first) = of_kind(kind).next() else { continue };
        let heading = match kind {
            Kind::WithinValidity => "Both may rely on their locks: the first one has lost votes",
            Kind::AfterValidity => "The validity of the first one is over, but not its section",
        };
        let faults = counted(first.faults() as u64, "fault", "faults");
        text += &format!("\n{}\n", paint.apply(Tone::Strong, &format!("{heading} ({faults})")));
        for recipe in of_kind(kind) {
            text += &one(recipe, paint);
        }
    }
    text
}

fn one(recipe: &Described, paint: Paint) -> String {
    let Described { number, nodes, .. } = recipe;
    let mut text = format!("\n{number:3}  {}\n", paint.apply(Tone::Strong, &recipe.title));
    for (n, step) in (1..).zip(&recipe.steps) {
        text += &hanging(&format!("     {n}. "), step);
    }
    text += &hanging("     Why: ", &recipe.cause);
    text += &hanging("     What helps: ", &format!("{}.", recipe.remedy));
    text + &match recipe.scenario {
        Some(_) => format!(
            "     On real nodes: lockstorm recipes --nodes {nodes} --scenario {number} > recipe.toml && lockstorm run recipe.toml\n"
        ),
        None => "     In virtual time only: a scenario can't hold back a single message.\n".to_owned(),
    }
}
