//! Files of a crate do not import one another in a circle: each can be read after those that it names.
//!
//! Modules are followed through re-exports, so that a folder's `mod.rs` that only hands names on is not a
//! file that depends on them. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates in which files still import one another in circles, and how many files do. Everywhere else,
/// and beyond these numbers, a circle is an error; a smaller number belongs here.
const FILES_IN_CIRCLES: [(&str, usize); 12] = [
    ("tenuto", 43),
    ("tenuto-admission", 10),
    ("tenuto-bench", 2),
    ("tenuto-bounds", 2),
    ("tenuto-calculus", 2),
    ("tenuto-dataplane", 24),
    ("tenuto-hosting", 10),
    ("tenuto-io", 10),
    ("tenuto-model", 37),
    ("tenuto-runtime", 24),
    ("tenuto-service", 18),
    ("tenuto-world", 8),
];

/// Segments of a module's path within its crate.
type Module = Vec<String>;

/// A crate's modules, what each name in them stands for, and what each names.
struct Sources {
    files: BTreeMap<Module, PathBuf>,
    names: BTreeMap<Module, BTreeMap<String, Module>>,
    named: BTreeMap<Module, Vec<Module>>,
}

impl Sources {
    fn read(crate_folder: &Path) -> Self {
        let root = crate_folder.join("src");
        let mut files = BTreeMap::new();
        gather(&root, &[], &mut files);
        let mut this = Self { files, names: BTreeMap::new(), named: BTreeMap::new() };
        let modules: Vec<Module> = this.files.keys().cloned().collect();
        for module in modules {
            let text = fs::read_to_string(&this.files[&module]).expect("readable");
            this.note(&module, &without_comments_and_tests(&text));
        }
        this
    }

    /// Notes the paths of `use` items, and those within the rest of the text.
    fn note(&mut self, module: &Module, text: &str) {
        let (mut names, mut named) = (BTreeMap::new(), Vec::new());
        let mut rest = String::new();
        for item in text.split_inclusive(';') {
            let Some(at) = use_at(item) else {
                rest.push_str(item);
                continue;
            };
            rest.push_str(&item[..at]);
            let is_reexport = item[..at].lines().last().is_some_and(|line| line.contains("pub"));
            let tree = item[at + 4..].trim_end_matches(';');
            for path in leaves(tree) {
                let (path, alias) = path.split_once(" as ").unwrap_or((&path, ""));
                let segments: Module = path.split("::").map(|it| it.trim().to_owned()).collect();
                let Some(path) = self.absolute(module, &segments) else { continue };
                let last = path.last().cloned().unwrap_or_default();
                let name = if alias.is_empty() { last } else { alias.trim().to_owned() };
                names.insert(name, path.clone());
                if !is_reexport {
                    named.push(path);
                }
            }
        }
        for path in paths(&rest) {
            named.extend(self.absolute(module, &path));
        }
        self.names.insert(module.clone(), names);
        self.named.insert(module.clone(), named);
    }

    /// A path from the crate's root; `None` if it leads out of the crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut base = module.clone();
        let mut path = path.to_vec();
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        match path.first()?.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            "self" => path.remove(0),
            "super" => {
                while path.first().is_some_and(|first| first == "super") {
                    path.remove(0);
                    base.pop();
                }
                String::new()
            }
            child => {
                let of_child: Module = base.iter().cloned().chain([child.to_owned()]).collect();
                self.files.contains_key(&of_child).then(String::new)?
            }
        };
        base.extend(path);
        Some(base)
    }

    /// The module that a path ends in, through the names that modules hand on.
    fn module_of(&self, path: &[String], steps: usize) -> Module {
        let length = (0..=path.len()).rev().find(|&it| self.files.contains_key(&path[..it]));
        let (module, rest) = path.split_at(length.unwrap_or(0));
        let next = rest.first().and_then(|name| self.names.get(module)?.get(name));
        match next {
            Some(next) if steps > 0 => {
                let onwards: Module = next.iter().chain(&rest[1..]).cloned().collect();
                self.module_of(&onwards, steps - 1)
            }
            _ => module.to_vec(),
        }
    }

    /// Per module, those that it names.
    fn edges(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let of = |(module, named): (_, &Vec<Module>)| {
            let to = named.iter().map(|path| self.module_of(path, 9));
            (module, to.filter(|to| to != module).collect())
        };
        self.named.iter().map(of).collect()
    }

    /// Every file that leads back to itself.
    fn in_circles(&self) -> Vec<String> {
        let edges = self.edges();
        let leads_back = |start: &&Module| {
            let mut seen: BTreeSet<&Module> = BTreeSet::new();
            let mut open: Vec<&Module> = edges[*start].iter().collect();
            while let Some(module) = open.pop() {
                if module == *start {
                    return true;
                }
                if seen.insert(module) {
                    open.extend(&edges[module]);
                }
            }
            false
        };
        let found = self.files.keys().filter(leads_back);
        found.map(|module| module.join("::")).collect()
    }
}

