//! One frame through the tables.

pub(in crate::switch) mod executor;
pub(in crate::switch) mod interpret;
mod message;
mod packet_context;

pub(in crate::switch) use message::message_of;
pub(in crate::switch) use packet_context::{ActionSet, NO_COOKIE, NO_SLOT, PacketContext};

use self::executor::Executor;
use crate::switch::actions::group::{Groups, Liveness};
use crate::switch::actions::packet::Layers;
use crate::switch::classifier::key::PacketKey;
use crate::switch::config::SwitchConfig;
use crate::switch::path_cache::run::ClassifiedFrame;
use crate::switch::tables::TABLE_WATCH;
use crate::switch::{Switch, SwitchEvent};
use crate::{DropReason, Dropped, Effects, FRAME_CAPACITY, FrameId, Frames, Work};
use tenuto_openflow::constants::config_flag;
use tenuto_units::{Instant, Span, wire_bits};
use tenuto_wire::{EtherType, frame_bytes};

/// While a flow keeps asking for more than the start level, observers hear of it this often.
const TELL_AGAIN: Span = Span::from_ms(1);

/// The slot that a look-up found, and how many probes it took.
pub(in crate::switch) type LookUp = (Option<u32>, u32);

/// Bits on the wire of a frame of so many bytes with FCS.
#[inline]
pub(in crate::switch) fn bits_of(frame_bytes: u32) -> u32 {
    u32::try_from(wire_bits(frame_bytes)).unwrap_or(u32::MAX)
}

/// What is told of a frame that goes no further.
fn dropped(reason: DropReason, packet: &PacketContext, frames: &impl Frames) -> Dropped {
    Dropped {
        reason,
        port: packet.in_port,
        cookie: packet.cookie,
        message: message_of(frames.bytes(packet.frame), packet.cookie),
        frame_bytes: packet.frame_bytes,
    }
}

/// What meters count of a frame of so many bytes with FCS.
#[inline]
pub(in crate::switch) fn bits_metered(config: &SwitchConfig, frame_bytes: u32) -> u64 {
    u64::from(frame_bytes - 4 + config.meter_extra_bytes) * 8
}

impl Switch {
    pub(in crate::switch) fn process(
        &mut self,
        now: Instant,
        arrival: Instant,
        place: usize,
        frame: FrameId,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let port = (place, self.ports[place].number);
        if self.has_paths(place)
            && let Some(entered) =
                self.look_first(port, ClassifiedFrame::new(arrival, frame), frames)
        {
            return self.process_entered(now, entered, frames, fx);
        }
        let bytes = frames.bytes(frame);
        let mut packet = self.entered((now, arrival), place, frame, bytes);
        let reason = if !self.read_key(bytes, packet.in_port, &mut packet.key) {
            Some(DropReason::Malformed)
        } else if packet.key.eth_type() & !1 == EtherType::MODE_SIGNAL.0 {
            return match packet.key.eth_type() == EtherType::ATTENDRE.0 {
                true => self.receive_command(now, place, frame, frames, fx),
                false => self.receive_signal(now, place, frame, frames, fx),
            };
        } else if self.refuses(place, bytes) {
            Some(DropReason::NoOutput)
        } else if self.is_standalone() {
            Executor::new(self, &mut packet, frames, fx).run_as_bridge()
        } else {
            self.walk(&mut packet, frames, fx)
        };
        self.finish(reason, &packet, frames, fx);
        packet.work
    }

    /// A frame has come in at a port, and is counted there.
    #[inline]
    fn entered(
        &mut self,
        times: (Instant, Instant),
        place: usize,
        frame: FrameId,
        bytes: &[u8],
    ) -> PacketContext {
        let port = &mut self.ports[place];
        let packet =
            PacketContext::new(times, (Some(place), port.number), frame, frame_bytes(bytes.len()));
        port.counters.received += 1;
        port.counters.received_bytes += u64::from(packet.frame_bytes);
        packet
    }

    /// Reads the key of a frame into an empty one, and says whether there is one. A planned switch
    /// looks no deeper than its deployment asks for.
    #[inline]
    pub(in crate::switch) fn read_key(
        &self,
        bytes: &[u8],
        in_port: u32,
        key: &mut PacketKey,
    ) -> bool {
        if bytes.len() > FRAME_CAPACITY {
            return false;
        }
        if !self.policy.reads_all_layers() {
            return key.read(bytes, in_port);
        }
        let read = Layers::locate(bytes).key(bytes, in_port);
        read.inspect(|read| *key = *read).is_some()
    }

