//! `lockstorm sweep`: a scenario, played with other settings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lockstorm::report::{RecordFile, render_sweep};
use lockstorm_base::Stop;
use lockstorm_data::scenario::{Overrides, Scenario, Source, WorkloadSpec, parse, warnings};
use lockstorm_lab::{ServerBinary, check_temp_dir};
use lockstorm_plan::sweep::{
    Cell, Grid, Journal, JournalError, Outcome, Scale, Search, all_held, start, tradeoffs, while_expectations,
};
use lockstorm_run::{Ended, headless};
use serde_json::json;

use super::load::{overrides, room};
use super::print::{ended, plot_room, print_result};
use super::{consent, server};
use crate::cli::{Look, SweepArgs};
use crate::failure::{Failure, tell, warn};

/// What a play takes besides its measured part: the lab's start, the draining, the closing of the books.
const AROUND: Duration = Duration::from_secs(4);

/// Plays every setting that has no result yet, and prints what all of them gave.
pub fn sweep(args: &SweepArgs, look: Look) -> Result<ExitCode, Failure> {
    let Played {
        cells,
        outcomes,
        workload,
        path,
        stop,
        found,
    } = play(args)?;
    let tradeoffs = tradeoffs(&cells, &outcomes, &workload);
    let result = json!({
        "rows": tradeoffs,
        "found": found,
        "results": path.display().to_string(),
    });
    let text = |paint| {
        let mut text = render_sweep(&tradeoffs, paint, plot_room());
        if let Some(found) = &found {
            text += &format!("\n{found}\n");
        }
        text + &format!("\nevery figure of every play: {}\n", path.display())
    };
    let printed = print_result(args.json, &result, text, look);
    ended(stop, printed)
}

/// Plays every setting that has no result yet.
pub(super) fn play(args: &SweepArgs) -> Result<Played, Failure> {
    let source = Source::open(&args.scenario).map_err(Failure::usage)?;
    let others = overrides(&args.play.changes);
    let base = parse(&source, &others).map_err(Failure::usage)?;
    // All mistakes are found before anything is started.
    let conditions = match &args.condition {
        Some(condition) => while_expectations(condition, &base).map_err(Failure::usage)?,
        None => Vec::new(),
    };
    let stage = ToPlay {
        source,
        others,
        repeat: u64::from(args.repeat),
        base,
        conditions,
        records: args.records.clone(),
        quiet: args.quiet,
    };
    let grid = Grid::of(&args.over).map_err(Failure::usage)?;
    let first = args.find_max.as_deref().map(|key| {
        let (first, scale) = start(key, &stage.base).map_err(Failure::usage)?;
        Ok::<_, Failure>(Cell(vec![(key.to_owned(), scale.write(first))]))
    });
    let first = first.transpose()?;
    let cells = || grid.cells.iter().chain(&first);
    cells().try_for_each(|cell| stage.scenario(cell, stage.base.seed).map(drop))?;
    check_temp_dir().map_err(Failure::usage)?;
    let doubts = consent::admit(&stage.base, &args.play, consent::can_ask())?;
    let server = server::find(&args.play.nodes)?;
    let path = args
        .out
        .clone()
        .unwrap_or_else(|| named_after(&args.scenario, "sweep.jsonl"));
    if let Some(dir) = &stage.records {
        records_in(dir, fs::metadata(&path).is_ok_and(|there| there.len() > 0)).map_err(Failure::usage)?;
    }
    cells().try_for_each(|cell| stage.file(cell, stage.base.seed).map(drop))?;
    let identity = [stage.base.to_toml(), stage.conditions.join("\n")].join("\n");
    let mut journal = Journal::open(&path, identity).map_err(|error| match error {
        JournalError::Busy(_) => Failure::error(error),
        _ => Failure::usage(error),
    })?;
    warn(warnings(&stage.base).iter().chain(&doubts));
    let (cells, stop, found) = match &args.find_max {
        Some(key) => search(&stage, key, &server, &mut journal)?,
        None => list(&stage, grid, &server, &mut journal)?,
    };
    if stop.is_some() {
        tell("interrupted: the run under way is dropped, and the same command goes on from here");
    }
    Ok(Played {
        cells,
        outcomes: journal.outcomes,
        workload: stage.base.workload,
        path,
        stop,
        found,
    })
}

