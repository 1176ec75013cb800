//! Device models: a profile, and what only a device that exists needs besides.

use super::{MessageCosts, OwnWork, SoftwareTable};
use tenuto_dataplane::switch::FailMode;
use tenuto_model::Profile;

const PS_PER_US: u64 = 1_000_000;

/// What a virtual device is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceModel {
    /// What a plan believes of it.
    pub profile: Profile,
    /// What control messages cost.
    pub messages: MessageCosts,
    /// What the firmware does by itself; `None`: its timers are off.
    pub own_work: Option<OwnWork>,
    /// The rest of the main loop after a frame has left, picoseconds: no frame waits for it but the next one.
    pub loop_ps: u64,
    /// Where entries go that the hardware has no room for.
    pub software: Option<SoftwareTable>,
    /// Mean and standard deviation of the latency, nanoseconds, cut off at the profile's least and largest; `None`:
    /// every value between these is as likely.
    pub latency_normal_ns: Option<(u64, u64)>,
    /// What it does without a controller.
    pub fail_mode: FailMode,
    /// Its ports.
    pub ports: u32,
    /// Their rate, bit/s.
    pub rate_bps: u64,
}

impl DeviceModel {
    /// The names that [`DeviceModel::built_in`] knows: every built-in profile, the Zodiac FX with its timers on, and with
    /// the rest of its loop behind every frame.
    pub fn names() -> Vec<&'static str> {
        Profile::BUILT_IN.into_iter().chain(["zodiac-fx-timers", "zodiac-fx-loop"]).collect()
    }

    /// The device of that name.
    pub fn built_in(name: &str) -> Option<Self> {
        match name {
            "zodiac-fx-timers" => {
                let zodiac = Self::built_in("zodiac-fx")?;
                Some(Self { own_work: Some(ZODIAC_TIMERS), ..zodiac })
            }
            "zodiac-fx-loop" => {
                let zodiac = Self::built_in("zodiac-fx")?;
                Some(Self { loop_ps: ZODIAC_LOOP_PS, ..zodiac })
            }
            _ => Profile::built_in(name).map(Self::of),
        }
    }

    /// A device with the costs of a profile. Costs of messages are those of the Zodiac FX where the profile has a
    /// processor, a tenth of them where control has one of its own.
    pub fn of(profile: Profile) -> Self {
        let software = (profile.name == "hp-e3800").then_some(E3800_SOFTWARE);
        let is_odroid = profile.name.starts_with("odroid");
        let has_processor = profile.processor.is_some();
        Self {
            messages: if has_processor { ZODIAC_MESSAGES } else { tenth(&ZODIAC_MESSAGES) },
            own_work: None,
            loop_ps: 0,
            software,
            latency_normal_ns: is_odroid.then_some(ODROID_LATENCY_NS),
            fail_mode: FailMode::Secure,
            ports: 4,
            rate_bps: 100_000_000,
            profile,
        }
    }
}

/// \[Loko\] section 3.2: a barrier 92 us, deleting all of 128 entries 2.3 ms, strict cheaper than not, modifying
/// cheaper than deleting, additions by their actions alone. The other figures are not printed and assumed.
const ZODIAC_MESSAGES: MessageCosts = MessageCosts {
    echo_ps: 92 * PS_PER_US,
    barrier_ps: 92 * PS_PER_US,
    other_ps: 95 * PS_PER_US,
    packet_out_ps: 120 * PS_PER_US,
    packet_in_ps: 150 * PS_PER_US,
    add_ps: 130 * PS_PER_US,
    action_ps: 9 * PS_PER_US,
    change_ps: 120 * PS_PER_US,
    strict_entry_ps: 3 * PS_PER_US,
    loose_entry_ps: 9 * PS_PER_US,
    modified_ps: 3 * PS_PER_US,
    deleted_ps: 8 * PS_PER_US,
    statistics_ps: 110 * PS_PER_US,
    statistics_entry_ps: 12 * PS_PER_US,
};

/// \[Loko\] Fig. 6a: spikes every 1.5 s, when the switch chip returns its counters; how high is assumed.
const ZODIAC_TIMERS: OwnWork =
    OwnWork { time_ps: 6_000 * PS_PER_US, period_ps: 1_500_000 * PS_PER_US };

/// \[Loko\] section 3.4.2: Eq. 6 errs by up to 6 %, and for 306 B and 17 entries so far that the full rate loses frames and
/// 0.95 of it does not. The rest of the loop behind a frame (Fig. 2, lines 3 to 6) explains it; how long it takes is assumed.
const ZODIAC_LOOP_PS: u64 = 5 * PS_PER_US;

/// [DetOF] section V.A: 512 entries in hardware; 10 000 frames/s in software, with losses from 2000 on.
const E3800_SOFTWARE: SoftwareTable = SoftwareTable {
    hardware_entries: 512,
    frame_ps: 100 * PS_PER_US,
    latency_ns: (210_000, 600_000),
    lossless_per_s: 2_000,
    most_per_s: 10_000,
};

/// [MC-SDN] Table II: 764 us and 80.02 us on average, standard deviations 41 us and 1.61 us. The printed bounds are
/// those of the mean at 99.5 %, so single frames exceed them; a virtual device keeps to its profile and is cut off there.
const ODROID_LATENCY_NS: (u64, u64) = (844_020, 41_030);

const fn tenth(it: &MessageCosts) -> MessageCosts {
    MessageCosts {
        echo_ps: it.echo_ps / 10,
        barrier_ps: it.barrier_ps / 10,
        other_ps: it.other_ps / 10,
        packet_out_ps: it.packet_out_ps / 10,
        packet_in_ps: it.packet_in_ps / 10,
        add_ps: it.add_ps / 10,
        action_ps: it.action_ps / 10,
        change_ps: it.change_ps / 10,
        strict_entry_ps: it.strict_entry_ps / 10,
        loose_entry_ps: it.loose_entry_ps / 10,
        modified_ps: it.modified_ps / 10,
        deleted_ps: it.deleted_ps / 10,
        statistics_ps: it.statistics_ps / 10,
        statistics_entry_ps: it.statistics_entry_ps / 10,
    }
}
