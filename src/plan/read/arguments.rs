//! Distributions, rates and pauses as they are written on the command line.

use std::time::Duration;

use crate::pauses::{Outages, Pauses};
use crate::question::Risk;
use crate::seconds::{DAY, MAX_SECONDS};
use crate::simulate::Extent;
use crate::spread::Spread;
use crate::surroundings::{ClockJumps, NodeCrashes};
use lockstorm_data::metrics::units::rounded;

/// The most sections that are played.
pub const MOST_SECTIONS: f64 = 1e9;

/// Round trips between a client and a node: assumed medians and deviations, of the order that cloud providers publish and users
/// measure. Your own are better: `redis-cli --latency`, or a record.
const NETWORKS: [(&str, f64, f64); 4] = [
    ("local", 0.000_1, 0.3),
    ("same-az", 0.000_4, 0.4),
    ("cross-az", 0.001_2, 0.4),
    ("cross-region", 0.065, 0.15),
];

/// A duration (`20ms`), `lognormal:MEDIAN,SIGMA`, or `uniform:LEAST..MOST`, where no least is 0.
///
/// # Errors
/// It is none of them; the error says what would be right.
pub fn spread(text: &str) -> Result<Spread, String> {
    if let Some(ends) = text.strip_prefix("uniform:") {
        return uniform(ends);
    }
    let Some(parameters) = text.strip_prefix("lognormal:") else {
        return Ok(Spread::Constant(seconds(text).map_err(|why| {
            format!(
                "{why}; write a duration (20ms), lognormal:MEDIAN,SIGMA (lognormal:20ms,0.6) or uniform:LEAST..MOST \
                 (uniform:10min..25min)"
            )
        })?));
    };
    let (median, sigma) = parameters
        .split_once(',')
        .ok_or_else(|| format!("\"{text}\" has no sigma; write it like lognormal:20ms,0.6"))?;
    let median = seconds(median)?;
    match sigma.trim().parse::<f64>() {
        Ok(sigma) if sigma > 0.0 && sigma <= 5.0 => Ok(Spread::LogNormal { median, sigma }),
        Ok(0.0) => Ok(Spread::Constant(median)),
        _ => Err(format!(
            "\"{sigma}\" is not a sigma; write a number above 0 and up to 5"
        )),
    }
}

/// Each length between two ends is equally likely: `10min..25min`, `..1.5s`.
fn uniform(ends: &str) -> Result<Spread, String> {
    let (least, most) = ends.split_once("..").ok_or_else(|| {
        format!("\"{ends}\" is no range; write it like uniform:10min..25min, or uniform:..1.5s from 0 on")
    })?;
    let least = match least.trim() {
        "" | "0" | "0s" => 0.0,
        least => seconds(least)?,
    };
    let most = seconds(most)?;
    if least >= most {
        return Err(format!(
            "\"{ends}\" ends before it begins; write the shorter time first"
        ));
    }
    Ok(Spread::Uniform { least, most })
}

/// A duration above zero, in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    if text.trim_start().starts_with('-') {
        return Err(format!("\"{text}\" is negative"));
    }
    match humantime::parse_duration(text.trim())
        .as_ref()
        .map(Duration::as_secs_f64)
    {
        Ok(seconds) if seconds > 0.0 && seconds <= MAX_SECONDS => Ok(seconds),
        Ok(0.0) => Err(format!("\"{text}\" is no time at all")),
        Ok(_) => Err(format!("\"{text}\" is longer than a year")),
        Err(_) => Err(format!("\"{text}\" is not a duration")),
    }
}

/// A network by its name, or what [`spread`] takes.
///
/// # Errors
/// It is neither.
pub fn network(text: &str) -> Result<Spread, String> {
    match NETWORKS.iter().find(|(name, ..)| *name == text) {
        Some(&(_, median, sigma)) => Ok(Spread::LogNormal { median, sigma }),
        None => spread(text).map_err(|why| {
            let names: Vec<&str> = NETWORKS.iter().map(|(name, ..)| *name).collect();
            format!("{why}, or one of {}", names.join(", "))
        }),
    }
}

