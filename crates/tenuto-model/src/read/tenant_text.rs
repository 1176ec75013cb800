//! Values of a tenants file that only the machine can judge.

use super::reader::{Field, Reader};

/// Values of a tenants file that only the machine can judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantText {
    /// Path of a program.
    Program,
    /// Path of a file or folder that is to be read.
    File,
    /// Path of a folder that is to be written to.
    Data,
    /// Number of a processor.
    Processor,
    /// Path of a kernel of machines, empty for the newest one.
    Kernel,
}

/// Says what is wrong with a value, if anything is.
pub type JudgeTenant<'a> = &'a dyn Fn(TenantText, &str) -> Result<(), String>;

/// Whether the machine has what is named; otherwise an error.
pub(super) fn judged(
    reader: &mut Reader,
    field: &Field<'_>,
    judge: JudgeTenant<'_>,
    what: TenantText,
    text: &str,
) -> bool {
    let hint = match what {
        TenantText::Program => "name a program that is there and may be run",
        TenantText::File => "name what is there",
        TenantText::Data => "make the folder first, owned by the user that `status` names",
        TenantText::Processor => "leave `pinned` out, and any will do",
        TenantText::Kernel => "install what is missing, or write `environment: sandbox`",
    };
    let said = judge(what, text);
    if let Err(why) = &said {
        reader.error(field, why, hint);
    }
    said.is_ok()
}
