//! `up` as a stranger meets it: stopped early, without a place for its report, and where no lab is
//! possible. Where nothing live can run, the tests that need it say so and pass.

use crate::stranger::{LINE, Said, folder, networks, tenuto_in, write};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const TENUTO: &str = env!("CARGO_BIN_EXE_tenuto");
const NO_NAMESPACES: &str = "user namespaces are used up or disabled (user.max_user_namespaces)";

/// Runs `up` in a folder and does something when stderr has these words.
fn up_until(folder: &Path, args: &[&str], words: &str, mut then: impl FnMut(&Child)) -> Said {
    let mut child = Command::new(TENUTO)
        .arg("up")
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stderr = String::new();
    for line in BufReader::new(child.stderr.take().expect("a pipe")).lines() {
        let line = line.expect("the program speaks UTF-8");
        if line.contains(words) {
            then(&child);
        }
        stderr.push_str(&line);
        stderr.push('\n');
    }
    let mut stdout = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("UTF-8");
    let status = child.wait().expect("a child of ours");
    Said { code: status.code(), stdout, stderr }
}

fn is_possible(test: &str, said: &Said) -> bool {
    if said.stderr.contains("not permitted") {
        println!("SKIPPED {test}: {}", said.stderr);
        return false;
    }
    true
}

#[test]
fn a_run_that_is_stopped_in_set_up_is_not_tried_again() {
    let folder = folder("stopped-in-set-up");
    write(&folder, "line.yaml", LINE);
    let interrupt = |child: &Child| {
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.expect("a program").success());
    };
    let args = ["line.yaml", "--for", "20s", "--slow", "10"];
    let said = up_until(&folder, &args, " namespaces", interrupt);
    if !is_possible("a_run_that_is_stopped_in_set_up_is_not_tried_again", &said) {
        return;
    }
    let said = said.exits(130).says(&["STOPPED"]).complains_of(&["ending at once"]);
    assert!(!said.stderr.contains("virtual time"), "{}", said.stderr);
    assert!(said.stdout.starts_with("line  live 0.000 s"), "{}", said.stdout);
}

#[test]
fn a_run_is_shown_even_if_its_report_cannot_be_written() {
    let folder = folder("no-place");
    write(&folder, "line.yaml", LINE);
    let out = folder.join("out");
    let take_away = |_: &Child| {
        std::fs::remove_dir_all(&out).expect("the folder of reports");
        std::fs::write(&out, "no folder any more").expect("a file");
    };
    let args = ["line.yaml", "--for", "300ms", "--slow", "10"];
    let said = up_until(&folder, &args, "traffic starts", take_away);
    if !is_possible("a_run_is_shown_even_if_its_report_cannot_be_written", &said) {
        return;
    }
    assert!(said.stdout.starts_with("line  live "), "{}", said.stdout);
    let said = said.says(&["observed max", "messages"]);
    assert_ne!(said.code, Some(0), "{}", said.stdout);
    said.complains_of(&["the file cannot be written"]);
}

#[test]
fn a_simulation_is_shown_even_if_it_cannot_be_kept() {
    let folder = folder("nothing-kept");
    write(&folder, "line.yaml", LINE);
    let frames = &["--frames", "/dev/full"][..];
    for keep in [&["-o", "/dev/full"][..], frames] {
        let args = [&["sim", "line.yaml", "--for", "1s"], keep].concat();
        let said = tenuto_in(&folder, &args).exits(2).says(&["observed max", "KEPT: "]);
        said.complains_of(&["error: "]);
        let args = [&args[..], &["--json"]].concat();
        let said = tenuto_in(&folder, &args).exits(2);
        assert_eq!(said.json()["verdict"], "kept", "{keep:?}");
    }
}

#[test]
fn up_says_that_there_is_no_place_for_its_files_before_it_measures() {
    let folder = folder("no-room");
    write(&folder, "line.yaml", LINE);
    write(&folder, "out", "no folder");
    let said = tenuto_in(&folder, &["up", "line.yaml", "--for", "300ms"]);
    if !is_possible("up_says_that_there_is_no_place_for_its_files_before_it_measures", &said) {
        return;
    }
    let said = said.exits(2).complains_of(&["there is no place for the files of a run", "out/"]);
    assert!(!said.stderr.contains("measuring"), "{}", said.stderr);
}

/// A command in a user namespace that allows no other one; `None` where that cannot be made.
fn without_namespaces(test: &str) -> Option<Command> {
    let disabled = || {
        let mut command = Command::new("bwrap");
        // An unprivileged user: who has the rights of root needs no user namespace.
        command.args(["--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"]);
        command.args(["--cap-drop", "ALL", "--dev-bind", "/", "/"]);
        command.stdin(Stdio::null());
        command
    };
    match disabled().arg("true").output() {
        Ok(output) if output.status.success() => Some(disabled()),
        other => {
            println!("SKIPPED {test}: no bubblewrap that can disable user namespaces: {other:?}");
            None
        }
    }
}

fn said(command: &mut Command) -> Said {
    let output = command.output().expect("bubblewrap starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[test]
fn up_says_that_no_lab_is_possible_before_it_measures() {
    let test = "up_says_that_no_lab_is_possible_before_it_measures";
    let Some(mut command) = without_namespaces(test) else { return };
    let folder = folder("no-namespaces");
    write(&folder, "line.yaml", LINE);
    command.arg(TENUTO).args(["up", "line.yaml"]).current_dir(&folder);
    let said = said(&mut command).exits(3);
    let said = said.complains_of(&["not permitted", NO_NAMESPACES, "tenuto sim"]);
    assert!(!said.stderr.contains("measuring"), "{}", said.stderr);
    assert!(!said.stderr.contains("No space left"), "{}", said.stderr);
    assert!(!folder.join("out").exists(), "nothing ran, and nothing is kept of it");
}

/// `make up`, with a `cargo` that has built this program already.
#[test]
fn make_up_goes_on_in_virtual_time_where_no_lab_is_possible() {
    let test = "make_up_goes_on_in_virtual_time_where_no_lab_is_possible";
    let Some(mut command) = without_namespaces(test) else { return };
    let folder = folder("make-up");
    std::fs::create_dir_all(folder.join("target/release")).expect("a folder");
    symlink(TENUTO, folder.join("target/release/tenuto")).expect("a link");
    // What prepares and builds is not tried here: everything that it looks for is there.
    std::fs::create_dir(folder.join("bin")).expect("a folder");
    for tool in ["cargo", "cc", "ip"] {
        let path = folder.join("bin").join(tool);
        symlink("/bin/true", path).expect("a link");
    }
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(["bash", "scripts/up.sh"]).current_dir(networks().join(".."));
    command.env("PATH", format!("{}:{path}", folder.join("bin").display()));
    command.env("HOME", &folder).env("CARGO_TARGET_DIR", folder.join("target"));
    said(&mut command).exits(0).complains_of(&[NO_NAMESPACES]).says(&[
        "the same in virtual time",
        "vehicle  simulated",
        "KEPT: ",
    ]);
}
