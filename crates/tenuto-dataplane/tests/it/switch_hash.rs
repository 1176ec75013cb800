//! Entries whose values somebody computed so that they collide: what they cost is counted, never timed.

use support::Bench;
use support::general::config;
use support::{apply, output};
use tenuto_dataplane::switch::{
    ChangeWork, ConnectionId, GeneralConfig, HashKey, LookUpWork, PacketKey, SwitchConfig, Table,
};
use tenuto_openflow::*;
use tenuto_wire::FlowKey;

use crate::support;

const ENTRIES: u64 = 36_000;
const ENTRIES_AT_ONCE: u32 = 64;
const ADDRESS: u64 = 0xffff_ffff_ffff;
const DST: u64 = 0x0200_0000_0001;
const IN_PORT: u32 = 3;

/// A hash that everybody knows: the factor that it multiplies words by.
const PUBLIC_FACTOR: u64 = 0x9e37_9e37_79b9_7f4b;

const fn public_hash(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(PUBLIC_FACTOR)
}

fn inverse(factor: u64) -> u64 {
    (0..6).fold(1_u64, |x, _| x.wrapping_mul(2_u64.wrapping_sub(x.wrapping_mul(factor))))
}

/// What a mask asks for beside the source address.
#[derive(Clone, Copy, Debug)]
enum Asked {
    SourceOnly,
    PortAndBoth,
}

/// The source addresses of a host that wants its entries to be in each other's way: under the public hash all
/// of them have the same upper 32 bits.
fn computed(asked: Asked) -> Vec<u64> {
    let before = match asked {
        Asked::SourceOnly => 0,
        Asked::PortAndBoth => {
            let first = public_hash(0, u64::from(IN_PORT) << 32);
            public_hash(first, DST << 16).rotate_left(23)
        }
    };
    let source = |n: u64| (n.wrapping_mul(inverse(PUBLIC_FACTOR)) ^ before >> 16) & ADDRESS;
    let all: Vec<u64> = (0..ENTRIES).map(source).collect();
    let hashes = all.iter().map(|source| (before ^ source << 16).wrapping_mul(PUBLIC_FACTOR));
    let first = before & 0xffff;
    let least = first.wrapping_mul(PUBLIC_FACTOR);
    assert!(
        hashes.into_iter().all(|hash| hash.wrapping_sub(least) < 1 << 32),
        "they collide there"
    );
    all
}

fn bytes(address: u64) -> [u8; 6] {
    let [_, _, bytes @ ..] = address.to_be_bytes();
    bytes
}

/// As a learning controller installs it when the host speaks.
fn entry(asked: Asked, source: u64) -> FlowMod {
    let eth_src = Oxm::EthSrc { value: bytes(source), mask: None };
    let oxms = match asked {
        Asked::SourceOnly => vec![eth_src],
        Asked::PortAndBoth => {
            vec![Oxm::InPort(IN_PORT), Oxm::EthDst { value: bytes(DST), mask: None }, eth_src]
        }
    };
    FlowMod {
        match_: Match::from(oxms),
        instructions: vec![apply(vec![output(1)])],
        ..FlowMod::new(FlowModCommand::Add, 0)
    }
}

fn filled(asked: Asked, sources: &[u64], hash_key: HashKey) -> Bench {
    let general = config().general.expect("a general switch");
    let general = GeneralConfig { entries_at_once: Some(ENTRIES_AT_ONCE), ..general };
    let general = Some(general);
    let mut bench =
        Bench::with(SwitchConfig { entries_max: 100_000, general, hash_key, ..config() });
    let mut bytes = Vec::new();
    for source in sources {
        Message::new(1, Body::FlowMod(entry(asked, *source))).emit(&mut bytes);
    }
    assert_eq!(bench.control(&bytes), []);
    bench
}

fn table(bench: &Bench) -> &Table {
    bench.switch.tables().get(0, 0).expect("there").table()
}

/// What looking up frames of these sources costs at worst.
fn look_ups(bench: &Bench, sources: &[u64]) -> LookUpWork {
    let mut worst = LookUpWork::default();
    for source in sources {
        let mut frame = [0; 64];
        frame[..6].copy_from_slice(&bytes(DST));
        frame[6..12].copy_from_slice(&bytes(*source));
        frame[12..14].copy_from_slice(&[0x08, 0x06]);
        let key = PacketKey::of(&FlowKey::extract(&frame).expect("a frame"), IN_PORT);
        assert!(table(bench).look_up(&key).0.is_some());
        let work = table(bench).look_up_work(&key);
        worst.masks = worst.masks.max(work.masks);
        worst.buckets = worst.buckets.max(work.buckets);
        worst.overflows = worst.overflows.max(work.overflows);
    }
    worst
}

const fn since(now: ChangeWork, before: ChangeWork) -> ChangeWork {
    ChangeWork {
        buckets: now.buckets - before.buckets,
        moved: now.moved - before.moved,
        overflows: now.overflows - before.overflows,
    }
}

/// Removes all entries by one message, in steps; what the costliest step and all together cost.
fn remove_all(bench: &mut Bench) -> (ChangeWork, ChangeWork) {
    let before = table(bench).change_work();
    bench.control(
        &Message::new(2, Body::FlowMod(FlowMod::new(FlowModCommand::Delete, 0))).to_bytes(),
    );
    let (mut last, mut worst) = (before, ChangeWork::default());
    while bench.switch.at_work().next().is_some() {
        let entries = table(bench).entries().len();
        bench.switch.work_on(ConnectionId(0), bench.now, &mut bench.frames, &mut bench.fx);
        bench.fx.clear();
        let gone = entries - table(bench).entries().len();
        assert!(gone <= ENTRIES_AT_ONCE as usize, "{gone} in one step");
        let now = table(bench).change_work();
        let step = since(now, last);
        worst.buckets = worst.buckets.max(step.buckets);
        last = now;
    }
    assert_eq!(table(bench).entries().len(), 0);
    (worst, since(last, before))
}

#[test]
fn computed_addresses_cost_no_more_than_others() {
    for (asked, secret) in [
        (Asked::SourceOnly, 1),
        (Asked::SourceOnly, 2),
        (Asked::PortAndBoth, 1),
        (Asked::PortAndBoth, 2),
    ] {
        let sources = computed(asked);
        let mut bench = filled(asked, &sources, HashKey::new([secret; 16]));
        let added = table(&bench).change_work();
        // Look for it, put it, and move it once or twice as the index grows.
        assert!(added.buckets <= 8 * ENTRIES && added.moved <= 3 * ENTRIES, "{added:?}");
        assert!(added.overflows <= ENTRIES / 100, "{added:?}");
        let worst = look_ups(&bench, &sources);
        assert!(worst.masks == 1 && worst.buckets <= 8 && worst.overflows <= 1, "{worst:?}");
        let (step, removed) = remove_all(&mut bench);
        // Look for it and take it out: each mostly reads one bucket.
        assert!(removed.buckets * 10 <= ENTRIES * 26, "{removed:?}");
        assert_eq!(removed.moved, 0);
        assert!(removed.overflows <= ENTRIES / 100, "{removed:?}");
        assert!(step.buckets <= 6 * u64::from(ENTRIES_AT_ONCE), "{step:?}");
    }
}
