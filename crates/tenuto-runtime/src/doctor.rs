//! `tenuto doctor`: what this machine can and cannot show.

use crate::allowance::{HostService, LabPorts, measure_allowance};
use serde::{Deserialize, Serialize};
use std::fs;
use tenuto_io::namespaces::{Rights, namespace_rights};
use tenuto_io::{PortKind, probe_host_barrier, probe_port, realtime};
use tenuto_model::{Plan, Transition};
use tenuto_units::Span;

/// Elements of a usual way through a network: host, three switches, host.
const ELEMENTS: u64 = 5;
/// A bound is shown well if it is so many times what the machine adds.
const BOUND_TO_ALLOWANCE: u64 = 2;
/// How much slower a network may be run, by steps that divide usual rates.
const SLOW_STEPS: [u64; 7] = [1, 2, 5, 10, 20, 50, 100];

/// What this machine can and cannot show.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DoctorReport {
    /// The answer in one sentence.
    pub headline: String,
    /// Whether a lab can run at all.
    pub lab_possible: bool,
    /// What this process may do, each with the kernel's reason where it may not.
    pub rights: Vec<Finding>,
    /// The clock that the kernel uses; receive stamps are the kernel's, in software.
    pub clocksource: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// Processors kept free of other work by the kernel's command line.
    pub isolated: String,
    /// Frequency governor, where there is one.
    pub governor: String,
    /// How much of each period a real-time thread may run, nanoseconds; `None` without limit.
    pub fifo_budget_ns: Option<(u64, u64)>,
    /// Wake-ups as measured.
    pub service: HostService,
    /// Bounds above about this can be shown at full speed, nanoseconds.
    pub smallest_bound_ns: u64,
    /// What would make it better; nothing of it is changed by us.
    pub better: Vec<String>,
}

/// One right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is about.
    pub name: String,
    /// Whether it is there.
    pub granted: bool,
    /// The kernel's reason, and what would help.
    pub note: String,
}

impl Finding {
    fn new<T, E: std::fmt::Display>(name: &str, result: Result<T, E>) -> Self {
        let granted = result.is_ok();
        let note = result.err().map(|error| error.to_string()).unwrap_or_default();
        Self { name: name.to_owned(), granted, note }
    }
}

/// Processors from which on threads that receive and send pay: theirs, that of the data path, and
/// one for whatever else the kernel does for frames.
const IO_THREADS_FROM: usize = 3;

/// Looks at this machine; the measurement takes `duration`.
///
/// # Errors
/// When not even waiting works.
pub fn doctor(duration: Span) -> std::io::Result<DoctorReport> {
    let service = measure_allowance(duration, LabPorts::default())?;
    let rights = namespace_rights();
    let lab = rights.lab();
    let (lab_possible, in_user) = (lab.is_ok(), lab.is_ok_and(|namespaces| namespaces.user));
    let smallest_bound_ns = service.stall_allowance_ns.saturating_mul(ELEMENTS);
    let processors = realtime::allowed_processors()?.len();
    let isolated = read("/sys/devices/system/cpu/isolated");
    let budget = realtime::fifo_budget().ok().flatten();
    Ok(DoctorReport {
        headline: headline(lab_possible, smallest_bound_ns, service.stall_allowance_ns),
        lab_possible,
        rights: findings(&rights, in_user),
        clocksource: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        processors,
        better: what_would_help(processors, &isolated, budget),
        isolated,
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        fifo_budget_ns: budget.map(|(run, period)| (run.as_ns(), period.as_ns())),
        service,
        smallest_bound_ns,
    })
}

/// Each right, whether it is granted, and what would grant it.
fn findings(rights: &Rights, in_user: bool) -> Vec<Finding> {
    let mut findings = vec![
        Finding { name: "root".into(), granted: rights.root, note: String::new() },
        Finding::new("namespaces", rights.namespaces.as_ref()),
        Finding::new("user namespaces", rights.user_namespaces.as_ref()),
    ];
    let packet = rights.packet_sockets.as_ref();
    findings.push(match (packet, in_user) {
        (Err(_), true) => Finding {
            name: "packet sockets".into(),
            granted: true,
            note: "in a user namespace".into(),
        },
        (packet, _) => Finding::new("packet sockets", packet),
    });
    findings.push(fifo());
    findings.push(locked_memory());
    findings.extend([PortKind::PacketRing, PortKind::Xdp, PortKind::Tap].map(port_finding));
    findings.push(Finding::new("keep the kernel out of ports", probe_host_barrier()));
    findings
}

