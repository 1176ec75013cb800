//! Measures the least that forwards frames, by kind of port and way of waiting:
//! `cargo run --release -p tenuto-io --example bare_forwarder -- KIND...` with kinds as in the
//! program's settings, or `all`. It makes its own namespaces and veth pairs.

use std::env;
use std::io;
use std::process::{Command, ExitCode};
use tenuto_io::measure::{BareForwarder, ForwarderSettings, Load, Window, Wiring, measure};
use tenuto_io::namespaces::{namespace_rights, spawn_in_new_namespaces};
use tenuto_io::{HostStack, PortKind, PortSettings, WaitPolicy, realtime};
use tenuto_units::Span;

const INSIDE: &str = "TENUTO_BARE_FORWARDER_INSIDE";
const REPETITIONS: usize = 3;
const WINDOW: Span = Span::from_ms(350);
const PACED_PPS: u64 = 20_000;

fn main() -> ExitCode {
    let done = if env::var_os(INSIDE).is_some() { inside() } else { outside() };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bare_forwarder: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts this program again in namespaces of its own.
fn outside() -> io::Result<ExitCode> {
    let rights = namespace_rights();
    let lab = rights.lab().map_err(|refusal| io::Error::other(refusal.to_string()))?;
    let mut command = Command::new(env::current_exe()?);
    command.args(env::args_os().skip(1)).env(INSIDE, "1");
    let mut guardian = spawn_in_new_namespaces(command, &lab).map_err(io::Error::other)?;
    let code = guardian.wait()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn kinds() -> io::Result<Vec<PortKind>> {
    let names: Vec<String> = env::args().skip(1).collect();
    let measured = [PortKind::Packet, PortKind::PacketRing, PortKind::Xdp, PortKind::Tap];
    if names.is_empty() || names == ["all"] {
        return Ok(measured.to_vec());
    }
    let kinds = names.iter().map(|name| name.parse().map_err(io::Error::other));
    kinds
        .map(|kind| match kind {
            Ok(PortKind::Memory) => Err(io::Error::other("memory ports join no interfaces")),
            kind => kind,
        })
        .collect()
}

/// One row: a kind, a way of waiting, and all its windows.
struct Row {
    kind: PortKind,
    policy: WaitPolicy,
    short: Vec<Window>,
    long: Vec<Window>,
    paced: Vec<Window>,
}

fn inside() -> io::Result<ExitCode> {
    let processors = realtime::allowed_processors()?;
    let (Some(&first), Some(&last)) = (processors.first(), processors.last()) else {
        return Err(io::Error::other("no processor"));
    };
    let veth = Wiring::veth()?;
    let tap = Wiring::tap()?;
    let row = |kind| move |policy| Row { kind, policy, short: vec![], long: vec![], paced: vec![] };
    let mut rows: Vec<Row> =
        kinds()?.into_iter().flat_map(|kind| WaitPolicy::ALL.map(row(kind))).collect();
    for _ in 0..REPETITIONS {
        for row in &mut rows {
            let wiring = if row.kind == PortKind::Tap { &tap } else { &veth };
            one_round(row, wiring, (first, last))?;
        }
    }
    print(&rows);
    Ok(ExitCode::SUCCESS)
}

fn one_round(row: &mut Row, wiring: &Wiring, processors: (usize, usize)) -> io::Result<()> {
    let ports = PortSettings {
        kind: Some(row.kind),
        host_stack: HostStack::KeepOut,
        ..PortSettings::default()
    };
    let settings = ForwarderSettings { ports, policy: row.policy, processor: Some(processors.1) };
    let (entry, exit) = (wiring.entry.as_str(), wiring.exit.as_str());
    let mut forwarder = BareForwarder::start(settings, entry, exit)?;
    if row.short.is_empty() && row.policy == WaitPolicy::Spin {
        forwarder.notes().iter().for_each(|note| println!("{}: {note}", row.kind));
    }
    let loads = [(60, None), (1_514, None), (60, Some(PACED_PPS))];
    for (place, (bytes, rate)) in loads.into_iter().enumerate() {
        let load = Load::plain(bytes, rate, WINDOW);
        let window = measure(wiring, &load, processors.0, &mut forwarder)?;
        [&mut row.short, &mut row.long, &mut row.paced][place].push(window);
    }
    Ok(())
}

fn print(rows: &[Row]) {
    println!(
        "{REPETITIONS} repetitions of {WINDOW}, medians (range); rate in kpps, delay in us at \
         {PACED_PPS} frames/s"
    );
    println!(
        "{:<12} {:<9} {:>15} {:>15} {:>11} {:>11} {:>15} {:>15} {:>15} {:>15}",
        "port", "wait", "60 B", "1514 B", "ns 60 B", "ns 1514 B", "p50", "p99", "p99.9", "max"
    );
    for row in rows {
        let rate = |windows: &[Window]| median(windows, |w| w.rate_pps(), 1_000, 0);
        let work = |windows: &[Window]| median(windows, Window::processor_ns_per_frame, 1, 0);
        let delay = |permille| median(&row.paced, |w| w.delay_ns(permille).unwrap_or(0), 1_000, 1);
        println!(
            "{:<12} {:<9} {:>15} {:>15} {:>11} {:>11} {:>15} {:>15} {:>15} {:>15}",
            row.kind.name(),
            row.policy.name(),
            rate(&row.short),
            rate(&row.long),
            work(&row.short),
            work(&row.long),
            delay(500),
            delay(990),
            delay(999),
            delay(1_000),
        );
    }
    let windows = rows.iter().flat_map(|row| row.short.iter().chain(&row.paced));
    if windows.clone().any(|window| !window.is_real_time) {
        println!("without SCHED_FIFO: neighbours are in these figures");
    }
}

/// The median of the windows' figures with their range, divided by `unit`.
fn median(windows: &[Window], figure: impl Fn(&Window) -> u64, unit: u64, digits: usize) -> String {
    let mut figures: Vec<u64> = windows.iter().map(figure).collect();
    figures.sort_unstable();
    let show = |value: u64| {
        let tenths = value * 10 / unit;
        match digits {
            0 => (tenths / 10).to_string(),
            _ => format!("{}.{}", tenths / 10, tenths % 10),
        }
    };
    match (figures.first(), figures.get(figures.len() / 2), figures.last()) {
        (Some(&least), Some(&middle), Some(&most)) => {
            format!("{} ({}-{})", show(middle), show(least), show(most))
        }
        _ => String::new(),
    }
}
