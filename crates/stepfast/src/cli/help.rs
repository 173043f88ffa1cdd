//! The help of the whole: commands by what they are for, examples beneath each, what an exit code means.

use super::{Cli, again, examples, usual};
use clap::builder::Styles;
use clap::{Arg, Command, CommandFactory};
use std::collections::BTreeMap;

/// What people come for, in the order in which they meet it.
pub const GROUPS: [(&str, &[&str]); 7] = [
    ("Start here", &["demo", "serve", "worker", "run", "dispatch"]),
    ("Definitions", &["validate", "graph", "diff", "schema", "apply", "definitions"]),
    (
        "Workflows",
        &[
            "start", "list", "show", "watch", "progress", "pause", "resume", "cancel", "trigger", "pauses",
            "polls", "events",
        ],
    ),
    (
        "When something failed",
        &[
            "resolve",
            "retry-from",
            "compensate",
            "skip-compensation",
            "retry-compensation",
            "bulk",
            "stuck",
            "alerts",
            "notify",
        ],
    ),
    (
        "Steps and what they share",
        &["steps", "message-groups", "pools", "executions", "flows", "subscriptions", "router"],
    ),
    ("The engine", &["status", "groups", "nodes", "ticks", "breaker", "drain"]),
    ("Upkeep", &["audit", "check", "migrate", "backup", "archive", "purge", "keys", "bench", "completions"]),
];

/// What a program may rely on.
pub const EXIT_CODES: [(u8, &str); 5] = [
    (0, "done"),
    (1, "the answer is no: not safe yet, something differs or was found, a workflow did not succeed"),
    (2, "wrong usage"),
    (3, "refused, with the reason; also a file or an option that cannot be read"),
    (4, "the database or the server does not answer, or not in a way that is understood"),
];

/// Columns of help where nobody knows how wide the terminal is.
const COLUMNS: usize = 100;
/// Where the words about a command begin.
const INDENT: usize = 22;

/// All that can be typed, with the help that teaches it.
pub fn command() -> Command {
    let command = again::watched(Cli::command()).mut_args(apart);
    let command = taught(command, "", &examples::all());
    let columns = crate::screen::width().map_or(COLUMNS, usize::from).min(COLUMNS);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\n{}\n{{options}}{{after-help}}",
        grouped(&command, columns),
        heading("Options")
    );
    command.help_template(template).after_help(codes())
}

/// What every command takes stands behind what only one does.
fn apart(arg: Arg) -> Arg {
    if arg.is_global_set() { arg.help_heading("Options of every command") } else { arg }
}

/// Every command that can be typed, by its path, in order.
#[cfg(test)]
pub fn paths(command: &Command) -> Vec<String> {
    fn below(command: &Command, path: &str, into: &mut Vec<String>) {
        for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
            let path = format!("{path} {}", verb.get_name());
            into.push(path.trim_start().to_string());
            below(verb, &path, into);
        }
    }
    let mut all = Vec::new();
    below(command, "", &mut all);
    all
}

fn taught(command: Command, path: &str, examples: &BTreeMap<&str, Vec<&str>>) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_string()).collect();
    let command = usual::explained(command);
    let mut command = match examples.get(path) {
        Some(lines) => {
            let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
            command.after_help(format!("{}{lines}", heading("Examples")))
        }
        None => command,
    };
    for name in names {
        let below = format!("{path} {name}");
        command = command.mut_subcommand(name, |verb| taught(verb, below.trim_start(), examples));
    }
    command
}

fn heading(text: &str) -> String {
    let styles = Styles::styled();
    let style = styles.get_header();
    format!("{style}{text}:{style:#}")
}

fn codes() -> String {
    let lines = EXIT_CODES.iter().map(|(code, means)| format!("\n  {code}  {means}"));
    let more = "\n\n`stepfast help COMMAND` shows the options of one and examples to type.";
    format!("{}{}{more}", heading("Exit codes"), lines.collect::<String>())
}

/// The commands under their headings; one that stands under none comes last, so that nothing is hidden.
fn grouped(command: &Command, columns: usize) -> String {
    let named = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let rest: Vec<&str> =
        command.get_subcommands().map(Command::get_name).filter(|name| !named(name)).collect();
    let groups = GROUPS.iter().map(|(head, names)| (*head, names.to_vec()));
    let groups = groups.chain([("More", rest)]).filter(|(_, names)| !names.is_empty());
    groups.map(|(head, names)| format!("\n{}\n{}", heading(head), listed(command, &names, columns))).collect()
}

fn listed(command: &Command, names: &[&str], columns: usize) -> String {
    let style = Styles::styled();
    let literal = style.get_literal();
    let mut text = String::new();
    for verb in names.iter().filter_map(|name| command.find_subcommand(name)) {
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        let room = columns.saturating_sub(INDENT).max(20);
        let lines = wrapped(&about, room).join(&format!("\n{:INDENT$}", ""));
        let pad = INDENT.saturating_sub(2 + verb.get_name().len());
        text.push_str(&format!("  {literal}{}{literal:#}{:pad$}{lines}\n", verb.get_name(), ""));
    }
    text
}

/// Broken between words.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_under_one_heading() {
        let command = Cli::command();
        for verb in command.get_subcommands().map(Command::get_name) {
            let headings = GROUPS.iter().filter(|(_, names)| names.contains(&verb)).count();
            assert_eq!(headings, 1, "`{verb}` stands under {headings} headings of cli/help.rs");
        }
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(command.find_subcommand(name).is_some(), "`{name}` is no command");
        }
    }

    #[test]
    fn the_top_help_has_groups_options_and_exit_codes_and_fits() {
        let help = command().render_long_help().to_string();
        for part in ["Start here:\n  demo ", "Upkeep:\n", "Options:\n", "--json", "Exit codes:\n  0  done"] {
            assert!(help.contains(part), "{part:?} in {help}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= COLUMNS), "{help}");
        assert!(!help.contains('{'), "{help}");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("extraordinary", 5), ["extraordinary"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
