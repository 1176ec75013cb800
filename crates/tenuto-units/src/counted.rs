//! A number with its noun, for texts that people read.

/// `1 flow`, `2 flows`, `0 switches`, `3 inequalities`.
pub fn counted(count: u64, one: &str) -> String {
    if count == 1 {
        return format!("1 {one}");
    }
    let hissing = ["s", "x", "ch", "sh"];
    match one.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        _ if hissing.iter().any(|end| one.ends_with(end)) => format!("{count} {one}es"),
        _ => format!("{count} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_one_and_others_are_many() {
        for (count, one, told) in [
            (1, "switch", "1 switch"),
            (0, "flow", "0 flows"),
            (2, "switch", "2 switches"),
            (2, "inequality", "2 inequalities"),
            (3, "delay", "3 delays"),
            (1, "entry of a table", "1 entry of a table"),
        ] {
            assert_eq!(counted(count, one), told);
        }
    }
}
