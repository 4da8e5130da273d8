use std::fmt::Write as _;

use super::phrases::{
    EXTRAPOLATED, Given, TAKEOVERS, asked, clients_table, not_considered, recommendation, sources, table,
    what_is_lacking,
};
use super::plot::plot_plan;
use crate::report::paint::{Paint, Tone};
use crate::report::wrap::hanging;
use lockstorm_plan::{Plan, snippets};

/// The plan, in colour if wanted, and with a plot of so many columns and lines.
pub fn render_plan(plan: &Plan, given: &Given, paint: Paint, plot: Option<(u16, u16)>) -> String {
    let title = paint.apply(Tone::Strong, "plan · which TTL, which renewal interval");
    let mut text = format!("{title}\n");
    for (name, value) in asked(&plan.question, given) {
        // `write!` to a String can't fail.
        let _ = writeln!(text, "  {name:<11} {value}");
    }
    text.push('\n');
    text += &table(plan).render(paint);
    if plan.rows.iter().any(|row| row.overrun.is_extrapolated()) {
        let _ = writeln!(text, "{EXTRAPOLATED}");
    }
    if let Some(lacking) = what_is_lacking(plan) {
        text += &hanging("", &lacking);
    }
    if let Some(clients) = clients_table(plan) {
        text.push('\n');
        text += &clients.render(paint);
        let _ = writeln!(text, "{TAKEOVERS}");
    }
    if let Some((width, height)) = plot {
        text.push('\n');
        text += &(plot_plan(plan, width, height).join("\n") + "\n");
    }
    let (mark, tone, sentence) = recommendation(plan, given);
    let head = format!("{} ", paint.apply(tone, mark));
    let answer = format!("\n{}", hanging(&head, &sentence));
    text += &answer;
    let _ = writeln!(text, "\nnot considered");
    for line in not_considered(plan) {
        let _ = writeln!(text, "  {line}");
    }
    let Some(best) = plan.choice.best() else {
        return text;
    };
    text.push('\n');
    let sources = sources(plan, &plan.rows[best]);
    let width = sources.iter().map(|line| line.1.chars().count()).max().unwrap_or(0);
    for (name, value, from) in sources {
        let _ = writeln!(text, "  {name:<15}  {value:<width$}  {from}");
    }
    for snippet in snippets(plan) {
        let _ = writeln!(text, "\n{}", paint.apply(Tone::Strong, snippet.name));
        for line in snippet.text.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    // On a terminal that is what one sees of so long a text.
    if plot.is_some() {
        text += &answer;
    }
    text
}
