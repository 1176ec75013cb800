//! Tenants for people.

use crate::format::Table;
use std::fmt::Write;
use tenuto_hosting::{Missing, ReceiveChoice, Status, TenantState, TenantStatus};
use tenuto_model::TenantsFile;
use tenuto_model::quantity::format_size;

/// What a file of tenants says, and what this machine lacks for it.
pub(crate) fn described(
    file: &TenantsFile,
    missing: &[Missing],
    choice: Option<&ReceiveChoice>,
) -> String {
    let mut table = Table::new(&[
        "tenant",
        "environment",
        "program",
        ">cores",
        ">memory",
        ">processes",
        "address",
        "control",
        "receive",
    ]);
    for tenant in &file.tenants {
        let nic = tenant.nic.as_ref();
        let ports = nic.map_or(String::new(), |nic| {
            nic.control.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        });
        table.push(vec![
            tenant.name.clone(),
            tenant.environment.name().to_owned(),
            tenant.program.first().cloned().unwrap_or_default(),
            tenant.cores_milli.map_or("-".into(), |milli| (milli as f64 / 1e3).to_string()),
            tenant.memory_bytes.map_or("-".into(), format_size),
            tenant.processes.map_or("-".into(), |most| most.to_string()),
            nic.map_or("-".into(), |nic| format!("{}/{}", nic.address, nic.prefix_bits)),
            if ports.is_empty() { "-".into() } else { ports },
            nic.map_or("-", |_| tenant.receive.path.name()).to_owned(),
        ]);
    }
    let mut text = format!("{}\n{}", file.name, table.text());
    for why in choice.iter().flat_map(|choice| &choice.reasons) {
        let _ = writeln!(text, "receive auto: {why}");
    }
    text + &lacking("missing", missing)
}

fn lacking(head: &str, missing: &[Missing]) -> String {
    let mut text = String::new();
    for lack in missing {
        let _ = writeln!(text, "{head}: {}: {}", lack.what, lack.why);
    }
    text
}

const fn word(state: TenantState) -> &'static str {
    match state {
        TenantState::Running => "running",
        TenantState::Starting => "starting",
        TenantState::Waiting => "waiting",
        TenantState::Stopping => "stopping",
        TenantState::Ended => "ended",
    }
}

/// What is observed of tenants.
pub(crate) fn status(status: &Status) -> String {
    let mut table = Table::new(&[
        "tenant",
        "environment",
        "state",
        ">start ms",
        ">pid",
        ">processes",
        ">restarts",
        ">cpu s",
        ">memory MB",
        ">kills",
        ">sent",
        ">received",
        ">dropped",
        ">policed",
        "receive",
        "control",
    ]);
    for tenant in &status.tenants {
        table.push(row(tenant));
    }
    let mut text = format!("{}\n{}", status.name, table.text());
    for tenant in &status.tenants {
        if let Some(end) = &tenant.last_end {
            let _ = writeln!(text, "{} ended last: {end}", tenant.tenant);
        }
        for why in &tenant.receive_why {
            let _ = writeln!(text, "{} receives {why}", tenant.tenant);
        }
        text.push_str(&lacking(&format!("{} lacks", tenant.tenant), &tenant.missing));
    }
    text.push_str(&lacking("missing", &status.missing));
    text
}

/// A receive path with the ring that it has.
fn received(tenant: &TenantStatus) -> String {
    let path = tenant.receive.as_deref().unwrap_or("-");
    match (tenant.receive_ring_frames, tenant.receive_wait_ns) {
        (Some(frames), Some(ns)) => format!("{path}, ring {frames}, {:.1} ms", ns as f64 / 1e6),
        (Some(frames), None) => format!("{path}, ring {frames}"),
        (None, _) => path.to_owned(),
    }
}

fn row(tenant: &TenantStatus) -> Vec<String> {
    let count = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let scaled = |number: Option<u64>, unit: f64| {
        number.map_or("-".to_owned(), |number| format!("{:.1}", number as f64 / unit))
    };
    vec![
        tenant.tenant.clone(),
        tenant.environment.clone(),
        word(tenant.state).to_owned(),
        tenant.start_took_ns.map_or("-".to_owned(), |ns| (ns / 1_000_000).to_string()),
        count(tenant.pid.map(u64::from)),
        count(tenant.processes),
        tenant.restarts.to_string(),
        scaled(tenant.cpu_ns, 1e9),
        scaled(tenant.memory_bytes, 1e6),
        count(tenant.memory_kills),
        count(tenant.frames_sent),
        count(tenant.frames_received),
        count(tenant.frames_dropped),
        count(tenant.frames_policed),
        received(tenant),
        if tenant.control.is_empty() { "-".to_owned() } else { tenant.control.join(" ") },
    ]
}
