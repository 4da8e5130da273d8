//! Numbers and words that fit: a number is never cut in the middle.

use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use lockstorm_data::metrics::units;
pub use lockstorm_data::metrics::units::{setting, short_count as count};
use lockstorm_data::model::printable;

/// Shown for a figure that an arm doesn't have.
pub const NONE: &str = "–";

/// A rate without unnecessary decimals: `400`, `2.5`.
pub fn rate(value: f64) -> String {
    if value < 99.95 {
        let text = format!("{value:.1}");
        text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
    } else {
        count(units::rounded(value))
    }
}

/// A latency in microseconds; 0 means that there was none.
pub fn micros(us: u64) -> String {
    if us == 0 { NONE.to_owned() } else { units::micros(us) }
}

/// How long something has lasted: `0.4 s`, `12 s`, `3 min 05 s`.
pub fn age(value: Duration) -> String {
    let seconds = value.as_secs_f64();
    if seconds < 9.95 {
        format!("{seconds:.1} s")
    } else if seconds < 119.5 {
        format!("{seconds:.0} s")
    } else {
        format!("{} min {:02} s", value.as_secs() / 60, value.as_secs() % 60)
    }
}

/// How long a run took, in seconds: `1.6 s`, `60.0 s`; before its measured part `0.0 s`.
pub fn seconds(elapsed: f64) -> String {
    format!("{:.1} s", elapsed.max(0.0))
}

/// A time on an axis: `45 s`, then `2:30`.
pub fn clock(second: i64) -> String {
    if second < 120 {
        format!("{second} s")
    } else {
        format!("{}:{:02}", second / 60, second % 60)
    }
}

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// How many columns the widest of some texts takes.
pub fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(width).max().unwrap_or(0)
}

/// The text in at most `columns`, with an ellipsis where it was cut; it is made [`printable`].
pub fn fit(text: &str, columns: usize) -> String {
    let clean = printable(text);
    if clean.width() <= columns {
        return clean;
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in clean.chars() {
        let w = c.width().unwrap_or(0);
        if used + w + 1 > columns {
            break;
        }
        kept.push(c);
        used += w;
    }
    let kept = kept.trim_end().to_owned();
    if columns == 0 { String::new() } else { kept + "…" }
}

/// The text in lines of at most `columns`, broken between words, or inside a word that is longer than a line; it is made
/// [`printable`].
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in printable(text).split_whitespace() {
        // A word that is longer than a line begins wherever there is room for some of it.
        let needed = if word.width() > columns { 1 } else { word.width() };
        if !line.is_empty() && line.width() + 1 + needed > columns {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if !line.is_empty() && line.width() + c.width().unwrap_or(0) > columns {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

/// The text, left-aligned in exactly `columns`.
pub fn left(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let gap = columns.saturating_sub(text.width());
    text + &" ".repeat(gap)
}

/// The text, right-aligned in exactly `columns`.
pub fn right(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    " ".repeat(columns.saturating_sub(text.width())) + &text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_no_needless_decimals() {
        assert_eq!(
            [1.0, 2.55, 50.0, 99.94, 99.96, 400.0, 1302.4].map(rate),
            ["1", "2.5", "50", "99.9", "100", "400", "1,302"]
        );
    }

    #[test]
    fn text_is_cut_by_columns_not_by_bytes() {
        assert_eq!(fit("redlock", 7), "redlock");
        assert_eq!(fit("redlock", 4), "red…");
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("a\u{1b}[31mb", 10), "a\u{fffd}[31mb");
        assert_eq!(fit("a\u{202e}b", 10), "a\u{fffd}b");
        assert_eq!((left("ab", 4), right("ab", 4)), ("ab  ".to_owned(), "  ab".to_owned()));
        assert_eq!(fit("x", 0), "");
    }

    #[test]
    fn wrapped_text_is_all_there() {
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("at /tmp/lockstorm/x y", 8), ["at /tmp/", "lockstor", "m/x y"]);
        assert_eq!(wrap("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("a\u{2028}b\u{200b}c", 4), ["a", "b\u{fffd}c"]);
    }
}