fn headline(lab_possible: bool, smallest_bound_ns: u64, stall_ns: u64) -> String {
    match lab_possible {
        true => format!(
            "This machine can show bounds above about {} at full speed ({ELEMENTS} elements x \
             {}); below that use `up --slow N`, or `sim`.",
            Span::from_ns(smallest_bound_ns),
            Span::from_ns(stall_ns)
        ),
        false => "This machine can run no lab: namespaces are forbidden; use `sim`.".into(),
    }
}

/// What would serve threads sooner; `budget` is the share of real-time threads, and its period.
fn what_would_help(processors: usize, isolated: &str, budget: Option<(Span, Span)>) -> Vec<String> {
    let mut better = Vec::new();
    if isolated.is_empty() || isolated == "unknown" {
        better.push("isolcpus=1 on the kernel's command line keeps a processor free".into());
    }
    if let Some((run, period)) = budget {
        better.push(format!(
            "sysctl -w kernel.sched_rt_runtime_us=-1: a thread under SCHED_FIFO that never sleeps is \
             stopped for {} of every {period}; ours that spin rest for as long by themselves, in \
             short idle moments",
            period - run
        ));
    }
    if processors < 4 {
        better.push(format!("more processors: {processors} serve all nodes of a lab"));
    }
    better.push(match processors {
        ..IO_THREADS_FROM => format!(
            "without --io-threads a `tenuto switch` is faster here: they want {IO_THREADS_FROM} \
             processors or more, one for each and one for the data path beside that of the kernel"
        ),
        _ => format!(
            "--io-threads of `tenuto switch`: up to {} have a processor of their own here",
            processors - 2
        ),
    });
    better
}

/// Tried, and taken back.
fn locked_memory() -> Finding {
    let tried = realtime::try_lock_memory();
    // A process that could lock its memory can let it go.
    let _ = realtime::unlock_memory();
    Finding::new("locked memory", tried)
}

/// A kind of ports, tried without touching an interface.
fn port_finding(kind: PortKind) -> Finding {
    let help = match kind {
        PortKind::Xdp => {
            "setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep PROGRAM, and not in a user \
             namespace"
        }
        PortKind::Tap => "modprobe tun, and CAP_NET_ADMIN",
        _ => "setcap cap_net_raw+ep PROGRAM",
    };
    let tried = probe_port(kind).map_err(|error| format!("{error}; {help}"));
    Finding::new(&format!("{kind} ports"), tried)
}

/// Tried in a thread of its own, which then ends.
fn fifo() -> Finding {
    let tried = std::thread::spawn(|| realtime::try_fifo(1)).join();
    match tried {
        Ok(result) => Finding::new("SCHED_FIFO", result),
        Err(_) => Finding { name: "SCHED_FIFO".into(), granted: false, note: "untried".into() },
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
}

/// How many times slower a plan should be run here: the least of 1, 2, 5, 10, 20, 50, 100 with
/// which every steady bound is at least twice what this machine is likely to add to it.
///
/// Likely is two stalls per element of the way, hosts included. Stalls do not grow with slowness,
/// bounds do. If not even 100 suffices, 100.
pub fn recommend_slow(plan: &Plan, host_service: &HostService) -> u64 {
    let both = host_service.stall_allowance_ns.saturating_mul(2);
    let suffices = |n: u64| {
        let steady = plan.flows.iter().filter(|row| matches!(row.mode, Transition::Steady(_)));
        steady.filter_map(|row| Some((row, row.delay_bound_ps?))).all(|(row, bound_ps)| {
            let hops = row.copies.iter().map(|copy| copy.hops.len()).max().unwrap_or(1);
            let elements = u64::try_from(hops).unwrap_or(u64::MAX).saturating_add(1);
            let likely_ns = both.saturating_mul(elements);
            (bound_ps / 1_000).saturating_mul(n) >= likely_ns.saturating_mul(BOUND_TO_ALLOWANCE)
        })
    };
    SLOW_STEPS.into_iter().find(|&n| suffices(n)).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let report = doctor(Span::from_ms(50)).expect("waiting works");
        println!("{report:#?}");
        assert!(report.processors > 0 && report.service.wakeups > 0);
        assert!(report.service.stall_allowance_ns >= 1_000_000);
        assert!(report.service.stall_allowance_ns >= report.service.wakeup_ns_max);
        assert_eq!(report.smallest_bound_ns, 5 * report.service.stall_allowance_ns);
    }
}
