//! Declarations of types in the sources of the workspace: structs and enums with their fields,
//! attributes of serde and comments, and where the names that a file uses come from.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The declaration of a type.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Struct(Vec<Field>),
    /// Types without names.
    Tuple(Vec<String>),
    Enum {
        variants: Vec<Variant>,
        /// The key that tells variants apart, where serde writes one.
        tag: Option<String>,
    },
    /// Another name of a type.
    Alias(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) key: String,
    /// Its type without lifetimes.
    pub(crate) kind: String,
    pub(crate) meaning: String,
    pub(crate) is_flat: bool,
    /// Left out where there is nothing.
    pub(crate) is_optional: bool,
    pub(crate) is_skipped: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Variant {
    /// As serde writes it.
    pub(crate) word: String,
    pub(crate) meaning: String,
    pub(crate) inner: Option<Item>,
}

/// All sources of the workspace.
#[derive(Debug)]
pub(crate) struct Sources {
    crates: PathBuf,
    /// By path: the text before its tests.
    files: BTreeMap<PathBuf, Rc<str>>,
    found: RefCell<BTreeMap<(PathBuf, String), Item>>,
}

impl Sources {
    pub(crate) fn read() -> Self {
        let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = BTreeMap::new();
        for folder in std::fs::read_dir(&crates).expect("the crates") {
            let folder = folder.expect("readable").path().join("src");
            gather(&folder, &mut files);
        }
        Self { crates, files, found: RefCell::default() }
    }

    /// A file by its path below `crates`.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        let path = self.crates.join(path);
        assert!(self.files.contains_key(&path), "{} is no source", path.display());
        path
    }

    /// The texts of all files.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.values().map(AsRef::as_ref)
    }

    /// The declaration that a name in a file means, and the file where it stands.
    pub(crate) fn find(&self, from: &Path, name: &str) -> (PathBuf, Item) {
        let name = name.split('<').next().expect("a name").trim();
        let mut way: Vec<String> = name.split("::").map(str::to_owned).collect();
        let last = way.last().expect("a name").clone();
        if let [one] = way.as_slice()
            && let Some(item) = self.declared(from, one)
        {
            return (from.to_owned(), item);
        }
        let uses = uses(&self.files[from]);
        if let Some(used) = uses.iter().find(|used| used.last() == way.first()) {
            way.splice(..1, used.iter().cloned());
        }
        // Else the path begins with a module of the same crate.
        let own = from.strip_prefix(&self.crates).expect("a source").components().next();
        let own = own.expect("a crate").as_os_str().to_string_lossy().into_owned();
        let name = if way[0].starts_with("tenuto_") { way[0].clone() } else { own };
        let folder = self.crates.join(name.replace('_', "-"));
        let files = self.files.keys().filter(|file| file.starts_with(&folder));
        let mut all: Vec<(PathBuf, Item)> =
            files.filter_map(|file| Some((file.clone(), self.declared(file, &last)?))).collect();
        if all.len() > 1 {
            let modules: Vec<&String> =
                way.iter().rev().skip(1).filter(|it| !is_root(it)).collect();
            let is_meant = |file: &Path| {
                let text = file.to_string_lossy();
                modules.iter().all(|module| text.contains(module.as_str()))
            };
            all.retain(|(file, _)| is_meant(file));
            // What a module re-exports stands nearest below it.
            let depth = |file: &Path| file.components().count();
            let least = all.iter().map(|(file, _)| depth(file)).min();
            all.retain(|(file, _)| Some(depth(file)) == least);
        }
        assert_eq!(all.len(), 1, "{name}: {last} of {}: {all:?}", from.display());
        all.remove(0)
    }

    fn declared(&self, file: &Path, name: &str) -> Option<Item> {
        let key = (file.to_owned(), name.to_owned());
        if let Some(item) = self.found.borrow().get(&key) {
            return Some(item.clone());
        }
        let item = declaration(&self.files[file], name)?;
        self.found.borrow_mut().insert(key, item.clone());
        Some(item)
    }
}

fn is_root(part: &str) -> bool {
    matches!(part, "crate" | "super" | "self") || part.starts_with("tenuto")
}

fn gather(folder: &Path, files: &mut BTreeMap<PathBuf, Rc<str>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            gather(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let before_tests = text.split("#[cfg(test)]").next().unwrap_or_default();
            files.insert(path, before_tests.into());
        }
    }
}

