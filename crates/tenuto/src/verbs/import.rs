//! `tenuto import FORMAT FILE`: another tool's network as a file of ours.

use crate::args::{Format, Import};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::{load, output};

pub(crate) fn run(args: &Import) -> Result<Outcome, Failure> {
    let text = load::text(&args.file)?;
    let file = args.file.display().to_string();
    let imported = match args.format {
        Format::Wopanets => tenuto_model::import_wopanets(&text, &file)?,
    };
    if !imported.warnings.is_empty() {
        output::complain(&imported.warnings.to_string());
    }
    match &args.output {
        Some(path) => {
            output::write_file(path, &imported.yaml)?;
            output::say(&tenuto_model::summary(&imported.network))?;
        }
        None => output::say(&imported.yaml)?,
    }
    Ok(Outcome::Good)
}
