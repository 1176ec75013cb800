//! What the kernel knows of a link, in the words of OpenFlow (1.3.5, section 7.2.1).

use tenuto_dataplane::switch::PortFeatures;
use tenuto_io::{LinkFeatures, LinkModes, LinkSpeed, Medium};
use tenuto_openflow::constants::port_feature as feature;

const KBPS_PER_MBPS: u32 = 1_000;

/// What a switch tells of a port on such a link.
pub(super) fn told(link: &LinkFeatures) -> PortFeatures {
    let supported = of_modes(&link.supported);
    let fastest = link.supported.speeds.iter().chain(&link.speed).map(|it| it.mbps).max();
    PortFeatures {
        curr: at_present(link),
        advertised: of_modes(&link.advertised),
        supported,
        peer: of_modes(&link.partner),
        curr_speed_kbps: kbps(link.speed.map(|it| it.mbps)),
        max_speed_kbps: kbps(fastest),
    }
}

fn kbps(mbps: Option<u32>) -> u32 {
    mbps.unwrap_or(0).saturating_mul(KBPS_PER_MBPS)
}

fn at_present(link: &LinkFeatures) -> u32 {
    let medium = match link.medium {
        Some(Medium::Copper) => feature::COPPER,
        Some(Medium::Fibre) => feature::FIBER,
        None => 0,
    };
    link.speed.map_or(0, of_speed) | medium | flag(link.is_negotiated, feature::AUTONEG)
}

fn of_modes(modes: &LinkModes) -> u32 {
    let speeds = modes.speeds.iter().fold(0, |all, &speed| all | of_speed(speed));
    speeds
        | flag(modes.copper, feature::COPPER)
        | flag(modes.fibre, feature::FIBER)
        | flag(modes.negotiates, feature::AUTONEG)
        | flag(modes.pause, feature::PAUSE)
        | flag(modes.pause_asymmetric, feature::PAUSE_ASYM)
}

const fn flag(is_set: bool, bit: u32) -> u32 {
    if is_set { bit } else { 0 }
}

const fn of_speed(speed: LinkSpeed) -> u32 {
    match (speed.mbps, speed.is_full_duplex) {
        (10, false) => feature::MB_10_HD,
        (10, true) => feature::MB_10_FD,
        (100, false) => feature::MB_100_HD,
        (100, true) => feature::MB_100_FD,
        (1_000, false) => feature::GB_1_HD,
        (1_000, true) => feature::GB_1_FD,
        (10_000, true) => feature::GB_10_FD,
        (40_000, true) => feature::GB_40_FD,
        (100_000, true) => feature::GB_100_FD,
        (1_000_000, true) => feature::TB_1_FD,
        _ => feature::OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(mbps: u32) -> LinkSpeed {
        LinkSpeed { mbps, is_full_duplex: true }
    }

    #[test]
    fn a_veth_pair_is_told_as_others_tell_it() {
        let link = LinkFeatures {
            speed: Some(full(10_000)),
            medium: Some(Medium::Copper),
            ..LinkFeatures::default()
        };
        let curr = feature::GB_10_FD | feature::COPPER;
        let kbps = 10_000_000;
        let expected = PortFeatures {
            curr,
            curr_speed_kbps: kbps,
            max_speed_kbps: kbps,
            ..Default::default()
        };
        assert_eq!(told(&link), expected);
        assert_eq!(told(&LinkFeatures::default()), PortFeatures::default());
    }

    #[test]
    fn a_card_tells_what_both_ends_can() {
        let speeds = vec![LinkSpeed { mbps: 100, is_full_duplex: false }, full(100), full(2_500)];
        let supported = LinkModes { speeds, copper: true, negotiates: true, ..Default::default() };
        let partner = LinkModes { speeds: vec![full(100)], pause: true, ..LinkModes::default() };
        let it = told(&LinkFeatures {
            speed: Some(full(100)),
            is_negotiated: true,
            supported,
            partner,
            ..LinkFeatures::default()
        });
        let speeds = feature::MB_100_HD | feature::MB_100_FD | feature::OTHER;
        assert_eq!(it.supported, speeds | feature::COPPER | feature::AUTONEG);
        assert_eq!(
            (it.curr, it.peer),
            (feature::MB_100_FD | feature::AUTONEG, feature::MB_100_FD | feature::PAUSE)
        );
        assert_eq!((it.curr_speed_kbps, it.max_speed_kbps), (100_000, 2_500_000));
    }
}
