//! Colours and emphasis. Everything that a colour says, a symbol says too, so nothing is lost without colours.

use clap::ValueEnum;
use ratatui::style::{Color, Modifier, Style};

/// The themes, as the command line names them and in the order in which the key switches them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the help would list what stands here")]
pub enum ThemeName {
    // Light on dark.
    #[default]
    Dark,
    // Dark on light.
    Light,
    // Pure colours on black, everything bold.
    HighContrast,
}

impl ThemeName {
    pub(super) fn next(self) -> Self {
        let all = Self::value_variants();
        all[(self as usize + 1) % all.len()]
    }
}

/// The style of everything on the screen, by its meaning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Theme {
    pub name: ThemeName,
    pub colours: bool,
    /// Plain text, and the background of the whole screen.
    pub base: Style,
    /// Less important: units, rules, axes.
    pub dim: Style,
    /// Important.
    pub strong: Style,
    /// Titles and keys.
    pub accent: Style,
    /// The target of the next key.
    pub selected: Style,
    /// All right.
    pub good: Style,
    /// A fault, a refusal, a stampede: worth a look, but not damage.
    pub warn: Style,
    /// Proven damage, and nothing else.
    pub bad: Style,
    /// Proven damage drawn in blocks, which need no background.
    pub bad_block: Style,
    /// The line of the median.
    pub p50: Style,
    /// The line of the 99th percentile.
    pub p99: Style,
    /// The lines of other arms.
    pub curves: [Style; 5],
    /// A word on its own background: the phase.
    pub badge: Style,
}

impl Theme {
    /// The theme with this name; without colours, one that uses only bold, dim and reverse.
    pub fn new(name: ThemeName, colours: bool) -> Self {
        if !colours {
            return Self::plain(name);
        }
        match name {
            ThemeName::Dark => Self::coloured(
                name,
                [234, 252, 245, 255, 117, 114, 221, 203, 74, 177],
                24,
                [79, 180, 147, 109, 168],
            ),
            ThemeName::Light => Self::coloured(
                name,
                [231, 236, 242, 16, 25, 28, 130, 160, 24, 90],
                153,
                [30, 94, 62, 66, 132],
            ),
            ThemeName::HighContrast => {
                let palette = [16, 231, 250, 231, 51, 46, 226, 231, 51, 213];
                let mut theme = Self::coloured(name, palette, 21, [87, 229, 141, 159, 218]);
                // Words have a red background; blocks are red.
                theme.bad = theme.bad.bg(Color::Indexed(160));
                theme.bad_block = theme.bad_block.fg(Color::Indexed(196));
                theme.selected = Style::new().fg(Color::Indexed(16)).bg(Color::Indexed(226)).bold();
                for style in [&mut theme.base, &mut theme.good, &mut theme.warn, &mut theme.p50] {
                    *style = style.bold();
                }
                theme
            }
        }
    }

    /// A theme from palette indices: background, text, dim, strong, accent, good, warn, bad, p50, p99; badge; curves.
    fn coloured(name: ThemeName, palette: [u8; 10], badge: u8, curves: [u8; 5]) -> Self {
        let [ground, text, dim, strong, accent, good, warn, bad, p50, p99] = palette.map(Color::Indexed);
        let on_ground = |colour| Style::new().fg(colour).bg(ground);
        Self {
            name,
            colours: true,
            base: on_ground(text),
            dim: on_ground(dim),
            strong: on_ground(strong).bold(),
            accent: on_ground(accent),
            selected: Style::new().fg(ground).bg(accent).bold(),
            good: on_ground(good),
            warn: on_ground(warn),
            bad: on_ground(bad).bold(),
            bad_block: on_ground(bad).bold(),
            p50: on_ground(p50),
            p99: on_ground(p99).bold(),
            curves: curves.map(|index| on_ground(Color::Indexed(index))),
            badge: Style::new().fg(strong).bg(Color::Indexed(badge)).bold(),
        }
    }

    fn plain(name: ThemeName) -> Self {
        let plain = Style::new();
        Self {
            name,
            colours: false,
            base: plain,
            dim: plain.add_modifier(Modifier::DIM),
            strong: plain.bold(),
            accent: plain.bold(),
            selected: plain.reversed().bold(),
            good: plain,
            warn: plain.bold(),
            bad: plain.reversed().bold(),
            bad_block: plain.bold(),
            p50: plain,
            p99: plain.bold(),
            curves: [plain; 5],
            badge: plain.reversed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_the_chart_has_its_own_colour() {
        for name in ThemeName::value_variants() {
            let theme = Theme::new(*name, true);
            let colours = [
                theme.p50.fg,
                theme.p99.fg,
                theme.warn.fg,
                theme.bad_block.fg,
                theme.dim.fg,
            ];
            let colours = [colours.as_slice(), &theme.curves.map(|style| style.fg)].concat();
            for (index, colour) in colours.iter().enumerate() {
                assert!(!colours[..index].contains(colour), "{name:?}: {colours:?}");
            }
        }
    }
}
