//! No test is ignored: a wrong behaviour of today is asserted with a note.

use super::Finding;
use super::source::Source;

pub fn find(source: &Source) -> Vec<Finding> {
    let ignored = source.lines.iter().filter(|line| line.code.contains("#[ignore"));
    ignored
        .map(|line| source.finding(line.number, "a test is ignored; assert what happens today instead"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::tidy::source::Source;
    use crate::tidy::told;

    #[test]
    fn an_ignored_test_is_told() {
        let text = "#[test]\n#[ignore = \"slow\"]\nfn a() {}\n// #[ignore]\n";
        let told = told(&find(&Source::new("crates/store/tests/a.rs", text)));
        assert_eq!(told, ["2: a test is ignored; assert what happens today instead"]);
    }
}
