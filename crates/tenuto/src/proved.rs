//! What the checker with a machine-checked theory says of a plan, row by row (`proof/README.md`).
//!
//! It is a program of its own, `tenuto-proved`, which shares nothing with this one: not the reader of
//! plans, not the arithmetic.

use crate::failure::Failure;
use crate::format::counted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Its name, where no other is given.
pub(crate) const PROGRAM: &str = "tenuto-proved";
/// What it says of a plan that has something that no theorem speaks of.
const BEYOND: &str = "all rows checked only: the plan has ";

/// What it says of a plan.
#[derive(Debug, Serialize)]
pub(crate) struct Proof {
    /// Rows that a theorem covers.
    rows_proved: usize,
    /// Rows that were only checked.
    rows_checked: usize,
    /// What the plan has that no theorem speaks of, so that no row is proved.
    beyond: Option<String>,
    rows: Vec<ProofRow>,
}

/// One row of a plan.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct ProofRow {
    /// Place or flow, and the claim.
    row: String,
    is_proved: bool,
    /// The theorem, or why there is none.
    by: String,
}

/// Asks it about a plan file.
pub(crate) fn ask(program: &Path, plan: &Path) -> Result<Proof, Failure> {
    let program = find(program)?;
    let shown = program.display().to_string();
    let output = Command::new(&program).arg(plan).output().map_err(|error| {
        Failure::undecidable(format!("{shown} cannot be started: {error}"), None)
    })?;
    let said = String::from_utf8_lossy(&output.stdout);
    let refused: Vec<String> =
        said.lines().filter_map(|line| line.strip_prefix("REFUSED  ")).map(str::to_owned).collect();
    if !refused.is_empty() {
        return Err(Failure::not_certified(&refused));
    }
    let told = read(&said).filter(|_| output.status.success());
    told.ok_or_else(|| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.lines().next().unwrap_or("nothing that can be read");
        let hint = "the program and this one have to be of one version: `make prove` builds it";
        Failure::undecidable(format!("{shown} said: {complaint}"), Some(hint))
    })
}

/// The program as named, else beside this one, else where programs are.
fn find(program: &Path) -> Result<PathBuf, Failure> {
    if program.components().count() > 1 {
        return Ok(program.to_owned());
    }
    let own = env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = beside.into_iter().chain(env::split_paths(&path));
    places.find_map(|folder| Some(folder.join(program)).filter(|it| it.is_file())).ok_or_else(
        || {
            let message = format!("{} is not installed here", program.display());
            let hint =
                "`make prove` builds it from the sources: `--proved=proof/ocaml/tenuto-proved`";
            Failure::undecidable(message, Some(hint))
        },
    )
}

/// Every line that it prints, the last of which counts the others; `None` if they are not that.
fn read(said: &str) -> Option<Proof> {
    let mut lines: Vec<&str> = said.lines().collect();
    let last = lines.pop()?;
    if let Some(beyond) = last.strip_prefix(BEYOND) {
        let beyond = Some(beyond.to_owned());
        return Some(Proof { rows_proved: 0, rows_checked: 0, beyond, rows: Vec::new() });
    }
    let rows: Vec<ProofRow> = lines.into_iter().map(row).collect::<Option<_>>()?;
    let rows_proved = rows.iter().filter(|row| row.is_proved).count();
    let rows_checked = rows.len() - rows_proved;
    let counts = format!("{rows_proved} rows proved, {rows_checked} checked only, 0 refused; ");
    last.starts_with(&counts).then_some(Proof { rows_proved, rows_checked, beyond: None, rows })
}

/// `proved   WHAT  (BY)` or `checked  WHAT  (BY)`.
fn row(line: &str) -> Option<ProofRow> {
    let proved = line.strip_prefix("proved   ");
    let (rest, is_proved) = match proved {
        Some(rest) => (rest, true),
        None => (line.strip_prefix("checked  ")?, false),
    };
    let (row, by) = rest.strip_suffix(')')?.rsplit_once("  (")?;
    Some(ProofRow { row: row.to_owned(), is_proved, by: by.to_owned() })
}

impl Proof {
    /// How many rows are proved by which theorem, and why the others are not.
    pub(crate) fn text(&self) -> String {
        if let Some(beyond) = &self.beyond {
            return format!("proved: no row: the plan has {beyond}\n");
        }
        let mut by: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        for row in &self.rows {
            *by.entry((!row.is_proved, &row.by)).or_default() += 1;
        }
        let mut text = format!(
            "proved: {} of {}\n",
            self.rows_proved,
            counted(self.rows_proved + self.rows_checked, "row")
        );
        for ((is_open, by), count) in by {
            let how = if is_open { "checked only" } else { "theorem" };
            let _ = writeln!(text, "  {count:>6}  {how}: {by}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "proved   s1:1, class 0: 41600000 ps  (port_delays)\n\
         checked  f (a  (b) to d: 7 ps  (less than the sum of its hops: plp)\n\
         1 rows proved, 1 checked only, 0 refused; accepts = true\n";

    #[test]
    fn rows_and_their_count_are_read() {
        let proof = read(SAID).expect("as it prints");
        assert_eq!((proof.rows_proved, proof.rows_checked), (1, 1));
        assert_eq!(proof.rows[1].row, "f (a  (b) to d: 7 ps");
        assert_eq!(proof.rows[1].by, "less than the sum of its hops: plp");
        assert!(proof.text().contains("1 of 2 rows"), "{}", proof.text());
    }

    #[test]
    fn what_does_not_add_up_is_no_answer() {
        let less = SAID.replacen("1 rows proved", "2 rows proved", 1);
        let cut = SAID.rsplit_once("1 rows").expect("a last line").0;
        for said in [less.as_str(), cut, "", "\n", "proved", "proved   x\n0 rows proved"] {
            assert!(read(said).is_none(), "{said}");
        }
        let beyond = read("all rows checked only: the plan has modes\n").expect("as it prints");
        assert_eq!(beyond.beyond.as_deref(), Some("modes"));
    }
}
