use super::*;
use proptest::prelude::*;

/// Sets over few values of some fields.
fn set() -> impl Strategy<Value = Match> {
    let few = || prop::option::of(1_u16..3);
    (few(), few(), few()).prop_map(|(port, eth_type, udp_dst)| Match {
        in_port: port.map(u32::from),
        eth_type,
        udp_dst,
        ..Match::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_is_what_a_look_at_everything_finds(
        sets in prop::collection::vec(set(), 0..12),
        asked in prop::collection::vec(set(), 1..6),
    ) {
        let mut index = HeaderIndex::default();
        for (place, set) in sets.iter().enumerate() {
            index.add(*set, place);
        }
        let all = |is: &dyn Fn(&Match) -> bool| -> Vec<usize> {
            (0..sets.len()).filter(|place| is(&sets[*place])).collect()
        };
        for asked in asked {
            let mut meeting: Vec<usize> =
                index.meeting(asked, &mut 0).into_iter().copied().collect();
            meeting.sort_unstable();
            prop_assert_eq!(meeting, all(&|set| set.and(asked).is_some()));
            let mut covering: Vec<usize> =
                index.covering(asked, &mut 0).flatten().copied().collect();
            covering.sort_unstable();
            prop_assert_eq!(covering, all(&|set| set.covers(asked)));
        }
    }
}
