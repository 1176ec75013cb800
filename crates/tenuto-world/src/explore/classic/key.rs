//! Keys of states: 128-bit fingerprints, made part by part.

/// Mixes words into two independent lanes of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Mixer {
    lanes: [u64; 2],
}

const SEEDS: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];
const FACTORS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

impl Default for Mixer {
    fn default() -> Self {
        Self { lanes: SEEDS }
    }
}

impl Mixer {
    /// Adds a word; order matters.
    pub fn word(&mut self, word: u64) {
        for (lane, factor) in self.lanes.iter_mut().zip(FACTORS) {
            *lane = folded(*lane ^ word, factor).wrapping_add(lane.rotate_left(19));
        }
    }

    /// Adds two words at once.
    pub fn wide(&mut self, word: u128) {
        let [low, high] = halves(word);
        self.word(low);
        self.word(high);
    }

    /// The fingerprint of all that was added.
    pub fn finish(self) -> u128 {
        let [first, second] = self.lanes;
        let mixed = [folded(first ^ second, FACTORS[1]), folded(second, FACTORS[0]) ^ first];
        u128::from(mixed[0]) << 64 | u128::from(mixed[1])
    }
}

/// High and low half of a product, one over the other: every bit depends on every bit.
fn folded(word: u64, factor: u64) -> u64 {
    let [low, high] = halves(u128::from(word) * u128::from(factor));
    low ^ high
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves of a word of 128 bits")]
const fn halves(word: u128) -> [u64; 2] {
    [word as u64, (word >> 64) as u64]
}

/// What has a place in the key of a state.
pub trait Keyed {
    /// Adds what the key contains of it.
    fn key(&self, mixer: &mut Mixer);

    /// Its own fingerprint.
    fn fingerprint(&self) -> u128 {
        let mut mixer = Mixer::default();
        self.key(&mut mixer);
        mixer.finish()
    }
}

impl<T: Keyed> Keyed for [T] {
    /// Length, then all in their order.
    fn key(&self, mixer: &mut Mixer) {
        mixer.word(self.len() as u64);
        for item in self {
            item.key(mixer);
        }
    }
}

/// All of a list, without their order.
pub fn multiset<T: Keyed>(items: impl Iterator<Item = T>, mixer: &mut Mixer) {
    let sum = items.fold(0_u128, |sum, item| sum.wrapping_add(item.fingerprint()));
    mixer.wide(sum);
}
