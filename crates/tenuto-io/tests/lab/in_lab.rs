//! Runs the body of a test inside a lab of its own: the test starts itself again as process 1.

use std::process::Command;
use tenuto_io::links::{IpBatch, LinkName, VethEnd, disable_ipv6, offloads_off};
use tenuto_io::namespaces::{LabNamespaces, namespace_rights, spawn_in_new_namespaces};
use tenuto_io::{Interest, MonotonicClock, PacketPort, PollSet, Port};
use tenuto_units::{Instant, Span};

const INSIDE: &str = "TENUTO_IO_TEST_INSIDE";
/// Nothing here takes longer unless it is broken.
pub(crate) const PATIENCE: Span = Span::from_s(10);

/// The namespaces that are possible here, or `None` after saying why none are.
pub(crate) fn possible_lab(test: &str) -> Option<LabNamespaces> {
    match namespace_rights().lab() {
        Ok(lab) => Some(lab),
        Err(refusal) => {
            println!("SKIPPED {test}: no namespaces here: {refusal}");
            None
        }
    }
}

/// Runs `body` inside a lab; `test` is the path of the test function that calls this.
pub(crate) fn in_lab(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    if let Some(lab) = possible_lab(test) {
        in_this_lab(test, &lab, body);
    }
}

/// As [`in_lab`], in the namespaces given.
pub(crate) fn in_this_lab(test: &str, lab: &LabNamespaces, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(INSIDE, "1");
    let mut guardian = spawn_in_new_namespaces(command, lab).expect("rights were probed");
    assert!(guardian.wait().expect("a child").success(), "{test} failed inside the lab");
}

pub(crate) fn name(text: &str) -> LinkName {
    LinkName::new(text).expect("a good name")
}

/// A quiet veth pair in this network namespace, up.
pub(crate) fn veth(a: &str, b: &str) {
    disable_ipv6().expect("root of the lab");
    let end = |text| VethEnd { name: name(text), pid: None, mac: None };
    IpBatch::new().veth_pair(&end(a), &end(b)).run().expect("root of the lab");
    for link in [a, b] {
        offloads_off(&name(link)).expect("root of the lab");
    }
    IpBatch::new().up(&name(a)).up(&name(b)).run().expect("root of the lab");
}

/// A quiet veth pair `a`, `b` in this network namespace, up, with a port on each end.
pub(crate) fn veth_ports() -> (PacketPort, PacketPort) {
    veth("a", "b");
    (PacketPort::open("a").expect("root"), PacketPort::open("b").expect("root"))
}

pub(crate) type Arrivals = Vec<(Instant, Vec<u8>)>;

/// Waits until `count` frames have come, and a look after that for more.
pub(crate) fn receive(port: &mut dyn Port, count: usize) -> Arrivals {
    let mut frames: Arrivals = Vec::new();
    let mut set = PollSet::new();
    set.add(port.poll_fd().expect("pollable"), Interest::Read);
    let deadline = MonotonicClock::now() + PATIENCE;
    while frames.len() < count {
        assert!(set.wait(Some(deadline)).expect("poll") > 0, "{} of {count}", frames.len());
        fetch(port, &mut frames);
    }
    fetch(port, &mut frames);
    frames
}

/// What there is now.
pub(crate) fn fetch(port: &mut dyn Port, frames: &mut Arrivals) {
    let mut sink = |arrival, frame: &[u8]| frames.push((arrival, frame.to_vec()));
    port.receive(1_000, &mut sink).expect("the interface is there");
}
