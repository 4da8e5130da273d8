//! The source of a scenario's text.

use std::io::ErrorKind;
use std::path::Path;

use super::builtin;
use super::error::ScenarioError;
use super::suggest;
use lockstorm_base::input;

/// The largest scenario in MB.
const LARGEST: u64 = 1;

/// The text of a scenario, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name in errors: the path, or the name of the built-in scenario.
    pub name: String,
    /// The TOML.
    pub text: String,
}

/// What every scenario must have, and what means nothing where it is not played.
const REST: &str = r#"
[workload]
kind = "inventory"
products = 1
stock = 1
hold = "1ms"

[[arm]]
name = "program"
lock = "none"
"#;

/// An arm with a master and replicas.
const REPLICATED: &str = r#"
[[arm]]
name = "master"
lock = "single"
topology = "replicated"
"#;

impl Source {
    /// A scenario of which nothing matters but its name.
    pub fn bare(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: REST.to_owned(),
        }
    }

    /// The same for someone who wants its faults alone: a file of nothing else is whole then.
    #[must_use]
    pub fn for_its_faults(mut self) -> Self {
        let has = |key: &str| {
            self.text
                .parse::<toml::Table>()
                .is_ok_and(|table| table.contains_key(key))
        };
        if !has("workload") && !has("arm") {
            self.text += REST;
            // There may be a master to break.
            self.text += REPLICATED;
        }
        self
    }

    /// Opens a built-in scenario by its name, or a file by its path, which may lack its `.toml`.
    ///
    /// # Errors
    /// Neither exists (the error has the nearest built-in name), or the file is a directory, unreadable, not text, or
    /// empty.
    pub fn open(spec: &str) -> Result<Self, ScenarioError> {
        if let Some(builtin) = builtin::find(spec) {
            return Ok(Self {
                name: builtin.name.to_owned(),
                text: builtin.text.to_owned(),
            });
        }
        let ended = format!("{spec}.toml");
        let name = if !Path::new(spec).exists() && Path::new(&ended).is_file() {
            ended
        } else {
            spec.to_owned()
        };
        let bytes = read(&name)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = String::from_utf8_lossy(&error.as_bytes()[..at]).matches('\n').count() + 1;
            ScenarioError::new(
                format!("{name}:{line}"),
                "is not UTF-8 text; save the scenario as UTF-8",
            )
        })?;
        if text.trim().is_empty() {
            let cure = "`lockstorm scenarios show single-vs-redlock` prints one to start from";
            return Err(ScenarioError::new(name, format!("is empty; {cure}")));
        }
        // TOML never begins like this, but a record does.
        if text.trim_start().starts_with('{') {
            let cure =
                format!("if it is a record, `jq -r .scenario_toml {name} > again.toml` writes its scenario down");
            return Err(ScenarioError::new(&name, format!("is JSON, not a scenario; {cure}")));
        }
        Ok(Self { name, text })
    }

    /// The name of the file without its extension.
    pub(super) fn stem(&self) -> String {
        let file = Path::new(&self.name)
            .file_name()
            .map_or(self.name.clone(), |file| file.to_string_lossy().into());
        file.strip_suffix(".toml").map_or(file.clone(), str::to_owned)
    }
}

fn read(name: &str) -> Result<Vec<u8>, ScenarioError> {
    let wrong = |message: String| ScenarioError::new(name, message);
    if name.is_empty() {
        return Err(ScenarioError::new(
            "\"\"",
            "is not a scenario; `lockstorm scenarios` lists them",
        ));
    }
    if Path::new(name).is_dir() {
        return Err(wrong("is a directory; name a file in it".to_owned()));
    }
    match input::open(Path::new(name)).and_then(|file| input::whole(&file, LARGEST)) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let file = Path::new(name)
                .file_name()
                .map_or(name.into(), |file| file.to_string_lossy());
            let names = builtin::ALL.iter().map(|builtin| builtin.name);
            let near = suggest::meant(file.trim_end_matches(".toml"), names);
            Err(wrong(format!(
                "is neither a built-in scenario nor a file{near} (`lockstorm scenarios` lists them)"
            )))
        }
        Err(error) => Err(wrong(format!("cannot be read: {error}"))),
    }
}
