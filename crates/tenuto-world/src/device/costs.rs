//! What a device's processor spends on everything that is not a plain frame.

use super::FirmwareTable;
use tenuto_openflow::{Body, FlowMod, FlowModCommand, Instruction, Message, RequestBody};

/// The most that control messages take of the processor, from the last bit of the request to the first bit of the
/// answer (\[Loko\] section 3.2), picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCosts {
    /// An echo request.
    pub echo_ps: u64,
    /// A barrier request.
    pub barrier_ps: u64,
    /// Hello, features, configuration, roles, and whatever else has no row of its own.
    pub other_ps: u64,
    /// A packet-out, besides its frame's outputs.
    pub packet_out_ps: u64,
    /// A frame that misses, besides its look-up: the packet-in.
    pub packet_in_ps: u64,
    /// A flow-mod that adds, without actions.
    pub add_ps: u64,
    /// Each action that is copied into an entry.
    pub action_ps: u64,
    /// A flow-mod that modifies or deletes, before it looks at any entry.
    pub change_ps: u64,
    /// Each entry that a strict command is compared with: bit by bit.
    pub strict_entry_ps: u64,
    /// Each entry that a command without `strict` is compared with: under masks.
    pub loose_entry_ps: u64,
    /// Each entry that is modified.
    pub modified_ps: u64,
    /// Each entry that is deleted: the table is closed up behind it.
    pub deleted_ps: u64,
    /// A request for statistics.
    pub statistics_ps: u64,
    /// Each entry that such an answer lists.
    pub statistics_entry_ps: u64,
}

/// What the firmware does by itself, again and again (\[Loko\] section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnWork {
    /// Processor time of each turn, picoseconds.
    pub time_ps: u64,
    /// From turn to turn, picoseconds.
    pub period_ps: u64,
}

/// Entries that the hardware has no room for are looked up by a general purpose processor (\[DetOF\] section V.A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftwareTable {
    /// Entries that the hardware holds: those added first.
    pub hardware_entries: usize,
    /// What a frame takes of that processor, picoseconds.
    pub frame_ps: u64,
    /// Least and largest latency besides, nanoseconds.
    pub latency_ns: (u64, u64),
    /// Frames per second up to which none is lost.
    pub lossless_per_s: u64,
    /// Frames per second from which none more gets through.
    pub most_per_s: u64,
}

impl MessageCosts {
    /// The most that this message takes, the table being as it is.
    pub fn of(&self, message: &Message, table: &FirmwareTable) -> u64 {
        match &message.body {
            Body::EchoRequest(_) => self.echo_ps,
            Body::BarrierRequest => self.barrier_ps,
            Body::PacketOut(_) => self.packet_out_ps,
            Body::FlowMod(it) => self.of_flow_mod(it, table),
            Body::MultipartRequest(it) => match &it.body {
                RequestBody::Flow(_) | RequestBody::Aggregate(_) => {
                    self.statistics_ps + self.statistics_entry_ps * table.len() as u64
                }
                _ => self.statistics_ps,
            },
            _ => self.other_ps,
        }
    }

    fn of_flow_mod(&self, it: &FlowMod, table: &FirmwareTable) -> u64 {
        let copied = self.action_ps * actions(&it.instructions);
        if it.command == FlowModCommand::Add {
            return self.add_ps + copied;
        }
        let is_strict =
            matches!(it.command, FlowModCommand::ModifyStrict | FlowModCommand::DeleteStrict);
        let entry_ps = if is_strict { self.strict_entry_ps } else { self.loose_entry_ps };
        let found = table.found_by(it) as u64;
        let compared = self.change_ps + entry_ps * table.len() as u64;
        match it.command {
            FlowModCommand::Delete | FlowModCommand::DeleteStrict => {
                compared + self.deleted_ps * found
            }
            _ => compared + self.modified_ps * found + copied * found,
        }
    }
}

fn actions(instructions: &[Instruction]) -> u64 {
    let lists = instructions.iter().map(|it| match it {
        Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => actions.len(),
        _ => 0,
    });
    lists.sum::<usize>() as u64
}
