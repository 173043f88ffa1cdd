//! `--watch`: which commands can be looked at for long, and how often.

use clap::{Arg, ArgMatches, Command, value_parser};
use std::time::Duration;

/// What a person leaves open on a second screen. `progress` and `watch` follow one thing to its end instead.
pub const WATCHED: [&str; 18] = [
    "status",
    "groups",
    "nodes",
    "ticks",
    "list",
    "show",
    "steps list",
    "steps show",
    "message-groups list",
    "message-groups show",
    "pools list",
    "polls",
    "pauses",
    "executions list",
    "flows list",
    "flows show",
    "alerts list",
    "alerts figures",
];

const HELP: &str = "Look again every so many seconds, until Ctrl-C; without a number every two";

/// The same commands, with the option where it makes sense.
pub fn watched(command: Command) -> Command {
    WATCHED.iter().fold(command, |command, path| added(command, path))
}

fn added(command: Command, path: &str) -> Command {
    match path.split_once(' ') {
        Some((noun, verb)) => command.mut_subcommand(noun, |noun| added(noun, verb)),
        None => command.mut_subcommand(path, |verb| verb.arg(option())),
    }
}

fn option() -> Arg {
    Arg::new("watch")
        .long("watch")
        .value_name("SECONDS")
        .num_args(0..=1)
        // `list --watch` must not take what follows for a number.
        .require_equals(true)
        .default_missing_value("2")
        .value_parser(value_parser!(u64).range(1..=3_600))
        .help(HELP)
}

/// How often somebody wants to look, if again at all.
pub fn every(typed: &ArgMatches) -> Option<Duration> {
    let mut at = typed;
    while let Some((_, below)) = at.subcommand() {
        at = below;
    }
    let seconds = at.try_get_one::<u64>("watch").ok().flatten()?;
    Some(Duration::from_secs(*seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, command, paths};
    use clap::CommandFactory;

    fn asked(line: &str) -> Result<Option<Duration>, clap::Error> {
        command().try_get_matches_from(line.split(' ')).map(|typed| every(&typed))
    }

    #[test]
    fn it_is_two_seconds_unless_it_is_said_otherwise() {
        assert_eq!(asked("stepfast status").unwrap(), None);
        assert_eq!(asked("stepfast status --watch").unwrap(), Some(Duration::from_secs(2)));
        assert_eq!(asked("stepfast show --watch ID").unwrap(), Some(Duration::from_secs(2)));
        assert_eq!(asked("stepfast steps list --watch=7 --json").unwrap(), Some(Duration::from_secs(7)));
        assert!(asked("stepfast status --watch=0").is_err());
        assert!(asked("stepfast cancel ID --watch").is_err());
    }

    #[test]
    fn what_can_be_watched_is_a_command() {
        let known = paths(&Cli::command());
        let strange: Vec<&&str> =
            WATCHED.iter().filter(|path| !known.iter().any(|one| one == *path)).collect();
        assert!(strange.is_empty(), "{strange:?}");
    }

    #[test]
    fn what_follows_something_to_its_end_has_a_flag_of_its_own() {
        assert_eq!(asked("stepfast progress ID --watch").unwrap(), None);
    }
}
