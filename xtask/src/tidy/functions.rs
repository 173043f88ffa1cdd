//! A function of more than 70 lines does more than one thing; tests may be long stories.

use super::Finding;
use super::source::{Source, item_end};

const LINES_MAX: usize = 70;

pub fn find(source: &Source) -> Vec<Finding> {
    let starts =
        source.lines.iter().enumerate().filter(|(_, line)| !line.in_test && starts_function(&line.code));
    let too_long = starts.filter_map(|(start, line)| {
        let lines = item_end(&source.lines, start, 0)? - start + 1;
        let message = format!("function has {lines} lines, at most {LINES_MAX} are allowed");
        (lines > LINES_MAX).then(|| source.finding(line.number, message))
    });
    too_long.collect()
}

fn starts_function(code: &str) -> bool {
    const BEFORE: [&str; 6] = ["pub", "default", "async", "const", "unsafe", "extern"];
    let mut words = code.split_whitespace();
    words.find(|word| !BEFORE.contains(word) && !word.starts_with("pub(")) == Some("fn")
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::tidy::source::Source;
    use crate::tidy::told;

    fn function(head: &str, lines: usize) -> String {
        format!("{head} {{\n{}}}\n", "    call(\"}\");\n".repeat(lines - 2))
    }

    fn found(text: &str) -> Vec<String> {
        told(&find(&Source::new("crates/engine/src/a.rs", text)))
    }

    #[test]
    fn the_71st_line_is_told() {
        assert!(found(&function("fn a()", 70)).is_empty());
        let told = ["2: function has 71 lines, at most 70 are allowed"];
        assert_eq!(found(&format!("\n{}", function("pub(crate) async fn a(x: [u8; 4])", 71))), told);
    }

    #[test]
    fn tests_and_bare_signatures_do_not_count() {
        assert!(found(&format!("#[cfg(test)]\nmod tests {{\n{}}}", function("fn a()", 99))).is_empty());
        assert!(
            found(&format!("trait A {{\nfn a(x: [u8; 4]);\n{}}}", "const B: u8 = 1;\n".repeat(99)))
                .is_empty()
        );
    }
}
