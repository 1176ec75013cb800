//! The tutorial, command by command: what it prints is what is printed.

use crate::stranger::{folder, networks, write};
use std::path::Path;
use std::process::{Command, Stdio};

const TUTORIAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tutorial.md");

/// A command of a block and what is printed below it.
struct Shown<'a> {
    command: &'a str,
    lines: Vec<&'a str>,
}

fn commands(page: &str) -> Vec<Shown<'_>> {
    let mut all: Vec<Shown<'_>> = Vec::new();
    let blocks = page.split("\n```").skip(1).step_by(2).filter_map(|it| it.strip_prefix('\n'));
    for block in blocks {
        for line in block.lines() {
            match (line.strip_prefix("$ "), all.last_mut()) {
                (Some(command), _) => all.push(Shown { command, lines: Vec::new() }),
                (None, Some(last)) => last.lines.push(line),
                (None, None) => panic!("`{line}` is printed by no command"),
            }
        }
    }
    all
}

/// What the command says, without how long this machine took.
fn said(at: &Path, command: &str) -> Vec<String> {
    let program = format!("PATH=\"$1:$PATH\"; {command}");
    let bin = Path::new(env!("CARGO_BIN_EXE_tenuto")).parent().expect("a folder");
    let output = Command::new("sh")
        .args(["-c", &program, "sh"])
        .arg(bin)
        .current_dir(at)
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).expect("text").lines().map(timeless).collect()
}

fn timeless(line: &str) -> String {
    match line.split_once("planned in ") {
        Some((before, rest)) => {
            let rest = rest.split_once(" s").map_or("", |(_, rest)| rest);
            format!("{before}planned in _ s{rest}")
        }
        None => line.to_owned(),
    }
}

/// Lines stand in their order; `…` stands for any number of lines.
fn is_printed(lines: &[&str], said: &[String]) -> Result<(), String> {
    let (mut at, mut skips) = (0, false);
    for line in lines {
        if *line == "…" {
            skips = true;
            continue;
        }
        let wanted = timeless(line);
        let place = said[at..].iter().position(|it| *it == wanted);
        match place {
            Some(ahead) if skips || ahead == 0 => at += ahead + 1,
            _ => return Err(wanted),
        }
        skips = false;
    }
    if skips || at == said.len() { Ok(()) } else { Err(format!("no more, but: {}", said[at])) }
}

#[test]
fn the_tutorial_shows_what_is_printed() {
    let page = std::fs::read_to_string(TUTORIAL).expect("shipped");
    let at = folder("tutorial");
    std::fs::create_dir(at.join("networks")).expect("a folder");
    let shipped = std::fs::read_to_string(networks().join("line.yaml")).expect("shipped");
    write(&at.join("networks"), "line.yaml", &shipped);
    let network = page.split("```yaml\n").nth(1).and_then(|it| it.split("```").next());
    let network = network.expect("the network of the first step");
    let bad = network.replace("source: sensor", "source: senser");
    let bad = bad.replace("1 kB, period: 10 ms", "1 KB, period: 10");
    write(&at, "bad.yaml", &bad);
    write(&at, "tight.yaml", &network.replace("deadline: 5 ms", "deadline: 150 us"));
    let shown = commands(&page);
    let mut wrong = Vec::new();
    let mut held = 0;
    for Shown { command, lines } in &shown {
        // A live run is of one machine at one time.
        if command.starts_with("tenuto up ") {
            continue;
        }
        let said = said(&at, command);
        if let Err(line) = is_printed(lines, &said) {
            wrong.push(format!("$ {command}\nnot printed: {line}\nbut:\n{}", said.join("\n")));
        }
        held += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(held, 10, "the commands of the tutorial but `up`");
}
