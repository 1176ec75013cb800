//! A medium that loses power in the middle of writing, or fails.

use crate::log::Store;
use std::io;
use std::sync::{Arc, Mutex};
use tenuto_units::Draws;

/// Blocks that reach a medium whole or not at all, in any order.
const BLOCK_BYTES: usize = 64;

/// What becomes of the next write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It fails with a part written, and that part can be taken back.
    Fails,
    /// It fails, and nothing can be taken back.
    Breaks,
    /// Power is lost: any blocks of it are there, zeros or nothing in place of the others.
    PowerLost(u64),
    /// Power is lost with all of it there and nobody told.
    WrittenAndLost,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    next: Option<Fate>,
    is_off: bool,
    is_broken: bool,
}

/// A handle on it; the log has another.
#[derive(Clone, Debug, Default)]
pub(super) struct Medium(Arc<Mutex<State>>);

impl Medium {
    pub(super) fn set_next(&self, fate: Fate) {
        self.0.lock().unwrap().next = Some(fate);
    }

    pub(super) fn is_off(&self) -> bool {
        self.0.lock().unwrap().is_off
    }

    /// The machine starts anew: what is there stays, what was ordered and did not happen is forgotten.
    pub(super) fn start(&self) {
        let mut state = self.0.lock().unwrap();
        (state.next, state.is_off, state.is_broken) = (None, false, false);
    }
}

fn failed() -> io::Error {
    io::Error::other("input/output error")
}

/// Any blocks of what was to be written, behind what is there.
fn torn(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut draws = Draws::new(seed);
    let mut kept = bytes[..draws.index(bytes.len() + 1)].to_vec();
    if draws.below(2) == 0 {
        // The length was written before all of the content.
        for block in kept.chunks_mut(BLOCK_BYTES) {
            if draws.below(3) == 0 {
                block.fill(0);
            }
        }
    }
    kept
}

impl Store for Medium {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.lock().unwrap().bytes.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        if state.is_off || state.is_broken {
            return Err(failed());
        }
        match state.next.take() {
            None => {
                state.bytes.extend(bytes);
                return Ok(());
            }
            Some(fate @ (Fate::Fails | Fate::Breaks)) => {
                state.bytes.extend(&bytes[..bytes.len() / 2]);
                state.is_broken = fate == Fate::Breaks;
            }
            Some(Fate::PowerLost(seed)) => {
                let torn = torn(bytes, seed);
                state.bytes.extend(torn);
                state.is_off = true;
            }
            Some(Fate::WrittenAndLost) => {
                state.bytes.extend(bytes);
                state.is_off = true;
            }
        }
        Err(failed())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        if state.is_off || state.is_broken {
            return Err(failed());
        }
        state.bytes.truncate(usize::try_from(length).unwrap());
        Ok(())
    }
}
