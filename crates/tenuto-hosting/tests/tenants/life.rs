//! Start, end, restart, upgrade and death; each touches one tenant only.

use crate::stage::{Hosted, attacker, eventually, file_of, host_name, in_lab, in_this_lab, script};
use std::fs;
use std::path::{Path, PathBuf};
use tenuto_hosting::{Answer, Request, TenantState, ask};
use tenuto_io::namespaces::{LabNamespaces, namespace_rights};

const WAIT: &str = "echo ready; exec sleep 10000";

pub(crate) fn tenants_start_are_seen_and_stop() {
    in_lab("life::tenants_start_are_seen_and_stop", || {
        let more =
            ", memory: 64 MB, processes: 20, cores: 0.5, address: 10.99.1.2/30, control: [6653]";
        let tenants = script("blue", WAIT, more) + &script("red", WAIT, "");
        let hosted = Hosted::start(&tenants, &["blue", "red"]);
        hosted.log_with("blue", "ready");
        let status = hosted.status();
        assert_eq!(status.name, host_name());
        let blue = hosted.tenant("blue");
        assert_eq!((blue.state, blue.restarts, &blue.last_end), (TenantState::Running, 0, &None));
        assert_eq!(blue.processes, Some(1), "the program itself");
        assert_eq!(
            (blue.address.as_deref(), blue.control.as_slice()),
            (Some("10.99.1.2/30"), &["10.99.1.2:6653".to_owned()][..],)
        );
        // Added up from /proc, a short time may be none.
        assert!(blue.memory_bytes > Some(0) && blue.cpu_ns.is_some(), "{blue:?}");
        assert!(blue.start_took_ns > Some(0) && blue.frames_dropped.is_some(), "{blue:?}");
        let gone = ask(&hosted.state.socket(), &Request::Stop(Some("green".into())));
        assert!(matches!(gone, Ok(Answer::Refused(_))), "{gone:?}");
        hosted.ask(&Request::Stop(Some("blue".into())));
        assert_eq!(hosted.tenant("blue").state, TenantState::Ended);
        assert_eq!(hosted.tenant("red").state, TenantState::Running);
        hosted.ask(&Request::Stop(None));
        hosted.line("the supervisor ended: Ok(Stopped)");
        assert_eq!(groups_of(&host_name()), Vec::<PathBuf>::new());
        assert!(!hosted.state.socket().exists());
        // The kernel takes network namespaces away a little later.
        eventually(|| links() == 1);
    });
}

/// Groups of a host of tenants that are there, in any hierarchy.
fn groups_of(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("proc");
    let mounts = mounts.lines().filter(|line| line.contains(" - cgroup"));
    for target in mounts.filter_map(|line| line.split(' ').nth(4)) {
        look_for(Path::new(target), &format!("tenuto-{name}"), &mut found, 4);
    }
    found
}

fn look_for(folder: &Path, name: &str, found: &mut Vec<PathBuf>, depth: usize) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    for path in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        if path.ends_with(name) {
            found.push(path);
        } else if depth > 0 {
            look_for(&path, name, found, depth - 1);
        }
    }
}

fn links() -> usize {
    let table = fs::read_to_string("/proc/self/net/dev").expect("proc");
    table.lines().filter(|line| line.contains(':')).count()
}

pub(crate) fn an_end_touches_nobody_else() {
    in_lab("life::an_end_touches_nobody_else", || {
        let failing = "  red: {program: [/bin/sh, -c, exit 3], restart: on-failure}\n";
        let tenants = script("blue", WAIT, "") + failing;
        let hosted = Hosted::start(&tenants, &["blue"]);
        let before = hosted.tenant("blue");
        let red = hosted.until("red", |red| red.restarts >= 3);
        assert_eq!(red.last_end.as_deref(), Some("exit code 3"));
        let after = hosted.tenant("blue");
        assert_eq!((after.pid, after.restarts), (before.pid, 0));
    });
}