/// A name in the current directory that says which scenario it is about: `failover.runs`.
pub(super) fn named_after(scenario: &str, ending: &str) -> PathBuf {
    let name = Path::new(scenario)
        .file_stem()
        .map_or(scenario.into(), |stem| stem.to_string_lossy());
    PathBuf::from(format!("{name}.{ending}"))
}

/// Makes the directory of the records, which must be empty unless the sweep `goes_on`.
fn records_in(dir: &Path, goes_on: bool) -> Result<(), String> {
    let read = fs::create_dir_all(dir).and_then(|()| fs::read_dir(dir));
    let cannot = |error| format!("cannot keep records in {}: {error}", dir.display());
    match read.map_err(cannot)?.next() {
        Some(_) if !goes_on => Err(format!(
            "{} is not empty, and this sweep is new: name another directory for its records",
            dir.display()
        )),
        _ => Ok(()),
    }
}

/// What is played.
struct ToPlay {
    source: Source,
    others: Overrides,
    base: Scenario,
    /// What must hold, as expectations, if the largest value is looked for.
    conditions: Vec<String>,
    repeat: u64,
    /// The directory that gets the record of each play.
    records: Option<PathBuf>,
    quiet: bool,
}

/// What was played until now.
pub(super) struct Played {
    pub cells: Vec<Cell>,
    pub outcomes: Vec<Outcome>,
    workload: WorkloadSpec,
    /// The file of the results.
    path: PathBuf,
    /// The signal that ended it.
    pub stop: Option<Stop>,
    /// What a search found.
    found: Option<String>,
}

/// The cells that were played, the signal that ended it, and what a search found.
type Ways = (Vec<Cell>, Option<Stop>, Option<String>);

impl ToPlay {
    /// The scenario of a cell.
    fn scenario(&self, cell: &Cell, seed: u64) -> Result<Scenario, Failure> {
        let mut changed = cell.overrides(&self.base, &self.others);
        changed.set.extend(self.conditions.iter().cloned());
        changed.seed = Some(seed);
        let scenario =
            parse(&self.source, &changed).map_err(|errors| Failure::usage(format!("with {cell}: {errors}")))?;
        room(&scenario).map_err(|why| Failure::usage(format!("with {cell}: {why}")))?;
        Ok(scenario)
    }

    /// The file for the record of a cell's play, if it is to be kept.
    fn file(&self, cell: &Cell, seed: u64) -> Result<Option<RecordFile>, Failure> {
        let file = |dir: &PathBuf| RecordFile::check(&dir.join(cell.file_name(seed)));
        self.records.as_ref().map(file).transpose().map_err(Failure::usage)
    }

    fn seeds(&self) -> impl Iterator<Item = u64> {
        let first = self.base.seed;
        (0..self.repeat).map(move |repeat| first.wrapping_add(repeat))
    }

    /// The plays that have no result yet: all cells with one seed, then with the next one the other way round (A B B A), so that a
    /// drift of the machine is the same for all.
    fn missing<'a>(&self, cells: &'a [Cell], journal: &Journal) -> Vec<(&'a Cell, u64)> {
        let mut plays = Vec::new();
        for (round, seed) in self.seeds().enumerate() {
            let mut of_seed: Vec<(&Cell, u64)> = cells.iter().map(|cell| (cell, seed)).collect();
            if round % 2 == 1 {
                of_seed.reverse();
            }
            plays.extend(of_seed);
        }
        plays.retain(|(cell, seed)| !journal.has(cell, *seed));
        plays
    }

    /// Plays a cell with a seed. Returns the signal that ended it.
    fn play(
        &self,
        cell: &Cell,
        seed: u64,
        server: &ServerBinary,
        journal: &mut Journal,
    ) -> Result<Option<Stop>, Failure> {
        let (scenario, file) = (self.scenario(cell, seed)?, self.file(cell, seed)?);
        let played = headless(scenario, server::options(server), |_| ());
        match played.map_err(|error| Failure::error(format!("with {cell}: {error}")))? {
            Ended::Abandoned(stop) | Ended::Finished(_, Some(stop)) => return Ok(Some(stop)),
            Ended::Finished(record, None) => {
                // First, so that a play with a result has its record.
                let written = file.map_or(Ok(()), |file| file.write(&record));
                written.map_err(Failure::error)?;
                let outcome = Outcome::of(cell.clone(), *record);
                journal.keep(outcome).map_err(Failure::error)?;
            }
        }
        Ok(None)
    }

    fn tell(&self, line: &str) {
        if !self.quiet {
            tell(line);
        }
    }
}

