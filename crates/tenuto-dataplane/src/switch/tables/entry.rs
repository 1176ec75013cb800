//! What an entry is: what it matches, and what happens to the frames that it matches.

use crate::switch::actions::packet::Edit;
use crate::switch::attendre::Command;
use crate::switch::classifier::key::Pattern;
use tenuto_openflow::Instruction;

/// What the pipeline does with a frame that matches an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Behaviour {
    /// Meter asked first.
    pub meter: Option<u32>,
    /// Actions executed at once, in order.
    pub apply: Vec<ActionStep>,
    /// Whether the action set is cleared.
    pub clear: bool,
    /// Actions put into the action set.
    pub write: Vec<ActionStep>,
    /// Metadata written: value and mask.
    pub metadata: Option<(u64, u64)>,
    /// Next table.
    pub goto: Option<u8>,
    /// Commands for other switches, which its encap actions name.
    pub(in crate::switch) commands: Vec<Command>,
}

/// One action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionStep {
    /// The queue for later outputs.
    SetQueue(u32),
    /// Send through a port, or one of the reserved ports that stand for several.
    Output(u32),
    /// Hand the frame to the controllers, so many bytes of it.
    Controller(u16),
    /// Let a group process it.
    Group(u32),
    /// Change the frame.
    Edit(Edit),
    /// Show the frame to a monitor.
    Monitor(u32),
    /// The first frame takes a command along to the next switch: its place in
    /// `Behaviour::commands`.
    Encap(u16),
}

/// A flow entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What it matches.
    pub pattern: Pattern,
    /// Higher wins.
    pub precedence: u16,
    /// Names the flow.
    pub cookie: u64,
    /// `OFPFF_*` flags.
    pub flags: u16,
    /// Seconds without a matching frame after which it goes; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which it goes in any case; 0 for never.
    pub hard_timeout: u16,
    /// What happens.
    pub behaviour: Behaviour,
    /// The message set that put it here, if one did (Attendre).
    pub version: Option<tenuto_openflow::Version>,
    /// The match as it was sent, for read-back.
    pub matching: tenuto_openflow::Match,
    /// The instructions as they were sent, for read-back.
    pub instructions: Vec<Instruction>,
}

impl Entry {
    /// Whether it is the table-miss entry: it matches everything at the lowest precedence
    /// (OpenFlow 1.3.5, section 5.4).
    pub(in crate::switch) fn is_table_miss(&self) -> bool {
        self.precedence == 0 && self.pattern.matches_all()
    }

    /// Actions that it was sent with: most of the memory that it takes.
    pub(in crate::switch) fn actions(&self) -> usize {
        actions_of(&self.instructions)
    }

    /// Whether anything that it does satisfies `wanted`.
    pub(in crate::switch) fn has_step(&self, wanted: impl Fn(&ActionStep) -> bool) -> bool {
        self.behaviour.apply.iter().chain(&self.behaviour.write).any(wanted)
    }

    /// The queue through which it sends, if it sends at all.
    pub(in crate::switch) fn queue(&self, group_queue: impl Fn(u32) -> Option<u8>) -> Option<u8> {
        let steps = self.behaviour.apply.iter().chain(&self.behaviour.write);
        let mut queue = 0;
        let mut sends = None;
        for step in steps {
            match *step {
                ActionStep::SetQueue(id) => queue = u8::try_from(id).unwrap_or(u8::MAX - 1),
                ActionStep::Output(_) => sends = sends.or(Some(queue)),
                ActionStep::Group(id) => sends = sends.or_else(|| group_queue(id)),
                ActionStep::Monitor(_) | ActionStep::Encap(_) => {}
                ActionStep::Controller(_) | ActionStep::Edit(_) => {}
            }
        }
        sends
    }
}

/// Actions of all instructions.
pub(in crate::switch) fn actions_of(instructions: &[Instruction]) -> usize {
    let of = |instruction: &Instruction| match instruction {
        Instruction::ApplyActions(list) | Instruction::WriteActions(list) => list.len(),
        _ => 0,
    };
    instructions.iter().map(of).sum()
}
