//! Checks the shape of the packages where the compiler doesn't: no two files of a package use each other, directly or through
//! others; a file that declares modules has no code; the engine's protocol uses only `std`; and each `use` names items of one
//! module.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Item, UseTree, Visibility};

/// The folder of each package with code of its own, and what of it belongs to others. Their order is the compiler's business.
const PACKAGES: &[(&str, &[&str])] = &[
    (
        "src",
        &[
            "base", "bench", "data", "etcd", "grade", "judge", "lab", "lock", "plan", "run", "selftest",
        ],
    ),
    ("src/base", &[]),
    ("src/bench", &[]),
    ("src/data", &[]),
    ("src/etcd", &["tests"]),
    ("src/grade", &[]),
    ("src/judge", &["tests"]),
    ("src/lab", &["tests"]),
    ("src/lock", &["examples", "tests"]),
    ("src/lock/tests/kit", &[]),
    ("src/plan", &[]),
    ("src/run", &["tests"]),
    ("src/selftest", &["tests"]),
    ("tests/kit", &["examples"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The lock engine, without its tests.
fn engine() -> Package {
    Package::read(&root().join("src/lock"), &["examples", "tests"])
}

fn packages() -> Vec<Package> {
    let read = |(folder, but): &(&str, &[&str])| Package::read(&root().join(folder), but);
    PACKAGES.iter().map(read).collect()
}

/// The modules of one package by their paths, each a file.
struct Package {
    modules: BTreeMap<Vec<String>, Module>,
}

#[derive(Default)]
struct Module {
    file: PathBuf,
    /// Names that others find here, but that are declared elsewhere: the name, and its path as written.
    exports: Vec<(String, Vec<String>)>,
    /// All paths that are written here, outside tests.
    paths: Vec<Vec<String>>,
    /// Whether it has code of its own, besides modules and uses.
    has_code: bool,
}

impl Package {
    /// Reads all files of the package in this directory, without the packages and programs inside it.
    fn read(directory: &Path, but: &[&str]) -> Self {
        let mut modules = BTreeMap::new();
        let mut left = vec![directory.to_owned()];
        while let Some(directory_now) = left.pop() {
            for entry in fs::read_dir(&directory_now).unwrap() {
                let path = entry.unwrap().path();
                let inner = path.strip_prefix(directory).unwrap();
                if but.iter().any(|name| inner == Path::new(name)) || path.join("Cargo.toml").exists() {
                    continue;
                }
                if path.is_dir() {
                    left.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let names = inner.with_extension("");
                    let mut names: Vec<_> = names.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
                    if names.last().is_some_and(|last| last == "mod" || names == ["lib"]) {
                        names.pop();
                    }
                    modules.insert(names, Module::read(&path));
                }
            }
        }
        Self { modules }
    }

    /// The module that declares the item that this path names in `module`; `None` if it is not of this package.
    fn resolve(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        self.resolve_telling(module, path, &mut Vec::new())
    }

    /// The same, and notes which names were found only where a module above hands them on.
    fn resolve_telling(
        &self,
        module: &[String],
        path: &[String],
        upward: &mut Vec<Vec<String>>,
    ) -> Option<Vec<String>> {
        let mut here = module.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                here.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    here.pop();
                    rest = &rest[1..];
                }
            }
            // An item of this module, of `std` or of another package.
            _ => return None,
        }
        while let Some((name, behind)) = rest.split_first() {
            let below: Vec<_> = here.iter().chain([name]).cloned().collect();
            if self.modules.contains_key(&below) {
                here = below;
                rest = behind;
                continue;
            }
            let exports = &self.modules.get(&here)?.exports;
            // What this module hands on to others is none of its own.
            if module != here && module.starts_with(&here) && exports.iter().any(|(exported, _)| exported == name) {
                upward.push(join(&here, name));
            }
            if let Some((_, path)) = exports.iter().find(|(exported, _)| exported == name) {
                // `pub use name::Thing` names a module below, without `self`.
                let own = path
                    .first()
                    .is_some_and(|first| self.modules.contains_key(&join(&here, first)));
                let path: Vec<_> = own.then(|| "self".to_owned()).into_iter().chain(path.clone()).collect();
                return self.resolve(&here, &path).or(Some(here));
            }
            break;
        }
        Some(here)
    }

    /// The modules that each module uses.
    fn uses(&self) -> BTreeMap<&[String], BTreeSet<Vec<String>>> {
        self.modules
            .iter()
            .map(|(name, module)| {
                let used = module.paths.iter().filter_map(|path| self.resolve(name, path));
                (name.as_slice(), used.filter(|used| used != name).collect())
            })
            .collect()
    }
}

