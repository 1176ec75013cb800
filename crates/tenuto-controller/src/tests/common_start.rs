use super::fake_switch::{FakeSwitch, Held};
use super::lab::{Lab, deployment, modes, plain_deployment};
use crate::{Anomaly, ConnId, ControllerEvent, InstallKind, SessionError};
use tenuto_openflow::constants::NO_BUFFER;
use tenuto_openflow::{
    BadRequest, Body, Experimenter, Match, ModeEvent, ModeEventKind, ModesMessage, PacketIn,
    PacketInReason,
};
use tenuto_units::Span;

fn activations(switch: &FakeSwitch) -> Vec<(u64, u8)> {
    let activation = |body: &Body| match body {
        Body::Experimenter(Experimenter::Modes(ModesMessage::ModeActivate {
            epoch,
            level,
            ..
        })) => Some((*epoch, *level)),
        _ => None,
    };
    switch.log.iter().filter_map(activation).collect()
}

fn started(dpids: &[u64]) -> (Lab, Vec<ConnId>) {
    let mut lab = Lab::new(dpids);
    let conns = dpids.iter().map(|&dpid| lab.connect(FakeSwitch::new(dpid))).collect();
    lab.settle();
    assert_eq!(lab.ready(), 1);
    (lab, conns)
}

fn restarted(mut switch: FakeSwitch) -> FakeSwitch {
    switch.held = Held::default();
    switch.active = None;
    switch.log.clear();
    switch
}

#[test]
fn modes_start_when_the_last_switch_is_installed() {
    let mut lab = Lab::new(&[1, 2, 3]);
    let first: Vec<ConnId> = [1, 2].map(|dpid| lab.connect(FakeSwitch::new(dpid))).into();
    lab.settle();
    assert_eq!(lab.installed().len(), 2);
    assert!(!lab.controller.is_ready());
    assert!(first.iter().all(|&conn| lab.switches[&conn].active.is_none()));
    lab.connect(FakeSwitch::new(3));
    lab.settle();
    assert!(lab.switches.values().all(|switch| activations(switch) == [(1, 0)]));
    assert_eq!((lab.ready(), lab.controller.is_ready()), (1, true));
    let ready = lab.events.iter().position(|event| *event == ControllerEvent::Ready);
    let last = |event: &ControllerEvent| matches!(event, ControllerEvent::Activated { .. });
    assert!(ready > lab.events.iter().rposition(last), "ready after the last barrier");
}

#[test]
fn one_mode_needs_no_start() {
    let deployments = [1, 2].map(plain_deployment).to_vec();
    let mut lab = Lab::of(deployments, modes(1, &[1, 2]));
    for dpid in [1, 2] {
        lab.connect(FakeSwitch::new(dpid));
    }
    lab.settle();
    assert_eq!(lab.ready(), 1);
    assert!(lab.switches.values().all(|switch| activations(switch).is_empty()));
}

#[test]
fn a_restarted_switch_learns_the_mode_from_its_neighbours() {
    let (mut lab, conns) = started(&[1, 2]);
    let switch = lab.cut(conns[0]);
    assert!(!lab.controller.is_ready());
    lab.switch(conns[1]).log.clear();
    let conn = lab.connect(restarted(switch));
    lab.settle();
    assert_eq!(lab.installed().last(), Some(&(1, InstallKind::Fresh)));
    assert_eq!(activations(&lab.switches[&conn]), []);
    let status = Body::Experimenter(Experimenter::Modes(ModesMessage::ModeStatusRequest));
    assert_eq!(lab.switch(conns[1]).log, [status]);
    let told = |event: &ControllerEvent| matches!(event, ControllerEvent::Status { dpid: 2, .. });
    assert!(lab.events.iter().any(told));
    assert_eq!(lab.ready(), 2);
}

#[test]
fn a_switch_that_nobody_can_answer_starts_in_the_highest_level() {
    let (mut lab, conns) = started(&[1, 2]);
    let event = ModeEvent {
        kind: ModeEventKind::Returned,
        generation: 3,
        epoch: 8,
        from_level: 1,
        to_level: 0,
        monitor_id: 0,
        at_ns: 0,
        purged_frames: 0,
    };
    let body = Body::Experimenter(Experimenter::Modes(ModesMessage::ModeEvent(event)));
    lab.switch(conns[0]).tell(0, body);
    lab.settle();
    assert!(lab.events.contains(&ControllerEvent::Mode { dpid: 1, event }));
    let switches: Vec<_> = conns.iter().map(|&conn| restarted(lab.cut(conn))).collect();
    let conns: Vec<_> = switches.into_iter().map(|switch| lab.connect(switch)).collect();
    lab.settle();
    let active: Vec<_> = conns.iter().map(|conn| activations(&lab.switches[conn])).collect();
    // The first to be installed is activated above all epochs seen, the second joins it.
    assert_eq!(active.concat(), [(9, 1)]);
    assert_eq!(lab.ready(), 2);
}

