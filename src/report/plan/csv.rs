//! The rows of a plan as CSV.

use std::fmt::Write as _;

use lockstorm_plan::{Basis, Plan};

/// The rows as CSV; times are in seconds.
pub fn plan_csv(plan: &Plan) -> String {
    let mut text = "ttl_s,renewal_s,p_overrun,p_overrun_low,p_overrun_high,basis,overlaps_per_day,takeover_mean_s,takeover_worst_s,\
                    pause_survived_s,restart_delay_s,unavailable_s,renewals_per_s,blocked_per_day_s,simulated_sections,simulated_overran,simulated_refused,simulated_two_holders,simulated_takeovers,simulated_takeover_mean_s,simulated_takeover_worst_s,fit,recommended\n"
        .to_owned();
    for (place, row) in plan.rows.iter().enumerate() {
        let seen = row.simulated.unwrap_or_default();
        let basis = match row.overrun.basis {
            Basis::Assumed => "assumed",
            Basis::Measured(_) => "measured",
            Basis::Extrapolated(_) => "extrapolated",
        };
        let _ = writeln!(
            text,
            "{},{},{:e},{:e},{:e},{basis},{:e},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            row.setting.ttl.as_secs_f64(),
            row.setting
                .interval()
                .map(|interval| interval.to_string())
                .unwrap_or_default(),
            row.overrun.p,
            row.overrun.low,
            row.overrun.high,
            row.overlaps_per_day.p,
            row.takeover_mean,
            row.takeover_worst,
            row.pause_survived,
            row.restart_delay,
            row.unavailable,
            row.renewals_per_second,
            row.blocked_per_day,
            seen.sections,
            seen.overran,
            seen.refused,
            seen.overlaps,
            seen.takeovers.count,
            seen.takeovers.mean(),
            seen.takeovers.worst,
            row.is_fit(),
            plan.choice.best() == Some(place),
        );
    }
    text
}
