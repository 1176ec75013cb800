//! The user's own programs of a scenario: whether they are there, before anything runs.

use crate::failure::Failure;
use std::path::Path;
use tenuto_model::Scenario;

/// Characters by which a shell makes something else of a word.
const OF_SHELLS: &[char] = &[
    '\'', '"', '\\', '$', '`', ';', '&', '|', '<', '>', '(', ')', '{', '}', '*', '?', '[', ']',
    '~', '#', '=',
];

/// Finds programs that are named by a path. One that lies beside the scenario file, and not where
/// the command was given, is taken from there.
///
/// Lines that only a shell can read, and names that it looks up itself, are left to it.
pub(crate) fn find(scenario: &mut Scenario, file: Option<&Path>) -> Result<(), Failure> {
    let beside = file.and_then(Path::parent);
    for (host, line) in &mut scenario.programs {
        let Some(path) = path_of(line) else { continue };
        if Path::new(path).is_file() {
            continue;
        }
        let other = beside.map(|folder| folder.join(path)).filter(|path| path.is_file());
        let whole = other.and_then(|path| path.canonicalize().ok());
        let Some(whole) = whole else {
            let shown = file.map(|file| file.display().to_string());
            let message = format!("hosts.{host}.run: there is no program {path}");
            let hint =
                "a path is of the folder that `tenuto` is started in, or of the scenario file";
            return Err(Failure::input(message, shown.as_deref(), Some(hint)));
        };
        let rest = line.trim_start().strip_prefix(path).unwrap_or_default();
        let whole = whole.display().to_string().replace('\'', "'\\''");
        *line = format!("'{whole}'{rest}");
    }
    Ok(())
}

/// The program of a command line, if it is plainly a path.
fn path_of(line: &str) -> Option<&str> {
    let word = line.split_whitespace().next()?;
    (word.contains('/') && !word.contains(OF_SHELLS)).then_some(word)
}

/// Says which programs a run in virtual time leaves out; nothing if there are none.
pub(crate) fn left_out(scenario: &Scenario) -> Option<String> {
    let lines = scenario.programs.iter().map(|(host, line)| format!("`{line}` of {host}"));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| {
        format!(
            "warning: own programs are left out in virtual time ({}): the hosts send at their \
             contracts instead; `tenuto up` runs them",
            lines.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn only_plain_paths_are_looked_for() {
        assert_eq!(path_of("./player --fast"), Some("./player"));
        assert_eq!(path_of("  /usr/bin/env python3"), Some("/usr/bin/env"));
        for line in ["player", "while true; do ./player; done", "$HOME/player", "A=./b c", ""] {
            assert_eq!(path_of(line), None, "{line}");
        }
    }
}
