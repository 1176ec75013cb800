//! Files that a command line names: what is in them, or why it cannot be had, what is meant, and what there is instead.

use crate::failure::Failure;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use tenuto_model::Sources;

/// Largest file that is read, bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Most bytes that are read of what is no file, such as a pipe.
const STREAM_BYTES_MAX: u64 = 64 << 20;

/// A kind of file: in words, and how names of such files end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    what: &'static str,
    ends: &'static [&'static str],
}

impl Kind {
    const fn new(what: &'static str, ends: &'static [&'static str]) -> Self {
        Self { what, ends }
    }

    pub(crate) const NETWORK_OR_PLAN: Self =
        Self::new("a network or a plan", &[".yaml", ".yml", ".plan.json"]);
    pub(crate) const PLAN: Self = Self::new("a plan of `tenuto plan NET -o PLAN`", &[".json"]);
    pub(crate) const PLAN_OR_RUN: Self =
        Self::new("a plan, or the run.json of `up`, `sim -o` or `sim --report`", &[".json"]);
    pub(crate) const SCENARIO: Self = Self::new("a scenario", &[".scenario.yaml", ".yaml"]);
    pub(crate) const SCHEDULE: Self =
        Self::new("a schedule of `tenuto witness -o DIR`", &[".schedule.json"]);
    pub(crate) const TRACE: Self = Self::new("a trace of `tenuto explore -o TRACE`", &[".json"]);
    pub(crate) const RECORD: Self =
        Self::new("the record of a run, of `--record FILE`", &[".jsonl", ".json", ".trace"]);
    pub(crate) const LIST: Self = Self::new("a network, a list or a log, JSON", &[".json"]);
    pub(crate) const FOREIGN: Self =
        Self::new("a file of another tool (`tenuto import --list`)", &[""]);
    pub(crate) const PROFILE: Self =
        Self::new("a profile of `tenuto profile -o FILE`", &[".yaml", ".yml"]);
    pub(crate) const SLICES: Self =
        Self::new("a file of slices (docs/reference/switch.md)", &[".yaml", ".yml"]);
    pub(crate) const SWITCH: Self =
        Self::new("a file that describes a switch; flags alone do too", &[".yaml", ".yml"]);
    pub(crate) const TENANTS: Self =
        Self::new("a file of tenants (docs/reference/hosting.md)", &[".yaml", ".yml"]);
    pub(crate) const DUMP: Self = Self::new("a dump of `tenuto dump all -o FILE`", &[""]);
    pub(crate) const CAPTURE: Self = Self::new("a capture", &[".pcap", ".pcapng", ".cap"]);
    pub(crate) const TOKEN: Self = Self::new("a token of `tenuto controller --new-token`", &[""]);
    pub(crate) const PROGRAM: Self = Self::new("a program of `tenuto.App`", &[".py"]);
}

/// Files of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files;

impl Sources for Files {
    fn read(&self, path: &str) -> Result<String, String> {
        text_of(content(Path::new(path))?)
    }
}

fn content(path: &Path) -> Result<Vec<u8>, String> {
    let about = std::fs::metadata(path).map_err(|error| words(&error))?;
    if about.is_dir() {
        return Err(FOLDER.into());
    }
    let too_large = || Err("it is too large: at most 1 GB".to_owned());
    if about.len() > FILE_BYTES_MAX {
        return too_large();
    }
    // A device or a pipe has no length of its own.
    let most = if about.is_file() { FILE_BYTES_MAX } else { STREAM_BYTES_MAX };
    let file = std::fs::File::open(path).map_err(|error| words(&error))?;
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| words(&error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > most) {
        return match about.is_file() {
            true => too_large(),
            false => Err("it does not end within 64 MB".to_owned()),
        };
    }
    Ok(bytes)
}

/// Bytes as text, or why they are none.
fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err("it is text in UTF-16, not in UTF-8".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("it is not UTF-8 text (byte {at})")
    })?;
    match text.find('\0') {
        Some(at) => Err(format!("it is not text: there is a NUL byte in it (byte {at})")),
        None => Ok(text),
    }
}

