//! Stores held against bytes in memory: a file, keys that are played, and the real etcd.

use super::address::EtcdAddress;
use super::etcd::Etcd;
use super::kv::Kv;
use super::played::{Fate, Played};
use super::register::{Leader, Register};
use super::store::{ClusterStore, LogReader, Tenure, nonce};
use crate::log::{FileStore, Store};
use proptest::prelude::*;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One member of its own, on loopback, gone with its test.
pub(super) struct RealEtcd {
    child: Child,
    folder: PathBuf,
    pub(super) address: EtcdAddress,
}

impl Drop for RealEtcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts one, or says why the test is skipped.
pub(super) fn real_etcd(test: &str) -> Option<RealEtcd> {
    let free = || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("bound").port()
    };
    let (clients, peers) = (free(), free());
    let name = format!("tenuto-etcd-{}-{test}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let at = |port: u16| format!("http://127.0.0.1:{port}");
    let started = Command::new("etcd")
        .arg("--data-dir")
        .arg(&folder)
        .args(["--listen-client-urls", &at(clients), "--advertise-client-urls", &at(clients)])
        .args(["--listen-peer-urls", &at(peers), "--initial-advertise-peer-urls", &at(peers)])
        .args(["--initial-cluster", &format!("default={}", at(peers)), "--log-level", "error"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let child = match started {
        Ok(child) => child,
        Err(error) => {
            println!("SKIPPED {test}: etcd (package etcd-server) cannot be started: {error}");
            return None;
        }
    };
    let address = format!("etcd://127.0.0.1:{clients}/{test}").parse().expect("an address");
    let etcd = RealEtcd { child, folder, address };
    let end = Instant::now() + Duration::from_secs(60);
    while register(&etcd.kv(), test).look().is_err() {
        assert!(Instant::now() < end, "etcd does not answer within a minute");
        std::thread::yield_now();
    }
    Some(etcd)
}

impl RealEtcd {
    pub(super) fn kv(&self) -> Arc<dyn Kv> {
        let etcd = Etcd::new(&self.address, None, Duration::from_secs(10));
        Arc::new(etcd.expect("no files are needed"))
    }
}

fn register(kv: &Arc<dyn Kv>, prefix: &str) -> Register {
    Register::new(Arc::clone(kv), prefix)
}

fn leader() -> Leader {
    Leader { api: "http://127.0.0.1:1".to_owned(), nonce: nonce() }
}

/// Takes over, and writes what is given from there on.
fn store(register: &Register) -> ClusterStore {
    let seen = register.look().expect("it answers");
    let generation = register.claim(&seen, &leader()).expect("it answers").expect("nobody else");
    let mut reader = LogReader::new(register.clone());
    reader.read_on().expect("a log");
    let tenure = Tenure::new(generation);
    ClusterStore::new(reader, register.clone(), tenure, Duration::ZERO)
}

/// What is done with a store.
#[derive(Clone, Debug)]
enum Step {
    Append(Vec<u8>),
    /// To this share of what is there, in 256.
    Cut(u8),
    Load,
    /// It is opened anew.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![
        8 => prop::collection::vec(any::<u8>(), 0..200),
        1 => (any::<u8>(), 500_000_usize..1_700_000).prop_map(|(byte, length)| vec![byte; length]),
    ];
    prop_oneof![
        5 => bytes.prop_map(Step::Append),
        2 => any::<u8>().prop_map(Step::Cut),
        1 => Just(Step::Load),
        1 => Just(Step::Reopen),
    ]
}

/// Every store does what bytes in memory do.
fn is_as_bytes(steps: &[Step], mut open: impl FnMut() -> Box<dyn Store>) {
    let (mut store, mut bytes) = (open(), Vec::<u8>::new());
    assert!(store.load().expect("read").is_empty());
    for step in steps {
        match step {
            Step::Append(more) => {
                store.append(more).expect("written");
                bytes.extend(more);
            }
            Step::Cut(share) => {
                let length = bytes.len() * usize::from(*share) / 255;
                store.cut(length as u64).expect("cut");
                bytes.truncate(length);
            }
            Step::Load => assert!(store.load().expect("read") == bytes),
            Step::Reopen => {
                drop(store);
                store = open();
                assert!(store.load().expect("read") == bytes);
            }
        }
    }
    assert!(store.load().expect("read") == bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_file_is_as_bytes(steps in prop::collection::vec(step(), 0..12)) {
        let name = format!("tenuto-store-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        is_as_bytes(&steps, || Box::new(FileStore::open(&path).expect("a file")));
        let _ = std::fs::remove_file(&path);
    }

    #[test]
    fn keys_that_are_played_are_as_bytes(steps in prop::collection::vec(step(), 0..12)) {
        let kv: Arc<dyn Kv> = Arc::new(Played::default());
        let register = register(&kv, "a");
        is_as_bytes(&steps, || Box::new(store(&register)));
    }

    /// Answers are lost and requests come late: a write that says yes is there, one that says no is there whole or not at
    /// all, and nothing changes after the next has taken over.
    #[test]
    fn what_is_answered_holds_whatever_becomes_of_requests(
        writes in prop::collection::vec((prop_oneof![3 => 1_usize..90, 1 => 600_000_usize..1_700_000],
            prop::collection::vec(0_u8..8, 0..5), any::<bool>()), 1..12)
    ) {
        let played = Played::default();
        let kv: Arc<dyn Kv> = Arc::new(played.clone());
        let register = register(&kv, "a");
        let (mut store_now, mut bytes) = (store(&register), Vec::<u8>::new());
        for (number, (length, fates, is_soon)) in writes.into_iter().enumerate() {
            let fate = |it: u8| match it {
                0 => Fate::AnswerLost,
                1 => Fate::Lost,
                2 => Fate::Late,
                _ => Fate::Answered,
            };
            let more = vec![u8::try_from(number).expect("few"); length];
            played.set_fates(fates.into_iter().map(fate));
            let written = store_now.append(&more);
            played.set_fates([]);
            if is_soon {
                played.deliver_late();
            }
            if written.is_ok() {
                bytes.extend(&more);
                continue;
            }
            prop_assert!(store_now.append(b"x").is_err(), "the term is over");
            store_now = store(&register);
            let found = store_now.load().expect("read");
            if found != bytes {
                bytes.extend(&more);
                prop_assert!(found == bytes, "whole or not at all");
            }
            played.deliver_late();
        }
        prop_assert!(store(&register).load().expect("read") == bytes);
    }
}

#[test]
fn the_real_etcd_is_as_bytes() {
    let Some(etcd) = real_etcd("as-bytes") else { return };
    let kv = etcd.kv();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(24)
    });
    let count = std::cell::Cell::new(0);
    let outcome = runner.run(&prop::collection::vec(step(), 0..12), |steps| {
        count.set(count.get() + 1);
        let register = register(&kv, &format!("as-bytes-{}", count.get()));
        is_as_bytes(&steps, || Box::new(store(&register)));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_reading_that_breaks_off_loses_nothing() {
    let played = Played::default();
    let kv: Arc<dyn Kv> = Arc::new(played.clone());
    let register = register(&kv, "a");
    let mut first = store(&register);
    let bytes: Vec<u8> = (0..100_u8).collect();
    bytes.iter().for_each(|it| first.append(&[*it]).expect("written"));
    let mut reader = LogReader::new(register);
    // The second page has no answer.
    played.set_fates([Fate::Answered, Fate::Lost]);
    assert!(reader.read_on().is_err());
    assert_eq!(reader.read_on().expect("it answers"), (true, bytes));
    assert_eq!(reader.read_on().expect("it answers"), (true, Vec::new()));
    first.cut(3).expect("it leads");
    first.append(b"x").expect("it leads");
    assert_eq!(reader.read_on().expect("it answers"), (false, vec![0, 1, 2, b'x']));
}

#[test]
fn a_record_of_many_pages_is_read_from_the_real_etcd() {
    let Some(etcd) = real_etcd("pages") else { return };
    let register = register(&etcd.kv(), "pages");
    let mut first = store(&register);
    let bytes: Vec<u8> =
        (0..40_000_000_u32).map(|it| u8::try_from(it % 251).expect("small")).collect();
    first.append(b"in front").expect("written");
    first.append(&bytes).expect("written");
    first.append(b"behind").expect("written");
    let read = store(&register).load().expect("read");
    assert!(read == [&b"in front"[..], &bytes, b"behind"].concat());
}

/// Whoever was deposed writes nothing more, and neither does one that writes behind another's back.
fn only_who_leads_writes(register: &Register) {
    let mut first = store(register);
    first.append(b"one").expect("it leads");
    let mut second = store(register);
    let why = first.append(b"two").expect_err("it was deposed").to_string();
    assert!(why.contains("another controller leads"), "{why}");
    assert!(first.cut(0).is_err() && first.append(b"two").is_err());
    second.append(b"three").expect("it leads");
    assert_eq!(second.load().expect("read"), b"onethree");
}

#[test]
fn who_was_deposed_writes_nothing() {
    let played: Arc<dyn Kv> = Arc::new(Played::default());
    only_who_leads_writes(&register(&played, "a"));
    if let Some(etcd) = real_etcd("deposed") {
        only_who_leads_writes(&register(&etcd.kv(), "deposed"));
    }
}

/// A term is claimed by one, and by nobody while its leader gives signs of life.
fn a_term_is_one_s(register: &Register) {
    let empty = register.look().expect("it answers");
    let (one, two) = (leader(), leader());
    let first = register.claim(&empty, &one).expect("it answers").expect("nobody leads");
    assert_eq!(register.claim(&empty, &two).expect("it answers"), None);
    // An answer that was lost is got by asking again.
    assert_eq!(register.claim(&empty, &one).expect("it answers"), Some(first));
    let seen = register.look().expect("it answers");
    assert_eq!(seen.term.as_ref().map(|it| &it.leader), Some(&one));
    assert!(register.beat(first, false).expect("it answers"));
    assert_eq!(register.claim(&seen, &two).expect("it answers"), None, "it gave a sign of life");
    let seen = register.look().expect("it answers");
    let second = register.claim(&seen, &two).expect("it answers").expect("silent since");
    assert!(second > first, "generations grow");
    assert!(!register.beat(first, false).expect("it answers"), "it was deposed");
    assert!(register.beat(second, true).expect("it answers"));
    assert!(register.look().expect("it answers").is_leaving);
}

#[test]
fn a_term_is_claimed_once() {
    let played: Arc<dyn Kv> = Arc::new(Played::default());
    a_term_is_one_s(&register(&played, "a"));
    if let Some(etcd) = real_etcd("terms") {
        a_term_is_one_s(&register(&etcd.kv(), "terms"));
    }
}
