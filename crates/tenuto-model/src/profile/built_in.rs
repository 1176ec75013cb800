//! The profiles that come with Tenuto, each figure with its source.

use super::{
    ActionCosts, BufferUnit, ControlShare, LookUp, MatchCosts, MeterCounts,
    OPENFLOW_BURST_BYTES_MAX, Processor, ProcessorLink, Profile, Receive, ReceiveBuffer,
    SliceControl,
};

const PS_PER_NS: u64 = 1_000;
const PS_PER_US: u64 = 1_000_000;

impl Profile {
    /// Lowers the largest latency to so many nanoseconds, and the least with it; a latency that is
    /// less stays.
    pub fn latency_at_most(&mut self, latency_ns: u64) {
        self.latency_ns_max = self.latency_ns_max.min(latency_ns);
        self.latency_ns_min = self.latency_ns_min.min(self.latency_ns_max);
    }

    /// The names that [`Profile::built_in`] knows.
    pub const BUILT_IN: [&'static str; 9] = [
        "tenuto",
        "ideal",
        "afdx",
        "hp-e3800",
        "hp-e3800-software",
        "zodiac-fx",
        "banana-pi-r1",
        "odroid-xu4-mc-sdn",
        "open-vswitch",
    ];

    /// The built-in profile of that name, one of [`Profile::BUILT_IN`].
    pub fn built_in(name: &str) -> Option<Self> {
        let mut profile = match name {
            "ideal" => ideal(),
            "tenuto" => tenuto(),
            "afdx" => afdx(),
            "hp-e3800" => hp_e3800(),
            "hp-e3800-software" => hp_e3800_software(),
            "zodiac-fx" => zodiac_fx(),
            "banana-pi-r1" => banana_pi_r1(),
            "odroid-xu4-mc-sdn" => odroid_xu4_mc_sdn(),
            "open-vswitch" => open_vswitch(),
            _ => return None,
        };
        name.clone_into(&mut profile.name);
        Some(profile)
    }
}

/// Store-and-forward without any cost or limit.
fn ideal() -> Profile {
    Profile {
        name: String::new(),
        latency_ns_min: 0,
        latency_ns_max: 0,
        below_scheduler_bytes: 0,
        buffer_bytes_per_port: None,
        queues_per_port: 8,
        entries_max: 1_000_000,
        meters_max: 1_000_000,
        groups_max: 1_000_000,
        meter_counts: MeterCounts::Wire,
        meter_rate_step_bps: 1_000,
        meter_burst_step_bytes: 125,
        meter_burst_max_bytes: OPENFLOW_BURST_BYTES_MAX,
        clock_tolerance_ppm: 0,
        has_modes: false,
        swap_ns_max: 0,
        purge_frame_ns_max: 0,
        processor: None,
        receive_buffer: None,
        is_typical: false,
    }
}

/// What our own switch takes for a frame from its last bit received to its queue.
const OWN_LATENCY_NS: u64 = 20_000;
/// Masks that a plan lets a frame be looked up under, at most.
const PLANNED_MASKS: u64 = 12;
/// What one of them takes with nothing in a cache: eight lines of memory.
const PROBE_NS_MAX: u64 = 600;
// They are looked up once more where the way of later frames is kept, and a quarter of the latency is
// for all else.
const _: () = assert!(2 * PLANNED_MASKS * PROBE_NS_MAX <= OWN_LATENCY_NS / 4 * 3);

/// Our own switch; host effects are measured and added as the host allowance. Its meters know a band
/// that states bit/s and bytes.
///
/// The latency is for all that it does with a frame, look-ups among it. What other controllers can make a
/// look-up cost (`docs/reference/openflow.md`, "What a look-up costs") is no part of a plan.
fn tenuto() -> Profile {
    Profile {
        latency_ns_max: OWN_LATENCY_NS,
        buffer_bytes_per_port: Some(2_000_000),
        entries_max: 100_000,
        meters_max: 100_000,
        groups_max: 10_000,
        meter_rate_step_bps: 1,
        meter_burst_step_bytes: 1,
        // Its buckets count thousand-millionths of a bit in 64 bits.
        meter_burst_max_bytes: u64::MAX / 1_000_000_000 / 8,
        clock_tolerance_ppm: 200,
        has_modes: true,
        swap_ns_max: 50_000,
        purge_frame_ns_max: 200,
        ..ideal()
    }
}

/// [DetOF] section VI: processing delay of 5 us; the buffer is ours to state.
fn afdx() -> Profile {
    Profile {
        latency_ns_max: 5_000,
        buffer_bytes_per_port: Some(512_000),
        queues_per_port: 2,
        entries_max: 4_096,
        meters_max: 4_096,
        groups_max: 4_096,
        meter_counts: MeterCounts::Frame,
        clock_tolerance_ppm: 200,
        ..ideal()
    }
}

/// [DetOF] sections V and VI: 7 us in hardware tables, 512 entries, 2000 meters.
fn hp_e3800() -> Profile {
    Profile {
        latency_ns_max: 7_000,
        buffer_bytes_per_port: Some(512_000),
        entries_max: 512,
        meters_max: 2_000,
        groups_max: 1_024,
        meter_counts: MeterCounts::Frame,
        clock_tolerance_ppm: 200,
        ..ideal()
    }
}

