//! The user's own programs of a scenario: whether they are there, before anything runs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tenuto_model::Scenario;

/// Characters by which a shell makes something else of a word.
const OF_SHELLS: &[char] = &[
    '\'', '"', '\\', '$', '`', ';', '&', '|', '<', '>', '(', ')', '{', '}', '*', '?', '[', ']',
    '~', '#', '=', '!',
];
/// Words that a shell carries out by itself (POSIX, "Reserved Words" and the built-in utilities).
const BUILT_IN: &[&str] = &[
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "eval", "exec", "exit",
    "export", "fg", "for", "getopts", "hash", "if", "jobs", "local", "read", "readonly", "return",
    "set", "shift", "times", "trap", "type", "ulimit", "umask", "unalias", "unset", "until",
    "wait", "while",
];
/// Where a shell looks for programs that is told of no other place.
const PATH_LEFT_OUT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Finds the program of a command line: the line as it is to be run, or what is wrong and what would
/// help. A path that is not there where the command was given is taken from beside the scenario file.
///
/// Lines that only a shell can read are left to it.
pub(crate) fn found(line: &str, beside: Option<&Path>) -> Result<String, (String, String)> {
    let Some(word) = line.split_whitespace().next() else { return Ok(String::new()) };
    if word.contains(OF_SHELLS) || BUILT_IN.contains(&word) {
        return Ok(line.to_owned());
    }
    if !word.contains('/') {
        return named(word).map(|()| line.to_owned());
    }
    if Path::new(word).is_file() {
        return executable(word, Path::new(word)).map(|()| line.to_owned());
    }
    let other = beside.map(|folder| folder.join(word)).filter(|path| path.is_file());
    let Some(whole) = other.and_then(|path| path.canonicalize().ok()) else {
        let hint = "a path is of the folder that `tenuto` is started in, or of the scenario file";
        return Err((format!("there is no program {word}"), hint.to_owned()));
    };
    executable(word, &whole)?;
    let rest = line.trim_start().strip_prefix(word).unwrap_or_default();
    Ok(format!("'{}'{rest}", whole.display().to_string().replace('\'', "'\\''")))
}

/// A program that a shell would find in its places.
fn named(word: &str) -> Result<(), (String, String)> {
    let places = std::env::var_os("PATH").unwrap_or_else(|| PATH_LEFT_OUT.into());
    let mut paths = std::env::split_paths(&places).map(|folder| folder.join(word));
    if paths.any(|path| is_executable(&path)) {
        return Ok(());
    }
    let hint = match Path::new(word).is_file() {
        true => format!("a file of this folder is named ./{word}"),
        false => "a name without a slash is looked for in the folders of PATH".to_owned(),
    };
    Err((format!("there is no program {word}"), hint))
}

fn executable(word: &str, path: &Path) -> Result<(), (String, String)> {
    if is_executable(path) {
        return Ok(());
    }
    let hint = format!("`chmod +x {word}`, or name what runs it: `python3 {word}`");
    Err((format!("{word} is no program: it may not be executed"), hint))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
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
    use super::found;

    #[test]
    fn what_only_a_shell_can_read_is_left_to_it() {
        for line in ["while true; do ./a; done", "$HOME/a", "A=./b c", "exec ./a", "(./a)", ""] {
            assert_eq!(found(line, None), Ok(line.to_owned()));
        }
        assert_eq!(found("  /usr/bin/env python3", None), Ok("  /usr/bin/env python3".to_owned()));
        assert_eq!(found("sh -c true", None), Ok("sh -c true".to_owned()));
    }

    #[test]
    fn what_is_not_there_is_named_with_what_helps() {
        let (message, hint) = found("no-such-program --fast", None).expect_err("nowhere");
        assert_eq!(message, "there is no program no-such-program");
        assert!(hint.contains("PATH"), "{hint}");
        // A file that nobody may execute, and a folder.
        let (message, hint) = found("/etc/passwd", None).expect_err("no program");
        assert!(
            message.contains("may not be executed") && hint.contains("chmod"),
            "{message} {hint}"
        );
        assert!(found("/etc/", None).is_err());
    }
}
