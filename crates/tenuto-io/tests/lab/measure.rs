//! The measuring harness, on a forwarder whose figures are only plausible, never judged.

use crate::in_lab::in_lab;
use tenuto_io::measure::{BareForwarder, ForwarderSettings, Load, Wiring, measure};
use tenuto_io::{PortKind, PortSettings, WaitPolicy, realtime};
use tenuto_units::Span;

const WINDOW: Span = Span::from_ms(40);
/// Windows that are tried.
const WINDOWS_MAX: usize = 10;

#[test]
fn a_window_counts_and_times_what_is_forwarded() {
    let test = "measure::a_window_counts_and_times_what_is_forwarded";
    in_lab(test, || {
        let processors = realtime::allowed_processors().expect("readable");
        let last = processors.last().copied();
        let (veth, tap) = (Wiring::veth().expect("root"), Wiring::tap().expect("good names"));
        for kind in [PortKind::Packet, PortKind::PacketRing, PortKind::Xdp, PortKind::Tap] {
            for policy in [WaitPolicy::default(), WaitPolicy::Block] {
                let ports = PortSettings { kind: Some(kind), ..PortSettings::default() };
                let settings = ForwarderSettings { ports, policy, processor: last };
                let wiring = if kind == PortKind::Tap { &tap } else { &veth };
                let (entry, exit) = (wiring.entry.as_str(), wiring.exit.as_str());
                let mut forwarder = match BareForwarder::start(settings, entry, exit) {
                    Ok(forwarder) => forwarder,
                    Err(error) => {
                        println!("SKIPPED {test}, {kind}: {error}");
                        continue;
                    }
                };
                for rate_pps in [Some(1_000), None] {
                    let load = Load::plain(200, rate_pps, WINDOW);
                    // A window may pass without a turn of the forwarder on a busy machine.
                    let mut windows = (0..WINDOWS_MAX).map(|_| {
                        measure(wiring, &load, processors[0], &mut forwarder)
                            .unwrap_or_else(|error| panic!("{kind}: {error}"))
                    });
                    let window = windows.find(|window| window.arrived > 0).expect("some arrive");
                    let (arrived, offered) = (window.arrived, window.offered);
                    println!("{kind} {}: {arrived} of {offered}", policy.name());
                    assert!(arrived > 0 && arrived <= offered, "{kind}: {arrived} of {offered}");
                    assert!(window.processor_ns > 0 && window.sent_for_ns >= WINDOW.as_ns());
                    if rate_pps.is_some() {
                        assert!(offered <= 41, "{kind}: a frame each millisecond");
                        let marked = window.delays_ns.len() as u64;
                        assert_eq!(marked, arrived, "{kind}: every frame is the generator's");
                        let delays = [500, 990, 1_000].map(|p| window.delay_ns(p).expect("some"));
                        assert!(delays.is_sorted() && delays[2] < 1_000_000_000, "{delays:?}");
                    }
                }
            }
        }
        let ports = PortSettings { kind: Some(PortKind::Packet), ..PortSettings::default() };
        let settings = ForwarderSettings { ports, policy: WaitPolicy::Block, processor: None };
        assert!(BareForwarder::start(settings.clone(), "in", "nowhere").is_err());
        let mut forwarder = BareForwarder::start(settings, "in", "out").expect("root");
        let long = Load::plain(60, None, Span::from_s(1));
        let error = measure(&veth, &long, processors[0], &mut forwarder).expect_err("too long");
        assert!(error.to_string().contains("at most 500"), "{error}");
        let small = Load { mark_at: 50, ..Load::plain(60, None, WINDOW) };
        let error = measure(&veth, &small, processors[0], &mut forwarder).expect_err("no room");
        assert!(error.to_string().contains("no room for a mark"), "{error}");
    });
}
