//! The word that was probably meant.

/// The nearest of some words, if it is near: one letter in three may differ.
pub(crate) fn nearest<'w>(word: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    if word.len() > 64 {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let word = plain(word);
    let letters = word.chars().count();
    let far = |other: &str| match plain(other) {
        // Whoever stopped in the middle of a word meant it, unless another is nearer.
        other if letters > 2 && other.starts_with(&word) => letters / 3,
        other => distance(&word, &other),
    };
    let most = letters / 3;
    let near = known.filter(|other| other.len() <= 64).map(|other| (far(other), other));
    near.filter(|(n, _)| *n <= most).min_by_key(|(n, _)| *n).map(|(_, other)| other)
}

/// Letters to add, remove, change or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_may_be_swapped_missing_or_wrong() {
        let known = ["action", "arguments", "after", "each", "max_parallel", "when"];
        let meant = |word| nearest(word, known.into_iter());
        assert_eq!(meant("actoin"), Some("action"));
        assert_eq!(meant("Action"), Some("action"));
        assert_eq!(meant("max-parallel"), Some("max_parallel"));
        assert_eq!(meant("argument"), Some("arguments"));
        assert_eq!(meant("whne"), Some("when"));
        assert_eq!(meant("arg"), Some("arguments"));
        assert_eq!(meant("x"), None, "one letter is like any other");
        assert_eq!(meant("colour"), None);
        assert_eq!(meant(""), None);
        assert_eq!(meant(&"a".repeat(100_000)), None);
    }
}