/// Something that happens so often: `200/s`, `3/min`, `1/h`, `0.5/day`, `1/week`, `1/month` (30 days), `2/year`; in times a second.
///
/// # Errors
/// It is not a rate.
pub fn per_second(text: &str) -> Result<f64, String> {
    let wrong =
        || format!("\"{text}\" is not a rate; write it like 200/s, 3/min, 1/h, 0.5/day, 1/week, 1/month or 1/year");
    let (number, unit) = text.trim().split_once('/').ok_or_else(wrong)?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "day" => DAY,
        "week" => 7.0 * DAY,
        "month" => 30.0 * DAY,
        "year" => 365.0 * DAY,
        _ => return Err(wrong()),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if (0.0..=1e9).contains(&number) => Ok(number / seconds),
        _ => Err(wrong()),
    }
}

/// Something that happens, as [`per_second`] reads it.
///
/// # Errors
/// It is not a rate, or it is never.
pub fn happening(text: &str) -> Result<f64, String> {
    match per_second(text)? {
        never if never <= 0.0 => Err(format!("\"{text}\" is never; write a rate above 0")),
        often => Ok(often),
    }
}

/// The overlaps that may happen: a rate above 0 (`1/month`), or the part of all sections (`0.1%`, `1e-3`), below 1.
///
/// # Errors
/// It is neither.
pub fn risk(text: &str) -> Result<Risk, String> {
    let text = text.trim();
    let number = |text: &str| text.trim().parse::<f64>();
    let part = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    match part {
        Ok(part) if part > 0.0 && part < 1.0 => Ok(Risk::OfSections(part)),
        Ok(_) => Err(format!(
            "\"{text}\" is no part of the sections; write one above 0 and below 1 (0.1%, 1e-3), or a rate (1/month)"
        )),
        Err(_) => happening(text).map(Risk::PerSecond),
    }
}

/// How often a quorum of the lock nodes can't be reached, and for how long: `2/month,30s`.
///
/// # Errors
/// The rate or the length is wrong.
pub fn outages(text: &str) -> Result<Outages, String> {
    let wrong = "does not say how long an outage lasts; write it like 2/month,30s";
    let (rate, length) = text.split_once(',').ok_or_else(|| format!("\"{text}\" {wrong}"))?;
    Ok(Outages {
        per_second: happening(rate)?,
        length: spread(length)?,
    })
}

/// How often a lock node crashes and for how long it stays away, after which it has forgotten its keys: `2/day,10s`; or has kept
/// them: `2/day,10s,keeps`.
///
/// # Errors
/// The rate or the length is wrong.
pub fn node_crashes(text: &str) -> Result<NodeCrashes, String> {
    let wrong = "does not say how long a node stays away; write it like 2/day,10s or 2/day,10s,keeps";
    let (per_second, away, keeps) = often(text, ",keeps", wrong, "the crashes of nodes")?;
    Ok(NodeCrashes {
        per_second,
        away,
        keeps,
    })
}

/// How often something happens and how long it is, and whether the text ends with this word.
fn often(text: &str, ending: &str, wrong: &str, what: &str) -> Result<(f64, Spread, bool), String> {
    let (rate, length) = text.split_once(',').ok_or_else(|| format!("\"{text}\" {wrong}"))?;
    let per_second = per_second(rate)?;
    if per_second <= 0.0 {
        return Err(format!("\"{rate}\" is never; leave {what} out"));
    }
    let without = length.strip_suffix(ending);
    Ok((per_second, spread(without.unwrap_or(length))?, without.is_some()))
}

/// How often the clock of a lock node jumps and how far: forward by `1/day,2s`, back by `1/day,2s,back`.
///
/// # Errors
/// It is not that.
pub fn clock_jumps(text: &str) -> Result<ClockJumps, String> {
    let wrong = "does not say how far a clock jumps; write it like 1/day,2s or 1/day,2s,back";
    let (per_second, by, back) = often(text, ",back", wrong, "the jumps of clocks")?;
    Ok(ClockJumps { per_second, by, back })
}

/// How much is played: a number of sections, up to 1e9, or a time, up to a year.
///
/// # Errors
/// It is neither.
pub fn extent(text: &str) -> Result<Extent, String> {
    match text.parse::<f64>() {
        Ok(sections) if (1.0..=MOST_SECTIONS).contains(&sections) && sections.fract() == 0.0 => {
            Ok(Extent::Sections(rounded(sections)))
        }
        Ok(_) => Err("write a whole number from 1 to 1e9, or a time like 7d".to_owned()),
        Err(_) => seconds(text)
            .map(|seconds| Extent::Time(Duration::from_secs_f64(seconds)))
            .map_err(|why| format!("{why}; write a number of sections from 1 to 1e9, or a time like 7d")),
    }
}

