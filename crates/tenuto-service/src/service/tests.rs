use super::*;
use crate::log::replay;
use serde_json::json;
use std::io;
use tenuto_model::{MemorySources, read_network};

pub(crate) const FILE: &str = "tenuto: 1
name: line
hosts: {h1: {}, h2: {}, h3: {}}
switches: {sw1: {profile: tenuto}, sw2: {profile: tenuto}}
defaults: {link: {rate: 100 Mbit/s}}
links: [{ends: [h1, sw1]}, {ends: [h3, sw1]}, {ends: [sw1, sw2]}, {ends: [sw2, h2]}]
flows:
  FIRST: {source: h1, targets: [h2], message: 10 kB, period: 10 ms, priority: 1}
";

fn network() -> Network {
    read_network(&MemorySources::new().with("line.yaml", FILE), "line.yaml").expect("read").0
}

/// A medium of which a test keeps the other end: what is synced, and whether writing works.
#[derive(Clone, Debug, Default)]
struct Medium {
    state: Arc<Mutex<(Vec<u8>, Trouble)>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Trouble {
    #[default]
    None,
    /// Half of what is written is there, and then the medium is full.
    Full,
    /// As full, and nothing can be taken back either.
    Dead,
}

impl Medium {
    fn bytes(&self) -> Vec<u8> {
        self.state.lock().unwrap().0.clone()
    }

    fn of(bytes: &[u8]) -> Self {
        Self { state: Arc::new(Mutex::new((bytes.to_vec(), Trouble::None))) }
    }

    fn trouble(&self, trouble: Trouble) {
        self.state.lock().unwrap().1 = trouble;
    }
}

impl Store for Medium {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.bytes())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        if state.1 == Trouble::None {
            state.0.extend(bytes);
            return Ok(());
        }
        let half = &bytes[..bytes.len() / 2];
        state.0.extend(half);
        Err(io::Error::new(io::ErrorKind::StorageFull, "no space left"))
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        if state.1 == Trouble::Dead {
            return Err(io::Error::other("input/output error"));
        }
        state.0.truncate(usize::try_from(length).unwrap());
        Ok(())
    }
}

fn open(medium: &Medium) -> Service {
    let store = Box::new(medium.clone());
    Service::open(&network(), FILE, store, Planning::default()).expect("it opens")
}

fn add(name: &str, message: &str) -> Change {
    let flow = json!({"source": "h3", "targets": ["h2"], "message": message, "period": "20 ms", "priority": 2});
    Change::Add { name: name.to_owned(), flow }
}

fn remove(name: &str) -> Change {
    Change::Remove { name: name.to_owned() }
}

fn ask(changes: Vec<Change>) -> Request {
    Request { changes, who: "test".to_owned(), ..Request::default() }
}

fn names(service: &Service) -> Vec<String> {
    service.view().network.flows.iter().map(|flow| flow.name.clone()).collect()
}

/// Waits until the checker has looked at the set in force.
fn settled(service: &Service) -> Arc<View> {
    let mut latest = service.inner.events.listen();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        loop {
            let view = service.view();
            if view.certified == Some(view.decision) || view.stopped.is_some() {
                return view;
            }
            latest.changed().await.unwrap();
        }
    })
}

#[test]
fn what_is_accepted_is_a_plan_that_the_checker_accepts() {
    let service = open(&Medium::default());
    let answer = service.submit(&ask(vec![add("A", "20 kB")])).expect("it fits");
    assert_eq!((answer.decision, answer.in_force), (1, true));
    assert_eq!(answer.decided_by, "whole plan");
    let [bound] = answer.bounds.as_slice() else { panic!("one target, one mode") };
    assert!(bound.delay_bound_ns.is_some_and(|bound| bound > 1_600_000), "20 kB at 100 Mbit/s");
    let view = settled(&service);
    assert_eq!((view.certified, view.state_of(1)), (Some(1), "certified"));
    let certificate = tenuto_certify::certify(&view.plan.to_json()).expect("it is certified");
    assert_eq!(certificate.plan_hash, answer.plan_hash);
}

