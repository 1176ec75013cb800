//! What subjects do of what others do, turn by turn.

use super::super::Paired;
use super::rates::{Bench, FRAME_BYTES, LiveSubject};
use serde::{Deserialize, Serialize};
use tenuto_io::measure::Window;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LiveQuantity {
    /// Frames forwarded under overload, per second.
    Rate,
    /// Delays of a paced load, window by window: so many of a thousand frames had no larger one.
    Delay(u16),
    /// Delays of the frames of all windows together, of which rare long pauses of the machine decide.
    PooledDelay(u16),
}

impl LiveQuantity {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Rate,
        Self::Delay(500),
        Self::Delay(990),
        Self::PooledDelay(990),
        Self::Delay(999),
        Self::PooledDelay(999),
        Self::Delay(1_000),
    ];

    /// How it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Delay(500) => "p50",
            Self::Delay(990) => "p99",
            Self::PooledDelay(990) => "p99, pooled",
            Self::Delay(999) => "p99.9",
            Self::PooledDelay(_) => "p99.9, pooled",
            Self::Delay(_) => "max",
        }
    }

    /// Ours by theirs; the n-th windows are a pair.
    fn ratio(self, ours: &[Window], theirs: &[Window]) -> Option<Paired> {
        if let Self::PooledDelay(permille) = self {
            let [ours, theirs] = [ours, theirs].map(|windows| {
                windows.iter().map(|it| it.delays_ns.as_slice()).collect::<Vec<_>>()
            });
            return Paired::of_pools(&ours, &theirs, usize::from(permille));
        }
        let of = |windows: &[Window]| windows.iter().map(|it| self.of(it)).collect::<Vec<_>>();
        Paired::of(&of(ours), &of(theirs))
    }

    /// Of one window.
    fn of(self, window: &Window) -> f64 {
        match self {
            Self::Rate => window.rate_pps() as f64,
            Self::Delay(permille) | Self::PooledDelay(permille) => {
                window.delay_ns(usize::from(permille)).map_or(f64::NAN, |ns| ns as f64)
            }
        }
    }
}

/// A quantity of one subject by that of another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveRatio {
    /// Whose quantity.
    pub subject: LiveSubject,
    /// By whose.
    pub other: LiveSubject,
    /// Bytes of a frame, FCS included.
    pub frame_bytes: usize,
    /// Which.
    pub quantity: LiveQuantity,
    /// The quotients.
    pub ratio: Paired,
}

/// Which subject is held against which, and in what.
fn pairs() -> impl Iterator<Item = (LiveSubject, LiveSubject, LiveQuantity)> {
    let own = [LiveSubject::SwitchRing, LiveSubject::SwitchXdp];
    let with_peers = own.into_iter().flat_map(|subject| {
        let peers = subject.bare().into_iter().chain(subject.rivals().iter().copied());
        peers.flat_map(move |peer| LiveQuantity::ALL.map(|quantity| (subject, peer, quantity)))
    });
    let judging = (LiveSubject::SwitchRing, LiveSubject::SwitchRingUnjudged, LiveQuantity::Rate);
    with_peers.chain([judging])
}

/// All that can be compared at one size of frames.
pub(super) fn of(benches: &[Bench], size: usize) -> impl Iterator<Item = LiveRatio> {
    pairs().filter_map(move |(subject, other, quantity)| {
        let windows = |wanted: LiveSubject| -> Option<&[Window]> {
            let bench = benches.iter().find(|bench| bench.subject == wanted)?;
            Some(match quantity {
                LiveQuantity::Rate => &bench.rates[size],
                _ => &bench.delays[size],
            })
        };
        let ratio = quantity.ratio(windows(subject)?, windows(other)?)?;
        Some(LiveRatio { subject, other, frame_bytes: FRAME_BYTES[size], quantity, ratio })
    })
}
