//! Several settings of one scenario: which lock held with which, what differs between them, and then each by itself.

use maud::html;

use super::group::{Runs, is_same};
use super::html::{runs_page, script, sheets, title};
use super::json::objects;
use super::markdown::runs_markdown;
use super::text::runs_text;
use super::tidy::figures;
use super::verdicts::verdict_rows;
use crate::report::comparison::{brief, comparison_markdown, notes, render_comparison, said, table};
use crate::report::markdown::{plain, tabled as in_markdown};
use crate::report::page::{cards, class, page, tabled};
use crate::report::paint::Paint;
use crate::report::table::{Cell, Head, Table};
use lockstorm_data::model::printable;
use lockstorm_plan::compare::{Comparison, Differing};
use lockstorm_run::Record;

/// Runs of one scenario with one or several settings.
#[derive(Debug)]
pub struct Settings {
    /// Each setting with its name; at least one.
    each: Vec<(String, Runs)>,
    /// Each, held against the first.
    comparisons: Vec<Comparison>,
}

impl Settings {
    /// These runs by their settings, in the order in which those come. Each record has the name of its file.
    ///
    /// # Errors
    /// There is none, or two are of different scenarios: the sentence says which, and where they differ.
    pub fn of(records: Vec<(String, Record)>) -> Result<Self, String> {
        let mut groups: Vec<Vec<(String, Record)>> = Vec::new();
        for (file, record) in records {
            let is_its = |group: &&mut Vec<(String, Record)>| is_same(&group[0].1.scenario, &record.scenario);
            match groups.iter_mut().find(is_its) {
                Some(group) => group.push((file, record)),
                None => groups.push(vec![(file, record)]),
            }
        }
        let mut names = vec![String::new(); groups.len()];
        let mut of_first: Vec<String> = Vec::new();
        for (name, group) in names.iter_mut().zip(&groups).skip(1) {
            let (one, other) = (&groups[0][0], &group[0]);
            let differing = Differing::of(&one.1, &other.1);
            if differing.settings.is_empty() || !differing.scenario.is_empty() {
                let where_to = match differing.scenario.is_empty() {
                    true => "their TOML is the same, so it can't be told in what".to_owned(),
                    false => differing.scenario.join("; "),
                };
                return Err(format!(
                    "{} and {} are of different scenarios: {where_to}; report each by itself",
                    one.0, other.0
                ));
            }
            let side = |side| differing.settings.iter().map(move |setting| setting.of_side(side));
            *name = side(1).collect::<Vec<_>>().join(", ");
            let new: Vec<String> = side(0).filter(|one| !of_first.contains(one)).collect();
            of_first.extend(new);
        }
        if let Some(first) = names.first_mut() {
            *first = of_first.join(", ");
        }
        let runs = groups.into_iter().map(Runs::of).collect::<Result<Vec<Runs>, _>>()?;
        let each: Vec<(String, Runs)> = names.into_iter().zip(runs).collect();
        let Some(((first, base), others)) = each.split_first() else {
            return Err("there is no record to report".to_owned());
        };
        let against = |(name, runs): &(String, Runs)| Comparison::of_groups([first, name], [base.all(), runs.all()]);
        let comparisons = others.iter().map(against).collect();
        Ok(Self { each, comparisons })
    }

    /// All runs.
    pub fn all(&self) -> impl Iterator<Item = &Record> {
        self.each.iter().flat_map(|(_, runs)| runs.all())
    }

    /// The runs, if all have the same setting.
    ///
    /// # Errors
    /// They don't: the sentence names the settings.
    pub fn only(&self) -> Result<&Runs, String> {
        match &self.each[..] {
            [(_, only)] => Ok(only),
            several => {
                let names: Vec<&str> = several.iter().map(|(name, _)| name.as_str()).collect();
                Err(format!(
                    "these are runs with several settings ({}): name those of one",
                    names.join("; ")
                ))
            }
        }
    }