fn join(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

impl Module {
    fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap();
        let mut module = Self::parse(&text);
        file.clone_into(&mut module.file);
        module
    }

    fn parse(text: &str) -> Self {
        let parsed = syn::parse_file(text).unwrap();
        let mut module = Self::default();
        for item in &parsed.items {
            match item {
                Item::Use(item) => {
                    let mut found = Vec::new();
                    flatten(&item.tree, &mut Vec::new(), &mut found);
                    if !matches!(item.vis, Visibility::Inherited) {
                        let name = |path: &Vec<String>| path.last().cloned().unwrap_or_default();
                        module
                            .exports
                            .extend(found.iter().map(|path| (name(path), path.clone())));
                    }
                }
                Item::Mod(item) if item.content.is_none() => {}
                _ => module.has_code = true,
            }
        }
        Paths(&mut module.paths).visit_file(&parsed);
        module
    }
}

/// Collects all paths outside tests.
struct Paths<'a>(&'a mut Vec<Vec<String>>);

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = |attribute: &syn::Attribute| {
            attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Path>()
                    .is_ok_and(|path| path.is_ident("test"))
        };
        if !item.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        flatten(&item.tree, &mut Vec::new(), self.0);
    }

    // A restricted visibility is not a use.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0
            .push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

/// The paths of a `use`, one by one, with the names before any `as`.
fn flatten(tree: &UseTree, before: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let end = |name: String, before: &[String]| match name.as_str() {
        "self" => before.to_vec(),
        _ => join(before, &name),
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, found);
            before.pop();
        }
        UseTree::Name(name) => found.push(end(name.ident.to_string(), before)),
        UseTree::Rename(name) => found.push(end(name.ident.to_string(), before)),
        UseTree::Glob(_) => found.push(before.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, found)),
    }
}

#[test]
fn every_package_is_looked_at() {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    for member in members {
        let member = member.as_str().unwrap();
        assert!(
            PACKAGES.iter().any(|(folder, _)| *folder == member),
            "{member} is not in PACKAGES"
        );
    }
}

/// A circle of modules, if there is one: each uses the next, and the last uses the first.
fn circle(uses: &BTreeMap<&[String], BTreeSet<Vec<String>>>) -> Option<Vec<String>> {
    fn walk<'a>(
        module: &'a [String],
        uses: &'a BTreeMap<&[String], BTreeSet<Vec<String>>>,
        way: &mut Vec<&'a [String]>,
        done: &mut BTreeSet<&'a [String]>,
    ) -> bool {
        if way.contains(&module) {
            way.push(module);
            return true;
        }
        if !done.insert(module) {
            return false;
        }
        way.push(module);
        let found = uses[module].iter().any(|used| walk(used, uses, way, done));
        if !found {
            way.pop();
        }
        found
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|module| {
        let mut way = Vec::new();
        walk(module, uses, &mut way, &mut done).then(|| way.iter().map(|module| module.join("::")).collect())
    })
}

#[test]
fn no_two_files_use_each_other() {
    let mut count = 0;
    for (package, (folder, _)) in packages().iter().zip(PACKAGES) {
        let uses = package.uses();
        assert_eq!(circle(&uses), None, "in {folder}");
        let here: usize = uses.values().map(BTreeSet::len).sum();
        assert!(here > 0, "no uses in {folder}: the test looks in the wrong place");
        count += here;
    }
    assert!(
        count > 1000,
        "only {count} uses found: the test looks in the wrong place"
    );
}

#[test]
fn what_a_file_uses_is_named_where_it_is_declared() {
    let mut upward = Vec::new();
    for package in packages() {
        for (name, module) in &package.modules {
            for path in &module.paths {
                let mut names = Vec::new();
                package.resolve_telling(name, path, &mut names);
                let told = |found: Vec<String>| format!("{}: {}", module.file.display(), found.join("::"));
                upward.extend(names.into_iter().map(told));
            }
        }
    }
    assert!(
        upward.is_empty(),
        "a file names what it uses by way of a file above it:\n{}",
        upward.join("\n")
    );
}

#[test]
fn files_that_declare_modules_have_no_code() {
    for module in packages().into_iter().flat_map(|package| package.modules.into_values()) {
        let file = &module.file;
        let declares = file.ends_with("mod.rs") || file.ends_with("lib.rs");
        assert!(
            !declares || !module.has_code,
            "{} has code: it declares and re-exports",
            file.display()
        );
    }
}

