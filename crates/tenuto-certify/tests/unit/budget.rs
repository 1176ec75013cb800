use super::*;

#[test]
fn what_is_spent_stays_spent() {
    let budget = Budget::new();
    let other = budget.clone();
    assert!(budget.spend(1_000_000_000) && other.spend(999_999_999));
    assert!(!other.spend(2) && !budget.spend(0) && budget.is_spent());
}