/// [DetOF] section V.A: what the hardware tables do not hold goes to the general purpose processor:
/// 10 000 frames/s for the whole switch, 30 to 100 times the hardware's 7 us, and no meters there.
/// Losses begin at 2000 frames/s already, hence typical, not worst.
fn hp_e3800_software() -> Profile {
    Profile {
        latency_ns_min: 210_000,
        latency_ns_max: 700_000,
        entries_max: 65_536,
        meters_max: 0,
        processor: Some(Processor { is_typical: true, ..constant(100 * PS_PER_US) }),
        ..hp_e3800()
    }
}

/// \[Loko\] section 3, fitted to its printed points within 1 to 6 %. Kinds of match that it prints no
/// figure for are charged as a five-tuple, which compares more; actions that it calls slower than
/// output as set-nw-src (+58 us), those that keep line rate at 1516 B (Fig. 10c) as what that leaves
/// them (45 us). Meters are limited by the vendor's open firmware, groups likewise. The switch chip
/// holds next to nothing: three frames per port.
fn zodiac_fx() -> Profile {
    let us = |hundredths: u64| hundredths * PS_PER_US / 100;
    let five_tuple = us(986);
    let processor = Processor {
        base_ps: us(3_200),
        per_byte_ps: 26 * PS_PER_NS,
        per_entry_ps: MatchCosts {
            port: us(650),
            tp_dst: five_tuple,
            dl_dst: five_tuple,
            masked_nw_dst: five_tuple,
            five_tuple,
            all: us(1_250),
        },
        look_up: LookUp::Linear,
        actions_ps: ActionCosts {
            set_vlan_id: us(5_800),
            set_vlan_pcp: us(5_800),
            strip_vlan: us(4_500),
            set_dl_src: us(4_500),
            set_nw_src: us(5_800),
            set_nw_tos: us(5_800),
            set_tp_src: us(5_800),
        },
        // Not printed: a further copy is charged like a whole frame without its look-up.
        per_output_ps: us(3_200),
        // Fig. 10: whiskers of a single case are within the line's width.
        spread_percent: 2,
        link: Some(ProcessorLink { rate_bps: 100_000_000, tag_bytes: 1 }),
        receive: Receive::Fifo,
        control: ControlShare::NONE,
        slices: SliceControl::NONE,
        is_typical: false,
    };
    Profile {
        // Two passes of the switch chip, 2.07 us each (Fig. 10d).
        latency_ns_max: 4_140,
        buffer_bytes_per_port: Some(4_614),
        queues_per_port: 1,
        entries_max: 128,
        meters_max: 8,
        groups_max: 8,
        meter_counts: MeterCounts::Frame,
        clock_tolerance_ppm: 200,
        processor: Some(processor),
        // Section 3.5: 24 cells of 128 B and one frame beside.
        receive_buffer: Some(ReceiveBuffer {
            count: 24,
            unit: BufferUnit::Cells(128),
            is_per_port: false,
            has_place_in_service: true,
        }),
        ..ideal()
    }
}

/// \[Loko\] section 2.3: 645 Mbit/s in frames of 1470 B through an operating system (section 7: not
/// deterministic); buffers as appendix A takes them, three frames of 306 B for each of its ports.
fn banana_pi_r1() -> Profile {
    Profile {
        entries_max: 1_024,
        meters_max: 1_024,
        groups_max: 1_024,
        meter_counts: MeterCounts::Frame,
        clock_tolerance_ppm: 200,
        processor: Some(Processor { is_typical: true, ..constant(18_233 * PS_PER_NS) }),
        receive_buffer: Some(ReceiveBuffer {
            count: 3,
            unit: BufferUnit::Frames,
            is_per_port: true,
            has_place_in_service: false,
        }),
        ..ideal()
    }
}

/// [MC-SDN] Tables II and III: 766.90 us processing and 80.78 us flooding per hop, 7508 B below the
/// scheduler, 50.04 us and 3.95 us per rule for an update, 1.06 us per queued frame and 2.07 us for
/// a purge, queues of 1000 frames. Swap time is for 512 rules.
fn odroid_xu4_mc_sdn() -> Profile {
    Profile {
        latency_ns_max: 847_680,
        below_scheduler_bytes: 5_460 + 2_048,
        buffer_bytes_per_port: Some(84_000),
        entries_max: 512,
        meters_max: 512,
        groups_max: 512,
        clock_tolerance_ppm: 200,
        has_modes: true,
        swap_ns_max: 50_040 + 3_950 * 512 + 2_070,
        purge_frame_ns_max: 1_060,
        ..ideal()
    }
}

/// Open vSwitch 3.1 on a shared machine, as it was measured for this project: 252 000 frames/s at
/// the least, half of the frames within 36 us, the slowest within 1.9 ms.
fn open_vswitch() -> Profile {
    Profile {
        latency_ns_max: 1_880_000,
        buffer_bytes_per_port: Some(1_000_000),
        entries_max: 100_000,
        meters_max: 1_024,
        groups_max: 1_024,
        meter_counts: MeterCounts::Frame,
        clock_tolerance_ppm: 200,
        processor: Some(Processor {
            is_typical: true,
            receive: Receive::RoundRobin(32),
            ..constant(3_969 * PS_PER_NS)
        }),
        ..ideal()
    }
}

/// A processor whose cost depends on nothing but the number of frames.
fn constant(per_frame_ps: u64) -> Processor {
    Processor { base_ps: per_frame_ps, ..Processor::FREE }
}
