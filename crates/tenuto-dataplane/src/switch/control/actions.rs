//! Which actions this switch takes on, and whether they fit the match that they stand with.

use crate::switch::Switch;
use crate::switch::actions::packet::{Edit, EditSet, FieldValue};
use crate::switch::policy::ACTIONS_MAX;
use crate::switch::tables::entry::ActionStep;
use tenuto_openflow::constants::{ethertype, port, vlan};
use tenuto_openflow::{Action, BadAction, EXPERIMENTER_ID, ErrorCode, Instruction, Match, Oxm};

impl Switch {
    /// Whether what an entry with this match sets is there to be set. Its action set is carried out
    /// behind all that it applies, so that what it writes may rest on that; and in an order of its own
    /// (OpenFlow 1.3.5, section 5.10), so that a tag may be written behind what is set in it.
    pub(super) fn check_sets(
        &self,
        matching: &Match,
        instructions: &[Instruction],
    ) -> Result<(), ErrorCode> {
        if !self.policy.is_general() {
            return Ok(());
        }
        let applied = instructions.iter().filter_map(|instruction| match instruction {
            Instruction::ApplyActions(actions) => Some(actions),
            _ => None,
        });
        let written = instructions.iter().filter_map(|instruction| match instruction {
            Instruction::WriteActions(actions) => Some(actions),
            _ => None,
        });
        let applied = || applied.clone().flatten();
        let mut written: Vec<&Action> = written.flatten().collect();
        check_consistency(matching, applied().chain(written.iter().copied())).or_else(|_| {
            written.sort_by_key(|action| turn(action));
            check_consistency(matching, applied().chain(written))
        })
    }

    pub(super) fn steps(&self, actions: &[Action]) -> Result<Vec<ActionStep>, ErrorCode> {
        if actions.len() > ACTIONS_MAX {
            return Err(BadAction::TooMany.into());
        }
        actions.iter().map(|action| self.action_step(action)).collect()
    }

    /// Actions of a bucket. They are a set (OpenFlow 1.3.5, section 5.6.1): at most one of each
    /// kind, in the order of section 5.10.
    pub(super) fn bucket_steps(&self, actions: &[Action]) -> Result<Vec<ActionStep>, ErrorCode> {
        let steps = self.steps(actions)?;
        if !self.policy.is_general() {
            return Ok(steps);
        }
        let mut edits = EditSet::default();
        let (mut queue, mut group, mut output) = (None, None, None);
        for step in steps {
            match step {
                ActionStep::Edit(edit) => edits.write(edit),
                ActionStep::SetQueue(_) => queue = Some(step),
                ActionStep::Group(_) => group = Some(step),
                ActionStep::Output(_) | ActionStep::Controller(_) => output = Some(step),
                ActionStep::Encap(_) => return Err(BadAction::BadArgument.into()),
                ActionStep::Monitor(_) => {}
            }
        }
        let edits = std::iter::from_fn(|| edits.take_next()).map(ActionStep::Edit);
        Ok(edits.chain(queue).chain(group.or(output)).collect())
    }

    fn action_step(&self, action: &Action) -> Result<ActionStep, ErrorCode> {
        // Which port it is for only the output says; a queue that no port has is certainly wrong.
        let queues =
            self.config.ports.iter().map(|p| u32::from(p.egress.queues)).max().unwrap_or(0);
        match action {
            Action::Output { port, .. } if self.port_index.contains_key(port) => {
                Ok(ActionStep::Output(*port))
            }
            Action::SetQueue(queue) if *queue < queues => Ok(ActionStep::SetQueue(*queue)),
            Action::SetQueue(_) => Err(BadAction::BadQueue.into()),
            Action::Group(id) if self.groups.contains_key(id) => Ok(ActionStep::Group(*id)),
            Action::Group(_) => Err(BadAction::BadOutGroup.into()),
            Action::Monitor(id) if self.tables.has_monitor(*id) => Ok(ActionStep::Monitor(*id)),
            Action::Monitor(_) => Err(BadAction::BadArgument.into()),
            // Buffers stand over tables: only a flow-mod can say over which.
            Action::Buffer { .. } if self.attendre().is_some() => {
                Err(BadAction::BadArgument.into())
            }
            Action::Buffer { .. } => Err(BadAction::BadExpType.into()),
            Action::Encap(encap) => self.check_encap(encap),
            Action::Experimenter { experimenter: EXPERIMENTER_ID, .. } => {
                Err(BadAction::BadExpType.into())
            }
            Action::Experimenter { .. } => Err(BadAction::BadExperimenter.into()),
            _ if self.policy.is_general() => general_step(action),
            Action::Output { .. } => Err(BadAction::BadOutPort.into()),
            _ => Err(BadAction::BadType.into()),
        }
    }
}

