//! The names an expression may use, and the one that was meant.

/// What an expression may look at; which of them exist depends on where it is written.
pub const VARIABLES: [&str; 8] = ["input", "outputs", "payload", "item", "index", "answer", "polls", "undo"];

/// Names of types, as `type(x)` answers them.
pub(crate) const TYPES: [&str; 10] =
    ["bool", "double", "int", "list", "map", "null_type", "optional_type", "string", "type", "uint"];

/// The known name that is nearest to a wrong one, if it is near at all.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if wrong.len() > 40 {
        return None;
    }
    let near = 1 + wrong.len() / 5;
    known
        .map(|name| (distance(wrong, name), name))
        .filter(|(far, _)| *far <= near)
        .min()
        .map(|(_, name)| name)
}

/// Characters to insert, delete or change, whatever their case.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Can be written behind a point.
pub(crate) fn is_plain(name: &str) -> bool {
    let letter = |byte: u8| byte == b'_' || byte.is_ascii_alphabetic();
    let mut bytes = name.bytes();
    bytes.next().is_some_and(letter)
        && bytes.all(|byte| letter(byte) || byte.is_ascii_digit())
        && !["true", "false", "null", "in"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised() {
        let meant = |wrong| nearest(wrong, VARIABLES.into_iter());
        assert_eq!(meant("inputs"), Some("input"));
        assert_eq!(meant("output"), Some("outputs"));
        assert_eq!(meant("Payload"), Some("payload"));
        assert_eq!(meant("idx"), None);
        assert_eq!(meant("customer"), None);
        assert_eq!(meant(&"x".repeat(4000)), None);
    }

    #[test]
    fn a_plain_name_needs_no_quotes() {
        assert!(is_plain("order_2") && !is_plain("validate-order") && !is_plain("2nd") && !is_plain("in"));
    }
}
