//! Writing a network as YAML that reads back to the identical value.
//!
//! Canonical: every default is written out, names in the order of the network, values in the
//! largest unit in which they are whole.

use crate::quantity::{
    format_burst, format_cost, format_length, format_rate, format_size, format_time,
};
use crate::{
    Apart, BufferUnit, Channel, Contract, Flow, LookUp, MatchKind, MeterCounts, Network,
    OtherTraffic, OutOfMode, Processor, Profile, Receive, ReceiveBuffer, Size, SliceControl,
    SliceShare, Target, WhenLost,
};
use std::fmt::Write;

/// The network as a file of its own: profiles and flows of other files are written into it.
///
/// [`crate::read_network`] of the text is the identical network, for any network that was read or
/// imported. One that a program put together must keep what a file can say: one word of size for
/// all contracts of a flow, one priority per flow.
pub fn write_network(network: &Network) -> String {
    let mut out = String::new();
    line(&mut out, 0, "tenuto: 1");
    line(&mut out, 0, &format!("name: {}", yaml_scalar(&network.name)));
    line(&mut out, 0, &format!("modes: {}", words(&network.modes)));
    if !network.networks.is_empty() {
        line(&mut out, 0, &format!("networks: {}", words(&network.networks)));
    }
    write_nodes(&mut out, network);
    write_profiles(&mut out, network);
    write_links(&mut out, network);
    write_flows(&mut out, network);
    write_policies(&mut out, network);
    out
}

fn line(out: &mut String, indent: usize, text: &str) {
    writeln!(out, "{:indent$}{text}", "").expect("writing to a string");
}

