//! Completions and pages of the manual: every verb of the help is in them.

use crate::stranger::{folder, tenuto, tenuto_in};
use std::process::Command;

/// The verbs of `tenuto --help`.
fn verbs() -> Vec<String> {
    let help = tenuto(&["--help"]).exits(0).stdout;
    let start = help.find("Commands:\n").expect("verbs") + "Commands:\n".len();
    let lines = help[start..].lines().take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn shells_complete_every_verb() {
    let verbs = verbs();
    assert!(verbs.len() > 10, "{verbs:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = tenuto(&["completions", shell]).exits(0).stdout;
        for verb in &verbs {
            assert!(script.contains(verb.as_str()), "{verb} of {shell}");
        }
    }
    let script = tenuto(&["completions", "bash"]).exits(0).stdout;
    let folder = folder("completions");
    std::fs::write(folder.join("tenuto.bash"), script).expect("a file");
    // What the shell itself offers after the first letters of a verb and of a flag.
    let offered = "source tenuto.bash; COMP_WORDS=(tenuto \"$@\"); COMP_CWORD=$#; \
                   _tenuto tenuto \"${!#}\" tenuto; echo \"${COMPREPLY[@]}\"";
    let offers = |words: &[&str]| {
        let mut bash = Command::new("bash");
        bash.args(["-c", offered, "bash"]).args(words).current_dir(&folder);
        String::from_utf8(bash.output().expect("bash").stdout).expect("UTF-8")
    };
    assert_eq!(offers(&["cert"]).trim(), "certify");
    assert_eq!(offers(&["tables", "--for"]).trim(), "--format");
}

#[test]
fn every_verb_has_a_page() {
    let folder = folder("man");
    tenuto_in(&folder, &["man", "pages"]).exits(0).says(&["pages/tenuto*.1"]);
    let read = |name: &str| {
        let path = folder.join("pages").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    assert!(read("tenuto.1").contains("Exit codes"));
    for verb in verbs().iter().filter(|verb| *verb != "help") {
        let page = read(&format!("tenuto-{verb}.1"));
        assert!(page.contains(".TH "), "{verb}");
    }
    assert!(read("tenuto-up.1").contains("alarm"), "flags are told");
    std::fs::write(folder.join("file"), "").expect("a file");
    tenuto_in(&folder, &["man", "file"]).exits(2).complains_of(&["cannot be written"]);
}
