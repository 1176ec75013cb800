//! The first program of a guest: a script of busybox, which sets the machine up, starts the tenant's program as a user
//! without rights, and ends the machine with it.

use super::words::{ENDED, RUNS, SAYS};
use crate::setup::{MachineSetup, Setup};
use std::fmt::Write;

/// The shell of the guest itself, beside whatever the tenant brings.
pub(super) const SHELL: &str = "guest/sh";
/// Its programs.
pub(super) const PROGRAMS: &str = "guest/bin";
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The script for a tenant.
pub(super) fn first_script(setup: &Setup, machine: &MachineSetup) -> String {
    let mut text = format!("#!/{SHELL}\nb={}\n", quoted(&machine.busybox.to_string_lossy()));
    text +=
        "$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev\n";
    text += "n=0; while [ -e /drivers/$n.ko ]; do $b insmod /drivers/$n.ko; n=$((n + 1)); done\n";
    text += "$b ip link set lo up\n";
    let _ = writeln!(text, "$b hostname {}", quoted(&setup.name));
    text += "echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start\n";
    if let Some(nic) = &setup.nic {
        let (address, bits, host) = (nic.address, nic.prefix_bits, nic.host);
        let _ = writeln!(text, "$b ip addr add {address}/{bits} dev eth0; $b ip link set eth0 up");
        let _ = writeln!(text, "$b ip route add default via {host}");
    }
    let _ = writeln!(text, "echo '{SAYS}{RUNS}'");
    let as_tenant = quoted(&run(setup, machine));
    let _ = writeln!(text, "$b setsid $b su -s /{SHELL} tenant -c {as_tenant} </dev/null &");
    text += "p=$!\n";
    // One that has only just begun leads no group yet.
    text += "end() { kill -TERM -$p 2>/dev/null || kill -TERM $p; }\n";
    text += "(while read -r word; do [ \"$word\" = stop ] && end; done) </dev/ttyS0 &\n";
    let _ = writeln!(text, "wait $p\necho \"{SAYS}{ENDED}$?\"");
    text += "$b sync; $b reboot -f\n";
    text
}

/// What the tenant's user does: its limits, its variables, its program.
fn run(setup: &Setup, machine: &MachineSetup) -> String {
    let limits = setup.processes.map_or(String::new(), |most| format!("ulimit -u {most}; "));
    let mut variables =
        vec![format!("{PATH}:/{PROGRAMS}"), "HOME=/data".to_owned(), "LANG=C.UTF-8".to_owned()];
    variables.extend(setup.variables.iter().map(|(name, value)| format!("{name}={value}")));
    let words = variables.iter().chain(&setup.program).map(|word| quoted(word));
    let words = words.collect::<Vec<_>>().join(" ");
    format!("{limits}cd /data; exec {} env -i {words}", quoted(&machine.busybox.to_string_lossy()))
}

/// A word of the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_tenant_stay_words() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $HOME; reboot"), "'it'\\''s $HOME; reboot'");
    }
}