const MISSING: &str = "there is no such file";
const FOLDER: &str = "it is a folder";

/// Why a file cannot be had, in a few words.
pub(crate) fn words(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => MISSING.into(),
        ErrorKind::PermissionDenied => "no right to read it".into(),
        _ => error.to_string(),
    }
}

/// The text of a file, or why it cannot be had.
pub(crate) fn text(path: &Path, kind: Kind) -> Result<String, Failure> {
    bytes_of(path, kind).and_then(|bytes| text_of(bytes).map_err(|why| unread(path, kind, &why)))
}

/// The bytes of a file that is no text.
pub(crate) fn bytes(path: &Path, kind: Kind) -> Result<Vec<u8>, Failure> {
    bytes_of(path, kind)
}

fn bytes_of(path: &Path, kind: Kind) -> Result<Vec<u8>, Failure> {
    if path.as_os_str() == "-" && !path.exists() {
        let hint = "name a file: what it says of others is looked for beside it";
        return Err(Failure::input("standard input is not read", Some("-"), Some(hint)));
    }
    content(path).map_err(|why| unread(path, kind, &why))
}

/// That a program is not there, found out before it is started.
pub(crate) fn check_there(path: &Path, kind: Kind) -> Result<(), Failure> {
    match std::fs::metadata(path) {
        Ok(about) if about.is_dir() => Err(unread(path, kind, FOLDER)),
        Ok(_) => Ok(()),
        Err(error) => Err(unread(path, kind, &words(&error))),
    }
}

fn unread(path: &Path, kind: Kind, why: &str) -> Failure {
    let what = kind.what;
    let is_elsewhere = why == MISSING || why == FOLDER;
    let hint = match neighbours(path, kind).filter(|_| is_elsewhere) {
        Some(others) => format!("{others} ({what} is meant)"),
        None if why == MISSING => format!("is the path right? {what} is meant"),
        None => format!("{what} is meant, that you may read"),
    };
    let shown = path.display().to_string();
    Failure::input(format!("the file cannot be read: {why}"), Some(&shown), Some(&hint))
}

/// Files of that kind where one was looked for, the likeliest first.
fn neighbours(path: &Path, kind: Kind) -> Option<String> {
    const LISTED_MAX: usize = 8;
    /// So alike are a name and the same with a slip in it.
    const MEANT: f64 = 0.85;
    let folder = if path.is_dir() { path } else { path.parent()? };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let is_of_kind = |name: &String| {
        let is_scenario = name.ends_with(".scenario.yaml");
        kind.ends.iter().any(|end| name.ends_with(end))
            && !name.chars().any(char::is_control)
            && (!is_scenario
                || kind.ends.iter().any(|end| *end == ".scenario.yaml" || end.is_empty()))
    };
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(Result::ok)
        .filter(|entry| !entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(is_of_kind)
        .collect();
    let sought = path.file_name().unwrap_or_default().to_string_lossy();
    let alike = |name: &str| strsim::jaro_winkler(&sought, name);
    names.sort_by(|a, b| alike(b).total_cmp(&alike(a)).then_with(|| a.cmp(b)));
    names.truncate(LISTED_MAX);
    let first = names.first()?;
    Some(match alike(first) >= MEANT {
        true => format!("did you mean {}?", folder.join(first).display()),
        false => format!("there are {}", names.join(", ")),
    })
}

/// The latest folder of a run below one, if there is any.
pub(crate) fn latest_run_below(folder: &Path) -> Option<PathBuf> {
    let below = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|it| it.path());
    let runs = below.map(|it| it.join("run.json")).filter(|it| it.is_file());
    runs.max_by_key(|it| it.metadata().and_then(|about| about.modified()).ok())
}
