use super::openapi::document;
use super::routes::routes;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_document_tells_of_every_route_and_no_other() {
    let document: serde_json::Value = serde_json::from_str(&document()).expect("JSON");
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().expect("paths");
    let told: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().expect("methods").keys().map(move |m| (m.clone(), path.clone()))
        })
        .collect();
    let served: BTreeSet<(String, String)> =
        routes().into_iter().map(|(m, path, _)| (m.to_owned(), path.to_owned())).collect();
    assert_eq!(told, served);
    assert_eq!(served.len(), routes().len(), "no route twice");
}

#[test]
fn the_document_that_is_checked_in_is_this_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
    if std::env::var("TENUTO_WRITE_SCHEMAS").is_ok() {
        std::fs::write(&path, document()).expect("written");
    }
    let known = std::fs::read_to_string(&path).expect("docs/reference/openapi.json");
    assert!(
        known == document(),
        "TENUTO_WRITE_SCHEMAS=1 cargo test -p tenuto-service writes it anew"
    );
}
