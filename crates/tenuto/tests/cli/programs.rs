//! The user's own programs, before and without a lab.

use std::os::unix::fs::PermissionsExt;

use crate::stranger::{LINE, folder, tenuto_in, write};

#[test]
fn a_program_that_is_not_there_is_found_by_check() {
    let folder = folder("programs");
    let sub = folder.join("sub");
    std::fs::create_dir(&sub).expect("a folder");
    write(&sub, "line.yaml", LINE);
    let runs = |program: &str| {
        let text = "tenuto_scenario: 1\nduration: 1 s\nhosts: {sensor: {run: PROGRAM}}\n";
        write(&sub, "line.scenario.yaml", &text.replace("PROGRAM", program));
    };
    runs("./player --fast");
    let words = ["hosts.sensor.run", "there is no program ./player", "line.scenario.yaml"];
    tenuto_in(&folder, &["check", "sub/line.yaml"]).exits(2).complains_of(&words);
    tenuto_in(&folder, &["up", "sub/line.yaml"]).exits(2).complains_of(&words);
    // Every one with its line, and names of the path too.
    let text = "tenuto_scenario: 1\nduration: 1 s\nhosts:\n  sensor: {run: ./player}\n  display: {run: no-such-program -x}\n";
    write(&sub, "line.scenario.yaml", text);
    tenuto_in(&folder, &["check", "sub/line.yaml"]).exits(2).complains_of(&[
        "there is no program ./player",
        "line.scenario.yaml:4, hosts.sensor.run",
        "there is no program no-such-program",
        "line.scenario.yaml:5, hosts.display.run",
        "PATH",
    ]);
    runs("\"\"");
    tenuto_in(&folder, &["check", "sub/line.yaml"]).exits(2).complains_of(&["has no name"]);
    // Beside the scenario, or where the command is given; a program, and not any file.
    runs("./player --fast");
    write(&sub, "player", "");
    let said = tenuto_in(&folder, &["check", "sub/line.yaml"]).exits(2);
    said.complains_of(&["may not be executed", "chmod +x ./player"]);
    std::fs::set_permissions(sub.join("player"), PermissionsExt::from_mode(0o755)).expect("ours");
    tenuto_in(&folder, &["check", "sub/line.yaml"]).exits(0);
    std::fs::rename(sub.join("player"), folder.join("player")).expect("a file");
    tenuto_in(&folder, &["check", "sub/line.yaml"]).exits(0);
    // What only a shell can read is left to it.
    runs("\"while true; do ./gone; done\"");
    tenuto_in(&folder, &["check", "sub/line.yaml"]).exits(0);
}

#[test]
fn sim_says_that_it_leaves_programs_out() {
    let folder = folder("left-out");
    write(&folder, "line.yaml", LINE);
    let text = "tenuto_scenario: 1\nduration: 1 s\nhosts: {sensor: {run: ./player}}\n";
    write(&folder, "line.scenario.yaml", text);
    let said = tenuto_in(&folder, &["sim", "line.yaml"]).exits(0).says(&["KEPT: "]);
    said.complains_of(&["left out in virtual time", "`./player` of sensor", "tenuto up"]);
    write(&folder, "line.scenario.yaml", "tenuto_scenario: 1\nduration: 1 s\n");
    let said = tenuto_in(&folder, &["sim", "line.yaml"]).exits(0);
    assert!(!said.stderr.contains("left out"), "{}", said.stderr);
}
