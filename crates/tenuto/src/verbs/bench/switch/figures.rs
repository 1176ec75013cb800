//! Where figures go.

use crate::failure::Failure;
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
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, svg));
        written.map_err(|error| {
            let shown = path.display().to_string();
            let hint = "--figures names a folder that may be written to";
            Failure::input(
                format!("the figure cannot be written: {error}"),
                Some(&shown),
                Some(hint),
            )
        })?;
        sheet.note(format!("drawn in {}", path.display()));
        Ok(())
    }
}