/// Finds each `use` that names items of several modules.
struct Nested {
    file: PathBuf,
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for Nested {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut tree = &item.tree;
        while let UseTree::Path(path) = tree {
            tree = &path.tree;
        }
        if let UseTree::Group(group) = tree
            && group.items.iter().any(|item| matches!(item, UseTree::Path(_)))
        {
            let first = path_names(&item.tree);
            self.found.push(format!("{}: use {first}::{{…}}", self.file.display()));
        }
    }
}

/// The path that stands before the group of a `use`.
fn path_names(mut tree: &UseTree) -> String {
    let mut names = Vec::new();
    while let UseTree::Path(path) = tree {
        names.push(path.ident.to_string());
        tree = &path.tree;
    }
    names.join("::")
}

#[test]
fn each_use_names_items_of_one_module() {
    let (mut found, mut files) = (Vec::new(), 0);
    let mut folders: Vec<PathBuf> = ["src", "tests", "benches", "examples"]
        .map(|folder| root().join(folder))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().path();
            if file.is_dir() {
                folders.push(file);
            } else if file.extension().is_some_and(|extension| extension == "rs") {
                let tree = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
                let mut nested = Nested { file, found };
                nested.visit_file(&tree);
                found = nested.found;
                files += 1;
            }
        }
    }
    assert!(found.is_empty(), "write a `use` for each module: {found:#?}");
    assert!(files > 300, "only {files} files: the test looks in the wrong place");
}

#[test]
fn the_protocol_uses_nothing_but_std() {
    let package = engine();
    let manifest: toml::Table = fs::read_to_string(root().join("src/lock/Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let others: BTreeSet<String> = manifest["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .map(|name| name.replace('-', "_"))
        .collect();
    assert!(others.contains("tokio"), "{others:?}");
    let mut files = 0;
    for (name, module) in package
        .modules
        .iter()
        .filter(|(name, _)| name.first().is_some_and(|top| top == "protocol"))
    {
        files += 1;
        for path in &module.paths {
            let own = package
                .resolve(name, path)
                .is_none_or(|used| used.first().is_some_and(|top| top == "protocol"));
            assert!(
                own && !others.contains(&path[0]),
                "{}: {}",
                module.file.display(),
                path.join("::")
            );
        }
        let text = fs::read_to_string(&module.file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for word in ["Arc<", "dyn ", "Mutex<", "Waker", "Instant", "HashMap", "unsafe"] {
            assert!(!code.contains(word), "{}: {word}", module.file.display());
        }
    }
    assert!(
        files > 10,
        "{files} files of the protocol: the test looks in the wrong place"
    );
}

#[test]
fn the_reader_of_this_test_finds_what_is_used() {
    let module = |text: &str| Module::parse(text);
    let package = |modules: &[(&str, &str)]| Package {
        modules: modules
            .iter()
            .map(|(name, text)| {
                (
                    name.split("::")
                        .filter(|name| !name.is_empty())
                        .map(str::to_owned)
                        .collect(),
                    module(text),
                )
            })
            .collect(),
    };
    let of = |package: &Package, name: &str| -> Vec<String> {
        let name: Vec<String> = name.split("::").map(str::to_owned).collect();
        package.uses()[name.as_slice()]
            .iter()
            .map(|used| used.join("::"))
            .collect()
    };
    let found = package(&[
        ("", "pub use a::Thing; mod a; mod b; mod c;"),
        ("a", "pub use one::Other; mod one; mod two; pub struct Thing;"),
        ("a::one", "use super::two::X as Y; pub struct Other;"),
        ("a::two", "pub fn x() { super::super::b::y(); }"),
        ("b", "use crate::{Thing, a::{self, Other}}; fn f(x: crate::c::C) {}"),
        ("c", "#[cfg(test)] mod tests { use crate::b; } // use crate::a;"),
    ]);
    assert_eq!(of(&found, "a::one"), ["a::two"]);
    assert_eq!(of(&found, "a::two"), ["b"]);
    assert_eq!(of(&found, "b"), ["a", "a::one", "c"]);
    assert_eq!(of(&found, "c"), [""; 0]);
    // a::one → a::two → b → a::one
    assert_eq!(circle(&found.uses()).map(|way| way.len()), Some(4));
    let straight = package(&[("", "mod a; mod b;"), ("a", "use crate::b::X;"), ("b", "pub struct X;")]);
    assert_eq!(circle(&straight.uses()), None);
}