pub(crate) fn an_upgrade_touches_nobody_else() {
    in_lab("life::an_upgrade_touches_nobody_else", || {
        let blue = script("blue", WAIT, "");
        let old = blue.clone()
            + &script("red", "echo old; exec sleep 10000", "")
            + &script("green", WAIT, "");
        let hosted = Hosted::start(&old, &["blue", "red", "green"]);
        let before = [hosted.tenant("blue"), hosted.tenant("red")];
        let new =
            blue + &script("red", "echo new; exec sleep 10000", "") + &script("pink", WAIT, "");
        let apply = |text: &str| hosted.ask(&Request::Apply("new.yaml".into(), file_of(text)));
        let Answer::Done(mut done) = apply(&new) else { panic!("a good file") };
        done.sort();
        let words = ["blue is as it was", "green is removed", "pink is new", "red starts again"];
        assert_eq!(done, words);
        hosted.log_with("red", "new");
        let names =
            || -> Vec<String> { hosted.status().tenants.into_iter().map(|it| it.tenant).collect() };
        eventually(|| names() == ["blue", "red", "pink"]);
        assert_eq!(hosted.tenant("blue").pid, before[0].pid);
        assert_ne!(hosted.tenant("red").pid, before[1].pid);
        let refused = apply("  blue: {}\n");
        assert!(
            matches!(&refused, Answer::Refused(why) if why.contains("no program")),
            "{refused:?}"
        );
        assert_eq!(hosted.tenant("blue").pid, before[0].pid, "a bad file changes nothing");
    });
}

pub(crate) fn a_killed_supervisor_leaves_nothing() {
    in_lab("life::a_killed_supervisor_leaves_nothing", || {
        let nic = ", address: 10.99.1.2/30, memory: 64 MB";
        // A child in a session of its own, deaf to polite signals.
        let stubborn = "trap '' TERM HUP INT; setsid sleep 10000 & echo ready; wait";
        let tenants = script("blue", stubborn, nic) + &script("red", WAIT, "");
        let mut hosted = Hosted::start(&tenants, &["blue", "red"]);
        hosted.log_with("blue", "ready");
        assert_eq!(links(), 2, "lo and the virtual NIC");
        hosted.child.kill().expect("a child");
        hosted.child.wait().expect("a child");
        eventually(|| processes() == vec![std::process::id()]);
        eventually(|| links() == 1);
        // The next start finds groups and a socket left behind, and runs and removes them.
        let folder = hosted.folder.clone();
        let again = Hosted::start_in(folder, &script("green", WAIT, ""));
        again.line("green runs");
        again.ask(&Request::Stop(None));
        again.line("the supervisor ended");
        assert_eq!(groups_of(&host_name()), Vec::<PathBuf>::new());
    });
}

/// Processes of this lab that are no zombies.
fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("proc").filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_alive = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        !status.is_empty() && !status.contains("State:\tZ")
    };
    pids.filter(is_alive).collect()
}

pub(crate) fn a_program_that_cannot_run_is_told() {
    in_lab("life::a_program_that_cannot_run_is_told", || {
        // There for the host, not in the sandbox.
        let hidden = std::env::current_exe().expect("this test");
        let hidden = hidden.display();
        let tenants = format!("  red: {{program: [{hidden}], restart: never}}\n");
        let hosted = Hosted::start(&tenants, &[]);
        hosted.line("red failed: cannot run");
        let red = hosted.until("red", |red| red.state == TenantState::Ended);
        assert!(red.last_end.as_deref().is_some_and(|end| end.contains("No such file")), "{red:?}");
    });
}

pub(crate) fn without_root_it_runs_and_says_so() {
    let test = "life::without_root_it_runs_and_says_so";
    if let Err(refusal) = namespace_rights().user_namespaces {
        return println!("SKIPPED {test}: no user namespaces here: {refusal}");
    }
    // Root of a user namespace that knows one user is as good as nobody on the machine.
    let lab = LabNamespaces { user: true, tmpfs: None };
    in_this_lab(test, &lab, || {
        let nic = ", address: 10.99.1.2/30, memory: 640 MB, processes: 20";
        let tenants = attacker("blue", "rights", nic) + &script("red", "id -u; sleep 10000", "");
        let hosted = Hosted::start(&tenants, &["blue", "red"]);
        let log = hosted.log_with("blue", "all tried");
        assert!(!log.contains("GIVEN"), "{log}");
        hosted.log_with("red", "1000");
        hosted.ask(&Request::Stop(None));
        drop(hosted);
        // The larger of two settings counts, and 2 is the looser one: said, where it is so.
        fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "2").expect("root of the lab");
        let hosted = Hosted::start(&script("red", WAIT, ""), &["red"]);
        let status = hosted.status();
        let missing: Vec<&str> = status.missing.iter().map(|lack| lack.what.as_str()).collect();
        for lack in [
            "a user of its own outside for each tenant",
            "a strict check of source addresses at virtual NICs",
        ] {
            assert!(missing.contains(&lack), "{lack}: {missing:?}");
        }
    });
}
