use super::*;

#[test]
fn messages_are_cut_at_1460_bytes() {
    // [MC-SDN] section VIII: 296 segments with 78 B of overhead on the wire each.
    let car = Packets::of(Size::Message(432_000), false).expect("any message can be cut");
    assert_eq!(car.wire_bits(), (432_000 + 296 * 78) * 8);
    assert_eq!(car.frame_bits_max(), WIRE_BITS_MAX);
    assert_eq!(car.counted_bits(MeterCounts::Frame), (432_000 + 296 * 58) * 8);
}

#[test]
fn short_frames_are_padded_and_long_ones_refused() {
    let of = |size, stated| Packets::of(size, stated).map(Packets::wire_bits);
    assert_eq!(of(Size::Frame(63), false), Some(84 * 8));
    assert_eq!(of(Size::Frame(63), true), Some(83 * 8));
    assert_eq!(of(Size::Payload(18), false), Some(84 * 8));
    assert_eq!(of(Size::Frame(1519), false), None);
    assert_eq!(of(Size::Payload(u32::MAX), false), None);
    assert_eq!(of(Size::Frame(0), false), None);
    // A last segment of one byte is padded.
    assert_eq!(of(Size::Message(1461), false), Some((1538 + 84) * 8));
}
