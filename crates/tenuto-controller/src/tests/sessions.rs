use crate::{Session, SessionError, SessionEvent, SessionLimits, SessionTimer};
use tenuto_openflow::{
    Body, ErrorCode, ErrorMessage, Features, FlowMod, FlowModCommand, FlowModFailed, Framer, Hello,
    HelloFailed, Message,
};
use tenuto_units::{Instant, Span};

fn at(seconds: u64) -> Instant {
    Instant::from_ns(seconds * 1_000_000_000)
}

fn sent(session: &mut Session) -> Vec<Message> {
    let mut framer = Framer::new();
    framer.push(&std::mem::take(session.output())).expect("little");
    std::iter::from_fn(|| framer.next()).map(|message| message.expect("well-formed")).collect()
}

fn tell(session: &mut Session, now: Instant, xid: u32, body: Body) {
    session.receive(now, &Message::new(xid, body).to_bytes());
}

fn events(session: &mut Session) -> Vec<SessionEvent> {
    std::iter::from_fn(|| session.next_event()).collect()
}

fn features(auxiliary_id: u8) -> Features {
    Features { datapath_id: 5, n_buffers: 0, n_tables: 3, auxiliary_id, capabilities: 0 }
}

fn greeted() -> (Session, u32) {
    let mut session = Session::new(SessionLimits::default(), at(0));
    tell(&mut session, at(0), 0, Body::Hello(Hello::default()));
    let xid = sent(&mut session).last().expect("a features request").xid;
    (session, xid)
}

fn up() -> Session {
    let (mut session, xid) = greeted();
    tell(&mut session, at(0), xid, Body::FeaturesReply(features(0)));
    assert_eq!(events(&mut session), [SessionEvent::Up(features(0))]);
    let config = sent(&mut session);
    assert!(matches!(config[..], [Message { body: Body::SetConfig(_), .. }]));
    session
}

#[test]
fn the_handshake_asks_what_the_switch_is() {
    let mut session = Session::new(SessionLimits::default(), at(0));
    assert_eq!(sent(&mut session)[0].body, Body::Hello(Hello::default()));
    assert!(!session.is_up());
    assert!(up().is_up());
}

#[test]
fn an_older_switch_is_told_why_it_is_refused() {
    let mut session = Session::new(SessionLimits::default(), at(0));
    sent(&mut session);
    let hello = Hello { version: 1, version_bitmap: None, elements: Vec::new() };
    tell(&mut session, at(0), 0, Body::Hello(hello));
    let answer = sent(&mut session);
    let [Message { body: Body::Error(error), .. }] = &answer[..] else { panic!("one answer") };
    assert_eq!(error.error(), Some(ErrorCode::HelloFailed(HelloFailed::Incompatible)));
    let closed = SessionEvent::Closed(SessionError::Version { offered: 1 });
    assert_eq!(events(&mut session), [closed]);
}

#[test]
fn a_newer_switch_that_also_speaks_ours_is_welcome() {
    let mut session = Session::new(SessionLimits::default(), at(0));
    let hello = Hello { version: 6, version_bitmap: Some(1 << 6 | 1 << 4), elements: Vec::new() };
    tell(&mut session, at(0), 0, Body::Hello(hello));
    assert_eq!(sent(&mut session).last().map(|m| m.body.clone()), Some(Body::FeaturesRequest));
}

/// Every state and every input that could end the handshake.
#[test]
fn a_handshake_that_goes_wrong_ends_the_session() {
    let closed = |session: &mut Session| match events(session).pop() {
        Some(SessionEvent::Closed(error)) => error,
        other => panic!("not closed: {other:?}"),
    };
    let mut session = Session::new(SessionLimits::default(), at(0));
    tell(&mut session, at(0), 1, Body::BarrierReply);
    assert_eq!(closed(&mut session), SessionError::NoHello);
    let refusal = ErrorMessage::new(HelloFailed::Eperm.into(), &[]);
    let mut session = Session::new(SessionLimits::default(), at(0));
    tell(&mut session, at(0), 0, Body::Error(refusal.clone()));
    assert_eq!(closed(&mut session), SessionError::HelloRefused(refusal.clone()));
    let (mut session, _) = greeted();
    tell(&mut session, at(0), 0, Body::Error(refusal.clone()));
    assert_eq!(closed(&mut session), SessionError::HelloRefused(refusal));
    let (mut session, xid) = greeted();
    tell(&mut session, at(0), xid, Body::FeaturesReply(features(1)));
    assert_eq!(closed(&mut session), SessionError::Auxiliary { id: 1 });
    let (mut session, xid) = greeted();
    tell(&mut session, at(0), xid + 1, Body::FeaturesReply(features(0)));
    assert!(!session.is_up(), "an answer to another request");
    session.fire_due(at(10));
    assert_eq!(closed(&mut session), SessionError::HandshakeTimeout);
}

