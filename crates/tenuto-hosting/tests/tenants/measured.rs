//! Measurements of receive paths: that they run and are whole. No verdict rests on their figures.

use tenuto_hosting::{MEASUREMENTS, MeasureSettings, measure};

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
