//! What fails, and what must follow from it.

/// What is broken, which decides what must follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The database of the arm `single` during the load: nothing good may be said of the arm.
    Database,
    /// Something is only slow.
    SlowDatabase,
    /// The set-up: an error, and no run.
    SetUp,
    /// The record: an error, a summary all the same, and not half a file.
    Record,
    SlowRecord,
    /// The summary: nobody can have read it.
    Stdout,
    /// Something that nobody needs: the progress.
    Aside,
}

impl Broken {
    fn named(name: &str) -> Self {
        match name {
            "Database" => Self::Database,
            "SlowDatabase" => Self::SlowDatabase,
            "SetUp" => Self::SetUp,
            "Record" => Self::Record,
            "SlowRecord" => Self::SlowRecord,
            "Stdout" => Self::Stdout,
            "Aside" => Self::Aside,
            other => panic!("{other} is nothing that breaks"),
        }
    }
}

/// Rules of the shim (`ROLE CALLS TARGET EFFECT AFTER FROM`), one per line, and what they break.
pub struct Case {
    pub name: &'static str,
    pub rule: String,
    pub broken: Broken,
    /// Whether every change is tested with it.
    pub sample: bool,
}

/// What is broken, its name, the rules. A star marks the sample. 5: EIO, 13: EACCES, 24: EMFILE, 28: ENOSPC, 30: EROFS.
const TABLE: &str = "\
* Database     | the database's disk is full in mid-load        | main wt arm-0.sqlite 28 1500 1
  Database     | the database's disk fails to write in mid-load | main wt arm-0.sqlite 5 1500 1
* Database     | the database's disk fails to read in mid-load  | main r arm-0.sqlite 5 1500 1
  Database     | the database's disk is full after the load     | main wt arm-0.sqlite 28 2500 1
  Database     | every call on the database fails               | main orwst arm-0.sqlite 5 1500 1
* SlowDatabase | the database writes slowly                     | main w arm-0.sqlite 0 1500 1
  SlowDatabase | the database reads slowly                      | main r arm-0.sqlite 0 1500 1
  SlowDatabase | the database is opened slowly                  | main o arm-0.sqlite 0 0 1
* SetUp        | the database can't be made                     | main o arm-0.sqlite 28 0 1
  SetUp        | the database is full in the set-up             | main w arm-0.sqlite 28 0 5
  SetUp        | the second arm's database can't be made        | main o arm-1.sqlite 13 0 1
* SetUp        | the run directory can't be made                | keeper m /lockstorm- 28 0 1
# The kernel's own calls create by descriptor, which the shim can't intercept. tests/lab/leftovers.rs tests a disk
# without room for a run directory or its lock file instead.
* SetUp        | the lock file can't be written                 | keeper w keeper.lock 28 0 1
  SetUp        | a server's log can't be made                   | keeper o .log 24 0 1
* Record       | the record's disk is full                      | main w .part 28 0 1
  Record       | the record's disk is full halfway              | main w .part 28 0 3
* Record       | the record can't be synced                     | main s .part 5 0 1
  Record       | the record can't be made                       | main o .part 28 0 1
  Record       | the record can't be made after the run         | main o .part 28 2500 1
* SlowRecord   | the record is written slowly                   | main wsn .part 0 0 1
* Stdout       | standard output fails                          | main w #1 5 0 1
  Stdout       | standard output's disk is full                 | main w #1 28 0 1
* Aside        | standard error fails                           | main w #2 5 0 1
  Aside        | standard error's disk is full                  | main w #2 28 0 1
  Aside        | standard error is slow                         | main w #2 0 0 1
# Only problems are logged.
* Database     | the database's disk is full, and the log's     | main wt arm-0.sqlite 28 1500 1; main w inside.log 28 0 1
  Database     | the database's disk is full, the log slow      | main wt arm-0.sqlite 28 1500 1; main w inside.log 0 0 1
";

pub fn all() -> Vec<Case> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    let case = |row: &'static str| {
        let [first, name, rules] = row.split(" | ").map(str::trim).collect::<Vec<_>>()[..] else {
            panic!("three columns: {row}");
        };
        let (star, broken) = first
            .strip_prefix('*')
            .map_or((false, first), |rest| (true, rest.trim()));
        Case {
            name,
            rule: rules.replace("; ", "\n"),
            broken: Broken::named(broken),
            sample: star,
        }
    };
    rows.map(case).collect()
}
