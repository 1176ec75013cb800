//! Frame sizes of the flows that come over one line to one queue: the largest counts, whoever goes.

/// How many flows have frames of which size, by size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frames(Vec<(i64, u32)>);

impl Frames {
    /// One more flow with frames of that size.
    pub(crate) fn add(&mut self, bits: i64) {
        match self.0.binary_search_by_key(&bits, |(bits, _)| *bits) {
            Ok(at) => self.0[at].1 += 1,
            Err(at) => self.0.insert(at, (bits, 1)),
        }
    }

    /// One flow less with frames of that size.
    pub(crate) fn take(&mut self, bits: i64) {
        let Ok(at) = self.0.binary_search_by_key(&bits, |(bits, _)| *bits) else { return };
        self.0[at].1 -= 1;
        if self.0[at].1 == 0 {
            self.0.remove(at);
        }
    }

    /// The largest size, bits; 0 without flows.
    pub(crate) fn largest(&self) -> i64 {
        self.0.last().map_or(0, |(bits, _)| *bits)
    }
}
