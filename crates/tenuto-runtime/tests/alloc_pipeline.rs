//! The pipeline that is measured allocates nothing per frame.

use tenuto_runtime::measure::PlannedSwitch;

#[test]
fn nothing_is_allocated_per_frame() {
    for bytes in [64, 1_500] {
        let mut switch = PlannedSwitch::new(649, bytes);
        let warm_up = allocation_counter::measure(|| assert_eq!(switch.pass(10_000), 10_016));
        assert!(
            warm_up.count_total > 0,
            "the first frame of each link takes memory, or nothing is counted"
        );
        let mut sent = 0;
        let allocations = allocation_counter::measure(|| sent = switch.pass(50_016));
        assert_eq!((sent, allocations.count_total), (50_016, 0));
    }
}