#[test]
fn the_plan_in_force_is_that_of_the_network_written_to_a_file() {
    let service = open(&Medium::default());
    service.submit(&ask(vec![add("A", "20 kB"), add("B", "5 kB")])).expect("both fit");
    let view = service.view();
    let file = tenuto_model::write_network(&view.network);
    let sources = MemorySources::new().with("line.yaml", &file);
    let again = read_network(&sources, "line.yaml").expect("read").0;
    assert_eq!(Planning::default().plan(&again).plan_hash, view.plan.plan_hash);
}

#[test]
fn what_is_refused_changes_nothing_and_names_place_amount_and_what_would_fit() {
    let service = open(&Medium::default());
    let before = service.view();
    let request = Request { advice: true, ..ask(vec![add("A", "20 kB"), add("B", "220 kB")]) };
    let Err(denied) = service.submit(&request) else { panic!("88 Mbit/s beside 16") };
    let problem = denied.problem();
    assert_eq!((problem.status, problem.type_.as_str()), (409, "/problems/refused"));
    let rate = problem.refusals.iter().find(|it| it.resource == "rate").expect("the rate is short");
    assert!(rate.place.contains("sw1") || rate.place.contains("h3"), "{rate:?}");
    assert!(rate.needed > rate.available, "{rate:?}");
    assert!(rate.flows.contains(&"B".to_owned()));
    assert!(!rate.would_fit.is_empty(), "{rate:?}");
    assert_eq!((service.view().decision, names(&service)), (0, vec!["FIRST".to_owned()]));
    assert_eq!(service.view().network, before.network);
}

#[test]
fn earlier_flows_stay_as_they_are_whatever_comes_and_goes() {
    let service = open(&Medium::default());
    let flow = |name: &str| service.view().network.flow(name).cloned();
    let first = flow("FIRST");
    service.submit(&ask(vec![add("A", "1 kB"), add("B", "2 kB")])).expect("they fit");
    let second = flow("B");
    service.submit(&ask(vec![remove("A")])).expect("it goes");
    assert_eq!((flow("FIRST"), flow("A")), (first, None));
    assert_eq!(flow("B"), second);
    service.submit(&ask(vec![add("C", "2 kB")])).expect("it fits");
    let ports: Vec<_> = service.view().network.flows.iter().map(|flow| flow.udp_port).collect();
    assert_eq!(ports, [Some(20_000), Some(20_002), Some(20_003)]);
    let changed = Change::Change {
        name: "B".to_owned(),
        flow: json!({"source": "h3", "targets": ["h2"], "message": "4 kB", "period": "20 ms"}),
    };
    service.submit(&ask(vec![changed])).expect("it fits");
    assert_eq!(names(&service), ["FIRST", "B", "C"]);
    assert_eq!(flow("B").unwrap().udp_port, Some(20_002));
    assert_ne!(flow("B"), second);
}

#[test]
fn what_if_answers_alike_and_leaves_no_trace() {
    let medium = Medium::default();
    let service = open(&medium);
    let before = medium.bytes();
    let answer = service.what_if(&[add("A", "20 kB")], false).expect("it would fit");
    assert_eq!((answer.decision, answer.in_force), (0, false));
    assert_eq!((names(&service), medium.bytes()), (vec!["FIRST".to_owned()], before));
    let kept = service.submit(&ask(vec![add("A", "20 kB")])).expect("it fits");
    assert_eq!((kept.plan_hash, kept.bounds), (answer.plan_hash, answer.bounds));
}

#[test]
fn mistakes_are_told_by_their_field() {
    let service = open(&Medium::default());
    let denied =
        |change: Change| service.submit(&ask(vec![change])).expect_err("a mistake").problem();
    let flow = json!({"source": "h9", "targets": ["h2"], "message": "1 KB", "period": "20 ms"});
    let problem = denied(Change::Add { name: "A".to_owned(), flow });
    assert_eq!(problem.status, 422);
    let fields: Vec<_> = problem.errors.iter().map(|it| it.field.as_str()).collect();
    assert!(fields.contains(&"flows.A.message"), "{problem:?}");
    assert_eq!(denied(add("FIRST", "1 kB")).status, 409);
    assert_eq!(denied(remove("NONE")).status, 404);
    assert_eq!(denied(remove("FIRST")).type_, "/problems/conflict");
    assert_eq!(service.submit(&ask(vec![])).expect_err("nothing").problem().status, 409);
    let twice = ask(vec![add("A", "1 kB"), remove("A")]);
    assert_eq!(service.submit(&twice).expect_err("twice").problem().status, 409);
}

