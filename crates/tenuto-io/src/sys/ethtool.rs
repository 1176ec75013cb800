//! Offloads and link settings of a network device, through the ethtool ioctl.

use super::check;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct ethtool_value` of <linux/ethtool.h>.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Sets or gets one value of the device `name`, which must be shorter than IFNAMSIZ.
pub(crate) fn value(
    socket: BorrowedFd<'_>,
    name: &CStr,
    command: u32,
    data: u32,
) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data };
    let mut request = super::interface::request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: `request` is a live ifreq with a terminated name, whose data points to a live
    // ethtool_value, which is what the commands used here read and write. Needed: std has no ioctl.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
    Ok(value.data)
}

/// `ETHTOOL_GFEATURES` and `ETHTOOL_SFEATURES`.
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
/// Words of 32 features each, at most.
pub(crate) const FEATURE_WORDS_MAX: usize = 8;

/// Features of a device that can be switched, and those that are wanted, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    /// Words that the kernel knows.
    pub(crate) words: usize,
    pub(crate) switchable: [u32; FEATURE_WORDS_MAX],
    pub(crate) wanted: [u32; FEATURE_WORDS_MAX],
}

/// `struct ethtool_gfeatures`: available, requested, active and never changed of each word.
#[repr(C)]
struct GetFeatures {
    command: u32,
    size: u32,
    words: [[u32; 4]; FEATURE_WORDS_MAX],
}

/// `struct ethtool_sfeatures`: valid and requested of each word.
#[repr(C)]
struct SetFeatures {
    command: u32,
    size: u32,
    words: [[u32; 2]; FEATURE_WORDS_MAX],
}

/// The features of the device `name`, which must be shorter than IFNAMSIZ.
pub(crate) fn features(socket: BorrowedFd<'_>, name: &CStr) -> io::Result<Features> {
    let size = u32::try_from(FEATURE_WORDS_MAX).expect("8");
    let words = [[0; 4]; FEATURE_WORDS_MAX];
    let mut get = GetFeatures { command: GET_FEATURES, size, words };
    let mut request = super::interface::request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut get).cast();
    // SAFETY: `request` is a live ifreq with a terminated name, whose data points to a live
    // ethtool_gfeatures with room for `size` words; the kernel writes no more. Needed: std has no ioctl.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
    let words = usize::try_from(get.size).unwrap_or(usize::MAX).min(FEATURE_WORDS_MAX);
    Ok(Features {
        words,
        switchable: get.words.map(|[available, ..]| available),
        wanted: get.words.map(|[_, requested, ..]| requested),
    })
}

/// Wants of the features in `which` those that are in `wanted`.
pub(crate) fn set_features(
    socket: BorrowedFd<'_>,
    name: &CStr,
    words: usize,
    which: &[u32; FEATURE_WORDS_MAX],
    wanted: &[u32; FEATURE_WORDS_MAX],
) -> io::Result<()> {
    // The kernel takes exactly as many as it knows.
    let size = u32::try_from(words.min(FEATURE_WORDS_MAX)).expect("8 at most");
    let words = std::array::from_fn(|word| [which[word], wanted[word] & which[word]]);
    let mut set = SetFeatures { command: SET_FEATURES, size, words };
    let mut request = super::interface::request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut set).cast();
    // SAFETY: `request` is a live ifreq with a terminated name, whose data points to a live
    // ethtool_sfeatures with `size` words, which the kernel reads. Needed: std has no ioctl.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
    Ok(())
}

/// `ETHTOOL_GLINKSETTINGS`.
const GET_LINK_SETTINGS: u32 = 0x4c;
/// Words of one of its three masks, at most: what a signed byte counts.
const MASK_WORDS_MAX: usize = 127;

/// `struct ethtool_link_settings` of <linux/ethtool.h>, with room for all masks.
#[repr(C)]
struct LinkSettings {
    command: u32,
    speed: u32,
    duplex: u8,
    port: u8,
    phy_address: u8,
    autoneg: u8,
    mdio_support: u8,
    eth_tp_mdix: u8,
    eth_tp_mdix_ctrl: u8,
    mask_words: i8,
    transceiver: u8,
    master_slave_cfg: u8,
    master_slave_state: u8,
    rate_matching: u8,
    reserved: [u32; 7],
    masks: [u32; 3 * MASK_WORDS_MAX],
}

/// What the kernel knows of a link, as it says it.
pub(crate) struct RawLink {
    /// Mbit/s; `SPEED_UNKNOWN` is `u32::MAX`.
    pub(crate) speed_mbps: u32,
    /// `DUPLEX_...`
    pub(crate) duplex: u8,
    /// `PORT_...`
    pub(crate) port: u8,
    pub(crate) is_negotiated: bool,
    /// The first 128 `ETHTOOL_LINK_MODE_...`: supported, advertised, and those of the other end.
    pub(crate) modes: [u128; 3],
}

/// The link settings of the device `name`, which must be shorter than IFNAMSIZ.
pub(crate) fn link_settings(socket: BorrowedFd<'_>, name: &CStr) -> io::Result<RawLink> {
    let mut settings = LinkSettings {
        command: GET_LINK_SETTINGS,
        speed: 0,
        duplex: 0,
        port: 0,
        phy_address: 0,
        autoneg: 0,
        mdio_support: 0,
        eth_tp_mdix: 0,
        eth_tp_mdix_ctrl: 0,
        mask_words: 0,
        transceiver: 0,
        master_slave_cfg: 0,
        master_slave_state: 0,
        rate_matching: 0,
        reserved: [0; 7],
        masks: [0; 3 * MASK_WORDS_MAX],
    };
    // The first call tells, below zero, how many words its masks have; the second one fills them in.
    for _ in 0..2 {
        let mut request = super::interface::request(name)?;
        request.ifr_ifru.ifru_data = (&raw mut settings).cast();
        // SAFETY: `request` is a live ifreq with a terminated name, whose data points to a live
        // ethtool_link_settings with room for three masks of as many words as a signed byte counts; the
        // kernel writes no more. Needed: std has no ioctl.
        check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
        if settings.mask_words >= 0 {
            break;
        }
        (settings.command, settings.mask_words) =
            (GET_LINK_SETTINGS, settings.mask_words.saturating_neg());
    }
    let words = usize::try_from(settings.mask_words).unwrap_or(0);
    let mask = |nth: usize| {
        let own = settings.masks.iter().skip(nth * words).take(words.min(4));
        own.rev().fold(0_u128, |modes, &word| modes << 32 | u128::from(word))
    };
    Ok(RawLink {
        speed_mbps: settings.speed,
        duplex: settings.duplex,
        port: settings.port,
        is_negotiated: settings.autoneg != 0,
        modes: [mask(0), mask(1), mask(2)],
    })
}

/// `ETHTOOL_GET_TS_INFO`.
const GET_STAMPING: u32 = 0x41;
/// `ETHTOOL_GDRVINFO`.
const GET_DRIVER: u32 = 0x03;

/// `struct ethtool_ts_info` of <linux/ethtool.h>.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamping {
    command: u32,
    /// `SOF_TIMESTAMPING_...`
    what: u32,
    /// Number of its clock; negative if it has none.
    pub(crate) clock: i32,
    transmit_types: u32,
    transmit_reserved: [u32; 3],
    receive_filters: u32,
    receive_reserved: [u32; 3],
}

impl Stamping {
    /// Whether its driver has the kernel stamp what leaves.
    pub(crate) const fn has_kernel_stamp_departures(&self) -> bool {
        self.what & libc::SOF_TIMESTAMPING_TX_SOFTWARE != 0
    }

    /// Whether the device stamps every frame of both ways.
    pub(crate) const fn can_stamp_all(&self) -> bool {
        const ON: u32 = 1 << 1;
        const ALL: u32 = 1 << 1;
        let both = libc::SOF_TIMESTAMPING_TX_HARDWARE
            | libc::SOF_TIMESTAMPING_RX_HARDWARE
            | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
        self.what & both == both && self.transmit_types & ON != 0 && self.receive_filters & ALL != 0
    }
}

/// What the device `name`, which must be shorter than IFNAMSIZ, is able to stamp.
pub(crate) fn stamping(socket: BorrowedFd<'_>, name: &CStr) -> io::Result<Stamping> {
    let mut told = Stamping { command: GET_STAMPING, ..Stamping::default() };
    let mut request = super::interface::request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut told).cast();
    // SAFETY: `request` is a live ifreq with a terminated name, whose data points to a live ethtool_ts_info, which is what
    // this command writes. Needed: std has no ioctl.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
    Ok(told)
}

/// `struct ethtool_drvinfo` of <linux/ethtool.h>.
#[repr(C)]
struct Driver {
    command: u32,
    name: [u8; 32],
    rest: [u8; 32 * 4 + 12 + 4 * 5],
}

/// The name of the driver of the device `name`, which must be shorter than IFNAMSIZ.
pub(crate) fn driver(socket: BorrowedFd<'_>, name: &CStr) -> io::Result<String> {
    let mut told = Driver { command: GET_DRIVER, name: [0; 32], rest: [0; 160] };
    let mut request = super::interface::request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut told).cast();
    // SAFETY: `request` is a live ifreq with a terminated name, whose data points to a live ethtool_drvinfo (196 B), which
    // is what this command writes. Needed: std has no ioctl.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
    let end = told.name.iter().position(|&byte| byte == 0).unwrap_or(told.name.len());
    Ok(String::from_utf8_lossy(&told.name[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_large_as_the_kernels() {
        assert_eq!((size_of::<Stamping>(), size_of::<Driver>()), (44, 196));
    }

    #[test]
    fn only_a_device_that_stamps_all_of_both_ways_counts() {
        let all =
            Stamping { what: 0x7f, transmit_types: 2, receive_filters: 2, ..Stamping::default() };
        assert!(all.can_stamp_all());
        // PTP frames alone, no stamps of what leaves, stamps of the kernel alone.
        assert!(!Stamping { receive_filters: 1 << 12, ..all }.can_stamp_all());
        assert!(!Stamping { transmit_types: 1, ..all }.can_stamp_all());
        assert!(!Stamping { what: 0x18 | 2, ..all }.can_stamp_all());
    }
}