    /// The key of a frame, if there is one.
    pub(in crate::switch) fn key_of(&self, bytes: &[u8], in_port: u32) -> Option<PacketKey> {
        let mut key = PacketKey::default();
        self.read_key(bytes, in_port, &mut key).then_some(key)
    }

    /// Whether the configuration of the port, or of the switch, drops the frame.
    fn refuses(&self, place: usize, bytes: &[u8]) -> bool {
        let Some(general) = &self.general else { return false };
        let port = &self.ports[place];
        let drops_fragments = general.flags & config_flag::FRAG_DROP != 0;
        port.takes_nothing() || drops_fragments && Layers::locate(bytes).is_fragment(bytes)
    }

    /// The end of a frame's way: its drop, if it went nowhere, and the holds on it.
    #[inline]
    pub(in crate::switch) fn finish(
        &mut self,
        reason: Option<DropReason>,
        packet: &PacketContext,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        if let Some(reason) = reason {
            self.drop_frame(reason, packet, frames, fx);
        }
        if packet.commands > 0 {
            self.spend_commands(packet);
        }
        if let Some(copy) = packet.copy {
            frames.release(copy);
        }
        frames.release(packet.frame);
    }

    #[cold]
    pub(in crate::switch) fn drop_frame(
        &mut self,
        reason: DropReason,
        packet: &PacketContext,
        frames: &impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        self.report(dropped(reason, packet, frames), packet.place, fx);
    }

    /// The same of what was to leave by a port, which counts it: not where the frame came in.
    #[cold]
    pub(in crate::switch) fn drop_output(
        &mut self,
        reason: DropReason,
        packet: &PacketContext,
        frames: &impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        self.report(dropped(reason, packet, frames), None, fx);
    }

    /// Runs the tables; the reason if the frame goes nowhere.
    pub(in crate::switch) fn walk(
        &mut self,
        packet: &mut PacketContext,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        self.walk_with(None, packet, frames, fx)
    }

    /// Runs the tables, with the first look-up if it is made.
    pub(in crate::switch) fn walk_with(
        &mut self,
        first: Option<LookUp>,
        packet: &mut PacketContext,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        self.clear_set();
        let mut executor = Executor::new(self, packet, frames, fx);
        executor.first = first;
        executor.run_from(TABLE_WATCH)
    }

    /// Forgets what the last frame was to be changed to.
    pub(in crate::switch) fn clear_set(&mut self) {
        if let Some(general) = &mut self.general {
            general.set.clear();
        }
    }

    /// Keeps the changed frame at hand while a copy of it is worked on.
    pub(in crate::switch) fn save(&mut self, depth: usize) {
        if let Some(general) = &mut self.general
            && let Some(saved) = general.saved.get_mut(depth)
        {
            saved.load_from(&general.buffer);
        }
    }

    /// The changed frame at hand is again what was kept.
    pub(in crate::switch) fn restore(&mut self, depth: usize) {
        if let Some(general) = &mut self.general
            && let Some(saved) = general.saved.get(depth)
        {
            general.buffer.load_from(saved);
        }
    }

    /// Groups with what decides which of their buckets are live.
    pub(in crate::switch) fn live<'a>(&'a self, groups: &'a Groups) -> Liveness<'a> {
        Liveness { groups, ports: &self.ports, index: &self.port_index }
    }

    /// What meters count of a frame.
    pub(in crate::switch) fn metered_bits(&self, frame_bytes: u32) -> u64 {
        bits_metered(&self.config, frame_bytes)
    }

    /// A monitor asks for more than the start level.
    #[cold]
    pub(in crate::switch) fn ask_for(
        &mut self,
        wanted: u8,
        id: u32,
        (now, arrival): (Instant, Instant),
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let Some(state) = self.tables.monitor_beside(id) else { return };
        let tells = wanted > self.level || arrival >= state.told + TELL_AGAIN;
        if tells {
            state.told = arrival;
            fx.events.push(SwitchEvent::Violation { monitor: id, arrival, at: now, wanted });
        }
        if wanted > self.level {
            self.announce_violation(now, id, wanted, fx);
        }
        if let Some(agent) = &mut self.agent {
            agent.excess(now, wanted, &mut self.mode_actions);
            self.carry_out(now, None, frames, fx);
        }
    }
}
