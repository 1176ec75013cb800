//! A lab of its own for each test, and a supervisor in it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tenuto_hosting::{
    Answer, Request, StateFolder, Status, TenantStatus, ask, judge, read_log, up,
};
use tenuto_io::namespaces::{LabNamespaces, namespace_rights, spawn_in_new_namespaces};
use tenuto_io::{MonotonicClock, PollSet};
use tenuto_model::read_tenants;
use tenuto_units::Span;

const INSIDE: &str = "TENUTO_TENANTS_TEST_INSIDE";
const SUPERVISOR: &str = "supervise-tenants-of-a-test";
/// Nothing here takes longer unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether this process runs in the lab of a test.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// The folder of the supervisor of this lab.
pub(crate) fn own_folder() -> PathBuf {
    std::env::temp_dir().join(format!("tenuto-{}", host_name()))
}

/// Runs `body` inside a lab of its own; `test` is the name of the test that calls this.
pub(crate) fn in_lab(test: &str, body: impl FnOnce()) {
    match namespace_rights().lab() {
        Ok(lab) => in_this_lab(test, &lab, body),
        Err(refusal) => println!("SKIPPED {test}: no namespaces here: {refusal}"),
    }
}

/// As [`in_lab`], in the namespaces given.
pub(crate) fn in_this_lab(test: &str, lab: &LabNamespaces, body: impl FnOnce()) {
    if is_inside() {
        // A machine may allow a lab, and none within it.
        return match tenuto_hosting::probe() {
            Err(error) if error.to_string().contains("used up or disabled") => {
                println!("SKIPPED {test}: no sandbox in a lab here: {error}");
            }
            _ => body(),
        };
    }
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.arg(test).env(INSIDE, "1");
    let mut guardian = spawn_in_new_namespaces(command, lab).expect("rights were probed");
    assert!(guardian.wait().expect("a child").success(), "{test} failed inside the lab");
}

/// Supervises, if this process was started for that.
pub(crate) fn supervisor_main() -> Option<ExitCode> {
    let args: Vec<String> = std::env::args().collect();
    let [_, role, path, state] = args.as_slice() else { return None };
    if role != SUPERVISOR {
        return None;
    }
    let text = fs::read_to_string(path).expect("written by the test");
    let file = match read_tenants(&text, path, &judge) {
        Ok(file) => file,
        Err(problems) => {
            eprintln!("{problems}");
            return Some(ExitCode::FAILURE);
        }
    };
    let state = StateFolder::of("", Some(state.as_ref()));
    let end = up(path.as_ref(), file, state);
    println!("the supervisor ended: {end:?}");
    Some(if end.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A supervisor and its folder; both go at the end.
pub(crate) struct Hosted {
    pub(crate) child: Child,
    lines: Receiver<String>,
    pub(crate) folder: PathBuf,
    pub(crate) state: StateFolder,
}

/// The text of a file with these tenants, whose host is called as this process is.
pub(crate) fn file_of(tenants: &str) -> String {
    format!("tenuto_tenants: 1\nname: {}\ntenants:\n{tenants}", host_name())
}

pub(crate) fn host_name() -> String {
    // The lab has ids of its own: the namespace tells labs apart.
    let namespace = fs::read_link("/proc/self/ns/pid").expect("proc");
    let number: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    format!("test-{number}")
}

impl Hosted {
    /// Starts the tenants and waits until each that is named here runs.
    pub(crate) fn start(tenants: &str, running: &[&str]) -> Self {
        let folder = own_folder();
        fs::create_dir_all(&folder).expect("a folder");
        let hosted = Self::start_in(folder, tenants);
        // In whatever order they come to run.
        let mut waiting: Vec<String> = running.iter().map(|name| format!("{name} runs")).collect();
        while !waiting.is_empty() {
            let line = hosted.line(" runs");
            waiting.retain(|words| !line.contains(words));
        }
        hosted
    }

    /// As [`Self::start`], in a folder that is there.
    pub(crate) fn start_in(folder: PathBuf, tenants: &str) -> Self {
        let file = folder.join("tenants.yaml");
        fs::write(&file, file_of(tenants)).expect("a file");
        let state = StateFolder::of("", Some(&folder.join("state")));
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.arg(SUPERVISOR).arg(&file).arg(state.path()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this test");
        let output = child.stdout.take().expect("piped");
        let (line, lines) = channel();
        std::thread::spawn(move || {
            for text in BufReader::new(output).lines().map_while(Result::ok) {
                println!("    {text}");
                if line.send(text).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, folder, state }
    }

    /// Waits for a line of the supervisor.
    pub(crate) fn line(&self, part: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|error| panic!("no line with {part:?}: {error}"));
            if line.contains(part) {
                return line;
            }
        }
    }

    pub(crate) fn ask(&self, request: &Request) -> Answer {
        ask(&self.state.socket(), request).expect("the supervisor answers")
    }

    pub(crate) fn status(&self) -> Status {
        match self.ask(&Request::Status) {
            Answer::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn tenant(&self, name: &str) -> TenantStatus {
        let tenants = self.status().tenants.into_iter();
        tenants.into_iter().find(|it| it.tenant == name).expect("it is in the file")
    }

    /// Looks again and again until a tenant is as wanted.
    pub(crate) fn until(&self, name: &str, is_so: impl Fn(&TenantStatus) -> bool) -> TenantStatus {
        let mut seen = self.tenant(name);
        eventually(|| {
            seen = self.tenant(name);
            is_so(&seen)
        });
        seen
    }

    /// What a tenant has written.
    pub(crate) fn log(&self, name: &str) -> String {
        let log = read_log(&self.state.log(name)).expect("it was started");
        String::from_utf8_lossy(&log).into_owned()
    }

    /// What a tenant has written once it has written a line with `part`.
    pub(crate) fn log_with(&self, name: &str, part: &str) -> String {
        eventually(|| self.log(name).contains(part));
        self.log(name)
    }
}

/// Looks again and again, a little later each time, until it is so.
pub(crate) fn eventually(mut is_so: impl FnMut() -> bool) {
    let end = MonotonicClock::now() + Span::from_s(PATIENCE.as_secs());
    while !is_so() {
        assert!(MonotonicClock::now() < end, "it does not come true");
        PollSet::new().wait(Some(MonotonicClock::now() + Span::from_ms(20))).expect("a wait");
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        // A test that has failed may have left anything.
        if ask(&self.state.socket(), &Request::Stop(None)).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A tenant that runs this program as the attacker `name`.
pub(crate) fn attacker(name: &str, words: &str, more: &str) -> String {
    let exe = std::env::current_exe().expect("this test");
    let exe = exe.display();
    format!(
        "  {name}: {{program: [{exe}, attack, {words}], files: [{exe}], restart: never{more}}}\n"
    )
}

/// A tenant that runs a script of the shell.
pub(crate) fn script(name: &str, script: &str, more: &str) -> String {
    assert!(!script.contains('"'), "it stands between these");
    format!("  {name}: {{program: [/bin/sh, -c, \"{script}\"], restart: never{more}}}\n")
}
