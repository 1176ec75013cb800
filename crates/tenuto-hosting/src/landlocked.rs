//! Landlock: what of the file system may be touched, said once more by another part of the kernel.

use crate::setup::Missing;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// The newest set of rights that is asked for; older kernels enforce what they know of it.
const NEWEST: ABI = ABI::V6;
/// Folders that may be written to.
const WRITABLE: [&str; 4] = ["/data", "/tmp", "/run", "/dev/shm"];

/// Restricts this process and all that it starts; what the kernel does not enforce is missing.
pub(crate) fn restrict() -> Vec<Missing> {
    let what = "Landlock (the file system said twice)";
    match enforced() {
        Ok(status) if status.ruleset == RulesetStatus::FullyEnforced => Vec::new(),
        Ok(status) if status.ruleset == RulesetStatus::PartiallyEnforced => {
            vec![Missing::new(what, "this kernel knows a part of the rights only")]
        }
        Ok(_) => vec![Missing::new(what, "the kernel has no Landlock, or it is not switched on")],
        Err(error) => vec![Missing::new(what, error)],
    }
}

fn enforced() -> Result<RestrictionStatus, RulesetError> {
    let (all, read) = (AccessFs::from_all(NEWEST), AccessFs::from_read(NEWEST));
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    let opened = |path: &str| PathFd::new(path).ok();
    if let Some(root) = opened("/") {
        rules = rules.add_rule(PathBeneath::new(root, read))?;
    }
    for folder in WRITABLE.iter().filter_map(|path| opened(path)) {
        rules = rules.add_rule(PathBeneath::new(folder, all))?;
    }
    if let Some(devices) = opened("/dev") {
        let access = read | AccessFs::WriteFile;
        rules = rules.add_rule(PathBeneath::new(devices, access))?;
    }
    // A process writes to what is its own there; user and mounts say the rest.
    if let Some(processes) = opened("/proc") {
        rules = rules.add_rule(PathBeneath::new(processes, read | AccessFs::WriteFile))?;
    }
    rules.restrict_self()
}
