//! Queues that share a level, against a naive twin and against what weights promise.

use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::VecDeque;
use tenuto_dataplane::{Egress, EgressConfig, FrameId, Queued, Share};
use tenuto_units::{Instant, Rate};

const QUEUES: u8 = 6;
const FRAME_BITS_MAX: u32 = 1_542 * 8;

fn port() -> Egress {
    Egress::new(EgressConfig {
        rate: Rate::from_bps(1_000_000_000).expect("not zero"),
        queues: QUEUES,
        buffer_bits: 1 << 40,
        unpromised_from: None,
    })
}

fn frame(id: u32, wire_bits: u32, now: Instant) -> Queued {
    Queued { frame: FrameId(id), wire_bits, cookie: 1, since: now }
}

/// Deficit round robin, told as in the paper: an active list per level, and credit by queue.
#[derive(Default)]
struct Twin {
    shares: Vec<Share>,
    queues: Vec<VecDeque<(u32, u64)>>,
    /// Per level: whose turn it is, and whether its grant was given.
    turns: Vec<(u8, bool)>,
    credit: Vec<u64>,
}

impl Twin {
    fn new(shares: &[Share]) -> Self {
        let first = |level| {
            (0_u8..).zip(shares).find(|(_, share)| share.level == level).map_or(0, |(q, _)| q)
        };
        Self {
            shares: shares.to_vec(),
            queues: vec![VecDeque::new(); shares.len()],
            turns: (0..QUEUES).map(|level| (first(level), false)).collect(),
            credit: vec![0; shares.len()],
        }
    }

    fn quantum(&self, queue: u8) -> u64 {
        let own = self.shares[usize::from(queue)];
        let same = self.shares.iter().filter(|share| share.level == own.level);
        let least = u64::from(same.map(|share| share.weight).min().unwrap_or(1));
        u64::from(own.weight) * u64::from(FRAME_BITS_MAX).div_ceil(least)
    }

    fn after(&self, queue: u8) -> u8 {
        let level = self.shares[usize::from(queue)].level;
        let mut next = (queue + 1) % QUEUES;
        while self.shares[usize::from(next)].level != level {
            next = (next + 1) % QUEUES;
        }
        next
    }

    fn next(&mut self) -> Option<u32> {
        for level in 0..QUEUES {
            let is_of = |q: &u8| self.shares[usize::from(*q)].level == level;
            let members: Vec<u8> = (0..QUEUES).filter(is_of).collect();
            if members.iter().all(|q| self.queues[usize::from(*q)].is_empty()) {
                continue;
            }
            if let [only] = members[..] {
                return self.queues[usize::from(only)].pop_front().map(|(id, _)| id);
            }
            loop {
                let (queue, is_granted) = self.turns[usize::from(level)];
                let at = usize::from(queue);
                if let Some(&(id, bits)) = self.queues[at].front() {
                    if !is_granted {
                        self.credit[at] += self.quantum(queue);
                        self.turns[usize::from(level)].1 = true;
                    }
                    if bits <= self.credit[at] {
                        self.credit[at] -= bits;
                        self.queues[at].pop_front();
                        if self.queues[at].is_empty() {
                            self.credit[at] = 0;
                        }
                        return Some(id);
                    }
                } else {
                    self.credit[at] = 0;
                }
                self.turns[usize::from(level)] = (self.after(queue), false);
            }
        }
        None
    }
}

fn shares() -> impl Strategy<Value = Vec<Share>> {
    let share = (0..QUEUES, 1_u8..=255).prop_map(|(level, weight)| Share { level, weight });
    vec(share, usize::from(QUEUES))
}

