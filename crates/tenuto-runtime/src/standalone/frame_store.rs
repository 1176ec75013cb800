//! How many frames the store of a switch keeps, and what that asks of the buffers of its ports.

use super::settings::SwitchSettings;
use tenuto_dataplane::switch::AttendreLimits;
use tenuto_io::BURST_FRAMES;

/// Bytes on the wire of the smallest frame: what a buffer is filled with in the worst case.
const SMALLEST_WIRE_BYTES: u64 = 84;
/// Room for frames in hand and copies.
const FRAMES_SPARE: u64 = 1_024;
/// Frames that wait at ports at most, whatever their buffers: 130 MB.
const FRAMES_MAX: u64 = 65_536;

/// What a frame takes of the buffer of its port at least, bits on the wire: more than the smallest one has
/// where the buffers could hold more of these than [`FRAMES_MAX`]. Else a flood at some ports would leave
/// no room for what arrives at all others, whatever its priority.
pub(super) fn frame_bits_least(settings: &SwitchSettings) -> u32 {
    let all_bytes = buffers_bytes(settings).fold(0, u64::saturating_add);
    let least_bytes = all_bytes.div_ceil(FRAMES_MAX).max(SMALLEST_WIRE_BYTES);
    u32::try_from(least_bytes.saturating_mul(8)).unwrap_or(u32::MAX)
}

/// The sizes of all egress buffers: those of ports, or those that each slice has at its ports.
fn buffers_bytes(settings: &SwitchSettings) -> impl Iterator<Item = u64> {
    let is_sliced = !settings.slices.is_empty();
    let of_ports = settings.ports.iter().filter(move |_| !is_sliced).map(|port| port.buffer_bytes);
    let of_slices = settings.slices.iter();
    of_ports.chain(of_slices.flat_map(|it| it.ports.iter().map(|_| it.buffer_bytes)))
}

/// Frames that all egress buffers hold together, in the worst case, a burst for each device that has no room
/// for it, and those that wait for a message set.
pub(super) fn pool_frames(settings: &SwitchSettings) -> usize {
    let least_bytes = u64::from(frame_bits_least(settings)) / 8;
    let held: u64 = buffers_bytes(settings).map(|bytes| bytes / least_bytes).sum();
    let waiting = usize::from(AttendreLimits::default().frames_max);
    let kept = settings.ports.len() as u64 * BURST_FRAMES as u64;
    let frames = held.min(FRAMES_MAX) + kept + FRAMES_SPARE;
    usize::try_from(frames).expect("a machine of 32 bits or more") + waiting
}

#[cfg(test)]
mod tests {
    use super::super::settings::PortSettings;
    use super::*;

    fn settings(ports: u32, buffer_bytes: u64) -> SwitchSettings {
        let port = |n| PortSettings { buffer_bytes, ..PortSettings::new(n, "a") };
        SwitchSettings { ports: (1..=ports).map(port).collect(), ..SwitchSettings::new("s") }
    }

    #[test]
    fn the_store_keeps_whatever_the_buffers_take() {
        let spare = pool_frames(&settings(0, 0)) as u64;
        for (ports, buffer_bytes, least_bytes) in
            [(2, 1 << 20, 84), (5, 1 << 20, 84), (6, 1 << 20, 96), (24, 1 << 20, 384), (1, 0, 84)]
        {
            let settings = settings(ports, buffer_bytes);
            assert_eq!(frame_bits_least(&settings), least_bytes * 8, "{ports} ports");
            let of_port = buffer_bytes / u64::from(least_bytes) + BURST_FRAMES as u64;
            assert_eq!(
                pool_frames(&settings) as u64,
                u64::from(ports) * of_port + spare,
                "{ports} ports"
            );
        }
        let endless = settings(3, u64::MAX);
        assert_eq!(frame_bits_least(&endless), u32::MAX);
        assert_eq!(pool_frames(&endless) as u64, FRAMES_MAX + 3 * BURST_FRAMES as u64 + spare);
    }
}
