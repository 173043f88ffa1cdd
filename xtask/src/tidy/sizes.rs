//! A file of more than 600 lines holds more than one thought.

use super::Finding;
use super::source::Source;

const LINES_MAX: usize = 600;

pub fn find(source: &Source) -> Vec<Finding> {
    let lines = source.lines.len();
    if lines <= LINES_MAX {
        return Vec::new();
    }
    vec![source.finding(LINES_MAX + 1, format!("file has {lines} lines, at most {LINES_MAX} are allowed"))]
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::tidy::source::Source;
    use crate::tidy::told;

    #[test]
    fn the_601st_line_is_told() {
        let file = |lines: usize| Source::new("crates/model/src/long.rs", &"//\n".repeat(lines));
        assert!(find(&file(600)).is_empty());
        assert_eq!(told(&find(&file(601))), ["601: file has 601 lines, at most 600 are allowed"]);
    }
}
