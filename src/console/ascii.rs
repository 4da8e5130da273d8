//! Draws with ASCII characters only, for terminals that can't show others.

use ratatui::buffer::Buffer;

/// Whether the environment asks for ASCII: the locale is one whose charset is not UTF-8, like C, or the output is the Linux console,
/// whose fonts lack braille and most symbols.
pub fn wanted(is_terminal: bool) -> bool {
    let of = |name: &str| std::env::var(name).ok();
    is_asked_for(is_terminal, of)
}

fn is_asked_for(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if is_terminal && set("TERM").as_deref() == Some("linux") {
        return true;
    }
    // The first one that is set counts. Where none is, as in most containers, nothing is known of who reads this.
    let Some(locale) = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set) else {
        return false;
    };
    // `C`, `de_DE` and `de_DE.ISO-8859-1@euro` are not UTF-8; `UTF-8` alone is (macOS).
    let charset = locale.split_once('.').map_or(locale.as_str(), |(_, charset)| charset);
    let charset = charset.split('@').next().unwrap_or(charset);
    !matches!(charset.to_ascii_lowercase().as_str(), "utf-8" | "utf8")
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
        '≈' => '~',
        '╳' => 'x',
        '◷' => '@',
        '◐' => '%',
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
        is_asked_for(true, |name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_first_locale_that_is_set_says_the_charset() {
        assert!(!asked(&[]));
        assert!(asked(&[("LANG", "C")]) && asked(&[("LANG", "de_DE")]));
        assert!(asked(&[("LC_ALL", "POSIX"), ("LANG", "C.UTF-8")]));
        assert!(!asked(&[("LC_CTYPE", "UTF-8"), ("LANG", "C")]));
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
        assert!(!is_asked_for(false, |name| (name == "TERM").then(|| "linux".to_owned())));
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
