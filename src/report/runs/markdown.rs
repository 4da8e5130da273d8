//! A report as Markdown for a pull request: what matters is in sight, the rest is folded away.

use super::group::Runs;
use super::parts::Parts;
use crate::report::markdown::{folded, plain, small, tabled};

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
    if let Some(again) = &parts.again {
        let again = format!("{}\n{}", fenced("sh", again), fenced("toml", &parts.scenario));
        all.push(folded("To play it again", &again));
    }
    all.extend(small(&parts.versions));
    Ok(all.join("\n\n") + "\n")
}

/// A block of code, with a longer fence than any in it.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_in_its_text() {
        assert_eq!(fenced("toml", "a = '''```'''\n"), "````toml\na = '''```'''\n````");
    }
}
