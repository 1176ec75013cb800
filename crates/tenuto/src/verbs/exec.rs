//! `tenuto exec NODE -- CMD`: any program on a node of a running lab.

use crate::args::Exec;
use crate::failure::Failure;
use std::process::ExitCode;
use tenuto_runtime::ExecError;

pub(crate) fn run(args: &Exec) -> Result<ExitCode, Failure> {
    tenuto_runtime::exec(&args.folder, &args.node, &args.command).map_err(|error| {
        let text = error.to_string();
        match error {
            ExecError::NoLab(_) | ExecError::NoNode { .. } | ExecError::NoProgram => {
                Failure::input(text, None, None)
            }
            ExecError::Spawn(_) | ExecError::Wait(_) => Failure::undecidable(text, None),
        }
    })
}
