//! What is to be written is looked at before long work: a place that cannot be, or that is what is read.

use crate::stranger::{LINE, folder, tenuto_in, write};

/// Every verb that writes: none works before it knows that it can.
#[test]
fn what_cannot_be_written_is_told_before_anything_is_worked_out() {
    let at = folder("outputs");
    write(&at, "line.yaml", LINE);
    write(&at, "file", "no folder");
    for (args, folder_flags) in [
        (&["plan", "line.yaml"][..], &[][..]),
        (&["plan", "line.yaml", "--csv", "rows.csv"], &[]),
        (&["export", "saihu", "line.yaml"], &[]),
        (&["sim", "line.yaml"], &["--pcap"]),
        (&["sim", "line.yaml", "--campaign", "100000"], &[]),
        (&["sim", "line.yaml", "--app", "learning-switch"], &[]),
        (&["witness", "line.yaml", "--plays", "100000"], &["-o"]),
        (&["explore", "attendre"], &[]),
        (&["report", "line.plan.json"], &[]),
        (&["profile", "--virtual", "zodiac-fx"], &[]),
        (&["bench", "papers"], &[]),
        (&["bench", "tcp-setup"], &[]),
        (&["bench", "attendre-verify"], &["--figures"]),
        (&["bench", "switch"], &["--figures"]),
        (&["bench", "admission", "--generated", "ring31-1G"], &[]),
        (&["dump", "--switch", "tcp:127.0.0.1:1"], &[]),
        (&["show", "plan"], &[]),
        (&["man"], &[""]),
    ] {
        let file_flag = match args {
            ["sim", .., "learning-switch"] => "--record",
            ["bench", "tcp-setup"] => "--picture",
            ["bench", "admission", ..] => "--plan",
            _ => "-o",
        };
        let mut wrong: Vec<Vec<&str>> = Vec::new();
        for flag in folder_flags {
            wrong.push([&[*flag][..], &["file/new"]].concat());
            wrong.push([&[*flag][..], &["file"]].concat());
        }
        if !folder_flags.contains(&"-o")
            && !matches!(args, ["man"] | ["bench", "attendre-verify" | "switch", ..])
        {
            wrong.push(vec![file_flag, "gone/it"]);
            wrong.push(vec![file_flag, "."]);
        }
        assert!(!wrong.is_empty(), "{args:?}");
        for more in wrong {
            let args: Vec<&str> =
                args.iter().chain(&more).copied().filter(|it| !it.is_empty()).collect();
            let said = tenuto_in(&at, &args).exits(2).complains_of(&["cannot be written"]);
            assert_eq!(said.stdout, "", "{args:?}");
        }
    }
    let mut left: Vec<String> = std::fs::read_dir(&at)
        .expect("the folder")
        .map(|it| it.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    left.sort();
    assert_eq!(left, ["file", "line.yaml"], "nothing is left of trying");
}

#[test]
fn folders_of_figures_are_made() {
    let at = folder("outputs_made");
    let args = ["bench", "attendre-verify", "--figures", "deep/figures"];
    tenuto_in(&at, &args).exits(0);
    assert!(at.join("deep/figures/figure-2a.svg").exists());
}

#[test]
fn nothing_is_written_over_what_is_read_or_twice() {
    let at = folder("outputs_over");
    write(&at, "line.yaml", LINE);
    let over = ["plan", "line.yaml", "-o", "./line.yaml"];
    tenuto_in(&at, &over).exits(2).complains_of(&["line.yaml", "it would be written over"]);
    assert_eq!(std::fs::read_to_string(at.join("line.yaml")).expect("it is there"), LINE);
    let twice = ["plan", "line.yaml", "-o", "x", "--csv", "x"];
    tenuto_in(&at, &twice).exits(2).complains_of(&["two things would be written to one file"]);
    tenuto_in(&at, &["plan", "line.yaml", "-o", "plan.json"]).exits(0);
    tenuto_in(&at, &["plan", "line.yaml", "-o", "plan.json"]).exits(0);
}
