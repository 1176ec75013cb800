//! `tenuto exec NODE -- CMD`: any program on a node of a running lab.

use crate::args::Exec;
use crate::failure::Failure;
use crate::output;
use std::process::ExitCode;
use tenuto_runtime::ExecError;

pub(crate) fn run(args: &Exec) -> Result<ExitCode, Failure> {
    let ended = tenuto_runtime::exec(&args.folder, &args.node, &args.command);
    let ended = ended.map_err(|error| {
        let text = error.to_string();
        match error {
            ExecError::NoLab(_) | ExecError::NoNode { .. } | ExecError::NoProgram => {
                Failure::input(text, None, None)
            }
            ExecError::Spawn(_) | ExecError::Wait(_) => Failure::undecidable(text, None),
        }
    })?;
    for words in &ended.refusals {
        output::complain(&format!("{}: frames of programs are refused: {words}", args.node));
    }
    Ok(ExitCode::from(ended.code))
}
