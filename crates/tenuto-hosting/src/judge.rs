//! What this machine says to values of a tenants file: whether programs, files and processors are there.

use crate::machine::Parts;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tenuto_model::TenantText;

/// Says what is wrong with a value here, if anything is.
///
/// # Errors
///
/// A sentence for people.
pub fn judge(what: TenantText, text: &str) -> Result<(), String> {
    let about = || fs::metadata(text).map_err(|error| format!("`{text}`: {error}"));
    match what {
        TenantText::Program => {
            let about = about()?;
            let is_program = about.is_file() && about.permissions().mode() & 0o111 != 0;
            if is_program { Ok(()) } else { Err(format!("`{text}` is no program")) }
        }
        TenantText::File => about().map(drop),
        TenantText::Data => match about()?.is_dir() {
            true => Ok(()),
            false => Err(format!("`{text}` is no folder")),
        },
        TenantText::Kernel => {
            let kernel = (!text.is_empty()).then_some(Path::new(text));
            Parts::find(kernel).map(drop)
        }
        TenantText::Processor => {
            let number: u32 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
            let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
            let online = online.trim();
            if online.is_empty() || is_in(number, online) {
                return Ok(());
            }
            Err(format!("there is no processor {number} here, but {online}"))
        }
    }
}

/// Whether a list such as `0-3,8` has a number.
fn is_in(number: u32, list: &str) -> bool {
    list.split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let ends = first.parse::<u32>().ok().zip(last.parse().ok());
        ends.is_some_and(|(first, last)| (first..=last).contains(&number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_asked() {
        assert!(judge(TenantText::Program, "/bin/sh").is_ok());
        assert!(judge(TenantText::Program, "/etc").is_err());
        assert!(judge(TenantText::File, "/no/such").is_err());
        assert!(
            judge(TenantText::Data, "/tmp").is_ok() && judge(TenantText::Data, "/bin/sh").is_err()
        );
        assert!(judge(TenantText::Processor, "0").is_ok());
        assert!(judge(TenantText::Processor, "1023").is_err());
        assert!(is_in(8, "0-3,8") && !is_in(4, "0-3,8"));
    }
}
