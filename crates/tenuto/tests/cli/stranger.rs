//! Running the program, and a folder of its own for every test.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the program said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// Checks the exit code; what was said helps when it is another.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Checks what people read on stderr.
    #[track_caller]
    pub(crate) fn complains_of(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in:\n{}", self.stderr);
        }
        self
    }

    /// Checks what people read on stdout.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stdout.contains(word), "`{word}` is not in:\n{}", self.stdout);
        }
        self
    }

    /// The one document on stdout, which has what every document has.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let document: Value = match serde_json::from_str(&self.stdout) {
            Ok(document) => document,
            Err(error) => panic!("{error} in:\n{}\n{}", self.stdout, self.stderr),
        };
        for key in ["schema", "version", "world", "seed", "plan_hash", "verdict"] {
            assert!(document.get(key).is_some(), "no `{key}` in {document:#}");
        }
        document
    }
}

/// Runs the program in the folder of the shipped networks.
pub(crate) fn tenuto(args: &[&str]) -> Said {
    tenuto_in(&networks(), args)
}

/// Runs the program in a folder.
pub(crate) fn tenuto_in(folder: &Path, args: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_tenuto"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program speaks UTF-8");
    Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The shipped networks.
pub(crate) fn networks() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../networks")
}

/// An empty folder for one test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    path
}

/// Writes a file of a test.
pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("a file for the test");
}

/// A network that is right, for tests that make it wrong.
pub(crate) const LINE: &str = "\
tenuto: 1
name: line
hosts: {sensor: {}, display: {}}
switches: {sw1: {profile: tenuto}}
links:
  - {ends: [sensor, sw1], rate: 100 Mbit/s}
  - {ends: [sw1, display], rate: 100 Mbit/s}
flows:
  speed: {source: sensor, targets: [display], message: 1 kB, period: 10 ms, deadline: 5 ms}
";