#[test]
fn a_key_gives_the_same_answer_before_and_after_a_restart() {
    let medium = Medium::default();
    let keyed = |changes| Request { key: Some("k1".to_owned()), ..ask(changes) };
    let service = open(&medium);
    let first = service.submit(&keyed(vec![add("A", "1 kB")])).expect("it fits");
    assert_eq!(service.submit(&keyed(vec![add("A", "1 kB")])), Ok(first.clone()));
    assert_eq!(service.submit(&keyed(vec![add("B", "1 kB")])), Err(Denied::KeyReused));
    drop(service);
    let service = open(&medium);
    assert_eq!(service.submit(&keyed(vec![add("A", "1 kB")])), Ok(first));
    assert_eq!(service.view().decision, 1);
}

#[test]
fn a_log_cut_at_any_byte_replays_to_what_was_confirmed_by_then() {
    let medium = Medium::default();
    let service = open(&medium);
    let mut confirmed = vec![(medium.bytes().len(), service.view().network.as_ref().clone())];
    for changes in [vec![add("A", "1 kB")], vec![add("B", "2 kB"), remove("A")], vec![remove("B")]]
    {
        service.submit(&ask(changes)).expect("it fits");
        confirmed.push((medium.bytes().len(), service.view().network.as_ref().clone()));
    }
    let whole = medium.bytes();
    for cut in 0..=whole.len() {
        let state = replay(&whole[..cut]).expect("a torn end is no damage");
        let last = confirmed.iter().rfind(|(length, _)| *length <= cut);
        assert_eq!(state.network.as_ref(), last.map(|(_, network)| network), "cut at {cut}");
        assert_eq!(state.torn, cut - last.map_or(0, |(length, _)| *length));
    }
    // Bytes that were allotted but not written.
    for zeros in [1, 100, 4_096] {
        let torn = [&whole[..], &vec![0; zeros]].concat();
        assert_eq!(replay(&torn).expect("torn").network, Some(confirmed[3].1.clone()));
    }
    drop(service);
    // What is cut off is told, and the service goes on behind it.
    let torn = Medium::of(&whole[..whole.len() - 1]);
    let service = open(&torn);
    assert_eq!(service.view().alarms[0].kind, "log-torn");
    assert_eq!(names(&service), ["FIRST", "B"]);
    service.submit(&ask(vec![remove("B")])).expect("it goes");
    assert_eq!(replay(&torn.bytes()).expect("whole").network, Some(confirmed[3].1.clone()));
}

#[test]
fn damage_before_the_end_is_refused() {
    let medium = Medium::default();
    let service = open(&medium);
    service.submit(&ask(vec![add("A", "1 kB")])).expect("it fits");
    let end = medium.bytes().len();
    service.submit(&ask(vec![remove("A")])).expect("it goes");
    let whole = medium.bytes();
    for at in 0..end {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        match replay(&damaged) {
            Err(LogError::Damaged { .. }) => {}
            other => panic!("byte {at}: {other:?}"),
        }
    }
    let without_first = &whole[replay(&whole[..end - 1]).unwrap().length..];
    assert!(matches!(replay(without_first), Err(LogError::Damaged { number: 0, .. })));
}

#[test]
fn a_full_medium_denies_and_loses_nothing() {
    let medium = Medium::default();
    let service = open(&medium);
    service.submit(&ask(vec![add("A", "1 kB")])).expect("it fits");
    let before = medium.bytes();
    medium.trouble(Trouble::Full);
    let denied = service.submit(&ask(vec![add("B", "1 kB")])).expect_err("there is no room");
    assert_eq!((denied.problem().status, medium.bytes()), (507, before));
    assert_eq!(names(&service), ["FIRST", "A"]);
    medium.trouble(Trouble::None);
    service.submit(&ask(vec![add("B", "1 kB")])).expect("there is room again");
    medium.trouble(Trouble::Dead);
    service.submit(&ask(vec![add("C", "1 kB")])).expect_err("the medium is dead");
    medium.trouble(Trouble::None);
    service.submit(&ask(vec![add("C", "1 kB")])).expect_err("what is on the medium is not known");
    assert_eq!(names(&service), ["FIRST", "A", "B"]);
    drop(service);
    assert_eq!(names(&open(&medium)), ["FIRST", "A", "B"]);
}

