//! The crate graph of ARCHITECTURE.md, and habits that a program can check.

use std::fs;
use std::path::{Path, PathBuf};

/// Every crate and the crates of ours that it may depend on.
const EDGES: [(&str, &[&str]); 19] = [
    ("tenuto-units", &[]),
    ("tenuto-wire", &["tenuto-units"]),
    ("tenuto-openflow", &["tenuto-units"]),
    ("tenuto-calculus", &["tenuto-units"]),
    ("tenuto-admission", &["tenuto-units", "tenuto-calculus"]),
    ("tenuto-bounds", &["tenuto-units", "tenuto-calculus"]),
    ("tenuto-model", &["tenuto-units", "tenuto-calculus"]),
    ("tenuto-certify", &["tenuto-units"]),
    ("tenuto-planner", &["tenuto-model", "tenuto-bounds", "tenuto-calculus", "tenuto-units"]),
    ("tenuto-dataplane", &["tenuto-units", "tenuto-wire", "tenuto-openflow"]),
    ("tenuto-controller", &["tenuto-units", "tenuto-openflow", "tenuto-model"]),
    (
        "tenuto-world",
        &[
            "tenuto-units",
            "tenuto-wire",
            "tenuto-openflow",
            "tenuto-model",
            "tenuto-dataplane",
            "tenuto-controller",
        ],
    ),
    ("tenuto-witness", &["tenuto-units", "tenuto-model"]),
    ("tenuto-io", &["tenuto-units"]),
    (
        "tenuto-runtime",
        &[
            "tenuto-units",
            "tenuto-wire",
            "tenuto-openflow",
            "tenuto-model",
            "tenuto-certify",
            "tenuto-planner",
            "tenuto-dataplane",
            "tenuto-controller",
            "tenuto-world",
            "tenuto-io",
        ],
    ),
    ("tenuto-hosting", &["tenuto-units", "tenuto-model", "tenuto-io"]),
    (
        "tenuto-service",
        &[
            "tenuto-units",
            "tenuto-openflow",
            "tenuto-model",
            "tenuto-planner",
            "tenuto-certify",
            "tenuto-controller",
        ],
    ),
    (
        "tenuto",
        &[
            "tenuto-units",
            "tenuto-admission",
            "tenuto-wire",
            "tenuto-model",
            "tenuto-calculus",
            "tenuto-bounds",
            "tenuto-certify",
            "tenuto-planner",
            "tenuto-dataplane",
            "tenuto-controller",
            "tenuto-witness",
            "tenuto-world",
            "tenuto-io",
            "tenuto-runtime",
            "tenuto-service",
            "tenuto-hosting",
        ],
    ),
    (
        "tenuto-bench",
        &["tenuto-units", "tenuto-model", "tenuto-planner", "tenuto-certify", "tenuto-witness"],
    ),
];

/// What pure crates may take from elsewhere: libraries without clocks, files, sockets or threads of
/// their own.
const PURE: [&str; 11] = [
    "serde",
    "serde_json",
    "saphyr-parser",
    "csv",
    "roxmltree",
    "sha2",
    "siphasher",
    "thiserror",
    "num-bigint",
    "num-rational",
    // Reads a clock to report how long it took; nothing that it returns depends on it.
    "clarabel",
];

/// Lines of a file beyond which it has more than one concept; tests and tables may be longer.
const LINES_MAX: usize = 640;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names under `[dependencies]` of a crate.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = read(&root().join("crates").join(name).join("Cargo.toml"));
    let section = manifest.split("\n[").find(|s| s.starts_with("dependencies]"));
    let lines = section.unwrap_or_default().lines().skip(1);
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    lines.map(name).filter(|name| !name.is_empty() && !name.starts_with('#')).collect()
}

#[test]
fn crates_depend_on_each_other_as_drawn() {
    for (name, allowed) in EDGES {
        for found in dependencies(name).iter().filter(|d| d.starts_with("tenuto")) {
            assert!(allowed.contains(&found.as_str()), "{name} must not depend on {found}");
        }
    }
    let known: Vec<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    for entry in fs::read_dir(root().join("crates")).expect("the crates are there") {
        let name = entry.expect("readable").file_name().to_string_lossy().into_owned();
        assert!(known.contains(&name.as_str()), "{name} is not in ARCHITECTURE.md's table");
    }
}

#[test]
fn the_checker_never_wraps() {
    let manifest = read(&root().join("Cargo.toml"));
    let section = manifest
        .split("\n[")
        .find(|section| section.starts_with("profile.release.package.tenuto-certify]"));
    let is_set = |section: &str| section.lines().any(|line| line == "overflow-checks = true");
    assert!(section.is_some_and(is_set), "a wrapped sum could make a false claim hold");
}

#[test]
fn pure_crates_take_nothing_impure() {
    let impure = [
        "tenuto-io",
        "tenuto-runtime",
        "tenuto-hosting",
        "tenuto-service",
        "tenuto",
        "tenuto-bench",
    ];
    for (name, _) in EDGES.iter().filter(|(name, _)| !impure.contains(name)) {
        for found in dependencies(name).iter().filter(|d| !d.starts_with("tenuto")) {
            let known = PURE.contains(&found.as_str()) || found == "num-traits";
            assert!(known, "{name} takes {found}: is it pure? then say so here and in docs/");
        }
    }
}

#[test]
fn every_dependency_has_its_reason_in_the_docs() {
    let reasons = read(&root().join("docs/dependencies.md"));
    for (name, _) in EDGES {
        for found in dependencies(name).iter().filter(|d| !d.starts_with("tenuto")) {
            assert!(reasons.contains(found.as_str()), "{found} of {name}: docs/dependencies.md");
        }
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn sources_keep_the_house_style() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let this = Path::new(file!()).file_name();
    for path in files.iter().filter(|p| p.file_name() != this) {
        let text = read(path);
        let name = path.display();
        let tests = name.to_string().contains("test");
        let is_short = text.lines().count() <= LINES_MAX;
        assert!(tests || is_short, "{name}: more than one concept?");
        for (number, line) in (1..).zip(text.lines()) {
            let at = format!("{name}:{number}");
            assert!(!line.contains("todo!(") && !line.contains("dbg!("), "{at}: unfinished");
            let may_pause = name.to_string().contains("tenuto-runtime/src");
            assert!(may_pause || !line.contains("sleep("), "{at}: wait for an event instead");
        }
    }
}
