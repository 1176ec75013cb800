//! Frames of explored worlds: interned contents, shared by all states.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use tenuto_dataplane::{FRAME_CAPACITY, FrameId, Frames};
use tenuto_wire::{CommandFrame, CommandRepr, SignalFrame};

/// Contents by id; nothing is ever released, so states share frames freely.
#[derive(Debug, Default)]
pub(super) struct Interned {
    contents: Vec<Box<[u8]>>,
    identities: Vec<u64>,
    ids: HashMap<Box<[u8]>, u32, BuildHasherDefault<DefaultHasher>>,
}

impl Interned {
    /// What decides a frame's effect: a signal or command without the sequence number and tag that
    /// differ from send to send (links are in order and nobody forges, so they never decide), any other
    /// frame by its bytes.
    pub(super) fn identity(&self, frame: FrameId) -> u64 {
        self.identities[frame.0 as usize]
    }

    fn identify(bytes: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        match SignalFrame::parse(bytes) {
            Ok(frame) => {
                let signal = frame.repr();
                (signal.kind as u8, signal.level, signal.from_level).hash(&mut hasher);
                (signal.generation, signal.epoch, signal.origin, signal.nonce).hash(&mut hasher);
            }
            Err(_) => match CommandFrame::parse(bytes) {
                Ok(command) => CommandRepr { sequence: 0, ..command.repr() }.hash(&mut hasher),
                Err(_) => bytes.hash(&mut hasher),
            },
        }
        hasher.finish()
    }
}

impl Frames for Interned {
    fn bytes(&self, frame: FrameId) -> &[u8] {
        &self.contents[frame.0 as usize]
    }

    fn insert(&mut self, bytes: &[u8]) -> Option<FrameId> {
        if let Some(&id) = self.ids.get(bytes) {
            return Some(FrameId(id));
        }
        let id = u32::try_from(self.contents.len()).ok()?;
        if bytes.len() > FRAME_CAPACITY {
            return None;
        }
        self.contents.push(bytes.into());
        self.identities.push(Self::identify(bytes));
        self.ids.insert(bytes.into(), id);
        Some(FrameId(id))
    }

    fn retain(&mut self, _frame: FrameId) {}

    fn release(&mut self, _frame: FrameId) {}
}