#[test]
fn silence_is_asked_about_and_then_given_up() {
    let mut session = up();
    assert_eq!(session.next_deadline(), Some(at(5)));
    session.fire_due(at(4));
    assert_eq!(sent(&mut session), []);
    for now in [5, 10] {
        session.fire_due(at(now));
        assert_eq!(sent(&mut session)[0].body, Body::EchoRequest(Vec::new()));
        assert_eq!(session.next_deadline(), Some(at(now + 5)));
    }
    let mut answered = session.clone();
    tell(&mut answered, at(11), 0, Body::EchoReply(Vec::new()));
    assert_eq!(answered.next_deadline(), Some(at(16)));
    assert_eq!(events(&mut answered), []);
    session.fire(SessionTimer::Dead, at(15));
    assert_eq!(events(&mut session), [SessionEvent::Closed(SessionError::Silent)]);
    assert_eq!(session.next_deadline(), None);
}

#[test]
fn a_switch_that_asks_for_a_sign_of_life_gets_its_data_back() {
    let mut session = up();
    tell(&mut session, at(1), 77, Body::EchoRequest(vec![1, 2, 3]));
    assert_eq!(sent(&mut session), [Message::new(77, Body::EchoReply(vec![1, 2, 3]))]);
}

#[test]
fn refusals_find_their_command_until_the_barrier() {
    let mut session = up();
    let command = |table| Body::FlowMod(FlowMod::new(FlowModCommand::Add, table));
    let xids: Vec<u32> = (0..3).filter_map(|table| session.send(command(table))).collect();
    let barrier = session.send(Body::BarrierRequest).expect("open");
    let error = ErrorMessage::new(FlowModFailed::TableFull.into(), &[]);
    let refused = |session: &mut Session, xid| {
        tell(session, at(1), xid, Body::Error(error.clone()));
        match events(session).pop() {
            Some(SessionEvent::Refused(refusal)) => refusal.command,
            other => panic!("no refusal: {other:?}"),
        }
    };
    assert_eq!(refused(&mut session, xids[1]), Some(command(1)));
    assert_eq!(refused(&mut session, 4_000_000), None);
    tell(&mut session, at(1), barrier, Body::BarrierReply);
    events(&mut session);
    assert_eq!(refused(&mut session, xids[1]), None);
}

#[test]
fn old_commands_are_forgotten_at_the_limit() {
    let limits = SessionLimits { commands_max: 2, ..SessionLimits::default() };
    let mut session = Session::new(limits, at(0));
    let xids: Vec<u32> = (0..3).filter_map(|_| session.send(Body::BarrierRequest)).collect();
    tell(&mut session, at(0), 0, Body::Hello(Hello::default()));
    let error = ErrorMessage::new(FlowModFailed::Eperm.into(), &[]);
    tell(&mut session, at(0), xids[0], Body::Error(error.clone()));
    tell(&mut session, at(0), xids[2], Body::Error(error));
    let known: Vec<bool> = events(&mut session)
        .into_iter()
        .map(|event| matches!(event, SessionEvent::Refused(r) if r.command.is_some()))
        .collect();
    assert_eq!(known, [false, true]);
}

#[test]
fn a_switch_that_never_reads_is_given_up() {
    let limits = SessionLimits { output_bytes_max: 1_000, ..SessionLimits::default() };
    let mut session = Session::new(limits, at(0));
    tell(&mut session, at(0), 0, Body::Hello(Hello::default()));
    for _ in 0..20 {
        tell(&mut session, at(0), 9, Body::EchoRequest(vec![0; 100]));
    }
    assert_eq!(events(&mut session), [SessionEvent::Closed(SessionError::OutputFull)]);
    assert!(session.output().len() <= 1_000);
}

#[test]
fn malformed_bytes_are_answered_and_close_the_session() {
    let mut session = up();
    let mut barrier = Message::new(3, Body::BarrierReply).to_bytes();
    barrier[0] = 1;
    session.receive(at(1), &barrier);
    assert!(matches!(sent(&mut session)[..], [Message { xid: 3, body: Body::Error(_) }]));
    let closed = events(&mut session);
    assert!(matches!(closed[..], [SessionEvent::Closed(SessionError::BadBytes(_))]));
    session.receive(at(1), &[0; 100]);
    assert_eq!((session.send(Body::BarrierRequest), events(&mut session)), (None, vec![]));
    assert_eq!(session.output().len(), 0);
}

#[test]
fn a_span_of_silence_counts_from_the_last_whole_message() {
    let mut session = up();
    let message = Message::new(0, Body::EchoReply(Vec::new())).to_bytes();
    session.receive(at(14), &message[..7]);
    assert_eq!(session.next_deadline(), Some(at(5)));
    session.receive(at(14), &message[7..]);
    assert_eq!(session.next_deadline(), Some(at(14) + Span::from_s(5)));
}
