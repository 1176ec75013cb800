//! What a general switch keeps beyond a planned one: room to change frames, packets that wait for
//! a controller, time-outs, configuration.

use super::actions::bridge::Bridge;
use super::actions::group::{DEPTH_MAX, GroupCounts};
use super::actions::packet::{Buffer, EditSet};
use super::actions::packet_buffers::PacketBuffers;
use super::attendre::Attendre;
use super::classifier::hash_key::HashKey;
use super::config::GeneralConfig;
use super::control::connection::ConnectionId;
use super::control::task::LongWork;
use super::meter::MeterState;
use super::path_cache::action_program::Step;
use super::port::features::PortFeatures;
use super::slices::guard::SliceState;
use super::tables::expiry::Expiry;
use super::tables::table_set::TableSet;
use super::token_bucket::Meter;
use std::collections::BTreeMap;
use tenuto_openflow::SliceStatus;

/// Bytes of a packet that go to the controller where no action says it
/// (`OFP_DEFAULT_MISS_SEND_LEN`).
const MISS_SEND_LEN: u16 = 128;

/// Frames before buckets changed them, by depth of the group. Between two frames it means nothing, so a copy of a
/// switch has none of it until it needs the room: explored switches are copied at every step.
#[derive(Debug)]
pub(super) struct SavedFrames(Vec<Buffer>);

impl SavedFrames {
    fn new() -> Self {
        Self(vec![Buffer::default(); DEPTH_MAX + 1])
    }

    /// The place of a depth; `None` beyond the deepest.
    pub(super) fn get_mut(&mut self, depth: usize) -> Option<&mut Buffer> {
        if depth <= DEPTH_MAX && self.0.len() <= depth {
            self.0.resize_with(depth + 1, Buffer::default);
        }
        self.0.get_mut(depth)
    }

    pub(super) fn get(&self, depth: usize) -> Option<&Buffer> {
        self.0.get(depth)
    }
}

impl Clone for SavedFrames {
    fn clone(&self) -> Self {
        Self(Vec::new())
    }
}

/// State of a general switch.
#[derive(Clone, Debug)]
pub(super) struct General {
    /// The frame being changed.
    pub(super) buffer: Buffer,
    /// Frames as they were before a bucket changed them, by depth of the group.
    pub(super) saved: SavedFrames,
    /// Changes in the action set of the frame at hand.
    pub(super) set: EditSet,
    pub(super) waiting: PacketBuffers,
    pub(super) expiry: Expiry,
    pub(super) bridge: Bridge,
    pub(super) groups: GroupCounts,
    /// The meter of what goes to the controllers (`OFPM_CONTROLLER`).
    pub(super) controller_meter: Option<MeterState>,
    /// What limits the packet-ins of each port; none without a limit.
    pub(super) packet_in_limits: Vec<Meter>,
    /// Packet-ins that were not made for that limit.
    pub(super) packet_ins_limited: u64,
    pub(super) packet_ins_unheard: u64,
    pub(super) attendre: Option<Attendre>,
    /// What takes several steps, by the connection that asked for it.
    pub(super) works: BTreeMap<ConnectionId, LongWork>,
    /// Tables that a controller has taken out of the pipeline.
    pub(super) withdrawn: TableSet,
    pub(super) flags: u16,
    pub(super) miss_send_len: u16,
    /// What the links of ports are able to do, as far as it was told, by port number.
    pub(super) features: BTreeMap<u32, PortFeatures>,
    /// What makes it the virtual datapath of a slice.
    pub(super) slice: Option<Box<SliceState>>,
    /// What the operator's connections are told of the slices that share the switch.
    pub(super) slices: Vec<SliceStatus>,
}

impl General {
    pub(super) fn new(config: &GeneralConfig, ports: usize, hash_key: HashKey) -> Self {
        let limit = config.packet_ins_per_s.map(Meter::of_packets);
        Self {
            buffer: Buffer::default(),
            saved: SavedFrames::new(),
            set: EditSet::default(),
            waiting: PacketBuffers::new(config.buffers_max),
            expiry: Expiry::default(),
            bridge: Bridge::new(config.learned_max),
            groups: GroupCounts::default(),
            controller_meter: None,
            packet_in_limits: limit.map_or_else(Vec::new, |limit| vec![limit; ports]),
            packet_ins_limited: 0,
            packet_ins_unheard: 0,
            attendre: config.attendre.clone().map(|limits| Attendre::new(limits, hash_key)),
            works: BTreeMap::new(),
            withdrawn: TableSet::default(),
            flags: 0,
            miss_send_len: MISS_SEND_LEN,
            features: BTreeMap::new(),
            slice: config.slice.as_ref().map(SliceState::new).map(Box::new),
            slices: Vec::new(),
        }
    }

    /// A frame counts for a group, or for a bucket of one, as a step of an action program says.
    #[inline]
    pub(super) fn count_step(&mut self, step: Step, frame_bytes: u32) {
        let counter = match step {
            Step::Group(group) => self.groups.at(group).map(|it| &mut it.all),
            Step::Bucket { group, bucket } => {
                self.groups.at(group).and_then(|it| it.buckets.get_mut(bucket as usize))
            }
            _ => None,
        };
        if let Some(counter) = counter {
            counter.add(frame_bytes);
        }
    }
}
