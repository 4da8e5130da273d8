use lockstorm_data::metrics::{Alarm, Figures, Metric};

/// What one figure says for or against its arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It has no meaning by itself.
    Plain,
    /// All right.
    Good,
    /// It proves nothing, or not yet.
    Pending,
    /// Not what one wants, but not damage.
    Poor,
    /// Worth a look, but perhaps right, like a refusal without a quorum.
    Notice,
    /// Proven damage.
    Damage,
    /// The arm has no such figure.
    Missing,
}

impl Mark {
    /// The mark of a figure that its arm has. A figure that proves nothing is never praised: it could not have shown, was lost, or never
    /// happened. `is_doubted`: whether nothing good can be said of the arm; `is_stuck`: whether it can't work now.
    pub fn new(metric: Metric, figures: &Figures, is_doubted: bool, is_stuck: bool) -> Self {
        let mark = match metric.row().alarm {
            Alarm::Plain => Self::Plain,
            Alarm::Damage(_) if metric.is_proven(figures) => Self::Damage,
            Alarm::Damage(evidence) if !(evidence.shows)(figures) => Self::Pending,
            _ if !metric.is_known(figures) => Self::Pending,
            Alarm::Poor(most) if metric.of(figures) > most => Self::Poor,
            // The arm does nothing now, so an earlier good value says nothing about what comes.
            Alarm::Poor(_) if is_stuck => Self::Notice,
            Alarm::Doubt if metric.of(figures) > 0.0 => Self::Notice,
            Alarm::Damage(_) | Alarm::Poor(_) | Alarm::Doubt => Self::Good,
        };
        let is_weak = is_doubted || figures.incomplete;
        if mark == Self::Good && is_weak {
            Self::Pending
        } else {
            mark
        }
    }

    /// Its symbol of one character.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Good => "✔",
            Self::Pending => "…",
            Self::Poor | Self::Damage => "✖",
            Self::Notice => "!",
            Self::Plain | Self::Missing => " ",
        }
    }
}