#[test]
fn the_state_of_another_network_is_refused() {
    let medium = Medium::default();
    drop(open(&medium));
    let other = FILE.replace("100 Mbit/s", "10 Mbit/s");
    let sources = MemorySources::new().with("line.yaml", &other);
    let other = read_network(&sources, "line.yaml").expect("read").0;
    let store = Box::new(medium);
    let refused = Service::open(&other, FILE, store, Planning::default());
    assert!(matches!(refused, Err(OpenError::OtherNetwork)));
}

#[test]
fn a_set_that_the_checker_does_not_take_stops_admissions_until_one_is_taken() {
    let checker: Checker = |plan| match plan.network.flow("BAD") {
        Some(_) => vec!["a claim is too low".to_owned()],
        None => Vec::new(),
    };
    let store = Box::new(Medium::default());
    let service = Service::open_with(&network(), FILE, store, Planning::default(), checker);
    let service = service.expect("it opens");
    service.submit(&ask(vec![add("BAD", "1 kB")])).expect("the planner takes it");
    let view = settled(&service);
    assert!(view.stopped.as_ref().is_some_and(|why| why.contains("a claim is too low")));
    let alarm = view.alarms.iter().find(|it| it.kind == "not-certified").expect("an alarm");
    assert!(alarm.is_raised);
    let denied = service.submit(&ask(vec![add("A", "1 kB")])).expect_err("stopped");
    assert_eq!(denied.problem().status, 503);
    service.submit(&ask(vec![remove("BAD")])).expect("what takes away is allowed");
    let mut latest = service.inner.events.listen();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        while service.view().certified != Some(2) {
            latest.changed().await.unwrap();
        }
    });
    service.submit(&ask(vec![add("A", "1 kB")])).expect("it goes on");
    assert!(service.view().alarms.iter().all(|it| !it.is_raised));
}

#[test]
fn many_who_ask_at_once_are_served_one_after_the_other() {
    let medium = Medium::default();
    let service = open(&medium);
    thread::scope(|scope| {
        for number in 0..8 {
            let service = &service;
            scope.spawn(move || {
                service.submit(&ask(vec![add(&format!("F{number}"), "1 kB")])).expect("it fits");
            });
        }
    });
    assert_eq!((service.view().decision, names(&service).len()), (8, 9));
    let state = replay(&medium.bytes()).expect("whole");
    assert_eq!(state.network.as_ref(), Some(service.view().network.as_ref()));
}

#[test]
fn the_fields_of_a_flow_are_read_back_to_the_same_flow() {
    let service = open(&Medium::default());
    service.submit(&ask(vec![add("A", "20 kB")])).expect("it fits");
    let before = service.view().network.flow("A").cloned();
    let flow = crate::flow_fields::fields(before.as_ref().unwrap(), &service.view().network);
    service.submit(&ask(vec![Change::Change { name: "A".to_owned(), flow }])).expect("the same");
    assert_eq!(service.view().network.flow("A").cloned(), before);
}

#[test]
fn what_a_switch_refused_is_undone_in_the_log_too_however_often() {
    let medium = Medium::default();
    let service = open(&medium);
    let keyed = Request { key: Some("k".to_owned()), ..ask(vec![add("B", "5 kB")]) };
    service.submit(&ask(vec![add("A", "20 kB")])).expect("it fits");
    let base = service.view();
    service.submit(&keyed).expect("it fits");
    service.submit(&ask(vec![remove("A")])).expect("it goes");
    service.inner.undo(&base, "sw1: no room");
    assert_eq!(names(&service), ["FIRST", "A"]);
    let view = settled(&service);
    assert_eq!((view.decision, &view.plan.plan_hash), (4, &base.plan.plan_hash));
    assert_eq!(service.submit(&keyed), Err(Denied::SwitchRefused("sw1: no room".to_owned())));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let reached = |decision| runtime.block_on(service.reached(decision, Duration::ZERO));
    assert_eq!([1, 2, 3, 4].map(|it| reached(it).is_ok()), [true, false, false, true]);
    // Undone once more, behind and in front of what was undone.
    let second = service.view();
    service.submit(&ask(vec![add("C", "5 kB")])).expect("it fits");
    service.inner.undo(&second, "sw2: no room");
    assert_eq!(names(&service), ["FIRST", "A"]);
    service.submit(&ask(vec![add("D", "5 kB")])).expect("it fits");
    let live = service.view();
    assert_eq!(live.decision, 7);
    drop(service);
    let again = open(&medium);
    assert_eq!(again.view().network, live.network);
    assert_eq!((again.view().decision, names(&again).len()), (7, 3));
    let why = "a switch refused it before the service was started anew".to_owned();
    assert_eq!(again.submit(&keyed), Err(Denied::SwitchRefused(why)));
}

