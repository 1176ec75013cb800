//! How files name kinds of match and actions.

use tenuto_model::{Action, MatchType};

/// The name of a kind of match.
pub const fn kind_name(kind: MatchType) -> &'static str {
    match kind {
        MatchType::Port => "port",
        MatchType::TpDst => "tp-dst",
        MatchType::DlDst => "dl-dst",
        MatchType::MaskedNwDst => "masked-nw-dst",
        MatchType::FiveTuple => "five-tuple",
        MatchType::All => "all",
    }
}

/// The name of an action.
pub const fn action_name(action: Action) -> &'static str {
    match action {
        Action::Output => "output",
        Action::SetVlanId => "set-vlan-id",
        Action::SetVlanPcp => "set-vlan-pcp",
        Action::StripVlan => "strip-vlan",
        Action::SetDlSrc => "set-dl-src",
        Action::SetNwSrc => "set-nw-src",
        Action::SetNwTos => "set-nw-tos",
        Action::SetTpSrc => "set-tp-src",
    }
}