/// A text as a scalar of YAML: plain where nothing can be mistaken, else in quotes, so that it can neither end its line nor
/// become something else.
pub fn yaml_scalar(text: &str) -> String {
    let starts = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let special = matches!(text.to_ascii_lowercase().as_str(), "null" | "true" | "false");
    if starts && text.chars().all(plain) && !special {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                write!(quoted, "\\U{:08x}", u32::from(c)).expect("writing to a string");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn words(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|t| yaml_scalar(t)).collect();
    format!("[{}]", texts.join(", "))
}

fn write_nodes(out: &mut String, network: &Network) {
    if network.hosts.is_empty() {
        line(out, 0, "hosts: {}");
    } else {
        line(out, 0, "hosts:");
        for host in &network.hosts {
            line(out, 2, &format!("{}: {{}}", yaml_scalar(&host.name)));
        }
    }
    if !network.switches.is_empty() {
        line(out, 0, "switches:");
        for switch in &network.switches {
            let network = switch.network.as_ref();
            let network =
                network.map_or_else(String::new, |n| format!(", network: {}", yaml_scalar(n)));
            let profile = yaml_scalar(&switch.profile);
            let id = switch.datapath_id;
            let name = yaml_scalar(&switch.name);
            line(out, 2, &format!("{name}: {{profile: {profile}{network}, dpid: {id}}}"));
        }
    }
    if !network.controllers.is_empty() {
        line(out, 0, "controllers:");
        for controller in &network.controllers {
            let Channel::OutOfBand = controller.channel;
            let WhenLost::Secure = controller.when_lost;
            let name = yaml_scalar(&controller.name);
            let manages = words(&controller.manages);
            let rest = "channel: out-of-band, when_lost: secure";
            line(out, 2, &format!("{name}: {{manages: {manages}, {rest}}}"));
        }
    }
}

fn write_profiles(out: &mut String, network: &Network) {
    let own = |p: &&Profile| Profile::built_in(&p.name).as_ref() != Some(*p);
    let profiles: Vec<&Profile> = network.profiles.values().filter(own).collect();
    if profiles.is_empty() {
        return;
    }
    line(out, 0, "profiles:");
    for p in profiles {
        line(out, 2, &format!("{}:", yaml_scalar(&p.name)));
        let latency = (format_time(p.latency_ns_min), format_time(p.latency_ns_max));
        let buffer = p.buffer_bytes_per_port.map_or_else(|| "unlimited".into(), format_size);
        let counts = match p.meter_counts {
            MeterCounts::Wire => "wire",
            MeterCounts::Frame => "frame",
            MeterCounts::L2WithoutFcs => "l2-without-fcs",
        };
        for text in [
            "like: ideal".to_owned(),
            format!("latency: {{min: {}, max: {}}}", latency.0, latency.1),
            format!("below_scheduler: {}", format_size(u64::from(p.below_scheduler_bytes))),
            format!("buffer_per_port: {buffer}"),
            format!("queues_per_port: {}", p.queues_per_port),
            format!("entries: {}", p.entries_max),
            format!("meters: {}", p.meters_max),
            format!("groups: {}", p.groups_max),
            format!("meter_counts: {counts}"),
            format!("meter_rate_step: {}", format_rate(p.meter_rate_step_bps)),
            format!("meter_burst_step: {}", format_burst(p.meter_burst_step_bytes)),
            format!("meter_burst_max: {}", format_size(p.meter_burst_max_bytes)),
            format!("clock_tolerance: {} ppm", p.clock_tolerance_ppm),
            format!("modes: {}", p.has_modes),
            format!("swap: {}", format_time(p.swap_ns_max)),
            format!("purge_per_frame: {}", format_time(p.purge_frame_ns_max)),
        ] {
            line(out, 4, &text);
        }
        if p.is_typical {
            line(out, 4, "typical: true");
        }
        if let Some(processor) = &p.processor {
            write_processor(out, processor);
        }
        if let Some(buffer) = &p.receive_buffer {
            write_receive_buffer(out, buffer);
        }
    }
}

fn write_processor(out: &mut String, p: &Processor) {
    line(out, 4, "processor:");
    let mut put = |text: String| line(out, 6, &text);
    let (entry, action) = (p.per_entry_ps, p.actions_ps);
    let list = |costs: &[(&str, u64)]| {
        let texts = costs.iter().map(|(name, ps)| format!("{name}: {}", format_cost(*ps)));
        texts.collect::<Vec<_>>().join(", ")
    };
    put(list(&[("base", p.base_ps)]));
    put(list(&[("per_byte", p.per_byte_ps)]));
    let entries = list(&[
        ("port", entry.port),
        ("tp-dst", entry.tp_dst),
        ("dl-dst", entry.dl_dst),
        ("masked-nw-dst", entry.masked_nw_dst),
        ("five-tuple", entry.five_tuple),
        ("all", entry.all),
    ]);
    put(format!("per_entry: {{{entries}}}"));
    put(match p.look_up {
        LookUp::Linear => "look_up: linear".to_owned(),
        LookUp::ByMask(masks) => format!("look_up: {{masks: {masks}}}"),
    });
    let actions = list(&[
        ("set-vlan-id", action.set_vlan_id),
        ("set-vlan-pcp", action.set_vlan_pcp),
        ("strip-vlan", action.strip_vlan),
        ("set-dl-src", action.set_dl_src),
        ("set-nw-src", action.set_nw_src),
        ("set-nw-tos", action.set_nw_tos),
        ("set-tp-src", action.set_tp_src),
    ]);
    put(format!("actions: {{{actions}}}"));
    put(list(&[("per_output", p.per_output_ps)]));
    put(format!("spread: {} %", p.spread_percent));
    if let Some(link) = p.link {
        let (rate, tag) = (format_rate(link.rate_bps), format_size(link.tag_bytes.into()));
        put(format!("link: {{rate: {rate}, tag: {tag}}}"));
    }
    put(match p.receive {
        Receive::Fifo => "receive: fifo".to_owned(),
        Receive::RoundRobin(burst) => format!("receive: {{round_robin: {burst}}}"),
    });
    let (time, per) = (format_cost(p.control.time_ps), format_cost(p.control.period_ps));
    put(format!("control: {{time: {time}, per: {per}}}"));
    if !p.slices.is_empty() {
        put(slice_control(&p.slices));
    }
    put(format!("typical: {}", p.is_typical));
}

fn slice_control(slices: &SliceControl) -> String {
    let budget = |it: &SliceShare| {
        let SliceShare { messages, packet_ins, bytes, .. } = it;
        let budget =
            format!("messages: {messages} /s, packet_ins: {packet_ins} /s, bytes: {bytes} B/s");
        format!("{}: {{{budget}}}", yaml_scalar(&it.name))
    };
    let budgets: Vec<String> = slices.budgets.iter().map(budget).collect();
    let (message, byte) = (format_cost(slices.message_ps), format_cost(slices.byte_ps));
    format!("slices: {{message: {message}, byte: {byte}, budgets: {{{}}}}}", budgets.join(", "))
}

fn write_receive_buffer(out: &mut String, buffer: &ReceiveBuffer) {
    let size = match buffer.unit {
        BufferUnit::Cells(bytes) => {
            format!("cells: {}, cell: {}", buffer.count, format_size(bytes.into()))
        }
        BufferUnit::Frames => format!("frames: {}", buffer.count),
        BufferUnit::Bytes => format!("bytes: {}", format_size(buffer.count)),
    };
    let per = if buffer.is_per_port { "port" } else { "switch" };
    let place = buffer.has_place_in_service;
    let text = format!("receive_buffer: {{{size}, per: {per}, place_in_service: {place}}}");
    line(out, 4, &text);
}

fn write_links(out: &mut String, network: &Network) {
    if network.links.is_empty() {
        return line(out, 0, "links: []");
    }
    line(out, 0, "links:");
    for link in &network.links {
        let end = |end: &crate::LinkEnd| yaml_scalar(&format!("{}:{}", end.node, end.port));
        let (a, b) = (end(&link.a), end(&link.b));
        let rate = format_rate(link.rate_bps);
        let length = format_length(link.propagation_ns);
        line(out, 2, &format!("- {{ends: [{a}, {b}], rate: {rate}, length: {length}}}"));
    }
}

fn write_flows(out: &mut String, network: &Network) {
    if network.flows.is_empty() {
        return;
    }
    line(out, 0, "flows:");
    for flow in &network.flows {
        line(out, 2, &format!("{}:", yaml_scalar(&flow.name)));
        write_flow(out, flow, network);
    }
}

fn write_flow(out: &mut String, flow: &Flow, network: &Network) {
    let modes = network.modes.as_slice();
    let mut put = |text: String| line(out, 4, &text);
    if let Some(vl) = flow.vl {
        put(format!("vl: {vl}"));
    }
    put(format!("source: {}", yaml_scalar(&flow.source)));
    put(format!("level: {}", yaml_scalar(&modes[flow.level])));
    write_contracts(out, flow, modes);
    let mut put = |text: String| line(out, 4, &text);
    let matching = match flow.matching {
        MatchKind::FiveTuple => "five-tuple",
        MatchKind::Vl => "vl",
    };
    put(format!("match: {matching}"));
    let OutOfMode::Drop = flow.out_of_mode;
    put("out_of_mode: drop".to_owned());
    if !flow.monitor_at.is_empty() {
        put(format!("monitor_at: {}", words(&flow.monitor_at)));
    }
    if !flow.copies.is_empty() {
        put(match (network.networks.is_empty(), flow.apart) {
            (true, Apart::Links) => "copies: link-disjoint".to_owned(),
            (true, _) => "copies: disjoint".to_owned(),
            (false, _) => format!("copies: {}", words(&flow.copies)),
        });
    }
    if let Some(skew) = flow.skew_max_ns {
        put(format!("skew_max: {}", format_time(skew)));
    }
    if let Some(port) = flow.udp_port {
        put(format!("udp_port: {port}"));
    }
    put("targets:".to_owned());
    for target in &flow.targets {
        line(out, 6, &write_target(target, &flow.copies, modes));
    }
}

fn write_contracts(out: &mut String, flow: &Flow, modes: &[String]) {
    let mut put = |text: String| line(out, 4, &text);
    let per_mode = |value: &dyn Fn(&Contract) -> String| {
        by_mode(modes, &flow.contracts.iter().map(value).collect::<Vec<_>>())
    };
    let key = match flow.highest().size {
        Size::MessageBytes(_) => "message",
        Size::PayloadBytes(_) => "payload",
        Size::FrameBytes(_) => "frame",
    };
    let size = per_mode(&|c| match c.size {
        Size::MessageBytes(b) | Size::PayloadBytes(b) | Size::FrameBytes(b) => {
            format_size(u64::from(b))
        }
    });
    put(format!("{key}: {size}"));
    let contracts = flow.contracts.iter().enumerate();
    let least: Vec<(usize, u32)> =
        contracts.filter_map(|(m, c)| Some((m, c.frame_bytes_min?))).collect();
    if least.len() == flow.contracts.len() {
        let size = per_mode(&|c| format_size(u64::from(c.frame_bytes_min.unwrap_or(0))));
        put(format!("frame_min: {size}"));
    } else if !least.is_empty() {
        let pairs: Vec<String> = least
            .iter()
            .map(|(m, b)| format!("{}: {}", yaml_scalar(&modes[*m]), format_size(u64::from(*b))))
            .collect();
        put(format!("frame_min: {{{}}}", pairs.join(", ")));
    }
    let period = if flow.vl.is_some() { "bag" } else { "period" };
    put(format!("{period}: {}", per_mode(&|c| format_time(c.period_ns))));
    put(format!("jitter: {}", per_mode(&|c| format_time(c.jitter_ns))));
    put(format!("priority: {}", per_mode(&|c| c.priority.to_string())));
}

fn write_target(target: &Target, copies: &[String], modes: &[String]) -> String {
    let times: Vec<String> = target.deadline_ns.iter().map(|d| format_time(*d)).collect();
    let mut text = format!("{}: {{deadline: {}", yaml_scalar(&target.host), by_mode(modes, &times));
    if copies.is_empty() {
        if let Some(Some(route)) = target.routes.first() {
            write!(text, ", route: {}", words(route)).expect("writing to a string");
        }
    } else if target.routes.iter().any(Option::is_some) {
        let pairs: Vec<String> = copies
            .iter()
            .zip(&target.routes)
            .filter_map(|(c, route)| {
                Some(format!("{}: {}", yaml_scalar(c), words(route.as_ref()?)))
            })
            .collect();
        write!(text, ", route: {{{}}}", pairs.join(", ")).expect("writing to a string");
    }
    text.push('}');
    text
}

/// One value where all are equal, else a map by mode.
fn by_mode(modes: &[String], values: &[String]) -> String {
    match values {
        [first, rest @ ..] if rest.iter().all(|v| v == first) => first.clone(),
        _ => {
            let pair =
                |(mode, value): (&String, &String)| format!("{}: {value}", yaml_scalar(mode));
            let pairs: Vec<String> = modes.iter().zip(values).map(pair).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

fn write_policies(out: &mut String, network: &Network) {
    match network.other_traffic {
        OtherTraffic::Drop => line(out, 0, "other_traffic: drop"),
        OtherTraffic::Carry { priority, rate_bps, frame_bytes_max } => {
            let rate = format_rate(rate_bps);
            let frame = format_size(u64::from(frame_bytes_max));
            let text = format!("{{priority: {priority}, rate: {rate}, frame: {frame}}}");
            line(out, 0, &format!("other_traffic: {text}"));
        }
    }
    if let Some(quiet) = network.mode_return.quiet_ns {
        line(out, 0, &format!("mode_return: {{quiet: {}}}", format_time(quiet)));
    }
    let t = network.tolerates;
    let links =
        if t.links_lost > 0 { format!(", links_lost: {}", t.links_lost) } else { String::new() };
    let text = format!(
        "{{babbling_hosts: {}, lost_signals: {}, controller_loss: {}{links}}}",
        t.babbling_hosts, t.lost_signals, t.controller_loss
    );
    line(out, 0, &format!("tolerates: {text}"));
}

#[cfg(test)]
mod tests {
    use super::yaml_scalar;

    #[test]
    fn a_text_cannot_end_its_line_or_become_something_else() {
        assert_eq!(yaml_scalar("mine-2"), "mine-2");
        assert_eq!(yaml_scalar("null"), "\"null\"");
        assert_eq!(yaml_scalar("1.5"), "\"1.5\"");
        let text = "a: \"b\"\nlike: tenuto";
        assert_eq!(yaml_scalar(text), "\"a: \\\"b\\\"\\U0000000alike: tenuto\"");
    }
}
