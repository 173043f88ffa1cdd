//! How the actions say what came of them.

use model::{Failure, Outcome, limits};
use serde::Serialize;
use std::fmt::Display;
use std::time::Duration;

pub fn failed(message: impl Into<String>) -> Outcome {
    Outcome::Fail { failure: failure(message), notify: true }
}

pub fn again(message: impl Into<String>, after: Option<Duration>) -> Outcome {
    Outcome::Retry { after, failure: Some(failure(message)) }
}

fn failure(message: impl Into<String>) -> Failure {
    Failure { message: message.into(), trace: None }
}

pub fn bad_arguments(action: &str, example: &str, problem: &dyn Display) -> Outcome {
    failed(format!("`{action}` does not understand its arguments: {problem}; write for example {example}"))
}

/// Complete with this, unless it is more than a step can hold: what is text may grow when it is written as JSON.
pub fn complete(action: &str, response: &impl Serialize) -> Outcome {
    let text = match serde_json::to_string(response) {
        Ok(text) => text,
        Err(problem) => return failed(format!("what `{action}` got cannot be written as JSON: {problem}")),
    };
    if text.len() > limits::PAYLOAD_BYTES_MAX {
        return failed(format!(
            "what `{action}` got takes {} bytes as JSON, and a step holds {}; ask for less",
            text.len(),
            limits::PAYLOAD_BYTES_MAX
        ));
    }
    Outcome::Complete { response: Some(text) }
}

/// At most so many characters on one line, for a message: text from outside may hold anything.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty());
    let mut line = words.next().unwrap_or_default().to_string();
    for word in words {
        line.push(' ');
        line.push_str(word);
    }
    match line.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_short_and_has_no_control_characters() {
        assert_eq!(one_line(" a\0b\r\n\tc  d ", 20), "a b c d");
        assert_eq!(one_line("żółw żółw", 4), "żółw…");
        assert_eq!(one_line("", 4), "");
    }

    #[test]
    fn what_does_not_fit_in_a_step_is_a_failure_that_says_so() {
        let Outcome::Fail { failure, .. } = complete("exec", &"\u{1}".repeat(limits::PAYLOAD_BYTES_MAX / 5))
        else {
            panic!("it fits");
        };
        assert!(failure.message.contains("a step holds 1048576; ask for less"), "{}", failure.message);
    }
}
