//! `docs/reference/cli.md`: the page that is made from what can be typed, and the test that holds it to it.

use super::help::{EXIT_CODES, GROUPS};
use super::{command, examples};
use clap::{Arg, Command};
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");

const HEAD: &str = "# Commands

Made from the code by `STEPFAST_BLESS=1 cargo nextest run -p stepfast reference`; a test compares.

Data goes to standard output, messages to standard error. `--json` prints one object a line, instants as RFC 3339 in UTC, and what a field is called stays as it is. Tables
fit the terminal: wide columns are cut, and the last left out where there is no room; piped, they are whole. Colours are only for a terminal, and not where `NO_COLOR` is set. `--watch`
repeats a command every two seconds, `--watch=10` every ten, until Ctrl-C.

Completions for your shell: `stepfast completions bash`, `zsh` or `fish`.
";

#[test]
fn the_page_of_commands_says_what_can_be_typed() {
    let page = page();
    if std::env::var("STEPFAST_BLESS").is_ok_and(|value| value == "1") {
        std::fs::write(PAGE, &page).unwrap();
    }
    let stored = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        stored == page,
        "docs/reference/cli.md is not what can be typed; STEPFAST_BLESS=1 writes it anew"
    );
}

fn page() -> String {
    let mut command = command();
    command.build();
    let mut page = HEAD.to_string();
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    EXIT_CODES.iter().for_each(|(code, means)| line(&mut page, &format!("| {code} | {means} |")));
    page.push_str("\n## Options of every command\n\n");
    options(&mut page, command.get_arguments().filter(|arg| arg.is_global_set()));
    for (head, names) in GROUPS {
        line(&mut page, &format!("\n## {head}"));
        for verb in names.iter().filter_map(|name| command.find_subcommand(name)) {
            describe(&mut page, verb, verb.get_name(), 3);
        }
    }
    page
}

fn line(page: &mut String, text: &str) {
    let _ = writeln!(page, "{text}");
}

fn describe(page: &mut String, verb: &Command, path: &str, depth: usize) {
    let about = verb.get_long_about().or(verb.get_about()).map(ToString::to_string).unwrap_or_default();
    line(page, &format!("\n{} stepfast {path}\n\n{}.", "#".repeat(depth), about.trim_end_matches('.')));
    let own = || verb.get_arguments().filter(|arg| !arg.is_global_set() && !arg.is_hide_set());
    let own = || own().filter(|arg| !matches!(arg.get_id().as_str(), "help" | "version"));
    if own().next().is_some() {
        page.push('\n');
        options(page, own());
    }
    if let Some(lines) = examples::all().get(path) {
        line(page, "\n```console");
        lines.iter().for_each(|text| line(page, &format!("$ {text}")));
        line(page, "```");
    }
    for below in verb.get_subcommands().filter(|below| below.get_name() != "help") {
        describe(page, below, &format!("{path} {}", below.get_name()), 4);
    }
}

fn options<'a>(page: &mut String, of: impl Iterator<Item = &'a Arg>) {
    line(page, "| option | meaning | default | environment |\n|---|---|---|---|");
    for arg in of {
        let env = arg.get_env().map(|name| format!("`{}`", name.to_string_lossy())).unwrap_or_default();
        let meaning = meaning(arg) + &words(arg);
        line(page, &format!("| `{}` | {meaning} | {} | {env} |", name(arg), default(arg)));
    }
}

/// A line of a table holds no line.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    help.replace('\n', " ").replace('|', "\\|").replace('<', "\\<")
}

/// The words that it takes, where only some are.
fn words(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let words: Vec<String> =
        arg.get_possible_values().iter().map(|word| format!("`{}`", word.get_name())).collect();
    if words.is_empty() { String::new() } else { format!(": one of {}", words.join(", ")) }
}

fn default(arg: &Arg) -> String {
    let shown = arg.get_action().takes_values() && !arg.is_hide_default_value_set();
    let values: Vec<String> =
        arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if shown { values.join(", ") } else { String::new() }
}

fn name(arg: &Arg) -> String {
    let value = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let value = value.unwrap_or_else(|| arg.get_id().as_str().to_uppercase()).replace('|', "\\|");
    let optional = arg.get_num_args().is_some_and(|n| n.min_values() == 0);
    match (arg.get_long(), arg.get_action().takes_values()) {
        (Some(long), false) => format!("--{long}"),
        (Some(long), true) if optional => format!("--{long}[={value}]"),
        (Some(long), true) => format!("--{long} {value}"),
        (None, _) => value,
    }
}
