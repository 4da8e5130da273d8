//! `lockstorm explain`: what a word means, in each of its meanings.

use std::process::ExitCode;

use lockstorm_data::scenario::meant;

use super::print::print_for_people;
use crate::cli::{ExplainArgs, Look};
use crate::failure::Failure;
use crate::glossary::{rows, words};

/// Prints what a word means, in each of its meanings; without a word, all words.
pub fn explain(args: &ExplainArgs, look: Look) -> Result<ExitCode, Failure> {
    let text = match &args.word {
        None => words().join("\n"),
        Some(word) => {
            let is_meant = |words: &[&str]| words.iter().any(|one| one.eq_ignore_ascii_case(word));
            let meanings: Vec<String> = rows().filter(|row| is_meant(&row.0)).map(|row| row.1).collect();
            if meanings.is_empty() {
                let hint = meant(word, words());
                return Err(Failure::usage(format!(
                    "no figure, scenario, fault or other word is \"{word}\"{hint}; `lockstorm explain` lists them all"
                )));
            }
            meanings.join("\n")
        }
    };
    // The tables are Markdown.
    print_for_people(text.replace('`', "") + "\n", look)
}
