//! What is wrong with an expression: as it is written (`Fault`), or with the values it met (`Failure`).

use thiserror::Error;

/// An expression that cannot be compiled. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message} (line {line}, column {column}); {fix}")]
pub struct Fault {
    pub message: String,
    pub line: u32,
    pub column: u32,
    /// What to write instead.
    pub fix: String,
}

/// An expression that has no answer for these values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Failure {
    pub message: String,
}

impl Fault {
    /// `offset` counts bytes.
    pub(crate) fn at(
        source: &str,
        offset: usize,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Fault {
        let (line, column) = position(source, offset);
        Fault { message: message.into(), line, column, fix: fix.into() }
    }
}

fn position(source: &str, offset: usize) -> (u32, u32) {
    let before = source.char_indices().take_while(|(at, _)| *at < offset);
    before.fold((1, 1), |(line, column), (_, char)| match char {
        '\n' => (line + 1, 1),
        _ => (line, column + 1),
    })
}

/// At most so many characters, for messages.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_lines_from_one() {
        assert_eq!(position("abc", 0), (1, 1));
        assert_eq!(position("äöü + x", 9), (1, 7));
        assert_eq!(position("a +\n  b", 6), (2, 3));
        assert_eq!(position("a", 9), (1, 2));
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß", 3), "äöü…");
    }
}