/// What only a general switch does.
fn general_step(action: &Action) -> Result<ActionStep, ErrorCode> {
    let tag =
        |ether_type: &u16, known: &[u16], edit: fn(u16) -> Edit| match known.contains(ether_type) {
            true => Ok(ActionStep::Edit(edit(*ether_type))),
            false => Err(ErrorCode::from(BadAction::BadArgument)),
        };
    let mpls = [ethertype::MPLS, ethertype::MPLS_MULTICAST];
    let vlan = [ethertype::VLAN, ethertype::SERVICE_VLAN];
    let edit = match action {
        Action::Output { port: port::CONTROLLER, max_len } => {
            return Ok(ActionStep::Controller(*max_len));
        }
        Action::Output { port: number, .. } => {
            return match *number {
                port::IN_PORT | port::NORMAL | port::FLOOD | port::ALL => {
                    Ok(ActionStep::Output(*number))
                }
                _ => Err(BadAction::BadOutPort.into()),
            };
        }
        Action::PushVlan(ether_type) => return tag(ether_type, &vlan, Edit::PushVlan),
        Action::PushMpls(ether_type) => return tag(ether_type, &mpls, Edit::PushMpls),
        Action::PushPbb(ether_type) => return tag(ether_type, &[ethertype::PBB], Edit::PushPbb),
        Action::SetField(oxm) => Edit::SetField(settable(oxm)?),
        Action::CopyTtlOut => Edit::CopyTtlOut,
        Action::CopyTtlIn => Edit::CopyTtlIn,
        Action::SetMplsTtl(ttl) => Edit::SetMplsTtl(*ttl),
        Action::DecMplsTtl => Edit::DecMplsTtl,
        Action::PopVlan => Edit::PopVlan,
        Action::PopMpls(ether_type) => Edit::PopMpls(*ether_type),
        Action::PopPbb => Edit::PopPbb,
        Action::SetNwTtl(ttl) => Edit::SetNwTtl(*ttl),
        Action::DecNwTtl => Edit::DecNwTtl,
        _ => return Err(BadAction::BadType.into()),
    };
    Ok(ActionStep::Edit(edit))
}

/// A field that can be set, and its value (OpenFlow 1.3.5, section 7.2.5).
fn settable(oxm: &Oxm) -> Result<FieldValue, ErrorCode> {
    let is_read_only = matches!(
        oxm,
        Oxm::InPort(_) | Oxm::InPhyPort(_) | Oxm::Metadata { .. } | Oxm::Ipv6Exthdr { .. }
    );
    if is_read_only || oxm.refusal().is_some() {
        return Err(BadAction::BadSetType.into());
    }
    // Only a tag that is there has an id (`OFPVID_PRESENT`).
    let is_of_none = matches!(oxm, Oxm::VlanVid { value, .. } if value & vlan::PRESENT == 0);
    let value = FieldValue::of(oxm).filter(|_| oxm.is_in_range() && !is_of_none);
    value.ok_or(BadAction::BadSetArgument.into())
}

/// When an action set has its turn for this one, as far as headers come and go by it (OpenFlow 1.3.5,
/// section 5.10).
const fn turn(action: &Action) -> u8 {
    match action {
        Action::PopVlan | Action::PopMpls(_) | Action::PopPbb => 0,
        Action::PushMpls(_) => 1,
        Action::PushPbb(_) => 2,
        Action::PushVlan(_) => 3,
        _ => 4,
    }
}

/// What is known of the headers of a frame at some action.
#[derive(Clone, Copy)]
struct Known {
    eth_type: Option<u16>,
    /// Whether the headers behind are those of the match, so that more than the EtherType is known.
    is_original: bool,
    has_vlan: bool,
}

/// Every set-field needs its prerequisite in the match, or from an action before it
/// (`OFPBAC_MATCH_INCONSISTENT`). After a pop that says nothing of what is behind, all is possible.
fn check_consistency<'a>(
    matching: &Match,
    actions: impl Iterator<Item = &'a Action>,
) -> Result<(), ErrorCode> {
    let eth_type = matching.oxms.iter().find_map(|oxm| match oxm {
        Oxm::EthType(value) => Some(*value),
        _ => None,
    });
    let has_vlan = matching.meets_prerequisite(&Oxm::VlanPcp(0));
    let mut known = Some(Known { eth_type, is_original: true, has_vlan });
    for action in actions {
        let before = known;
        let tagged = |eth_type: u16| {
            Some(Known { eth_type: Some(eth_type), is_original: false, has_vlan: false })
        };
        match action {
            Action::PushVlan(_) => {
                known = before.map(|known| Known { has_vlan: true, ..known });
            }
            Action::PopVlan | Action::PopPbb => known = None,
            Action::PushMpls(eth_type) | Action::PushPbb(eth_type) => known = tagged(*eth_type),
            Action::PopMpls(_) => known = None,
            Action::SetField(oxm) => {
                let fits = before.is_none_or(|known| fits(matching, known, oxm));
                if !fits {
                    return Err(BadAction::MatchInconsistent.into());
                }
                if let Oxm::EthType(value) = oxm {
                    known = tagged(*value);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn fits(matching: &Match, known: Known, oxm: &Oxm) -> bool {
    match oxm {
        Oxm::VlanPcp(_) | Oxm::VlanVid { .. } => known.has_vlan,
        _ if known.is_original => matching.meets_prerequisite(oxm),
        _ => {
            let behind: Vec<Oxm> = known.eth_type.map(Oxm::EthType).into_iter().collect();
            Match::from(behind).meets_prerequisite(oxm)
        }
    }
}
