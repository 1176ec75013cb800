use super::lab::{deployment, entry, modes, plain_deployment};
use crate::compile::needs_modes;
use crate::tables::SwitchTables;
use crate::{ModeSettings, compile};
use tenuto_openflow::{
    Action, Body, ExactDrop, Experimenter, FlowMod, Instruction, MeterBand, ModesMessage, Oxm,
};

fn flow_mod(command: &Body) -> Option<(u8, &FlowMod)> {
    match command {
        Body::FlowMod(flow_mod) => Some((0, flow_mod)),
        Body::Experimenter(Experimenter::Modes(ModesMessage::ShadowFlowMod {
            level,
            flow_mod,
        })) => Some((*level, flow_mod)),
        _ => None,
    }
}

fn flow_mods(commands: &[Body]) -> Vec<(u8, &FlowMod)> {
    commands.iter().filter_map(flow_mod).collect()
}

/// One to one: everything of the deployment is exactly one message, in installation order.
#[test]
fn every_part_of_a_deployment_is_one_message() {
    let deployment = deployment(1);
    let commands = compile(&deployment, &modes(2, &[2, 1]));
    let rank = |body: &Body| match body {
        Body::MeterMod(_) => 0,
        Body::GroupMod(_) => 1,
        Body::Experimenter(Experimenter::Modes(ModesMessage::MonitorMod(_))) => 2,
        Body::Experimenter(Experimenter::Modes(ModesMessage::ModeConfig(_))) => 3,
        _ => 4,
    };
    let ranks: Vec<_> = commands.iter().map(rank).collect();
    assert!(ranks.is_sorted());
    let count = |rank| ranks.iter().filter(|r| **r == rank).count();
    assert_eq!([0, 1, 2, 3, 4].map(count), [2, 1, 1, 1, 9]);
    let shadow = flow_mods(&commands).iter().filter(|(level, _)| *level == 1).count();
    assert_eq!(shadow, deployment.entries.iter().filter(|entry| entry.level == Some(1)).count());
    assert_eq!(SwitchTables::after(&commands).entries.len(), deployment.entries.len());
}

#[test]
fn an_entry_keeps_every_field() {
    let commands = compile(&deployment(1), &modes(2, &[1]));
    let flow_mods = flow_mods(&commands);
    let (_, watch) = flow_mods[0];
    assert_eq!((watch.table_id, watch.priority, watch.cookie), (0, 100, 1));
    let oxms = [
        Oxm::InPort(1),
        Oxm::EthType(0x0800),
        Oxm::IpProto(17),
        Oxm::Ipv4Src { value: [10, 0, 0, 1], mask: None },
        Oxm::Ipv4Dst { value: [10, 0, 0, 2], mask: None },
        Oxm::UdpDst { value: 7001, mask: None },
    ];
    assert_eq!(watch.match_.oxms, oxms);
    let apply = |actions: &[Action]| Instruction::ApplyActions(actions.to_vec());
    let to = |port| Action::Output { port, max_len: 0 };
    let instructions: Vec<_> = flow_mods.iter().map(|(_, f)| f.instructions.clone()).collect();
    assert_eq!(instructions[0], [apply(&[Action::Monitor(1)]), Instruction::GotoTable(1)]);
    assert_eq!(instructions[1], [Instruction::GotoTable(1)]);
    assert_eq!(instructions[2], [Instruction::Meter(1), Instruction::GotoTable(2)]);
    assert_eq!(instructions[4], [apply(&[Action::SetQueue(1), to(2)])]);
    assert_eq!(instructions[5], [apply(&[Action::Group(1)])]);
    assert_eq!(instructions[7], [], "a drop entry does nothing, and keeps its cookie");
    assert_eq!(flow_mods[7].1.cookie, 2);
}

#[test]
fn monitor_and_output_of_one_entry_share_its_one_list_of_actions() {
    let mut spec = deployment(1);
    spec.entries = vec![tenuto_model::EntrySpec {
        monitor: Some(1),
        meter: Some(2),
        output: Some(tenuto_model::OutputSpec::Group(1)),
        ..entry(0, None, 1, 1)
    }];
    let commands = compile(&spec, &ModeSettings::default());
    let actions = Instruction::ApplyActions(vec![Action::Monitor(1), Action::Group(1)]);
    assert_eq!(flow_mods(&commands)[0].1.instructions, [Instruction::Meter(2), actions]);
}

#[test]
fn meters_of_whole_kilobits_are_bands_of_openflow_and_others_are_ours() {
    let [Body::MeterMod(whole), Body::MeterMod(odd), ..] =
        &compile(&deployment(1), &modes(2, &[1]))[..]
    else {
        panic!("meters come first")
    };
    // KBPS, BURST and STATS; not packets per second.
    assert_eq!((whole.meter_id, whole.flags), (1, 0b1101));
    assert_eq!(whole.bands, [MeterBand::Drop { rate: 5_000, burst_size: 64 }]);
    assert_eq!((odd.meter_id, odd.flags), (2, 0b1101));
    let exact = ExactDrop { rate_bps: 100_001, burst_bytes: 1_519 };
    assert_eq!(odd.bands, [exact.into()]);
    // One value that is not whole is enough, and so is one that the band has no room for.
    for (rate_bps, burst_bytes, is_ours) in [
        (1_000, 125, false),
        (1_001, 125, true),
        (1_000, 126, true),
        (u64::from(u32::MAX) * 1_000, 125, false),
        ((u64::from(u32::MAX) + 1) * 1_000, 125, true),
    ] {
        let mut one = deployment(1);
        (one.meters[0].rate_bps, one.meters[0].burst_bytes) = (rate_bps, burst_bytes);
        let Body::MeterMod(meter) = &compile(&one, &modes(2, &[1]))[0] else { unreachable!() };
        assert_eq!(
            !matches!(meter.bands[0], MeterBand::Drop { .. }),
            is_ours,
            "{rate_bps} {burst_bytes}"
        );
    }
}

#[test]
fn a_plain_deployment_needs_nothing_of_ours() {
    let (plain, one_mode) = (plain_deployment(1), modes(1, &[1]));
    assert!(!needs_modes(&plain, &one_mode));
    let commands = compile(&plain, &one_mode);
    assert!(!commands.iter().any(|body| matches!(body, Body::Experimenter(_))));
    let is_standard = |band: &MeterBand| matches!(band, MeterBand::Drop { .. });
    assert!(commands.iter().all(|body| match body {
        Body::MeterMod(meter) => meter.bands.iter().all(is_standard),
        _ => true,
    }));
    assert!(needs_modes(&deployment(1), &one_mode) && needs_modes(&plain, &modes(2, &[1])));
}
