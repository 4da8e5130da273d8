//! `lockstorm recipes`: the shortest ways to two holders of one lock.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use lockstorm::report::render_recipes;
use lockstorm_base::output::replace;
use lockstorm_plan::recipes::{Described, search};

use super::print::{print, print_result};
use crate::cli::{Look, RecipesArgs};
use crate::failure::Failure;

/// Searches, and prints what was found, or the file of one recipe.
pub fn recipes(args: &RecipesArgs, look: Look) -> Result<ExitCode, Failure> {
    let recipes = search(args.nodes).map_err(Failure::error)?;
    let numbered = (1..).zip(&recipes);
    let recipes: Vec<Described> = numbered.map(|(number, recipe)| Described::of(number, recipe)).collect();
    if let Some(number) = args.scenario {
        return print(file(&recipes, args.nodes, number, args.control)?);
    }
    if let Some(directory) = &args.out {
        write_all(directory, &recipes)?;
    }
    let text = |paint| render_recipes(args.nodes, &recipes, paint);
    print_result(args.json, &recipes, text, look)
}

/// The scenario file of one recipe, or of its control.
fn file(recipes: &[Described], nodes: usize, number: usize, control: bool) -> Result<String, Failure> {
    let Some(recipe) = recipes.iter().find(|recipe| recipe.number == number) else {
        return Err(Failure::usage(format!(
            "there is no recipe {number}; {nodes} nodes have recipes 1 to {}",
            recipes.len()
        )));
    };
    let file = if control { &recipe.control } else { &recipe.scenario };
    file.clone().ok_or_else(|| {
        let playable = recipes.iter().filter(|recipe| recipe.scenario.is_some());
        let numbers: Vec<String> = playable.map(|recipe| recipe.number.to_string()).collect();
        Failure::usage(format!(
            "recipe {number} has no scenario, since a scenario can't hold back a single message; these \
             recipes have one: {}",
            numbers.join(", ")
        ))
    })
}

/// Writes the file of each recipe that has one, with its control.
fn write_all(directory: &Path, recipes: &[Described]) -> Result<(), Failure> {
    let cannot = |path: &Path, error| Failure::error(format!("cannot write {}: {error}", path.display()));
    fs::create_dir_all(directory).map_err(|error| cannot(directory, error))?;
    for recipe in recipes {
        for (ending, text) in [("", &recipe.scenario), ("-control", &recipe.control)] {
            let Some(text) = text else { continue };
            let path = directory.join(format!("recipe-{}-{}{ending}.toml", recipe.nodes, recipe.number));
            replace(&path, |file| file.write_all(text.as_bytes())).map_err(|error| cannot(&path, error))?;
        }
    }
    Ok(())
}
