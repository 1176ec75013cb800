//! Codes of failures (IEEE Std 802.1Q-2022, Table 46-15) for what the service refuses.

use crate::answer::Denied;

/// Insufficient bandwidth.
const BANDWIDTH: u8 = 1;
/// Insufficient Bridge resources.
pub(super) const RESOURCES: u8 = 2;
/// Maximum frame size too large for media.
const FRAME_SIZE: u8 = 14;
/// Maximum latency exceeded.
const LATENCY: u8 = 21;
/// Of a removal: there the model has 0 and this, "unsuccessful", whatever the reason; it is no code of the table.
pub(super) const UNSUCCESSFUL: u8 = 1;

/// The code and the text of a refusal.
pub(super) fn of(denied: &Denied) -> (u8, String) {
    let problem = denied.problem();
    let code = match denied {
        Denied::Refused(refusals) => {
            refusals.first().map_or(RESOURCES, |it| of_resource(&it.resource))
        }
        _ => RESOURCES,
    };
    let fits =
        problem.refusals.iter().flat_map(|it| &it.would_fit).take(3).cloned().collect::<Vec<_>>();
    let text = match fits.is_empty() {
        true => problem.detail,
        false => format!("{}; what would fit: {}", problem.detail, fits.join("; ")),
    };
    (code, text)
}

fn of_resource(resource: &str) -> u8 {
    match resource {
        "rate" => BANDWIDTH,
        "deadline" | "delay" | "skew" => LATENCY,
        "frame" => FRAME_SIZE,
        _ => RESOURCES,
    }
}
