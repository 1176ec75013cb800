use super::*;

#[test]
fn white_space_outside_strings_does_not_count() {
    let compact =
        r#"{"a":{"plan_hash":"x"},"plan_hash":"abc","network":{"n":"a b\" }"},"z":[1,2]}"#;
    let pretty = "{ \"a\" : {\"plan_hash\":\"x\"},\n\t\"plan_hash\": \"other\",\r\n \"network\"\
                  : { \"n\" : \"a b\\\" }\" } , \"z\":[ 1 , 2 ] } \n";
    let (one, two) = (Compact::new(compact), Compact::new(pretty));
    assert_eq!(one.description(), two.description());
    assert_eq!(one.plan(), two.plan());
    assert_eq!(one.description(), Some(hex(&Sha256::digest(br#"{"n":"a b\" }"}"#))));
    let emptied = compact.replace("abc", "");
    assert_eq!(one.plan(), Some(hex(&Sha256::digest(emptied.as_bytes()))));
}

#[test]
fn a_member_must_stand_there_exactly_once() {
    assert_eq!(Compact::new(r#"{"network":1,"network":2}"#).description(), None);
    assert_eq!(Compact::new(r#"{"n":{"network":1}}"#).description(), None);
    assert_eq!(Compact::new("\"\\").plan(), None);
}
