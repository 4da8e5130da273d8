//! A report as text for a terminal.

use super::group::Runs;
use super::parts::Parts;
use crate::report::paint::{Paint, Tone};
use crate::report::table::Table;
use crate::report::wrap::{WIDTH, fold};

/// The report on these runs as text, in lines of 100 columns. It is a function of the records alone.
///
/// # Errors
/// A record has a text that is no histogram.
pub fn runs_text(runs: &Runs, paint: Paint) -> Result<String, String> {
    let parts = Parts::of(runs)?;
    let head = |text: &str| format!("{}\n", paint.apply(Tone::Strong, text));
    let folded = |tone: Tone, text: &str| format!("{}\n", paint.apply(tone, &fold("", text, WIDTH)));
    let table = |table: &Table| -> String {
        let parts = table.split(WIDTH).into_iter().map(|part| part.render(paint));
        parts.collect::<Vec<_>>().join("\n")
    };
    let faint = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            folded(Tone::Faint, text)
        }
    };
    let mut said = head(&parts.title) + &folded(Tone::Plain, &parts.subtitle);
    said.extend(parts.sentences.iter().map(|(tone, text)| folded(*tone, text)));
    let mut all = vec![
        said,
        table(&parts.verdicts) + &faint(&parts.legend),
        folded(Tone::Plain, &parts.sure),
    ];
    let lines = parts.happened.rows.iter().map(|row| {
        let at = format!("{:>8}  ", row[0].text);
        format!("{}\n", paint.apply(row[1].tone, &fold(&at, &row[1].text, WIDTH)))
    });
    all.push(head(&format!("what happened{}", parts.happened_in)) + &lines.collect::<String>());
    if let Some(times) = &parts.times {
        all.push(head("time to get a lock") + &table(times) + &faint(&parts.times_legend));
    }
    all.extend(parts.figures.iter().map(table));
    if !parts.caveats.is_empty() {
        let lines = parts.caveats.iter().map(|text| fold("  ! ", text, WIDTH) + "\n");
        all.push(head("read with care") + &lines.collect::<String>());
    }
    all.push(folded(Tone::Faint, &parts.versions));
    Ok(all.join("\n"))
}
