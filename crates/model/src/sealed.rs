//! The text that stands for a secret value: which key sealed it, whose it is, and what nobody can read without the key.
//!
//! Why    it goes wherever a value goes, through expressions, rows and pages, so it is one opaque text that is found again inside
//!        any other. It ends with a sign of its own: what a template writes behind it never becomes a part of it.

use std::ops::Range;
use uuid::Uuid;

/// What every such text begins with.
pub const SEALED: &str = "sealed:v1:";
/// What is shown to people instead.
pub const HIDDEN: &str = "[secret]";
const END: char = ';';

/// One of them, as it stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'t> {
    pub text: &'t str,
    /// Which key opens it.
    pub key: &'t str,
    /// Whose secret it is: a workflow's, as a rule.
    pub owner: Uuid,
    /// What is sealed, as base64 for addresses.
    pub body: &'t str,
}

impl<'t> Sealed<'t> {
    /// What is sealed is bound to this: it opens under no other key and no other owner.
    pub fn head(key: &str, owner: Uuid) -> String {
        format!("{SEALED}{key}:{}:", owner.as_simple())
    }
    pub fn written(key: &str, owner: Uuid, body: &str) -> String {
        format!("{}{body}{END}", Sealed::head(key, owner))
    }
    /// A text that is this and nothing else.
    pub fn read(text: &'t str) -> Option<Sealed<'t>> {
        let rest = text.strip_prefix(SEALED)?.strip_suffix(END)?;
        let mut parts = rest.split(':');
        let (key, owner, body) = (parts.next()?, parts.next()?, parts.next()?);
        let is_plain = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        if parts.next().is_some() || owner.len() != 32 || ![key, body].into_iter().all(is_plain) {
            return None;
        }
        Some(Sealed { text, key, owner: owner.parse().ok()?, body })
    }
    /// Every one inside a text, and where. None holds the beginning of another, so each is looked for no further than that.
    pub fn all(text: &'t str) -> impl Iterator<Item = (Range<usize>, Sealed<'t>)> {
        let starts = text.match_indices(SEALED).map(|(at, _)| at);
        let ends = starts.clone().skip(1).chain([text.len()]);
        starts.zip(ends).filter_map(move |(at, until)| {
            let end = at + text[at..until].find(END)? + END.len_utf8();
            Some((at..end, Sealed::read(&text[at..end])?))
        })
    }
    pub fn is_in(text: &str) -> bool {
        text.contains(SEALED)
    }
}

/// A text with each of them replaced, where there is something to put in its place.
pub fn replace_sealed(text: &str, mut with: impl FnMut(Sealed) -> Option<String>) -> Option<String> {
    let (mut made, mut from) = (String::new(), 0);
    for (range, sealed) in Sealed::all(text) {
        if let Some(instead) = with(sealed) {
            made.push_str(&text[from..range.start]);
            made.push_str(&instead);
            from = range.end;
        }
    }
    if from == 0 {
        return None;
    }
    made.push_str(&text[from..]);
    Some(made)
}

/// A text as people may read it.
pub fn hide_sealed(text: &str) -> Option<String> {
    if !Sealed::is_in(text) {
        return None;
    }
    replace_sealed(text, |_| Some(HIDDEN.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> String {
        Sealed::written("k1", Uuid::from_u64_pair(0, 7), "AbC-_9")
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let text = one();
        let read = Sealed::read(&text).unwrap();
        assert_eq!((read.key, read.owner, read.body), ("k1", Uuid::from_u64_pair(0, 7), "AbC-_9"));
        for bad in ["", "sealed:v1:;", &text[1..], &text[..text.len() - 1], &text.replace("k1", ""), "x"] {
            assert_eq!(Sealed::read(bad), None, "{bad}");
        }
        assert_eq!(Sealed::read(&text.replace("AbC", "A:C")), None);
    }

    #[test]
    fn it_is_found_inside_other_texts() {
        let text = format!("Bearer {}-x and {}", one(), one());
        assert_eq!(hide_sealed(&text).as_deref(), Some("Bearer [secret]-x and [secret]"));
        assert_eq!(hide_sealed("nothing sealed:v2:a:b;"), None);
        assert_eq!(hide_sealed("begun sealed:v1:k1:and never ended"), None);
        assert_eq!(hide_sealed(&format!("sealed:v1:k1:{}", one())).as_deref(), Some("sealed:v1:k1:[secret]"));
    }

    #[test]
    fn a_text_of_nothing_but_beginnings_is_read_once() {
        let hostile = SEALED.repeat(200_000) + ";";
        assert_eq!(hide_sealed(&hostile), None);
    }
}
