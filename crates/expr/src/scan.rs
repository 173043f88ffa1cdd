//! Looks at the text of an expression before anything recurses over it: how deep, how many operators, and where it ends.
//!
//! Why    a stack that overflows ends the process, and the parser recurses over brackets and over operators in a row. Both are
//!        counted here in one loop that knows what is text and what is a comment.

use crate::fault::Fault;
use crate::limits::{NESTING_MAX, NODES_MAX, SOURCE_BYTES_MAX};

/// What the parser is going to recurse over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub nesting: usize,
    pub operators: usize,
}

/// Refuses what is too large to be parsed.
pub(crate) fn shape(source: &str) -> Result<Shape, Fault> {
    if source.len() > SOURCE_BYTES_MAX {
        let message =
            format!("the expression has {} bytes, at most {SOURCE_BYTES_MAX} are allowed", source.len());
        return Err(Fault::at(source, 0, message, "write it shorter, or leave this to an action"));
    }
    let mut shape = Shape::default();
    let mut depth = 0usize;
    for (at, token) in tokens(source) {
        match token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            Token::Operator => shape.operators += 1,
        }
        shape.nesting = shape.nesting.max(depth);
        if depth > NESTING_MAX {
            let message = format!("brackets are nested more than {NESTING_MAX} deep");
            return Err(Fault::at(source, at, message, "nest less, or leave this to an action"));
        }
        if shape.operators > NODES_MAX {
            let message = format!("the expression has more than {NODES_MAX} parts");
            return Err(Fault::at(source, at, message, "write it shorter, or leave this to an action"));
        }
    }
    Ok(shape)
}

/// Where the `}` is that closes what was opened before `text`.
pub(crate) fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0usize;
    let braces = tokens(text).filter_map(|(at, _)| Some(at).zip(text.as_bytes().get(at)));
    for (at, byte) in braces {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return Some(at),
            b'}' => open -= 1,
            _ => {}
        }
    }
    None
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    Operator,
}

/// Brackets and operators with their places; text, names, numbers and comments are passed over.
fn tokens(source: &str) -> impl Iterator<Item = (usize, Token)> {
    let bytes = source.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            let (length, token) = next(&bytes[at..]);
            at += length;
            if let Some(token) = token {
                return Some((start, token));
            }
        }
        None
    })
}

fn next(rest: &[u8]) -> (usize, Option<Token>) {
    match rest[0] {
        b'(' | b'[' | b'{' => (1, Some(Token::Open)),
        b')' | b']' | b'}' => (1, Some(Token::Close)),
        b'"' | b'\'' => (quoted(rest, Escapes::Read), None),
        b'`' => (1 + until(&rest[1..], b"`"), None),
        b'0'..=b'9' => (number(rest), None),
        b'/' if rest.starts_with(b"//") => (until(rest, b"\n"), None),
        b'_' | b'a'..=b'z' | b'A'..=b'Z' => word(rest),
        b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|' | b'?' | b'.' => {
            let pairs: [&[u8]; 6] = [b"==", b"!=", b"<=", b">=", b"&&", b"||"];
            let length = if pairs.iter().any(|pair| rest.starts_with(pair)) { 2 } else { 1 };
            (length, Some(Token::Operator))
        }
        _ => (1, None),
    }
}

fn word(rest: &[u8]) -> (usize, Option<Token>) {
    let length = rest.iter().take_while(|byte| **byte == b'_' || byte.is_ascii_alphanumeric()).count();
    let (word, behind) = rest.split_at(length);
    let prefix = length <= 2 && word.iter().all(|byte| b"rRbB".contains(byte));
    match behind.first() {
        Some(b'"' | b'\'') if prefix => {
            let escapes =
                if word.iter().any(|byte| b"rR".contains(byte)) { Escapes::Keep } else { Escapes::Read };
            (length + quoted(behind, escapes), None)
        }
        _ => (length, (word == b"in").then_some(Token::Operator)),
    }
}

/// A point is part of a number only before a digit: `1.5` has one, `[1].map` does not.
fn number(rest: &[u8]) -> usize {
    let digits = |rest: &[u8]| rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let whole = digits(rest);
    match rest[whole..] {
        [b'.', b'0'..=b'9', ..] => whole + 1 + digits(&rest[whole + 1..]),
        _ => whole,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Read,
    Keep,
}

/// The length of a text with its quotes; what is never closed goes to the end.
fn quoted(rest: &[u8], escapes: Escapes) -> usize {
    let quote = rest[0];
    let long = rest.starts_with(&[quote; 3]);
    let close = if long { vec![quote; 3] } else { vec![quote] };
    let mut at = close.len();
    while at < rest.len() {
        if rest[at] == b'\\' && escapes == Escapes::Read {
            at += 2;
        } else if rest[at..].starts_with(&close) {
            return at + close.len();
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Past the end mark, or to the end.
fn until(rest: &[u8], mark: &[u8]) -> usize {
    rest.windows(mark.len()).position(|window| window == mark).map_or(rest.len(), |at| at + mark.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(source: &str) -> (usize, usize) {
        let shape = shape(source).unwrap();
        (shape.nesting, shape.operators)
    }

    #[test]
    fn brackets_and_operators_are_counted_outside_of_text() {
        assert_eq!(counted("(a + [b])"), (2, 1));
        assert_eq!(counted("'((((' + \"[[[\" + '''it's ((('''"), (0, 2));
        assert_eq!(counted(r"'\'((' + r'\' + (1)"), (1, 2));
        assert_eq!(counted("a // ((( + +\n + b"), (0, 1));
        assert_eq!(counted("a == b && c != d || 1.5 <= -2.5e3"), (0, 6));
        assert_eq!(counted("a in b.c[1].d"), (1, 3));
        assert_eq!(counted("input.`a((b`"), (0, 1));
        assert_eq!(counted("'never closed ((("), (0, 0));
        assert_eq!(counted("\"ends in \\"), (0, 0));
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_is_parsed() {
        let long = shape(&format!("'{}'", "x".repeat(4095))).unwrap_err();
        assert_eq!(long.message, "the expression has 4097 bytes, at most 4096 are allowed");
        assert!(shape(&format!("'{}'", "x".repeat(4094))).is_ok());
        let deep = shape(&format!("1 +\n{}", "(".repeat(33))).unwrap_err();
        assert_eq!(deep.message, "brackets are nested more than 32 deep");
        assert_eq!((deep.line, deep.column), (2, 33));
        let many = shape(&format!("1{}", "+1".repeat(513))).unwrap_err();
        assert_eq!(many.message, "the expression has more than 512 parts");
        assert!(shape(&format!("1{}", "+1".repeat(512))).is_ok());
    }

    #[test]
    fn the_end_of_an_insertion_is_found() {
        assert_eq!(closing_brace(" a } b"), Some(3));
        assert_eq!(closing_brace("{'a': {}} }"), Some(10));
        assert_eq!(closing_brace("'}' + \"}\"}"), Some(9));
        assert_eq!(closing_brace("(]}"), Some(2));
        assert_eq!(closing_brace("'}"), None);
    }
}