    /// The page.
    ///
    /// # Errors
    /// A record has a text that is no histogram, or a chart could not be drawn, which is a bug.
    pub fn page(&self) -> Result<String, String> {
        let first = match &self.each[..] {
            [(_, only)] => return runs_page(only),
            several => &several[0].1,
        };
        let each = self.each.iter().map(|(name, runs)| Ok((name, sheets(runs)?)));
        let each: Vec<_> = each.collect::<Result<_, String>>()?;
        let body = html! {
            section {
                h1 { (printable(&first.scenario().title)) }
                @for (tone, sentence) in self.comparisons.iter().flat_map(said) {
                    p class={ "verdict " (class(tone)) } { span { (sentence) } }
                }
                h2 { "In how many runs each lock held" }
                (cards(&self.held()))
                @for comparison in &self.comparisons {
                    h2 { (printable(&comparison.sides[1])) " against " (printable(&comparison.sides[0])) }
                    (cards(&brief(comparison)))
                    details { summary { "the numbers" } (tabled(&table(comparison, false))) }
                    @for (title, lines) in notes(comparison) {
                        p.made { strong { (title) } @for line in lines { br; (line) } }
                    }
                }
            }
            @for (name, sheets) in &each {
                section { h1 { (printable(name)) } }
                (sheets)
            }
            (script())
        };
        Ok(page(&title(first), &body))
    }

    /// The same as text in lines of at most so many `columns`, of comparisons with `all` figures.
    ///
    /// # Errors
    /// A record has a text that is no histogram.
    pub fn text(&self, all: bool, columns: usize, paint: Paint) -> Result<String, String> {
        if let [(_, only)] = &self.each[..] {
            return runs_text(only, paint);
        }
        let held = self.held().split(columns).into_iter().map(|part| part.render(paint));
        let compared = self.comparisons.iter();
        let compared = compared.map(|comparison| render_comparison(comparison, all, columns, paint));
        Ok(held.chain(compared).collect::<Vec<_>>().join("\n"))
    }

    /// The same as Markdown for a pull request.
    ///
    /// # Errors
    /// A record has a text that is no histogram.
    pub fn markdown(&self) -> Result<String, String> {
        if let [(_, only)] = &self.each[..] {
            return runs_markdown(only);
        }
        let title = format!("### {}", plain(&self.each[0].1.scenario().title));
        let mut parts = vec![title, in_markdown(&self.held())];
        let compared = self.comparisons.iter();
        parts.extend(compared.map(|comparison| comparison_markdown(comparison, false).trim_end().to_owned()));
        Ok(parts.join("\n\n") + "\n")
    }

    /// All figures of all runs as CSV, a line for each figure of each arm of each run.
    ///
    /// # Errors
    /// It could not be written; this is a bug.
    pub fn csv(&self) -> Result<String, String> {
        let runs = self.each.iter().map(|(_, runs)| runs);
        figures(runs).map_err(|error| format!("the figures could not be written: {error}"))
    }

    /// All runs as JSON, an object for each on a line of its own. `exit_code` is that of the run with this record, if it was a run.
    ///
    /// # Errors
    /// It could not be written; this is a bug.
    pub fn json(&self, exit_code: impl Fn(&Record) -> Option<u8>) -> Result<String, String> {
        let runs = self.each.iter().map(|(_, runs)| runs);
        objects(runs, exit_code).map_err(|error| format!("the runs could not be written: {error}"))
    }

    fn held(&self) -> Table {
        held(self.each.iter().map(|(name, runs)| (name.as_str(), runs)))
    }
}

/// In how many runs of each group each lock held, in lines of at most so many `columns`.
pub fn held_text(groups: [(&str, &Runs); 2], columns: usize, paint: Paint) -> String {
    let parts = held(groups.into_iter()).split(columns).into_iter();
    parts.map(|part| part.render(paint)).collect::<Vec<_>>().join("\n")
}

/// A row for each lock, a column for each setting: in how many runs it held.
fn held<'a>(groups: impl Iterator<Item = (&'a str, &'a Runs)>) -> Table {
    type Rows<'a> = Vec<(&'a str, Vec<Cell>)>;
    let groups = groups.map(|(name, runs)| (name, verdict_rows(runs).collect()));
    let (names, groups): (Vec<&str>, Vec<Rows<'_>>) = groups.unzip();
    let mut head = vec![Head::new("held")];
    head.extend(names.into_iter().map(|name| Head::new(printable(name))));
    // The first two cells of a verdict are the lock and whether it held.
    let row = |(arm, row): &(&str, Vec<Cell>)| {
        let mut cells: Vec<Cell> = row.first().cloned().into_iter().collect();
        cells.extend(groups.iter().map(|rows| {
            let same = rows.iter().find(|(other, _)| other == arm);
            same.and_then(|(_, row)| row.get(1).cloned()).unwrap_or_else(Cell::none)
        }));
        cells
    };
    Table {
        head,
        rows: groups.first().into_iter().flatten().map(row).collect(),
    }
}
