//! Draws with ASCII characters only, for terminals that can't show others.

use ratatui::buffer::Buffer;

/// Whether the environment asks for ASCII: the locale names a charset other than UTF-8, or the terminal is the Linux
/// console, whose fonts lack braille and most symbols.
pub fn wanted() -> bool {
    let of = |name: &str| std::env::var(name).ok();
    is_asked_for(of)
}

fn is_asked_for(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if set("TERM").as_deref() == Some("linux") {
        return true;
    }
    // The first one that is set counts. A locale without a charset, such as "C", says nothing about the terminal.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(set)
        .unwrap_or_default();
    let charset = locale
        .split_once('.')
        .map(|(_, rest)| rest.split('@').next().unwrap_or(rest));
    charset.is_some_and(|charset| !matches!(charset.to_ascii_lowercase().as_str(), "utf-8" | "utf8"))
}

/// The text with every character that is not ASCII replaced by a similar one.
pub fn text(text: &str) -> String {
    // Text has room for replacements of two columns.
    let text = text.replace('≥', ">=").replace('≤', "<=");
    text.chars().map(sign).collect()
}

/// Replaces the characters of a drawn screen.
pub(super) fn picture(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if !cell.symbol().is_ascii() {
            let c = cell.symbol().chars().next().map_or(' ', sign);
            cell.set_char(c);
        }
    }
}

/// The ASCII character for a character.
fn sign(c: char) -> char {
    match c {
        _ if c.is_ascii() => c,
        '─' | '–' | '—' | '−' | '‐' | '‑' => '-',
        '│' | '┃' | '┊' | '╵' | '╷' | '▏' => '|',
        '╌' => '~',
        '≠' => '!',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '┏' | '┓' | '┗' | '┛' | '╭' | '╮' | '╯' | '╰' | '═'
        | '║' | '╞' | '╪' | '╡' => '+',
        '✖' | '✗' => 'X',
        '✔' | '✓' => 'v',
        '▲' => '!',
        '▶' | '▸' | '→' | '›' | '»' => '>',
        '◀' | '←' | '‹' | '«' => '<',
        '↑' => '^',
        '↓' => 'v',
        '█' => '#',
        '▓' => '%',
        '▒' | '░' => ':',
        '▁' | '▂' | '⋅' | '·' | '…' => '.',
        '▃' | '▄' => '_',
        '▅' => '-',
        '▆' => '=',
        '▇' => '#',
        '▀' => '"',
        '●' | '◌' | '○' | '•' => 'o',
        '◼' | '■' => '#',
        '◆' => '@',
        '‖' | '━' => '=',
        'µ' | 'μ' => 'u',
        '×' => 'x',
        '≥' => '>',
        '≤' => '<',
        '±' | '⇄' => '+',
        'σ' => 's',
        '’' | '‘' => '\'',
        '“' | '”' => '"',
        '\u{a0}' | '\u{202f}' => ' ',
        '\u{2800}'..='\u{28ff}' => dots(c),
        _ => '?',
    }
}

/// The ASCII character for braille: the more dots, the darker.
fn dots(braille: char) -> char {
    match (u32::from(braille) & 0xff).count_ones() {
        0 => ' ',
        1 | 2 => '.',
        3 | 4 => ':',
        _ => '#',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(variables: &[(&str, &str)]) -> bool {
        is_asked_for(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_first_locale_that_is_set_says_the_charset() {
        assert!(!asked(&[]));
        assert!(!asked(&[("LANG", "C")]));
        assert!(!asked(&[("LC_ALL", "POSIX"), ("LANG", "de_DE.ISO-8859-1")]));
        assert!(!asked(&[("LANG", "C.UTF-8")]));
        assert!(!asked(&[("LANG", "en_GB.utf8@euro")]));
        assert!(asked(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(asked(&[("LC_CTYPE", "de_DE.ISO-8859-15@euro"), ("LANG", "C.UTF-8")]));
        assert!(!asked(&[
            ("LC_ALL", ""),
            ("LC_CTYPE", "C.UTF-8"),
            ("LANG", "ru_RU.KOI8-R")
        ]));
        assert!(asked(&[("TERM", "linux"), ("LANG", "C.UTF-8")]));
        assert!(!asked(&[("TERM", "xterm"), ("LANG", "C.UTF-8")]));
    }

    #[test]
    fn signs_are_replaced_and_the_rest_stays() {
        assert_eq!(text("│ ✖ 214 … ▲ 4 µs – 2×3 │\n"), "| X 214 . ! 4 us - 2x3 |\n");
        assert_eq!(
            text("oversold 1,400 (expected ≥ 400)"),
            "oversold 1,400 (expected >= 400)"
        );
        assert_eq!(text("⡀⣀⠶⣿⠀"), "..:# ");
        assert_eq!(text("漢字"), "??");
    }
}
