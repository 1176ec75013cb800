//! The one command that repeats a case.

/// The command of this process with one drawn case in place of the campaign.
pub(crate) fn replay(seed: u64) -> String {
    let given: Vec<String> =
        std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    of(&given, seed)
}

/// Flags of a campaign that are not of a case, and whether a value follows.
const LEFT_OUT: [(&str, bool); 8] = [
    ("--campaign", true),
    ("--jobs", true),
    ("--seed", true),
    ("--drawn", true),
    ("--output", true),
    ("-o", true),
    ("--json", false),
    ("--all", false),
];

fn of(given: &[String], seed: u64) -> String {
    let mut words = vec!["tenuto".to_owned()];
    let mut skips = false;
    for word in given {
        if std::mem::take(&mut skips) {
            continue;
        }
        let left_out = LEFT_OUT.iter().find(|(flag, _)| {
            word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
        });
        match left_out {
            Some((flag, has_value)) => skips = *has_value && word == flag,
            None => words.push(quoted(word)),
        }
    }
    words.extend(["--drawn".to_owned(), seed.to_string()]);
    words.join(" ")
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=,+@%".contains(it);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_case_is_repeated_with_what_planned_it() {
        let given = words("sim net.yaml --campaign 500 --jobs=2 --beyond --json --for 2s --seed 9");
        assert_eq!(of(&given, 77), "tenuto sim net.yaml --beyond --for 2s --drawn 77");
        let given = words("sim --campaign=3 -o out.json net.yaml --method tfa");
        assert_eq!(of(&given, 0), "tenuto sim net.yaml --method tfa --drawn 0");
        let given = vec!["sim".to_owned(), "my net's.yaml".to_owned()];
        assert_eq!(of(&given, 1), r"tenuto sim 'my net'\''s.yaml' --drawn 1");
    }
}
