//! What meters let through: rate, burst, and which bytes of a frame they count.

use super::rig::{ProfileError, Rig};
use super::session::{Exchange, Session};
use serde::Serialize;
use tenuto_model::{Action, MatchType, Use};
use tenuto_openflow::constants::meter_flag;
use tenuto_openflow::{Body, FlowMod, Instruction, MeterBand, MeterMod, MeterModCommand};
use tenuto_units::Span;

const METER: u32 = 1;
/// Rates and bursts that are asked for, kbit/s and kbit.
const ASKED: [(u32, u32); 3] = [(2_000, 40), (5_000, 100), (10_000, 200)];
/// Frames of one test, sent at twice the rate that is asked for.
const FRAMES: u32 = 600;
const SIZES: [u32; 2] = [128, 1_024];

/// One meter held against frames at twice its rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeterSample {
    /// Asked for, kbit/s.
    pub rate_kbit: u32,
    /// Asked for, kbit.
    pub burst_kbit: u32,
    /// Frames that were sent, FCS included.
    pub frame_bytes: u32,
    /// Frames let through each second once the burst was used up.
    pub passed_per_s: f64,
    /// The rate of what came through then, bit/s of frames with FCS.
    pub enforced_bps: f64,
    /// Frames let through before the first was dropped.
    pub first_frames: u64,
    /// What the burst came to: those, less what the rate brought meanwhile, bytes of frames with FCS; `None`: nothing was
    /// dropped.
    pub burst_bytes: Option<f64>,
}

/// What meters were seen to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Meters {
    /// Why there are none, in the device's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Every test.
    pub samples: Vec<MeterSample>,
    /// Bytes beside those of the frame with its FCS that are counted, by what small and large frames make of it: −4
    /// (without FCS), 0, 20 (preamble and gap); `None` where no such number explains all within 2 %.
    pub extra_bytes: Option<i64>,
}

/// Tries meters of three rates with frames of two sizes.
///
/// # Errors
/// If the device does not do what it is told.
pub fn meters<R: Rig>(session: &mut Session<'_, R>) -> Result<Meters, ProfileError> {
    let mut found = Meters { refused: None, samples: Vec::new(), extra_bytes: None };
    for (rate_kbit, burst_kbit) in ASKED {
        for frame_bytes in SIZES {
            if session.is_out_of_time() {
                return Ok(found);
            }
            match sample(session, (rate_kbit, burst_kbit), frame_bytes) {
                Ok(sample) => found.samples.push(sample),
                Err(ProfileError::Refused(why)) => {
                    found.refused = Some(why);
                    clear(session)?;
                    return Ok(found);
                }
                Err(other) => return Err(other),
            }
        }
    }
    clear(session)?;
    found.extra_bytes = extra_bytes(&found.samples);
    Ok(found)
}

fn clear<R: Rig>(session: &mut Session<'_, R>) -> Result<(), ProfileError> {
    session.clear()?;
    session.tell(&[meter(MeterModCommand::Delete, (0, 0))]);
    match session.settle() {
        // There is none.
        Ok(()) | Err(ProfileError::Refused(_)) => Ok(()),
        Err(other) => Err(other),
    }
}

fn meter(command: MeterModCommand, (rate, burst_size): (u32, u32)) -> Body {
    let bands = match command {
        MeterModCommand::Delete => Vec::new(),
        _ => vec![MeterBand::Drop { rate, burst_size }],
    };
    let flags = meter_flag::KBPS | meter_flag::BURST;
    Body::MeterMod(MeterMod { command, flags, meter_id: METER, bands })
}

fn sample<R: Rig>(
    session: &mut Session<'_, R>,
    (rate_kbit, burst_kbit): (u32, u32),
    frame_bytes: u32,
) -> Result<MeterSample, ProfileError> {
    let scene = session.scene(Use::worst(MatchType::TpDst, Action::Output, 1, frame_bytes));
    clear(session)?;
    session.tell(&[meter(MeterModCommand::Add, (rate_kbit, burst_kbit))]);
    let plain = scene.entry(0);
    let mut instructions = vec![Instruction::Meter(METER)];
    instructions.extend(plain.instructions.clone());
    session.tell(&[Body::FlowMod(FlowMod { instructions, ..plain })]);
    session.settle()?;
    // Until its bucket is full.
    let fill_ms = u64::from(burst_kbit) * 1_000 / u64::from(rate_kbit.max(1));
    session.wait(Span::from_ms(fill_ms + 30))?;
    session.begin();
    let frame_ns = u64::from(frame_bytes) * 8_000_000 / u64::from(rate_kbit.max(1));
    let (start, step) = (session.rig().now(), Span::from_ns(frame_ns / 2));
    let frame = scene.frame();
    for nth in 0..FRAMES {
        session.send_at(start + step.times(u64::from(nth)), scene.port_in, &frame);
    }
    let seen = session.frames(FRAMES as usize, Span::from_ms(100))?;
    Ok(judged(&seen, (rate_kbit, burst_kbit), frame_bytes))
}

fn judged(seen: &Exchange, (rate_kbit, burst_kbit): (u32, u32), frame_bytes: u32) -> MeterSample {
    let bits = f64::from(frame_bytes) * 8.0;
    let passed = |number: u32| seen.passed.iter().any(|it| it.number == number);
    let dropped = seen.sent.iter().position(|(number, _)| !passed(*number));
    let first = seen.sent.first().map_or(0, |(_, at)| at.as_ns());
    let since = |place: usize| {
        let at = seen.sent.get(place).map_or(first, |(_, at)| at.as_ns());
        at.saturating_sub(first) as f64 / 1e9
    };
    // The second half of what was sent: the burst is used up, and the bucket is never full again.
    let half = seen.sent.len() / 2;
    let took = since(seen.sent.len().saturating_sub(1)) - since(half);
    let late = seen.sent.iter().skip(half + 1).filter(|(number, _)| passed(*number)).count() as f64;
    let passed_per_s = if took > 0.0 { late / took } else { 0.0 };
    let burst = dropped.map(|place| {
        let brought = f64::from(rate_kbit) * 1e3 * since(place);
        ((place as f64 * bits - brought) / 8.0).max(0.0)
    });
    MeterSample {
        rate_kbit,
        burst_kbit,
        frame_bytes,
        passed_per_s,
        enforced_bps: passed_per_s * bits,
        first_frames: dropped.unwrap_or(seen.sent.len()) as u64,
        burst_bytes: burst,
    }
}

/// The number of bytes beside the frame's own that brings every sample to its rate.
fn extra_bytes(samples: &[MeterSample]) -> Option<i64> {
    [0_i64, -4, 20].into_iter().find(|extra| {
        let is_near = |it: &MeterSample| {
            let counted = (i64::from(it.frame_bytes) + extra) as f64 * 8.0 * it.passed_per_s;
            (counted / (f64::from(it.rate_kbit) * 1e3) - 1.0).abs() < 0.02
        };
        !samples.is_empty() && samples.iter().all(is_near)
    })
}
