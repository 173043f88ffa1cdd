//! What is written against the command line: every `stepfast …` that a document shows can be typed as it stands, and every one
//! that the product names is a command.

use super::command;
use clap::error::ErrorKind;
use std::path::{Path, PathBuf};

/// What stands before a command in a line.
const BEFORE: [&str; 7] = ["$(", "&& ", "|| ", "| ", "do ", "if ", "; "];

fn files(folder: &Path, kind: &str, into: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => files(&path, kind, into),
            false if path.extension().is_some_and(|ending| ending == kind) => into.push(path),
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
    files(&root.join("docs"), "md", &mut all);
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

/// Commands that a line of source names: between backticks in a text, and as code on a page.
fn named(line: &str) -> Vec<String> {
    let between = |open: &str, close: char| -> Vec<String> {
        let starts = line.match_indices(open).map(|(at, _)| &line[at + open.len()..]);
        let named = starts.filter_map(|rest| rest.split_once(close).map(|(named, _)| named));
        named.map(String::from).collect()
    };
    [between("`stepfast ", '`'), between("code { \"stepfast ", '"'), between("payload { \"stepfast ", '"')]
        .concat()
}

/// Whether the words lead to a command; what it needs may be left out, and what is filled in is a number.
fn leads_to_a_command(words: &str) -> Result<(), String> {
    let filled = words.split_whitespace().map(|word| if word.starts_with('{') { "7" } else { word });
    let words = std::iter::once("stepfast").chain(filled);
    match command().try_get_matches_from(words).map_err(|refused| (refused.kind(), refused.to_string())) {
        Ok(_) => Ok(()),
        Err((
            ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
            _,
        )) => Ok(()),
        Err((_, refused)) => Err(refused.lines().next().unwrap_or_default().into()),
    }
}

#[test]
fn every_command_that_the_product_names_is_one() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut faults, mut tried) = (Vec::new(), Vec::new());
    for folder in ["server/src/web", "server/src", "rules/src", "engine/src", "store/src", "definition/src"] {
        let mut all = Vec::new();
        files(&crates.join(folder), "rs", &mut all);
        let mut of_folder = 0;
        for path in all {
            let text = std::fs::read_to_string(&path).unwrap();
            for words in text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(named) {
                of_folder += 1;
                let told = |why| faults.push(format!("{}: stepfast {words}: {why}", path.display()));
                leads_to_a_command(&words).unwrap_or_else(told);
            }
        }
        tried.push(of_folder);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tried[0] >= 10 && tried.iter().sum::<usize>() > 40, "{tried:?} commands were tried");
    assert!(leads_to_a_command("workflows").is_err() && leads_to_a_command("subscriptions create").is_err());
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
