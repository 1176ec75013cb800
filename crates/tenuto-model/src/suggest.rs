//! "Did you mean …?" by edit distance.

/// Names compared at most; a hint is not worth more time than that.
const CANDIDATES_MAX: usize = 5_000;
/// Longest word for which a hint is looked for.
const WORD_CHARS_MAX: usize = 64;

/// The candidate nearest to `word`, if it is near enough to be what was meant.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let length = word.chars().count();
    if length > WORD_CHARS_MAX {
        return None;
    }
    let allowed = if length <= 2 { 1 } else { length.div_ceil(3).min(4) };
    candidates
        .into_iter()
        .take(CANDIDATES_MAX)
        .filter(|c| c.chars().count().abs_diff(length) <= allowed)
        .map(|c| (distance(&word.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(d, c)| *d <= allowed && *d < c.chars().count().max(length))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// "did you mean x?" or else the list of what there is, shortened.
pub fn meant<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(near) = nearest(word, candidates.clone()) {
        return Some(format!("did you mean {near}?"));
    }
    let mut shown: Vec<&str> = candidates.into_iter().take(13).collect();
    if shown.is_empty() {
        return None;
    }
    if shown.len() == 13 {
        shown[12] = "…";
    }
    Some(format!("there is: {}", shown.join(", ")))
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            next[j] = replaced.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                next[j] = next[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_near() {
        assert_eq!(distance("peroid", "period"), 1);
        assert_eq!(nearest("dedline", ["deadline", "period"]), Some("deadline"));
        assert_eq!(nearest("SW1", ["sw1", "c1"]), Some("sw1"));
        assert_eq!(nearest("banana", ["deadline", "period"]), None);
    }

    #[test]
    fn without_a_near_one_all_are_listed() {
        assert_eq!(meant("zzz", ["LO", "HI"]).as_deref(), Some("there is: LO, HI"));
    }
}
