//! What an option means that is called the same everywhere and says nothing of its own.

use clap::{Arg, Command};

const MEANINGS: [(&str, &str); 34] = [
    ("action", "The action"),
    ("after", "Only those behind this one: the next page"),
    ("block", "The block it stands in"),
    ("by", "Who, for the record; the user's own name by default"),
    ("channel", "The channel, by its name"),
    ("dispatch_group", "The dispatch group"),
    ("dry_run", "Say what would be done, and do nothing"),
    ("entity_id", "Which of them, by its id"),
    ("flow_key", "Which of its kind"),
    ("group", "The dispatch group"),
    ("id", "Which one, by its id"),
    ("ids", "Which ones, by their ids"),
    ("kind", "The kind of flow, as payment_processing"),
    ("label", "Words for people"),
    ("limit", "Rows to list"),
    ("message", "What the one whom it is done for may read"),
    ("name", "Its name"),
    ("namespace", "The kind of work, as payments.charge"),
    ("pool", "The pool, by its name"),
    ("queue", "The queue"),
    ("relatable_id", "Which one of these it is about"),
    ("relatable_type", "What it is about, as order"),
    ("resume", "Deliver again"),
    ("rule", "The rule, by its name"),
    ("shell", "The shell"),
    ("step", "The step, by its key"),
    ("step_key", "A word of yours to find it by"),
    ("switch", "Which way"),
    ("target", "Its address"),
    ("types", "Kinds of events"),
    ("url", "Where each event is delivered"),
    ("user", "Whom it is done for"),
    ("why", "Why, for the record"),
    ("workflow", "The workflow, by its id"),
];

/// The same command, with words for options that have none.
pub fn explained(command: Command) -> Command {
    command.mut_args(|arg| match arg.get_help() {
        None => meant(arg),
        Some(_) => arg,
    })
}

fn meant(arg: Arg) -> Arg {
    let meaning = MEANINGS.iter().find(|(name, _)| arg.get_id().as_str() == *name);
    match meaning {
        Some((_, means)) => arg.help(*means),
        None => arg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn every_command_and_every_option_says_what_it_is() {
        fn look(command: &Command, path: &str, silent: &mut Vec<String>) {
            for arg in command.get_arguments().filter(|arg| arg.get_help().is_none()) {
                silent.push(format!("{path} {}", arg.get_id()));
            }
            for verb in command.get_subcommands() {
                let path = format!("{path} {}", verb.get_name());
                if verb.get_about().is_none() {
                    silent.push(path.clone());
                }
                look(verb, &path, silent);
            }
        }
        let mut silent = Vec::new();
        look(&command(), "", &mut silent);
        assert!(silent.is_empty(), "write what these are: {silent:?}");
    }

    #[test]
    fn words_stand_in_order_and_once() {
        assert!(MEANINGS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