/// How often an app server pauses and for how long: `1/h,lognormal:100ms,1`; or `none`.
///
/// # Errors
/// The rate or the length is wrong.
pub fn pauses(text: &str) -> Result<Pauses, String> {
    if text == "none" {
        return Ok(Pauses {
            per_second: 0.0,
            length: Spread::Constant(0.0),
            in_holds: false,
        });
    }
    let (rate, length) = text
        .split_once(',')
        .ok_or_else(|| format!("\"{text}\" has no length; write it like 1/h,lognormal:100ms,1 or 3/day,2s"))?;
    Ok(Pauses {
        per_second: per_second(rate)?,
        length: spread(length)?,
        in_holds: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_networks_rates_and_pauses() {
        assert_eq!(spread("20ms"), Ok(Spread::Constant(0.020)));
        let log_normal = Spread::LogNormal {
            median: 0.020,
            sigma: 0.6,
        };
        assert_eq!(spread("lognormal:20ms,0.6"), Ok(log_normal.clone()));
        assert_eq!(spread("lognormal:20ms,0"), Ok(Spread::Constant(0.020)));
        assert!(matches!(network("cross-az"), Ok(Spread::LogNormal { .. })));
        assert_eq!(network("2ms"), Ok(Spread::Constant(0.002)));
        assert_eq!(
            ["120/min", "200/s", "3600/h"].map(per_second),
            [Ok(2.0), Ok(200.0), Ok(1.0)]
        );
        let often = pauses("3600/h,lognormal:20ms,0.6");
        assert_eq!(
            often,
            Ok(Pauses {
                per_second: 1.0,
                length: log_normal,
                in_holds: false,
            })
        );
        assert_eq!(
            ["uniform:10min..25min", "uniform:..1.5s", "uniform:0s..1.5s"].map(spread),
            [(600.0, 1500.0), (0.0, 1.5), (0.0, 1.5)].map(|(least, most)| Ok(Spread::Uniform { least, most }))
        );
        assert_eq!(spread("1.5s"), Ok(Spread::Constant(1.5)));
        assert_eq!(
            ["0.1%", "1e-3", "864/day"].map(risk),
            [Risk::OfSections(0.001), Risk::OfSections(0.001), Risk::PerSecond(0.01)].map(Ok)
        );
        assert_eq!(
            outages("1/week,30s").map(|outages| (outages.per_second * 604_800.0, outages.length)),
            Ok((1.0, Spread::Constant(30.0)))
        );
        assert_eq!(pauses("none").map(|pauses| pauses.per_second), Ok(0.0));
        let jumps = |by, back| ClockJumps {
            per_second: 1.0,
            by: Spread::Constant(by),
            back,
        };
        assert_eq!(clock_jumps("3600/h,2s"), Ok(jumps(2.0, false)));
        assert_eq!(clock_jumps("1/s,20ms,back"), Ok(jumps(0.02, true)));
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        for text in [
            "",
            "20",
            "-1s",
            "0s",
            "9000years",
            "lognormal:20ms",
            "lognormal:20ms,-1",
            "lognormal:20ms,x",
            "normal:1s,1",
        ] {
            assert!(
                spread(text).is_err_and(|line| line.contains(text) || text.contains(',')),
                "{text}"
            );
        }
        assert!(network("same-zone").is_err_and(|line| line.contains("same-az")));
        for text in ["", "5", "5/fortnight", "-1/s", "x/s", "NaN/s", "1e99/s"] {
            assert!(per_second(text).is_err(), "{text}");
        }
        assert!(happening("0/s").is_err_and(|line| line.contains("never")));
        for text in ["0", "0%", "1", "150%", "-1%", "NaN", "0/day", "often"] {
            assert!(risk(text).is_err(), "{text}");
        }
        for text in ["25min..10min", "10min", "10min..", "..0s", "a..b"] {
            assert!(uniform(text).is_err(), "{text}");
        }
        assert!(outages("2/month").is_err() && outages("0/month,30s").is_err());
        assert!(pauses("1/h").is_err() && pauses("2s").is_err() && pauses("1/h,0s").is_err());
    }
}
