//! What an import writes is read again before anybody gets it.
//!
//! Importers judge what their formats say; what a file of ours may say is judged by its reader alone. A
//! frame of 5 B or a service of no rate is found here, and told as a problem of the imported file.

use super::Content;
use crate::source::MemorySources;
use crate::{Diagnostic, Diagnostics, Severity, read_network, read_servers};

/// Refuses what our own reader would refuse; problems are of `file`, and name the field of ours.
pub(super) fn read_back(content: &Content, yaml: &str, file: &str) -> Result<(), Diagnostics> {
    const WRITTEN: &str = "imported.yaml";
    let refused = match content {
        Content::Network(_) => {
            read_network(&MemorySources::new().with(WRITTEN, yaml), WRITTEN).err()
        }
        Content::Servers(_) => read_servers(yaml, WRITTEN).err(),
    };
    let Some(refused) = refused else { return Ok(()) };
    let mut told = Diagnostics::new();
    for problem in refused.iter().filter(|it| it.severity == Severity::Error) {
        // Its line is one of a file that nobody has.
        let file = file.to_owned();
        let excerpt = String::new();
        told.push(Diagnostic { file, line: None, column: None, excerpt, ..problem.clone() });
    }
    Err(told)
}
