//! `model` and `rules` know no clock, no dice, no I/O and no async.

use super::Finding;
use super::source::{Source, names};

const PURE: [&str; 2] = ["crates/model/src", "crates/rules/src"];

const FORBIDDEN: [&str; 11] = [
    "SystemTime",
    "Instant::now",
    "thread_rng",
    "rand::",
    "async",
    "tokio",
    "rusqlite",
    "std::fs",
    "std::net",
    "println!",
    "eprintln!",
];

pub fn find(source: &Source) -> Vec<Finding> {
    if !PURE.iter().any(|folder| source.path.starts_with(folder)) {
        return Vec::new();
    }
    let breaches = source.lines.iter().flat_map(|line| {
        let named = FORBIDDEN.iter().filter(|word| names(&line.code, word));
        named.map(|word| source.finding(line.number, format!("`{word}` has no place in a pure crate")))
    });
    breaches.collect()
}

#[cfg(test)]
mod tests {
    use super::{FORBIDDEN, find};
    use crate::tidy::source::Source;
    use crate::tidy::told;

    #[test]
    fn every_forbidden_word_is_told_in_a_pure_crate_only() {
        for word in FORBIDDEN {
            let text = format!("//! About {word}.\nlet a = {word} (b);\n");
            let told = told(&find(&Source::new("crates/rules/src/pick.rs", &text)));
            assert_eq!(told, [format!("2: `{word}` has no place in a pure crate")]);
            assert!(find(&Source::new("crates/engine/src/pick.rs", &text)).is_empty());
        }
    }
}
