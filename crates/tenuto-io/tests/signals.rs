//! Signals as a descriptor, in a process with a single thread.

use std::process::Command;
use tenuto_io::namespaces::{namespace_rights, spawn_in_new_namespaces};
use tenuto_io::signals::{Signal, SignalFd, unblock_in};
use tenuto_io::{Interest, MonotonicClock, PollSet};
use tenuto_units::Span;

fn main() {
    let mut signals =
        SignalFd::new(&[Signal::Interrupt, Signal::Terminate, Signal::Child]).expect("signalfd");
    let mut set = PollSet::new();
    let key = set.add(std::os::fd::AsRawFd::as_raw_fd(&signals), Interest::Read);
    let mut wait = || {
        set.wait(Some(MonotonicClock::now() + Span::from_s(10))).expect("poll");
        set.readiness(key).readable
    };

    assert_eq!(signals.next_pending().expect("read"), None);
    Signal::Terminate.send(std::process::id()).expect("to myself");
    assert!(wait());
    assert_eq!(signals.next_pending().expect("read"), Some(Signal::Terminate));

    // A child's end is a signal; the child itself can be ended as usual.
    let ends_itself = || {
        let mut command = Command::new("sh");
        command.args(["-c", "kill -TERM $$; exit 3"]);
        command
    };
    let mut unblocked = ends_itself();
    unblock_in(&mut unblocked);
    let mut child = unblocked.spawn().expect("sh");
    assert!(wait());
    assert_eq!(signals.next_pending().expect("read"), Some(Signal::Child));
    assert_eq!(child.wait().expect("child").code(), None, "ended by the signal");
    assert_eq!(signals.next_pending().expect("read"), None);
    if let Ok(lab) = namespace_rights().lab() {
        let mut inside = Command::new("sh");
        inside.args(["-c", "sh -c 'kill -TERM $$; exit 3'; test $? = 143"]);
        let mut child = spawn_in_new_namespaces(inside, &lab).expect("rights were probed");
        assert!(child.wait().expect("child").success(), "and so inside the lab");
    }

    assert!(Signal::Interrupt.send(0).is_err(), "never the whole process group");
    println!("signals: ok");
}
