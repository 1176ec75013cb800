//! The lab's namespaces: what is inside, who dies with whom, and entering from outside.

use crate::in_lab::{PATIENCE, in_lab, in_this_lab, possible_lab};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use tenuto_io::namespaces::{
    LabNamespaces, SpawnError, namespace_rights, spawn_in_new_namespaces, spawn_inside,
    supervisor_of,
};
use tenuto_io::signals::Signal;
use tenuto_io::{Interest, MonotonicClock, PollSet};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// What a child writes, line by line.
struct Lines(BufReader<ChildStdout>);

impl Lines {
    fn of(child: &mut Child) -> Self {
        Self(BufReader::new(child.stdout.take().expect("piped")))
    }

    fn next(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a pipe");
        line.trim().to_owned()
    }

    /// Waits for the end: all processes that hold the pipe are gone.
    fn end(mut self) {
        let mut set = PollSet::new();
        let key = set.add(self.0.get_ref().as_raw_fd(), Interest::Read);
        set.wait(Some(MonotonicClock::now() + PATIENCE)).expect("poll");
        assert!(set.readiness(key).readable, "somebody inside is still alive");
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).expect("a pipe");
        assert_eq!(rest, "");
    }
}

#[test]
fn inside_it_is_process_1_and_root_and_alone() {
    in_lab("namespaces::inside_it_is_process_1_and_root_and_alone", || {
        assert_eq!(std::process::id(), 1);
        assert!(namespace_rights().root);
        let processes = std::fs::read_dir("/proc").expect("proc").filter(|entry| {
            let name = entry.as_ref().expect("proc").file_name();
            name.to_string_lossy().parse::<u32>().is_ok()
        });
        assert_eq!(processes.count(), 1);
        let links = std::fs::read_to_string("/proc/self/net/dev").expect("proc");
        assert_eq!(links.lines().count(), 3, "two of heading and lo: {links}");
    });
}

#[test]
fn status_and_signals_pass_through_the_guardian() {
    let Some(lab) = possible_lab("status_and_signals_pass_through_the_guardian") else { return };
    let run = |script| spawn_in_new_namespaces(shell(script), &lab).expect("rights were probed");
    assert_eq!(run("exit 42").wait().expect("a child").code(), Some(42));

    let mut child = run("trap 'exit 43' TERM; echo ready; sleep 1000 & wait");
    let mut lines = Lines::of(&mut child);
    assert_eq!(lines.next(), "ready");
    Signal::Terminate.send(child.id()).expect("a child");
    assert_eq!(child.wait().expect("a child").code(), Some(43));
    lines.end();
}

#[test]
fn killing_the_guardian_kills_all_inside() {
    let Some(lab) = possible_lab("killing_the_guardian_kills_all_inside") else { return };
    let script = "(trap '' TERM HUP INT; setsid sleep 1000) & echo ready; wait";
    let mut child = spawn_in_new_namespaces(shell(script), &lab).expect("rights were probed");
    let mut lines = Lines::of(&mut child);
    assert_eq!(lines.next(), "ready");
    child.kill().expect("a child");
    child.wait().expect("a child");
    lines.end();
}

#[test]
fn the_lab_is_entered_from_outside() {
    let Some(lab) = possible_lab("the_lab_is_entered_from_outside") else { return };
    // A node in its own network namespace, whose id inside is printed.
    let script =
        "unshare --net sh -c 'echo $$; readlink /proc/self/ns/net; exec sleep 1000' & wait";
    let mut child = spawn_in_new_namespaces(shell(script), &lab).expect("rights were probed");
    let mut lines = Lines::of(&mut child);
    let node: u32 = lines.next().parse().expect("a pid");
    let node_net = lines.next();
    let supervisor = supervisor_of(child.id()).expect("it runs");

    let look = "readlink /proc/self/ns/net; readlink /proc/1/ns/net; id -u; pwd; exit 7";
    let outside = std::fs::read_link("/proc/self/ns/net").expect("proc");
    for pid in [None, Some(node)] {
        let mut guest = spawn_inside(shell(look), supervisor, pid).expect("it is my lab");
        let mut seen = Lines::of(&mut guest);
        let (own, first, user, directory) = (seen.next(), seen.next(), seen.next(), seen.next());
        assert_eq!(own == first, pid.is_none());
        assert_eq!(own == node_net, pid.is_some());
        assert_ne!(own, outside.to_string_lossy());
        assert_eq!(user, "0");
        assert_eq!(directory, std::env::current_dir().expect("here").to_string_lossy());
        assert_eq!(guest.wait().expect("a child").code(), Some(7));
    }
    assert!(spawn_inside(shell("true"), supervisor, Some(u32::MAX)).is_err());
    child.kill().expect("a child");
    child.wait().expect("a child");
    lines.end();
    assert!(supervisor_of(child.id()).is_err());
}

#[test]
fn the_empty_file_system_is_seen_inside_only() {
    let Some(lab) = possible_lab("the_empty_file_system_is_seen_inside_only") else { return };
    let directory = std::env::temp_dir().join(format!("tenuto-io-{}", std::process::id()));
    std::fs::create_dir(&directory).expect("a temporary directory");
    std::fs::write(directory.join("outside"), "").expect("a file");
    let lab = LabNamespaces { tmpfs: Some(directory.clone()), ..lab };
    let mut command = shell("cd \"$0\" && ls && touch inside && ls");
    command.arg(&directory);
    let mut child = spawn_in_new_namespaces(command, &lab).expect("rights were probed");
    let mut lines = Lines::of(&mut child);
    assert_eq!(lines.next(), "inside");
    assert!(child.wait().expect("a child").success());
    let names =
        std::fs::read_dir(&directory).expect("there").map(|e| e.expect("there").file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["outside"]);
    std::fs::remove_dir_all(&directory).expect("mine");
}

#[test]
fn the_setting_that_forbids_namespaces_is_named() {
    let test = "namespaces::the_setting_that_forbids_namespaces_is_named";
    if namespace_rights().user_namespaces.is_err() {
        return println!("SKIPPED {test}: no user namespaces here");
    }
    // The limit is one per user namespace: this one's own is set, not the machine's.
    let lab = LabNamespaces { user: true, tmpfs: None };
    in_this_lab(test, &lab, || {
        std::fs::write("/proc/sys/user/max_user_namespaces", "0").expect("root of the lab");
        let rights = namespace_rights();
        assert!(rights.namespaces.is_ok() && rights.packet_sockets.is_ok(), "{rights:?}");
        assert_eq!(
            rights.user_namespaces.expect_err("forbidden").to_string(),
            "making a user namespace failed: user namespaces are used up or disabled \
             (user.max_user_namespaces) (forbidden by user.max_user_namespaces = 0)"
        );
    });
}

#[test]
fn what_cannot_be_started_is_told() {
    let Some(lab) = possible_lab("what_cannot_be_started_is_told") else { return };
    let missing = spawn_in_new_namespaces(Command::new("/no/such/program"), &lab);
    assert!(matches!(missing, Err(SpawnError::Program { .. })), "{missing:?}");
    let lab = LabNamespaces { tmpfs: Some("/no/such/directory".into()), ..lab };
    let error = spawn_in_new_namespaces(shell("true"), &lab).expect_err("no such directory");
    assert_eq!(
        error.to_string(),
        "mounting an empty file system failed: No such file or directory (os error 2); \
         `tenuto doctor` says what is missing"
    );
}