/// The paths that a file uses, each as its parts; what is renamed ends in its new name.
fn uses(text: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for line in text.split(';') {
        let start = line.rfind("use ").filter(|at| {
            line[..*at].trim_end_matches(' ').is_empty() || line[..*at].ends_with(['\n', ' ', ')'])
        });
        if let Some(at) = start {
            tree(&[], &line[at + 4..], &mut all);
        }
    }
    all
}

fn tree(before: &[String], text: &str, all: &mut Vec<Vec<String>>) {
    let text = text.trim();
    let (head, group) = match text.find('{') {
        Some(at) if text.ends_with('}') => (&text[..at], Some(&text[at + 1..text.len() - 1])),
        _ => (text, None),
    };
    let mut way = before.to_vec();
    let head = head.trim_end_matches("::");
    way.extend(
        head.split("::")
            .filter(|it| !it.is_empty())
            .map(|part| part.split_once(" as ").map_or(part, |(_, name)| name).trim().to_owned()),
    );
    match group {
        Some(group) => split_top(group).iter().for_each(|part| tree(&way, part, all)),
        None => {
            if way.last().is_some_and(|it| it == "self") {
                way.pop();
            }
            all.push(way);
        }
    }
}

/// Parts between commas that stand in no bracket.
pub(crate) fn split_top(text: &str) -> Vec<String> {
    let (mut depth, mut parts, mut part) = (0_i32, Vec::new(), String::new());
    let mut before = ' ';
    for letter in text.chars() {
        match letter {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before != '-' && before != '=' => depth -= 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        before = letter;
        if letter == ',' && depth == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(letter);
        }
    }
    parts.push(part);
    parts.into_iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

/// The declaration of a type of this name.
fn declaration(text: &str, name: &str) -> Option<Item> {
    for keyword in ["struct", "enum", "type"] {
        let head = format!("{keyword} {name}");
        for (at, _) in text.match_indices(&head) {
            let after = &text[at + head.len()..];
            let line = text[..at].rfind('\n').map_or(0, |it| it + 1);
            let is_head = text[line..at].chars().all(|it| it != '/' && it != '"')
                && after.starts_with([' ', '<', '(', '{', ';', '=']);
            if is_head {
                return Some(item(keyword, &attributes(&text[..line]), after));
            }
        }
    }
    None
}

/// What stands in `#[serde(...)]` in front of a declaration.
fn attributes(before: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in before.lines().rev() {
        let line = line.trim();
        if let Some(inner) = serde_inner(line) {
            found.extend(split_top(inner));
        } else if !(line.starts_with("#[") || line.starts_with("///")) {
            break;
        }
    }
    found
}

fn serde_inner(line: &str) -> Option<&str> {
    line.strip_prefix("#[serde(")?.strip_suffix(")]")
}

fn item(keyword: &str, attributes: &[String], after: &str) -> Item {
    if keyword == "type" {
        let of = after.split_once('=').expect("an alias of something").1;
        return Item::Alias(clean(of.split(';').next().expect("it ends")));
    }
    let open = after.find(['{', '(', ';']).expect("a body");
    let body = bracketed(&after[open..]);
    if keyword == "enum" {
        let rule = value(attributes, "rename_all");
        return Item::Enum {
            variants: members(body).iter().map(|it| variant(it, rule.as_deref())).collect(),
            tag: value(attributes, "tag"),
        };
    }
    let (fields, _) = fields(&after[open..], value(attributes, "rename_all").as_deref());
    fields
}

/// The fields at an opening bracket, and where they end.
fn fields(text: &str, rule: Option<&str>) -> (Item, usize) {
    let body = bracketed(text);
    let item = if text.starts_with('(') {
        let plain = |it: &Member| {
            clean(it.text.trim_start_matches("pub(crate) ").trim_start_matches("pub "))
        };
        Item::Tuple(members(body).iter().map(plain).collect())
    } else {
        Item::Struct(members(body).iter().map(|it| field(it, rule)).collect())
    };
    (item, body.len() + 2)
}

/// What stands in the bracket that a text begins with.
fn bracketed(text: &str) -> &str {
    let mut depth = 0_i32;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[1.min(at)..at];
        }
    }
    panic!("a bracket without end: {text:.60}")
}

/// A field or variant: its comment, attributes of serde, and the rest.
#[derive(Debug)]
struct Member {
    meaning: String,
    attributes: Vec<String>,
    text: String,
}