/// What happens: a frame comes, or one leaves.
fn events() -> impl Strategy<Value = Vec<Option<(u8, u32)>>> {
    vec(proptest::option::weighted(0.6, (0..QUEUES, 84_u32..=1_542)), 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_leave_in_the_order_of_the_twin(shares in shares(), events in events()) {
        let (mut port, mut twin) = (port(), Twin::new(&shares));
        port.set_shares(shares);
        let mut now = Instant::ZERO;
        let mut committed = None;
        for (id, event) in (0_u32..).zip(events) {
            match event {
                Some((queue, bytes)) => {
                    port.enqueue(queue, frame(id, bytes * 8, now)).expect("there is room");
                    twin.queues[usize::from(queue)].push_back((id, u64::from(bytes * 8)));
                    if committed.is_none() {
                        committed = twin.next();
                    }
                }
                None => {
                    let Some(at) = port.deadline() else { continue };
                    now = at;
                    let sent = port.hand_over(1, at).map(|sent| sent.frame.0);
                    prop_assert_eq!(sent, committed);
                    committed = twin.next();
                }
            }
        }
    }

    /// Queues that always have frames get their weights' shares, each to within its grant and one
    /// frame (Shreedhar and Varghese, lemma 2); an idle one gives its share to the others.
    #[test]
    fn busy_queues_get_their_shares(
        weights in vec(1_u8..=16, usize::from(QUEUES)),
        bytes in vec(84_u32..=1_542, usize::from(QUEUES)),
        idle in 0..QUEUES,
    ) {
        let mut port = port();
        let of_queues = weights.iter().map(|&weight| Share { level: 2, weight }).collect();
        port.set_shares(of_queues);
        let mut now = Instant::ZERO;
        let mut sent_bits = [0_u64; QUEUES as usize];
        let busy: Vec<u8> = (0..QUEUES).filter(|queue| *queue != idle).collect();
        for &queue in busy.iter().cycle().take(busy.len() * 3) {
            let bits = bytes[usize::from(queue)] * 8;
            port.enqueue(queue, frame(u32::from(queue), bits, now)).expect("there is room");
        }
        for _ in 0..4_000 {
            now = port.deadline().expect("busy");
            let queue = port.hand_over(1, now).expect("due").frame.0;
            let bits = bytes[queue as usize] * 8;
            sent_bits[queue as usize] += u64::from(bits);
            let queue_number = u8::try_from(queue).expect("small");
            port.enqueue(queue_number, frame(queue, bits, now)).expect("there is room");
        }
        let least = u64::from(*weights.iter().min().expect("six"));
        let unit = u64::from(FRAME_BITS_MAX).div_ceil(least);
        let rounds = |queue: u8| {
            let at = usize::from(queue);
            sent_bits[at] as f64 / (u64::from(weights[at]) * unit) as f64
        };
        for &a in &busy {
            for &b in &busy {
                // One grant, and what one frame leaves of it, on either side.
                let slack = 2.0 + 2.0 * f64::from(FRAME_BITS_MAX) / unit as f64;
                prop_assert!((rounds(a) - rounds(b)).abs() <= slack, "{sent_bits:?} of {weights:?}");
            }
        }
        prop_assert_eq!(sent_bits[usize::from(idle)], 0);
    }
}

#[test]
fn a_lower_level_is_strictly_first_and_queues_alone_are_as_without_shares() {
    let share = |level, weight| Share { level, weight };
    let mut port = port();
    port.set_shares(vec![
        share(3, 1),
        share(1, 2),
        share(1, 1),
        share(0, 9),
        share(4, 1),
        share(5, 1),
    ]);
    assert!(!port.is_strict());
    for queue in 0..QUEUES {
        for copy in 0..2 {
            let id = u32::from(queue) * 10 + copy;
            port.enqueue(queue, frame(id, 12_000, Instant::ZERO)).expect("room");
        }
    }
    let mut order = Vec::new();
    while let Some(at) = port.deadline() {
        order.push(port.hand_over(1, at).expect("due").frame.0 / 10);
    }
    // The first was committed before any other came.
    assert_eq!(order, [0, 3, 3, 1, 1, 2, 2, 0, 4, 4, 5, 5]);
    port.set_shares((0..QUEUES).map(|level| share(level, 7)).collect());
    assert!(port.is_strict(), "each is alone in its level, in order");
}

#[test]
fn sharing_and_counting_allocate_nothing_once_queues_have_grown() {
    let mut port = port();
    port.keep_delays();
    port.set_shares((1..=QUEUES).map(|weight| Share { level: 0, weight }).collect());
    let mut now = Instant::ZERO;
    let mut round = |port: &mut Egress| {
        for n in 0..600_u32 {
            let queue = u8::try_from(n % 6).expect("below 6");
            let bits = (84 + n * 37 % 1_458) * 8;
            port.enqueue(queue, frame(n, bits, now)).expect("there is room");
        }
        while let Some(at) = port.deadline() {
            now = at;
            port.hand_over(1, at).expect("due");
        }
    };
    round(&mut port);
    let allocations = allocation_counter::measure(|| (0..50).for_each(|_| round(&mut port)));
    assert_eq!(allocations.count_total, 0);
    let counted: u64 = port.delays().iter().map(|delays| delays.frames()).sum();
    assert_eq!(counted, 51 * 600);
}
