//! Where figures go.

use crate::failure::Failure;
use crate::output;
use crate::verbs::bench::sheet::Sheet;
use std::path::PathBuf;

/// The folder for figures, if they are wanted.
#[derive(Debug)]
pub(super) struct Figures(pub(super) Option<PathBuf>);

impl Figures {
    /// Puts a figure into the folder, and notes that below its table.
    pub(super) fn write(&self, name: &str, svg: &str, sheet: &mut Sheet) -> Result<(), Failure> {
        let Some(folder) = &self.0 else { return Ok(()) };
        let path = folder.join(name);
        output::make_folder(folder)?;
        output::write_file(&path, svg)?;
        sheet.note(format!("drawn in {}", path.display()));
        Ok(())
    }
}