/// The network of a file, and its text.
fn other_file(from: &str, to: &str) -> (Network, String) {
    let text = FILE.replace(from, to);
    assert_ne!(text, FILE);
    let network = read_network(&MemorySources::new().with("line.yaml", &text), "line.yaml");
    (network.expect("read").0, text)
}

#[test]
fn another_text_of_the_file_is_decided_on_and_what_came_otherwise_stays() {
    let medium = Medium::default();
    let service = open(&medium);
    service.submit(&ask(vec![add("A", "20 kB")])).expect("it fits");
    let line = "  FIRST: {source: h1, targets: [h2], message: 10 kB, period: 10 ms, priority: 1}\n";
    let more =
        format!("{line}  NEXT: {{source: h3, targets: [h2], message: 5 kB, period: 20 ms}}\n");
    let (network, text) = other_file(line, &more.replace("message: 10 kB", "message: 12 kB"));
    let reloaded = service.reload(&network, &text).expect("it fits");
    assert_eq!(reloaded.decision, Some(2));
    let heads: Vec<&str> = reloaded.differences.iter().map(|it| &it[..6]).collect();
    assert_eq!(heads, ["~ FIRS", "+ NEXT"]);
    assert_eq!(names(&service), ["FIRST", "A", "NEXT"]);
    assert_eq!(service.view().network.flow("FIRST").unwrap().highest().size.bytes(), 12_000);
    assert_eq!(service.reload(&network, &text).expect("read").decision, None, "nothing differs");
    // The next start takes this file, and no longer that of the beginning.
    let set = service.view().network.clone();
    drop(service);
    let with = |network: &Network, text: &str| {
        Service::open(network, text, Box::new(medium.clone()), Planning::default())
    };
    assert!(matches!(with(&crate::service::tests::network(), FILE), Err(OpenError::OtherNetwork)));
    let again = with(&network, &text).expect("it opens");
    assert_eq!(again.view().network, set);
    let back = again.reload(&crate::service::tests::network(), FILE).expect("it fits");
    assert_eq!(back.differences[0], "- NEXT");
    assert_eq!(names(&again), ["FIRST", "A"]);
}

#[test]
fn a_text_that_would_break_a_promise_or_is_another_network_is_refused_whole() {
    let service = open(&Medium::default());
    service.submit(&ask(vec![add("A", "100 kB")])).expect("it fits");
    let before = service.view();
    let (network, text) = other_file("message: 10 kB", "message: 90 kB");
    let (denied, differences) = service.reload(&network, &text).expect_err("too much");
    assert!(matches!(denied, Denied::Refused(_)), "{denied:?}");
    assert_eq!(differences.len(), 1, "what would have changed is told");
    let (network, text) = other_file("rate: 100 Mbit/s", "rate: 1 Gbit/s");
    let (denied, _) = service.reload(&network, &text).expect_err("other links");
    assert!(denied.problem().detail.contains("links"), "{denied:?}");
    assert_eq!(service.view().network, before.network);
    assert_eq!(service.view().decision, 1);
}

#[test]
fn what_is_counted_is_told() {
    let service = open(&Medium::default());
    service.submit(&ask(vec![add("A", "20 kB")])).expect("it fits");
    service.submit(&ask(vec![add("B", "200 kB")])).expect_err("too much");
    let text = service.metrics(false);
    for line in [
        "tenuto_flows 2",
        "tenuto_decisions_total{outcome=\"accepted\"} 1",
        "tenuto_decisions_total{outcome=\"refused\"} 1",
        "tenuto_decision_duration_seconds_count 2",
        "tenuto_log_write_duration_seconds_count 1",
    ] {
        assert!(text.lines().any(|it| it == line), "no `{line}` in:\n{text}");
    }
    assert!(service.metrics(true).ends_with("# EOF\n"));
}