fn members(body: &str) -> Vec<Member> {
    // Comments may hold commas and brackets: they are taken out first, and counted back in.
    let mut comments: Vec<String> = Vec::new();
    let mut code = String::new();
    for line in body.lines() {
        let line = line.trim();
        if let Some(words) = line.strip_prefix("///") {
            comments.push(words.trim().to_owned());
            code.push_str(&format!("\u{1}{}\u{2}", comments.len() - 1));
        } else if !line.starts_with("//") {
            code.push_str(line);
            code.push(' ');
        }
    }
    split_top(&code).iter().map(|part| member(part, &comments)).collect()
}

fn member(part: &str, comments: &[String]) -> Member {
    let (mut rest, mut words, mut attributes) = (part.trim(), Vec::new(), Vec::new());
    loop {
        if let Some(after) = rest.strip_prefix('\u{1}') {
            let (number, after) = after.split_once('\u{2}').expect("a comment ends");
            words.push(comments[number.parse::<usize>().expect("a number")].as_str());
            rest = after.trim();
        } else if rest.starts_with('#') {
            let inner = bracketed(&rest[1..]);
            if let Some(it) = inner.strip_prefix("serde(").and_then(|it| it.strip_suffix(')')) {
                attributes.extend(split_top(it));
            }
            rest = rest[inner.len() + 3..].trim();
        } else {
            break;
        }
    }
    let text = restored(rest, comments);
    Member { meaning: words.join(" "), attributes, text }
}

/// A text with the comments in it again, each on a line.
fn restored(text: &str, comments: &[String]) -> String {
    let mut out = text.to_owned();
    for (number, words) in comments.iter().enumerate() {
        out = out.replace(&format!("\u{1}{number}\u{2}"), &format!("\n/// {words}\n"));
    }
    out
}

fn field(it: &Member, rule: Option<&str>) -> Field {
    let (name, kind) = it.text.split_once(':').unwrap_or_else(|| panic!("{it:?}"));
    let name = name.trim().rsplit(' ').next().expect("a name").trim_end_matches('_');
    let name = name.trim_start_matches("r#");
    assert!(rule.is_none_or(|rule| rule == "snake_case"), "{rule:?} of {name}");
    let known = ["default", "flatten", "skip", "skip_serializing_if", "rename", "deserialize_with"];
    for attribute in &it.attributes {
        let word = attribute.split([' ', '=']).next().unwrap_or_default();
        assert!(known.contains(&word), "{attribute} of {name}");
    }
    let has = |word: &str| it.attributes.iter().any(|attribute| attribute == word);
    Field {
        key: value(&it.attributes, "rename").unwrap_or_else(|| name.to_owned()),
        kind: clean(kind),
        meaning: it.meaning.clone(),
        is_flat: has("flatten"),
        is_optional: value(&it.attributes, "skip_serializing_if").is_some(),
        is_skipped: has("skip"),
    }
}

fn variant(it: &Member, rule: Option<&str>) -> Variant {
    let end = it.text.find(['(', '{', ' ', '=']).unwrap_or(it.text.len());
    let (name, rest) = (&it.text[..end], it.text[end..].trim());
    let word = value(&it.attributes, "rename").unwrap_or_else(|| renamed(name, rule));
    let inner = rest.starts_with(['(', '{']).then(|| fields(rest, None).0);
    Variant { word, meaning: it.meaning.clone(), inner }
}

fn renamed(name: &str, rule: Option<&str>) -> String {
    let between = match rule {
        None => return name.to_owned(),
        Some("lowercase") => return name.to_lowercase(),
        Some("snake_case") => '_',
        Some("kebab-case") => '-',
        Some(other) => panic!("a rule of serde: {other}"),
    };
    let mut word = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push(between);
        }
        word.extend(letter.to_lowercase());
    }
    word
}

/// The text that an attribute sets.
fn value(attributes: &[String], name: &str) -> Option<String> {
    let set = |it: &String| {
        let (key, value) = it.split_once('=')?;
        (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
    };
    attributes.iter().find_map(set)
}

/// A type without lifetimes, comments and line ends.
fn clean(kind: &str) -> String {
    let mut out = String::new();
    let mut letters = kind.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\'' {
            while letters.peek().is_some_and(|it| it.is_alphanumeric() || *it == '_') {
                letters.next();
            }
            while letters.peek().is_some_and(|it| *it == ' ' || *it == ',') {
                letters.next();
            }
        } else {
            out.push(letter);
        }
    }
    out.replace("<>", "").trim().trim_end_matches(',').to_owned()
}
