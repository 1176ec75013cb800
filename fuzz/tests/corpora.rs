//! Every seed through its target.

use std::path::Path;

#[test]
fn every_corpus_passes() {
    for (name, body) in tenuto_fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let mut seeds = 0;
        for entry in std::fs::read_dir(&folder).expect("every target has a corpus") {
            body(&std::fs::read(entry.expect("readable").path()).expect("readable"));
            seeds += 1;
        }
        assert!(seeds > 0, "{name} has no seeds");
    }
}

#[test]
fn nothing_at_all_passes() {
    for (_, body) in tenuto_fuzz::TARGETS {
        body(&[]);
        body(&[0xff; 100]);
    }
}