/// All files of a folder but tests, as modules.
fn gather(folder: &Path, module: &[String], found: &mut BTreeMap<Module, PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("readable").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let inner: Module = module.iter().cloned().chain([name.clone()]).collect();
        if ["tests", "bin"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            gather(&path, &inner, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let is_folder = ["mod", "lib", "main"].contains(&name.as_str());
            found.insert(if is_folder { module.to_vec() } else { inner }, path);
        }
    }
}

fn without_comments_and_tests(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    without_scopes(&code.collect::<Vec<_>>().join("\n"))
}

/// Without the paths of `pub(in …)`: who may name something is no import.
fn without_scopes(code: &str) -> String {
    let mut parts = code.split("pub(in ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str("pub");
        plain.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    plain
}

/// Where the word `use` of an item stands that ends there.
fn use_at(item: &str) -> Option<usize> {
    let starts_line = |at: &usize| {
        let before = item[..*at].rsplit('\n').next().unwrap_or_default().trim();
        before.is_empty() || before.starts_with("pub")
    };
    item.match_indices("use ").map(|(at, _)| at).filter(starts_line).last()
}

/// The single paths of a tree of imports.
fn leaves(tree: &str) -> Vec<String> {
    let Some((before, inside)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let inside = inside.rsplit_once('}').map_or(inside, |(inside, _)| inside);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    let whole = parts.iter().filter(|part| !part.trim().is_empty());
    whole.flat_map(|part| leaves(part)).map(|leaf| format!("{}{leaf}", before.trim())).collect()
}

/// Paths of at least two segments in a text.
fn paths(text: &str) -> Vec<Module> {
    let of_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let words = text.split(|letter| !of_word(letter)).filter(|word| word.contains("::"));
    let segments = |word: &str| {
        let whole = word.split("::").map(str::to_owned).collect::<Module>();
        whole.into_iter().take_while(|segment| !segment.is_empty()).collect::<Module>()
    };
    words.map(segments).filter(|path: &Module| path.len() > 1).collect()
}

#[test]
fn no_more_files_import_one_another_in_circles_than_are_named() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for entry in fs::read_dir(crates).expect("the crates are there") {
        let folder = entry.expect("readable").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let allowed = FILES_IN_CIRCLES.iter().find(|(it, _)| *it == name).map_or(0, |it| it.1);
        let found = Sources::read(&folder).in_circles();
        if found.len() != allowed {
            wrong.push(format!("{name}: {allowed} are named, {} found: {found:?}", found.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_through_a_name_that_is_handed_on() {
    let folder = std::env::temp_dir().join(format!("tenuto-circles-{}", std::process::id()));
    let write = |file: &str, text: &str| {
        let path = folder.join("src").join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    };
    write("lib.rs", "mod one;\nmod two;\nmod three;\nmod four;\n");
    write("one/mod.rs", "mod inner;\npub(crate) use inner::A;\n");
    write("one/inner.rs", "use crate::two::{B, C as Other};\n");
    write("two.rs", "// use crate::three::D;\npub struct B(crate::one::A);\n");
    write("three.rs", "use crate::{one::A, two::B};\npub(in crate::four) struct E;\n");
    write("four.rs", "pub(in crate::four) use crate::three::E;\n");
    let found = Sources::read(&folder).in_circles();
    fs::remove_dir_all(&folder).expect("it is ours");
    assert_eq!(found, ["one::inner", "two"]);
}