#[test]
fn a_restarted_controller_leaves_a_running_network_alone() {
    let (mut old, conns) = started(&[1, 2]);
    let mut lab = Lab::new(&[1, 2]);
    for conn in conns {
        let mut switch = old.cut(conn);
        switch.active = Some((4, 1));
        switch.log.clear();
        lab.connect(switch);
    }
    lab.settle();
    assert_eq!(lab.installed(), [(1, InstallKind::Adopted), (2, InstallKind::Adopted)]);
    assert!(lab.switches.values().all(|s| s.commands().count() == 0 && s.active == Some((4, 1))));
    assert_eq!(lab.ready(), 1);
}

#[test]
fn changed_modes_are_started_afresh_everywhere() {
    let (mut lab, conns) = started(&[1, 2]);
    let mut next = modes(2, &[1, 2]);
    next.generation = 4;
    let now = lab.now;
    lab.controller.update(now, &[deployment(1), deployment(2)], next);
    lab.settle();
    assert_eq!(lab.ready(), 2);
    for conn in conns {
        assert_eq!(activations(&lab.switches[&conn]), [(1, 0), (1, 0)]);
        assert_eq!(lab.switches[&conn].status().generation, 4);
    }
}

#[test]
fn a_refused_activation_is_no_start() {
    let mut lab = Lab::new(&[1]);
    let refuse = |body: &Body| {
        let activate = matches!(
            body,
            Body::Experimenter(Experimenter::Modes(ModesMessage::ModeActivate { .. }))
        );
        activate.then(|| BadRequest::Eperm.into())
    };
    lab.connect(FakeSwitch { refuse, ..FakeSwitch::new(1) });
    lab.settle();
    assert!(!lab.controller.is_ready() && lab.ready() == 0);
    let told = lab.told();
    assert!(told.contains("refused mode-activate (epoch 1, level 0): OFPBRC_EPERM"), "{told}");
}

#[test]
fn a_second_switch_of_the_same_id_is_sent_away() {
    let (mut lab, conns) = started(&[1]);
    let newer = lab.connect(FakeSwitch::new(1));
    lab.settle();
    assert!(lab.events.contains(&ControllerEvent::DuplicateDatapath { conn: newer, dpid: 1 }));
    assert!(lab.controller.wants_close(newer) && !lab.controller.wants_close(conns[0]));
    lab.cut(newer);
    assert!(lab.controller.is_ready());
    assert_eq!(lab.switches[&conns[0]].held.entries.len(), 9);
}

#[test]
fn an_unknown_switch_is_left_alone() {
    let mut lab = Lab::new(&[1]);
    let conn = lab.connect(FakeSwitch::new(9));
    lab.settle();
    assert!(lab.events.contains(&ControllerEvent::UnknownDatapath { conn, dpid: 9 }));
    assert!(lab.controller.wants_close(conn));
    assert_eq!(lab.switch(conn).commands().count(), 0);
}

#[test]
fn a_silent_switch_is_given_up_and_welcomed_back() {
    let (mut lab, conns) = started(&[1]);
    lab.switch(conns[0]).is_mute = true;
    while !lab.controller.wants_close(conns[0]) {
        lab.now = lab.controller.next_deadline().expect("a session has deadlines");
        let now = lab.now;
        lab.controller.fire_due(now);
        lab.exchange();
    }
    assert!(lab.now.as_ns() <= 16_100_000_000, "15 s after the last word");
    let silent = |event: &ControllerEvent| {
        matches!(event, ControllerEvent::Closed { error: Some(SessionError::Silent), .. })
    };
    assert_eq!(lab.events.iter().filter(|event| silent(event)).count(), 1);
    let mut switch = lab.cut(conns[0]);
    switch.is_mute = false;
    lab.connect(switch);
    lab.settle();
    assert!(lab.controller.is_ready());
    assert!(lab.now.since(tenuto_units::Instant::ZERO) < Span::from_s(20));
}

#[test]
fn packets_to_the_controller_are_counted_anomalies() {
    let (mut lab, conns) = started(&[1]);
    let packet = PacketIn {
        buffer_id: NO_BUFFER,
        total_len: 60,
        reason: PacketInReason::NoMatch,
        table_id: 1,
        cookie: 0,
        match_: Match::ANY,
        data: vec![0; 60],
    };
    for _ in 0..3 {
        lab.switch(conns[0]).tell(0, Body::PacketIn(packet.clone()));
    }
    lab.settle();
    let anomaly = ControllerEvent::Anomaly { dpid: 1, kind: Anomaly::PacketIn, count: 3 };
    assert_eq!(lab.events.last(), Some(&anomaly));
    assert!(lab.told().contains("packet sent to the controller (3 so far)"));
}

#[test]
fn connections_are_limited() {
    let limits =
        crate::ControllerLimits { connections_max: 1, ..crate::ControllerLimits::default() };
    let mut lab = Lab::with_limits(vec![deployment(1)], modes(2, &[1]), limits);
    lab.connect(FakeSwitch::new(1));
    let second = lab.connect(FakeSwitch::new(1));
    lab.settle();
    let why = crate::NoPlace::Full { most: 1 };
    assert!(lab.events.contains(&ControllerEvent::Refused { conn: second, source: None, why }));
    assert!(lab.controller.wants_close(second) && lab.controller.is_ready());
}

#[test]
fn the_same_input_gives_the_same_run() {
    let run = || {
        let (lab, _) = started(&[3, 1, 2]);
        (lab.controller, lab.events)
    };
    assert_eq!(run(), run());
}
