//! Measurements of receive paths: that they run and are whole, and that `receive: auto` follows them. No verdict
//! rests on their figures.

use crate::stage::{Hosted, in_lab, is_inside, own_folder, script};
use std::fs;
use std::path::{Path, PathBuf};
use tenuto_hosting::{
    MEASUREMENTS, MeasureSettings, ReceiveChoice, StateFolder, TenantStatus, measure,
};
use tenuto_io::MonotonicClock;

pub(crate) fn every_series_has_its_rows() {
    const TEST: &str = "measured::every_series_has_its_rows";
    // A lab would hide the threads of the kernel; a measurement brings its own network namespace.
    let settings = MeasureSettings { rounds: 1, window_ms: 10, ..MeasureSettings::quick() };
    let series = match measure(&settings) {
        Ok(series) => series,
        Err(error) if error.to_string().contains("as root") => {
            return println!("SKIPPED {TEST}: {error}");
        }
        Err(error) => panic!("{error}"),
    };
    let names: Vec<&str> = series.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, MEASUREMENTS);
    for it in &series {
        println!("    {}: {} loads, {:?}", it.name, it.blocks.len(), it.notes);
        for row in it.blocks.iter().flatten() {
            let [seen] = row.rounds.as_slice() else { panic!("one round: {row:?}") };
            assert!(seen.messages > 0 && seen.ns >= 10_000_000, "{}: {row:?}", it.name);
        }
        for block in &it.blocks {
            let itself = block[0].ratio(&block[0], tenuto_hosting::Observed::rate);
            assert_eq!(itself.map(|it| it.median), Some(1.0), "{}", it.name);
        }
    }
}

/// Loads that paths are measured under.
const LOADS: usize = 3;

pub(crate) fn auto_is_what_was_measured_and_is_kept() {
    const TEST: &str = "measured::auto_is_what_was_measured_and_is_kept";
    let outside = Path::new(env!("CARGO_TARGET_TMPDIR")).join("receive-auto");
    // A lab would hide the threads of the kernel: measured is outside, and kept for the lab.
    if !is_inside() {
        let _ = fs::remove_dir_all(&outside);
        let state = StateFolder::of("", Some(&outside));
        let began = MonotonicClock::now();
        let choice = match ReceiveChoice::make(&state) {
            Ok(choice) => choice,
            Err(error) if error.to_string().contains("as root") => {
                return println!("SKIPPED {TEST}: {error}");
            }
            Err(error) => panic!("{error}"),
        };
        let took = MonotonicClock::now().since(began);
        choice.reasons.iter().for_each(|words| println!("    {words}"));
        follows_its_figures(&choice);
        let began = MonotonicClock::now();
        assert_eq!(ReceiveChoice::make(&state).expect("it is kept"), choice);
        let again = MonotonicClock::now().since(began);
        println!("    measured in {took}, read in {again}");
        assert!(again.as_ns() * 10 < took.as_ns(), "{again}: measured once");
    }
    in_lab(TEST, || {
        let text = fs::read_to_string(outside.join("receive.json")).expect("it is kept");
        let measured: ReceiveChoice = serde_json::from_str(&text).expect("a choice");
        // The supervisor that was there when it was measured, and the next one after its death.
        let mut first = hosted_with(&text);
        first.child.kill().expect("a child");
        first.child.wait().expect("a child");
        let next = Hosted::start_in(first.folder.clone(), &blue());
        next.line("blue runs");
        let seen = next.tenant("blue");
        assert_eq!(seen.receive_why, measured.reasons);
        is_received_by(&seen, &measured.path);
        assert_eq!(fs::read_to_string(next.state.path().join("receive.json")).expect("kept"), text);
        drop((next, first));
        // It is this file that decides.
        for path in ["threaded", "cpumap", "inline"] {
            let other = ReceiveChoice { path: path.into(), ..measured.clone() };
            is_received_by(&blue_beside(&other), path);
        }
        // What was measured on another machine does not count, nor what is no choice at all.
        let other = ReceiveChoice {
            machine: "Linux 5.0, 3 processors".into(),
            path: "threaded".into(),
            ..measured
        };
        let broken = text[..text.len() / 2].to_owned();
        for text in [serde_json::to_string(&other).expect("texts and numbers"), broken] {
            let blue = blue_with(&text);
            assert_eq!(blue.receive.as_deref(), Some("inline"));
            let why = blue.receive_why.join(" ");
            assert!(why.contains("nothing was measured on this machine yet"), "{why}");
        }
    });
}

/// The least ratio of a path over all loads, as it is told to two places; `None`: the path cannot be had.
fn least_told(choice: &ReceiveChoice, path: &str) -> Option<f64> {
    let begin = format!("{path} carried ");
    let told = choice.reasons.iter().filter_map(|words| words.strip_prefix(&begin));
    let ratios: Vec<f64> = told
        .map(|words| words.split(' ').next().expect("a word").parse().expect("a ratio"))
        .collect();
    if ratios.is_empty() {
        assert!(choice.reasons.contains(&format!("{path} cannot be had here")), "{choice:?}");
        return None;
    }
    assert_eq!(ratios.len(), LOADS, "{choice:?}");
    assert!(choice.times.iter().any(|time| time.path == path), "{choice:?}");
    Some(ratios.into_iter().fold(f64::INFINITY, f64::min))
}

/// The path that carried most where it carried least, if that is as much as inline.
fn follows_its_figures(choice: &ReceiveChoice) {
    let paths = ["threaded", "cpumap"];
    let told = paths.map(|path| (path, least_told(choice, path)));
    let best = told.iter().filter_map(|(_, least)| *least).fold(0.0, f64::max);
    match told.iter().find(|(path, _)| *path == choice.path) {
        Some((path, least)) => {
            assert!(*least >= Some(1.0) && *least == Some(best), "{path}: {told:?}");
        }
        None => {
            assert_eq!(choice.path, "inline");
            // 1.00 may be what is told of a little less.
            assert!(best <= 1.0, "{told:?}");
        }
    }
    assert!(choice.reasons[0].starts_with(&format!("{}: ", choice.path)), "{choice:?}");
}

fn blue_beside(choice: &ReceiveChoice) -> TenantStatus {
    blue_with(&serde_json::to_string(choice).expect("texts and numbers"))
}

/// A tenant that leaves its path to the machine.
fn blue() -> String {
    script("blue", "exec sleep 10000", ", address: 10.99.1.2/30, receive: auto")
}

/// Its supervisor, with what was kept.
fn hosted_with(kept: &str) -> Hosted {
    let state: PathBuf = own_folder().join("state");
    fs::create_dir_all(&state).expect("a folder");
    fs::write(state.join("receive.json"), kept).expect("a file");
    Hosted::start(&blue(), &["blue"])
}

fn blue_with(kept: &str) -> TenantStatus {
    hosted_with(kept).tenant("blue")
}

/// By the path, or inline where this kernel refuses it, which is told.
fn is_received_by(blue: &TenantStatus, path: &str) {
    let is_told = blue.missing.iter().any(|lack| lack.what.contains("inline instead"));
    let wanted = if is_told { "inline" } else { path };
    println!("    auto, {path}: {:?}, refused: {is_told}", blue.receive);
    assert_eq!(blue.receive.as_deref(), Some(wanted), "{blue:?}");
}
