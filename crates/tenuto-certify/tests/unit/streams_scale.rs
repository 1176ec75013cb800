use super::*;

#[test]
fn rates_are_exact_where_the_periods_allow() {
    let scale = Scale::new([3_000_000_u64, 7_000_000].into_iter());
    // 1000 bit every 3 ms, three times, are 1000 bit/s exactly.
    let rate = scale.rate(1_000, 3_000_000, 1, 1);
    assert_eq!(rate * 3, scale.bps(1_000_000, 1, 1));
    assert_eq!(scale.to_bits_up(&(scale.bits(5, 1, 1) + 1)), BigInt::from(6));
}
