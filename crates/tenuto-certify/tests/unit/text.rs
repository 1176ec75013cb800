use super::*;

#[test]
fn values_are_counted_outside_texts() {
    for (json, least) in [("1", 1), ("[1,2,3]", 3), (r#"{"a,[{":"\",,","b":[]}"#, 3)] {
        assert!((least..=least + 2).contains(&values(json)), "{json}: {}", values(json));
    }
}

#[test]
fn what_would_take_too_much_memory_is_not_read() {
    let findings = Findings::default();
    let many = format!("[{}0]", "0,".repeat(VALUES_MAX));
    assert!(!is_readable(&many, "plan", &findings));
    assert_eq!(findings.len(), 1);
    assert!(is_readable(&many[..1_000], "plan", &findings));
}
