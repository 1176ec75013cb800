//! What a verb is going to write: found out before long work, so that nothing is worked out in vain.

use crate::args::Verb;
use crate::failure::Failure;
use crate::output::Place;
use std::path::{Path, PathBuf};

/// Finds out whether all of it can be written, each to a place of its own, and none of it over what the verb reads.
pub(super) fn check(verb: &Verb) -> Result<(), Failure> {
    let (input, places) = (input_of(verb), places_of(verb));
    for (index, place) in places.iter().enumerate() {
        let path = place.path();
        let shown = path.display().to_string();
        let again =
            |message: &str| Err(Failure::input(message, Some(&shown), Some("name another one")));
        if places[..index].iter().any(|it| it.path() == path) {
            return again("two things would be written to one file");
        }
        if input.is_some_and(|it| is_same(it, path)) {
            return again("this is what is read: it would be written over");
        }
        place.check()?;
    }
    Ok(())
}

fn is_same(input: &Path, output: &Path) -> bool {
    match (input.canonicalize(), output.canonicalize()) {
        (Ok(input), Ok(output)) => input == output && input.is_file(),
        _ => false,
    }
}

fn input_of(verb: &Verb) -> Option<&Path> {
    match verb {
        Verb::Import(it) => it.file.as_deref(),
        Verb::Export(it) => Some(&it.input),
        Verb::Plan(it) => Some(&it.network),
        Verb::Sim(it) => Some(&it.input),
        Verb::Report(it) => Some(&it.input),
        Verb::Explore(it) => Some(&it.input),
        _ => None,
    }
}

fn files<const N: usize>(files: [&Option<PathBuf>; N]) -> Vec<Place<'_>> {
    files.into_iter().flatten().map(|it| Place::File(it)).collect()
}

fn folder(folder: Option<&PathBuf>) -> Vec<Place<'_>> {
    folder.into_iter().map(|it| Place::Folder(it)).collect()
}

fn places_of(verb: &Verb) -> Vec<Place<'_>> {
    match verb {
        Verb::Import(it) => files([&it.output]),
        Verb::Export(it) => files([&it.output, &it.results]),
        Verb::Plan(it) => files([&it.output, &it.csv]),
        Verb::Sim(it) => {
            let named =
                files([&it.output, &it.frames, &it.gantt, &it.trace, &it.application.record]);
            let reports = it.report.then_some(Place::Folder(Path::new("out")));
            named.into_iter().chain(folder(it.pcap.as_ref())).chain(reports).collect()
        }
        Verb::Witness(it) => folder(it.output.as_ref()),
        Verb::Explore(it) => files([&it.output, &it.application.chart]),
        Verb::Report(it) => files([&it.output]),
        Verb::Man(it) => folder(Some(&it.folder)),
        Verb::App(it) => it.places(),
        Verb::Show(it) => it.places(),
        Verb::Dump(it) => it.places(),
        Verb::Profile(it) => it.places(),
        Verb::Bench(it) => it.places(),
        Verb::Check(_)
        | Verb::Tables(_)
        | Verb::Certify(_)
        | Verb::Up(_)
        | Verb::Exec(_)
        | Verb::Controller(_)
        | Verb::Flow(_)
        | Verb::Switch(_)
        | Verb::Proxy(_)
        | Verb::Tenants(_)
        | Verb::Trace(_)
        | Verb::Races(_)
        | Verb::Doctor(_)
        | Verb::Completions(_) => Vec::new(),
    }
}
