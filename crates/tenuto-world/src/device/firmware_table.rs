//! The table as firmware keeps it: entries in the order of their insertion, compared one by one.
//!
//! It decides what a look-up *costs*; what becomes of the frame is decided by the switch core.

use tenuto_dataplane::switch::{PacketKey, Pattern};
use tenuto_model::{Action as Change, LookUp, MatchType, Processor};
use tenuto_openflow::{Action, FlowMod, FlowModCommand, Instruction, Match, Oxm};
use tenuto_wire::FlowKey;

#[derive(Clone, Debug)]
struct Entry {
    pattern: Pattern,
    priority: u16,
    kind: MatchType,
    change: Change,
    outputs: u32,
}

/// Entries in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct FirmwareTable {
    entries: Vec<Entry>,
}

/// What one frame met in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Comparisons, picoseconds.
    pub compared_ps: u64,
    /// Place of the entry that decides; `None`: a miss.
    pub place: Option<usize>,
    /// What it changes.
    pub change: Change,
    /// To how many ports it sends.
    pub outputs: u32,
}

impl FirmwareTable {
    /// Entries.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Carries out what the switch core has carried out; entries beyond `limit` were refused.
    pub fn apply(&mut self, it: &FlowMod, limit: usize) {
        let Ok(pattern) = Pattern::from_match(&it.match_) else { return };
        match it.command {
            FlowModCommand::Delete | FlowModCommand::DeleteStrict => {
                self.entries.retain(|entry| !is_found(entry, it, &pattern));
            }
            FlowModCommand::Modify | FlowModCommand::ModifyStrict => {
                for entry in self.entries.iter_mut().filter(|entry| is_found(entry, it, &pattern)) {
                    (entry.change, entry.outputs) = does(&it.instructions);
                }
            }
            _ => {
                let (change, outputs) = does(&it.instructions);
                let kind = kind_of(&it.match_);
                let entry = Entry { pattern, priority: it.priority, kind, change, outputs };
                let same =
                    |old: &Entry| old.priority == entry.priority && old.pattern == entry.pattern;
                match self.entries.iter().position(same) {
                    Some(place) => self.entries[place] = entry,
                    None if self.entries.len() < limit => self.entries.push(entry),
                    None => {}
                }
            }
        }
    }

    /// Entries that a command to modify or delete finds.
    pub fn found_by(&self, it: &FlowMod) -> usize {
        let Ok(pattern) = Pattern::from_match(&it.match_) else { return 0 };
        self.entries.iter().filter(|entry| is_found(entry, it, &pattern)).count()
    }

    /// What a frame meets (\[Loko\] section 3.3): an entry is compared in full unless one before it matched with a
    /// priority that it cannot exceed.
    pub fn walk(&self, frame: &[u8], in_port: u32, costs: &Processor) -> Walk {
        let key = FlowKey::extract(frame).map(|flow| PacketKey::of(&flow, in_port));
        let mut walk = Walk { compared_ps: 0, place: None, change: Change::Output, outputs: 0 };
        let mut best: Option<u16> = None;
        let mut compared = 0_u32;
        for (place, entry) in self.entries.iter().enumerate() {
            if best.is_some_and(|best| entry.priority <= best) {
                continue;
            }
            compared += 1;
            let is_counted = match costs.look_up {
                LookUp::Linear => true,
                LookUp::ByMask(masks) => compared <= masks,
            };
            if is_counted {
                let entry_ps = costs.per_entry_ps.of(entry.kind);
                walk.compared_ps = walk.compared_ps.saturating_add(entry_ps);
            }
            if key.as_ref().is_some_and(|key| entry.pattern.matches(key)) {
                best = Some(entry.priority);
                (walk.place, walk.change, walk.outputs) =
                    (Some(place), entry.change, entry.outputs);
            }
        }
        walk
    }
}

fn is_found(entry: &Entry, it: &FlowMod, pattern: &Pattern) -> bool {
    match it.command {
        FlowModCommand::ModifyStrict | FlowModCommand::DeleteStrict => {
            entry.priority == it.priority && entry.pattern == *pattern
        }
        _ => entry.pattern.is_within(pattern),
    }
}

/// What an entry is compared by, in the words of \[Loko\] Table 1: the dearest kind that covers its fields.
fn kind_of(it: &Match) -> MatchType {
    let has = |test: fn(&Oxm) -> bool| it.oxms.iter().any(test);
    let is_addressed = has(|o| matches!(o, Oxm::Ipv4Src { .. }));
    let has_mac = has(|o| matches!(o, Oxm::EthSrc { .. }));
    let has_port = has(|o| matches!(o, Oxm::InPort(_)));
    if is_addressed && (has_mac || has_port) {
        MatchType::All
    } else if is_addressed {
        MatchType::FiveTuple
    } else if has(|o| matches!(o, Oxm::Ipv4Dst { .. })) {
        MatchType::MaskedNwDst
    } else if has(|o| matches!(o, Oxm::UdpDst { .. } | Oxm::TcpDst { .. })) {
        MatchType::TpDst
    } else if has(|o| matches!(o, Oxm::EthDst { .. })) {
        MatchType::DlDst
    } else {
        MatchType::Port
    }
}

fn does(instructions: &[Instruction]) -> (Change, u32) {
    let lists = instructions.iter().filter_map(|it| match it {
        Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => Some(actions),
        _ => None,
    });
    let actions: Vec<&Action> = lists.flatten().collect();
    let outputs = actions.iter().filter(|it| matches!(it, Action::Output { .. })).count();
    let change = actions.iter().rev().find_map(|it| change_of(it)).unwrap_or(Change::Output);
    (change, u32::try_from(outputs).unwrap_or(u32::MAX))
}

const fn change_of(action: &Action) -> Option<Change> {
    Some(match action {
        Action::PopVlan => Change::StripVlan,
        Action::SetField(Oxm::VlanVid { .. }) => Change::SetVlanId,
        Action::SetField(Oxm::VlanPcp(_)) => Change::SetVlanPcp,
        Action::SetField(Oxm::EthSrc { .. }) => Change::SetDlSrc,
        Action::SetField(Oxm::Ipv4Src { .. }) => Change::SetNwSrc,
        Action::SetField(Oxm::IpDscp(_)) => Change::SetNwTos,
        Action::SetField(Oxm::UdpSrc { .. } | Oxm::TcpSrc { .. }) => Change::SetTpSrc,
        _ => return None,
    })
}
