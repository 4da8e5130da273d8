//! A report as Markdown for a pull request: what matters is in sight, the rest is folded away.

use super::group::Runs;
use super::parts::Parts;
use crate::report::table::{Cell, Table};

/// The report on these runs as Markdown, as GitHub shows it. It is a function of the records alone.
///
/// # Errors
/// A record has a text that is no histogram.
pub fn runs_markdown(runs: &Runs) -> Result<String, String> {
    let parts = Parts::of(runs)?;
    let mut all = vec![format!("### {}", plain(&parts.title))];
    all.extend(
        parts
            .sentences
            .iter()
            .map(|(_, sentence)| format!("**{}**", plain(sentence))),
    );
    all.push(format!("{}. {}", plain(&parts.subtitle), plain(&parts.sure)));
    all.push(tabled(&parts.verdicts));
    all.extend(small(&parts.legend));
    all.push(folded(
        &format!("What happened{}", parts.happened_in),
        &tabled(&parts.happened),
    ));
    if let Some(times) = &parts.times {
        let text = [Some(tabled(times)), small(&parts.times_legend)];
        let text: Vec<String> = text.into_iter().flatten().collect();
        all.push(folded("How long it took to get a lock, and faults", &text.join("\n\n")));
    }
    let figures: Vec<String> = parts.figures.iter().map(tabled).collect();
    all.push(folded("All figures", &figures.join("\n\n")));
    if !parts.caveats.is_empty() {
        let lines: Vec<String> = parts.caveats.iter().map(|text| format!("- {}", plain(text))).collect();
        all.push(folded("Read this with care", &lines.join("\n")));
    }
    let again = format!("{}\n{}", fenced("sh", &parts.again), fenced("toml", &parts.scenario));
    all.push(folded("To play it again", &again));
    all.extend(small(&parts.versions));
    Ok(all.join("\n\n") + "\n")
}

/// A table, with its numbers at the right. Only sentences are broken into lines.
fn tabled(table: &Table) -> String {
    let is_sentence = |column: usize| matches!(table.head[column].trim(), "why" | "what");
    let row = |row: &Vec<Cell>| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let text = plain(cell.text.trim());
            if is_sentence(column) {
                text
            } else {
                text.replace(' ', "\u{a0}")
            }
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let is_left = |column: usize| column == 0 || is_sentence(column) || table.head[column].trim() == "verdict";
    let align = (0..table.head.len()).map(|column| if is_left(column) { ":--" } else { "--:" });
    let align: Vec<&str> = align.collect();
    let head = table
        .head
        .iter()
        .map(|title| plain(title.trim()))
        .collect::<Vec<_>>()
        .join(" | ");
    let mut lines = vec![format!("| {head} |"), format!("|{}|", align.join("|"))];
    lines.extend(table.rows.iter().map(row));
    lines.join("\n")
}

/// What opens by a click. A line without text ends the HTML, so that Markdown goes on.
fn folded(title: &str, text: &str) -> String {
    format!("<details><summary>{}</summary>\n\n{text}\n\n</details>", plain(title))
}

fn small(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| format!("<sub>{}</sub>", plain(text)))
}

/// A block of code, with a longer fence than any in it.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

/// The text without anything that Markdown, or GitHub, takes for more: a record may come from anybody.
fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '&' | '<' | '>' | '|' | '@' => format!("&#{};", u32::from(c)),
        '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '!' => format!("\\{c}"),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_no_markdown() {
        assert_eq!(plain("*a|b* @you <img>"), "\\*a&#124;b\\* &#64;you &#60;img&#62;");
        assert_eq!(fenced("toml", "a = '''```'''\n"), "````toml\na = '''```'''\n````");
    }
}
