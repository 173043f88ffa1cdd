//! What is shown beneath the help of each command: lines that can be typed as they stand.
//!
//! Why    they are one text and not an attribute of each command: they are read together, and a test types every one of them.

use std::collections::BTreeMap;

const TEXT: &str = include_str!("examples.txt");

/// The lines of each command, by its path: `steps create`.
pub fn all() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut path = "";
    for line in TEXT.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => path = name,
            None => found.entry(path).or_default().push(line),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{command, paths};

    /// The words of a line as a shell would give them, up to where it sends the output elsewhere.
    fn words(line: &str) -> Vec<String> {
        let line = line.split("  # ").next().unwrap_or_default();
        let line = line.split(" > ").next().unwrap_or_default();
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in line.trim().chars() {
            match (quote, c) {
                (Some(open), _) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, ' ') => words.push(std::mem::take(&mut word)),
                _ => word.push(c),
            }
        }
        words.push(word);
        words.retain(|word| !word.is_empty());
        words
    }

    /// The command that a line asks for.
    fn asked(line: &str) -> Result<String, String> {
        let found = command().try_get_matches_from(words(line)).map_err(|e| e.to_string())?;
        let (mut path, mut at) = (Vec::new(), &found);
        while let Some((name, below)) = at.subcommand() {
            path.push(name.to_string());
            at = below;
        }
        Ok(path.join(" "))
    }

    #[test]
    fn every_command_has_an_example_and_every_example_a_command() {
        let (examples, paths) = (all(), paths(&command()));
        let without: Vec<&String> =
            paths.iter().filter(|path| !examples.contains_key(path.as_str())).collect();
        assert!(without.is_empty(), "write examples in cli/examples.txt for {without:?}");
        let strange: Vec<&&str> = examples.keys().filter(|path| !paths.iter().any(|p| p == **path)).collect();
        assert!(strange.is_empty(), "cli/examples.txt has examples of {strange:?}, which nobody can type");
    }

    #[test]
    fn every_example_can_be_typed() {
        let mut faults = Vec::new();
        for (path, lines) in all() {
            for line in lines {
                match asked(line) {
                    // One of a noun is about one of its verbs.
                    Ok(asked) if asked == path || asked.starts_with(&format!("{path} ")) => {}
                    Ok(asked) => faults.push(format!("[{path}] {line}: that is `{asked}`")),
                    Err(refused) => faults.push(format!("[{path}] {line}: {refused}")),
                }
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn the_help_of_every_command_shows_its_examples() {
        fn look(command: &mut clap::Command, path: &str, examples: &BTreeMap<&str, Vec<&str>>) {
            let shown = command.render_long_help().to_string();
            // A line that is longer than the screen goes on in the next.
            let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (_, shown) = shown.split_once("Examples:").unwrap_or_default();
            let shown = joined(shown);
            for line in examples.get(path).into_iter().flatten() {
                assert!(shown.contains(&joined(line)), "{path}: {line} in {shown}");
            }
            for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
                let path = format!("{path} {}", below.get_name());
                look(below, path.trim_start(), examples);
            }
        }
        let mut command = command();
        command.build();
        look(&mut command, "", &all());
    }

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(
            words("stepfast run a.yaml --input '{\"id\": 7}'  # why"),
            ["stepfast", "run", "a.yaml", "--input", "{\"id\": 7}"]
        );
        assert_eq!(words("stepfast schema > file"), ["stepfast", "schema"]);
        assert!(asked("stepfast sho ID").is_err());
    }
}
