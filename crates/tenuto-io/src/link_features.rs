//! What the kernel knows of an interface's link: speed, duplex, medium, and what both ends could do.

use crate::sys::{ethtool, socket};
use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;

/// `SPEED_UNKNOWN` of <linux/ethtool.h>.
const SPEED_UNKNOWN: u32 = u32::MAX;
/// `DUPLEX_HALF`; everything else is full, or unknown where the speed is.
const DUPLEX_HALF: u8 = 0;
/// `PORT_TP`, `PORT_FIBRE` and `PORT_DA` (a cable that ends in plugs).
const PORT_TWISTED_PAIR: u8 = 0;
const PORT_FIBRE: u8 = 3;
const PORT_DIRECT_ATTACH: u8 = 5;

/// What a cable is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Twisted pair, or a cable that ends in plugs.
    Copper,
    /// Fibre.
    Fibre,
}

/// A speed that a link may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkSpeed {
    /// Mbit/s.
    pub mbps: u32,
    /// Whether both ends may send at once.
    pub is_full_duplex: bool,
}

/// What one end of a link is able to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkModes {
    /// Speeds, each once.
    pub speeds: Vec<LinkSpeed>,
    /// Of twisted pair.
    pub copper: bool,
    /// Of fibre.
    pub fibre: bool,
    /// It negotiates.
    pub negotiates: bool,
    /// Pause frames, of both ends alike.
    pub pause: bool,
    /// Pause frames of one end.
    pub pause_asymmetric: bool,
}

/// What is known of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkFeatures {
    /// At present; `None` where the kernel knows none, as of a link that is down.
    pub speed: Option<LinkSpeed>,
    /// At present, if it is known.
    pub medium: Option<Medium>,
    /// Whether the speed was negotiated.
    pub is_negotiated: bool,
    /// What the interface is able to do.
    pub supported: LinkModes,
    /// What it tells the other end.
    pub advertised: LinkModes,
    /// What the other end tells.
    pub partner: LinkModes,
}

/// Asks for the link of the interface `name` of the present network namespace; nothing is known where its
/// driver does not say.
///
/// # Errors
///
/// When the process has no descriptors left.
pub fn link_features(name: &str) -> io::Result<LinkFeatures> {
    let name = CString::new(name).map_err(io::Error::other)?;
    let any = socket::control_socket()?;
    Ok(ethtool::link_settings(any.as_fd(), &name).map_or_else(|_| LinkFeatures::default(), told))
}

/// The name of the driver of the interface `name`; `None` where it does not say.
///
/// # Errors
///
/// When the process has no descriptors left.
pub fn driver_of(name: &str) -> io::Result<Option<String>> {
    let name = CString::new(name).map_err(io::Error::other)?;
    let any = socket::control_socket()?;
    Ok(ethtool::driver(any.as_fd(), &name).ok())
}

fn told(raw: ethtool::RawLink) -> LinkFeatures {
    let [supported, advertised, partner] = raw.modes.map(modes);
    let is_known = raw.speed_mbps != 0 && raw.speed_mbps != SPEED_UNKNOWN;
    let is_full_duplex = raw.duplex != DUPLEX_HALF;
    let speed = is_known.then_some(LinkSpeed { mbps: raw.speed_mbps, is_full_duplex });
    let medium = match raw.port {
        PORT_TWISTED_PAIR | PORT_DIRECT_ATTACH => Some(Medium::Copper),
        PORT_FIBRE => Some(Medium::Fibre),
        _ => None,
    };
    // Of a device that knows no speed the rest is what the kernel begins with.
    let medium = medium.filter(|_| is_known);
    let is_negotiated = raw.is_negotiated && is_known;
    LinkFeatures { speed, medium, is_negotiated, supported, advertised, partner }
}

/// Bits of `enum ethtool_link_mode_bit_indices` that are no speed.
const AUTONEG: u32 = 6;
const TWISTED_PAIR: u32 = 7;
const FIBRE: u32 = 10;
const PAUSE: u32 = 13;
const PAUSE_ASYMMETRIC: u32 = 14;

fn modes(bits: u128) -> LinkModes {
    let has = |bit: u32| bits & 1 << bit != 0;
    let mut speeds: Vec<LinkSpeed> =
        (0..u128::BITS).filter(|&bit| has(bit)).filter_map(speed_of).collect();
    speeds.sort_unstable();
    speeds.dedup();
    LinkModes {
        speeds,
        copper: has(TWISTED_PAIR),
        fibre: has(FIBRE),
        negotiates: has(AUTONEG),
        pause: has(PAUSE),
        pause_asymmetric: has(PAUSE_ASYMMETRIC),
    }
}

/// The speed that a bit of `enum ethtool_link_mode_bit_indices` stands for.
const fn speed_of(bit: u32) -> Option<LinkSpeed> {
    let mbps = match bit {
        0 | 1 | 92 | 99..=102 => 10,
        2 | 3 | 67 | 90 | 91 => 100,
        4 | 5 | 17 | 41 | 68 => 1_000,
        15 | 47 => 2_500,
        48 => 5_000,
        12 | 18..=20 | 42..=46 => 10_000,
        21 | 22 => 20_000,
        31..=33 => 25_000,
        23..=26 => 40_000,
        34 | 35 | 40 | 52..=56 => 50_000,
        27..=30 => 56_000,
        36..=39 | 57..=61 | 75..=79 => 100_000,
        62..=66 | 80..=84 => 200_000,
        69..=73 | 85..=89 => 400_000,
        93..=98 => 800_000,
        _ => return None,
    };
    let is_half_duplex = matches!(bit, 0 | 2 | 4 | 90 | 100 | 101);
    Some(LinkSpeed { mbps, is_full_duplex: !is_half_duplex })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(mbps: u32) -> LinkSpeed {
        LinkSpeed { mbps, is_full_duplex: true }
    }

    #[test]
    fn modes_are_read_bit_by_bit() {
        // 10 and 100 Mbit/s in both ways, 1 Gbit/s, negotiation, twisted pair, pause.
        let it = modes(0b10_0000_1110_1111);
        let half = |mbps| LinkSpeed { mbps, is_full_duplex: false };
        assert_eq!(it.speeds, [half(10), full(10), half(100), full(100), full(1_000)]);
        assert!(it.copper && it.negotiates && it.pause && !it.fibre && !it.pause_asymmetric);
        // 10 Gbit/s over fibre in three ways are one speed.
        let it = modes(1 << 10 | 1 << 43 | 1 << 44 | 1 << 45);
        assert!(it.fibre && it.speeds == [full(10_000)]);
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        let raw = |speed_mbps, duplex, port| ethtool::RawLink {
            speed_mbps,
            duplex,
            port,
            is_negotiated: true,
            modes: [0; 3],
        };
        assert_eq!(told(raw(SPEED_UNKNOWN, 0xff, 0)), LinkFeatures::default());
        let it = told(raw(10, 0, 3));
        assert_eq!(it.speed, Some(LinkSpeed { mbps: 10, is_full_duplex: false }));
        assert_eq!((it.medium, it.is_negotiated), (Some(Medium::Fibre), true));
        assert_eq!(told(raw(10, 1, 0xef)).medium, None);
        assert_eq!(link_features("no-such-port").expect("a socket"), LinkFeatures::default());
    }
}
