//! What every switch is told, as text: entries by table and level, meters, monitors, groups.

use crate::format::Table;
use std::fmt::Write;
use tenuto_model::quantity::{format_rate, format_time};
use tenuto_model::{
    EntrySpec, GroupOutput, MatchSpec, Network, OutputSpec, PortRole, SwitchDeployment,
    TABLE_FORWARD, TABLE_POLICE, TABLE_WATCH,
};

/// One switch.
pub(crate) fn text(network: &Network, it: &SwitchDeployment) -> String {
    let mut out = header(network, it);
    out.push_str(&ports(it));
    for (number, name) in
        [(TABLE_WATCH, "watch"), (TABLE_POLICE, "police"), (TABLE_FORWARD, "forward")]
    {
        let entries: Vec<&EntrySpec> = it.entries.iter().filter(|e| e.table == number).collect();
        if !entries.is_empty() {
            let _ = writeln!(out, "\n  table {number}: {name}");
            out.push_str(&indented(&table(network, &entries)));
        }
    }
    out.push_str(&meters(it));
    out.push_str(&monitors(network, it));
    out.push_str(&groups(it));
    out
}

fn header(network: &Network, it: &SwitchDeployment) -> String {
    let used = it.usage;
    let id = it.datapath_id;
    let Some(switch) = network.switch(&it.switch) else { return format!("{}\n", it.switch) };
    let profile = network.profile_of(switch);
    format!(
        "{}  profile {}, datapath {id:#018x}   entries {}/{} ({} shadow)   meters {}/{}   \
         groups {}/{}   queues {}/{}\n",
        it.switch,
        switch.profile,
        used.entries.saturating_add(used.shadow),
        profile.entries_max,
        used.shadow,
        used.meters,
        profile.meters_max,
        used.groups,
        profile.groups_max,
        used.queues,
        profile.queues_per_port,
    )
}

fn indented(table: &Table) -> String {
    table.lines().iter().map(|line| format!("    {line}\n")).collect()
}

fn ports(it: &SwitchDeployment) -> String {
    let mut table = Table::new(&[">port", "to", "role", ">rate", ">queues", ">buffer"]);
    for port in &it.ports {
        let role = match port.role {
            PortRole::Host => "host",
            PortRole::Trunk => "trunk",
        };
        table.push(vec![
            port.port.to_string(),
            port.peer.clone(),
            role.into(),
            format_rate(port.rate_bps),
            port.queues.to_string(),
            port.buffer_bytes.map_or_else(|| "-".into(), |b| format!("{} kB", b / 1_000)),
        ]);
    }
    indented(&table)
}

fn table(network: &Network, entries: &[&EntrySpec]) -> Table {
    let mut table = Table::new(&["level", ">precedence", "match", "flow", "actions"]);
    for entry in entries {
        let level = entry.level.map(|level| {
            let name = network.modes.get(usize::from(level)).map_or("?", String::as_str);
            if level > 0 { format!("{name} (shadow)") } else { name.to_owned() }
        });
        table.push(vec![
            level.unwrap_or_else(|| "all".into()),
            entry.precedence.to_string(),
            matching(&entry.matching),
            entry.flow.clone().unwrap_or_else(|| "-".into()),
            actions(entry),
        ]);
    }
    table
}

/// Header fields in the manner of ovs-ofctl.
pub(crate) fn matching(it: &MatchSpec) -> String {
    let mut parts = Vec::new();
    let ip = |address: [u8; 4]| std::net::Ipv4Addr::from(address).to_string();
    parts.extend(it.in_port.map(|port| format!("in_port={port}")));
    parts.extend(it.eth_dst.map(|mac| {
        let bytes: Vec<String> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("dl_dst={}", bytes.join(":"))
    }));
    parts.extend(it.eth_type.map(|kind| format!("dl_type={kind:#06x}")));
    parts.extend(it.ip_proto.map(|proto| format!("nw_proto={proto}")));
    parts.extend(it.ip_src.map(|address| format!("nw_src={}", ip(address))));
    parts.extend(it.ip_dst.map(|address| format!("nw_dst={}", ip(address))));
    parts.extend(it.udp_dst.map(|port| format!("tp_dst={port}")));
    if parts.is_empty() { "any".into() } else { parts.join(",") }
}

fn actions(entry: &EntrySpec) -> String {
    let mut parts = Vec::new();
    parts.extend(entry.monitor.map(|id| format!("monitor:{id}")));
    parts.extend(entry.meter.map(|id| format!("meter:{id}")));
    parts.extend(entry.output.as_ref().map(|output| match output {
        OutputSpec::Port(output) => sent(output),
        OutputSpec::Group(id) => format!("group:{id}"),
    }));
    parts.extend(entry.goto.map(|table| format!("goto_table:{table}")));
    if parts.is_empty() { "drop".into() } else { parts.join(",") }
}

fn sent(output: &GroupOutput) -> String {
    format!("set_queue:{},output:{}", output.queue, output.port)
}

fn meters(it: &SwitchDeployment) -> String {
    if it.meters.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[">meter", "flow", ">rate", ">burst"]);
    for meter in &it.meters {
        table.push(vec![
            meter.id.to_string(),
            meter.flow.clone().unwrap_or_else(|| "other traffic".into()),
            kbps(meter.rate_bps),
            format!("{} B", meter.burst_bytes),
        ]);
    }
    format!("\n  meters\n{}", indented(&table))
}

/// In kbit/s, to the bit/s.
pub(crate) fn kbps(bps: u64) -> String {
    match bps % 1_000 {
        0 => format!("{} kbit/s", bps / 1_000),
        rest => format!("{}.{rest:03} kbit/s", bps / 1_000),
    }
}

fn monitors(network: &Network, it: &SwitchDeployment) -> String {
    if it.monitors.is_empty() {
        return String::new();
    }
    let mut table =
        Table::new(&[">monitor", "flow", "level", ">bytes on the wire", ">period", ">jitter"]);
    for monitor in &it.monitors {
        for contract in &monitor.contracts {
            let level = network.modes.get(usize::from(contract.level));
            table.push(vec![
                monitor.id.to_string(),
                monitor.flow.clone(),
                level.map_or("?", String::as_str).to_owned(),
                contract.bytes_max.to_string(),
                format_time(contract.period_ns),
                format_time(contract.jitter_ns),
            ]);
        }
    }
    format!("\n  monitors\n{}", indented(&table))
}

fn groups(it: &SwitchDeployment) -> String {
    if it.groups.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[">group", "a copy to each"]);
    for group in &it.groups {
        let outputs: Vec<String> = group.outputs.iter().map(sent).collect();
        table.push(vec![group.id.to_string(), outputs.join(" ")]);
    }
    format!("\n  groups\n{}", indented(&table))
}
