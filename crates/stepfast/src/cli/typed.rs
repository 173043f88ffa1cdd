//! The documents against the command line: every `stepfast …` that a page shows can be typed as it stands.

use super::command;
use std::path::{Path, PathBuf};

/// What stands before a command in a line.
const BEFORE: [&str; 7] = ["$(", "&& ", "|| ", "| ", "do ", "if ", "; "];

fn pages(folder: &Path, into: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => pages(&path, into),
            false if path.extension().is_some_and(|ending| ending == "md") => into.push(path),
            false => {}
        }
    }
}

/// The lines of the shell blocks of a page, those that go on joined.
fn shell(page: &str) -> Vec<String> {
    let blocks = page.split("\n```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.strip_prefix("sh\n").or(block.strip_prefix("console\n")));
    let joined = blocks.map(|block| block.replace("\\\n", " "));
    joined.flat_map(|block| block.lines().map(String::from).collect::<Vec<_>>()).collect()
}

/// The words of the first `stepfast` of a line, as a shell gives them; none where there is none.
fn typed(line: &str) -> Option<Vec<String>> {
    let line = line.trim_start_matches("$ ").split(" #").next()?.trim();
    let found = line.find("stepfast ").filter(|found| {
        let before = &line[..*found];
        // The name of a user or a container is no command.
        before.is_empty() || BEFORE.iter().any(|word| before.ends_with(word))
    })?;
    let at = found + "stepfast ".len();
    let (mut words, mut word, mut quote) = (vec!["stepfast".to_string()], String::new(), None);
    for c in line[at..].chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '|' | '>' | '<' | '&' | ';' | ')') => break,
            (None, ' ') => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    // The shell puts an id there; those of alerts are numbers.
    words.iter_mut().filter(|word| *word == "$ID").for_each(|word| *word = "7".into());
    Some(words)
}

#[test]
fn every_command_on_a_page_can_be_typed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = vec![root.join("README.md")];
    pages(&root.join("docs"), &mut all);
    let (mut faults, mut tried) = (Vec::new(), 0);
    for page in all {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in shell(&text) {
            let Some(words) = typed(&line) else { continue };
            tried += 1;
            if let Err(refused) = command().try_get_matches_from(&words) {
                let why = refused.to_string();
                faults.push(format!(
                    "{}: {line}: {}",
                    page.display(),
                    why.lines().next().unwrap_or_default()
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tried > 200, "{tried} commands were tried");
}

#[test]
fn lines_are_read_as_a_shell_reads_them() {
    assert_eq!(
        typed("id=$(stepfast start a --input '{\"b\": 1}')  # why").unwrap(),
        ["stepfast", "start", "a", "--input", "{\"b\": 1}"]
    );
    assert_eq!(typed("stepfast serve --port 0 > out &").unwrap(), ["stepfast", "serve", "--port", "0"]);
    assert_eq!(typed("rm stepfast.db"), None);
    assert_eq!(typed("install -o root -g stepfast -m 640 file"), None);
}
