//! The parts on which most hangs when a workflow fails: every line of them is reached by a test.

use super::lcov::FileLines;
use anyhow::{Result, ensure};
use std::path::Path;

/// What each part is in our code. What is decided is in the rules; whoever shows who they are to a trigger is looked at by the server.
pub const PARTS: [(&str, &[&str]); 7] = [
    ("failure resolution", &["crates/rules/src/workflow/resolution.rs", "crates/rules/src/backoff.rs"]),
    (
        "retry from a step",
        &["crates/rules/src/workflow/resolution.rs", "crates/rules/src/workflow/progress.rs"],
    ),
    ("compensation", &["crates/rules/src/workflow/compensation.rs", "crates/rules/src/workflow/undoing.rs"]),
    ("conditions of branches", &["crates/rules/src/workflow/mod.rs", "crates/rules/src/workflow/graph.rs"]),
    ("polls", &["crates/rules/src/workflow/poll.rs"]),
    (
        "triggers",
        &[
            "crates/rules/src/workflow/pause.rs",
            "crates/rules/src/workflow/shape.rs",
            "crates/server/src/triggers/signed.rs",
        ],
    ),
    (
        "state machines",
        &[
            "crates/rules/src/machine/mod.rs",
            "crates/rules/src/workflow/machine.rs",
            "crates/rules/src/workflow/pause/machine.rs",
        ],
    ),
];

/// Every part whole, or an error that names the lines.
pub fn conclude(files: &[FileLines]) -> Result<()> {
    let mut left = Vec::new();
    for (part, paths) in PARTS {
        for path in paths {
            match files.iter().find(|file| file.path == Path::new(path)) {
                None => left.push(format!("{part}: no line of {path} was counted")),
                Some(file) if file.reached() < file.counts.len() => {
                    left.push(format!("{part}: {path}: not reached: {}", file.unreached()));
                }
                Some(_) => {}
            }
        }
    }
    left.iter().for_each(|line| println!("{line}"));
    ensure!(
        left.is_empty(),
        "of these parts every line is tested; test the lines named above, or delete them"
    );
    println!("coverage: every line of {} parts on which most hangs", PARTS.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{PARTS, conclude};
    use crate::coverage::lcov::FileLines;
    use crate::repo;

    fn whole() -> Vec<FileLines> {
        let paths = PARTS.iter().flat_map(|(_, paths)| paths.iter());
        paths.map(|path| FileLines { path: path.into(), counts: [(1, 1)].into() }).collect()
    }

    #[test]
    fn a_line_that_no_test_reaches_is_refused() {
        conclude(&whole()).unwrap();
        let mut files = whole();
        files[1].counts.insert(2, 0);
        assert!(conclude(&files).unwrap_err().to_string().contains("every line is tested"));
        files.truncate(5);
        assert!(conclude(&files).is_err(), "what was not counted was not tested");
    }

    #[test]
    fn the_files_are_there() {
        for path in PARTS.iter().flat_map(|(_, paths)| paths.iter()) {
            assert!(repo::root().join(path).is_file(), "there is no {path}");
        }
    }

    /// The page that says what is tested names them.
    #[test]
    fn the_page_names_every_part_and_its_files() {
        let page = include_str!("../../../docs/testing.md");
        for (part, paths) in PARTS {
            let files: Vec<String> =
                paths.iter().map(|path| format!("`{}`", path.trim_start_matches("crates/"))).collect();
            let row = format!("| {part} | {} |", files.join(", "));
            assert!(page.contains(&row), "docs/testing.md has no row `{row}`");
        }
    }
}
