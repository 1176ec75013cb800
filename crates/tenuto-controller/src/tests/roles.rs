//! Roles of several controllers: a switch is written to by its master and by nobody else.

use crate::{ConnId, Controller, ControllerConfig, ControllerEvent, Leadership, ModeSettings};
use tenuto_model::SwitchDeployment;
use tenuto_openflow::{
    Body, ControllerRole, ErrorMessage, Features, Framer, Hello, Message, Role, RoleRequestFailed,
};
use tenuto_units::Instant;

const CONN: ConnId = ConnId(1);

fn controller(leadership: Leadership) -> Controller {
    let deployments = vec![SwitchDeployment { datapath_id: 7, ..SwitchDeployment::default() }];
    Controller::new(ControllerConfig {
        manages: vec![7],
        deployments,
        leadership,
        ..ControllerConfig::default()
    })
}

/// What the controller has sent since it was asked last.
fn sent(controller: &mut Controller) -> Vec<Message> {
    let bytes = std::mem::take(controller.output(CONN).expect("it is connected"));
    let mut framer = Framer::new();
    framer.push(&bytes).expect("little");
    std::iter::from_fn(|| framer.next()).map(|it| it.expect("OpenFlow")).collect()
}

fn answer(controller: &mut Controller, xid: u32, body: Body) -> Vec<Message> {
    controller.received(Instant::ZERO, CONN, &Message::new(xid, body).to_bytes());
    sent(controller)
}

/// A switch has said who it is; what the controller sends then, but for the configuration.
fn greeted(controller: &mut Controller) -> Vec<Message> {
    controller.connected(Instant::ZERO, CONN);
    sent(controller);
    let asked = answer(controller, 0, Body::Hello(Hello::default()));
    let features =
        Features { datapath_id: 7, n_buffers: 0, n_tables: 8, auxiliary_id: 0, capabilities: 0 };
    let mut sent = answer(controller, asked[0].xid, Body::FeaturesReply(features));
    sent.retain(|it| !matches!(it.body, Body::SetConfig(_)));
    sent
}

fn role(sent: &[Message]) -> (u32, Role) {
    match sent {
        [Message { xid, body: Body::RoleRequest(role) }] => (*xid, *role),
        other => panic!("a request for a role and nothing else: {other:?}"),
    }
}

fn events(controller: &mut Controller) -> Vec<ControllerEvent> {
    std::iter::from_fn(|| controller.next_event()).collect()
}

#[test]
fn nothing_is_asked_or_written_before_a_switch_has_this_master() {
    let mut controller = controller(Leadership::Leads { generation: 40 });
    let (xid, wanted) = role(&greeted(&mut controller));
    assert_eq!(wanted, Role { role: ControllerRole::Master, generation_id: 40 });
    assert!(events(&mut controller).is_empty(), "it is not up yet");
    let old = Role { role: ControllerRole::Master, generation_id: 39 };
    assert!(answer(&mut controller, xid + 1, Body::RoleReply(old)).is_empty(), "not this request");
    let sent = answer(&mut controller, xid, Body::RoleReply(wanted));
    assert!(sent.iter().any(|it| matches!(it.body, Body::MultipartRequest(_))), "{sent:?}");
    assert!(matches!(events(&mut controller)[..], [ControllerEvent::Up { dpid: 7, .. }]));
}

#[test]
fn a_switch_that_knows_a_newer_generation_is_left_alone_and_asked_again_by_an_audit() {
    let mut controller = controller(Leadership::Leads { generation: 40 });
    let asked = greeted(&mut controller);
    let (xid, _) = role(&asked);
    let stale = ErrorMessage::new(RoleRequestFailed::Stale.into(), &asked[0].to_bytes());
    assert!(answer(&mut controller, xid, Body::Error(stale)).is_empty());
    let told = events(&mut controller);
    assert!(
        matches!(told[..], [ControllerEvent::RoleRefused { dpid: 7, is_stale: true, .. }]),
        "{told:?}"
    );
    controller.audit(Instant::ZERO);
    let again = role(&sent(&mut controller));
    assert_eq!(again.1.generation_id, 40);
    controller.lead(Instant::ZERO, 50, &[], &ModeSettings::default());
    let newer = role(&sent(&mut controller));
    assert_eq!(newer.1, Role { role: ControllerRole::Master, generation_id: 50 });
}

#[test]
fn who_follows_asks_to_be_a_slave_and_nothing_else() {
    let mut controller = controller(Leadership::Follows { generation: 0 });
    assert!(greeted(&mut controller).is_empty(), "no generation is known");
    controller.follow(Instant::ZERO, 8);
    let (xid, wanted) = role(&sent(&mut controller));
    assert_eq!(wanted, Role { role: ControllerRole::Slave, generation_id: 8 });
    assert!(answer(&mut controller, xid, Body::RoleReply(wanted)).is_empty());
    controller.ask_counters();
    controller.audit(Instant::ZERO);
    assert!(sent(&mut controller).is_empty());
    assert!(events(&mut controller).is_empty());
    controller.closed(Instant::ZERO, CONN);
    // Another connection of the same switch is taken.
    assert_eq!(role(&greeted(&mut controller)).1.generation_id, 8);
}