fn list(stage: &ToPlay, grid: Grid, server: &ServerBinary, journal: &mut Journal) -> Result<Ways, Failure> {
    let plays = stage.missing(&grid.cells, journal);
    if !journal.outcomes.is_empty() {
        stage.tell(&format!(
            "{} results are there already, {} are missing",
            journal.outcomes.len(),
            plays.len()
        ));
    }
    // A first guess, and then the mean of what was played.
    let mut each = stage.base.warmup + stage.base.duration + AROUND;
    let (begun, mut stop) = (Instant::now(), None);
    for (done, (cell, seed)) in plays.iter().enumerate() {
        let left = u32::try_from(plays.len() - done).unwrap_or(u32::MAX);
        let rest = humantime::format_duration(Duration::from_secs((each * left).as_secs()));
        let seed_too = if stage.repeat > 1 {
            format!(", seed {seed}")
        } else {
            String::new()
        };
        stage.tell(&format!(
            "{cell}{seed_too} ({} of {}), about {rest} left",
            done + 1,
            plays.len()
        ));
        stop = stage.play(cell, *seed, server, journal)?;
        if stop.is_some() {
            break;
        }
        each = begun.elapsed() / u32::try_from(done + 1).unwrap_or(u32::MAX);
    }
    Ok((grid.cells, stop, None))
}

fn search(stage: &ToPlay, key: &str, server: &ServerBinary, journal: &mut Journal) -> Result<Ways, Failure> {
    let (first, scale) = start(key, &stage.base).map_err(Failure::usage)?;
    let mut search = Search::from(first, scale != Scale::Rate);
    let mut limit = None;
    let mut cells: Vec<Cell> = Vec::new();
    while let Some(value) = search.next() {
        let cell = Cell(vec![(key.to_owned(), scale.write(value))]);
        // A scenario that is refused ends the search, which must not throw away what it has found.
        if let Err(refused) = stage.scenario(&cell, stage.base.seed) {
            if search.found() == (None, None) {
                return Err(refused);
            }
            limit = Some(refused.message().to_owned());
            break;
        }
        if let (held, Some(failed)) = search.found() {
            let held = held.map_or_else(|| "none".to_owned(), |held| held.to_string());
            stage.tell(&format!("{cell}; until now {held} holds and {failed} fails"));
        } else {
            stage.tell(&cell.to_string());
        }
        if !cells.contains(&cell) {
            cells.push(cell.clone());
        }
        for (cell, seed) in stage.missing(std::slice::from_ref(&cell), journal) {
            let stop = stage.play(cell, seed, server, journal)?;
            if stop.is_some() {
                return Ok((cells, stop, None));
            }
        }
        let mut of_cell = journal.outcomes.iter().filter(|outcome| outcome.cell == cell);
        let held = of_cell.all(|outcome| all_held(&stage.conditions, &outcome.failed));
        search.tell(value, held);
    }
    let found = match search.found() {
        (Some(held), None) if let Some(why) = &limit => format!("{key} {held} still held; more can't be tried: {why}"),
        (Some(held), Some(failed)) => format!("{key} {held} is the largest that held; {failed} failed"),
        (Some(held), None) => format!("{key} {held} still held; the search ends there"),
        (None, _) => format!("no {key} held, down to the smallest that was tried"),
    };
    Ok((cells, None, Some(found)))
}
