//! What is wrong with text that is neither YAML nor JSON, in words for who wrote it.

use granit_parser::{ErrorKind, ScanError};

/// What is wrong, and what to write.
pub(super) fn explain(error: &ScanError) -> (String, &'static str) {
    use ErrorKind as E;
    let (message, fix) = match error.kind() {
        E::UnknownAnchor => (
            "nothing is named so with `&` before",
            "write `&name` at the value it stands for, or put text in quotes",
        ),
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabInIndentation
        | E::TabInPlainScalar
        | E::TabAtBlockScalarStart => ("a tab is used to indent", "indent with spaces"),
        E::MappingValueNotAllowed | E::InvalidColonPlacement | E::FlowMappingValueAdjacentCollection => (
            "a `:` cannot stand here",
            "put text with `: ` in quotes; indent keys of one mapping equally; close brackets before",
        ),
        E::InvalidIndentation | E::ExpectedBlockMappingKey | E::SimpleKeyExpected | E::InvalidSimpleKey => {
            ("a key with `:` is expected here", "write `key: value`, indented as the keys before it")
        }
        E::UnclosedQuotedScalar
        | E::InvalidQuotedScalarIndent
        | E::DocumentIndicatorInQuotedScalar
        | E::InvalidTrailingSingleQuotedScalar
        | E::InvalidTrailingDoubleQuotedScalar => (
            "text in quotes does not end where it should",
            "close the quotes; write a quote inside of them twice, or use the other kind",
        ),
        E::UnknownQuotedScalarEscape | E::InvalidQuotedScalarHexEscape | E::InvalidUnicodeEscape => (
            "a `\\` in double quotes begins something that is not known",
            "write `\\\\` for a backslash, or use single quotes",
        ),
        E::UnclosedFlowCollection { .. }
        | E::UnexpectedEofFlowSequence
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofImplicitFlowMapping => ("a bracket is not closed", "close it with `]` or `}`"),
        E::MisplacedFlowCollectionEnd | E::MismatchedFlowCollectionEnd { .. } => (
            "a bracket is closed that is not open",
            "remove it, or close with the same kind it was opened with",
        ),
        E::ExpectedFlowMappingSeparator | E::ExpectedFlowSequenceSeparator => {
            ("a `,` is missing between values in brackets", "write `,` between them, and close the bracket")
        }
        E::UnexpectedCharacter { character } => {
            return (format!("text cannot begin with `{}`", character.escape_default()), "put it in quotes");
        }
        E::RecursionLimitExceeded => ("this is nested too deep", "nest lists and mappings at most 64 deep"),
        E::ExpectedDocumentStart
        | E::InvalidDocumentEnd
        | E::ExpectedNodeContent
        | E::ExpectedBlockSequenceEntry => (
            "this does not belong to what is above it",
            "indent it as what it belongs with: keys of one mapping and items of one list equally",
        ),
        kind => {
            return (
                format!("this is neither YAML nor JSON: {}", words(kind)),
                "look at indentation, quotes and brackets here",
            );
        }
    };
    (message.into(), fix)
}

/// The name of a kind of error as words: most say enough, and few are ever met.
fn words(kind: &ErrorKind) -> String {
    let mut words = String::new();
    for c in format!("{kind:?}").chars().take_while(char::is_ascii_alphanumeric) {
        if c.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}
