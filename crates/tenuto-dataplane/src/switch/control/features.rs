//! What the groups and meters of a general switch can do, as it tells its controllers (OpenFlow 1.3.5,
//! sections 7.3.5.10 and 7.3.5.13).

use crate::switch::Switch;
use tenuto_openflow::constants::{group_capability, meter_band_type, meter_flag};
use tenuto_openflow::{Action, GroupFeatures, MeterFeatures};

/// One action of each type that it takes on.
pub(super) fn actions() -> Vec<Action> {
    vec![
        Action::Output { port: 0, max_len: 0 },
        Action::CopyTtlOut,
        Action::CopyTtlIn,
        Action::SetMplsTtl(0),
        Action::DecMplsTtl,
        Action::PushVlan(0),
        Action::PopVlan,
        Action::PushMpls(0),
        Action::PopMpls(0),
        Action::SetQueue(0),
        Action::Group(0),
        Action::SetNwTtl(0),
        Action::DecNwTtl,
        Action::SetField(tenuto_openflow::Oxm::InPort(0)),
        Action::PushPbb(0),
        Action::PopPbb,
    ]
}

impl Switch {
    pub(super) fn group_features(&self) -> GroupFeatures {
        let groups = u32::try_from(self.config.groups_max).unwrap_or(u32::MAX);
        let actions = actions().iter().fold(0, |bits, action| bits | 1 << action.type_());
        GroupFeatures {
            types: 0b1111,
            capabilities: group_capability::SELECT_WEIGHT
                | group_capability::SELECT_LIVENESS
                | group_capability::CHAINING
                | group_capability::CHAINING_CHECKS,
            max_groups: [groups; 4],
            actions: [actions; 4],
        }
    }

    pub(super) fn meter_features(&self) -> MeterFeatures {
        MeterFeatures {
            max_meter: u32::try_from(self.config.meters_max).unwrap_or(u32::MAX),
            band_types: 1 << meter_band_type::DROP | 1 << meter_band_type::DSCP_REMARK,
            capabilities: (meter_flag::KBPS
                | meter_flag::PKTPS
                | meter_flag::BURST
                | meter_flag::STATS)
                .into(),
            max_bands: self.policy.bands_max,
            max_color: 0,
        }
    }
}
