//! What clients got, as text and as a page.

use maud::{Markup, html};

use super::markdown::{plain, small, tabled};
use super::page::{class, page};
use super::paint::{Paint, Tone};
use super::table::{Cell, Column, Table};
use super::wrap::fold;
use lockstorm_data::metrics::Quantiles;
use lockstorm_data::metrics::units::{count, micros};
use lockstorm_grade::{Checked, Grade, Grades, Letter};

const COLUMNS: [Column<Grade>; 4] = [
    ("act", |grade| Cell::plain(grade.act)),
    ("", |grade| Cell::new(tone(grade.letter), grade.letter.text())),
    ("locks", |grade| match grade.letter {
        Letter::NotAsked => Cell::none(),
        _ => Cell::plain(count(grade.acquired)),
    }),
    ("acquire p99", |grade| match grade.acquire_p99_us {
        0 => Cell::none(),
        took => Cell::plain(micros(took)),
    }),
];

/// The letters with their reasons; lines are no wider than `columns`.
pub fn render_grades(grades: &Grades, columns: usize, paint: Paint) -> String {
    let mut text = format!("{}\n", headline(grades));
    text += &(Table::of(&COLUMNS, &grades.acts).render(paint) + "\n");
    text += &cost(grades).map_or_else(String::new, |cost| fold("", &cost, columns) + "\n");
    if !grades.wrong.is_empty() {
        text += "\nbefore, a check has found:\n";
        text += &render_checked(&grades.wrong, columns, paint);
    }
    for act in grades.acts.iter().filter(|act| !act.why.is_empty()) {
        let letter = paint.apply(tone(act.letter), act.letter.text());
        text += &format!("\n{letter} {}: {}\n", act.act, act.title);
        for why in &act.why {
            text += &(fold("  ", &why.to_string(), columns) + "\n");
        }
    }
    text
}

/// The same as a page.
pub fn grades_page(grades: &Grades) -> String {
    let row = |act: &Grade| -> Markup {
        html! {
            tr {
                td { (act.act) }
                td class=(class(tone(act.letter))) { b { (act.letter.text()) } }
                td { (act.title) @for why in &act.why { br; small { (why) } } }
                td { (count(act.acquired)) }
                td { (micros(act.acquire_p99_us)) }
            }
        }
    };
    let body = html! {
        main {
            h1 { (headline(grades)) }
            @if !grades.command.is_empty() { p { code { (grades.command.join(" ")) } } }
            table {
                thead { tr { th { "act" } th {} th { "what happened" } th { "locks" } th { "acquire p99" } } }
                tbody { @for act in &grades.acts { (row(act)) } }
            }
            @if let Some(cost) = cost(grades) { p { (cost) } }
            @if !grades.wrong.is_empty() {
                p { "Before, a check has found:" }
                ul { @for done in &grades.wrong { li { (done.tried) ": " (done.said) } } }
            }
            p { small {
                "A: as it should be. B: good, with something to know. C: the algorithm can't do better. D: users suffer. "
                "F: a promise is broken, or somebody waits for ever. ?: not shown. –: not asked. Lockstorm " (env!("CARGO_PKG_VERSION"))
            } }
        }
    };
    page(&format!("{} graded by Lockstorm", grades.client), &body)
}

/// The same as Markdown.
pub fn grades_markdown(grades: &Grades) -> String {
    let mut all = vec![
        format!("### {}", plain(&headline(grades))),
        tabled(&Table::of(&COLUMNS, &grades.acts)),
    ];
    all.extend(cost(grades).as_deref().and_then(small));
    if !grades.wrong.is_empty() {
        all.push("Before, a check has found:".to_owned());
        all.push(listed(
            grades.wrong.iter().map(|done| format!("{}: {}", done.tried, done.said)),
        ));
    }
    for act in grades.acts.iter().filter(|act| !act.why.is_empty()) {
        let [letter, name, title] = [act.letter.text(), act.act, act.title].map(plain);
        all.push(format!("**{letter} {name}**: {title}"));
        all.push(listed(act.why.iter().map(ToString::to_string)));
    }
    all.join("\n\n") + "\n"
}

fn listed(lines: impl Iterator<Item = String>) -> String {
    // A line break would end the item.
    let line = |line: String| format!("- {}", plain(&line.replace('\n', " ")));
    lines.map(line).collect::<Vec<_>>().join("\n")
}

/// What was tried with a client.
pub fn render_checked(checked: &[Checked], columns: usize, paint: Paint) -> String {
    let line = |done: &Checked| {
        let (tone, mark) = match done.right {
            Some(true) => (Tone::Good, "✔"),
            Some(false) => (Tone::Bad, "✖"),
            None => (Tone::Doubt, "!"),
        };
        format!(
            "{} {}\n{}",
            paint.apply(tone, mark),
            done.tried,
            fold("    ", &done.said, columns) + "\n"
        )
    };
    checked.iter().map(line).collect()
}

/// What of the times is the pipe's.
fn cost(grades: &Grades) -> Option<String> {
    let Quantiles { p50, p99, .. } = grades.pipe_us?;
    Some(format!(
        "All times include the pipe: of a client that does nothing an acquire takes {} (p50), {} (p99).",
        micros(p50),
        micros(p99)
    ))
}

fn headline(grades: &Grades) -> String {
    let nodes = match grades.nodes {
        1 => "one node",
        _ => "three nodes",
    };
    let part = if grades.complete {
        ""
    } else {
        ", as far as it was played"
    };
    format!("{} on {nodes}: {}{part}", grades.client, grades.letter.text())
}

const fn tone(letter: Letter) -> Tone {
    match letter {
        Letter::NotAsked => Tone::Faint,
        Letter::A => Tone::Good,
        Letter::B => Tone::Plain,
        Letter::C | Letter::D => Tone::Strong,
        Letter::F => Tone::Bad,
        Letter::Unknown => Tone::Doubt,
    }
}
