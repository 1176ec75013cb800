//! What only a proxy has to refuse: it never sees the frames that leave, so that each list of actions has to leave a
//! frame in its slice, whatever the frame is.

use super::super::traffic::SliceTraffic;
use tenuto_openflow::constants::port;
use tenuto_openflow::{Action, BadAction, Body, ErrorCode, Instruction, Oxm};

/// The bits of a tag that name its VLAN.
const VLAN_BITS: u16 = 0xfff;

/// An error if a message could have a frame leave its slice in a way that its entries show.
///
/// Where ports are shared with others, so are their queues, which are the operator's.
pub(super) fn check(
    traffic: &SliceTraffic,
    shares_ports: bool,
    body: &Body,
) -> Result<(), ErrorCode> {
    match body {
        Body::FlowMod(flow_mod) => flow_mod.instructions.iter().try_for_each(|it| match it {
            Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => {
                check_actions(traffic, shares_ports, actions)
            }
            Instruction::Experimenter { .. } | Instruction::Unknown { .. } => {
                Err(BadAction::Eperm.into())
            }
            _ => Ok(()),
        }),
        Body::GroupMod(group_mod) => group_mod
            .buckets
            .iter()
            .try_for_each(|bucket| check_actions(traffic, shares_ports, &bucket.actions)),
        _ => Ok(()),
    }
}

fn check_actions(
    traffic: &SliceTraffic,
    shares_ports: bool,
    actions: &[Action],
) -> Result<(), ErrorCode> {
    let has_all_vlans = traffic.vlans().is_none();
    let is_by_address = traffic.is_by_address();
    for (at, action) in actions.iter().enumerate() {
        let stays = match action {
            // The switch's own idea of where a frame goes knows no slices.
            Action::Output { port: port::NORMAL | port::LOCAL | port::TABLE, .. } => false,
            // What is behind the tag may be another, of a VLAN of others.
            Action::PopVlan => has_all_vlans,
            Action::SetField(Oxm::VlanVid { value, .. }) if value & VLAN_BITS == 0 => has_all_vlans,
            Action::PushVlan(_) => {
                has_all_vlans
                    || matches!(actions.get(at + 1), Some(Action::SetField(Oxm::VlanVid { .. })))
            }
            // What is behind it is of another kind, and has no address of the slice.
            Action::PushMpls(_) | Action::PopMpls(_) | Action::PushPbb(_) | Action::PopPbb => {
                has_all_vlans && !is_by_address
            }
            Action::SetField(oxm) => {
                !(is_by_address && matches!(oxm, Oxm::EthType(_))) && is_known(oxm)
            }
            Action::SetQueue(_) => !shares_ports,
            Action::Output { .. }
            | Action::Group(_)
            | Action::CopyTtlOut
            | Action::CopyTtlIn
            | Action::SetMplsTtl(_)
            | Action::DecMplsTtl
            | Action::SetNwTtl(_)
            | Action::DecNwTtl => true,
            _ => false,
        };
        if !stays {
            return Err(BadAction::Eperm.into());
        }
    }
    Ok(())
}

/// Fields of other classes are whatever a switch makes of them, such as moves between registers.
fn is_known(oxm: &Oxm) -> bool {
    oxm.number().is_some()
}
