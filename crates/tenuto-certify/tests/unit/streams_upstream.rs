use super::*;

#[test]
fn ways_are_the_same_only_port_by_port() {
    let mut ways = Ways::new(10, 3);
    let long = ways.longer(1, 2).and_then(|way| ways.longer(way, 3));
    assert_eq!(long, ways.longer(1, 2).and_then(|way| ways.longer(way, 3)));
    let other = ways.longer(1, 4);
    assert!(other.is_some() && other != long && other != ways.longer(1, 2));
    // What is known stays known when no more are counted.
    assert_eq!(ways.longer(2, 2), None);
    assert_eq!(ways.longer(1, 4), other);
}

#[test]
fn what_was_added_is_known_only_where_all_of_it_is() {
    let source = Late::default().behind(None);
    let first = source.behind(Some(7));
    let second = first.behind(Some(u128::MAX)).behind(None);
    assert_eq!(first.since(source), Some(7));
    assert_eq!(source.since(source), Some(0));
    assert_eq!(first.since(Late::default()), None);
    assert_eq!(second.since(first), None);
}
