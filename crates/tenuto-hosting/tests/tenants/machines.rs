//! Tenants in machines with kernels of their own. They need QEMU, busybox and a kernel of the distribution: that of
//! /boot, or the one that TENUTO_TEST_KERNEL names.

use crate::stage::{Hosted, attacker, eventually, in_lab, script};
use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;
use tenuto_hosting::{TenantState, judge};
use tenuto_model::TenantText;

/// Runs `body` in a lab with what makes a tenant a machine, or says why not.
fn with_machines(test: &str, body: impl FnOnce(&str)) {
    let kernel = std::env::var("TENUTO_TEST_KERNEL").unwrap_or_default();
    if let Err(why) = judge(TenantText::Kernel, &kernel) {
        return println!("SKIPPED {test}: no machines here: {why}");
    }
    let named = if kernel.is_empty() { String::new() } else { format!(", kernel: {kernel}") };
    in_lab(test, || body(&format!(", environment: microvm{named}")));
}

pub(crate) fn a_program_runs_in_a_machine_of_its_own() {
    with_machines("machines::a_program_runs_in_a_machine_of_its_own", |machine| {
        let words = "cat /proc/version; id -u; echo $GREETING; echo it is $((40 + 2)); exit 7";
        let hosted = Hosted::start(
            &script("blue", words, &format!(", variables: {{GREETING: it's me}}{machine}")),
            &["blue"],
        );
        let log = hosted.log_with("blue", "it is 42");
        let own = fs::read_to_string("/proc/version").expect("proc");
        assert!(log.contains("Linux version") && !log.contains(own.trim()), "{log}");
        assert!(log.contains("\n1000\n") && log.contains("it's me"), "{log}");
        let blue = hosted.until("blue", |blue| blue.state == TenantState::Ended);
        assert_eq!(blue.last_end.as_deref(), Some("exit code 7"), "{log}");
        assert_eq!(blue.environment, "microvm");
        println!("    lacks {:?}", blue.missing);
    });
}

pub(crate) fn switches_reach_a_controller_in_a_machine() {
    with_machines("machines::switches_reach_a_controller_in_a_machine", |machine| {
        let more = format!(
            ", address: 10.99.1.2/30, control: [6653], rate: {{packets: 5000 /s}}, processes: 40{machine}"
        );
        let listen = attacker("blue", "listen, \"10.99.1.2:6653\"", &more);
        let hosted = Hosted::start(&listen, &["blue"]);
        hosted.log_with("blue", "listening");
        let address = hosted.tenant("blue").control[0].parse().expect("an address");
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(30));
        let mut text = String::new();
        stream.expect("it listens").read_to_string(&mut text).expect("a word");
        assert_eq!(text, "hello");
        let blue = hosted.tenant("blue");
        assert!(blue.frames_sent > Some(2) && blue.frames_received > Some(2), "{blue:?}");
        assert_eq!(blue.frames_policed, Some(0), "{blue:?}");
        println!("    booted in {:?} ms", blue.start_took_ns.map(|ns| ns / 1_000_000));
    });
}

/// The emulator of a tenant, as this lab sees it.
fn emulators() -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("proc").filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_emulator = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.starts_with("qemu-system")
    };
    pids.filter(is_emulator).collect()
}

pub(crate) fn a_machine_that_dies_touches_nobody_else() {
    with_machines("machines::a_machine_that_dies_touches_nobody_else", |machine| {
        const WAIT: &str = "echo ready; exec sleep 10000";
        let blue = script("blue", WAIT, machine).replace("restart: never", "restart: on-failure");
        let hosted = Hosted::start(&(blue + &script("red", WAIT, "")), &["blue", "red"]);
        hosted.log_with("blue", "ready");
        let red = hosted.tenant("red").pid;
        let emulators = emulators();
        assert_eq!(emulators.len(), 1);
        let mut kill = std::process::Command::new("/bin/kill");
        kill.args(["-KILL", &emulators[0].to_string()]).status().expect("a kill");
        let blue = hosted.until("blue", |blue| blue.restarts == 1);
        assert_eq!(blue.last_end.as_deref(), Some("exit code 70"), "{blue:?}");
        hosted.until("blue", |blue| blue.state == TenantState::Running);
        assert!(hosted.log("blue").contains("kernel has ended before its program"));
        assert_eq!(hosted.tenant("red").pid, red);
        // Asked to end, the guest has its program end, and with it itself.
        hosted.ask(&tenuto_hosting::Request::Stop(Some("blue".into())));
        assert_eq!(hosted.tenant("blue").last_end.as_deref(), Some("signal 15"));
        eventually(|| self::emulators().is_empty());
    });
}

/// More files than memory: the guest's kernel panics while it unpacks them.
pub(crate) fn a_kernel_that_panics_is_told_and_touches_nobody_else() {
    with_machines("machines::a_kernel_that_panics_is_told_and_touches_nobody_else", |machine| {
        let folder = std::env::temp_dir().join("tenuto-large-files");
        fs::create_dir_all(&folder).expect("a folder");
        let noise: Vec<u8> = (0..90_000_000_u32).map(|n| (n ^ n >> 7).to_le_bytes()[0]).collect();
        fs::write(folder.join("large"), noise).expect("room");
        let more = format!(", memory: 115 MB, files: [{}]{machine}", folder.display());
        let blue = script("blue", "echo never", &more);
        let hosted = Hosted::start(&(blue + &script("red", "exec sleep 10000", "")), &["red"]);
        let red = hosted.tenant("red").pid;
        let blue = hosted.until("blue", |blue| blue.state == TenantState::Ended);
        let end = blue.last_end.expect("it has ended");
        assert!(end.contains("before it had booted") || end.contains("did not boot"), "{end}");
        let log = hosted.log("blue");
        assert!(log.contains("anic") && !log.contains("never\n"), "{log}");
        assert_eq!(hosted.tenant("red").pid, red);
        fs::remove_dir_all(&folder).expect("it is there");
    });
}
