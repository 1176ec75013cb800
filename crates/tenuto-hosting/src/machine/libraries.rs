//! Which libraries a program of the host needs, read from its own file (ELF, 64 bits, least byte first): what the
//! dynamic loader would look for, without running anything.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A program or library that is longer is none.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Folders that the loader looks in besides those that a file names.
const FOLDERS: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];
/// Entries of a table that are looked at.
const ENTRIES_MAX: usize = 4_096;
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;
const NEEDED: u64 = 1;
const STRINGS: u64 = 5;
const OLD_PATH: u64 = 15;
const PATH: u64 = 29;

/// What a file needs besides itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// The loader, or the program that reads a script.
    pub(super) interpreter: Option<PathBuf>,
    /// Names of libraries.
    libraries: Vec<String>,
    /// Folders in which they are looked for first.
    folders: Vec<PathBuf>,
}

/// What a file of the host needs; nothing for one that is neither a program nor a script.
pub(super) fn needs_of(path: &Path) -> io::Result<Needs> {
    if fs::metadata(path)?.len() > FILE_BYTES_MAX {
        let text = format!("{}: larger than {} MB", path.display(), FILE_BYTES_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let bytes = fs::read(path)?;
    let origin = path.parent().unwrap_or(Path::new("/"));
    Ok(needs(&bytes, origin))
}

fn needs(bytes: &[u8], origin: &Path) -> Needs {
    if let Some(script) = bytes.strip_prefix(b"#!") {
        let line = script.split(|byte| *byte == b'\n').next().unwrap_or(&[]);
        let line = String::from_utf8_lossy(&line[..line.len().min(256)]).into_owned();
        let interpreter = line.split_whitespace().next().map(PathBuf::from);
        return Needs { interpreter, ..Needs::default() };
    }
    elf_needs(bytes, origin).unwrap_or_default()
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(length)?)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn place(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    usize::try_from(number(bytes, at, length)?).ok()
}

fn text(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().take(4_096).position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}

/// A part of the file that is loaded at an address.
struct Segment {
    kind: u32,
    at: usize,
    address: u64,
    length: usize,
}

fn segments(bytes: &[u8]) -> Option<Vec<Segment>> {
    // Class 64 bits, least byte first.
    if bytes.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, size, count) = (place(bytes, 32, 8)?, place(bytes, 54, 2)?, place(bytes, 56, 2)?);
    let segment = |index: usize| {
        let at = table.checked_add(index.checked_mul(size)?)?;
        Some(Segment {
            kind: u32::try_from(number(bytes, at, 4)?).ok()?,
            at: place(bytes, at.checked_add(8)?, 8)?,
            address: number(bytes, at.checked_add(16)?, 8)?,
            length: place(bytes, at.checked_add(32)?, 8)?,
        })
    };
    (0..count.min(ENTRIES_MAX)).map(segment).collect()
}

fn elf_needs(bytes: &[u8], origin: &Path) -> Option<Needs> {
    let segments = segments(bytes)?;
    let of = |kind: u32| segments.iter().find(|segment| segment.kind == kind);
    let mut needs = Needs {
        interpreter: of(INTERPRETER).and_then(|it| text(bytes, it.at)).map(PathBuf::from),
        ..Needs::default()
    };
    let Some(dynamic) = of(DYNAMIC) else { return Some(needs) };
    let entry = |index: usize| {
        let at = dynamic.at.checked_add(index.checked_mul(16)?)?;
        Some((number(bytes, at, 8)?, number(bytes, at.checked_add(8)?, 8)?))
    };
    let count = (dynamic.length / 16).min(ENTRIES_MAX);
    let entries: Vec<(u64, u64)> =
        (0..count).map_while(entry).take_while(|(tag, _)| *tag != 0).collect();
    let strings = entries.iter().find(|(tag, _)| *tag == STRINGS)?.1;
    let loaded = segments.iter().filter(|segment| segment.kind == LOAD);
    let offset = loaded
        .filter_map(|it| Some((strings.checked_sub(it.address)?, it)))
        .find(|(into, it)| usize::try_from(*into).is_ok_and(|into| into < it.length))
        .and_then(|(into, it)| it.at.checked_add(usize::try_from(into).ok()?))?;
    let named = |at: u64| text(bytes, offset.checked_add(usize::try_from(at).ok()?)?);
    for (tag, value) in entries {
        match tag {
            NEEDED => needs.libraries.extend(named(value)),
            OLD_PATH | PATH => needs.folders.extend(folders(&named(value)?, origin)),
            _ => {}
        }
    }
    Some(needs)
}

fn folders(list: &str, origin: &Path) -> Vec<PathBuf> {
    let origin = origin.to_string_lossy();
    let own = |part: &str| part.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
    list.split(':').filter(|part| !part.is_empty()).map(|part| own(part).into()).collect()
}

impl Needs {
    /// The files themselves.
    ///
    /// # Errors
    /// Names the first that is nowhere.
    pub(super) fn found(&self) -> io::Result<Vec<PathBuf>> {
        let folders = || self.folders.iter().map(PathBuf::as_path).chain(FOLDERS.map(Path::new));
        let find = |name: &String| {
            let mut places = folders().map(|folder| folder.join(name));
            places.find(|path| path.is_file()).ok_or_else(|| {
                let text = format!("the library {name} is in no folder of libraries");
                io::Error::new(io::ErrorKind::NotFound, text)
            })
        };
        let libraries: io::Result<Vec<PathBuf>> = self.libraries.iter().map(find).collect();
        Ok(libraries?.into_iter().chain(self.interpreter.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_needs_a_loader_and_the_c_library() {
        let needs = needs_of(Path::new("/bin/sh")).expect("a shell");
        let found = needs.found().expect("its libraries are there");
        let is_c = |path: &PathBuf| path.to_string_lossy().contains("libc.");
        assert!(found.iter().any(is_c) || needs.interpreter.is_none(), "{found:?}");
    }

    #[test]
    fn a_script_needs_its_interpreter_and_anything_else_nothing() {
        let origin = Path::new("/x");
        let script = needs(b"#! /usr/bin/env python3\nimport os\n", origin);
        assert_eq!(script.interpreter.as_deref(), Some(Path::new("/usr/bin/env")));
        assert_eq!(needs(b"hello", origin), Needs::default());
        assert_eq!(
            folders("$ORIGIN/../lib:/opt", origin),
            [Path::new("/x/../lib"), Path::new("/opt")]
        );
    }

    /// Cut anywhere, with any byte changed: nothing panics.
    #[test]
    fn broken_files_need_nothing_or_something() {
        let whole = fs::read("/bin/sh").expect("a shell");
        let whole = &whole[..whole.len().min(200_000)];
        for at in (0..2_000).chain((2_000..whole.len()).step_by(997)) {
            needs(&whole[..at], Path::new("/"));
            let mut changed = whole.to_vec();
            changed[at] = 0xff;
            needs(&changed, Path::new("/"));
        }
    }
}
