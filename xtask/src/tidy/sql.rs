//! Every update of `steps` says which version it saw.

use super::Finding;
use std::path::Path;

const FOLDER: &str = "crates/store/sql";

pub fn find(path: &Path, text: &str) -> Vec<Finding> {
    if !path.starts_with(FOLDER) {
        return Vec::new();
    }
    let message = "`update steps` without the `version` it saw";
    let blind = blind_updates(text);
    blind.into_iter().map(|line| Finding { path: path.to_owned(), line, message: message.into() }).collect()
}

/// The lines on which an unguarded update begins.
fn blind_updates(text: &str) -> Vec<usize> {
    let bare: Vec<&str> = text.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
    let bare = bare.join("\n").to_lowercase();
    let mut line = 1;
    let mut found = Vec::new();
    for statement in bare.split(';') {
        let words: Vec<&str> = statement.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let updates = words.windows(2).any(|pair| pair == ["update", "steps"]);
        if updates && !words.contains(&"version") {
            let before = statement.find("update").unwrap_or(0);
            found.push(line + statement[..before].matches('\n').count());
        }
        line += statement.matches('\n').count();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::find;
    use std::path::Path;

    fn found(text: &str) -> Vec<usize> {
        let path = Path::new("crates/store/sql/sqlite/move_step.sql");
        find(path, text).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_blind_update_is_told() {
        assert_eq!(found("-- Move.\nUPDATE\n  steps set state = $1 where id = $2"), [2]);
        assert_eq!(found("update steps set state = $1 -- version\n where id = $2"), [1]);
        assert_eq!(found("update steps set a = 1 where version = $2;\nupdate steps set a = 2"), [2]);
    }

    #[test]
    fn a_guarded_update_and_other_tables_pass() {
        assert_eq!(
            found("update steps set state = $1, version = version + 1 where version = $2"),
            [] as [usize; 0]
        );
        assert_eq!(found("update steps_archive set state = $1"), [] as [usize; 0]);
        assert!(find(Path::new("bench/lean.sql"), "update steps set state = 1").is_empty());
    }
}
